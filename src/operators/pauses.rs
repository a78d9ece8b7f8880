//! Pauses in plans: where a plan reads, and where it makes many rows of the few that it has read. Whoever sums them up asks for more
//! without end: such a task could not be stopped. Called by `planner` for every plan.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::coop::CooperativeExec;
use datafusion_physical_plan::execution_plan::SchedulingType;

use super::row_by_row::RowByRow;
use super::seen_rows;
use super::varying_columns::VaryingColumns;
use super::window_memory::WindowMemory;

/// What makes more rows than it reads: joins and set-returning functions.
const MULTIPLIERS: [&str; 3] = ["JoinExec", "UnnestExec", "RecursiveQueryExec"];

/// The plan with a pause above everything that reads what does not pause by itself, or makes more rows than it reads. To be the last
/// change of a plan.
pub(super) fn with_pauses(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let pauses = node.properties().scheduling_type == SchedulingType::Cooperative;
        let multiplies = MULTIPLIERS.iter().any(|name| node.name().ends_with(name));
        Ok(match multiplies || node.children().is_empty() && !pauses {
            true => Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>),
            false => Transformed::no(node),
        })
    })
    .data()
}

/// Whether a node only passes rows on, to pause, to count them, one at a time or to say what is known of them, which EXPLAIN leaves out.
pub fn is_pause(plan: &dyn ExecutionPlan) -> bool {
    plan.name() == "CooperativeExec"
        || plan.is::<WindowMemory>()
        || plan.is::<VaryingColumns>()
        || plan.is::<RowByRow>()
        || seen_rows::is_of(plan)
}
