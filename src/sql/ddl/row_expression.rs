//! Expressions over the columns of a row as definitions keep them (generated columns, CHECK): as text that names the columns
//! without their table, so that the table may get another name.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident};

use crate::catalog::ColumnDef;
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::parse::walk::{visit_expressions, visit_expressions_mut};
use crate::sql::dml;
use crate::{Error, Result};

/// Errors: 0A000. `place`: what the expression is, in PostgreSQL's words.
pub(in crate::sql) fn check_no_subquery(expr: &Expr, place: &str) -> Result<()> {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    match found.is_break() {
        true => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!("cannot use subquery in {place}"),
            hint: None,
        }),
        false => Ok(()),
    }
}

/// The expression with `a` for `t.a`.
pub(super) fn without_table(expr: &Expr, table: &str) -> Expr {
    let mut expr = expr.clone();
    let _ = visit_expressions_mut(&mut expr, |expr| {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [relation, column] = parts.as_slice()
            && names::fold(relation) == table
        {
            *expr = Expr::Identifier(column.clone());
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}

/// The ids of the columns that an expression names, rising. (What it names besides is for binding to say.)
pub(super) fn columns_named(expr: &Expr, columns: &[ColumnDef]) -> Vec<ColumnId> {
    let mut ids = Vec::new();
    let _ = visit_expressions(expr, |expr| {
        if let Expr::Identifier(name) = expr {
            let name = names::fold(name);
            let named = columns
                .iter()
                .filter(|column| !column.hidden && column.name == name);
            ids.extend(named.map(|column| column.id));
        }
        ControlFlow::<()>::Continue(())
    });
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Puts an expression in the places of a column.
pub(super) fn put(expr: &mut Expr, column: &str, value: &Expr) {
    let _ = visit_expressions_mut(expr, |expr| {
        if matches!(expr, Expr::Identifier(name) if names::fold(name) == column) {
            *expr = value.clone();
        }
        ControlFlow::<()>::Continue(())
    });
}

/// A name, quoted where it must be, as it is printed.
pub(super) fn ident_of(name: &str) -> Ident {
    match quote_ident(name).as_str() {
        plain if plain == name => Ident::new(name),
        _ => Ident::with_quote('"', name),
    }
}

/// The text of an expression with a column's new name. Errors: `Corrupt`.
pub(super) fn with_column_renamed(sql: &str, old: &str, new: &str) -> Result<String> {
    let mut expr = dml::parse_expression(sql)?;
    let _ = visit_expressions_mut(&mut expr, |expr| {
        if let Expr::Identifier(name) = expr
            && names::fold(name) == old
        {
            *name = ident_of(new);
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(expr.to_string())
}
