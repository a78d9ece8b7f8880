//! Which side a hash join keeps. Of two tables, one much larger than the other, it keeps the smaller one where a key of the larger one
//! leads from the join's columns to its rows: then that may be narrowed (`semi_join_reduction`), and in any case the larger one is not kept
//! in memory. How many rows conditions leave is a guess, how many a table has is known. Asked by `builder`.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::HashJoinExec;

use super::columns_below::{below, column_of};
use super::scan_exec::KeyspanScanExec;

/// A table that has so many times the rows of another is much larger.
const MUCH_LARGER: u64 = 8;

/// Whether an inner join keeps a whole table that is much larger than the other, and may be reached by its keys.
pub(super) fn keeps_larger(join: &HashJoinExec) -> bool {
    let (kept_keys, streamed_keys) = join
        .on()
        .iter()
        .map(|(left, right)| (column_of(left), column_of(right)))
        .unzip();
    let kept = scan_below(join.left(), kept_keys);
    let streamed = scan_below(join.right(), streamed_keys);
    let (Some((kept, columns)), Some((streamed, _))) = (kept, streamed) else {
        return false;
    };
    let is_larger = match (kept.table_rows(), streamed.table_rows()) {
        (Some(kept), Some(streamed)) => kept / MUCH_LARGER > streamed,
        _ => false,
    };
    *join.join_type() == JoinType::Inner && is_larger && kept.is_whole() && kept.may_be_reached_by(&columns)
}

/// The scan that a plan selects rows of, and these columns of the plan as columns of the scan's table.
fn scan_below(
    plan: &Arc<dyn ExecutionPlan>,
    columns: Vec<Option<usize>>,
) -> Option<(&KeyspanScanExec, Vec<usize>)> {
    if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
        let columns = columns.into_iter().flatten();
        return Some((scan, columns.map(|column| scan.positions()[column]).collect()));
    }
    let [child] = plan.children()[..] else { return None };
    let (_, columns) = below(plan, &columns).pop()?;
    scan_below(child, columns)
}
