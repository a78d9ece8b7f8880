//! Limits, taken as far down as they hold. Called by `builder`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::utils::combine_limit;
use datafusion_physical_plan::aggregates::{AggregateExec, LimitOptions};
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::replace_children_if_necessary;
use datafusion_physical_plan::sorts::sort::SortExec;

use super::Operator;

/// Rows that a sort keeps in a heap. A heap is in memory and cannot spill; where the first rows may be many, the whole sort, which can,
/// takes less.
pub(super) const HEAP_ROWS_MAX: usize = 8192;

/// The rows of the input but for the first `skip`, `fetch` at most.
pub(super) fn limited(input: Operator, skip: usize, fetch: Option<usize>) -> DataFusionResult<Operator> {
    if skip == 0 && fetch.is_none() {
        return Ok(input);
    }
    // A sort that keeps its first rows keeps one at least.
    if fetch == Some(0) {
        return Ok(Arc::new(EmptyExec::new(input.schema())));
    }
    if let Some(below) = input.downcast_ref::<GlobalLimitExec>() {
        let (skip, fetch) = combine_limit(skip, fetch, below.skip(), below.fetch());
        return limited(Arc::clone(below.input()), skip, fetch);
    }
    let Some(rows) = fetch.map(|fetch| fetch.saturating_add(skip)) else {
        return Ok(Arc::new(GlobalLimitExec::new(input, skip, None)));
    };
    match first_of(&input, rows)? {
        Some(first) if skip == 0 => Ok(first),
        Some(first) => Ok(Arc::new(GlobalLimitExec::new(first, skip, fetch))),
        None => Ok(Arc::new(GlobalLimitExec::new(input, skip, fetch))),
    }
}

/// What gives no more than the first rows of a plan; `None`: nothing in it can.
fn first_of(plan: &Operator, rows: usize) -> DataFusionResult<Option<Operator>> {
    if plan.is::<GlobalLimitExec>() {
        return limited(Arc::clone(plan), 0, Some(rows)).map(Some);
    }
    // One that has a limit keeps the lower one.
    let rows = plan.fetch().map_or(rows, |own| own.min(rows));
    if plan.is::<SortExec>() && rows > HEAP_ROWS_MAX {
        return Ok(None);
    }
    if let Some(groups) = plan.downcast_ref::<AggregateExec>() {
        // It stops once it has so many groups, but ends with a whole batch.
        let stops = groups.is_unordered_unfiltered_group_by_distinct();
        return Ok(stops.then(|| {
            let groups = groups.with_new_limit_options(Some(LimitOptions::new(rows)));
            Arc::new(GlobalLimitExec::new(Arc::new(groups), 0, Some(rows))) as Operator
        }));
    }
    // A row of it is one of its input: fewer of that are enough.
    if plan.supports_limit_pushdown()
        && let [child] = plan.children()[..]
        && let Some(child) = first_of(child, rows)?
    {
        return replace_children_if_necessary(Arc::clone(plan), vec![child]).map(Some);
    }
    Ok(plan.with_fetch(Some(rows)))
}
