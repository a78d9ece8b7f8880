//! Definitions that promise something of *all* rows: SET NOT NULL, ADD COLUMN that must not be NULL in the rows there are,
//! unique indexes. A snapshot cannot vouch for it: rows that others insert commit after it. Two ways, both right:
//!
//! **Outside a block: two phases.** The record is committed with the promise marked as unverified
//! (`ColumnDef::unverified`, `IndexDef::building`). Every write's commit guards the record: so each either went before it,
//! and is in any later snapshot, or obeys the promise. Then the rows are verified in later snapshots while others go on
//! writing, and the mark is taken off. If that fails, or the statement is cancelled, the promise is taken back; a
//! start takes back what a killed server left ([`undo_unfinished`]). What happens between is a job of the server's
//! (`system::Jobs`), so that a statement may be dropped at any moment. Readers do not rest on an unverified promise.
//!
//! ```text
//!   ALTER    check ── publish ──────── verify ──────── take the mark off      (or take the promise back)
//!   INSERT      └ commits: is seen ┘ └ obeys, or its commit conflicts and it runs again
//! ```
//!
//! **In a block: one.** The block's changes are visible only when it commits, all at once, so nothing can be published
//! before. The statement verifies what the block sees, and guards the table's `Written` mark (`catalog`): a row that anyone else
//! wrote since the block's snapshot makes COMMIT fail with 40001. The same holds outside a block for an ALTER
//! TABLE whose other operations cannot be taken back (DROP COLUMN …): there the server runs it again.

use std::sync::Arc;

use crate::catalog::{
    Catalog, CatalogWriter, ColumnDef, IndexDef, TableDef, Unverified, record_key, written_key,
};
use crate::codec::row::ColumnId;
use crate::store::LockMode;
use crate::system::{Abandoned, StatementContext};
use crate::table::has_null;
use crate::txn::{DatabaseStore, Transaction};
use crate::{Error, Result};

/// What a change of one table's record may write.
const CHANGE_BYTES_MAX: usize = 64 << 20;
/// How often such a change is tried again when it loses races.
const CHANGE_TRIES: usize = 200;

/// What must hold of all rows before a definition counts: no row is NULL in the column.
#[derive(Debug, Clone)]
pub(super) struct NoNulls {
    pub(super) column: ColumnId,
    /// The error when one is.
    pub(super) error: Error,
}

/// A table as a job knows it: its oid, which stays the same whatever other sessions do to it, and its name for messages.
#[derive(Debug, Clone)]
pub(super) struct JobTable {
    oid: u32,
    name: String,
}

impl JobTable {
    pub(super) fn new(table: &TableDef) -> JobTable {
        JobTable {
            oid: table.oid,
            name: table.name.clone(),
        }
    }

    /// The table as it is now. Errors: 42P01 when it was dropped.
    pub(super) fn find<'a>(&self, catalog: &'a Catalog) -> Result<&'a Arc<TableDef>> {
        let found = catalog.tables().find(|table| table.oid == self.oid);
        found.ok_or_else(|| Error::UndefinedTable {
            name: self.name.clone(),
            nearest: None,
        })
    }
}

/// Marks what `new` has and `old` has not, so that it can be taken back.
pub(super) fn mark(old: &TableDef, new: &mut TableDef, checks: &[NoNulls]) {
    for column in &mut new.columns {
        if old.column_index_by_id(column.id).is_none() {
            column.unverified = Some(Unverified::Column);
        } else if checks.iter().any(|check| check.column == column.id) {
            column.unverified.get_or_insert(Unverified::NotNull);
        }
    }
}

/// Commits the statement's transaction, whose table is marked, verifies the rows and takes the marks off, or the changes back.
/// Errors: the checks', `Conflict` when nothing was published, 57014.
pub(super) async fn publish(ctx: &StatementContext, table: &TableDef, checks: Vec<NoNulls>) -> Result<()> {
    let (txn, store) = (Arc::clone(&ctx.txn), ctx.txn.database_store());
    let of = JobTable::new(table);
    let marked = table.columns.iter().filter(|column| column.unverified.is_some());
    let marked: Vec<ColumnId> = marked.map(|column| column.id).collect();
    ctx.jobs
        .run(move |abandoned| async move {
            txn.commit(false).await?;
            let verified = verify(&store, &of, &checks, &abandoned).await;
            let is_marked = |column: &ColumnDef| marked.contains(&column.id);
            match verified {
                Ok(()) => change_table(&store, &of, |_, table| confirmed(table, &marked)).await,
                Err(error) => {
                    let undo = change_table(&store, &of, |writer, table| {
                        without(writer, table, is_marked, |_| false)
                    });
                    after_undo(undo.await, error)
                }
            }
        })
        .await
}

/// Takes back the columns that a server that was killed had published and not verified, and has the indexes built that an
/// earlier release recorded without entries; answers the names of the tables.
pub async fn undo_unfinished(store: &DatabaseStore) -> Result<Vec<String>> {
    let txn = begin(store).await?;
    let catalog = Catalog::load(&txn, None).await?;
    let is_unfinished = |table: &&Arc<TableDef>| {
        table.columns.iter().any(|column| column.unverified.is_some())
            || table.rekeying.is_some()
            || table.indexes.iter().any(is_forgotten)
    };
    let unfinished: Vec<_> = catalog.tables().filter(is_unfinished).collect();
    if unfinished.is_empty() {
        return Ok(Vec::new());
    }
    let writer = CatalogWriter::begin(&txn, &catalog)?;
    for table in &unfinished {
        let without = without(&writer, table, |_| true, |_| false)?;
        let mut changed = without.unwrap_or_else(|| TableDef::clone(table));
        let recorded = changed.indexes.iter_mut().filter(|index| is_forgotten(index));
        recorded.for_each(|index| index.building = true);
        writer.end_rekeying(table)?;
        changed.rekeying = None;
        writer.put_table(changed)?;
    }
    txn.commit(false).await?;
    Ok(unfinished.iter().map(|table| table.name.clone()).collect())
}

/// Whether an earlier release recorded the index and wrote no entries.
fn is_forgotten(index: &IndexDef) -> bool {
    !index.is_kept() && !index.invalid
}

/// The error of a definition that failed, after it was taken back. What could not be is taken back at the next start.
pub(super) fn after_undo(undone: Result<()>, error: Error) -> Result<()> {
    match undone {
        // Dropped meanwhile: there is nothing to take back.
        Ok(()) | Err(Error::UndefinedTable { .. }) => {}
        Err(undo) => {
            tracing::warn!(error = %undo, "a failed definition is taken back at the next start only")
        }
    }
    Err(error)
}

/// Changes a table's record in a transaction of its own, again while it loses races. `change` answers the new record, `None` for
/// no change. Errors: 42P01 when the table was dropped.
pub(super) async fn change_table(
    store: &DatabaseStore,
    of: &JobTable,
    change: impl Fn(&CatalogWriter<'_>, &TableDef) -> Result<Option<TableDef>>,
) -> Result<()> {
    let mut lost = Ok(());
    for _ in 0..CHANGE_TRIES {
        let txn = begin(store).await?;
        let catalog = Catalog::load(&txn, None).await?;
        let table = of.find(&catalog)?;
        {
            let writer = CatalogWriter::begin(&txn, &catalog)?;
            match change(&writer, table)? {
                Some(changed) => writer.put_table_in(changed, LockMode::ShareRowExclusive)?,
                None => return Ok(()),
            };
        }
        match txn.commit(false).await {
            Err(error @ Error::Conflict { .. }) => lost = Err(error),
            ended => return ended,
        }
        tokio::task::yield_now().await;
    }
    lost
}

/// From here on until the statement's transaction ends nobody else writes rows of the table, and what the transaction sees of them
/// is all there is. `lock`: what the statement locks the table in at last, if that is stronger, for whoever reads it meanwhile may write it
/// next. Errors: `Conflict` where the table was altered since the snapshot, 40P01, 55P03.
pub(super) async fn shut_writers_out(ctx: &StatementContext, table: &TableDef, lock: LockMode) -> Result<()> {
    let record = [record_key(table.id)];
    // Who begins again for a row that came meanwhile has the lock already.
    ctx.txn
        .lock(&record, lock.max(LockMode::ShareRowExclusive))
        .await?;
    ctx.txn.guard(&written_key(table.id));
    Ok(())
}

/// A transaction beside the statement's.
pub(super) async fn begin(store: &DatabaseStore) -> Result<Transaction> {
    store.begin(CHANGE_BYTES_MAX).await
}

/// The table without the unverified columns and unfinished indexes that `column` and `index` choose; what belongs to
/// them is removed. `None`: there are none.
pub(super) fn without(
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    column: impl Fn(&ColumnDef) -> bool,
    index: impl Fn(u32) -> bool,
) -> Result<Option<TableDef>> {
    let mut changed = table.clone();
    let mut removed = Vec::new();
    for candidate in table.columns.iter().filter(|candidate| column(candidate)) {
        let Some(at) = changed.column_index_by_id(candidate.id) else {
            continue;
        };
        match candidate.unverified {
            None => {}
            Some(Unverified::NotNull) => {
                changed.columns[at].not_null = false;
                changed.columns[at].unverified = None;
            }
            Some(Unverified::Column) => {
                removed.push(candidate.id);
                changed.columns.remove(at);
            }
        }
    }
    changed.indexes.retain(|candidate| {
        let is_lost = candidate.held_columns().any(|held| removed.contains(&held));
        !(is_lost || candidate.building && index(candidate.oid))
    });
    for dropped in &table.indexes {
        if changed.indexes.iter().all(|kept| kept.id != dropped.id) {
            writer.drop_keys(table.id, dropped.id)?;
        }
    }
    Ok((changed != *table).then_some(changed))
}

/// The table with the marks of these columns taken off. Errors: 55000 when somebody took one back meanwhile.
fn confirmed(table: &TableDef, marked: &[ColumnId]) -> Result<Option<TableDef>> {
    let mut changed = table.clone();
    for id in marked {
        let column = changed.columns.iter_mut().find(|column| column.id == *id);
        let column = column.ok_or_else(|| taken_back(table))?;
        if column.unverified == Some(Unverified::NotNull) && !column.not_null {
            return Err(taken_back(table));
        }
        column.unverified = None;
    }
    Ok((changed != *table).then_some(changed))
}

/// 55000.
pub(super) fn taken_back(table: &TableDef) -> Error {
    Error::NotInState {
        message: format!(
            "table \"{}\" was altered by another session while its rows were verified",
            table.name
        ),
    }
}

/// Whether the checks hold, each in a snapshot later than the publication.
async fn verify(
    store: &DatabaseStore,
    of: &JobTable,
    checks: &[NoNulls],
    abandoned: &Abandoned,
) -> Result<()> {
    for check in checks {
        let txn = begin(store).await?;
        let catalog = Catalog::load(&txn, None).await?;
        let table = of.find(&catalog)?;
        let at = table.column_index_by_id(check.column);
        let at = at.ok_or_else(|| taken_back(table))?;
        if has_null(&txn, table, at, || abandoned.check()).await? {
            return Err(check.error.clone());
        }
        if txn.has_writes() {
            // Rows that are over may be NULL: they went.
            txn.commit(true).await?;
        }
    }
    Ok(())
}
