//! The relations of schema `keyspan`: what PostgreSQL has no catalog for. Their rows are of the server as it is now.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::relation_rows::{RelationRows, boolean, text};
use crate::Result;
use crate::catalog::{IndexDef, TableDef, TableRegions};
use crate::codec::KeyRange;
use crate::system::StatementContext;
use crate::system::catalog_version::cells::Cell;
use crate::system::catalog_version::definitions::Definition;
use crate::system::key_advice::key_advice;
use crate::system::region_rates::{RegionRules, region_rates};
use crate::table::bound_text;
use crate::txn::heat::{HeatSlice, IndexHeat};

/// Rows of a batch of the heat, which may be many.
const BATCH_ROWS: usize = 8192;

const MICROS_OF_MINUTE: i64 = 60_000_000;

/// The rows of a relation. Errors: the store's.
pub(super) async fn batches(
    ctx: &StatementContext,
    relation: &'static Definition,
) -> Result<Vec<RecordBatch>> {
    let mut rows = RelationRows::new(relation.schema, relation.name, &[]);
    match relation.name {
        "ttl" => expiries(ctx, &mut rows),
        "trash" => trash(ctx, &mut rows),
        "key_heat" => return Ok(heat(ctx, rows)),
        "regions" => regions(ctx, &mut rows).await?,
        "key_advice" => advice(ctx, &mut rows).await?,
        "refused_statements" => refused(ctx, &mut rows),
        _ => {}
    }
    Ok(vec![rows.finish()])
}

/// The tables that the session may see.
fn tables(ctx: &StatementContext) -> impl Iterator<Item = &Arc<TableDef>> {
    let tables = ctx.catalog.tables();
    tables.filter(|table| !ctx.is_of_another(&table.schema))
}

/// `keyspan.ttl`: the tables whose rows may be over, what of them is removed, and what waits.
fn expiries(ctx: &StatementContext, rows: &mut RelationRows) {
    let now = ctx.txn.read_time();
    for table in tables(ctx) {
        let expiry = &table.options.expiry;
        if !expiry.may_be_over() {
            continue;
        }
        let figures = ctx.server.expiry.of(table.oid);
        let lag = figures
            .first_over
            .map_or(0, |first| now.saturating_sub(first).max(0));
        let own = [
            ("ttl", expiry.ttl.map(|ttl| ttl.to_string())),
            ("ttl_column", expiry.column.clone()),
            ("waiting", text(figures.waiting)),
            ("removed", text(figures.removed)),
            ("lag", text(lag)),
            ("last_pass", figures.passed.map(|passed| passed.to_string())),
        ];
        rows.push(&[&names(table), &own[..]].concat());
    }
}

/// `keyspan.key_heat`: what was read and written of each slice of each key, by minutes.
fn heat(ctx: &StatementContext, mut rows: RelationRows) -> Vec<RecordBatch> {
    let (now, _) = ctx.server.heat.minute();
    let slices = ctx.server.heat.slices();
    let mut batches = Vec::new();
    for index in slices.indexes() {
        let table = tables(ctx).find(|table| table.id == index.id.table);
        let key = table.and_then(|table| {
            let mut keys = table.all_indexes();
            Some((table, keys.find(|key| key.id == index.id.index)?))
        });
        let Some((table, key)) = key else { continue };
        for (at, slice) in index.slices.iter().enumerate() {
            slice_rows(&mut rows, (table, key), (index, at, slice), now);
            if rows.len() >= BATCH_ROWS {
                batches.push(rows.take());
            }
        }
    }
    batches.push(rows.finish());
    batches
}

fn slice_rows(
    rows: &mut RelationRows,
    (table, key): (&TableDef, &IndexDef),
    (index, at, slice): (&IndexHeat, usize, &HeatSlice),
    now: i64,
) {
    let counts = slice.minutes_since(0, now);
    if counts.is_empty() {
        return;
    }
    let start = bound_text(table, key, &slice.start);
    let next = index.slices.get(at + 1);
    let end = next.and_then(|next| bound_text(table, key, &next.start));
    let same = [
        &names(table)[..],
        &[
            ("indexrelname", (key.id != 0).then(|| key.name.clone())),
            ("start_key", start),
            ("end_key", end),
        ],
    ]
    .concat();
    for counts in counts {
        let own = [
            ("minute", text(counts.minute * MICROS_OF_MINUTE)),
            ("reads", text(counts.reads)),
            ("writes", text(counts.writes)),
        ];
        rows.push(&[&same[..], &own].concat());
    }
}

/// `keyspan.regions`: the regions of all tables.
async fn regions(ctx: &StatementContext, rows: &mut RelationRows) -> Result<()> {
    let rules = RegionRules::of(&ctx.settings, &ctx.catalog);
    let known = TableRegions::read_all(&ctx.txn).await?;
    for table in tables(ctx) {
        let own = known.iter().find(|regions| regions.oid == table.oid);
        let regions = match own {
            Some(regions) => regions.clone().fit(table),
            None => TableRegions::of_table(table),
        };
        let ranges = regions.ranges(table);
        let rates = region_rates(&ctx.server.heat, table, &ranges);
        for (at, region) in regions.regions().iter().enumerate() {
            let (start, end) = bounds(table, &ranges[at]);
            let own = [
                ("region", text(region.name())),
                ("place", text(at + 1)),
                ("start_key", start),
                ("end_key", end),
                ("made_by", text(region.origin.word())),
                ("reads_per_second", text(rates[at].reads)),
                ("writes_per_second", text(rates[at].writes)),
                ("hot", boolean(rules.is_hot(rates[at]))),
            ];
            rows.push(&[&names(table), &own[..]].concat());
        }
    }
    Ok(())
}

/// Where a range of a table's rows begins and ends, as SQL writes it.
pub(crate) fn bounds(table: &TableDef, range: &KeyRange) -> (Cell, Cell) {
    let bound = |key: &[u8]| bound_text(table, &table.primary_key, key);
    (bound(&range.start), range.end.as_deref().and_then(bound))
}

/// `keyspan.key_advice`: what is wrong with keys, and what to do.
async fn advice(ctx: &StatementContext, rows: &mut RelationRows) -> Result<()> {
    for finding in key_advice(ctx).await? {
        let own = [
            ("indexrelname", finding.index.clone()),
            ("finding", text(&finding.finding)),
            ("advice", text(&finding.advice)),
            ("ddl", finding.ddl.clone()),
        ];
        rows.push(&[&names(&finding.table), &own[..]].concat());
    }
    Ok(())
}

/// `keyspan.refused_statements`: statements that an index would serve.
fn refused(ctx: &StatementContext, rows: &mut RelationRows) {
    for statement in ctx.server.refused.list() {
        let reads = statement.rows_read > 0;
        rows.push(&[
            ("reason", text(statement.reason.word())),
            ("relname", text(&statement.table)),
            ("count", text(statement.count)),
            ("last_at", text(statement.last)),
            ("rows_read", reads.then(|| statement.rows_read.to_string())),
            ("rows_given", reads.then(|| statement.rows_left.to_string())),
            ("statement", text(&statement.text)),
            ("ddl", statement.index.clone()),
        ]);
    }
}

/// Which table a row is of.
fn names(table: &TableDef) -> [(&'static str, Cell); 3] {
    [
        ("relid", text(table.oid)),
        ("schemaname", text(&table.schema)),
        ("relname", text(&table.name)),
    ]
}

/// `keyspan.trash`: the tables in the trash.
fn trash(ctx: &StatementContext, rows: &mut RelationRows) {
    for trashed in ctx.catalog.trash.values() {
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
