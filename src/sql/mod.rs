//! Text to statement: dialect, names resolved against our catalog, DDL, DML, hints; SELECTs by the direct path or by
//! DataFusion. Knows nothing of sockets.

mod column_name;
mod column_type;
pub mod command;
mod command_reader;
mod comment;
mod condition_text;
mod constant;
pub mod ddl;
mod direct;
mod distinct;
pub mod dml;
mod effort;
mod explain;
mod grammar;
mod infer;
mod kind;
mod names;
mod nesting;
mod operand;
mod parameters;
mod pattern;
mod position;
mod predicate;
pub mod query;
mod row_assignment;
mod statement;
mod symmetric;
#[cfg(test)]
mod testing;
mod text_place;
mod tokens;
mod type_name;
mod unwritten;
mod with_write;

use std::sync::Arc;

use sqlparser::ast;

use crate::exec::plan_cache::PlanCache;
use crate::exec::query_threads;
use crate::exec::{OutputColumn, RowsStream, StatementContext};
use crate::types::{SqlType, Value};
use crate::{Error, Result};
use direct::{DirectSelect, Shape};
pub use effort::{PARAMETER_BYTES_MAX, is_quick_to_read};
pub use kind::StatementKind;
use query::QueryPlan;
pub use statement::{Statement, parse};

/// What executing a statement gives.
pub enum Outcome {
    /// A result that streams; the command tag is `SELECT n` with the rows counted as they leave.
    Rows {
        columns: Arc<[OutputColumn]>,
        stream: RowsStream,
    },
    /// A write that is done (not yet committed): its tag (`INSERT 0 3`) and the rows of RETURNING, if it has one.
    Written(dml::WriteResult),
    /// A statement without rows that is done: its tag (`CREATE TABLE`).
    Done { tag: String },
}

/// What Describe tells of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The types of `$1` …
    pub parameters: Vec<SqlType>,
    /// The result's columns; `None` for a statement without rows.
    pub columns: Option<Arc<[OutputColumn]>>,
}

/// Runs any statement but transaction control, SET, SHOW, PREPARE and the like, which are the session's.
/// What may compute for long does so on the query threads, and a write that is dropped there is one of `ctx.jobs`.
pub async fn execute(ctx: &StatementContext, statement: &Arc<Statement>) -> Result<Outcome> {
    match statement.effort.is_bounded(ctx) {
        true => execute_here(ctx, statement).await,
        false => Box::pin(execute_apart(ctx.clone(), Arc::clone(statement))).await,
    }
}

/// Runs a statement on the query threads; the rows of its result are computed there too.
async fn execute_apart(ctx: StatementContext, statement: Arc<Statement>) -> Result<Outcome> {
    let jobs = Arc::clone(&ctx.jobs);
    let writes = statement.kind.write().is_some();
    let work = async move { execute_here(&ctx, &statement).await };
    let outcome = match writes {
        true => jobs.run_on_query_threads(work).await?,
        false => query_threads::run(work).await?,
    };
    Ok(match outcome {
        Outcome::Rows { columns, stream } => Outcome::Rows {
            columns,
            stream: query_threads::on_query_threads(stream),
        },
        done => done,
    })
}

async fn execute_here(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    if let Some(plan) = statement.plan.get(ctx).filter(|plan| plan.fits(ctx)) {
        return run_plan(ctx, &plan)
            .await
            .map_err(|error| statement.locate(error));
    }
    let direct = match &statement.ast {
        ast::Statement::Query(query) => direct_select(ctx, query, Some(&statement.shape)),
        _ => Ok(None),
    };
    let unknown = match direct {
        Ok(Some(outcome)) => return Ok(outcome),
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let executed = match unknown {
        Some(error) if error.sqlstate() != "42703" => Err(error),
        // On the heap, so that the future of a keyed read, which moves through every layer above, stays small.
        unknown => Box::pin(execute_planned(ctx, statement, unknown)).await,
    };
    executed.map_err(|error| statement.locate(error))
}

/// Runs what the direct path does not. `unknown`: the column that it did not find, which perhaps nobody has written yet.
async fn execute_planned(
    ctx: &StatementContext,
    statement: &Statement,
    unknown: Option<Error>,
) -> Result<Outcome> {
    let resolved = unwritten::resolve(ctx, &statement.ast).map(|ast| Statement {
        ast,
        ..statement.clone()
    });
    if resolved.is_none()
        && let Some(unknown) = unknown
    {
        return Err(unknown);
    }
    let is_resolved = resolved.is_some();
    let statement = resolved.as_ref().unwrap_or(statement);
    match &statement.ast {
        ast::Statement::Query(query) => {
            if is_resolved && let Some(outcome) = direct_select(ctx, query, None)? {
                return Ok(outcome);
            }
            match Box::pin(ddl::select_into(ctx, query)).await? {
                Some(tag) => Ok(Outcome::Done { tag }),
                None => {
                    let plan = plan_select(ctx, query, &known_types(ctx), &statement.plan).await?;
                    run_plan(ctx, &plan).await
                }
            }
        }
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
            Ok(Outcome::Written(dml::execute(ctx, statement).await?))
        }
        ast::Statement::Explain { .. } => Box::pin(explain::execute(ctx, statement)).await,
        _ => Ok(Outcome::Done {
            tag: ddl::execute(ctx, statement).await?,
        }),
    }
}

/// Runs a query by the direct path; `None` when it is none of its shape. `cache`: what the query's statement keeps.
fn direct_select(
    ctx: &StatementContext,
    query: &ast::Query,
    cache: Option<&PlanCache<Shape>>,
) -> Result<Option<Outcome>> {
    let Some(select) = DirectSelect::from_query(ctx, query, cache) else {
        return Ok(None);
    };
    let plan = select.plan(ctx)?;
    Ok(plan.map(|plan| Outcome::Rows {
        columns: select.columns(),
        stream: plan.run(ctx, Arc::default()),
    }))
}

/// Plans a query by the general path. `cache`: what the query's statement keeps.
async fn plan_select(
    ctx: &StatementContext,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
    cache: &PlanCache<QueryPlan>,
) -> Result<Arc<QueryPlan>> {
    let plan = Arc::new(QueryPlan::new(query::plan_query(ctx, query, parameters).await?));
    if plan.is_lasting() {
        cache.set(ctx, &plan);
    }
    Ok(plan)
}

async fn run_plan(ctx: &StatementContext, plan: &QueryPlan) -> Result<Outcome> {
    Ok(Outcome::Rows {
        columns: plan.columns(),
        stream: plan.run(ctx).await?,
    })
}

/// The types of the bound parameters that have one: those the statement was described with, so that it means the same
/// when it runs, else those of the values.
fn known_types(ctx: &StatementContext) -> Vec<Option<SqlType>> {
    if ctx.parameter_types.is_empty() {
        return ctx.parameters.iter().map(known_type).collect();
    }
    let decided = |ty: &SqlType| (*ty != SqlType::Unknown).then(|| ty.clone());
    ctx.parameter_types.iter().map(decided).collect()
}

/// The type of a bound value, when it has one.
fn known_type(value: &Value) -> Option<SqlType> {
    match value {
        Value::Null | Value::Unknown(_) => None,
        value => Some(value.natural_type()),
    }
}

/// Finds parameter types and result columns without running. `parameters`: the types the client gave (`None`: unsaid).
pub async fn describe(
    ctx: &StatementContext,
    statement: &Arc<Statement>,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    if statement.effort.is_bounded(ctx) {
        return Box::pin(describe_here(ctx, statement, parameters)).await;
    }
    let (ctx, statement, parameters) = (ctx.clone(), Arc::clone(statement), parameters.to_vec());
    query_threads::run(async move { describe_here(&ctx, &statement, &parameters).await }).await
}

async fn describe_here(
    ctx: &StatementContext,
    statement: &Statement,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    let told = Box::pin(tell(ctx, statement, parameters)).await;
    told.map_err(|error| statement.locate(error))
}

async fn tell(
    ctx: &StatementContext,
    statement: &Statement,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    let resolved = unwritten::resolve(ctx, &statement.ast).map(|ast| Statement {
        ast,
        ..statement.clone()
    });
    let statement = resolved.as_ref().unwrap_or(statement);
    let mut types = parameters.to_vec();
    types.resize(types.len().max(parameters::count(&statement.ast)?), None);
    match &statement.ast {
        ast::Statement::Query(query) => {
            // What it resolves to now it may not resolve to when it runs.
            let kept = match &resolved {
                Some(_) => None,
                None => Some(statement),
            };
            describe_query(ctx, query, kept, types).await
        }
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
            dml::describe(ctx, statement, &types).await
        }
        ast::Statement::Explain {
            statement: explained, ..
        } => {
            let explained = Statement {
                ast: (**explained).clone(),
                ..statement.clone()
            };
            let described = Box::pin(describe_here(ctx, &explained, &types)).await?;
            Ok(Description {
                columns: Some(explain::columns(&statement.ast).into()),
                ..described
            })
        }
        _ => Ok(Description {
            parameters: types
                .into_iter()
                .map(|ty| ty.unwrap_or(SqlType::Unknown))
                .collect(),
            columns: None,
        }),
    }
}

/// `kept`: the query's statement, when it may keep what is found out.
async fn describe_query(
    ctx: &StatementContext,
    query: &ast::Query,
    kept: Option<&Statement>,
    mut types: Vec<Option<SqlType>>,
) -> Result<Description> {
    if let Some(select) = DirectSelect::from_query(ctx, query, kept.map(|kept| &kept.shape)) {
        select.infer_parameters(&mut types);
        if types.iter().all(Option::is_some) {
            let parameters = types.into_iter().flatten().collect();
            return Ok(Description {
                parameters,
                columns: Some(select.columns()),
            });
        }
    }
    let nowhere = PlanCache::default();
    let plan = plan_select(ctx, query, &types, kept.map_or(&nowhere, |kept| &kept.plan)).await?;
    Ok(Description {
        parameters: plan.parameters().to_vec(),
        columns: Some(plan.columns()),
    })
}
