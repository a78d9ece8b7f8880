//! `VALUES (r.*)` of a function's variable: the columns of the row that it holds, each a value. Called by `insert`.

use std::borrow::Cow;

use sqlparser::ast::{AccessExpr, Expr, Ident, ObjectName, Parens, Query};

use crate::parse::{names, parse_query};
use crate::system::StatementContext;
use crate::{Error, Result};

/// The rows of VALUES with every row variable's columns in its place.
pub(super) fn expanded<'a>(
    ctx: &StatementContext,
    rows: &'a [Parens<Vec<Expr>>],
) -> Cow<'a, [Parens<Vec<Expr>>]> {
    let is_row = |expr: &Expr| matches!(expr, Expr::QualifiedWildcard(..));
    if ctx.variables.is_none() || !rows.iter().any(|row| row.content.iter().any(is_row)) {
        return Cow::Borrowed(rows);
    }
    let mut all = rows.to_vec();
    for row in &mut all {
        let values = std::mem::take(&mut row.content).into_iter();
        row.content = values
            .flat_map(|value| match &value {
                Expr::QualifiedWildcard(name, _) => fields(ctx, name).unwrap_or_else(|| vec![value]),
                _ => vec![value],
            })
            .collect();
    }
    Cow::Owned(all)
}

/// Whether VALUES was refused because one of them is a set.
pub(super) fn is_of_set(error: &Error) -> bool {
    error.sqlstate() == "0A000"
        && error
            .to_string()
            .starts_with("set-returning functions are not allowed")
}

/// A row of VALUES as a query. Errors: XX000 for a tree that does not say the same as text.
pub(super) fn selected(row: &Parens<Vec<Expr>>) -> Result<Query> {
    let values: Vec<String> = row.content.iter().map(Expr::to_string).collect();
    let query = parse_query(&format!("SELECT {}", values.join(", ")));
    query
        .map(|query| *query)
        .map_err(|error| Error::internal(format!("a row of VALUES is no query: {error}")))
}

/// The columns of the row variable of this name, as expressions.
fn fields(ctx: &StatementContext, name: &ObjectName) -> Option<Vec<Expr>> {
    let [part] = name.0.as_slice() else { return None };
    let ident = part.as_ident()?;
    let variable = ctx.variables.as_ref()?.named(&names::fold(ident))?;
    let row = variable.ty.record_type()?;
    let field = |name: &str| Expr::CompoundFieldAccess {
        root: Box::new(Expr::Nested(Box::new(Expr::Identifier(ident.clone())))),
        access_chain: vec![AccessExpr::Dot(Expr::Identifier(Ident::with_quote('"', name)))],
    };
    Some(row.fields.iter().map(|known| field(&known.name)).collect())
}
