//! DELETE: the rows that the condition finds are removed, a page at a time; only a query that reads the target more than
//! once is read to its end first (see `update`).

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::compute::filter_record_batch;
use futures::{StreamExt, TryStreamExt, stream};
use sqlparser::ast::{self, FromTable, TableWithJoins};

use super::found_rows::{FoundRows, find_rows, scan_metrics, split_page};
use super::insert::reads_table;
use super::kept_rows::KeptRows;
use super::target::Target;
use super::update::first_of_each_key;
use super::{WriteResult, returning};
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::exec::scan::{Demand, scan_batches};
use crate::sql::query::Observation;
use crate::table::{delete_rows, write_schema};
use crate::{Error, Result};

/// How DELETE finds its rows. Errors: as when it runs.
pub(super) async fn plan_reading(
    ctx: &StatementContext,
    delete: &ast::Delete,
) -> Result<(Target, FoundRows)> {
    let target = Target::of_factor(ctx, target_of(delete)?)?;
    let using = delete.using.as_deref().unwrap_or_default();
    let found = find_rows(ctx, &target, Vec::new(), using, delete.selection.as_ref()).await?;
    Ok((target, found))
}

/// Runs DELETE. `observation`: what its reading is counted in.
pub(super) async fn execute(
    ctx: &StatementContext,
    delete: &ast::Delete,
    observation: Option<&Observation>,
) -> Result<WriteResult> {
    let (target, found) = plan_reading(ctx, delete).await?;
    let items = delete.returning.as_deref();
    let using = delete.using.as_deref().unwrap_or_default();
    let (mut deleted, mut returned) = (0, KeptRows::new(ctx));
    match found {
        FoundRows::Path(path) => {
            let projection = columns_needed(&target.table, items.is_some());
            let txn = Arc::clone(&ctx.txn);
            let mut batches = scan_batches(
                txn,
                Arc::new(path),
                projection.clone(),
                Demand::All,
                scan_metrics(observation),
            );
            while let Some(batch) = batches.try_next().await? {
                let whole = widen(&target.table, &projection, &batch)?;
                delete_rows(&ctx.txn, &target.table, &whole, ctx.settings.limits).await?;
                deleted += whole.num_rows();
                if items.is_some() {
                    returned.push(whole)?;
                }
            }
        }
        FoundRows::Query(query) => {
            let selection = delete.selection.as_ref();
            let mut pages = query.run(observation).await?;
            let reads_own_writes = reads_table(ctx, &selection.cloned(), &target.table)
                || reads_table(ctx, &using.to_vec(), &target.table);
            if reads_own_writes {
                let kept = KeptRows::collect(ctx, pages).await?.into_batches();
                pages = stream::iter(kept.into_iter().map(Ok)).boxed();
            }
            let mut seen = HashSet::new();
            while let Some(page) = pages.try_next().await? {
                let (mut found, _) = split_page(&target.table, &page)?;
                if !using.is_empty() {
                    let first = first_of_each_key(ctx, &target.table, &found, &mut seen)?;
                    found = filter_record_batch(&found, &first).map_err(Error::arrow)?;
                }
                if found.num_rows() == 0 {
                    continue;
                }
                delete_rows(&ctx.txn, &target.table, &found, ctx.settings.limits).await?;
                deleted += found.num_rows();
                if items.is_some() {
                    returned.push(found)?;
                }
            }
        }
    }
    let tag = format!("DELETE {deleted}");
    returning::result(ctx, &target, items, returned.into_batches(), tag).await
}

/// The table of DELETE FROM. Errors: 0A000 for MySQL's forms.
pub(super) fn target_of(delete: &ast::Delete) -> Result<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    match from.as_slice() {
        [table] if delete.tables.is_empty() && delete.order_by.is_empty() && delete.limit.is_none() => {
            Ok(table)
        }
        _ => Err(Error::unsupported(
            "this form of DELETE",
            Some("Use DELETE FROM table [USING ...] WHERE ...."),
        )),
    }
}

/// Positions of the columns that must be read: those of keys, or all when they are returned.
fn columns_needed(table: &TableDef, returned: bool) -> Vec<usize> {
    if returned {
        return (0..table.columns.len()).collect();
    }
    let keys = std::iter::once(&table.primary_key).chain(table.kept_indexes());
    let ids: Vec<_> = keys
        .flat_map(|key| key.columns.iter().map(|column| column.column))
        .collect();
    (0..table.columns.len())
        .filter(|&at| ids.contains(&table.columns[at].id))
        .collect()
}

/// The batch with NULLs in the columns that were not read.
fn widen(table: &TableDef, projection: &[usize], batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = table.columns.iter().enumerate().map(|(at, column)| -> ArrayRef {
        match projection.iter().position(|&read| read == at) {
            Some(read) => Arc::clone(batch.column(read)),
            None => new_null_array(&column.ty.arrow_type(), batch.num_rows()),
        }
    });
    RecordBatch::try_new(write_schema(table), columns.collect()).map_err(Error::arrow)
}
