//! Builds of indexes, as PostgreSQL's CREATE INDEX CONCURRENTLY does them, in the two phases of [`super::unverified`]: the
//! record is committed first, marked as being built, so that every write from then on keeps the index; then the entries
//! of older rows are written page by page (`table::build_index_page`), then the mark goes. Until then `indisvalid` is false
//! and no plan reads it.
//!
//! A build that a statement waits for is a job of the server's: a duplicate, a cancelled statement or a client that has
//! gone remove the index. One that nobody waits for is done by the server ([`build_unattended`]), be it of CREATE INDEX
//! CONCURRENTLY or left by a server that ended. In a transaction block an index is built in the block's transaction.

use std::sync::Arc;

use super::unverified::{after_undo, begin, change_table, table_of, without};
use crate::catalog::{Catalog, IndexDef, TableDef};
use crate::codec::keyspace::TableId;
use crate::exec::{Abandoned, Building, IndexBuilds, StatementContext};
use crate::store::Store;
use crate::table::{Limits, build_index_page};
use crate::{Error, Result};

/// Rows of one page of a build, at most.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { 1024 };
/// How often in a row a page may lose to writers of its rows.
const LOST_MAX: usize = 1000;

/// An index that is to be built, by oids: these stay the same whatever other sessions do to the table.
#[derive(Debug, Clone)]
pub(super) struct BuildOf {
    table: u32,
    index: u32,
    name: String,
}

impl BuildOf {
    pub(super) fn new(table: &TableDef, index: &IndexDef) -> BuildOf {
        BuildOf {
            table: table.oid,
            index: index.oid,
            name: index.name.clone(),
        }
    }
}

/// A build.
#[derive(Debug)]
pub(super) struct Build {
    of: BuildOf,
    store: Arc<dyn Store>,
    limits: Limits,
    building: Building,
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
            let Some(building) = builds.begin(table.oid, index.oid, 0) else {
                continue;
            };
            let of = BuildOf::new(table, index);
            let build = Build::new(of, Arc::clone(store), limits, building);
            ended.push((index.name.clone(), build.write(&Abandoned::default()).await));
        }
    }
    Ok(ended)
}

impl Build {
    pub(super) fn new(of: BuildOf, store: Arc<dyn Store>, limits: Limits, building: Building) -> Build {
        Build {
            of,
            store,
            limits,
            building,
        }
    }

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

    /// Writes the entries of the rows that were there, and declares the index valid or removes it.
    async fn write(&self, abandoned: &Abandoned) -> Result<()> {
        let BuildOf { table, index, .. } = self.of;
        match self.write_entries(abandoned).await {
            Ok(()) => change_table(&self.store, table, |_, table| self.validated(table)).await,
            Err(error) => {
                let undo = change_table(&self.store, table, |writer, table| {
                    without(writer, table, |_| false, |oid| oid == index)
                });
                after_undo(undo.await, error)
            }
        }
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
            let table = table_of(&current, self.of.table)?;
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
            .filter(|index| index.oid == self.of.index);
        built.for_each(|index| (index.building, index.built) = (false, true));
        Ok(Some(changed))
    }

    fn find<'a>(&self, table: &'a TableDef) -> Result<&'a IndexDef> {
        let found = table.indexes.iter().find(|index| index.oid == self.of.index);
        found.ok_or_else(|| Error::UndefinedObject {
            kind: "index",
            name: self.of.name.clone(),
        })
    }
}
