//! Which scans of an index need not give their rows in its order, so that they may read the table in its place where that is shorter
//! (`scan_fallback`). Those of which somebody above takes all rows, and which leave the plan as it is when their order is unknown: no
//! sort is missing, no group ends later, and the result has the order that it had. Called by `planner`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::scan_exec::KeyspanScanExec;
use super::semi_join_reduction::needs_no_order;

/// The plan, whose scans know that their order is of no use.
pub(super) fn with_any_order(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let mut plan = plan;
    // Scans that keep their order.
    let mut ordered = 0;
    loop {
        let mut before = ordered;
        let Some(freed) = freed(&plan, &mut before, true)? else {
            return Ok(plan);
        };
        match needs_no_order(&plan, &freed)? {
            true => plan = freed,
            false => ordered += 1,
        }
    }
}

/// The plan with one of its scans in any order: that which comes after so many. `None`: there is none.
fn freed(
    plan: &Arc<dyn ExecutionPlan>,
    before: &mut usize,
    is_read_whole: bool,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
        let Some(scan) = scan.in_any_order().filter(|_| is_read_whole) else {
            return Ok(None);
        };
        return Ok(match before.checked_sub(1) {
            None => Some(Arc::new(scan)),
            Some(left) => {
                *before = left;
                None
            }
        });
    }
    // Each turn of a recursion is short.
    if plan.is::<RecursiveQueryExec>() {
        return Ok(None);
    }
    let takes_all = plan.is::<AggregateExec>() || plan.is::<SortExec>();
    let is_read_whole = takes_all || is_read_whole && plan.fetch().is_none();
    let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    for child in &mut children {
        if let Some(freed) = freed(child, before, is_read_whole)? {
            *child = freed;
            return replace_children_if_necessary(Arc::clone(plan), children).map(Some);
        }
    }
    Ok(None)
}
