//! When a lookup gives way to one read of the whole inner side. The rows that say what is looked up are guessed before a join runs, and
//! may prove to be many more: once those that were looked up cost as much as reading all of the table, it is read in one piece and
//! kept, as a hash join would have done. So a lookup costs at most about twice what that would. Called by `table_lookup`; whether a
//! statement *may* run never depends on it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{BoxStream, StreamExt, select_all};

use crate::Result;
use crate::catalog::TableDef;
use crate::plan::AccessPath;
use crate::scan::ScannedColumns;
use crate::scan::costs::{ROWS_A_GET, ROWS_A_LOOKUP};
use crate::scan::executor::{Demand, scan_batches};
use crate::scan::scan_metrics::ScanMetrics;
use crate::scan::shared_scan::SharedScan;
use crate::system::query_threads::apart;
use crate::table::committed_row_counts;
use crate::txn::Transaction;

/// Keys that are looked up before it is asked how many rows the table has.
const KEYS_MIN: u64 = 1024;

/// What lookups have cost so far, in rows read one after the other, and what they may.
#[derive(Debug, Default)]
pub(super) struct LookupCost {
    spent: u64,
    /// `None`: nobody has asked yet.
    most: Option<u64>,
}

impl LookupCost {
    /// So many keys are looked up.
    pub(super) fn add_keys(&mut self, keys: u64) {
        self.spent += keys * ROWS_A_LOOKUP;
    }

    /// They led to so many rows, of which each was fetched by itself if they are of entries of an index.
    pub(super) fn add_rows(&mut self, rows: u64, are_fetched: bool) {
        self.spent += if are_fetched { rows * ROWS_A_GET } else { rows };
    }

    /// Whether they have cost as much as reading the whole table.
    pub(super) async fn is_whole(&mut self, txn: &Transaction, table: &Arc<TableDef>) -> Result<bool> {
        if self.spent < KEYS_MIN * ROWS_A_LOOKUP {
            return Ok(false);
        }
        let most = match self.most {
            Some(most) => most,
            None => {
                let counts = committed_row_counts(txn, &[table]).await?;
                let rows = counts.first().copied().flatten();
                // Of a table that nobody has counted it is never known.
                *self.most.insert(rows.unwrap_or(u64::MAX))
            }
        };
        Ok(self.spent >= most)
    }

    /// From now on they may cost whatever they do: the table is not to be kept.
    pub(super) fn lift(&mut self) {
        self.most = Some(u64::MAX);
    }
}

/// All rows of a path, read by so many readers, in no order.
pub(super) fn all_rows(
    txn: &Arc<Transaction>,
    path: AccessPath,
    columns: &ScannedColumns,
    readers: usize,
    metrics: &Arc<ScanMetrics>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (columns, metrics) = (columns.clone(), Arc::clone(metrics));
    match SharedScan::new(Arc::clone(txn), &path, columns.clone(), Arc::clone(&metrics)) {
        Some(shared) => select_all((0..readers.max(1)).map(|_| apart(shared.reader()))).boxed(),
        None => scan_batches(Arc::clone(txn), Arc::new(path), columns, Demand::All, metrics),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::table_of;
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::table::begin_count;
    use crate::table::correct_count;
    use crate::types::SqlType;

    /// A transaction, and a table that says that it has so many rows.
    async fn table_of_rows(rows: u64) -> (Transaction, Arc<TableDef>) {
        let engine = Arc::new(MemoryEngine::new());
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(engine, &StoreOptions::default(), None).unwrap());
        let table = table_of("t", &[("n", SqlType::Int8)], &[false]);
        let txn = Transaction::begin(Arc::clone(&store), 1 << 20).await.unwrap();
        begin_count(&txn, &table).unwrap();
        correct_count(&txn, &table, rows).await.unwrap();
        txn.commit(false).await.unwrap();
        (Transaction::begin(store, 1 << 20).await.unwrap(), table)
    }

    #[tokio::test]
    async fn keys_and_fetched_rows_cost_more_than_rows_that_are_walked() {
        let (txn, table) = table_of_rows(100_000).await;
        let mut cost = LookupCost::default();
        cost.add_keys(1_500);
        cost.add_rows(50_000, false);
        assert!(!cost.is_whole(&txn, &table).await.unwrap());
        cost.add_rows(1_000, true);
        assert!(cost.is_whole(&txn, &table).await.unwrap());
        cost.lift();
        assert!(!cost.is_whole(&txn, &table).await.unwrap());
    }

    #[tokio::test]
    async fn few_keys_are_looked_up_in_a_small_table_and_in_one_that_nobody_counted() {
        let (txn, table) = table_of_rows(10).await;
        let mut cost = LookupCost::default();
        cost.add_keys(KEYS_MIN - 1);
        assert!(!cost.is_whole(&txn, &table).await.unwrap());
        cost.add_keys(1);
        assert!(cost.is_whole(&txn, &table).await.unwrap());
        let other = table_of("u", &[("n", SqlType::Int8)], &[false]);
        let uncounted = Arc::new(TableDef {
            id: table.id + 1,
            ..other.as_ref().clone()
        });
        let mut cost = LookupCost::default();
        cost.add_keys(KEYS_MIN * 1000);
        assert!(!cost.is_whole(&txn, &uncounted).await.unwrap());
    }
}
