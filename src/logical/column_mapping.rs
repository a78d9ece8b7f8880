//! `replaced_columns` and `below_schema`: conditions in terms of other rows, which have what their columns stand for.

use crate::tree::{Column, Expr, RowSchema, Transformed, TreeNode};

/// The condition with what its columns stand for. `None`: one stands for nothing there, or the condition is another at
/// each row.
pub(crate) fn replaced_columns(
    condition: Expr,
    stands_for: impl Fn(&Column) -> Option<Expr>,
) -> Option<Expr> {
    let mut is_whole = !condition.is_volatile();
    let replaced = condition.transform_up(|expr| {
        let Expr::Column(column) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let found = stands_for(column);
        is_whole &= found.is_some();
        Ok(found.map_or_else(|| Transformed::no(expr), Transformed::yes))
    });
    replaced.ok().filter(|_| is_whole).map(|replaced| replaced.data)
}

/// The conditions, which are over `schema`, in terms of what its columns are made of; `None` if one of those must not be
/// computed elsewhere.
pub(crate) fn below_schema(
    conditions: Vec<Expr>,
    schema: &RowSchema,
    made_of: impl Fn(usize) -> Option<Expr>,
) -> Option<Vec<Expr>> {
    let stands_for = |column: &Column| schema.index_of_column(column).ok().and_then(&made_of);
    let replaced = conditions.into_iter();
    replaced
        .map(|condition| replaced_columns(condition, stands_for))
        .collect()
}
