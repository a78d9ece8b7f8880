//! Expressions of a write, evaluated by `query` over rows in memory: RETURNING, SET, ON CONFLICT, defaults.
//!
//! The rows become relations of the query that have no name in the catalog; each has a column `#` that counts them, so
//! that results come back in the order of the rows whatever the plan does.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{Field, Int64Type, Schema, SchemaRef};
use futures::TryStreamExt;
use sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr};

use crate::exec::placeholder::Constants;
use crate::exec::short::RowExpressions;
use crate::exec::{OutputColumn, RowPlan, RowSite, StatementContext};
use crate::parse;
use crate::query::{self, PlannedQuery};
use crate::types::SqlType;
use crate::{Error, Result};

/// The column that counts the rows of a relation in memory.
const ORDINAL: &str = "#";

/// Rows that a query may read under a name.
pub(super) struct Rows {
    /// The name expressions know them by.
    pub(super) name: String,
    /// Their columns; several relations of one query have equally many rows, which belong together.
    pub(super) batch: RecordBatch,
}

/// What a query over rows gave.
pub(super) struct Evaluated {
    /// Which rows (those that the condition kept), rising.
    pub(super) ordinals: Vec<usize>,
    /// The columns of `batch`.
    pub(super) columns: Vec<OutputColumn>,
    /// One row a row of `ordinals`.
    pub(super) batch: RecordBatch,
}

/// Evaluates a select list for every row that satisfies the condition. `site`: where the statement has it.
pub(super) async fn evaluate(
    ctx: &StatementContext,
    site: RowSite,
    relations: Vec<Rows>,
    items: Vec<SelectItem>,
    selection: Option<&Expr>,
) -> Result<Evaluated> {
    let Some(plan) = row_plan(ctx, site, &relations, &items, selection).await? else {
        return evaluate_query(ctx, relations, items, selection).await;
    };
    let batches: Vec<&RecordBatch> = relations.iter().map(|rows| &rows.batch).collect();
    let (kept, batch) = plan.evaluate(&Constants::new(ctx, &plan.parameters)?, &batches)?;
    let ordinals = match kept {
        Some(kept) => (0..kept.len())
            .filter(|at| kept.is_valid(*at) && kept.value(*at))
            .collect(),
        None => (0..batch.num_rows()).collect(),
    };
    Ok(Evaluated {
        ordinals,
        columns: plan.columns.clone(),
        batch,
    })
}

/// The expressions planned over the rows alone; `None` when they take more: subqueries, the catalogs.
async fn row_plan(
    ctx: &StatementContext,
    site: RowSite,
    relations: &[Rows],
    items: &[SelectItem],
    selection: Option<&Expr>,
) -> Result<Option<Arc<RowPlan>>> {
    let batches: Vec<&RecordBatch> = relations.iter().map(|rows| &rows.batch).collect();
    let kept = ctx.row_plans.get(ctx.plan_basis(), site);
    if let Some(plan) = kept.filter(|plan| plan.fits(&ctx.parameter_types, &batches)) {
        return Ok(Some(plan));
    }
    let named = relations
        .iter()
        .map(|rows| (rows.name.as_str(), rows.batch.schema()));
    let named: Vec<_> = named.collect();
    let plan = plan_over(&named, bind_over(ctx, &named, items, selection)?);
    Ok(plan.map(|plan| {
        let plan = Arc::new(plan);
        ctx.row_plans.set(ctx.plan_basis(), site, &plan);
        plan
    }))
}

/// A select list and a condition over relations of these names and columns.
pub(super) fn bind_over(
    ctx: &StatementContext,
    relations: &[(&str, SchemaRef)],
    items: &[SelectItem],
    selection: Option<&Expr>,
) -> Result<PlannedQuery> {
    let mut transient = BTreeMap::new();
    let mut from = Vec::new();
    for (number, (name, schema)) in relations.iter().enumerate() {
        let relation = format!("#{number}");
        from.push(format!("{} AS {}", quoted(&relation), quoted(name)));
        transient.insert(relation, RecordBatch::new_empty(Arc::clone(schema)));
    }
    let text = format!("SELECT 1 FROM {}", from.join(" CROSS JOIN "));
    let query = with_select(&text, items.to_vec(), selection)?;
    let over = StatementContext {
        transient: Arc::new(transient),
        ..ctx.clone()
    };
    query::plan_source(&over, &query, &query::known_types(ctx))
}

/// What was bound over the relations, ready to be evaluated; `None` when it takes more than their rows.
pub(super) fn plan_over(relations: &[(&str, SchemaRef)], bound: PlannedQuery) -> Option<RowPlan> {
    let expressions = RowExpressions::of(&bound.plan).filter(|_| !bound.looks_up())?;
    Some(RowPlan {
        relations: relations.iter().map(|(_, schema)| Arc::clone(schema)).collect(),
        columns: bound.columns,
        parameters: bound.parameters,
        expressions: Box::new(expressions),
    })
}

/// The same by a query over the rows.
async fn evaluate_query(
    ctx: &StatementContext,
    relations: Vec<Rows>,
    items: Vec<SelectItem>,
    selection: Option<&Expr>,
) -> Result<Evaluated> {
    let (ctx, query) = over_rows(ctx, relations, items, selection)?;
    let (columns, batch) = run(&ctx, &query).await?;
    let sorted = sort_to_indices(batch.column(0), None, None).map_err(Error::arrow)?;
    let batch = take_record_batch(&batch, &sorted).map_err(Error::arrow)?;
    let ordinals = batch
        .column(0)
        .as_primitive::<Int64Type>()
        .values()
        .iter()
        .map(|at| *at as usize)
        .collect();
    let output: Vec<usize> = (1..batch.num_columns()).collect();
    Ok(Evaluated {
        ordinals,
        columns: columns.into_iter().skip(1).collect(),
        batch: batch.project(&output).map_err(Error::arrow)?,
    })
}

/// The types that a select list gives for rows like these, known before there is one.
pub(super) async fn output_types(
    ctx: &StatementContext,
    site: RowSite,
    relations: Vec<Rows>,
    items: Vec<SelectItem>,
    selection: Option<&Expr>,
) -> Result<Vec<SqlType>> {
    let types = |columns: &[OutputColumn]| columns.iter().map(|column| column.ty.clone()).collect();
    if let Some(row_plan) = row_plan(ctx, site, &relations, &items, selection).await? {
        return Ok(types(&row_plan.columns));
    }
    let (columns, _) = plan(ctx, relations, items, selection, &query::known_types(ctx)).await?;
    Ok(types(&columns))
}

/// The columns that a select list over rows would give, and the types of the parameters in it.
pub(super) async fn plan(
    ctx: &StatementContext,
    relations: Vec<Rows>,
    items: Vec<SelectItem>,
    selection: Option<&Expr>,
    parameters: &[Option<SqlType>],
) -> Result<(Vec<OutputColumn>, Vec<SqlType>)> {
    let (ctx, query) = over_rows(ctx, relations, items, selection)?;
    let planned = query::plan_query(&ctx, &query, parameters)?;
    Ok((planned.columns.into_iter().skip(1).collect(), planned.parameters))
}

/// Runs a query and collects its rows into one batch. Untyped literals stay `Unknown`: they take the type of the column
/// they are for.
pub(super) async fn run(ctx: &StatementContext, query: &Query) -> Result<(Vec<OutputColumn>, RecordBatch)> {
    let planned = query::plan_source(ctx, query, &query::known_types(ctx))?;
    let batches: Vec<RecordBatch> = query::run_once(ctx, &planned).await?.try_collect().await?;
    let schema = match batches.first() {
        Some(batch) => batch.schema(),
        None => Arc::new(Schema::new(
            planned
                .columns
                .iter()
                .map(|column| column.ty.field(&column.name, true))
                .collect::<Vec<_>>(),
        )),
    };
    Ok((
        planned.columns,
        concat_batches(&schema, &batches).map_err(Error::arrow)?,
    ))
}

/// `SELECT items`.
pub(crate) fn select_of(items: Vec<SelectItem>) -> Result<Query> {
    with_select("SELECT 1", items, None)
}

/// Reads an expression that the catalog keeps as text. Errors: `Corrupt`.
pub(crate) fn parse_expression(sql: &str) -> Result<Expr> {
    let parsed = parse::parse_expression(sql);
    parsed.map_err(|error| Error::Corrupt {
        what: format!("expression {sql}"),
        reason: error.to_string(),
    })
}

/// A query written as text, with its select list and condition put in.
pub(crate) fn with_select(text: &str, items: Vec<SelectItem>, selection: Option<&Expr>) -> Result<Query> {
    let fault = || Error::internal(format!("no SELECT: {text}"));
    let mut query = parse::parse_query(text).map_err(|_| fault())?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(fault());
    };
    select.projection = items;
    select.selection = selection.cloned();
    Ok(*query)
}

/// An identifier in quotes.
pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// `"relation"."column"`.
pub(super) fn column_of(relation: &str, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(relation), quoted(column)])
}

/// The query `SELECT #, items FROM rows …` and the context in which the rows have names.
fn over_rows(
    ctx: &StatementContext,
    relations: Vec<Rows>,
    items: Vec<SelectItem>,
    selection: Option<&Expr>,
) -> Result<(StatementContext, Query)> {
    let mut text = "SELECT 1 FROM ".to_string();
    let mut transient = BTreeMap::new();
    let mut first: Option<String> = None;
    for (number, Rows { name, batch }) in relations.into_iter().enumerate() {
        let relation = format!("#{number}");
        let join = match &first {
            None => format!("{} AS {}", quoted(&relation), quoted(&name)),
            Some(first) => format!(
                " JOIN {} AS {} ON {} = {}",
                quoted(&relation),
                quoted(&name),
                column_of(first, ORDINAL),
                column_of(&name, ORDINAL)
            ),
        };
        text.push_str(&join);
        transient.insert(relation, with_row_numbers(&batch)?);
        first.get_or_insert(name);
    }
    let first = first.ok_or_else(|| Error::internal("no rows to evaluate over"))?;
    let mut all_items = vec![SelectItem::UnnamedExpr(column_of(&first, ORDINAL))];
    all_items.extend(items);
    let query = with_select(&text, all_items, selection)?;
    Ok((
        StatementContext {
            transient: Arc::new(transient),
            ..ctx.clone()
        },
        query,
    ))
}

/// The batch with the column that counts its rows.
fn with_row_numbers(batch: &RecordBatch) -> Result<RecordBatch> {
    let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
    fields.push(Arc::new(SqlType::Int8.field(ORDINAL, false)));
    let counter: ArrayRef = Arc::new(Int64Array::from_iter_values(0..batch.num_rows() as i64));
    let columns = batch.columns().iter().cloned().chain([counter]).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::arrow)
}
