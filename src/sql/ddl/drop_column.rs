//! ALTER TABLE … DROP COLUMN, and what goes with a column.

use std::sync::Arc;

use sqlparser::ast::Ident;

use super::column_users;
use super::column_views;
use super::default_dependents::{self, DependentDefault};
use super::table_change::{changed_key, undefined_column};
use super::{expiry, foreign_key, notice, notice_cascade, sequence, triggers};
use crate::catalog::{CatalogWriter, ColumnDef, Relation, TableDef};
use crate::codec::row::ColumnId;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Drops a column, with the constraints that name it. Errors: 42703, 2BP01 without CASCADE for what others are made of, 0A000 for one
/// in a key that is not declared.
pub(super) async fn drop(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &Ident,
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let name = names::fold(name);
    let Some(at) = table.column_index(&name) else {
        if !if_exists {
            return Err(undefined_column(&name, table));
        }
        let message = format!(
            "column \"{name}\" of relation \"{}\" does not exist, skipping",
            table.name
        );
        notice(ctx, "00000", message, None);
        return Ok(());
    };
    let id = table.columns[at].id;
    if table.is_key_column(id) {
        return Err(changed_key(table));
    }
    expiry::check_drop(table, &name)?;
    let column = format!("column {name} of table {}", table.name);
    column_users::drop_all(ctx, views_of(ctx, table, id, cascade), column, cascade).await?;
    drop_sequence_users(ctx, table, id, cascade)?;
    triggers::drop_users_of_column(ctx, table, (id, &name), cascade)?;
    drop_dependents(ctx, table, (id, &name), cascade)?;
    let column = table.columns.iter().find(|column| column.id == id).cloned();
    if let Some(column) = column {
        foreign_key::release_column(ctx, table, &column, cascade)?;
    }
    table.remove_column(id);
    Ok(())
}

/// The views that go with a column: those that need it, and with CASCADE those that need what is computed of it.
fn views_of<'a>(
    ctx: &'a StatementContext,
    table: &TableDef,
    id: ColumnId,
    cascade: bool,
) -> Vec<&'a Relation> {
    let mut views = column_views::of_column(ctx, table, id);
    let computed = table
        .columns_computed_of(id)
        .filter(|column| cascade && !column.hidden);
    for view in computed.flat_map(|column| column_views::of_column(ctx, table, column.id)) {
        if views.iter().all(|known| known.oid() != view.oid()) {
            views.push(view);
        }
    }
    views
}

/// Whether it is a partition of a table, or of its partitions.
fn is_below(ctx: &StatementContext, partition: &TableDef, oid: u32) -> bool {
    let above = |table: &Arc<TableDef>| ctx.catalog.parent_of(table).cloned();
    let mut parents = std::iter::successors(ctx.catalog.parent_of(partition).cloned(), above);
    parents.any(|parent| parent.oid == oid)
}

/// Takes off the defaults of other columns that take values of the sequence of a column. Errors: 2BP01 without CASCADE.
fn drop_sequence_users(
    ctx: &StatementContext,
    table: &mut TableDef,
    id: ColumnId,
    cascade: bool,
) -> Result<()> {
    let Some(at) = table.column_index_by_id(id) else {
        return Ok(());
    };
    let Some(sequence) = sequence::of_column(ctx, table, &table.columns[at]) else {
        return Ok(());
    };
    // The column of a partition goes with it.
    let name = &table.columns[at].name;
    let is_gone = |of: &TableDef, column: &ColumnDef| match of.oid == table.oid {
        true => column.id == id,
        false => column.name == *name && is_below(ctx, of, table.oid),
    };
    let (own, others): (Vec<_>, Vec<_>) =
        default_dependents::of_sequences(&ctx.catalog, &[sequence], is_gone)
            .into_iter()
            .partition(|default| default.table.oid == table.oid);
    let all = || own.iter().chain(&others);
    if !cascade && all().next().is_some() {
        return Err(Error::DependentObjects {
            object: format!("column {} of table {}", table.columns[at].name, table.name),
            dependents: all().map(DependentDefault::line).collect(),
        });
    }
    let gone: Vec<String> = all().map(DependentDefault::described).collect();
    notice_cascade(ctx, &gone);
    for default in own {
        if let Some(at) = table.column_index_by_id(default.column.id) {
            table.columns[at].default = None;
        }
    }
    match others.is_empty() {
        true => Ok(()),
        false => default_dependents::remove(&CatalogWriter::begin(&ctx.txn, &ctx.catalog)?, &others, &[]),
    }
}

/// Drops the generated columns that are computed of a column. Errors: 2BP01 without CASCADE, 0A000 for one in the key.
fn drop_dependents(
    ctx: &StatementContext,
    table: &mut TableDef,
    (id, name): (ColumnId, &str),
    cascade: bool,
) -> Result<()> {
    let all: Vec<ColumnDef> = table.columns_computed_of(id).cloned().collect();
    // What an index holds of the column goes with it, and so the index.
    let (computed, dependents): (Vec<ColumnDef>, Vec<ColumnDef>) = all
        .into_iter()
        .partition(|column| column.hidden && !table.is_key_column(column.id));
    if !cascade && !dependents.is_empty() {
        let depends = |column: &ColumnDef| {
            format!(
                "column {} of table {} depends on column {name} of table {}",
                column.name, table.name, table.name
            )
        };
        return Err(Error::DependentObjects {
            object: format!("column {name} of table {}", table.name),
            dependents: dependents.iter().map(depends).collect(),
        });
    }
    if dependents.iter().any(|column| table.is_key_column(column.id)) {
        return Err(changed_key(table));
    }
    let described = |column: &ColumnDef| format!("column {} of table {}", column.name, table.name);
    let gone: Vec<String> = dependents.iter().map(described).collect();
    notice_cascade(ctx, &gone);
    for dependent in computed.into_iter().chain(dependents) {
        table.remove_column(dependent.id);
    }
    Ok(())
}
