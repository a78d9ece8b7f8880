//! Parallel plans: what takes in everything before it answers, and does not care in which order (aggregates, the first
//! rows of an order, the kept side of a hash join), reads its table with several readers, each with its own part of the work above it.
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

use datafusion_common::Result as DataFusionResult;
use datafusion_common::{JoinSide, JoinType};
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::coop::CooperativeExec;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, InputOrderMode, replace_children_if_necessary,
};

use super::order_requirements::sees_order;
use super::scan_exec::KeyspanScanExec;
use super::varying_columns::VaryingColumns;

/// Lets several readers work where nobody sees the order.
pub(super) fn with_parallel_readers(
    plan: Arc<dyn ExecutionPlan>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    parallel(plan, RowOrder::Seen)
}

/// What becomes of a plan's rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RowOrder {
    /// Somebody may see in which order they come, or take the first and no more.
    Seen,
    /// All are taken in, in whatever order.
    Unseen,
}

/// The same plan, with several readers wherever they help.
fn parallel(plan: Arc<dyn ExecutionPlan>, order: RowOrder) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    // Each turn of a recursion is short.
    if plan.is::<RecursiveQueryExec>() || plan.children().is_empty() {
        return Ok(plan);
    }
    let changed = match (
        plan.downcast_ref::<AggregateExec>(),
        plan.downcast_ref::<SortExec>(),
    ) {
        (Some(aggregate), _) => in_parts_below_aggregate(aggregate, order)?,
        (_, Some(sort)) => in_parts_below_sort(sort)?,
        _ => None,
    };
    if let Some(changed) = changed {
        return Ok(changed);
    }
    let children = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => vec![
            kept_side(join)?,
            parallel(Arc::clone(join.right()), RowOrder::Seen)?,
        ],
        None => {
            let below = order_below(&plan, order)?;
            let children = plan.children().into_iter().cloned();
            let children = children.map(|child| parallel(child, below));
            children.collect::<DataFusionResult<_>>()?
        }
    };
    replace_children_if_necessary(plan, children)
}

/// The side of a join that is kept, of which nobody sees the order.
fn kept_side(join: &HashJoinExec) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    match in_parts(join.left())? {
        Some(parts) => Ok(Arc::new(CoalescePartitionsExec::new(parts))),
        None => parallel(Arc::clone(join.left()), RowOrder::Unseen),
    }
}

/// What becomes of the rows below a plan of whose rows this becomes.
fn order_below(plan: &Arc<dyn ExecutionPlan>, order: RowOrder) -> DataFusionResult<RowOrder> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        return Ok(match comes_nearly_in_order(sort)? {
            true => RowOrder::Seen,
            false => RowOrder::Unseen,
        });
    }
    Ok(match passes_on(plan) && plan.fetch().is_none() {
        true => order,
        false => RowOrder::Seen,
    })
}

/// Whether rows that come one by one are passed on so.
fn passes_on(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<VaryingColumns>()
}

/// Whether what is to be sorted has the order of the first sort keys: then it need not be read to the end for the first rows.
fn comes_nearly_in_order(sort: &SortExec) -> DataFusionResult<bool> {
    let (ordered, _) = sort
        .input()
        .equivalence_properties()
        .extract_common_sort_prefix(sort.expr().clone())?;
    Ok(!ordered.is_empty())
}

/// Aggregates of each part, put together.
fn in_parts_below_aggregate(
    aggregate: &AggregateExec,
    order: RowOrder,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let is_whole = matches!(
        aggregate.mode(),
        AggregateMode::Single | AggregateMode::SinglePartitioned
    );
    // Groups in the order of the key are finished as they come; where it is that of some columns only, most are hashed all the same.
    let is_hashed = match aggregate.input_order_mode() {
        InputOrderMode::Linear => true,
        InputOrderMode::PartiallySorted(_) => order == RowOrder::Unseen,
        InputOrderMode::Sorted => false,
    };
    if !is_whole || sees_order(aggregate) || !is_hashed || aggregate.limit_options().is_some() {
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
    if comes_nearly_in_order(sort)? {
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
        children = vec![kept_side(join)?, probe];
    } else if passes_on(plan) {
        let Some(child) = in_parts(&children[0])? else {
            return Ok(None);
        };
        children = vec![child];
    } else {
        return Ok(None);
    }
    replace_children_if_necessary(Arc::clone(plan), children).map(Some)
}

/// Whether each part of a join's probe side can be joined by itself. What is given of the kept side comes with the part that ends last.
fn takes_parts(join: &HashJoinExec) -> bool {
    *join.partition_mode() == PartitionMode::CollectLeft
        && !join.null_aware
        && HashJoinExec::probe_side() == JoinSide::Right
        && matches!(
            join.join_type(),
            JoinType::Inner
                | JoinType::Left
                | JoinType::LeftSemi
                | JoinType::LeftAnti
                | JoinType::Right
                | JoinType::RightSemi
                | JoinType::RightAnti
        )
}
