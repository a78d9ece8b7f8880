//! The rule `distinct`: rows taken once are groups by all of their columns; rows that come once are taken as they are.

use std::sync::Arc;

use super::Rewriting;
use crate::Result;
use crate::logical::unique_columns::unique_columns;
use crate::tree::{Aggregate, Expr, Limit, Plan, Transformed, TransformedResult, TreeNode, lit};

/// The plan without DISTINCT.
pub(super) fn distinct(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::Distinct(input) => grouped(input).map(Transformed::yes),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn grouped(input: Arc<Plan>) -> Result<Plan> {
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    if columns.is_empty() {
        // Of rows of nothing one is left.
        return Ok(Plan::Limit(Limit {
            skip: None,
            fetch: Some(Box::new(lit(1_i64))),
            input,
        }));
    }
    let schema = input.schema();
    let comes_once = unique_columns(&input)
        .iter()
        .any(|set| set.iter().all(|at| !schema.field(*at).is_nullable()));
    if comes_once {
        return Ok(Arc::unwrap_or_clone(input));
    }
    Aggregate::try_new(input, columns, Vec::new()).map(Plan::Aggregate)
}
