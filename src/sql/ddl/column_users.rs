//! The views that a column of a table cannot be changed or dropped under: those whose queries need it. No record says so: a query is
//! bound as if the column had another name, and needs the column when that fails.

use std::sync::Arc;

use super::described;
use crate::Result;
use crate::catalog::{Catalog, Relation, TableDef, dependents_key};
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
    ctx.txn.guard(&dependents_key(table.oid));
    let Some(known) = ctx.catalog.table_by_oid(table.oid) else {
        return Vec::new();
    };
    let mut without = TableDef::clone(known);
    let Some(at) = without.column_index_by_id(column) else {
        return Vec::new();
    };
    without.columns[at].name = NO_NAME.to_string();
    // What indexes hold of the column goes with it.
    without.remove_indexes(|index| !index.is_plain());
    let mut catalog = Catalog::clone(&ctx.catalog);
    catalog.insert_relation(Relation::Table(Arc::new(without)));
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

/// The views, and those that read them, as an error says what each depends on. `column`: in messages' words.
pub(super) fn lines(
    ctx: &StatementContext,
    column: &str,
    views: &[(&Relation, Option<&Relation>)],
) -> Vec<String> {
    let line = |(view, read): &(&Relation, Option<&Relation>)| {
        let on = read.map_or_else(|| column.to_string(), |read| described(ctx, read));
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
        Some(view) => Err(crate::Error::ColumnUsed {
            by: "a view or rule",
            detail: format!(
                "rule _RETURN on {} depends on column \"{name}\"",
                described(ctx, view)
            ),
        }),
    }
}
