//! The query of a cursor: what may be one. Called by `session`, which keeps cursors.

use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;

use super::Statement;
use crate::error::StatementFault;
use crate::parse::command::CursorOptions;
use crate::parse::row_locks::own_lock;
use crate::parse::text_place;
use crate::parse::with_write::with_writes;
use crate::{Error, Result};

/// Errors: 42601, 0A000 and 42P11 for what DECLARE with these options takes for no cursor's query.
pub(crate) fn check_cursor_query(statement: &Statement, options: &CursorOptions) -> Result<()> {
    let parsed = &statement.parsed;
    if parsed.is_query_that_writes() {
        return Err(with_writes("DECLARE CURSOR"));
    }
    let ast::Statement::Query(query) = &parsed.ast else {
        return Err(not_a_query());
    };
    if let Some(into) = into_of(query) {
        let refused = Error::Syntax {
            message: "SELECT ... INTO is not allowed here".to_string(),
            position: 0,
        };
        return Err(parsed.locate(text_place::at_error(refused, into)));
    }
    match (own_lock(query), options.read_only_kind()) {
        (Some(strength), Some(kind)) => Err(Error::LockingCursor {
            kind,
            clause: strength.clause(),
        }),
        _ => Ok(()),
    }
}

/// What no cursor can be of.
pub(crate) fn not_a_query() -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: "DECLARE CURSOR takes one query".to_string(),
        hint: None,
    }
}

/// Where the name stands that SELECT INTO gives its rows to.
fn into_of(query: &ast::Query) -> Option<Span> {
    match query.body.as_ref() {
        ast::SetExpr::Select(select) => select.into.as_ref().map(|into| into.name.span()),
        _ => None,
    }
}
