//! `RowLocks`: what is locked of each row that comes by; `RunningRowLocks`: one run of it. A step of short chains, and what
//! `lock_rows_exec` does. Rows are locked in the order in which they come, and no more of them than a limit above asks for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use datafusion_physical_expr::PhysicalExpr;

use crate::catalog::TableDef;
use crate::functions::evaluate::values;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::operators::recheck::{KeptRecheck, Recheck};
use crate::parse::row_locks::{LockStrength, WaitPolicy};
use crate::store::{LockMode, LockWait, Values};
use crate::system::StatementContext;
use crate::table::StoredKeys;
use crate::tree::{LockRows, Plan, RowLock};
use crate::txn::Transaction;
use crate::{Error, Result};

/// The rows of one table that are locked.
#[derive(Debug)]
pub(crate) struct TableRowLocks {
    relation: String,
    keys: StoredKeys,
    /// How a query locks them; a write says so itself.
    pub(super) mode: LockMode,
    wait: LockWait,
    /// Rows that are gone are passed over.
    passes_gone: bool,
    /// They are written.
    is_write: bool,
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
            passes_gone: lock.wait == WaitPolicy::SkipLocked,
            is_write: false,
        }
    }

    /// Those of a cursor, which has given rows and cannot begin again: one that is gone is passed over, though it may have got another key.
    pub(super) fn of_cursor(lock: &RowLock) -> TableRowLocks {
        TableRowLocks {
            passes_gone: true,
            ..TableRowLocks::new(lock)
        }
    }

    /// Those of a write.
    pub(crate) fn of_write(table: &TableDef) -> TableRowLocks {
        TableRowLocks {
            relation: table.name.clone(),
            keys: StoredKeys::new(table),
            mode: LockMode::Replace,
            wait: LockWait::Block,
            passes_gone: false,
            is_write: true,
        }
    }

    /// The keys of so many rows, whose keys' columns these are.
    pub(super) fn keys(&self, key: &[ArrayRef], rows: usize) -> Vec<Vec<u8>> {
        (0..rows).map(|row| self.keys.key(key, row)).collect()
    }

    /// Locks the rows of a page, whose keys' columns stand before it; answers those that are locked, as they are now. `recheck`: what is made of
    /// rows that turn out to be newer than they were read. Errors: `Conflict` for a row of which that is not known, or that is gone: it may
    /// have got another key, and be there under that; 40P01, 53200, 55P03.
    pub(crate) async fn lock<'a>(
        &self,
        txn: &Transaction,
        mode: LockMode,
        (key, page): (&[ArrayRef], RecordBatch),
        recheck: impl Fn() -> Result<Option<(&'a Recheck, Constants)>>,
    ) -> Result<RecordBatch> {
        let keys = self.keys(key, page.num_rows());
        let locked = txn.lock_rows(&keys, mode, self.wait).await;
        let locked = locked.map_err(|error| match error {
            // Who only locks is not told which it was, as in PostgreSQL.
            Error::ConcurrentDelete { key } if !self.is_write => Error::Conflict { key },
            error => error,
        })?;
        let unlocked = &locked.unlocked;
        if unlocked.refused.is_some() {
            let object = format!("row in relation \"{}\"", self.relation);
            return Err(Error::LockNotAvailable { object });
        }
        if let Some(first) = locked.newer.first() {
            let recheck = match self.minds_gone(&locked.newest) {
                true => None,
                false => recheck()?,
            };
            return match recheck {
                Some((recheck, constants)) => recheck.renewed(&page, &keys, &locked, &constants),
                None => Err(Error::Conflict {
                    key: keys[*first].clone(),
                }),
            };
        }
        if unlocked.skipped.is_empty() {
            return Ok(page);
        }
        let locked = (0..page.num_rows()).map(|row| Some(unlocked.is_locked(row)));
        filter_record_batch(&page, &locked.collect::<BooleanArray>()).map_err(Error::arrow)
    }

    /// Whether one of the rows is gone, and that counts.
    fn minds_gone(&self, newest: &Values) -> bool {
        !self.passes_gone && (0..newest.len()).any(|at| newest.get(at).is_none())
    }
}

/// What a step of a chain locks.
#[derive(Debug)]
pub(super) struct RowLocks {
    tables: Vec<(Arc<TableRowLocks>, Vec<Computed>)>,
    made: Option<MadeRows>,
}

impl RowLocks {
    /// With the columns of each key.
    pub(super) fn new(tables: Vec<(Arc<TableRowLocks>, Vec<Computed>)>, made: Option<MadeRows>) -> RowLocks {
        RowLocks { tables, made }
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
        });
        let made = self.made.clone().map(|made| (made, constants.clone()));
        RunningRowLocks::new(tables.collect(), ctx, made, wanted)
    }
}

/// The rows of a table with the columns of their keys.
#[derive(Debug, Clone)]
pub(super) struct KeyedLocks {
    pub(super) table: Arc<TableRowLocks>,
    pub(super) key: Vec<Arc<dyn PhysicalExpr>>,
}

/// What makes the rows of a node.
#[derive(Debug, Clone)]
pub(super) struct MadeRows {
    plan: Arc<Plan>,
    /// See [`Recheck`].
    columns: Option<Arc<[usize]>>,
    recheck: KeptRecheck,
}

impl MadeRows {
    /// `None`: where several tables are locked, nobody knows what is made of one's rows.
    pub(super) fn of(node: &LockRows, columns: Option<Arc<[usize]>>) -> Option<MadeRows> {
        let plan = Arc::clone(&node.made);
        let recheck = KeptRecheck::default();
        (node.locks.len() == 1).then_some(MadeRows {
            plan,
            columns,
            recheck,
        })
    }

    fn recheck(&self) -> Option<&Recheck> {
        self.recheck.of(&self.plan, self.columns.as_ref())
    }
}

/// One run.
pub(super) struct RunningRowLocks {
    tables: Vec<KeyedLocks>,
    txn: Arc<Transaction>,
    made: Option<(MadeRows, Constants)>,
    /// Rows still asked for.
    wanted: Option<usize>,
    pending: VecDeque<RecordBatch>,
}

impl RunningRowLocks {
    pub(super) fn new(
        tables: Vec<KeyedLocks>,
        ctx: &StatementContext,
        made: Option<(MadeRows, Constants)>,
        wanted: Option<usize>,
    ) -> Self {
        RunningRowLocks {
            tables,
            txn: Arc::clone(&ctx.txn),
            made,
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
        let recheck = || {
            let made = self.made.as_ref();
            Ok(made.and_then(|(made, constants)| Some((made.recheck()?, constants.clone()))))
        };
        for KeyedLocks { table, key } in &self.tables {
            let key = key.iter().map(|column| values(column, &rows));
            let key = key.collect::<Result<Vec<_>>>()?;
            let is_of_all = key.first().is_none_or(|first| first.null_count() == 0);
            rows = match is_of_all {
                true => table.lock(&self.txn, table.mode, (&key, rows), recheck).await?,
                false => self.lock_own(table, (&key, rows), recheck).await?,
            };
        }
        self.wanted = self.wanted.map(|wanted| wanted - rows.num_rows());
        Ok(Some(rows))
    }

    /// Locks those of the rows that are the table's, which have a key: the others are rows of other partitions, and come through.
    async fn lock_own<'a>(
        &self,
        table: &TableRowLocks,
        (key, rows): (&[ArrayRef], RecordBatch),
        recheck: impl Fn() -> Result<Option<(&'a Recheck, Constants)>>,
    ) -> Result<RecordBatch> {
        let is_own = |row: usize| key.first().is_some_and(|first| first.is_valid(row));
        let (mut locked, mut from) = (Vec::new(), 0);
        while from < rows.num_rows() {
            let to = (from..rows.num_rows()).find(|row| is_own(*row) != is_own(from));
            let count = to.unwrap_or(rows.num_rows()) - from;
            let part = rows.slice(from, count);
            locked.push(match is_own(from) {
                false => part,
                true => {
                    let key: Vec<ArrayRef> = key.iter().map(|array| array.slice(from, count)).collect();
                    table.lock(&self.txn, table.mode, (&key, part), &recheck).await?
                }
            });
            from += count;
        }
        concat_batches(&rows.schema(), &locked).map_err(Error::arrow)
    }
}
