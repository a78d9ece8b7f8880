//! `RowLocks`: what is locked of each row that comes by; `RunningRowLocks`: one run of it. A step of short chains, and what
//! `lock_rows_exec` does. Rows are locked in the order in which they come, and no more of them than a limit above asks for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use datafusion_physical_expr::PhysicalExpr;

use crate::functions::evaluate::values;
use crate::operators::computed::Computed;
use crate::parse::row_locks::{LockStrength, WaitPolicy};
use crate::store::{LockMode, LockWait};
use crate::system::StatementContext;
use crate::table::StoredKeys;
use crate::tree::RowLock;
use crate::txn::Transaction;
use crate::{Error, Result};

/// The rows of one table that are locked.
#[derive(Debug)]
pub(super) struct TableRowLocks {
    relation: String,
    keys: StoredKeys,
    mode: LockMode,
    wait: LockWait,
}

impl TableRowLocks {
    /// As a plan has it.
    pub(super) fn new(lock: &RowLock) -> TableRowLocks {
        TableRowLocks {
            relation: lock.relation.clone(),
            keys: StoredKeys::new(&lock.table),
            mode: match lock.strength {
                LockStrength::KeyShare => LockMode::KeyShare,
                LockStrength::Share => LockMode::Share,
                LockStrength::NoKeyUpdate => LockMode::NoKeyUpdate,
                LockStrength::Update => LockMode::Update,
            },
            wait: match lock.wait {
                WaitPolicy::Block => LockWait::Block,
                WaitPolicy::SkipLocked => LockWait::SkipLocked,
                WaitPolicy::NoWait => LockWait::NoWait,
            },
        }
    }

    /// Which of the rows are locked now, by their keys' columns. Errors: `Conflict` for one that was changed since the snapshot; 40P01,
    /// 53200, 55P03.
    async fn lock(&self, txn: &Transaction, key: &[ArrayRef], rows: usize) -> Result<BooleanArray> {
        let keys: Vec<Vec<u8>> = (0..rows).map(|row| self.keys.key(key, row)).collect();
        let unlocked = txn.lock_or(&keys, self.mode, self.wait).await?;
        if unlocked.refused.is_some() {
            let object = format!("row in relation \"{}\"", self.relation);
            return Err(Error::LockNotAvailable { object });
        }
        let is_locked = |row: usize| unlocked.skipped.binary_search(&row).is_err();
        Ok((0..rows).map(|row| Some(is_locked(row))).collect())
    }
}

/// What a step of a chain locks.
#[derive(Debug)]
pub(super) struct RowLocks {
    tables: Vec<(Arc<TableRowLocks>, Vec<Computed>)>,
}

impl RowLocks {
    /// With the columns of each key.
    pub(super) fn new(tables: Vec<(Arc<TableRowLocks>, Vec<Computed>)>) -> RowLocks {
        RowLocks { tables }
    }

    /// What it computes of the rows that come.
    pub(super) fn inputs_mut(&mut self) -> impl Iterator<Item = &mut Computed> {
        self.tables.iter_mut().flat_map(|(_, key)| key)
    }

    /// Begins a run, of which so many rows are asked for.
    pub(super) fn start(&self, ctx: &StatementContext, wanted: Option<usize>) -> RunningRowLocks {
        let key = |key: &Vec<Computed>| key.iter().map(|column| Arc::clone(column.expr())).collect();
        let tables = self.tables.iter();
        let tables = tables.map(|(table, columns)| (Arc::clone(table), key(columns)));
        RunningRowLocks::new(tables.collect(), ctx, wanted)
    }
}

/// The rows of a table with the columns of their keys.
pub(super) type KeyedLocks = (Arc<TableRowLocks>, Vec<Arc<dyn PhysicalExpr>>);

/// One run.
pub(super) struct RunningRowLocks {
    tables: Vec<KeyedLocks>,
    txn: Arc<Transaction>,
    /// Rows still asked for.
    wanted: Option<usize>,
    pending: VecDeque<RecordBatch>,
}

impl RunningRowLocks {
    pub(super) fn new(tables: Vec<KeyedLocks>, ctx: &StatementContext, wanted: Option<usize>) -> Self {
        RunningRowLocks {
            tables,
            txn: Arc::clone(&ctx.txn),
            wanted,
            pending: VecDeque::new(),
        }
    }

    /// Takes rows that are to be locked.
    pub(super) fn push(&mut self, batch: RecordBatch) {
        self.pending.push_back(batch);
    }

    /// Whether it has rows to lock.
    pub(super) fn has_more(&self) -> bool {
        !self.pending.is_empty() && !self.is_done()
    }

    /// Whether it has given all rows that are asked for.
    pub(super) fn is_done(&self) -> bool {
        self.wanted == Some(0)
    }

    /// Forgets the rows that it has.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }

    /// Locks the next of them; answers those that it locked.
    pub(super) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.pending.pop_front() else {
            return Ok(None);
        };
        let taken = self
            .wanted
            .map_or(batch.num_rows(), |wanted| wanted.min(batch.num_rows()));
        if taken < batch.num_rows() {
            self.pending
                .push_front(batch.slice(taken, batch.num_rows() - taken));
        }
        let mut rows = batch.slice(0, taken);
        for (table, key) in &self.tables {
            let columns = key.iter().map(|column| values(column, &rows));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let locked = table.lock(&self.txn, &columns, rows.num_rows()).await?;
            if locked.true_count() < rows.num_rows() {
                rows = filter_record_batch(&rows, &locked).map_err(Error::arrow)?;
            }
        }
        self.wanted = self.wanted.map(|wanted| wanted - rows.num_rows());
        Ok(Some(rows))
    }
}
