//! CREATE INDEX. A unique index is built: its entries enforce it. Any other is recorded, for plans do not use it yet.
//!
//! A unique index is built as PostgreSQL's CREATE INDEX CONCURRENTLY does it, in the two phases of [`super::unverified`]: the
//! record is committed first, marked as being built, so that every write from then on keeps the index; then the entries
//! of older rows are written page by page (`table::build_index_page`), then the mark goes. The build is a job of the server's:
//! a duplicate, a cancelled statement or a client that has gone remove the index, and so does a start that finds one
//! unfinished. Until it is complete `indisvalid` is false. In a transaction block it is built in the block's transaction.

use std::sync::Arc;

use sqlparser::ast::CreateIndex;

use super::key::{self, KeyKind};
use super::unverified::{after_undo, begin, change_table, table_of, without};
use super::{free_name, notice, table};
use crate::catalog::{Catalog, CatalogWriter, IndexDef, KeyColumn, TableDef, written_key};
use crate::codec::keyspace::TableId;
use crate::error::DuplicateKind;
use crate::exec::{Abandoned, StatementContext};
use crate::parse::names;
use crate::store::Store;
use crate::table::{Limits, build_index, build_index_page};
use crate::{Error, Result};

/// Rows of one page of a build, at most.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { 1024 };
/// How often in a row a page may lose to writers of its rows.
const LOST_MAX: usize = 1000;

/// An index to be added to a table.
pub(super) struct NewIndex {
    pub(super) name: String,
    pub(super) columns: Vec<KeyColumn>,
    pub(super) unique: bool,
    /// Declared as a constraint.
    pub(super) constraint: bool,
}

/// Runs CREATE INDEX.
pub(super) async fn create(ctx: &StatementContext, create: &CreateIndex) -> Result<String> {
    let table = table(ctx, &create.table_name)?;
    check_supported(create)?;
    let columns = key::key_columns(KeyKind::Index, &create.columns, &table.columns)?;
    let name = match &create.name {
        Some(name) => {
            let (_, name) = names::relation_name(name)?;
            if ctx.catalog.is_name_taken(&table.schema, &name) {
                if create.if_not_exists {
                    notice(
                        ctx,
                        "42P07",
                        format!("relation \"{name}\" already exists, skipping"),
                        None,
                    );
                    return Ok("CREATE INDEX".to_string());
                }
                return Err(Error::Duplicate {
                    kind: DuplicateKind::Relation,
                    name,
                });
            }
            name
        }
        None => {
            let base = key::default_name(&table.name, &columns, &table.columns, "idx");
            free_name(&ctx.catalog, &table.schema, base, &[])
        }
    };
    let use_of_it = if create.unique {
        "it keeps the columns unique, but no plan reads it yet"
    } else {
        "no plan uses it yet"
    };
    let message = format!("index \"{name}\" is recorded: {use_of_it}");
    add(
        ctx,
        &table,
        NewIndex {
            name,
            columns,
            unique: create.unique,
            constraint: false,
        },
    )
    .await?;
    let hint = "Queries are served by the primary key: put a bound on its first column.";
    notice(ctx, "00000", message, Some(hint.to_string()));
    Ok("CREATE INDEX".to_string())
}

/// Adds an index to a table; a unique one is built. Errors: 23505 when rows are equal in its columns.
pub(super) async fn add(ctx: &StatementContext, table: &TableDef, new: NewIndex) -> Result<()> {
    let online = new.unique && !ctx.in_block;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let (table, index) = record(&writer, table, &new, online).await?;
    if online {
        return build_online(ctx, &table, &index).await;
    }
    if index.unique {
        ctx.txn.guard(&written_key(table.id));
        build_index(&ctx.txn, &table, &index, ctx.settings.limits).await?;
    }
    Ok(())
}

/// Writes the table's record with the index in it.
async fn record(
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    new: &NewIndex,
    building: bool,
) -> Result<(Arc<TableDef>, IndexDef)> {
    let mut changed = table.clone();
    let index = IndexDef {
        id: changed.next_index_id,
        oid: writer.next_oid().await?,
        name: new.name.clone(),
        columns: new.columns.clone(),
        unique: new.unique,
        constraint: new.constraint,
        built: false,
        building,
    };
    changed.next_index_id += 1;
    changed.indexes.push(index.clone());
    Ok((writer.put_table(changed)?, index))
}

/// Commits the statement's transaction, in which the index is recorded, writes the entries of the rows that were there, and
/// declares the index valid or removes it.
async fn build_online(ctx: &StatementContext, table: &TableDef, index: &IndexDef) -> Result<()> {
    let (txn, store) = (Arc::clone(&ctx.txn), Arc::clone(ctx.sequences.store()));
    let build = Build {
        table: table.oid,
        index: index.oid,
        name: index.name.clone(),
        limits: ctx.settings.limits,
    };
    ctx.jobs
        .run(move |abandoned| async move {
            txn.commit(false).await?;
            match build.write_entries(&store, &abandoned).await {
                Ok(()) => change_table(&store, build.table, |_, table| build.validated(table)).await,
                Err(error) => {
                    let undo = change_table(&store, build.table, |writer, table| {
                        without(writer, table, |_| false, |oid| oid == build.index)
                    });
                    after_undo(undo.await, error)
                }
            }
        })
        .await
}

/// An index that is being built.
struct Build {
    /// By oid, which stays the same whatever other sessions do to the table.
    table: u32,
    index: u32,
    name: String,
    limits: Limits,
}

impl Build {
    /// Writes the entries of all rows, a page a commit. Errors: 23505, 42704 when the index was dropped meanwhile, 57014.
    async fn write_entries(&self, store: &Arc<dyn Store>, abandoned: &Abandoned) -> Result<()> {
        let mut catalog = None;
        let mut place: (TableId, Option<Vec<u8>>) = (0, None);
        let (mut rows_max, mut lost) = (PAGE_ROWS_MAX, 0);
        loop {
            abandoned.next_step().await?;
            let txn = begin(store).await?;
            let current = Catalog::load(&txn, catalog.take()).await?;
            let table = table_of(&current, self.table)?;
            let index = self.find(table)?;
            if place.0 != table.id {
                // TRUNCATE gave the table new keys.
                place = (table.id, None);
            }
            let from = place.1.as_deref();
            let next = build_index_page(&txn, table, index, from, rows_max, false, self.limits).await?;
            // Durable with the commit that makes the index valid, if that is ever reached.
            match txn.commit(true).await {
                Ok(()) => {
                    if next.is_none() {
                        return Ok(());
                    }
                    place.1 = next;
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
        let built = changed.indexes.iter_mut().filter(|index| index.oid == self.index);
        built.for_each(|index| index.building = false);
        Ok(Some(changed))
    }

    fn find<'a>(&self, table: &'a TableDef) -> Result<&'a IndexDef> {
        let found = table.indexes.iter().find(|index| index.oid == self.index);
        found.ok_or_else(|| Error::UndefinedObject {
            kind: "index",
            name: self.name.clone(),
        })
    }
}

/// Errors: 0A000 for what an index here cannot be.
fn check_supported(create: &CreateIndex) -> Result<()> {
    key::check_index_type(create.using.as_ref())?;
    if create.predicate.is_some() {
        return Err(Error::unsupported("a partial index", None));
    }
    if !create.include.is_empty() {
        return Err(Error::unsupported("INCLUDE columns of an index", None));
    }
    if create.nulls_distinct == Some(false) {
        return Err(Error::unsupported("NULLS NOT DISTINCT", None));
    }
    Ok(())
}
