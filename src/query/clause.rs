//! `Clause`: where in a query an expression stands.

use crate::Error;
use crate::error::StatementFault;

/// A clause of a query, for the rules on aggregates and window functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    /// The select list, ORDER BY, DISTINCT ON: anything goes.
    Select,
    /// HAVING: aggregates, no window functions.
    Having,
    /// WHERE.
    Where,
    /// WHERE of COPY FROM.
    CopyWhere,
    /// JOIN … ON.
    JoinOn,
    /// SET.
    Set,
    /// GROUP BY.
    GroupBy,
    /// VALUES.
    Values,
    /// RETURNING.
    Returning,
    /// The condition of a WHEN clause of MERGE.
    MergeWhen,
    /// WHEN of CREATE TRIGGER.
    TriggerWhen,
    /// DEFAULT.
    Default,
    /// GENERATED ALWAYS AS.
    Generated,
    /// CHECK.
    Check,
    /// An expression of CREATE INDEX.
    IndexExpression,
    /// WHERE of CREATE INDEX.
    IndexPredicate,
    /// A value of FOR VALUES.
    PartitionBound,
    /// LIMIT.
    Limit,
    /// OFFSET.
    Offset,
    /// Functions in FROM.
    From,
    /// An aggregate's arguments.
    Aggregate,
    /// An aggregate's FILTER.
    Filter,
    /// A window function's arguments, PARTITION BY and ORDER BY.
    Window,
}

impl Clause {
    /// The refusal of an aggregate where none may stand.
    pub(super) fn refuse_aggregate(self, name: &str) -> Error {
        let what = match name {
            "grouping" => "grouping operations",
            _ => "aggregate functions",
        };
        let message = match self {
            Clause::Aggregate => "aggregate function calls cannot be nested".to_string(),
            clause => format!("{what} are not allowed in {}", clause.name()),
        };
        Error::InvalidStatement {
            state: StatementFault::Grouping,
            message,
            hint: None,
        }
    }

    /// As PostgreSQL names it: `aggregate functions are not allowed in …`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::Having => "HAVING",
            Clause::Where => "WHERE",
            Clause::CopyWhere => "COPY FROM WHERE conditions",
            Clause::TriggerWhen => "trigger WHEN conditions",
            Clause::JoinOn => "JOIN conditions",
            Clause::Set => "UPDATE",
            Clause::GroupBy => "GROUP BY",
            Clause::Values => "VALUES",
            Clause::Returning => "RETURNING",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Default => "DEFAULT expressions",
            Clause::Generated => "column generation expressions",
            Clause::Check => "check constraints",
            Clause::IndexExpression => "index expressions",
            Clause::IndexPredicate => "index predicates",
            Clause::PartitionBound => "partition bound",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::From => "functions in FROM",
            Clause::Aggregate => "aggregate arguments",
            Clause::Filter => "FILTER",
            Clause::Window => "window definitions",
        }
    }
}
