//! DEFAULT clauses: constants are converted to the column's type at once, other expressions are planned to see that
//! they can be, and kept as text.

use sqlparser::ast::{self, Expr};

use crate::catalog::ColumnDefault;
use crate::query;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Functions whose values differ from row to row: a default of theirs cannot fill rows that are there already.
const VOLATILE_FUNCTIONS: [&str; 8] = [
    "random",
    "gen_random_uuid",
    "uuid_generate_v4",
    "uuid",
    "clock_timestamp",
    "timeofday",
    "setseed",
    "nextval",
];

/// The default that an expression gives a column; `None` for DEFAULT NULL. Errors: those of the expression, 42804.
pub(super) async fn read(
    ctx: &StatementContext,
    expr: &Expr,
    ty: &SqlType,
    column: &str,
) -> Result<Option<ColumnDefault>> {
    let sql = expr.to_string();
    let constant = match calls_a_function(expr) {
        true => None,
        false => query::constant(ctx, expr)?,
    };
    if let Some(query::Constant { value, .. }) = constant {
        if value == Value::Null {
            return Ok(None);
        }
        let value = value
            .assign(ty, column, &ctx.format_settings())
            .map_err(as_default_error)?;
        return Ok(Some(ColumnDefault::Constant { value, sql }));
    }
    match dml::check_default(ctx, expr) {
        Err(error) if error.is_undefined_column() => Err(Error::unsupported(
            "a column reference in a DEFAULT expression",
            Some("Give a constant or a function."),
        )),
        Err(error) => Err(error),
        Ok(()) => Ok(Some(ColumnDefault::Expression { sql })),
    }
}

/// Whether a function is called: what it gives may be another value when a row is written.
fn calls_a_function(expr: &Expr) -> bool {
    let found = ast::visit_expressions(expr, |expr| match expr {
        Expr::Function(_) => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether each row would get a value of its own.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    let mut volatile = false;
    let _ = ast::visit_expressions(expr, |expr| {
        if let Expr::Function(function) = expr {
            let name = function
                .name
                .0
                .last()
                .and_then(|part| part.as_ident())
                .map(crate::parse::names::fold);
            volatile |= name.is_some_and(|name| VOLATILE_FUNCTIONS.contains(&name.as_str()));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    volatile
}

/// PostgreSQL words a default of the wrong type in its own way.
fn as_default_error(error: Error) -> Error {
    match error {
        Error::DatatypeMismatch { message, hint } => Error::DatatypeMismatch {
            message: message.replacen(
                "but expression is of type",
                "but default expression is of type",
                1,
            ),
            hint,
        },
        error => error,
    }
}
