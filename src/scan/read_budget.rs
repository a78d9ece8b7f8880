//! `ReadBudget`: how much of a path a read may take in before whoever asked takes another way (`operators::top_rows_exec`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt};

use super::ScannedColumns;
use super::executor::{BatchScan, Demand};
use super::scan_metrics::ScanMetrics;
use crate::Result;
use crate::plan::AccessPath;
use crate::txn::Transaction;

/// Rows that a read may take in, and whether it ended because it had.
#[derive(Debug)]
pub(crate) struct ReadBudget {
    rows: u64,
    is_spent: AtomicBool,
}

impl ReadBudget {
    /// Of so many rows, and as many as come with the last of them in one page.
    pub(crate) fn new(rows: u64) -> ReadBudget {
        ReadBudget {
            rows,
            is_spent: AtomicBool::new(false),
        }
    }

    /// How many rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether a read ended because of it: there may be rows that did not come.
    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }
}

/// The rows of a path that is no union, as [`super::executor::scan_batches`] gives them, until the budget is spent.
pub(crate) fn scan_within(
    budget: &Arc<ReadBudget>,
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    columns: &ScannedColumns,
    metrics: Arc<ScanMetrics>,
) -> BoxStream<'static, Result<RecordBatch>> {
    budget.is_spent.store(false, Ordering::Relaxed);
    let scan = BatchScan::new(txn, path, columns, Demand::Few, metrics);
    let state = (scan, Arc::clone(budget), 0);
    stream::try_unfold(state, |(mut scan, budget, mut read)| async move {
        while read < budget.rows {
            let Some(batch) = scan.next_page().await? else {
                return Ok(None);
            };
            read += scan.page_rows() as u64;
            if batch.num_rows() > 0 {
                return Ok(Some((batch, (scan, budget, read))));
            }
        }
        budget.is_spent.store(true, Ordering::Relaxed);
        Ok(None)
    })
    .boxed()
}
