//! Parallel plans: what takes in everything before it answers, and does not care in which order (aggregates, the first
//! rows of an order), reads its table with several readers, each with its own part of the work above it.
//!
//! ```text
//!   Aggregate                    Finalize Aggregate
//!     Filter          ──►          Gather
//!       Scan                         Partial Aggregate      (once a reader)
//!                                      Filter
//!                                        Scan               (a `SharedScan`)
//! ```
//!
//! What streams to the client keeps the order of the key, and one reader.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinSide, JoinType};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, InputOrderMode, replace_children_if_necessary,
};

use super::scan_exec::KeyspanScanExec;

/// Aggregates whose answer tells in which order the rows came.
const ORDERED_AGGREGATES: [&str; 4] = ["array_agg", "first_value", "last_value", "nth_value"];

/// Lets several readers work where nobody sees the order.
#[derive(Debug)]
pub(super) struct ParallelReaders;

impl PhysicalOptimizerRule for ParallelReaders {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        parallel(plan)
    }

    fn name(&self) -> &str {
        "parallel_readers"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The same plan, with several readers wherever they help.
fn parallel(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    // Each turn of a recursion is short.
    if plan.is::<RecursiveQueryExec>() || plan.children().is_empty() {
        return Ok(plan);
    }
    let changed = match (
        plan.downcast_ref::<AggregateExec>(),
        plan.downcast_ref::<SortExec>(),
    ) {
        (Some(aggregate), _) => in_parts_below_aggregate(aggregate)?,
        (_, Some(sort)) => in_parts_below_sort(sort)?,
        _ => None,
    };
    if let Some(changed) = changed {
        return Ok(changed);
    }
    let children = plan.children().into_iter().cloned().map(parallel);
    let children = children.collect::<DataFusionResult<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// Aggregates of each part, put together.
fn in_parts_below_aggregate(aggregate: &AggregateExec) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let is_whole = matches!(
        aggregate.mode(),
        AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    let is_unordered = aggregate
        .aggr_expr()
        .iter()
        .all(|call| call.order_bys().is_empty() && !ORDERED_AGGREGATES.contains(&call.fun().name()));
    // Groups in the order of the key are finished as they come.
    let is_hashed = *aggregate.input_order_mode() == InputOrderMode::Linear;
    if !is_whole || !is_unordered || !is_hashed || aggregate.limit_options().is_some() {
        return Ok(None);
    }
    let Some(input) = in_parts(aggregate.input())? else {
        return Ok(None);
    };
    let calls = aggregate.aggr_expr().to_vec();
    let no_filters = vec![None; calls.len()];
    let partial = AggregateExec::try_new(
        AggregateMode::Partial,
        aggregate.group_expr().clone(),
        calls.clone(),
        aggregate.filter_expr().to_vec(),
        input,
        aggregate.input_schema(),
    )?;
    let gathered = Arc::new(CoalescePartitionsExec::new(Arc::new(partial)));
    Ok(Some(Arc::new(AggregateExec::try_new(
        AggregateMode::Final,
        aggregate.group_expr().as_final(),
        calls,
        no_filters,
        gathered,
        aggregate.input_schema(),
    )?)))
}

/// The first rows of each part, merged.
fn in_parts_below_sort(sort: &SortExec) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let Some(fetch) = sort.fetch() else {
        return Ok(None);
    };
    // Rows that come nearly in order need not be read to the end.
    let (ordered, _) = sort
        .input()
        .equivalence_properties()
        .extract_common_sort_prefix(sort.expr().clone())?;
    if !ordered.is_empty() {
        return Ok(None);
    }
    let Some(input) = in_parts(sort.input())? else {
        return Ok(None);
    };
    let part = SortExec::new(sort.expr().clone(), input)
        .with_fetch(Some(fetch))
        .with_preserve_partitioning(true);
    let merged = SortPreservingMergeExec::new(sort.expr().clone(), Arc::new(part)).with_fetch(Some(fetch));
    Ok(Some(Arc::new(merged)))
}

/// The same rows in several parts, in no order; `None` when they come from elsewhere than one long scan.
fn in_parts(plan: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
        return Ok(scan.in_parts());
    }
    let passes_on = plan.is::<FilterExec>() || plan.is::<ProjectionExec>() || plan.is::<CooperativeExec>();
    if plan.fetch().is_some() {
        return Ok(None);
    }
    let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        if !takes_parts(join) {
            return Ok(None);
        }
        let Some(probe) = in_parts(join.right())? else {
            return Ok(None);
        };
        let build = match in_parts(join.left())? {
            Some(build) => Arc::new(CoalescePartitionsExec::new(build)) as Arc<dyn ExecutionPlan>,
            None => parallel(Arc::clone(join.left()))?,
        };
        children = vec![build, probe];
    } else if passes_on {
        let Some(child) = in_parts(&children[0])? else {
            return Ok(None);
        };
        children = vec![child];
    } else {
        return Ok(None);
    }
    replace_children_if_necessary(Arc::clone(plan), children).map(Some)
}

/// Whether each part of a join's probe side can be joined by itself.
fn takes_parts(join: &HashJoinExec) -> bool {
    *join.partition_mode() == PartitionMode::CollectLeft
        && HashJoinExec::probe_side() == JoinSide::Right
        && matches!(
            join.join_type(),
            JoinType::Inner | JoinType::Right | JoinType::RightSemi | JoinType::RightAnti
        )
}
