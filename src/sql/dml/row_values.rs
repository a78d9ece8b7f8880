//! `VALUES (r.*)` of a function's variable: the columns of the row that it holds, each a value. Called by `insert`.

use std::borrow::Cow;

use sqlparser::ast::{AccessExpr, Expr, Ident, ObjectName, Parens};

use crate::parse::names;
use crate::system::StatementContext;

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
