//! `substituted`: an expression over what a node gives, as one over what it reads.

use datafusion_common::DFSchema;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::Expr;

/// The expression with what stands for the columns of `schema`, by their places.
pub(super) fn substituted(
    expr: Expr,
    schema: &DFSchema,
    stands_for: &dyn Fn(usize) -> Expr,
) -> DataFusionResult<Expr> {
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

/// What an output computes, without its name.
pub(super) fn unnamed(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unnamed(&alias.expr),
        expr => expr,
    }
}
