//! CREATE INDEX: what is asked for, checked, and the index in its table's record; `index_build` does the rest.

use std::sync::Arc;

use sqlparser::ast::{CreateIndex, Ident};

use super::index_build::{Build, JobIndex, Unbuilt};
use super::key::{self, KeyKind};
use super::verification::JobTable;
use super::{free_name, notice, storage};
use crate::catalog::{Access, CatalogWriter, IndexDef, KeyColumn, TableDef, written_key};
use crate::codec::row::ColumnId;
use crate::error::DuplicateKind;
use crate::parse::names;
use crate::sql::relation::table;
use crate::store::LockMode;
use crate::system::StatementContext;
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
    /// Before the statement ends; if it cannot be, the index is gone.
    Awaited,
    /// Before the statement ends; if it cannot be, the index stays and is invalid: CONCURRENTLY.
    Concurrent,
    /// Some time after it, by the server: ASYNC.
    Later,
}

/// Runs CREATE INDEX.
pub(super) async fn create(ctx: &StatementContext, create: &CreateIndex) -> Result<String> {
    let table = table(ctx, &create.table_name, Access::CreateIndex)?;
    let unused = check_supported(create)?;
    storage::check_tablespaces(ctx)?;
    let completion = completion(ctx, create)?;
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
    storage::tell(ctx, unused);
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

/// Errors: 25001 in a block for what commits on its way.
fn completion(ctx: &StatementContext, create: &CreateIndex) -> Result<Completion> {
    let is_async = ctx.hints.is_async;
    if ctx.in_block && (is_async || create.concurrently) {
        let words = if is_async { "ASYNC" } else { "CONCURRENTLY" };
        return Err(Error::TransactionState {
            state: "25001",
            message: format!("CREATE INDEX {words} cannot run inside a transaction block"),
        });
    }
    Ok(match (is_async, create.concurrently) {
        (true, _) => Completion::Later,
        (false, true) => Completion::Concurrent,
        (false, false) => Completion::Awaited,
    })
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
    if ctx.in_block {
        return add_within(ctx, table, new).await.map(drop);
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let oid = ctx.sequences.object_ids().take_oid().await?;
    let mut changed = table.clone();
    let index = define(&mut changed, &new, oid, true);
    let table = writer.put_table_in(changed, LockMode::ShareRowExclusive)?;
    if completion == Completion::Later {
        ctx.txn.commit(false).await?;
        ctx.index_builds.ask();
        return Ok(());
    }
    let concurrently = completion == Completion::Concurrent;
    let building = ctx
        .index_builds
        .begin(table.oid, index.oid, ctx.process_id, concurrently);
    let building = building.ok_or_else(|| Error::internal("a new index that is being built"))?;
    let store = Arc::clone(ctx.sequences.store());
    let unbuilt = match concurrently {
        true => Unbuilt::Stays,
        false => Unbuilt::Goes,
    };
    let build = Build {
        table: JobTable::new(&table),
        index: JobIndex::new(&index),
        unbuilt,
        store,
        limits: ctx.settings.limits,
        building,
    };
    build.run(ctx).await
}

/// Adds an index to a table and builds it in the statement's transaction; answers the table with it. Errors: as `add`.
pub(super) async fn add_within(ctx: &StatementContext, table: &TableDef, new: NewIndex) -> Result<TableDef> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let oid = ctx.sequences.object_ids().take_oid().await?;
    let mut changed = table.clone();
    let index = define(&mut changed, &new, oid, false);
    let table = writer.put_table_in(changed, LockMode::ShareRowExclusive)?;
    ctx.txn.guard(&written_key(table.id));
    build_index(&ctx.txn, &table, &index, ctx.settings.limits).await?;
    Ok(TableDef::clone(&*table))
}

/// Gives a table an index; answers it. `building`: its entries are to be written later.
pub(super) fn define(table: &mut TableDef, new: &NewIndex, oid: u32, building: bool) -> IndexDef {
    let index = IndexDef {
        id: table.next_index_id,
        oid,
        name: new.name.clone(),
        columns: new.columns.clone(),
        include: new.include.clone(),
        unique: new.unique,
        constraint: new.constraint,
        built: !building,
        building,
        invalid: false,
        comment: None,
        constraint_comment: None,
    };
    table.next_index_id += 1;
    table.indexes.push(index.clone());
    index
}

/// The storage parameters of an index. Errors: 0A000 for what an index here cannot be, 22023 for an unknown parameter.
fn check_supported(create: &CreateIndex) -> Result<Vec<String>> {
    key::check_index_type(create.using.as_ref())?;
    if create.predicate.is_some() {
        return Err(Error::unsupported("a partial index", None));
    }
    if create.nulls_distinct == Some(false) {
        return Err(Error::unsupported("NULLS NOT DISTINCT", None));
    }
    create.with.iter().map(storage::index_parameter).collect()
}
