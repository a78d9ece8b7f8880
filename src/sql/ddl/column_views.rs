//! The views that a column or the primary key of a table cannot be changed or dropped under: those whose queries need it. No record says so:
//! a query is bound as if the column had another name, or the table no key, and needs it when that fails.

use std::sync::Arc;

use super::primary_key::hide_key;
use crate::catalog::{Catalog, ColumnDef, Relation, TableDef, dependents_key};
use crate::codec::row::ColumnId;
use crate::parse::parse_query;
use crate::query;
use crate::system::{Settings, StatementContext};

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
        // What is computed of the column needs it, not who reads that.
        let computed: Vec<ColumnId> = table
            .columns_computed_of(column)
            .filter(|computed| !computed.hidden)
            .map(|computed| computed.id)
            .collect();
        for computed in table.columns.iter_mut().filter(|own| computed.contains(&own.id)) {
            computed.default = None;
        }
        let name = std::mem::replace(&mut table.columns[at].name, NO_NAME.to_string());
        if table.may_get_column(&name) {
            keep_unwritable(table, at, name);
        }
        // What indexes hold of the column goes with it.
        table.remove_indexes(|index| !index.is_plain());
        true
    })
}

/// Has a name that writes may add to the table be that of a column which no query reaches: it does not read as one nobody has written yet.
fn keep_unwritable(table: &mut TableDef, like: usize, name: String) {
    let id = table.next_column_id;
    table.next_column_id += 1;
    table.columns.push(ColumnDef {
        id,
        name,
        hidden: true,
        default: None,
        ..table.columns[like].clone()
    });
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

/// Whether the query of a view can be bound.
pub(super) fn binds(ctx: &StatementContext, view: &Relation) -> bool {
    view.query()
        .is_none_or(|(text, search_path)| query_binds(ctx, text, search_path))
}

/// Whether a query that was made with this search path can.
pub(super) fn query_binds(ctx: &StatementContext, text: &str, search_path: &[String]) -> bool {
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
