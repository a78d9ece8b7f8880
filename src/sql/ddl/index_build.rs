//! Builds of indexes, as PostgreSQL's CREATE INDEX CONCURRENTLY does them, in the two phases of [`super::unverified`]: the
//! record is committed first, marked as being built, so that every write from then on keeps the index; then the entries
//! of older rows are written page by page (`table::build_index_page`), then the mark goes. Until then `indisvalid` is false
//! and no plan reads it.
//!
//! A build that a statement waits for is a job of the server's: a duplicate, a cancelled statement or a client that has
//! gone remove the index, or leave it invalid if it was to be built CONCURRENTLY. One that nobody waits for is done by the
//! server ([`build_unattended`]), be it of CREATE INDEX … ASYNC or left by a server that ended. In a transaction block an
//! index is built in the block's transaction.

use std::sync::Arc;

use super::verification::{JobTable, after_undo, begin, change_table, without};
use crate::catalog::{Catalog, CatalogWriter, IndexDef, TableDef};
use crate::codec::keyspace::TableId;
use crate::store::Store;
use crate::system::{Abandoned, Building, IndexBuilds, StatementContext};
use crate::table::{Limits, build_index_page};
use crate::{Error, Result};

/// Rows of one page of a build, at most.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { 1024 };
/// How often in a row a page may lose to writers of its rows.
const LOST_MAX: usize = 1000;

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
#[derive(Debug)]
pub(super) struct Build {
    pub(super) table: JobTable,
    pub(super) index: JobIndex,
    pub(super) unbuilt: Unbuilt,
    pub(super) store: Arc<dyn Store>,
    pub(super) limits: Limits,
    pub(super) building: Building,
}

/// Builds every index that is recorded as being built and that nobody builds; answers for each its name and how it ended.
/// Errors: the store's.
pub async fn build_unattended(
    store: &Arc<dyn Store>,
    builds: &Arc<IndexBuilds>,
    limits: Limits,
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
                store: Arc::clone(store),
                limits,
                building,
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
        let error = match self.write_entries(abandoned).await {
            Ok(()) => return change_table(&self.store, &self.table, |_, table| self.validated(table)).await,
            Err(error) => error,
        };
        let undone = match self.unbuilt {
            Unbuilt::Goes => {
                change_table(&self.store, &self.table, |writer, table| {
                    without(writer, table, |_| false, |oid| oid == index)
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

    /// Writes the entries of all rows, a page a commit. Errors: 23505, 42704 when the index was dropped meanwhile, 57014.
    async fn write_entries(&self, abandoned: &Abandoned) -> Result<()> {
        let mut catalog = None;
        let mut place: (TableId, Option<Vec<u8>>) = (0, None);
        let (mut rows_max, mut lost) = (PAGE_ROWS_MAX, 0);
        loop {
            abandoned.next_step().await?;
            let txn = begin(&self.store).await?;
            let current = Catalog::load(&txn, catalog.take()).await?;
            let table = self.table.find(&current)?;
            let index = self.find(table)?;
            if place.0 != table.id {
                // TRUNCATE gave the table new keys.
                place = (table.id, None);
                self.building.restart();
            }
            let from = place.1.as_deref();
            let page = build_index_page(&txn, table, index, from, rows_max, false, self.limits).await?;
            // Durable with the commit that makes the index valid, if that is ever reached.
            match txn.commit(true).await {
                Ok(()) => {
                    let Some(page) = page else {
                        return Ok(());
                    };
                    self.building.advance(page.rows as u64);
                    place.1 = Some(page.next);
                    (rows_max, lost) = ((rows_max * 2).min(PAGE_ROWS_MAX), 0);
                }
                // Somebody wrote one of the rows: fewer rows are lost to fewer writers.
                Err(Error::Conflict { .. }) if lost < LOST_MAX => {
                    (rows_max, lost) = ((rows_max / 2).max(1), lost + 1);
                }
                Err(error) => return Err(error),
            }
            catalog = Some(current);
            tokio::task::yield_now().await;
        }
    }

    /// The table with the index valid.
    fn validated(&self, table: &TableDef) -> Result<Option<TableDef>> {
        self.find(table)?;
        let mut changed = table.clone();
        let built = changed
            .indexes
            .iter_mut()
            .filter(|index| index.oid == self.index.oid);
        built.for_each(|index| (index.building, index.built) = (false, true));
        Ok(Some(changed))
    }

    /// The table with the index invalid, under an id that no entry has; those that were written are removed.
    fn invalidated(&self, writer: &CatalogWriter<'_>, table: &TableDef) -> Result<Option<TableDef>> {
        let mut changed = table.clone();
        let (id, oid) = (changed.next_index_id, self.index.oid);
        let Some(index) = changed.indexes.iter_mut().find(|index| index.oid == oid) else {
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
