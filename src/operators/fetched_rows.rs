//! `FetchedRows`: the rows of a cursor, locked when they are asked for and no sooner, each as it is then. What the transaction itself has
//! written since the cursor was declared is passed over, as PostgreSQL does, and so is what others have deleted. Made by
//! `query::cursor_plan`, asked by the session's cursors.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use futures::{StreamExt, stream};

use super::recheck::{KeptRecheck, Recheck};
use super::row_locks::TableRowLocks;
use crate::functions::LimitClause;
use crate::logical::limit_counts::limit_count;
use crate::logical::placeholder::Constants;
use crate::scan::RowsStream;
use crate::system::query_threads;
use crate::tree::{Limit, Plan, RowLock};
use crate::txn::Transaction;
use crate::{Error, Result};

/// What is locked of the rows, and which of them are given.
#[derive(Debug, Clone)]
pub(crate) struct FetchLocks {
    table: Arc<TableRowLocks>,
    /// Places of the key.
    key: Vec<usize>,
    /// What makes the rows, and the places of their columns in it.
    made: Arc<Plan>,
    columns: Arc<[usize]>,
    recheck: KeptRecheck,
    limit: Option<Limit>,
}

impl FetchLocks {
    /// `key`: places of the locked table's key in the rows; `made`: what makes them, and where in it their columns stand. `None`: it reads
    /// more than the rows of the table.
    pub(crate) fn new(
        lock: &RowLock,
        key: Vec<usize>,
        (made, columns): (&Arc<Plan>, Vec<usize>),
        limit: Option<&Limit>,
    ) -> Option<FetchLocks> {
        Recheck::is_of(made).then(|| FetchLocks {
            table: Arc::new(TableRowLocks::of_cursor(lock)),
            key,
            made: Arc::clone(made),
            columns: columns.into(),
            recheck: KeptRecheck::default(),
            limit: limit.cloned(),
        })
    }
}

/// The rows, in one run.
pub(crate) struct FetchedRows {
    input: RowsStream,
    /// What came of the input, and was not asked for yet.
    pending: Option<RecordBatch>,
    locks: FetchLocks,
    constants: Constants,
    /// As it was when the cursor was declared.
    txn: Arc<Transaction>,
    /// Rows that OFFSET still leaves out.
    skip: usize,
    /// Rows that LIMIT still gives.
    left: Option<usize>,
}

impl FetchedRows {
    /// Of rows that are not locked. `txn`: a view, as it was when the cursor was declared. Errors: 2201W, 2201X.
    pub(crate) fn new(
        input: RowsStream,
        locks: &FetchLocks,
        txn: &Arc<Transaction>,
        constants: Constants,
    ) -> Result<FetchedRows> {
        let count = |count, clause| limit_count(count, &constants, clause);
        let limit = locks.limit.as_ref();
        let skip = count(limit.and_then(|limit| limit.skip.as_deref()), LimitClause::Offset)?;
        let left = count(limit.and_then(|limit| limit.fetch.as_deref()), LimitClause::Limit)?;
        Ok(FetchedRows {
            input,
            pending: None,
            locks: locks.clone(),
            constants,
            txn: Arc::clone(txn),
            skip: skip.unwrap_or(0),
            left,
        })
    }

    /// What it locks is read ahead on the query threads.
    pub(crate) fn read_on_query_threads(&mut self) {
        let input = std::mem::replace(&mut self.input, stream::empty().boxed());
        self.input = query_threads::on_query_threads(input);
    }

    /// The next rows, at least one and at most `wanted`, which is not 0; `None` at the end. Errors: the query's; 40001 above READ COMMITTED
    /// for a row that others have changed; 40P01, 53200, 55P03.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<RecordBatch>> {
        while self.left != Some(0) {
            let batch = match self.pending.take() {
                Some(batch) => batch,
                None => match self.input.next().await.transpose()? {
                    Some(rows) => rows.into_batch()?,
                    None => return Ok(None),
                },
            };
            let asked = wanted.min(self.left.unwrap_or(wanted)).saturating_add(self.skip);
            let taken = asked.min(batch.num_rows());
            if taken < batch.num_rows() {
                self.pending = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            let rows = self.lock(batch.slice(0, taken)).await?;
            let passed = self.skip.min(rows.num_rows());
            self.skip -= passed;
            let rows = rows.slice(passed, rows.num_rows() - passed);
            self.left = self.left.map(|left| left - rows.num_rows());
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    /// Those of the rows that are there, and that the transaction has not written itself, locked, as they are now.
    async fn lock(&mut self, rows: RecordBatch) -> Result<RecordBatch> {
        let rows = self.unwritten(rows)?;
        let recheck = || {
            let locks = &self.locks;
            let recheck = locks.recheck.of(&locks.made, Some(&locks.columns));
            Ok(recheck.map(|recheck| (recheck, self.constants.clone())))
        };
        let key = self.key_of(&rows);
        self.locks
            .table
            .lock(&self.txn, self.locks.table.mode, (&key, rows), recheck)
            .await
    }

    fn unwritten(&self, rows: RecordBatch) -> Result<RecordBatch> {
        let keys = self.locks.table.keys(&self.key_of(&rows), rows.num_rows());
        let written = self.txn.with_own_writes().are_written_since(&self.txn, &keys);
        match written.contains(&true) {
            false => Ok(rows),
            true => {
                let kept: BooleanArray = written.into_iter().map(|written| Some(!written)).collect();
                filter_record_batch(&rows, &kept).map_err(Error::arrow)
            }
        }
    }

    fn key_of(&self, rows: &RecordBatch) -> Vec<ArrayRef> {
        let key = self.locks.key.iter();
        key.map(|at| Arc::clone(rows.column(*at))).collect()
    }
}
