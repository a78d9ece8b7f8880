//! Expressions over the columns of a row as definitions keep them (generated columns, CHECK): as text that names the columns
//! without their table, so that the table may get another name, and what users made with its schema, where only this session's search
//! path finds it: definitions are read without one.

use std::ops::ControlFlow;

use sqlparser::ast::{ArrayElemTypeDef, DataType, Expr, Ident, ObjectName};

use crate::catalog::{ColumnDef, STANDARD_SCHEMA};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::functions;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::parse::type_name;
use crate::parse::walk::{visit_expressions, visit_expressions_mut};
use crate::sql::dml;
use crate::system::StatementContext;
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

/// The expression as the definition of a table keeps it: with `a` for `t.a`, and schemas.
pub(super) fn kept(ctx: &StatementContext, expr: &Expr, table: &str) -> Expr {
    let mut expr = with_schemas(ctx, expr);
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

/// The expression with the schemas of types and functions that the session's search path finds, and the standard one would not.
pub(super) fn with_schemas(ctx: &StatementContext, expr: &Expr) -> Expr {
    let mut expr = expr.clone();
    let _ = visit_expressions_mut(&mut expr, |expr| {
        match expr {
            Expr::Cast { data_type, .. } => name_schema_of_type(ctx, data_type),
            Expr::TypedString(typed) => name_schema_of_type(ctx, &mut typed.data_type),
            Expr::Function(call) => name_schema_of_function(ctx, &mut call.name),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    expr
}

fn name_schema_of_type(ctx: &StatementContext, data_type: &mut DataType) {
    let is_known = type_name::sql_type(data_type).is_ok();
    match data_type {
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, _)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => name_schema_of_type(ctx, element),
        DataType::Custom(written, _) if !is_known => {
            let found = bare_name(written).and_then(|name| ctx.get_type(None, &name).ok().flatten());
            if let Some(found) = found.filter(|found| found.schema != STANDARD_SCHEMA) {
                *written = named_in(&found.schema, &found.name);
            }
        }
        _ => {}
    }
}

fn name_schema_of_function(ctx: &StatementContext, written: &mut ObjectName) {
    let Some(name) = bare_name(written) else { return };
    // Those of the server come first.
    if functions::functions_named(&name).next().is_some() {
        return;
    }
    let found = ctx.routines_named(None, &name, &ctx.settings.search_path);
    if let Some(first) = found.first().filter(|first| first.schema != STANDARD_SCHEMA) {
        *written = named_in(&first.schema, &name);
    }
}

/// A name without a schema before it.
fn bare_name(written: &ObjectName) -> Option<String> {
    match written.0.as_slice() {
        [only] => only.as_ident().map(names::fold),
        _ => None,
    }
}

fn named_in(schema: &str, name: &str) -> ObjectName {
    ObjectName::from(vec![ident_of(schema), ident_of(name)])
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
