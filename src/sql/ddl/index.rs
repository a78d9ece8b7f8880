//! CREATE INDEX. A unique index is built: its entries enforce it. Any other is recorded, for plans do not use it yet.
//!
//! A unique index on a table that other sessions can see is built as PostgreSQL's CREATE INDEX CONCURRENTLY does it: the
//! record is committed first, so that every write from then on keeps the index, then the entries of older rows are
//! written in a transaction that conflicts with any such write, until it goes through. It is no part of the statement's
//! own transaction.

use std::sync::Arc;

use sqlparser::ast::CreateIndex;

use super::drop::remove_index;
use super::key::{self, KeyKind};
use super::{free_name, notice, table};
use crate::catalog::{Catalog, CatalogWriter, IndexDef, KeyColumn, Relation, TableDef, record_key};
use crate::error::DuplicateKind;
use crate::exec::StatementContext;
use crate::sql::names;
use crate::table::build_index;
use crate::txn::Transaction;
use crate::{Error, Result};

/// What building an index may buffer.
const BUILD_BYTES_MAX: usize = 256 << 20;
/// How often a build that loses races against writes is tried again.
const BUILD_TRIES: usize = 20;

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
    if new.unique && is_committed(ctx, table).await? {
        if ctx.txn.has_writes() {
            return Err(Error::TransactionState {
                state: "25001",
                message: format!(
                    "a unique index on \"{}\", which other sessions can see, cannot be built in a transaction block that has written",
                    table.name
                ),
            });
        }
        return build_online(ctx, table, new).await;
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let (table, index) = record(&writer, table, &new).await?;
    if index.unique {
        build_index(&ctx.txn, &table, &index, ctx.settings.limits).await?;
    }
    Ok(())
}

/// Whether sessions other than this one can see the table.
async fn is_committed(ctx: &StatementContext, table: &TableDef) -> Result<bool> {
    let other = begin(ctx).await?;
    Ok(other.get_many(&[record_key(table.id)]).await?.get(0).is_some())
}

async fn begin(ctx: &StatementContext) -> Result<Transaction> {
    Transaction::begin(Arc::clone(ctx.sequences.store()), BUILD_BYTES_MAX).await
}

/// Writes the table's record with the index in it.
async fn record(
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    new: &NewIndex,
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
    };
    changed.next_index_id += 1;
    changed.indexes.push(index.clone());
    Ok((writer.put_table(changed)?, index))
}

/// Records the index and commits, then writes the entries of the rows that were there, and commits.
async fn build_online(ctx: &StatementContext, table: &TableDef, new: NewIndex) -> Result<()> {
    retried(|| async {
        let txn = begin(ctx).await?;
        let (catalog, table) = current(&txn, table).await?;
        record(&CatalogWriter::begin(&txn, &catalog)?, &table, &new).await?;
        txn.commit(false).await
    })
    .await?;
    let built = retried(|| async {
        let txn = begin(ctx).await?;
        let (_, table) = current(&txn, table).await?;
        let index = table.indexes.iter().find(|index| index.name == new.name);
        let index = index.ok_or_else(|| Error::UndefinedObject {
            kind: "index",
            name: new.name.clone(),
        })?;
        txn.guard(&record_key(table.id));
        build_index(&txn, &table, index, ctx.settings.limits).await?;
        txn.commit(false).await
    })
    .await;
    if built.is_err() {
        retried(|| async {
            let txn = begin(ctx).await?;
            let (catalog, table) = current(&txn, table).await?;
            remove_index(&CatalogWriter::begin(&txn, &catalog)?, &table, &new.name)?;
            txn.commit(false).await
        })
        .await?;
    }
    built
}

/// The table as a new transaction sees it. Errors: 42P01 when it has been dropped.
async fn current(txn: &Transaction, table: &TableDef) -> Result<(Arc<Catalog>, Arc<TableDef>)> {
    let catalog = Catalog::load(txn, None).await?;
    let found = match catalog.relation(Some(&table.schema), &table.name, &[])? {
        Relation::Table(found) if found.oid == table.oid => Arc::clone(found),
        _ => return Err(catalog.undefined_relation(Some(&table.schema), &table.name, &[])),
    };
    Ok((catalog, found))
}

/// Runs a transaction again while it loses races.
async fn retried<F: Future<Output = Result<()>>>(run: impl Fn() -> F) -> Result<()> {
    for _ in 1..BUILD_TRIES {
        match run().await {
            Err(Error::Conflict { .. }) => {}
            result => return result,
        }
    }
    run().await
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
