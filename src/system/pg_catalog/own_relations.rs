//! The relations of schema `keyspan`: what PostgreSQL has no catalog for. Their rows are of the server as it is now.

use arrow::array::RecordBatch;

use super::relation_rows::{RelationRows, Source, text};
use crate::system::catalog_version::definitions::Definition;

/// Fills a relation's rows.
type Fill = fn(&Source<'_>, &mut RelationRows);

static RELATIONS: &[(&str, Fill)] = &[("trash", trash), ("ttl", expiries)];

/// The rows of a relation.
pub(super) fn batches(source: &Source<'_>, relation: &'static Definition) -> Vec<RecordBatch> {
    let mut rows = RelationRows::new(relation.schema, relation.name, &[]);
    for (_, fill) in RELATIONS.iter().filter(|(name, _)| *name == relation.name) {
        fill(source, &mut rows);
    }
    vec![rows.finish()]
}

/// `keyspan.ttl`: the tables whose rows may be over, what of them is removed, and what waits.
fn expiries(source: &Source<'_>, rows: &mut RelationRows) {
    let ctx = source.ctx;
    let now = ctx.txn.read_time();
    for table in ctx.catalog.tables() {
        let expiry = &table.options.expiry;
        if !expiry.may_be_over() || ctx.is_of_another(&table.schema) {
            continue;
        }
        let figures = ctx.server.expiry.of(table.oid);
        let lag = figures
            .first_over
            .map_or(0, |first| now.saturating_sub(first).max(0));
        rows.push(&[
            ("relid", text(table.oid)),
            ("schemaname", text(&table.schema)),
            ("relname", text(&table.name)),
            ("ttl", expiry.ttl.map(|ttl| ttl.to_string())),
            ("ttl_column", expiry.column.clone()),
            ("waiting", text(figures.waiting)),
            ("removed", text(figures.removed)),
            ("lag", text(lag)),
            ("last_pass", figures.passed.map(|passed| passed.to_string())),
        ]);
    }
}

/// `keyspan.trash`: the tables in the trash.
fn trash(source: &Source<'_>, rows: &mut RelationRows) {
    for trashed in source.ctx.catalog.trash.values() {
        rows.push(&[
            ("id", text(trashed.id)),
            ("schemaname", text(&trashed.schema)),
            ("relname", text(&trashed.name)),
            ("dropped_by", text(trashed.by.statement())),
            ("dropped_at", text(trashed.at)),
            ("kept_until", text(trashed.until)),
            ("estimated_rows", trashed.rows.map(|rows| rows.to_string())),
        ]);
    }
}
