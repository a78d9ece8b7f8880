//! `keyspan_regions(table)`: the regions of a table with what stands in them, as a JSON array: what SHOW REGIONS lists.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use futures::FutureExt;
use serde_json::json;

use super::{Batch, FunctionDef, T};
use crate::catalog::{Relation, TableRegions};
use crate::error::StatementFault;
use crate::system::StatementContext;
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::own_relations::bounds;
use crate::system::region_rates::{RegionRules, region_rates};
use crate::table::range_figures;
use crate::types::{Value, value_at};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[FunctionDef::waiting(
    "keyspan_regions",
    &[T::Regclass],
    T::Json,
    |b, c| regions(b, c).boxed(),
)];

/// An array of objects a row. Errors: 42809 for what is no table, 42P01.
async fn regions(batch: &Batch<'_>, catalog: &CatalogContext) -> Result<ArrayRef> {
    let mut texts = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        texts.push(match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Int(oid) => Some(regions_of(catalog, oid).await?),
            _ => None,
        });
    }
    Ok(Arc::new(StringArray::from(texts)))
}

async fn regions_of(catalog: &CatalogContext, oid: i64) -> Result<String> {
    let ctx = catalog.statement();
    let relation = u32::try_from(oid).ok().and_then(|oid| ctx.relation_by_oid(oid));
    let Some(Relation::Table(table)) = relation else {
        return Err(no_table(ctx, catalog, oid));
    };
    let regions = TableRegions::read(&ctx.txn, table).await?;
    let ranges = regions.ranges(table);
    let figures = range_figures(&ctx.txn, table, &ranges).await?;
    let rates = region_rates(&ctx.server.heat, table, &ranges);
    let rules = RegionRules::of(&ctx.settings, &ctx.catalog);
    let regions = regions.regions().iter().enumerate().map(|(at, region)| {
        let (start, end) = bounds(table, &ranges[at]);
        json!({
            "place": at + 1,
            "region": region.name(),
            "start_key": start,
            "end_key": end,
            "rows": figures[at].rows,
            "bytes": figures[at].bytes,
            "reads": rates[at].reads,
            "writes": rates[at].writes,
            "hot": rules.is_hot(rates[at]),
            "made_by": region.origin.word(),
        })
    });
    Ok(serde_json::Value::Array(regions.collect()).to_string())
}

fn no_table(ctx: &StatementContext, catalog: &CatalogContext, oid: i64) -> Error {
    let name = catalog
        .objects()
        .relation_display_name(oid, &ctx.settings.search_path);
    let name = name.unwrap_or_else(|| oid.to_string());
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message: format!("\"{name}\" is not a table"),
        hint: None,
    }
}
