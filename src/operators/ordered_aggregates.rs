//! Aggregates whose answer tells in which order the rows of a group came. Below them nobody may change that: `parallel` reads in one
//! stream there, and `builder` takes no order of what comes of the groups down to the table.

use datafusion_physical_plan::aggregates::AggregateExec;

/// Those that tell it without an ORDER BY of their own.
const ORDERED_AGGREGATES: [&str; 4] = ["array_agg", "first_value", "last_value", "nth_value"];

/// Whether some call of the node tells it.
pub(super) fn sees_order(aggregate: &AggregateExec) -> bool {
    let mut calls = aggregate.aggr_expr().iter();
    calls.any(|call| !call.order_bys().is_empty() || ORDERED_AGGREGATES.contains(&call.fun().name()))
}
