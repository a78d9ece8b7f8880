//! An index in its table's record, and its entries: `create_index` says what is asked for, `index_build` builds it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::backfill::{self, Backfill, fill_within};
use super::index_build::{Build, JobIndex, Unbuilt};
use super::index_sort::Sorting;
use super::keys_lock::{self, Keys, lock_for_job};
use super::verification::{self, JobTable};
use crate::catalog::{
    CatalogWriter, Deferral, Exclusion, IndexBuckets, IndexDef, IndexExpression, IndexTerms, KeyColumn,
    TableDef, Unverified, written_key,
};
use crate::codec::row::ColumnId;
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
    /// Those of its columns that are computed for it.
    pub(super) expressions: Vec<IndexExpression>,
    /// WHERE.
    pub(super) predicate: Option<IndexExpression>,
    /// BUCKETS.
    pub(super) buckets: Option<IndexBuckets>,
    /// What it has entries of, if it is inverted.
    pub(super) terms: Option<IndexTerms>,
    /// Operator classes to be told (see `IndexDef`).
    pub(super) classes: BTreeMap<ColumnId, String>,
    pub(super) unique: bool,
    /// NULLS NOT DISTINCT.
    pub(super) nulls_not_distinct: bool,
    /// Declared as a constraint.
    pub(super) constraint: bool,
    /// DEFERRABLE, and then not `unique`.
    pub(super) deferral: Option<Deferral>,
    /// EXCLUDE.
    pub(super) exclusion: Option<Exclusion>,
    /// Options that are only told.
    pub(super) options: BTreeMap<String, String>,
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
    let oid = ctx.sequences.object_ids().take_oid().await?;
    let mut changed = table.clone();
    let index = define(&mut changed, &new, oid, true);
    publish(ctx, (changed, Vec::new()), &index, completion).await
}

/// The same for an index over columns that are computed for it, which `table` has and `old` has not. Errors: also those of the expressions.
pub(super) async fn add_computed(
    ctx: &StatementContext,
    old: &TableDef,
    mut table: TableDef,
    new: NewIndex,
    completion: Completion,
) -> Result<()> {
    if ctx.in_block {
        let filled = fill_within(ctx, old, table, LockMode::Exclusive).await?;
        return add_within(ctx, &filled, new).await.map(drop);
    }
    verification::mark(old, &mut table, &[]);
    // A row may be written before its turn comes, and not in these.
    let marked = table
        .columns
        .iter_mut()
        .filter(|column| column.unverified == Some(Unverified::Column));
    marked.for_each(|column| column.not_null = false);
    let oid = ctx.sequences.object_ids().take_oid().await?;
    let index = define(&mut table, &new, oid, false);
    let invalid = table.indexes.iter_mut().filter(|known| known.oid == oid);
    invalid.for_each(|index| (index.built, index.invalid) = (false, true));
    let columns = backfill::columns(old, &table);
    // Who is to build it later could not compute them.
    let completion = match completion {
        Completion::Later => Completion::Awaited,
        awaited => awaited,
    };
    publish(ctx, (table, columns), &index, completion).await
}

/// Writes the entries of an index that has none, of ALTER INDEX … DISABLED or a build that failed. Errors: as `add`.
pub(super) async fn rebuild(
    ctx: &StatementContext,
    table: &TableDef,
    oid: u32,
    completion: Completion,
) -> Result<()> {
    let mut changed = table.clone();
    let Some(index) = changed.indexes.iter_mut().find(|index| index.oid == oid) else {
        return Err(Error::internal("an index that its table does not have"));
    };
    (index.invalid, index.inactive) = (false, false);
    (index.built, index.building) = (ctx.in_block, !ctx.in_block);
    index.leaves_rows_out = index.predicate.is_some();
    let index = index.clone();
    match ctx.in_block {
        true => build_within(ctx, changed, &index).await.map(drop),
        false => publish(ctx, (changed, Vec::new()), &index, completion).await,
    }
}

/// Commits the table, in whose record the index is marked as being built, and builds it. Its rows are given the columns before, if any.
async fn publish(
    ctx: &StatementContext,
    (table, columns): (TableDef, Vec<ColumnId>),
    index: &IndexDef,
    completion: Completion,
) -> Result<()> {
    let keys = lock_for_job(ctx, &table, Keys::Change).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let table = writer.put_table_in(table, LockMode::ShareRowExclusive)?;
    if completion == Completion::Later {
        ctx.jobs.commit(Arc::clone(&ctx.txn), false, None).await?;
        ctx.index_builds.ask();
        return Ok(());
    }
    let concurrently = completion == Completion::Concurrent;
    let building = ctx
        .index_builds
        .begin(table.oid, index.oid, ctx.process_id, concurrently);
    let building = building.ok_or_else(|| Error::internal("a new index that is being built"))?;
    let store = ctx.txn.database_store();
    let unbuilt = match concurrently {
        true => Unbuilt::Stays,
        false => Unbuilt::Goes,
    };
    let build = Build {
        table: JobTable::new(&table),
        index: JobIndex::new(index),
        unbuilt,
        backfill: (!columns.is_empty()).then(|| Backfill::new(ctx, &table, columns)),
        store,
        limits: ctx.settings.limits,
        sorting: Sorting::new(&ctx.settings, Arc::clone(&ctx.memory)),
        building,
        _keys: Some(keys),
    };
    build.run(ctx).await
}

/// Adds an index to a table and builds it in the statement's transaction; answers the table with it. Errors: as `add`.
pub(super) async fn add_within(ctx: &StatementContext, table: &TableDef, new: NewIndex) -> Result<TableDef> {
    let oid = ctx.sequences.object_ids().take_oid().await?;
    let mut changed = table.clone();
    let index = define(&mut changed, &new, oid, false);
    build_within(ctx, changed, &index).await
}

/// Builds an index of the table in the statement's transaction.
async fn build_within(ctx: &StatementContext, table: TableDef, index: &IndexDef) -> Result<TableDef> {
    keys_lock::share(ctx, &table).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let table = writer.put_table_in(table, LockMode::ShareRowExclusive)?;
    ctx.txn.guard(&written_key(table.id));
    build_index(&ctx.txn, &table, index, ctx.settings.limits).await?;
    Ok(TableDef::clone(&*table))
}

/// Gives a table an index; answers it. `building`: its entries are to be written later.
pub(super) fn define(table: &mut TableDef, new: &NewIndex, oid: u32, building: bool) -> IndexDef {
    let index = IndexDef {
        include: new.include.clone(),
        expressions: new.expressions.clone(),
        predicate: new.predicate.clone(),
        leaves_rows_out: new.predicate.is_some(),
        buckets: new.buckets,
        terms: new.terms.clone(),
        unique: new.unique,
        nulls_not_distinct: new.nulls_not_distinct,
        constraint: new.constraint,
        deferral: new.deferral,
        exclusion: new.exclusion.clone(),
        built: !building,
        building,
        options: new.options.clone(),
        classes: new.classes.clone(),
        ..IndexDef::new(table.next_index_id, oid, new.name.clone(), new.columns.clone())
    };
    table.next_index_id += 1;
    table.indexes.push(index.clone());
    index
}
