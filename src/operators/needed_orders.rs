//! Whether the nodes of a plan have their inputs in the orders that they need. Asked by `builder`, which sees to it, and by
//! `narrowed_probes`, whose scans may come in another order.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::LexRequirement;
use datafusion_physical_plan::{Distribution, ExecutionPlan, ExecutionPlanProperties};

/// Whether the rows of a plan come in this order.
pub(super) fn is_in_order(plan: &Arc<dyn ExecutionPlan>, needed: &LexRequirement) -> DataFusionResult<bool> {
    plan.equivalence_properties()
        .ordering_satisfy_requirement(needed.clone())
}

/// Whether every node of a plan has its inputs in the order, and in as many parts, as it needs.
pub(super) fn is_in_needed_orders(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<bool> {
    let needed = plan.required_input_ordering();
    let parts = plan.input_distribution_requirements();
    for ((child, needed), parts) in plan
        .children()
        .into_iter()
        .zip(needed)
        .zip(parts.per_child_distributions())
    {
        let is_ordered = match &needed {
            Some(needed) => is_in_order(child, needed.first())?,
            None => true,
        };
        let is_one = !matches!(parts, Distribution::SinglePartition)
            || child.output_partitioning().partition_count() == 1;
        if !is_ordered || !is_one || !is_in_needed_orders(child)? {
            return Ok(false);
        }
    }
    Ok(true)
}
