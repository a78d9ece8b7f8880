//! How UPDATE and DELETE find the rows of their table: by an access path when `plan` understands the condition, else by a
//! query. Plans it, for them and for EXPLAIN.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use futures::stream::BoxStream;
use sqlparser::ast::{self, Expr, SelectItem, TableWithJoins};

use super::evaluate::{column_of, quoted, with_select};
use super::target::Target;
use crate::catalog::{Catalog, Relation, TableDef};
use crate::exec::StatementContext;
use crate::exec::scan::ScanMetrics;
use crate::plan::{AccessPath, plan_access};
use crate::sql::query::Observation;
use crate::sql::{predicate, query};
use crate::table::write_schema;
use crate::types::SqlType;
use crate::{Error, Result};

/// The schema and name under which the general path finds the target with its hidden columns shown.
const SHOWN_TARGET: (&str, &str) = ("public", "#target");

/// How the rows of the target are found.
pub(super) enum FoundRows {
    /// By an access path.
    Path(AccessPath),
    /// By a query.
    Query(Box<TargetQuery>),
}

/// `SELECT target.*, expressions FROM target, from WHERE selection`, planned.
pub(super) struct TargetQuery {
    /// What it runs in: there the target shows its hidden columns.
    pub(super) ctx: StatementContext,
    pub(super) planned: query::PlannedQuery,
}

/// How to find the rows of the target that satisfy the condition. Errors: 42703, 53400, 54000 …
pub(super) async fn find_rows(
    ctx: &StatementContext,
    target: &Target,
    expressions: Vec<Expr>,
    from: &[TableWithJoins],
    selection: Option<&Expr>,
) -> Result<FoundRows> {
    if from.is_empty()
        && let Some(path) = access_path(ctx, target, selection)?
    {
        return Ok(FoundRows::Path(path));
    }
    let (ctx, query) = target_query(ctx, target, expressions, from, selection)?;
    let planned = query::plan_source(&ctx, &query, &super::super::known_types(&ctx)).await?;
    Ok(FoundRows::Query(Box::new(TargetQuery { ctx, planned })))
}

impl TargetQuery {
    /// The types of the expressions; `Unknown`: an untyped literal, which takes the type of the column it is for.
    pub(super) fn types(&self, target: &Target) -> Vec<SqlType> {
        let columns = self.planned.columns.iter().skip(target.table.columns.len());
        columns.map(|column| column.ty.clone()).collect()
    }

    /// The rows, for [`split_page`].
    pub(super) async fn run(
        &self,
        observation: Option<&Observation>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        query::run_once_observed(&self.ctx, &self.planned, observation).await
    }
}

/// What the scan of an access path is counted in.
pub(super) fn scan_metrics(observation: Option<&Observation>) -> Arc<ScanMetrics> {
    observation.map_or_else(Arc::default, |observation| {
        Arc::clone(observation.steps().source())
    })
}

/// How to reach the rows of the target that satisfy the condition; `None` when `plan` does not understand it.
/// Errors: 42703, 53400, 54000, those of constants.
fn access_path(
    ctx: &StatementContext,
    target: &Target,
    selection: Option<&Expr>,
) -> Result<Option<AccessPath>> {
    let table = &target.table;
    let condition = selection
        .map(|expr| predicate::from_ast(expr, table, target.alias.as_deref(), ctx))
        .transpose()?;
    if condition.as_ref().is_some_and(|condition| condition.has_opaque()) {
        return Ok(None);
    }
    plan_access(table, condition.as_ref(), &ctx.plan_rules(table)).map(Some)
}

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

/// Whole rows of the target, then the arrays of the expressions.
pub(super) fn split_page(table: &TableDef, page: &RecordBatch) -> Result<(RecordBatch, Vec<ArrayRef>)> {
    let (rows, values) = page.columns().split_at(table.columns.len());
    let old = RecordBatch::try_new(write_schema(table), rows.to_vec()).map_err(Error::arrow)?;
    Ok((old, values.to_vec()))
}

/// The query of [`TargetQuery`], and the context in which it finds the target with its hidden columns shown.
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
