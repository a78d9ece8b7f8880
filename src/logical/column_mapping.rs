//! `replaced_columns`: a condition in terms of other rows, which have what its columns stand for.

use crate::tree::{Column, Expr, Transformed, TreeNode};

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
