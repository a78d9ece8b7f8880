//! Pauses in plans. DataFusion lets a plan pause where it reads, but a join makes many rows of the few it has read, and
//! whoever sums them up asks for more without end: such a task could not be stopped. Called by `datafusion_state` for every plan.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

use super::counted_rows::CountedRows;

/// What makes more rows than it reads: joins and set-returning functions.
const MULTIPLIERS: [&str; 3] = ["JoinExec", "UnnestExec", "RecursiveQueryExec"];

/// Puts a pause above everything that makes more rows than it reads. To be the last rule.
#[derive(Debug)]
pub(super) struct PauseAboveJoins;

impl PhysicalOptimizerRule for PauseAboveJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let multiplies = MULTIPLIERS.iter().any(|name| node.name().ends_with(name));
            Ok(match multiplies {
                true => Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "pause_above_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether a node only passes rows on, to pause or to count them, which EXPLAIN leaves out.
pub fn is_pause(plan: &dyn ExecutionPlan) -> bool {
    plan.name() == "CooperativeExec" || plan.is::<CountedRows>()
}
