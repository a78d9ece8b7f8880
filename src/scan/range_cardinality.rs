//! `rows_led_to`: how many rows stand under ranges of a key, counted as far as some of them tell. Called before a join or a scan
//! chooses between two ways to the same rows; whether a statement may run never depends on it.

use std::sync::Arc;

use futures::TryStreamExt;

use super::executor::{Demand, scan_batches};
use super::layouts::ScannedColumns;
use crate::Result;
use crate::plan::{AccessClass, AccessPath};
use crate::store::KeyRange;
use crate::txn::Transaction;

/// The rows of so many ranges are counted to tell how many all lead to.
const RANGES_COUNTED: usize = 16;

/// How many rows ranges of a path's key lead to, as far as some of them tell; `None`: more than so many.
pub(crate) async fn rows_led_to(
    txn: &Arc<Transaction>,
    path: &AccessPath,
    ranges: &[KeyRange],
    rows_max: u64,
) -> Result<Option<u64>> {
    let step = ranges.len().div_ceil(RANGES_COUNTED).max(1);
    let counted: Vec<KeyRange> = ranges.iter().step_by(step).cloned().collect();
    let (all, of_them) = (ranges.len() as u64, (counted.len() as u64).max(1));
    let counted_max = rows_max * of_them / all.max(1);
    let entries = AccessPath {
        class: AccessClass::RangeScan {
            ranges: counted,
            whole: false,
        },
        residual: None,
        ..path.without_ranges()
    };
    let demand = Demand::Rows(counted_max as usize + 1);
    let mut batches = scan_batches(
        Arc::clone(txn),
        Arc::new(entries),
        ScannedColumns::new(Vec::new()),
        demand,
        Arc::default(),
    );
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await? {
        rows += batch.num_rows() as u64;
    }
    Ok((rows <= counted_max).then_some(rows * all / of_them))
}
