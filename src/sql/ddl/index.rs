//! CREATE INDEX: what is asked for, checked, and the index in its table's record; `index_build` does the rest.

use std::sync::Arc;

use sqlparser::ast::{CreateIndex, Ident};

use super::index_build::{Build, BuildOf};
use super::key::{self, KeyKind};
use super::{free_name, notice, table};
use crate::catalog::{CatalogWriter, IndexDef, KeyColumn, TableDef, written_key};
use crate::codec::row::ColumnId;
use crate::error::DuplicateKind;
use crate::exec::StatementContext;
use crate::parse::names;
use crate::table::build_index;
use crate::{Error, Result};

/// An index to be added to a table.
pub(super) struct NewIndex {
    pub(super) name: String,
    pub(super) columns: Vec<KeyColumn>,
    /// INCLUDE.
    pub(super) include: Vec<ColumnId>,
    pub(super) unique: bool,
    /// Declared as a constraint.
    pub(super) constraint: bool,
}

/// When an index is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    /// Before the statement ends.
    Awaited,
    /// Some time after it: CONCURRENTLY.
    Later,
}

/// Runs CREATE INDEX.
pub(super) async fn create(ctx: &StatementContext, create: &CreateIndex) -> Result<String> {
    let table = table(ctx, &create.table_name)?;
    check_supported(create)?;
    let completion = match create.concurrently {
        true if ctx.in_block => {
            return Err(Error::TransactionState {
                state: "25001",
                message: "CREATE INDEX CONCURRENTLY cannot run inside a transaction block".to_string(),
            });
        }
        true => Completion::Later,
        false => Completion::Awaited,
    };
    let columns = key::key_columns(KeyKind::Index, &create.columns, &table.columns)?;
    let include = included_columns(&create.include, &table)?;
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
            let ids = columns
                .iter()
                .map(|key| key.column)
                .chain(include.iter().copied());
            let base = key::default_name(&table.name, ids, &table.columns, "idx");
            free_name(&ctx.catalog, &table.schema, base, &[])
        }
    };
    let new = NewIndex {
        name,
        columns,
        include,
        unique: create.unique,
        constraint: false,
    };
    add(ctx, &table, new, completion).await?;
    Ok("CREATE INDEX".to_string())
}

/// Errors: 42703.
fn included_columns(written: &[Ident], table: &TableDef) -> Result<Vec<ColumnId>> {
    let id = |column: &Ident| {
        let name = names::fold(column);
        match table.column_index(&name) {
            Some(at) => Ok(table.columns[at].id),
            None => Err(key::undefined_key_column(KeyKind::Index, &name)),
        }
    };
    written.iter().map(id).collect()
}

/// Adds an index to a table and builds it. Errors: 23505 when rows are equal in the columns of a unique one.
pub(super) async fn add(
    ctx: &StatementContext,
    table: &TableDef,
    new: NewIndex,
    completion: Completion,
) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let (table, index) = record(&writer, table, &new, !ctx.in_block).await?;
    if ctx.in_block {
        ctx.txn.guard(&written_key(table.id));
        return build_index(&ctx.txn, &table, &index, ctx.settings.limits).await;
    }
    let of = BuildOf::new(&table, &index);
    match completion {
        Completion::Awaited => {
            let building = ctx.index_builds.begin(table.oid, index.oid, ctx.process_id);
            let building = building.ok_or_else(|| Error::internal("a new index that is being built"))?;
            let store = Arc::clone(ctx.sequences.store());
            Build::new(of, store, ctx.settings.limits, building)
                .run(ctx)
                .await
        }
        Completion::Later => {
            ctx.txn.commit(false).await?;
            ctx.index_builds.ask();
            Ok(())
        }
    }
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
        include: new.include.clone(),
        unique: new.unique,
        constraint: new.constraint,
        built: !building,
        building,
    };
    changed.next_index_id += 1;
    changed.indexes.push(index.clone());
    Ok((writer.put_table(changed)?, index))
}

/// Errors: 0A000 for what an index here cannot be.
fn check_supported(create: &CreateIndex) -> Result<()> {
    key::check_index_type(create.using.as_ref())?;
    if create.predicate.is_some() {
        return Err(Error::unsupported("a partial index", None));
    }
    if create.nulls_distinct == Some(false) {
        return Err(Error::unsupported("NULLS NOT DISTINCT", None));
    }
    Ok(())
}
