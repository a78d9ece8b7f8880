//! `BoundItem`, an output column of a select list, and `SortKey`, an ORDER BY over such columns.

use sqlparser::ast::{self, Spanned};

use super::binder::fault;
use super::bound::Bound;
use super::column_name::column_name;
use crate::Result;
use crate::error::StatementFault;
use crate::parse::names::fold;
use crate::parse::text_place;

/// An output column of a select list, bound.
pub(super) struct BoundItem {
    pub(super) name: String,
    pub(super) bound: Bound,
}

/// A sort key over the outputs of a select list.
pub(super) struct SortKey {
    pub(super) output: usize,
    pub(super) ascending: bool,
    pub(super) nulls_first: bool,
}

impl SortKey {
    /// Ascending by an output.
    pub(super) fn ascending(output: usize) -> SortKey {
        SortKey {
            output,
            ascending: true,
            nulls_first: false,
        }
    }

    pub(super) fn new(output: usize, options: &ast::OrderByOptions) -> SortKey {
        let ascending = options.asc.unwrap_or(true);
        SortKey {
            output,
            ascending,
            nulls_first: options.nulls_first.unwrap_or(!ascending),
        }
    }
}

/// The place of the output, among so many, that a constant in a clause means; `None`: it is no constant. Errors: 42601 for one that is no
/// integer, 42P10 for one that is no position.
pub(super) fn output_at(expr: &ast::Expr, clause: &str, outputs: usize) -> Result<Option<usize>> {
    let Some(constant) = constant_of(expr) else {
        return Ok(None);
    };
    let wrong = |state, message| text_place::at_error(fault(state, message), expr.span());
    let position: i32 = constant.parse().map_err(|_| {
        let message = format!("non-integer constant in {clause}");
        wrong(StatementFault::Syntax, message)
    })?;
    let at = usize::try_from(position)
        .ok()
        .and_then(|position| position.checked_sub(1));
    match at.filter(|at| *at < outputs) {
        Some(at) => Ok(Some(at)),
        None => {
            let message = format!("{clause} position {position} is not in select list");
            Err(wrong(StatementFault::InvalidColumnReference, message))
        }
    }
}

/// What a constant is, with its sign; no number for one of another kind.
fn constant_of(expr: &ast::Expr) -> Option<String> {
    match expr {
        ast::Expr::Nested(inner) => constant_of(inner),
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr,
        } => constant_of(expr)
            .filter(|constant| constant.starts_with(|first: char| first.is_ascii_digit() || first == '.'))
            .map(|constant| format!("-{constant}")),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => Some(text.clone()),
            ast::Value::Placeholder(_) => None,
            _ => Some(String::new()),
        },
        _ => None,
    }
}

/// Whether an item of the select list is called so.
pub(super) fn named(item: &ast::SelectItem, name: &str) -> bool {
    match item {
        ast::SelectItem::ExprWithAlias { alias, .. } => fold(alias) == name,
        ast::SelectItem::UnnamedExpr(expr) => column_name(expr) == name,
        _ => false,
    }
}
