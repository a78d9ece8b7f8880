//! `substituted`: an expression over what a node gives, as one over what it reads.

use crate::Result;
use crate::tree::{Expr, RowSchema, Transformed, TransformedResult, TreeNode};

/// The expression with what stands for the columns of `schema`, by their places.
pub(super) fn substituted(
    expr: Expr,
    schema: &RowSchema,
    stands_for: &dyn Fn(usize) -> Expr,
) -> Result<Expr> {
    expr.transform_up(|expr| {
        let Expr::Column(column) = &expr else {
            return Ok(Transformed::no(expr));
        };
        Ok(match schema.maybe_index_of_column(column) {
            Some(at) => Transformed::yes(stands_for(at)),
            None => Transformed::no(expr),
        })
    })
    .data()
}
