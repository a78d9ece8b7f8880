//! Which side a hash join keeps. Of two tables, one much larger than the other, it keeps the smaller one where a key of the larger one
//! leads from the join's columns to its rows: then that may be narrowed (`semi_join_reduction`), and in any case the larger one is not kept
//! in memory. How many rows conditions leave is a guess, how many a table has is known. Asked by `builder`.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::HashJoinExec;

use super::append::Append;
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
    let (Some(kept), Some(streamed)) = (
        scans_below(join.left(), kept_keys),
        scans_below(join.right(), streamed_keys),
    ) else {
        return false;
    };
    let is_larger = match (rows_of(&kept), rows_of(&streamed)) {
        (Some(kept), Some(streamed)) => kept / MUCH_LARGER > streamed,
        _ => false,
    };
    let may_be_reached = |(scan, columns): &Scanned| scan.is_whole() && scan.may_be_reached_by(columns);
    *join.join_type() == JoinType::Inner && is_larger && kept.iter().all(may_be_reached)
}

/// A scan, and columns of a plan as columns of its table.
type Scanned<'a> = (&'a KeyspanScanExec, Vec<usize>);

/// The rows that their tables have.
fn rows_of(scans: &[Scanned]) -> Option<u64> {
    scans.iter().map(|(scan, _)| scan.table_rows()).sum()
}

/// The scans that a plan selects rows of: one, or those of the partitions of a table.
fn scans_below(plan: &Arc<dyn ExecutionPlan>, columns: Vec<Option<usize>>) -> Option<Vec<Scanned<'_>>> {
    if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
        let columns = columns.into_iter().flatten();
        let columns = columns.map(|column| scan.positions()[column]);
        return Some(vec![(scan, columns.collect())]);
    }
    let children = plan.children();
    if children.len() != 1 && !plan.is::<Append>() {
        return None;
    }
    let below = below(plan, &columns);
    if below.is_empty() {
        return None;
    }
    let scans = below
        .into_iter()
        .map(|(child, columns)| scans_below(children[child], columns));
    Some(scans.collect::<Option<Vec<_>>>()?.concat())
}
