//! Sorts with a far limit. DataFusion keeps the first rows of a sort in a heap in memory, which cannot spill; where they may be
//! many, the whole sort, which can, takes less. Called by `optimizer`.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::sorts::sort::SortExec;

/// Rows that a sort keeps in a heap.
const HEAP_ROWS_MAX: usize = 8192;

/// Takes the limit out of sorts that would keep more rows than a heap is for, and puts it above them.
#[derive(Debug)]
pub(super) struct FarLimits;

impl PhysicalOptimizerRule for FarLimits {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let sort = node.downcast_ref::<SortExec>();
            let far = sort.and_then(|sort| Some((sort, sort.fetch().filter(|rows| *rows > HEAP_ROWS_MAX)?)));
            let Some((sort, rows)) = far else {
                return Ok(Transformed::no(node));
            };
            let whole = SortExec::new(sort.expr().clone(), Arc::clone(sort.input()))
                .with_preserve_partitioning(sort.preserve_partitioning());
            let limited: Arc<dyn ExecutionPlan> = match sort.preserve_partitioning() {
                true => Arc::new(LocalLimitExec::new(Arc::new(whole), rows)),
                false => Arc::new(GlobalLimitExec::new(Arc::new(whole), 0, Some(rows))),
            };
            Ok(Transformed::yes(limited))
        })
        .data()
    }

    fn name(&self) -> &str {
        "far_limits"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
