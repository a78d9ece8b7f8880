//! `RowExpressions`: expressions of a write over rows in memory (RETURNING, ON CONFLICT, defaults, generated columns), bound
//! once. Used by every write of this layer.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, sort_to_indices};
use arrow::datatypes::{Field, Int64Type, Schema};
use futures::TryStreamExt;
use sqlparser::ast::{Expr, SelectItem};

use crate::logical::placeholder::Constants;
use crate::operators::row_expressions as rows;
use crate::query::{self, Clause, PlannedQuery, RowQuery, RowRelation};
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::types::{SqlType, take_rows};
use crate::{Error, Result};

/// Expressions over rows in memory with their types.
#[derive(Debug)]
pub(super) struct RowPlan {
    /// The select list's columns.
    pub(super) columns: Vec<OutputColumn>,
    /// The types of `$1` …
    pub(super) parameters: Vec<SqlType>,
    /// What is evaluated.
    pub(super) expressions: Box<rows::RowExpressions>,
}

/// A select list and a condition over rows.
#[derive(Debug)]
pub(super) enum RowExpressions {
    /// They take nothing but the rows.
    Rows(RowPlan),
    /// They take more (subqueries, the catalogs): each run makes a query over its rows.
    Query(Box<QueryOverRows>),
}

/// What is bound again over the rows of each run.
#[derive(Debug)]
pub(super) struct QueryOverRows {
    relations: Vec<RowRelation>,
    items: Vec<SelectItem>,
    selection: Option<Expr>,
    clause: Clause,
    columns: Vec<OutputColumn>,
    parameters: Vec<Option<SqlType>>,
    /// Whether a function is run in it that may write.
    may_write: bool,
}

/// What the rows gave.
pub(super) struct Evaluated {
    /// Which rows (those that the condition kept), rising.
    pub(super) ordinals: Vec<usize>,
    /// The select list, one row a row of `ordinals`.
    pub(super) batch: RecordBatch,
}

impl RowExpressions {
    /// Binds them. `parameters`: as [`query::plan_row_query`].
    pub(super) fn bind(
        ctx: &StatementContext,
        query: RowQuery<'_>,
        parameters: &mut Vec<Option<SqlType>>,
    ) -> Result<RowExpressions> {
        let bound = query::plan_row_query(ctx, query, parameters)?;
        Ok(match row_plan(bound) {
            Ok(plan) => RowExpressions::Rows(plan),
            Err(bound) => RowExpressions::Query(Box::new(QueryOverRows {
                relations: query.relations.to_vec(),
                items: query.items.to_vec(),
                selection: query.selection.cloned(),
                clause: query.clause,
                may_write: query::may_write(&bound.plan),
                columns: bound.columns,
                parameters: parameters.clone(),
            })),
        })
    }

    /// The select list's columns. `Unknown`: an untyped literal, which takes the type of the column it is for.
    pub(super) fn columns(&self) -> &[OutputColumn] {
        match self {
            RowExpressions::Rows(plan) => &plan.columns,
            RowExpressions::Query(query) => &query.columns,
        }
    }

    /// Whether they take more than the rows, and so read while the statement writes.
    pub(super) fn reads_more(&self) -> bool {
        matches!(self, RowExpressions::Query(_))
    }

    /// Whether a function is run in them that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        matches!(self, RowExpressions::Query(query) if query.may_write)
    }

    /// Whether what they give may depend on what was computed before them.
    pub(super) fn act(&self) -> bool {
        match self {
            RowExpressions::Rows(plan) => plan.expressions.acts(),
            RowExpressions::Query(_) => true,
        }
    }

    /// Evaluates them for rows whose columns are those of the relations, side by side. Errors: the expressions'.
    pub(super) async fn evaluate(&self, ctx: &StatementContext, rows: &RecordBatch) -> Result<Evaluated> {
        match self {
            RowExpressions::Rows(plan) => evaluate_plan(ctx, plan, rows),
            RowExpressions::Query(query) => Box::pin(query.evaluate(ctx, rows)).await,
        }
    }
}

fn evaluate_plan(ctx: &StatementContext, plan: &RowPlan, rows: &RecordBatch) -> Result<Evaluated> {
    let constants = Constants::new(ctx, &plan.parameters)?;
    let (kept, batch) = plan.expressions.evaluate(rows, &constants)?;
    let ordinals = match kept {
        Some(kept) => (0..kept.len())
            .filter(|at| kept.is_valid(*at) && kept.value(*at))
            .collect(),
        None => (0..batch.num_rows()).collect(),
    };
    Ok(Evaluated { ordinals, batch })
}

impl QueryOverRows {
    async fn evaluate(&self, ctx: &StatementContext, rows: &RecordBatch) -> Result<Evaluated> {
        let query = RowQuery {
            relations: &self.relations,
            items: &self.items,
            selection: self.selection.as_ref(),
            clause: self.clause,
        };
        let planned = query::plan_numbered(ctx, query, rows, &self.parameters)?;
        let batch = collect(ctx, &planned).await?;
        let sorted = sort_to_indices(batch.column(0), None, None).map_err(Error::arrow)?;
        let batch = take_rows(&batch, &sorted).map_err(Error::arrow)?;
        let numbers = batch.column(0).as_primitive::<Int64Type>().values();
        let ordinals = numbers.iter().map(|at| *at as usize).collect();
        let output: Vec<usize> = (1..batch.num_columns()).collect();
        let batch = batch.project(&output).map_err(Error::arrow)?;
        Ok(Evaluated { ordinals, batch })
    }
}

/// What was bound over rows, ready to be evaluated; as it was when it takes more than the rows.
pub(super) fn row_plan(bound: PlannedQuery) -> Result<RowPlan, Box<PlannedQuery>> {
    let expressions = rows::RowExpressions::of(&bound.plan).filter(|_| !bound.looks_up());
    match expressions {
        None => Err(Box::new(bound)),
        Some(expressions) => Ok(RowPlan {
            columns: bound.columns,
            parameters: bound.parameters,
            expressions: Box::new(expressions),
        }),
    }
}

/// Runs a query and collects its rows into one batch.
async fn collect(ctx: &StatementContext, planned: &PlannedQuery) -> Result<RecordBatch> {
    let batches: Vec<RecordBatch> = query::run_once(&ctx.reading(), planned)
        .await?
        .try_collect()
        .await?;
    let schema = match batches.first() {
        Some(batch) => batch.schema(),
        None => {
            let field = |column: &OutputColumn| column.ty.field(&column.name, true);
            Arc::new(Schema::new(planned.columns.iter().map(field).collect::<Vec<_>>()))
        }
    };
    concat_batches(&schema, &batches).map_err(Error::arrow)
}

/// The columns of several batches, whose rows belong together, as one.
pub(super) fn side_by_side(batches: &[&RecordBatch]) -> Result<RecordBatch> {
    let fields = batches
        .iter()
        .flat_map(|rows| rows.schema_ref().fields().iter().cloned());
    let fields: Vec<Arc<Field>> = fields.collect();
    let columns = batches.iter().flat_map(|rows| rows.columns().iter().cloned());
    let count = batches.first().map(|rows| rows.num_rows());
    let options = RecordBatchOptions::new().with_row_count(count);
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, columns.collect(), &options).map_err(Error::arrow)
}

/// So many rows without columns.
pub(super) fn rows_of_nothing(count: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).map_err(Error::arrow)
}
