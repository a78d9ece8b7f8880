//! ALTER PRIMARY KEY beside writers: rows are written under new keys beside the table, and the table's record is moved there once they are all
//! there, and as they are.
//!
//! ```text
//!   ALTER    log ── copy ─────────────── catch up ── … ── lock, the rest, move      (or give up what is beside)
//!   INSERT     └ logs its row ┘ └ logs its row ┘     waits a moment └ writes the new keys
//! ```
//!
//! 1. The record says that there is a log ([`TableDef::rekeying`]): that commit waits for whoever is writing rows, and every writer from
//!    then on puts the keys of its rows into it, in its own commit (`txn::change_log`).
//! 2. All rows are copied, some in a commit, each as it is under its lock. A row that somebody else has locked is put into the log.
//! 3. Rows of the log are copied again: what stands beside for one goes, and what it is now comes; the same commit takes it out of the log.
//!    So what stands beside for a row that is not in the log is the row, always.
//! 4. When little is left, or has not become less for a while, nobody may use the table, the rest is copied, and the record moves, in one
//!    commit. Who waited begins again under the new definition.
//!
//! A row may want a key beside that another, which has given it up since, still has there: such a duplicate is one only if the log is empty
//! or nobody may write meanwhile. Whatever ends it before the move (a duplicate, NULL, a cancel, a client that goes, a definition by somebody
//! else) gives up what is beside; so does the next start after a kill. The table is whole all the while.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};

use super::rewrite::{as_duplicate_in_index, as_null_of_before};
use super::verification::{JobTable, after_undo, begin, change_table};
use crate::catalog::{Catalog, CatalogWriter, ColumnDef, IndexDef, Rekeying, TableDef, record_key};
use crate::codec::keyspace::IndexId;
use crate::error::{DuplicateKind, StatementFault};
use crate::sql::dml;
use crate::store::{HeldLocks, LockMode, LockWait};
use crate::system::{Abandoned, StatementContext};
use crate::table::{
    CurrentRows, Limits, begin_count, current_rows, insert_beside, lock_for_writes, log_keys, logged_keys,
    next_keys, remove_beside, require_not_null,
};
use crate::txn::{DatabaseStore, Transaction};
use crate::{Error, Result};

/// Rows of a commit at most.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { 512 };
/// Rows that may be left when the table is locked.
const REST_ROWS_MAX: usize = if cfg!(test) { 64 } else { 4096 };
/// How often in a row a page may lose to others, or meet a duplicate that may be none.
const LOST_MAX: usize = 1000;
const DUPLICATES_MAX: usize = 5;
/// How long the lock of the table is waited for at a time, while others wait behind.
const LOCK_WAIT: Duration = Duration::from_millis(200);
/// How long everybody else has their way between two times, and from so many times on, when somebody has held the table for long, or so much
/// is written that the log becomes no shorter: then all of it is copied under the lock.
const LOCK_PAUSE: Duration = Duration::from_millis(50);
const LOCK_PAUSE_LONG: Duration = Duration::from_millis(800);
const LOCK_TRIES: usize = 20;

/// How an attempt to copy rows ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copied {
    Done,
    /// Others wrote them, or what they are copied to may be free once the log is worked off.
    Lost,
}

/// A table on its way to another primary key.
struct Rekey {
    ctx: StatementContext,
    table: JobTable,
    store: DatabaseStore,
    /// The table as it was, and as it is to be.
    old: TableDef,
    new: TableDef,
    rekeying: Rekeying,
    /// The index beside that leads from old keys to rows.
    map: IndexDef,
    limits: Limits,
    /// Nobody else gives the table an index meanwhile, or takes one.
    _keys: HeldLocks,
    /// The catalog as it was last seen.
    known: Mutex<Option<Arc<Catalog>>>,
}

/// Gives a table, whose keys are locked, another primary key, and waits. Errors: 23505, 23502, 55006; 55000 for one that is altered meanwhile;
/// 57014.
pub(super) async fn run(
    ctx: &StatementContext,
    old: &TableDef,
    new: TableDef,
    keys: HeldLocks,
) -> Result<()> {
    if old.has_definition_on_its_way() {
        return Err(Error::InvalidStatement {
            state: StatementFault::ObjectInUse,
            message: format!(
                "cannot ALTER PRIMARY KEY of \"{}\" because another definition of it is on its way",
                old.name
            ),
            hint: Some("Wait until it is done.".to_string()),
        });
    }
    let (log, map) = (new.next_index_id, new.next_index_id + 1);
    let id = ctx.sequences.object_ids().take().await?;
    let rekey = Rekey {
        ctx: ctx.clone(),
        table: JobTable::new(old),
        store: ctx.txn.database_store(),
        old: old.clone(),
        map: map_index(old, map),
        rekeying: Rekeying { id, log },
        new,
        limits: ctx.settings.limits,
        _keys: keys,
        known: Mutex::default(),
    };
    {
        let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
        let marked = TableDef {
            rekeying: Some(rekey.rekeying),
            next_column_id: rekey.new.next_column_id,
            next_index_id: map + 1,
            ..old.clone()
        };
        writer.put_table_in(marked, LockMode::ShareRowExclusive)?;
        begin_count(&ctx.txn, &rekey.beside(old))?;
    }
    let txn = Arc::clone(&ctx.txn);
    ctx.jobs
        .run(move |abandoned| async move {
            txn.commit(false).await?;
            match rekey.build(&abandoned).await {
                Ok(()) => Ok(()),
                Err(error) => after_undo(rekey.give_up().await, error),
            }
        })
        .await
}

/// The index beside over the columns of the old key.
fn map_index(old: &TableDef, id: IndexId) -> IndexDef {
    IndexDef {
        id,
        oid: 0,
        name: old.primary_key.name.clone(),
        include: Vec::new(),
        unique: true,
        constraint: false,
        ..old.primary_key.clone()
    }
}

/// An index with what is only said of it: its name, comments, and options that nothing follows from. Anybody may change that at any time.
fn named_as(index: &IndexDef, said: &IndexDef) -> IndexDef {
    IndexDef {
        name: said.name.clone(),
        comment: said.comment.clone(),
        constraint_comment: said.constraint_comment.clone(),
        options: said.options.clone(),
        ..index.clone()
    }
}

impl Rekey {
    async fn build(&self, abandoned: &Abandoned) -> Result<()> {
        self.copy_all(abandoned).await?;
        let mut lost = 0;
        for tries in 0.. {
            self.catch_up(abandoned).await?;
            abandoned.next_step().await?;
            match self.move_table(tries > LOCK_TRIES).await {
                Ok(Copied::Done) => break,
                Ok(Copied::Lost) => {}
                Err(error @ Error::Conflict { .. }) if lost >= LOST_MAX => return Err(error),
                Err(Error::Conflict { .. }) => lost += 1,
                Err(error) => return Err(error),
            }
            let pause = if tries < LOCK_TRIES {
                LOCK_PAUSE
            } else {
                LOCK_PAUSE_LONG
            };
            tokio::time::sleep(pause).await;
        }
        Ok(())
    }

    /// Copies all rows. Errors: 23505, 23502, 55000, 57014.
    async fn copy_all(&self, abandoned: &Abandoned) -> Result<()> {
        let mut from: Option<Vec<u8>> = None;
        loop {
            abandoned.next_step().await?;
            let (txn, live) = self.begin().await?;
            let (keys, next) = next_keys(&txn, &live, from.as_deref(), PAGE_ROWS_MAX).await?;
            drop(txn);
            if next.is_none() {
                return Ok(());
            }
            self.copy(&keys, abandoned, false).await?;
            from = next;
        }
    }

    /// Copies the rows that the log has, once through it. Errors: as `copy_all`.
    async fn catch_up(&self, abandoned: &Abandoned) -> Result<()> {
        let mut from: Option<Vec<u8>> = None;
        loop {
            abandoned.next_step().await?;
            let (txn, live) = self.begin().await?;
            let log = (&*live, self.rekeying.log);
            let (keys, next) = logged_keys(&txn, log, from.as_deref(), PAGE_ROWS_MAX).await?;
            drop(txn);
            if next.is_none() {
                return Ok(());
            }
            self.copy(&keys, abandoned, true).await?;
            from = next;
        }
    }

    /// Copies rows with these keys. `logged`: the log has them. Rows that meet a duplicate which may be none are left in the log.
    async fn copy(&self, keys: &[Vec<u8>], abandoned: &Abandoned, logged: bool) -> Result<()> {
        let mut duplicates = 0;
        for lost in 0.. {
            abandoned.check()?;
            let (txn, live) = self.begin().await?;
            match self.copy_in(&txn, &live, keys, logged).await {
                Ok(()) => return Ok(()),
                Err(error @ Error::Conflict { .. }) if lost >= LOST_MAX => return Err(error),
                Err(Error::Conflict { .. }) => {}
                Err(error @ Error::UniqueViolation { .. }) => {
                    // Rows were read as they are, which may be newer than the transaction's snapshot.
                    let (newer, live) = self.begin().await?;
                    let (logged, _) = logged_keys(&newer, (&live, self.rekeying.log), None, 1).await?;
                    if logged.is_empty() {
                        return Err(as_duplicate_in_index(error));
                    }
                    duplicates += 1;
                }
                Err(error) => return Err(as_null_of_before(error)),
            }
            txn.roll_back();
            if duplicates > DUPLICATES_MAX {
                return self.leave(keys).await;
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Copies rows in a transaction, which it commits. Errors: 23505, 23502, `Conflict`.
    async fn copy_in(
        &self,
        txn: &Transaction,
        live: &TableDef,
        keys: &[Vec<u8>],
        logged: bool,
    ) -> Result<()> {
        let beside = self.beside(live);
        lock_for_writes(txn, live).await?;
        lock_for_writes(txn, &beside).await?;
        let current = current_rows(txn, live, keys, true).await?;
        self.replace(txn, (live, &beside), &current).await?;
        let log = (live, self.rekeying.log);
        log_keys(txn, log, &current.busy, true)?;
        if logged {
            log_keys(txn, log, &current.locked, false)?;
        }
        txn.note_statement(false);
        txn.settle().await?;
        txn.commit(true).await
    }

    /// Gives rows beside what they are now.
    async fn replace(
        &self,
        txn: &Transaction,
        (live, beside): (&TableDef, &TableDef),
        current: &CurrentRows,
    ) -> Result<()> {
        remove_beside(txn, (beside, &self.map), &current.locked, self.limits).await?;
        if current.rows.num_rows() == 0 {
            return Ok(());
        }
        let rows = self.as_beside((live, beside), &current.rows)?;
        require_not_null(beside, &rows, rows.num_rows())?;
        insert_beside(txn, (live, beside), (&rows, current), self.limits).await
    }

    /// Puts rows into the log: they are copied later.
    async fn leave(&self, keys: &[Vec<u8>]) -> Result<()> {
        let (txn, live) = self.begin().await?;
        lock_for_writes(&txn, &live).await?;
        log_keys(&txn, (&live, self.rekeying.log), keys, true)?;
        txn.note_statement(false);
        txn.settle().await?;
        txn.commit(true).await
    }

    /// Locks the table, copies what the log has left, and moves the record. `all`: however much that is. Errors: 23505, 23502, 55000.
    async fn move_table(&self, all: bool) -> Result<Copied> {
        let before = begin(&self.store).await?;
        let record = {
            let catalog = self.catalog(&before).await?;
            [record_key(self.find(&catalog)?.id)]
        };
        let locking = before.lock_as_it_is(&record, LockMode::AccessExclusive, LockWait::Block);
        match tokio::time::timeout(LOCK_WAIT, locking).await {
            Ok(locked) => locked?,
            Err(_) => return Ok(Copied::Lost),
        };
        // Everybody who wrote rows has committed.
        let txn = before.next_statement().await?;
        let catalog = self.catalog(&txn).await?;
        let live = self.find(&catalog)?;
        let rest_max = if all { usize::MAX - 1 } else { REST_ROWS_MAX };
        let log = (&**live, self.rekeying.log);
        let (mut keys, mut from) = (Vec::new(), None);
        loop {
            let (some, next) = logged_keys(&txn, log, from.as_deref(), PAGE_ROWS_MAX).await?;
            keys.extend(some);
            match next {
                Some(next) => from = Some(next),
                None => break,
            }
            if keys.len() > rest_max {
                txn.roll_back();
                return Ok(Copied::Lost);
            }
        }
        let beside = self.beside(live);
        for some in keys.chunks(PAGE_ROWS_MAX) {
            remove_beside(&txn, (&beside, &self.map), some, self.limits).await?;
        }
        for some in keys.chunks(PAGE_ROWS_MAX) {
            let current = current_rows(&txn, live, some, false).await?;
            let replaced = self.replace(&txn, (live, &beside), &current).await;
            replaced.map_err(|error| as_null_of_before(as_duplicate_in_index(error)))?;
        }
        self.move_record(&txn, &catalog, live).await?;
        txn.note_statement(false);
        txn.settle().await?;
        txn.commit(false).await?;
        Ok(Copied::Done)
    }

    /// Writes the record under the id of the new keys. The old ones, and with them the log, are left to be removed.
    async fn move_record(&self, txn: &Transaction, catalog: &Catalog, live: &Arc<TableDef>) -> Result<()> {
        let writer = CatalogWriter::begin(txn, catalog)?;
        let mut new = self.beside(live);
        let is_known = |name: &str| live.all_indexes().any(|index| index.name == name);
        let mut names = new.indexes.iter().filter(|index| index.id != self.map.id);
        if let Some(taken) =
            names.find(|index| !is_known(&index.name) && catalog.is_name_taken(&live.schema, &index.name))
        {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Relation,
                name: taken.name.clone(),
            });
        }
        new.indexes.retain(|index| index.id != self.map.id);
        let is_old =
            |column: &ColumnDef| column.hidden && !self.new.columns.iter().any(|kept| kept.id == column.id);
        new.columns.retain(|column| !is_old(column));
        writer.drop_keys(new.id, self.map.id)?;
        // What stands beside is what it becomes: only the mark ends.
        let unmarked = TableDef {
            rekeying: None,
            ..TableDef::clone(live)
        };
        let moved = writer.replace_table(&unmarked, new)?;
        self.ctx
            .sequences
            .move_row_ids(txn, &unmarked, &moved, false)
            .await
    }

    /// The table that stands beside `live`: what that becomes, with the columns of the old key, and the index over them.
    fn beside(&self, live: &TableDef) -> TableDef {
        let new = &self.new;
        let mut columns: Vec<ColumnDef> = live.columns.clone();
        // Nobody computes or counts what of the old key is hidden: it is copied.
        let is_hidden_key = |column: &ColumnDef| {
            column.hidden && live.is_key_column(column.id) && new.column_index_by_id(column.id).is_none()
        };
        for column in columns.iter_mut().filter(|column| is_hidden_key(column)) {
            column.default = None;
        }
        let is_new = |column: &&ColumnDef| columns.iter().all(|known| known.id != column.id);
        let hidden: Vec<ColumnDef> = new
            .columns
            .iter()
            .filter(is_new)
            .filter(|column| column.hidden)
            .cloned()
            .collect();
        columns.extend(hidden);
        for column in &mut columns {
            column.not_null |= new
                .primary_key
                .columns
                .iter()
                .any(|part| part.column == column.id);
        }
        let mut options = live.options.clone();
        options.buckets = new.options.buckets;
        options.split.clone_from(&new.options.split);
        let as_live = |index: &IndexDef| {
            let mut known = live.indexes.iter();
            let known = known.find(|known| known.oid == index.oid);
            known.map_or_else(|| index.clone(), |known| named_as(index, known))
        };
        let mut indexes: Vec<IndexDef> = new.indexes.iter().map(as_live).collect();
        indexes.push(self.map.clone());
        TableDef {
            id: self.rekeying.id,
            columns,
            primary_key: new.primary_key.clone(),
            indexes,
            options,
            rekeying: None,
            ..live.clone()
        }
    }

    /// Rows of the table as rows of the one beside.
    fn as_beside(&self, (live, beside): (&TableDef, &TableDef), rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |column: &ColumnDef| -> ArrayRef {
            match live.column_index_by_id(column.id) {
                Some(at) => Arc::clone(rows.column(at)),
                None => new_null_array(&column.ty.arrow_type(), rows.num_rows()),
            }
        };
        let columns = beside.columns.iter().map(column).collect();
        let rows = RecordBatch::try_new(beside.write_schema(), columns).map_err(Error::arrow)?;
        dml::with_generated(&self.ctx, beside, rows)
    }

    /// A transaction, and the table as it sees it. Errors: 42P01, 55000.
    async fn begin(&self) -> Result<(Transaction, Arc<TableDef>)> {
        let txn = begin(&self.store).await?;
        let catalog = self.catalog(&txn).await?;
        let live = Arc::clone(self.find(&catalog)?);
        Ok((txn, live))
    }

    /// The catalog as a transaction sees it that has written nothing.
    async fn catalog(&self, txn: &Transaction) -> Result<Arc<Catalog>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).take();
        let catalog = Catalog::load(txn, known).await?;
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&catalog));
        Ok(catalog)
    }

    /// The table as it is now. Errors: 42P01 where it was dropped; 55000 where its keys or indexes are not what they were.
    fn find<'a>(&self, catalog: &'a Catalog) -> Result<&'a Arc<TableDef>> {
        let live = self.table.find(catalog)?;
        let is_there = |id| live.column_index_by_id(id).is_some();
        let is_as_it_was = live.id == self.old.id
            && live.rekeying == Some(self.rekeying)
            && live.primary_key.columns == self.old.primary_key.columns
            && live.indexes.len() == self.old.indexes.len()
            && live
                .indexes
                .iter()
                .zip(&self.old.indexes)
                .all(|(live, old)| *live == named_as(old, live))
            && self
                .new
                .columns_of_keys()
                .into_iter()
                .all(|id| is_there(id) || self.adds(id));
        match is_as_it_was {
            true => Ok(live),
            false => Err(Error::NotInState {
                message: format!(
                    "table \"{}\" was altered by another session while its rows got another key",
                    live.name
                ),
            }),
        }
    }

    /// Whether a column is one that the new key brings.
    fn adds(&self, id: crate::codec::row::ColumnId) -> bool {
        self.old.column_index_by_id(id).is_none()
    }

    /// Gives up what is beside, and the log.
    async fn give_up(&self) -> Result<()> {
        change_table(&self.store, &self.table, |writer, table| {
            if table.rekeying != Some(self.rekeying) {
                return Ok(None);
            }
            writer.end_rekeying(table)?;
            Ok(Some(TableDef {
                rekeying: None,
                ..table.clone()
            }))
        })
        .await
    }
}
