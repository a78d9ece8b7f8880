//! What a function without arguments gives that the statement's surroundings decide: time, user, database.

use std::ops::ControlFlow;

use sqlparser::ast;

use super::binder::{Binder, Bound};
use super::coercion::CastContext;
use crate::catalog::is_temporary_schema;
use crate::logical::placeholder::{statement_time, transaction_time};
use crate::parse::names::fold;
use crate::parse::walk::visit_expressions;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// What the surroundings of a statement decide.
#[derive(Debug, Clone, Copy)]
enum ContextValue {
    TransactionTime,
    StatementTime,
    LocalTimestamp,
    Date,
    LocalTime,
    CurrentTime,
    User,
    SessionUser,
    Database,
    Schema,
    ProcessId,
}

impl ContextValue {
    fn is_clock(self) -> bool {
        use ContextValue::{CurrentTime, LocalTime, LocalTimestamp, TransactionTime};
        matches!(self, TransactionTime | LocalTimestamp | LocalTime | CurrentTime)
    }

    /// The type of what is told of the time. Errors: 42601 for digits below zero.
    fn clock_type(self, digits: Option<i64>) -> Result<Option<SqlType>> {
        let name = match self {
            ContextValue::TransactionTime | ContextValue::StatementTime => "timestamptz",
            ContextValue::LocalTimestamp => "timestamp",
            ContextValue::LocalTime => "time",
            ContextValue::CurrentTime => "timetz",
            ContextValue::Date => return Ok(Some(SqlType::Date)),
            ContextValue::User
            | ContextValue::SessionUser
            | ContextValue::Database
            | ContextValue::Schema
            | ContextValue::ProcessId => {
                return Ok(None);
            }
        };
        if digits.is_some_and(|digits| digits < 0) {
            return Err(Error::Syntax {
                message: "syntax error at or near \"-\"".to_string(),
                position: 0,
            });
        }
        SqlType::from_name(name, digits.as_slice())
    }
}

/// Names, what they give, and whether SQL writes them without parentheses.
const NAMES: [(&str, ContextValue, bool); 16] = [
    ("now", ContextValue::TransactionTime, false),
    ("transaction_timestamp", ContextValue::TransactionTime, false),
    ("statement_timestamp", ContextValue::StatementTime, false),
    ("current_timestamp", ContextValue::TransactionTime, true),
    ("localtimestamp", ContextValue::LocalTimestamp, true),
    ("current_date", ContextValue::Date, true),
    ("localtime", ContextValue::LocalTime, true),
    ("current_time", ContextValue::CurrentTime, true),
    ("current_user", ContextValue::User, true),
    ("session_user", ContextValue::SessionUser, true),
    ("user", ContextValue::User, true),
    ("current_role", ContextValue::User, true),
    ("current_database", ContextValue::Database, false),
    ("current_catalog", ContextValue::Database, true),
    ("current_schema", ContextValue::Schema, true),
    ("pg_backend_pid", ContextValue::ProcessId, false),
];

/// Whether the name is of such a value.
pub(super) fn is_context_value(name: &str) -> bool {
    NAMES.iter().any(|(known, ..)| *known == name)
}

/// Whether the name, without parentheses, is such a value.
pub(super) fn is_bare_keyword(name: &str) -> bool {
    NAMES.iter().any(|(known, _, is_bare)| *known == name && *is_bare)
}

/// Whether an expression names such a value.
pub(crate) fn names_context_value(expr: &ast::Expr) -> bool {
    let names = |expr: &ast::Expr| match expr {
        ast::Expr::Function(call) => {
            let name = call.name.0.last().and_then(|part| part.as_ident());
            name.is_some_and(|name| is_context_value(&fold(name)))
        }
        ast::Expr::Identifier(name) if name.quote_style.is_none() => is_bare_keyword(&fold(name)),
        _ => false,
    };
    let found = visit_expressions(expr, |expr| match names(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

impl Binder<'_> {
    /// What a function without arguments gives that the statement's surroundings decide; one that gives a time may be
    /// told its digits behind the second. `None`: it is no such function. Errors: 42601 for digits below zero.
    pub(super) fn context_value(&mut self, name: &str, arguments: &[Bound]) -> Result<Option<Bound>> {
        let Some((_, value, is_bare)) = NAMES.iter().find(|(known, ..)| *known == name) else {
            return Ok(None);
        };
        let digits = match arguments {
            [] => None,
            [digits] if *is_bare && value.is_clock() => match digits.literal()? {
                Some(Value::Int(digits)) => Some(digits),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        if let Some(clock) = value.clock_type(digits)? {
            let reduced = digits.and_then(|digits| clock.reduced_digits(u64::try_from(digits).ok()?));
            reduced
                .into_iter()
                .for_each(|message| self.ctx.warn_of_parameter(message));
            let now = match value {
                ContextValue::StatementTime => statement_time(),
                _ => transaction_time(),
            };
            let now = Bound::new(now, SqlType::TimestampTz(None));
            return self.convert(now, &clock, CastContext::Explicit).map(Some);
        }
        let text = |text: &str| Bound::constant(&Value::Text(text.to_string()), SqlType::Name);
        let value = match value {
            ContextValue::User => text(&self.ctx.user),
            ContextValue::SessionUser => text(&self.ctx.session_user),
            ContextValue::Database => text(&self.ctx.database),
            ContextValue::Schema => {
                let is_implicit =
                    |schema: &str| is_temporary_schema(schema) && !self.ctx.settings.names_temporary_schema;
                let mut path = self.search_path.iter().filter(|schema| !is_implicit(schema));
                match path.find(|schema| self.ctx.has_schema(schema)) {
                    Some(schema) => text(schema),
                    None => Bound::constant(&Value::Null, SqlType::Name),
                }
            }
            _ => Bound::constant(&Value::Int(i64::from(self.ctx.process_id)), SqlType::Int4),
        };
        value.map(Some)
    }
}
