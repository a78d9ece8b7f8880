//! The orders that nodes of a plan have, and need their inputs in. Asked by `builder` and the scans, which see to it, by `semi_join_reduction`, whose
//! scans may come in another order, and by `parallel`, whose readers come in none.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{LexRequirement, PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::joins::HashJoinExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::{
    Distribution, ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary,
};

use crate::functions::compare::FLOAT_ORDER_NAME;
use crate::functions::sort_key::is_key_of_operand;

/// Aggregates whose answer tells in which order the rows of a group came, without an ORDER BY of their own.
const ORDERED_AGGREGATES: [&str; 4] = ["array_agg", "first_value", "last_value", "nth_value"];

/// Whether the rows of a plan come in this order, whoever reads the kept sides of its joins: rows that are partners of one come in the order
/// of the kept side, which several readers take in none.
pub(super) fn is_in_order(plan: &Arc<dyn ExecutionPlan>, needed: &LexRequirement) -> DataFusionResult<bool> {
    let satisfies = |plan: &Arc<dyn ExecutionPlan>| {
        let known = plan.equivalence_properties();
        known.ordering_satisfy_requirement(needed.clone())
    };
    Ok(satisfies(plan)? && satisfies(&without_kept_orders(plan)?)?)
}

/// The plan, of whose joins the kept sides come in no order that anybody knows.
pub(super) fn without_kept_orders(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    if plan.is::<SortExec>() || plan.children().is_empty() {
        return Ok(Arc::clone(plan));
    }
    let children = plan.children().into_iter().map(without_kept_orders);
    let mut children = children.collect::<DataFusionResult<Vec<_>>>()?;
    if plan.is::<HashJoinExec>() {
        children[0] = Arc::new(CoalescePartitionsExec::new(Arc::clone(&children[0])));
    }
    replace_children_if_necessary(Arc::clone(plan), children)
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

/// Whether the answer of some call of the node tells in which order the rows of a group came: below it nobody may change that. `parallel`
/// reads in one stream there, and `builder` takes no order of what comes of the groups down to the table.
pub(super) fn sees_order(aggregate: &AggregateExec) -> bool {
    let mut calls = aggregate.aggr_expr().iter();
    calls.any(|call| !call.order_bys().is_empty() || ORDERED_AGGREGATES.contains(&call.fun().name()))
}

/// The column that a sort key is; `None` for any other expression. Stored keys are in PostgreSQL's order, which comparisons give to
/// values that Arrow orders otherwise.
pub(crate) fn ordered_column(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    if let Some(call) = key.downcast_ref::<ScalarFunctionExpr>()
        && (call.name() == FLOAT_ORDER_NAME || is_key_of_operand(call.name()))
    {
        return ordered_column(call.args().first()?);
    }
    key.downcast_ref::<Column>().map(Column::index)
}
