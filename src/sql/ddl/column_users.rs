//! The views that a column or the primary key of a table cannot be changed or dropped under: those whose queries need it. No record says so:
//! a query is bound as if the column had another name, or the table no key, and needs it when that fails.

use std::sync::Arc;

use super::drop::{drop_with_dependents, views_over};
use super::primary_key::hide_key;
use super::{described, notice_cascade};
use crate::catalog::{Catalog, CatalogWriter, Relation, TableDef, dependents_key};
use crate::codec::row::ColumnId;
use crate::parse::parse_query;
use crate::query;
use crate::system::{Settings, StatementContext};
use crate::{Error, Result};

/// A name that no query can have: no text holds this character.
const NO_NAME: &str = "\0";

/// The views and materialized views that need the column of the table as it is, directly. Nobody may be creating one meanwhile.
pub(super) fn of_column<'a>(
    ctx: &'a StatementContext,
    table: &TableDef,
    column: ColumnId,
) -> Vec<&'a Relation> {
    without(ctx, table, |table| {
        let Some(at) = table.column_index_by_id(column) else {
            return false;
        };
        table.columns[at].name = NO_NAME.to_string();
        // What indexes hold of the column goes with it.
        table.remove_indexes(|index| !index.is_plain());
        true
    })
}

/// The same of the primary key, which says that columns of a group are the same in all its rows.
pub(super) fn of_primary_key<'a>(ctx: &'a StatementContext, table: &TableDef) -> Vec<&'a Relation> {
    without(ctx, table, |table| {
        hide_key(table);
        true
    })
}

/// The views whose queries cannot be bound over the table without what `remove` takes off it. `false` of that: it has no such thing.
fn without<'a>(
    ctx: &'a StatementContext,
    table: &TableDef,
    remove: impl FnOnce(&mut TableDef) -> bool,
) -> Vec<&'a Relation> {
    ctx.txn.guard(&dependents_key(table.oid));
    let Some(known) = ctx.catalog.table_by_oid(table.oid) else {
        return Vec::new();
    };
    let mut left = TableDef::clone(known);
    if !remove(&mut left) {
        return Vec::new();
    }
    let mut catalog = Catalog::clone(&ctx.catalog);
    catalog.insert_relation(Relation::Table(Arc::new(left)));
    let ctx_without = StatementContext {
        catalog: Arc::new(catalog),
        lookups: Arc::default(),
        // What binding says is no business of the client's.
        notices: Arc::default(),
        ..ctx.clone()
    };
    let reading = ctx.catalog.queries_reading(table.oid);
    reading.filter(|view| !binds(&ctx_without, view)).collect()
}

/// Drops the views that need an object, in messages' words, and those that read them. Errors: 2BP01 without CASCADE.
pub(super) async fn drop_all(
    ctx: &StatementContext,
    users: Vec<&Relation>,
    object: String,
    cascade: bool,
) -> Result<()> {
    if users.is_empty() {
        return Ok(());
    }
    let over = views_over(&ctx.catalog, &users);
    let own = users.iter().map(|view| (*view, None));
    let all: Vec<(&Relation, Option<&Relation>)> = own
        .chain(over.into_iter().map(|(view, read)| (view, Some(read))))
        .collect();
    if !cascade {
        return Err(Error::DependentObjects {
            dependents: lines(ctx, &object, &all),
            object,
        });
    }
    let gone: Vec<String> = all.iter().map(|(view, _)| described(ctx, view)).collect();
    notice_cascade(ctx, &gone);
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    drop_with_dependents(&ctx.catalog, &writer, users).await
}

/// Whether the query of a view can be bound.
fn binds(ctx: &StatementContext, view: &Relation) -> bool {
    let Some((text, search_path)) = view.query() else {
        return true;
    };
    let Ok(parsed) = parse_query(text) else {
        return false;
    };
    let mut settings = Settings::clone(&ctx.settings);
    settings.search_path = search_path.to_vec();
    let ctx = StatementContext {
        settings: Arc::new(settings),
        ..ctx.clone()
    };
    query::plan_query(&ctx, &parsed, &[]).is_ok()
}

/// The views, and those that read them, as an error says what each depends on. `object`: in messages' words.
fn lines(ctx: &StatementContext, object: &str, views: &[(&Relation, Option<&Relation>)]) -> Vec<String> {
    let line = |(view, read): &(&Relation, Option<&Relation>)| {
        let on = read.map_or_else(|| object.to_string(), |read| described(ctx, read));
        format!("{} depends on {on}", described(ctx, view))
    };
    views.iter().map(line).collect()
}

/// Errors: 0A000 for a column that a view needs, whose type is to change.
pub(super) fn check_none(
    ctx: &StatementContext,
    table: &TableDef,
    column: ColumnId,
    name: &str,
) -> Result<()> {
    match of_column(ctx, table, column).first() {
        None => Ok(()),
        Some(view) => Err(Error::ColumnUsed {
            by: "a view or rule",
            detail: format!(
                "rule _RETURN on {} depends on column \"{name}\"",
                described(ctx, view)
            ),
        }),
    }
}
