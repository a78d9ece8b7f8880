//! `RowLocks`: what is locked of each row that comes by; `RunningRowLocks`: one run of it. A step of short chains, and what
//! `lock_rows_exec` does. Rows are locked in the order in which they come, and no more of them than a limit above asks for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use datafusion_physical_expr::PhysicalExpr;

use crate::catalog::TableDef;
use crate::functions::evaluate::values;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::operators::recheck::{NewerRows, Recheck};
use crate::parse::row_locks::{LockStrength, WaitPolicy};
use crate::store::{LockMode, LockWait, Values};
use crate::system::StatementContext;
use crate::table::StoredKeys;
use crate::tree::{LockRows, Plan, RowLock};
use crate::txn::{LockedRows, Transaction};
use crate::{Error, Result};

/// The rows of one table that are locked.
#[derive(Debug)]
pub(crate) struct TableRowLocks {
    relation: String,
    keys: StoredKeys,
    mode: LockMode,
    wait: LockWait,
    /// What is made of rows that turn out to be newer than they were read. `None`: the statement begins again.
    recheck: Option<Recheck>,
}

impl TableRowLocks {
    /// As a plan has it. `made`: see [`LockRows::made`]; where several tables are locked, nobody knows what is made of one's rows.
    fn new(lock: &RowLock, made: Option<&Plan>) -> TableRowLocks {
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
            recheck: made.and_then(Recheck::of),
        }
    }

    /// Those of a node, in its order.
    pub(super) fn of(node: &LockRows) -> Vec<Arc<TableRowLocks>> {
        let made = (node.locks.len() == 1).then_some(node.made.as_ref());
        let locks = node.locks.iter();
        locks
            .map(|lock| Arc::new(TableRowLocks::new(lock, made)))
            .collect()
    }

    /// Those of a write that finds the rows by this plan. `None`: the write locks them, for nobody knows what is made of one of them.
    pub(crate) fn of_write(table: &TableDef, mode: LockMode, found: &Plan) -> Option<TableRowLocks> {
        Some(TableRowLocks {
            relation: table.name.clone(),
            keys: StoredKeys::new(table),
            mode,
            wait: LockWait::Block,
            recheck: Some(Recheck::of(found)?),
        })
    }

    /// Locks the rows of a page, whose keys' columns these are; answers those that are locked, as they are now. `columns`: see
    /// [`Recheck::renewed`]. Errors: `Conflict` for a row of which it is not known what is made of it now, or that is gone: it may have
    /// got another key, and be there under that; 40P01, 53200, 55P03.
    pub(crate) async fn lock(
        &self,
        txn: &Transaction,
        key: &[ArrayRef],
        page: RecordBatch,
        columns: Option<&[usize]>,
        constants: impl Fn() -> Result<Constants>,
    ) -> Result<RecordBatch> {
        let keys: Vec<Vec<u8>> = (0..page.num_rows()).map(|row| self.keys.key(key, row)).collect();
        let LockedRows {
            unlocked,
            newer,
            newest,
        } = txn.lock_rows(&keys, self.mode, self.wait).await?;
        if unlocked.refused.is_some() {
            let object = format!("row in relation \"{}\"", self.relation);
            return Err(Error::LockNotAvailable { object });
        }
        if !newer.is_empty() {
            let rows = NewerRows {
                places: &newer,
                keys: &keys,
                values: &newest,
            };
            let recheck = self.recheck.as_ref().filter(|_| !self.minds_gone(&newest));
            let recheck = recheck.ok_or_else(|| Error::Conflict {
                key: keys[newer[0]].clone(),
            })?;
            return recheck.renewed(&page, |at| unlocked.is_locked(at), &rows, columns, &constants()?);
        }
        if unlocked.skipped.is_empty() {
            return Ok(page);
        }
        let locked = (0..page.num_rows()).map(|row| Some(unlocked.is_locked(row)));
        filter_record_batch(&page, &locked.collect::<BooleanArray>()).map_err(Error::arrow)
    }

    /// Whether one of the rows is gone, and that counts: who passes over rows passes over that one, too.
    fn minds_gone(&self, newest: &Values) -> bool {
        self.wait != LockWait::SkipLocked && (0..newest.len()).any(|at| newest.get(at).is_none())
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
    pub(super) fn start(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        wanted: Option<usize>,
    ) -> RunningRowLocks {
        let key = |key: &Vec<Computed>| key.iter().map(|column| Arc::clone(column.expr())).collect();
        let tables = self.tables.iter().map(|(table, columns)| KeyedLocks {
            table: Arc::clone(table),
            key: key(columns),
            columns: None,
        });
        RunningRowLocks::new(tables.collect(), ctx, constants.clone(), wanted)
    }
}

/// The rows of a table with the columns of their keys.
#[derive(Debug, Clone)]
pub(super) struct KeyedLocks {
    pub(super) table: Arc<TableRowLocks>,
    pub(super) key: Vec<Arc<dyn PhysicalExpr>>,
    /// See [`Recheck::renewed`].
    pub(super) columns: Option<Arc<[usize]>>,
}

/// One run.
pub(super) struct RunningRowLocks {
    tables: Vec<KeyedLocks>,
    txn: Arc<Transaction>,
    constants: Constants,
    /// Rows still asked for.
    wanted: Option<usize>,
    pending: VecDeque<RecordBatch>,
}

impl RunningRowLocks {
    pub(super) fn new(
        tables: Vec<KeyedLocks>,
        ctx: &StatementContext,
        constants: Constants,
        wanted: Option<usize>,
    ) -> Self {
        RunningRowLocks {
            tables,
            txn: Arc::clone(&ctx.txn),
            constants,
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
        for KeyedLocks { table, key, columns } in &self.tables {
            let key = key.iter().map(|column| values(column, &rows));
            let (key, columns) = (key.collect::<Result<Vec<_>>>()?, columns.as_deref());
            rows = table
                .lock(&self.txn, &key, rows, columns, || Ok(self.constants.clone()))
                .await?;
        }
        self.wanted = self.wanted.map(|wanted| wanted - rows.num_rows());
        Ok(Some(rows))
    }
}
