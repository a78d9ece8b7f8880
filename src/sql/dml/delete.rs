//! DELETE: the rows that the condition finds are removed, a page at a time; only a query that reads the target more than
//! once is read to its end first (see `update`).

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use futures::TryStreamExt;
use sqlparser::ast::{self, Expr, FromTable, TableWithJoins};

use super::found_rows::{Finding, split_page};
use super::joined::JoinedRelations;
use super::kept_rows::KeptRows;
use super::target::Target;
use super::update::FirstOfEachKey;
use super::{WriteResult, returning};
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::exec::plan_cache::PlanCache;
use crate::query::{Observation, QueryPlan};
use crate::table::{delete_rows, write_schema};
use crate::{Error, Result};

/// Runs DELETE. How its rows are found is kept with the statement, and counted if somebody observes.
pub(super) async fn execute(
    ctx: &StatementContext,
    delete: &ast::Delete,
    (cache, observation): (&PlanCache<QueryPlan>, Option<&Observation>),
) -> Result<WriteResult> {
    let target = Target::of_factor(ctx, target_of(delete)?)?;
    let items = delete.returning.as_deref();
    let from = delete.using.as_deref().unwrap_or_default();
    let joined = JoinedRelations::of(ctx, &target, items, from)?;
    let beside = joined.columns();
    let expressions: Vec<&Expr> = beside.iter().collect();
    let columns = columns_needed(&target.table, items.is_some());
    let finding = finding(&target, &columns, delete).computing(&expressions);
    let mut pages = finding.find(ctx, cache, observation, false).await?.pages;
    let (mut deleted, mut returned) = (0, KeptRows::new(ctx));
    let mut first = FirstOfEachKey::new(&target.table, ctx);
    while let Some(page) = pages.try_next().await? {
        let (read, beside) = split_page(&page, columns.len());
        let mut found = widen(&target.table, &columns, read, page.num_rows())?;
        let mut beside = beside.to_vec();
        if !finding.from.is_empty() {
            (found, beside) = first.take_unseen_rows(&found, &beside)?;
        }
        if found.num_rows() == 0 {
            continue;
        }
        delete_rows(&ctx.txn, &target.table, &found, ctx.settings.limits).await?;
        deleted += found.num_rows();
        if items.is_some() {
            returned.push(joined.append_joined(found, beside)?)?;
        }
    }
    let tag = format!("DELETE {deleted}");
    returning::result(ctx, (&target, &joined), items, returned.into_batches(), tag).await
}

/// How the rows of a DELETE are found. Errors: those of planning.
pub(super) fn plan(ctx: &StatementContext, delete: &ast::Delete) -> Result<(Target, Arc<QueryPlan>)> {
    let target = Target::of_factor(ctx, target_of(delete)?)?;
    let columns = columns_needed(&target.table, delete.returning.is_some());
    let plan = finding(&target, &columns, delete).plan(ctx, &PlanCache::default())?;
    Ok((target, plan))
}

/// Where a DELETE finds its rows.
pub(super) fn finding<'a>(target: &'a Target, columns: &'a [usize], delete: &'a ast::Delete) -> Finding<'a> {
    Finding {
        target,
        columns,
        expressions: &[],
        from: delete.using.as_deref().unwrap_or_default(),
        selection: delete.selection.as_ref(),
    }
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
    let ids = table.columns_of_keys();
    (0..table.columns.len())
        .filter(|&at| ids.contains(&table.columns[at].id))
        .collect()
}

/// Whole rows, with NULLs in the columns that were not read.
fn widen(table: &TableDef, projection: &[usize], read: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
    let columns = table.columns.iter().enumerate().map(|(at, column)| -> ArrayRef {
        match projection.iter().position(|&read_at| read_at == at) {
            Some(at) => Arc::clone(&read[at]),
            None => new_null_array(&column.ty.arrow_type(), rows),
        }
    });
    RecordBatch::try_new(write_schema(table), columns.collect()).map_err(Error::arrow)
}
