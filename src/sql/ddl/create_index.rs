//! CREATE INDEX: what is asked for, checked. `index` adds it.

use sqlparser::ast::{CreateIndex, Ident, IndexType};

use super::index::{Completion, NewIndex, add, add_computed};
use super::index_expression;
use super::index_key::{Key, WrittenKey};
use super::index_options::NewIndexOptions;
use super::key::{self, KeyKind};
use super::{advice, index_terms, notice, partition_key, storage};
use crate::catalog::{Access, KeyColumn, MadeName, TableDef};
use crate::codec::row::ColumnId;
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::names;
use crate::sql::relation::table;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs CREATE INDEX.
pub(super) async fn execute(ctx: &StatementContext, create: &CreateIndex) -> Result<String> {
    let table = table(ctx, &create.table_name, Access::CreateIndex)?;
    check_supported(create)?;
    let options = NewIndexOptions::read(&create.with)?;
    storage::check_tablespaces(ctx)?;
    let completion = completion(ctx, create)?;
    let mut changed = TableDef::clone(&table);
    let Key {
        columns,
        expressions,
        predicate,
        buckets,
        terms,
        classes,
        names,
    } = key(ctx, create, &mut changed, options.buckets)?;
    tell_method(ctx, create, terms.is_some());
    let mut include = included_columns(&create.include, &table)?;
    if options.covers_all {
        include = covered_columns(&table, &columns);
    }
    let named = if options.covers_all { &[][..] } else { &include };
    let Some(name) = index_name(ctx, create, &table, (names, named))? else {
        return Ok("CREATE INDEX".to_string());
    };
    storage::tell(ctx, options.unused());
    advice::advise_index(ctx, &changed, (&name, &columns))?;
    let new = NewIndex {
        name,
        columns,
        include,
        expressions,
        predicate,
        buckets,
        terms,
        classes,
        unique: create.unique,
        nulls_not_distinct: create.unique && create.nulls_distinct == Some(false),
        constraint: false,
        deferral: None,
        exclusion: None,
        options: options.kept,
    };
    partition_key::check_keys(&table, std::slice::from_ref(&new))?;
    match changed.generations().count() == table.generations().count() {
        true => add(ctx, &changed, new, completion).await?,
        false => Box::pin(add_computed(ctx, &table, changed, new, completion)).await?,
    }
    Ok("CREATE INDEX".to_string())
}

/// Its key. What gist, or gin by btree_gin, serves of types that sort and have no terms, a sorted one does.
fn key(
    ctx: &StatementContext,
    create: &CreateIndex,
    table: &mut TableDef,
    buckets: Option<u16>,
) -> Result<Key> {
    let written = |inverted| WrittenKey {
        parts: &create.columns,
        condition: create.predicate.as_ref(),
        buckets,
        inverted,
    };
    let method = index_terms::method(create.using.as_ref());
    let mut with_terms = table.clone();
    match (
        method,
        index_expression::key(ctx, &mut with_terms, written(method)),
    ) {
        (Some(method), Err(error))
            if error.sqlstate() == "42704" && index_expression::has_plain_classes(ctx, method) =>
        {
            index_expression::key(ctx, table, written(None)).map_err(|_| error)
        }
        (_, key) => {
            *table = with_terms;
            key
        }
    }
}

/// Tells of an access method that is another one here.
fn tell_method(ctx: &StatementContext, create: &CreateIndex, is_inverted: bool) {
    let Some(
        using @ (IndexType::Hash | IndexType::BRIN | IndexType::GIN | IndexType::GiST | IndexType::SPGiST),
    ) = &create.using
    else {
        return;
    };
    let method = using.to_string().to_lowercase();
    let message = match (using, is_inverted) {
        (IndexType::GIN, true) => return,
        (_, true) => format!("the index is inverted, as with USING gin: it serves what \"{method}\" would"),
        (IndexType::GIN | IndexType::GiST | IndexType::SPGiST, false) => {
            "the index is sorted, as with USING btree: it serves =, < and ORDER BY".to_string()
        }
        (_, false) => format!("the index is sorted, as with USING btree: it serves what \"{method}\" would"),
    };
    notice(ctx, "00000", message, None);
}

/// The name of a new index; `None`: there is one of that name, and nothing to do. Errors: 42P07.
fn index_name(
    ctx: &StatementContext,
    create: &CreateIndex,
    table: &TableDef,
    (names, included): (Vec<String>, &[ColumnId]),
) -> Result<Option<String>> {
    let Some(name) = &create.name else {
        return Ok(Some(default_name(ctx, table, names, included)));
    };
    let (_, name) = names::relation_name(name)?;
    match (
        ctx.catalog.is_name_taken(&table.schema, &name),
        create.if_not_exists,
    ) {
        (false, _) => Ok(Some(name)),
        (true, false) => Err(Error::Duplicate {
            kind: DuplicateKind::Relation,
            name,
        }),
        (true, true) => {
            let message = format!("relation \"{name}\" already exists, skipping");
            notice(ctx, "42P07", message, None);
            Ok(None)
        }
    }
}

/// The name of an index that is given none: of its table and its columns.
fn default_name(
    ctx: &StatementContext,
    table: &TableDef,
    names: Vec<String>,
    include: &[ColumnId],
) -> String {
    let included = include.iter().filter_map(|id| table.column_index_by_id(*id));
    let included = included.map(|at| table.columns[at].name.clone());
    let names: Vec<String> = names.into_iter().chain(included).collect();
    let names = names.iter().map(String::as_str);
    MadeName::of_columns(&table.name, names, "idx").free_in(&ctx.catalog, &table.schema, &[])
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

/// All columns that stand neither in the index nor, as every entry names its row by that, in the primary key.
fn covered_columns(table: &TableDef, key: &[KeyColumn]) -> Vec<ColumnId> {
    let is_held = |id: ColumnId| {
        let keys = key.iter().chain(&table.primary_key.columns);
        keys.map(|key| key.column).any(|column| column == id)
    };
    let columns = table.visible_columns().map(|column| column.id);
    columns.filter(|id| !is_held(*id)).collect()
}

/// Errors: 0A000 for what an index here cannot be.
fn check_supported(create: &CreateIndex) -> Result<()> {
    key::check_index_type(create.using.as_ref())?;
    if let Some(method) = index_terms::method(create.using.as_ref()) {
        return index_terms::check_supported(create, method);
    }
    if matches!(create.using, Some(IndexType::Hash)) && (create.unique || create.columns.len() > 1) {
        let what = if create.unique { "unique" } else { "multicolumn" };
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!("access method \"hash\" does not support {what} indexes"),
            hint: Some("Use btree.".to_string()),
        });
    }
    Ok(())
}
