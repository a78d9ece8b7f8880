//! The rows of the target that a general query finds, whole, with expressions over them and the relations beside them.
//! Called by `update` and `delete` for conditions that no access path serves.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use futures::StreamExt;
use futures::stream::BoxStream;
use sqlparser::ast::{self, Expr, SelectItem, TableWithJoins};

use super::evaluate::{column_of, quoted, with_select};
use super::target::Target;
use crate::catalog::{Catalog, Relation, TableDef};
use crate::exec::StatementContext;
use crate::sql::query;
use crate::table::{RowEncoder, write_schema};
use crate::types::SqlType;
use crate::{Error, Result};

/// The schema and name under which the general path finds the target with its hidden columns shown.
const SHOWN_TARGET: (&str, &str) = ("public", "#target");

/// `FROM target AS name`, for [`target_query`]: the target's columns once more.
pub(super) fn target_as(name: &str) -> Result<Vec<TableWithJoins>> {
    let (schema, table) = SHOWN_TARGET;
    let text = format!(
        "SELECT 1 FROM {}.{} AS {}",
        quoted(schema),
        quoted(table),
        quoted(name)
    );
    match *with_select(&text, Vec::new(), None)?.body {
        ast::SetExpr::Select(select) => Ok(select.from),
        _ => Err(Error::internal("a SELECT is one")),
    }
}

/// What [`query_target`] finds.
pub(super) struct QueriedTarget {
    /// The types of the expressions; `Unknown`: an untyped literal, which takes the type of the column it is for.
    pub(super) types: Vec<SqlType>,
    /// For [`split_page`].
    pub(super) pages: BoxStream<'static, Result<RecordBatch>>,
}

/// Runs `SELECT target.*, expressions FROM target, from WHERE selection`.
pub(super) async fn query_target(
    ctx: &StatementContext,
    target: &Target,
    expressions: Vec<Expr>,
    from: &[TableWithJoins],
    selection: Option<&Expr>,
) -> Result<QueriedTarget> {
    let (ctx, query) = target_query(ctx, target, expressions, from, selection)?;
    let planned = query::plan_source(&ctx, &query, &super::super::known_types(&ctx)).await?;
    let pages = query::run_once(&ctx, &planned).await?;
    let columns = planned.columns.into_iter().skip(target.table.columns.len());
    Ok(QueriedTarget {
        types: columns.map(|column| column.ty).collect(),
        pages: pages.boxed(),
    })
}

/// Whole rows of the target, then the arrays of the expressions.
pub(super) fn split_page(table: &TableDef, page: &RecordBatch) -> Result<(RecordBatch, Vec<ArrayRef>)> {
    let (rows, values) = page.columns().split_at(table.columns.len());
    let old = RecordBatch::try_new(write_schema(table), rows.to_vec()).map_err(Error::arrow)?;
    Ok((old, values.to_vec()))
}

/// The query of [`query_target`], and the context in which it finds the target with its hidden columns shown.
pub(super) fn target_query(
    ctx: &StatementContext,
    target: &Target,
    expressions: Vec<Expr>,
    from: &[TableWithJoins],
    selection: Option<&Expr>,
) -> Result<(StatementContext, ast::Query)> {
    let mut shown = TableDef::clone(&target.table);
    shown.columns.iter_mut().for_each(|column| column.hidden = false);
    let columns = shown
        .columns
        .iter()
        .map(|column| column_of(target.name(), &column.name));
    let items = columns.chain(expressions).map(SelectItem::UnnamedExpr).collect();
    let (schema, name) = SHOWN_TARGET;
    let text = format!(
        "SELECT 1 FROM {}.{} AS {}",
        quoted(schema),
        quoted(name),
        quoted(target.name())
    );
    let mut query = with_select(&text, items, selection)?;
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        select.from.extend(from.iter().cloned());
    }
    let mut catalog = Catalog::clone(&ctx.catalog);
    catalog.relations.insert(
        (schema.to_string(), name.to_string()),
        Relation::Table(Arc::new(shown)),
    );
    Ok((
        StatementContext {
            catalog: Arc::new(catalog),
            ..ctx.clone()
        },
        query,
    ))
}

/// Which rows are the first with their key. `seen`: the keys so far; each is written, so the transaction's limit bounds them.
pub(super) fn first_of_each_key(
    ctx: &StatementContext,
    table: &TableDef,
    rows: &RecordBatch,
    seen: &mut HashSet<Vec<u8>>,
) -> Result<BooleanArray> {
    let mut encoder = RowEncoder::new(table, ctx.settings.limits);
    let first = (0..rows.num_rows()).map(|row| Ok(seen.insert(encoder.key(rows, row)?)));
    Ok(BooleanArray::from(first.collect::<Result<Vec<bool>>>()?))
}
