//! `BoundItem`, an output column of a select list, and `SortKey`, an ORDER BY over such columns.

use sqlparser::ast;

use super::bound::Bound;
use super::column_name::column_name;
use crate::parse::names::fold;

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

/// An integer literal in ORDER BY or GROUP BY is a position.
pub(super) fn ordinal(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => text.parse().ok(),
            _ => None,
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
