//! The rule `distinct`: rows taken once are groups by all of their columns; rows that come once are taken as they are.

use std::sync::Arc;

use datafusion_common::Dependency;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::{Aggregate, Distinct, Expr, Limit, LogicalPlan, lit};

use super::Rewriting;

/// The plan without DISTINCT.
pub(super) fn distinct(plan: LogicalPlan, _: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
    plan.transform_up(|node| match node {
        LogicalPlan::Distinct(Distinct::All(input)) => grouped(input).map(Transformed::yes),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn grouped(input: Arc<LogicalPlan>) -> DataFusionResult<LogicalPlan> {
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    if columns.is_empty() {
        // Of rows of nothing one is left.
        return Ok(LogicalPlan::Limit(Limit {
            skip: None,
            fetch: Some(Box::new(lit(1_i64))),
            input,
        }));
    }
    let comes_once = input.schema().functional_dependencies().iter().any(|key| {
        key.mode == Dependency::Single && !key.nullable && key.source_indices.len() <= columns.len()
    });
    if comes_once {
        return Ok(Arc::unwrap_or_clone(input));
    }
    Aggregate::try_new(input, columns, Vec::new()).map(LogicalPlan::Aggregate)
}
