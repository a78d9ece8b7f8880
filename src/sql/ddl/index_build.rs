//! Builds of indexes, as PostgreSQL's CREATE INDEX CONCURRENTLY does them, in the two phases of [`super::unverified`]: the
//! record is committed first, marked as being built, so that every write from then on keeps the index; then the entries
//! of older rows are written, then the mark goes. Until then `indisvalid` is false and no plan reads it.
//!
//! All rows are read in one snapshot and their entries written in the order of keys ([`super::index_sort`]), a chunk a commit. Where
//! nobody has written rows of the table since the snapshot, and nobody is about to, a chunk is written as it is; where somebody has, its rows
//! are locked and looked at again, as many at once as nobody else has locked ([`KeptRows`]). Who keeps the table locked meanwhile is waited for by
//! nobody. Should the snapshot be given up (`keyspan.undo_bytes_max`), the rows are gone through page by page, each in a snapshot of its own.
//!
//! A build that a statement waits for is a job of the server's: a duplicate, a cancelled statement or a client that has
//! gone remove the index, or leave it invalid if it was to be built CONCURRENTLY. One that nobody waits for is done by the
//! server ([`build_unattended`]), be it of CREATE INDEX … ASYNC or left by a server that ended. In a transaction block an
//! index is built in the block's transaction.

use std::sync::Arc;

use super::backfill::Backfill;
use super::index_sort::{Entry, RowsRead, SortedEntries, Sorting};
use super::kept_rows::{KeptRows, PAGE_ROWS_MAX, lock_unchanged};
use super::verification::{JobTable, after_undo, begin, change_table, without};
use crate::catalog::{Catalog, CatalogWriter, ColumnDef, IndexDef, TableDef};
use crate::codec::keyspace::TableId;
use crate::codec::row::ColumnId;
use crate::store::{HeldLocks, LockMode, Write};
use crate::system::{Abandoned, Building, IndexBuilds, Settings, StatementContext};
use crate::table::{EntryReader, Limits, build_rows, next_keys};
use crate::txn::DatabaseStore;
use crate::{Error, Result};

/// An index as a job knows it; see [`JobTable`].
#[derive(Debug, Clone)]
pub(super) struct JobIndex {
    oid: u32,
    name: String,
}

impl JobIndex {
    pub(super) fn new(index: &IndexDef) -> JobIndex {
        JobIndex {
            oid: index.oid,
            name: index.name.clone(),
        }
    }
}

/// What becomes of an index that could not be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unbuilt {
    /// It is gone as if nobody had asked for it.
    Goes,
    /// It stays, invalid, as CREATE INDEX CONCURRENTLY leaves it in PostgreSQL: neither kept nor read.
    Stays,
}

/// A build.
pub(super) struct Build {
    pub(super) table: JobTable,
    pub(super) index: JobIndex,
    pub(super) unbuilt: Unbuilt,
    /// What rows are to be given before: until then the index is invalid.
    pub(super) backfill: Option<Backfill>,
    pub(super) store: DatabaseStore,
    pub(super) limits: Limits,
    pub(super) sorting: Sorting,
    pub(super) building: Building,
    /// Nobody gives the rows other keys meanwhile (`keys_lock`). None where nobody waits for the build, which then goes through them again.
    pub(super) _keys: Option<HeldLocks>,
}

/// Whether what was read is still the table's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stored {
    There,
    /// TRUNCATE, or a rewrite, gave the table new keys.
    Elsewhere,
    /// Its rows may be over: those that are must go, which a page of rows does.
    Expiring,
}

/// Builds every index that is recorded as being built and that nobody builds; answers for each its name and how it ended.
/// Errors: the store's.
pub async fn build_unattended(
    store: &DatabaseStore,
    builds: &Arc<IndexBuilds>,
    settings: &Settings,
) -> Result<Vec<(String, Result<()>)>> {
    let txn = begin(store).await?;
    let catalog = Catalog::load(&txn, None).await?;
    drop(txn);
    let mut ended = Vec::new();
    for table in catalog.tables() {
        for index in table.indexes.iter().filter(|index| index.building) {
            let Some(building) = builds.begin(table.oid, index.oid, 0, true) else {
                continue;
            };
            let build = Build {
                table: JobTable::new(table),
                index: JobIndex::new(index),
                // Nobody would hear of it otherwise.
                unbuilt: Unbuilt::Stays,
                backfill: None,
                store: store.clone(),
                limits: settings.limits,
                sorting: Sorting::new(settings, settings.statement_memory()),
                building,
                _keys: None,
            };
            ended.push((index.name.clone(), build.write(&Abandoned::default()).await));
        }
    }
    Ok(ended)
}

impl Build {
    /// Commits the statement's transaction, in which the index is recorded, and builds it while the statement waits.
    /// Errors: 23505, 42704 when the index was dropped meanwhile, 57014.
    pub(super) async fn run(self, ctx: &StatementContext) -> Result<()> {
        let txn = Arc::clone(&ctx.txn);
        ctx.jobs
            .run(move |abandoned| async move {
                txn.commit(false).await?;
                self.write(&abandoned).await
            })
            .await
    }

    /// Writes the entries of the rows that were there, and declares the index valid, or removes it or declares it invalid.
    async fn write(&self, abandoned: &Abandoned) -> Result<()> {
        let index = self.index.oid;
        if let Err(error) = self.fill(abandoned).await {
            // With the columns goes the index.
            let undone = change_table(&self.store, &self.table, |writer, table| {
                without(writer, table, |column| self.fills(column), |_| false)
            });
            return after_undo(undone.await, error);
        }
        let error = match self.write_entries(abandoned).await {
            Ok(()) => return change_table(&self.store, &self.table, |_, table| self.validated(table)).await,
            Err(error) => error,
        };
        let undone = match self.unbuilt {
            Unbuilt::Goes => {
                change_table(&self.store, &self.table, |writer, table| {
                    without(writer, table, |column| self.fills(column), |oid| oid == index)
                })
                .await
            }
            Unbuilt::Stays => {
                change_table(&self.store, &self.table, |writer, table| {
                    self.invalidated(writer, table)
                })
                .await
            }
        };
        after_undo(undone, error)
    }

    /// Gives rows the columns that the index is over, and has everybody keep the index from then on. Errors: as of [`Backfill::run`].
    async fn fill(&self, abandoned: &Abandoned) -> Result<()> {
        let Some(backfill) = &self.backfill else {
            return Ok(());
        };
        backfill.run(abandoned).await?;
        change_table(&self.store, &self.table, |_, table| {
            self.find(table)?;
            let mut changed = table.clone();
            self.in_table(&mut changed)
                .for_each(|index| (index.invalid, index.building) = (false, true));
            Ok(Some(changed))
        })
        .await
    }

    fn fills(&self, column: &ColumnDef) -> bool {
        self.backfill
            .as_ref()
            .is_some_and(|backfill| backfill.has(column.id))
    }

    /// Takes the marks off the columns that rows were given.
    fn unmark(&self, table: &mut TableDef) {
        let buckets = table.indexes.iter().filter_map(|index| index.buckets);
        let buckets: Vec<ColumnId> = buckets.map(|buckets| buckets.column).collect();
        for column in table.columns.iter_mut().filter(|column| self.fills(column)) {
            column.unverified = None;
            // Whatever is hashed, a hash is never NULL.
            column.not_null = buckets.contains(&column.id);
        }
    }

    fn in_table<'a>(&self, table: &'a mut TableDef) -> impl Iterator<Item = &'a mut IndexDef> {
        let oid = self.index.oid;
        table.indexes.iter_mut().filter(move |index| index.oid == oid)
    }

    /// Writes the entries of all rows. Errors: 23505, 42704 when the index was dropped meanwhile, 57014.
    async fn write_entries(&self, abandoned: &Abandoned) -> Result<()> {
        loop {
            match self.write_sorted(abandoned).await {
                Ok(Stored::There) => return Ok(()),
                Ok(Stored::Elsewhere) => self.building.restart(),
                Ok(Stored::Expiring) | Err(Error::SnapshotTooOld) => {
                    self.building.restart();
                    return self.write_pages(abandoned).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes the entries in the order of their keys, a chunk a commit. Errors: as `write_entries`, `SnapshotTooOld`.
    async fn write_sorted(&self, abandoned: &Abandoned) -> Result<Stored> {
        let txn = Arc::new(begin(&self.store).await?);
        let catalog = Catalog::load(&txn, None).await?;
        let table = Arc::clone(self.table.find(&catalog)?);
        if table.options.expiry.may_be_over() {
            return Ok(Stored::Expiring);
        }
        let rows = RowsRead {
            index: Arc::new(self.find(&table)?.clone()),
            table,
            txn,
            limits: self.limits,
        };
        let build = self.building.build();
        let mut entries = SortedEntries::read(rows.clone(), &self.sorting, build, abandoned).await?;
        self.building.note_read();
        let mut cached = Some(catalog);
        let mut chunk = entries.next_chunk().await?;
        while !chunk.is_empty() {
            abandoned.next_step().await?;
            let written = chunk.len();
            let (stored, next) =
                futures::join!(self.write_chunk(&rows, chunk, &mut cached), entries.next_chunk());
            match stored? {
                Stored::There => {}
                moved => return Ok(moved),
            }
            self.building.advance(written);
            chunk = next?;
        }
        Ok(Stored::There)
    }

    /// Writes the entries of a chunk in one commit where the table is as it was when they were read. Durable with the commit that
    /// makes the index valid, if that is ever reached. Errors: as `write_sorted`.
    async fn write_chunk(
        &self,
        rows: &RowsRead,
        chunk: Vec<Entry>,
        cached: &mut Option<Arc<Catalog>>,
    ) -> Result<Stored> {
        let since = rows.txn.share_snapshot();
        let Some(txn) = lock_unchanged(&self.store, &rows.table, since).await? else {
            let mut reader = EntryReader::new(&rows.table, &rows.index);
            let keys = chunk.iter().map(|(key, value)| reader.row_key(key, value));
            let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
            return self.write_looked_at(rows.table.id, &keys).await;
        };
        let current = Catalog::load(&txn, cached.take()).await?;
        let table = self.table.find(&current)?;
        self.find(table)?;
        if table.id != rows.table.id {
            return Ok(Stored::Elsewhere);
        }
        *cached = Some(current);
        for (key, value) in chunk {
            txn.write(Write::Put { key, value }, None)?;
        }
        txn.commit(true).await?;
        Ok(Stored::There)
    }

    /// Writes the entries that rows have now, given their keys. Errors: as `write_sorted`.
    async fn write_looked_at(&self, id: TableId, keys: &[Vec<u8>]) -> Result<Stored> {
        let mut rows = KeptRows::new(id, keys, LockMode::Keep);
        while let Some((txn, catalog)) = rows.begin(&self.store).await? {
            let table = self.table.find(&catalog)?;
            let index = self.find(table)?;
            if table.id != id {
                return Ok(Stored::Elsewhere);
            }
            build_rows(&txn, table, index, rows.keys(), self.limits).await?;
            rows.commit(txn).await?;
        }
        Ok(Stored::There)
    }

    /// Writes the entries of all rows, a page of rows after the other. Errors: as `write_entries`.
    async fn write_pages(&self, abandoned: &Abandoned) -> Result<()> {
        let mut catalog = None;
        let mut place: (TableId, Option<Vec<u8>>) = (0, None);
        loop {
            abandoned.next_step().await?;
            let txn = begin(&self.store).await?;
            let current = Catalog::load(&txn, catalog.take()).await?;
            let table = self.table.find(&current)?;
            if place.0 != table.id {
                // TRUNCATE gave the table new keys.
                place = (table.id, None);
                self.building.restart();
            }
            let all = txn.with_rows_that_are_over();
            let (keys, next) = next_keys(&all, table, place.1.as_deref(), PAGE_ROWS_MAX).await?;
            catalog = Some(current);
            drop((all, txn));
            if self.write_looked_at(place.0, &keys).await? == Stored::Elsewhere {
                continue;
            }
            self.building.advance(keys.len());
            if next.is_none() {
                return Ok(());
            }
            place.1 = next;
        }
    }

    /// The table with the index valid.
    fn validated(&self, table: &TableDef) -> Result<Option<TableDef>> {
        self.find(table)?;
        let mut changed = table.clone();
        self.in_table(&mut changed)
            .for_each(|index| (index.building, index.built) = (false, true));
        self.unmark(&mut changed);
        Ok(Some(changed))
    }

    /// The table with the index invalid, under an id that no entry has; those that were written are removed.
    fn invalidated(&self, writer: &CatalogWriter<'_>, table: &TableDef) -> Result<Option<TableDef>> {
        let mut changed = table.clone();
        self.unmark(&mut changed);
        let id = changed.next_index_id;
        let Some(index) = self.in_table(&mut changed).next() else {
            return Ok(None);
        };
        writer.drop_keys(table.id, index.id)?;
        index.id = id;
        (index.building, index.invalid) = (false, true);
        changed.next_index_id += 1;
        Ok(Some(changed))
    }

    fn find<'a>(&self, table: &'a TableDef) -> Result<&'a IndexDef> {
        let found = table.indexes.iter().find(|index| index.oid == self.index.oid);
        found.ok_or_else(|| Error::UndefinedObject {
            kind: "index",
            name: self.index.name.clone(),
        })
    }
}
