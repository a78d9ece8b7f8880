//! Nothing parsed is dropped: every field of the parser's tree is either read by whoever binds or runs the statement, or refused
//! here. Called once for each statement's tree (`parse::tree`); knows of each field who is to be asked, not what it means.
//!
//! The parser reads the clauses of two dozen dialects; what nobody asks about would be passed over in silence. So each struct
//! and each variant of the tree that statements of ours are made of is taken apart in this folder, every field by its name and
//! none by `..` (the `tidy` test), and each field gets a verdict:
//!
//! | verdict | what it says |
//! |---|---|
//! | `must` | it always stands there, and the statement means nothing without it |
//! | `read` | it may be absent; whoever takes the statement reads it, or refuses it with a better error than here |
//! | `name` | as `must`, of a name, which is no string: 42601 at one |
//! | `spelling` | another way to write the same |
//! | `foreign` | PostgreSQL has no such clause: 42601 at its words |
//! | `lacking` | PostgreSQL has it, and nothing here does what it asks for: 0A000 |
//!
//! A field that a new version of the parser brings breaks the build here. That `read` is true is not taken on trust: a test
//! (`sql::read_fields`) clears each such field of statements that have it, and demands that the answer changes.

mod definition;
mod expression;
mod query;
mod write;

use std::ops::ControlFlow;

use crate::parse::walk::WalkMut;
use sqlparser::ast::{
    CreateTableOptions, Expr, FunctionArguments, GroupByExpr, HiveDistributionStyle, Ident,
    NullsDistinctOption, Query, Select, SetQuantifier, Statement, TableFactor, VisitorMut,
};

/// Takes a struct apart: `fields!(check, value, Type { field: verdict, … })`.
macro_rules! fields {
    ($check:expr, $value:expr, $type:ident { $($field:ident: $verdict:ident $(($($argument:expr),+))?),+ $(,)? }) => {
        let sqlparser::ast::$type { $($field),+ } = $value;
        $($check.$verdict(
            concat!(stringify!($type), ".", stringify!($field)),
            $field
            $($(, $argument)+)?
        )?;)+
    };
}
/// The verdicts of a variant that a `match` has taken apart: `verdicts!(check, "Type::Variant", field: verdict, …)`.
macro_rules! verdicts {
    ($check:expr, $type:literal, $($field:ident: $verdict:ident $(($($argument:expr),+))?),+ $(,)?) => {
        $($check.$verdict(
            concat!($type, ".", stringify!($field)),
            $field
            $($(, $argument)+)?
        )?;)+
    };
}
use {fields, verdicts};

/// What a statement says and nobody reads.
pub(crate) enum Unread {
    /// No syntax of PostgreSQL's: the words that it begins with.
    Foreign(&'static str),
    /// A string in the place of a name.
    String(String),
    /// A feature, as messages name it, and what to do instead.
    Lacking(&'static str, &'static str),
}

type Flow = ControlFlow<Unread>;

/// A part of the tree that may be absent.
pub(crate) trait Clause {
    /// Whether it is there.
    fn is_set(&self) -> bool;
    /// Takes it away.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test takes clauses away"))]
    fn clear(&mut self);
}

/// Who watches the fields that are read: a test, which takes them away.
pub(crate) trait Probe {
    /// A field that may be absent, by its name (`Query.fetch`).
    fn meet(&mut self, field: &'static str, clause: &mut dyn Clause);
}

/// Nobody.
impl Probe for () {
    fn meet(&mut self, _field: &'static str, _clause: &mut dyn Clause) {}
}

/// Goes through a whole statement. Breaks with what of it nobody reads.
pub(crate) fn check(statement: &mut Statement, probe: impl Probe) -> Flow {
    statement.walk_mut(&mut TreeCheck { probe })
}

struct TreeCheck<P> {
    probe: P,
}

impl<P: Probe> TreeCheck<P> {
    fn must<T>(&self, _field: &'static str, _part: &T) -> Flow {
        Flow::Continue(())
    }

    fn spelling<T>(&self, _field: &'static str, _part: &T) -> Flow {
        Flow::Continue(())
    }

    fn read<C: Clause>(&mut self, field: &'static str, clause: &mut C) -> Flow {
        self.probe.meet(field, clause);
        Flow::Continue(())
    }

    fn name(&self, _field: &'static str, name: &Ident) -> Flow {
        match name.quote_style {
            Some('\'') => Flow::Break(Unread::String(name.value.clone())),
            _ => Flow::Continue(()),
        }
    }

    fn foreign<C: Clause>(&self, _field: &'static str, clause: &C, words: &'static str) -> Flow {
        match clause.is_set() {
            true => Flow::Break(Unread::Foreign(words)),
            false => Flow::Continue(()),
        }
    }
}

impl<P: Probe> VisitorMut for TreeCheck<P> {
    type Break = Unread;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> Flow {
        match statement {
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                self.write_statement(statement)
            }
            Statement::Merge(merge) => self.merge(merge),
            _ => self.definition(statement),
        }
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        self.query(query)
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> Flow {
        self.select(select)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        self.table_factor(factor)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.expression(expr)
    }
}

impl Clause for bool {
    fn is_set(&self) -> bool {
        *self
    }

    fn clear(&mut self) {
        *self = false;
    }
}

impl<T> Clause for Option<T> {
    fn is_set(&self) -> bool {
        self.is_some()
    }

    fn clear(&mut self) {
        *self = None;
    }
}

impl<T> Clause for Vec<T> {
    fn is_set(&self) -> bool {
        !self.is_empty()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl Clause for GroupByExpr {
    fn is_set(&self) -> bool {
        !matches!(self, GroupByExpr::Expressions(keys, modifiers) if keys.is_empty() && modifiers.is_empty())
    }

    fn clear(&mut self) {
        *self = GroupByExpr::Expressions(Vec::new(), Vec::new());
    }
}

impl Clause for SetQuantifier {
    fn is_set(&self) -> bool {
        *self != SetQuantifier::None
    }

    fn clear(&mut self) {
        *self = SetQuantifier::None;
    }
}

impl Clause for FunctionArguments {
    fn is_set(&self) -> bool {
        *self != FunctionArguments::None
    }

    fn clear(&mut self) {
        *self = FunctionArguments::None;
    }
}

impl Clause for CreateTableOptions {
    fn is_set(&self) -> bool {
        *self != CreateTableOptions::None
    }

    fn clear(&mut self) {
        *self = CreateTableOptions::None;
    }
}

impl Clause for NullsDistinctOption {
    fn is_set(&self) -> bool {
        *self != NullsDistinctOption::None
    }

    fn clear(&mut self) {
        *self = NullsDistinctOption::None;
    }
}

impl Clause for HiveDistributionStyle {
    fn is_set(&self) -> bool {
        *self != HiveDistributionStyle::NONE
    }

    fn clear(&mut self) {
        *self = HiveDistributionStyle::NONE;
    }
}
