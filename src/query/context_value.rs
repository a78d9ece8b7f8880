//! What a function without arguments gives that the statement's surroundings decide: time, user, database.

use std::ops::ControlFlow;

use sqlparser::ast;

use super::binder::{Binder, Bound};
use super::coercion::CastContext;
use crate::Result;
use crate::exec::placeholder::transaction_time;
use crate::parse::names::fold;
use crate::types::{SqlType, Value};

/// What the surroundings of a statement decide.
#[derive(Debug, Clone, Copy)]
enum ContextValue {
    TransactionTime,
    LocalTimestamp,
    Date,
    LocalTime,
    User,
    Database,
    Schema,
    ProcessId,
}

/// Names, what they give, and whether SQL writes them without parentheses.
const NAMES: [(&str, ContextValue, bool); 16] = [
    ("now", ContextValue::TransactionTime, false),
    ("transaction_timestamp", ContextValue::TransactionTime, false),
    ("statement_timestamp", ContextValue::TransactionTime, false),
    ("current_timestamp", ContextValue::TransactionTime, true),
    ("localtimestamp", ContextValue::LocalTimestamp, true),
    ("current_date", ContextValue::Date, true),
    ("localtime", ContextValue::LocalTime, true),
    ("current_time", ContextValue::LocalTime, true),
    ("current_user", ContextValue::User, true),
    ("session_user", ContextValue::User, true),
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
    let found = ast::visit_expressions(expr, |expr| match names(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}

impl Binder<'_> {
    /// What a function without arguments gives that the statement's surroundings decide. `None`: it is no such function.
    pub(super) fn context_value(&mut self, name: &str) -> Result<Option<Bound>> {
        let Some((_, value, _)) = NAMES.iter().find(|(known, ..)| *known == name) else {
            return Ok(None);
        };
        let now = Bound::new(transaction_time(), SqlType::TimestampTz);
        let text = |text: &str| Bound::constant(&Value::Text(text.to_string()), SqlType::Name);
        let value = match value {
            ContextValue::TransactionTime => Ok(now),
            ContextValue::LocalTimestamp => self.convert(now, &SqlType::Timestamp, CastContext::Explicit),
            ContextValue::Date => self.convert(now, &SqlType::Date, CastContext::Explicit),
            ContextValue::LocalTime => self.convert(now, &SqlType::Time, CastContext::Explicit),
            ContextValue::User => text(&self.ctx.user),
            ContextValue::Database => text(&self.ctx.database),
            ContextValue::Schema => {
                let schemas = &self.ctx.catalog.schemas;
                match self
                    .search_path
                    .iter()
                    .find(|schema| schemas.contains_key(*schema))
                {
                    Some(schema) => text(schema),
                    None => Bound::constant(&Value::Null, SqlType::Name),
                }
            }
            ContextValue::ProcessId => {
                Bound::constant(&Value::Int(i64::from(self.ctx.process_id)), SqlType::Int4)
            }
        };
        value.map(Some)
    }
}
