//! `References`: what a statement's writes leave to be asked of foreign keys once all its rows are where they belong: rows that refer
//! to what was not there yet, and rows that are gone or have other keys, to which others may refer.
//!
//! Invariants
//!
//! 1. Who writes a row that refers holds the key that it refers to (KEY SHARE) until its transaction ends; who takes a key
//!    away holds it (UPDATE). So of the two one waits for the other, and sees what it has committed.
//! 2. Rows that refer to a key that goes are looked for in a snapshot taken after the key was locked: nobody can add one since.
//! 3. What CASCADE, SET NULL and SET DEFAULT write is written as by any statement, and may leave more to be asked. It is taken from a
//!    queue, not called by itself, so that the depth of a tree of rows is no depth of calls. NO ACTION is asked when the queue is empty.
//! 4. What the queue holds are keys of rows that the transaction has written, whose limit bounds it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{and, filter, is_not_null, or};

use super::deferrable_keys::{WrittenKeys, key_columns, key_values, lock_keys};
use super::exclusions::{self, WrittenExclusion};
use super::fired_triggers::FiredTriggers;
use super::referenced_keys::{
    Keys, Missing, check_match, columns_of, lost_key, missing_keys, referenced_columns,
};
use super::row_event::RowEvent;

use crate::catalog::{ForeignKey, ReferentialAction, TableDef};
use crate::codec::key::alike;
use crate::codec::row::ColumnId;
use crate::system::{InUse, StatementContext};
use crate::table::Replaced;
use crate::{Error, Result};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct References {
    open: Mutex<Open>,
    pub(super) triggers: FiredTriggers,
    /// The tables that the statement writes to.
    in_use: Mutex<Vec<InUse>>,
}

/// What is still to be asked.
#[derive(Debug, Default)]
struct Open {
    /// Keys that were not there when a row was written that refers to them.
    missing: Vec<Missing>,
    /// Keys that are gone.
    gone: VecDeque<Gone>,
    /// Keys that rows have got of which several may have one for a while.
    written: Vec<WrittenKeys>,
    /// Keys of exclusion constraints that rows have got.
    exclusions: Vec<WrittenExclusion>,
}

/// Keys of rows that are gone or have others now, and a foreign key that refers to such.
#[derive(Debug, Clone)]
pub(super) struct Gone {
    /// The table whose keys they were.
    pub(super) table: Arc<TableDef>,
    /// The oid of the table that refers.
    pub(super) by: u32,
    pub(super) foreign_key: ForeignKey,
    /// The keys, in the order of [`ForeignKey::referenced`].
    pub(super) old: Vec<ArrayRef>,
    /// What they are now; `None`: their rows are deleted.
    pub(super) new: Option<Vec<ArrayRef>>,
}

impl Gone {
    pub(super) fn action(&self) -> ReferentialAction {
        match self.new {
            None => self.foreign_key.on_delete,
            Some(_) => self.foreign_key.on_update,
        }
    }

    /// The keys that are gone.
    pub(super) fn old_keys(&self) -> Keys<'_> {
        Keys::new((&self.table, &self.foreign_key.referenced), &self.old)
    }

    /// How many keys.
    pub(super) fn len(&self) -> usize {
        self.old.first().map_or(0, |column| column.len())
    }
}

impl References {
    /// Until the statement ends, no other one of its session changes the table. Only functions run others meanwhile.
    pub(super) fn write_to(&self, ctx: &StatementContext, table: &TableDef) {
        if !ctx.runs_routines() {
            return;
        }
        let indexes = table.indexes.iter().map(|index| index.oid);
        let oids = std::iter::once(table.oid).chain(indexes).collect();
        let in_use = ctx.session.relations_in_use.enter(&oids);
        self.in_use
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(in_use);
    }

    /// Rows of a table were inserted. Errors: as of [`References::note_written`].
    pub(super) async fn note_inserted(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        new: &RecordBatch,
    ) -> Result<()> {
        self.triggers
            .note_rows(ctx, table, RowEvent::INSERT, (None, Some(new)))?;
        self.note_written(ctx, table, new, None).await
    }

    /// Rows of a table were deleted.
    pub(super) async fn note_deleted(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        old: &RecordBatch,
    ) -> Result<()> {
        self.triggers
            .note_rows(ctx, table, RowEvent::DELETE, (Some(old), None))?;
        self.note_left(ctx, table, old, None).await
    }

    /// Rows of a partition have become rows of another one, which is told of them as of new ones.
    pub(super) async fn note_moved(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        (old, new): (&RecordBatch, &RecordBatch),
    ) -> Result<()> {
        self.triggers.note_moved(ctx, table, (old, new))?;
        self.note_left(ctx, table, old, Some(new)).await
    }

    /// Rows of a table were written, in place of `old` ones or as new ones: what they refer to must be there, and stay. Errors: 23503 for
    /// MATCH FULL; 40001 where a transaction that keeps its snapshot finds a key gone that it sees.
    async fn note_written(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        new: &RecordBatch,
        old: Option<&RecordBatch>,
    ) -> Result<()> {
        let exclusions = exclusions::note(ctx, table, Some(new), old).await?;
        if !exclusions.is_empty() {
            self.open().exclusions.extend(exclusions);
        }
        if asks_nothing(ctx, table) {
            return Ok(());
        }
        self.note_deferrable(ctx, table, new, old).await?;
        for key in table.foreign_keys_as_made() {
            let columns = columns_of(table, &key.columns, new)?;
            let old = old.map(|old| columns_of(table, &key.columns, old)).transpose()?;
            check_match(table, key, &columns)?;
            let Some(columns) = chosen((table, &key.columns), &columns, old.as_deref())? else {
                continue;
            };
            let missing = missing_keys(ctx, table, key, columns).await?;
            self.open().missing.extend(missing);
        }
        Ok(())
    }

    /// The keys of constraints that are DEFERRABLE, which are locked: those that rows have got are asked when the statement ends.
    async fn note_deferrable(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        new: &RecordBatch,
        old: Option<&RecordBatch>,
    ) -> Result<()> {
        if table.deferrable_keys().next().is_none() {
            return Ok(());
        }
        let rows: Vec<&RecordBatch> = std::iter::once(new).chain(old).collect();
        lock_keys(ctx, table, &rows).await?;
        for (index, _) in table.deferrable_keys() {
            let columns = key_values(table, index, new)?;
            let old = old.map(|old| key_values(table, index, old)).transpose()?;
            if let Some(keys) = chosen((table, &key_columns(index)), &columns, old.as_deref())? {
                self.open().written.push(WrittenKeys::new(table, index, keys));
            }
        }
        Ok(())
    }

    /// Rows of a table were replaced: those of `replaced`, if some of all were. Errors: as [`References::note_written`].
    pub(super) async fn note_replaced(
        &self,
        ctx: &StatementContext,
        (table, event): (&Arc<TableDef>, RowEvent<'_>),
        (old, new): (&RecordBatch, &RecordBatch),
        replaced: Option<&Replaced>,
    ) -> Result<()> {
        let (old, new) = replaced.map_or((old, new), |replaced| (&replaced.old, &replaced.new));
        self.triggers
            .note_rows(ctx, table, event, (Some(old), Some(new)))?;
        self.note_written(ctx, table, new, Some(old)).await?;
        self.note_left(ctx, table, old, Some(new)).await
    }

    /// Rows of a table have gone, or become others: what referred to them is seen to when the statement ends.
    async fn note_left(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        old: &RecordBatch,
        new: Option<&RecordBatch>,
    ) -> Result<()> {
        if new.is_none() {
            exclusions::note(ctx, table, None, Some(old)).await?;
        }
        if asks_nothing(ctx, table) {
            return Ok(());
        }
        if new.is_none() {
            lock_keys(ctx, table, &[old]).await?;
        }
        for (by, key) in ctx.references_to_rows_of(table) {
            let (referenced, columns) = referenced_columns(ctx, table, key)?;
            let left = columns_of(table, &columns, old)?;
            let now = new.map(|new| columns_of(table, &columns, new)).transpose()?;
            let Some(wanted) = wanted((table, &columns), &left, now.as_deref())? else {
                continue;
            };
            let kept = |columns: &[ArrayRef]| -> Result<Vec<ArrayRef>> {
                let kept = columns.iter().map(|column| filter(column, &wanted));
                kept.map(|column| column.map_err(Error::arrow)).collect()
            };
            let gone = Gone {
                table: referenced,
                by: by.oid,
                foreign_key: key.clone(),
                old: kept(&left)?,
                new: now.as_deref().map(kept).transpose()?,
            };
            self.open().gone.push_back(gone);
        }
        Ok(())
    }

    /// Keys that were not there when a row was written that refers to them. None is left.
    pub(super) fn take_missing(&self) -> Vec<Missing> {
        std::mem::take(&mut self.open().missing)
    }

    /// Keys that rows have got of which several may have one for a while. None is left.
    pub(super) fn take_written(&self) -> Vec<WrittenKeys> {
        std::mem::take(&mut self.open().written)
    }

    /// Keys of exclusion constraints that rows have got. None is left.
    pub(super) fn take_exclusions(&self) -> Vec<WrittenExclusion> {
        std::mem::take(&mut self.open().exclusions)
    }

    /// The next of the queue; with it all others of the same foreign key and kind, so that keys that change places do so at once.
    pub(super) fn next_gone(&self) -> Result<Option<Gone>> {
        let mut open = self.open();
        let Some(mut first) = open.gone.pop_front() else {
            return Ok(None);
        };
        let (alike, others) = std::mem::take(&mut open.gone).into_iter().partition(|gone| {
            gone.foreign_key.oid == first.foreign_key.oid && gone.new.is_some() == first.new.is_some()
        });
        open.gone = others;
        let alike: VecDeque<Gone> = alike;
        if alike.is_empty() {
            return Ok(Some(first));
        }
        let all: Vec<&Gone> = std::iter::once(&first).chain(&alike).collect();
        let old = joined(&all.iter().map(|gone| gone.old.as_slice()).collect::<Vec<_>>())?;
        let new: Option<Vec<&[ArrayRef]>> = all.iter().map(|gone| gone.new.as_deref()).collect();
        let new = new.map(|parts| joined(&parts)).transpose()?;
        (first.old, first.new) = (old, new);
        Ok(Some(first))
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether writes of this table ask nothing of foreign keys: those that replay what was asked elsewhere (restores, fixtures) say so.
fn asks_nothing(ctx: &StatementContext, table: &TableDef) -> bool {
    table.options.triggers_disabled || ctx.settings.replays
}

/// Parts with the same columns, one below the other.
fn joined(parts: &[&[ArrayRef]]) -> Result<Vec<ArrayRef>> {
    let width = parts.first().map_or(0, |part| part.len());
    let column = |at: usize| {
        let arrays: Vec<&dyn Array> = parts.iter().map(|part| part[at].as_ref()).collect();
        arrow::compute::concat(&arrays).map_err(Error::arrow)
    };
    (0..width).map(column).collect()
}

/// The keys of these columns without a NULL that are not what they were; `None` without any.
fn chosen(
    key: (&TableDef, &[ColumnId]),
    columns: &[ArrayRef],
    old: Option<&[ArrayRef]>,
) -> Result<Option<Vec<ArrayRef>>> {
    let Some(wanted) = wanted(key, columns, old)? else {
        return Ok(None);
    };
    let chosen = columns
        .iter()
        .map(|column| filter(column, &wanted).map_err(Error::arrow));
    chosen.collect::<Result<_>>().map(Some)
}

/// Which keys have no NULL and differ from the others; `None`: none.
fn wanted(
    (table, ids): (&TableDef, &[ColumnId]),
    columns: &[ArrayRef],
    others: Option<&[ArrayRef]>,
) -> Result<Option<BooleanArray>> {
    let rows = columns.first().map_or(0, |column| column.len());
    let mut wanted = BooleanArray::from(vec![true; rows]);
    for column in columns {
        let is_there = is_not_null(column).map_err(Error::arrow)?;
        wanted = and(&wanted, &is_there).map_err(Error::arrow)?;
    }
    if let Some(others) = others {
        let mut differs = BooleanArray::from(vec![false; rows]);
        for ((column, other), id) in columns.iter().zip(others).zip(ids) {
            let at = table.column_index_by_id(*id).ok_or_else(lost_key)?;
            let ty = &table.columns[at].ty;
            let differs_here = distinct(&alike(column, ty), &alike(other, ty)).map_err(Error::arrow)?;
            differs = or(&differs, &differs_here).map_err(Error::arrow)?;
        }
        wanted = and(&wanted, &differs).map_err(Error::arrow)?;
    }
    Ok((wanted.true_count() > 0).then_some(wanted))
}
