//! The arguments of EXECUTE as expressions: a SELECT of these and nothing else.

use sqlparser::ast::{self, SelectItem, SetExpr};

use super::ddl::check_no_subquery;
use crate::error::StatementFault;
use crate::parse::ParsedStatement;
use crate::{Error, Result};

/// Errors: 42601 for anything but so many expressions, 0A000 for a subquery among them.
pub(crate) fn check_arguments(query: &ParsedStatement, count: usize) -> Result<()> {
    let not_expressions = || Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: "an argument of EXECUTE is not an expression".to_string(),
        hint: None,
    };
    let items = match &query.ast {
        ast::Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => &select.projection,
            _ => return Err(not_expressions()),
        },
        _ => return Err(not_expressions()),
    };
    let mut written = Vec::with_capacity(items.len());
    for item in items {
        let SelectItem::UnnamedExpr(expr) = item else {
            return Err(not_expressions());
        };
        check_no_subquery(expr, "EXECUTE parameter")?;
        written.push(expr.to_string());
    }
    // Nothing stands behind them.
    match written.len() == count && query.ast.to_string() == format!("SELECT {}", written.join(", ")) {
        true => Ok(()),
        false => Err(not_expressions()),
    }
}
