//! Queries bound: joins, aggregates, expressions, CTEs, windows, subqueries, set operations, VALUES. Called by the
//! statements of `sql`, of which it knows none.
//!
//! `binder` and its sibling files turn the parser's tree into a logical plan with PostgreSQL's names, types and errors;
//! `logical::rewrite` rewrites it, and `operators` runs it. The binder decides every type itself: none is coerced later.

mod accumulation;
mod aggregate;
mod aggregate_join;
mod arithmetic;
mod array_assignment;
mod array_value;
mod binder;
mod bit_aggregate;
mod bound;
mod branch_parameters;
mod branches;
mod call_clauses;
mod call_text;
mod calls;
mod case_text;
mod catalog_operators;
mod cell;
mod clause;
mod coercion;
mod column_name;
mod common_rows;
mod composite_text;
mod condition;
mod condition_text;
mod conditional;
mod constant;
mod context_value;
mod correlation_bound;
mod cte_materialization;
mod current_row;
mod cursor_plan;
mod decorrelation;
mod distinct_arguments;
mod distinct_on;
mod domain;
mod dynamic_columns;
mod experience;
mod expression;
mod extremum;
mod finish;
mod folding;
mod from;
mod from_item;
mod from_list;
mod from_text;
mod function_call;
mod function_call_text;
mod function_syntax;
mod function_syntax_text;
mod generic_plans;
mod group_items;
mod group_value;
mod grouping;
mod hypothetical_set;
mod implied_conditions;
mod indexed_column;
mod indexed_expressions;
mod input_order;
mod join;
mod join_hint;
mod lateral_join;
mod limit;
mod literal;
mod literal_pins;
mod lock_scope;
mod membership_text;
mod moment;
mod named_arguments;
mod null_operands;
mod once;
mod operator;
mod operator_call;
mod ordered_set;
mod outer_aggregate;
mod outer_join;
mod overload;
mod parameter_types;
mod partitioned_table;
mod past;
mod period;
mod plan;
mod plan_locks;
mod printed;
mod printed_conditions;
mod printed_names;
mod printed_query;
mod prior;
mod procedure_call;
mod query_body;
mod query_layout;
mod query_text;
mod range_type;
mod reads_again;
mod record_function;
mod record_value;
mod recursion;
mod recursion_form;
mod repeated_subqueries;
mod result_columns;
mod routine_arguments;
mod routine_body;
mod routine_call;
mod routine_inline;
mod routine_rows;
mod row_expression_text;
mod row_keys;
mod row_locks;
mod row_origin;
mod row_query;
mod row_subquery;
mod same_rows;
mod scope;
mod search_cycle;
mod select;
mod select_item;
mod select_text;
mod sequence_row;
mod set_returning;
mod set_rows;
mod string_agg;
mod subquery;
mod subquery_operands;
mod system_column;
mod table_function;
mod table_sample;
mod target_rows;
pub(crate) mod type_name;
mod undefined_function;
mod user_aggregate;
mod user_cast;
mod values;
mod variable;
mod variadic;
mod whole_row;
mod window;
mod window_calls;
mod window_clauses;
mod window_frame;
mod with_name;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use sqlparser::ast;

use crate::Result;
use crate::logical::limit_counts::check_limits;
use crate::logical::placeholder::Constants;
use crate::logical::rewrite::unasked::without_unasked;
use crate::operators::Operator;
use crate::operators::observer::observe;
use crate::operators::planner;
use crate::operators::planning::Planning;
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::system::datafusion_error::from_panic;
use crate::system::query_threads::{self, on_query_threads};
use crate::tree::Plan;
use crate::types::SqlType;
#[cfg(test)]
pub(crate) use aggregate::aggregate_names;
pub(crate) use aggregate::is_aggregate;
pub(crate) use array_assignment::{no_fields, no_such_field};
pub(crate) use binder::Clause;
use binder::{Binder, BoundQuery};
use bound::is_stored;
pub(crate) use cell::{BoundCell, bind_cells, constant, stored_constant};
pub(crate) use coercion::{base, common_type, is_assignable, is_readable};
pub(crate) use column_name::index_column_name;
pub(crate) use constant::{Constant, literal};
pub(crate) use context_value::names_context_value;
pub(crate) use cte_materialization::mentions;
pub(crate) use cursor_plan::{CursorPlan, CursorRows};
pub(crate) use domain::{
    check_domain_condition, condition_of_value, domain_condition_text, pinned_domain_condition,
};
pub(crate) use experience::Experience;
pub(crate) use function_call::is_bounded_call;
pub(crate) use indexed_expressions::{index_condition, second_follows};
use join_hint::with_join_hint;
pub(crate) use literal::warn_of_digits;
use null_operands::fold_null_operands;
pub(crate) use parameter_types::known_types;
pub(crate) use plan::{Observation, QueryPlan, may_write};
pub(crate) use procedure_call::{plan_procedure_call, procedure_outputs};
pub(crate) use query_text::{pinned_query, query_text};
pub(crate) use routine_body::RoutineBody;
pub(crate) use routine_call::{concrete as concrete_type, described as described_routine, wrong_result};
pub(crate) use row_expression_text::{
    condition_of_relations, condition_text, default_text, generation_text, null_text, pinned_assigned,
    pinned_condition,
};
pub(crate) use row_keys::RowKey;
pub(crate) use row_query::{RowColumn, RowQuery, RowRelation, plan_numbered, plan_row_query, written_marks};
pub(crate) use target_rows::{FoundPlan, MergeSource, Others, TargetRows, plan_target_rows, view_types};
pub(crate) use user_aggregate::{aggregate_type, example_of};
pub(crate) use window::WINDOW_FUNCTIONS;
pub(crate) use with_name::{rename, repeated_name};

/// A query that is planned (logically) and may be run. It stays right as long as the catalog, `search_path` and
/// `TimeZone` are those it was planned with.
#[derive(Debug, Clone)]
pub struct PlannedQuery {
    /// The result's columns, with PostgreSQL's names and types.
    pub columns: Vec<OutputColumn>,
    /// The types of `$1` …
    pub parameters: Vec<SqlType>,
    /// The logical plan, before it is rewritten; placeholders still in it.
    pub plan: Plan,
    /// The records of the views that its names lead through.
    pub views: Arc<[Vec<u8>]>,
}

impl PlannedQuery {
    /// Whether a parameter may be the name of an object, which is looked up when the query runs.
    pub(crate) fn looks_up(&self) -> bool {
        self.parameters.iter().any(|ty| ty.object_kind().is_some())
    }
}

/// Plans a query against the context's catalog. `parameters`: the types the client gave (`None`: to be inferred).
/// Errors: PostgreSQL's for unknown names, types, misplaced aggregates …
pub fn plan_query(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
) -> Result<PlannedQuery> {
    without_panic(|| bind_as(ctx, query, parameters, (SqlType::Text, true)))
}

/// Plans the query that an INSERT takes its rows from: string literals of its select list that have no type of their own
/// are left to the columns.
pub(crate) fn plan_source(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
) -> Result<PlannedQuery> {
    without_panic(|| bind_as(ctx, query, parameters, (SqlType::Unknown, false)))
}

/// The types of the parameters that are known, and of those that a query gives one: `None` for all others, and where it does not bind.
pub(crate) fn parameters_of(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
) -> Vec<Option<SqlType>> {
    let bound = without_panic(|| {
        let mut binder = Binder::new(ctx, parameters);
        binder.chooses = true;
        binder.query(query, None)?;
        Ok(binder.parameters)
    });
    bound.unwrap_or_else(|_| parameters.to_vec())
}

/// Plans the query whose rows a new table keeps: its columns are of the types that the table's are to be.
pub(crate) fn plan_kept(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
) -> Result<PlannedQuery> {
    without_panic(|| bind_as(ctx, query, parameters, (SqlType::Text, false)))
}

/// What binding gives; a panic in it is the statement's error alone.
fn without_panic<T>(bind: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(AssertUnwindSafe(bind)).unwrap_or_else(|panic| Err(from_panic(&*panic)))
}

/// Binds a query whose string literals of no type leave it as `untyped`, and oids that name objects as the names if they are `shown`.
fn bind_as(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
    (untyped, shown): (SqlType, bool),
) -> Result<PlannedQuery> {
    let mut binder = Binder::new(ctx, parameters);
    // Only the source of a write leaves literals open.
    binder.chooses = untyped != SqlType::Text;
    let bound = binder
        .query(query, None)
        .and_then(|bound| match shown {
            true => binder.with_output_types(bound),
            false => Ok(bound),
        })
        .map_err(|error| binder.at_its_place(error))?;
    planned(binder, bound, untyped)
}

/// A bound query with what its binder found out. String literals of no type leave it as `untyped`.
fn planned(binder: Binder<'_>, bound: BoundQuery, untyped: SqlType) -> Result<PlannedQuery> {
    let columns = bound
        .columns
        .into_iter()
        .map(|column| {
            let is_unwritten = column.is_of_unwritten();
            let (table_oid, attribute) = column.origin.filter(is_stored).unwrap_or((0, 0));
            let ty = match column.ty {
                SqlType::Unknown => untyped.clone(),
                SqlType::Void => SqlType::Text,
                ty => ty,
            };
            OutputColumn {
                name: column.name,
                ty,
                table_oid,
                attribute,
                is_declared: column.is_declared,
                is_unwritten,
            }
        })
        .collect();
    let views = binder.ctx.named_views().into();
    let parameters = binder
        .parameters
        .into_iter()
        .map(|ty| ty.unwrap_or(SqlType::Text))
        .collect();
    Ok(PlannedQuery {
        columns,
        parameters,
        plan: without_unasked(fold_null_operands(bound.plan)?)?,
        views,
    })
}

/// A stream of result batches; dropping it stops the work behind it.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// Runs it once, as a short statement if it is one: see [`run_query`].
pub async fn run_once(ctx: &StatementContext, query: &PlannedQuery) -> Result<BatchStream> {
    run_once_observed(ctx, query, None).await
}

/// The same, counted in the observation if there is one.
pub(crate) async fn run_once_observed(
    ctx: &StatementContext,
    query: &PlannedQuery,
    observation: Option<&Observation>,
) -> Result<BatchStream> {
    let rows = QueryPlan::new(query.clone())
        .run_observed(ctx, observation)
        .await?;
    Ok(rows.map(|rows| rows?.into_batch()).boxed())
}

/// Runs it by the general plan with the context's parameters, in its transaction. The stream's batches have exactly
/// `columns`' Arrow types. It is rewritten and computed on the query threads; no rows before the first poll. Dropping the
/// stream stops the work. `observed`: where to leave the plan, whose nodes then count what they do.
pub(crate) async fn run_query(
    ctx: &StatementContext,
    query: &PlannedQuery,
    observed: Option<Arc<OnceLock<Operator>>>,
) -> Result<BatchStream> {
    let goes_by_row = ctx.hints.may_end && may_write(&query.plan);
    let (ctx, query) = (ctx.clone(), query.clone());
    let started = AssertUnwindSafe(Box::pin(start(ctx, query, observed))).catch_unwind();
    let batches =
        query_threads::run(async { started.await.unwrap_or_else(|panic| Err(from_panic(&*panic))) }).await?;
    Ok(match goes_by_row {
        true => query_threads::piece_by_piece(batches),
        false => on_query_threads(batches),
    })
}

async fn start(
    ctx: StatementContext,
    query: PlannedQuery,
    observed: Option<Arc<OnceLock<Operator>>>,
) -> Result<BatchStream> {
    let (mut physical, planning) = physical_plan(&ctx, &query).await?;
    if let Some(observed) = observed {
        physical = observe(physical)?;
        // Each observation is of one run.
        let _ = observed.set(Arc::clone(&physical));
    }
    planning.run(physical)
}

/// The general plan with the context's parameters, and what it runs in. Errors: those of planning the access.
pub(crate) async fn physical_plan(
    ctx: &StatementContext,
    query: &PlannedQuery,
) -> Result<(Operator, Planning)> {
    let planned = AssertUnwindSafe(async {
        let constants = Constants::new(ctx, &query.parameters)?;
        let plan = constants.replace_in_plan(query.plan.clone())?;
        check_limits(&plan, &constants)?;
        let planning = planner::planning(ctx)?;
        let physical = planner::physical_plan(&planning, &plan).await;
        let physical = physical.map_err(|error| with_join_hint(error, &plan))?;
        Ok((physical, planning))
    });
    planned
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(from_panic(&*panic)))
}
