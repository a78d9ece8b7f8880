//! Statements carried out: names resolved against our catalog, DDL, DML, EXPLAIN; queries bound and planned. Knows
//! nothing of sockets.

mod alone;
mod column_type;
mod copy;
mod cursor;
pub mod ddl;
pub mod dml;
mod effort;
mod execute_arguments;
mod explain;
#[cfg(test)]
mod kept_plans_tests;
mod named_locks;
mod open_cursor;
mod plpgsql;
#[cfg(test)]
mod read_fields;
mod relation;
mod routine;
mod routine_run;
mod statement;
#[cfg(test)]
mod testing;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{self, ObjectName};

use crate::copy::RowEncoder;
use crate::error::{Raised, StatementFault};
use crate::operators::Spool;
use crate::parse::command::Command;
use crate::parse::kind::take_into;
use crate::parse::{TEXT_BYTES_MAX, count_expressions, names, parameters};
use crate::query::{self, QueryPlan, known_types};
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::system::plan_cache::PlanCache;
use crate::system::query_threads;
use crate::system::{Copying, Notice, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};
pub use copy::CopyIn;
pub(crate) use cursor::{OpenedCursor, check_cursor_query, not_a_query, open_cursor};
use dml::{WithWrites, WritePlan};
pub(crate) use dml::{assigned_value, check_deferred, compile_generated};
pub use effort::PARAMETER_BYTES_MAX;
pub(crate) use execute_arguments::check_arguments;
pub(crate) use explain::columns_of as explain_columns;
pub(crate) use open_cursor::{Cursor, SharedCursor, shared_cursor};
pub(crate) use routine::call_routine;
use statement::KeptPlan;
pub use statement::{Statement, parse};

/// What the plan of a statement takes for each expression of its text.
const PLAN_BYTES: usize = 768;

/// What executing a statement gives.
pub enum Outcome {
    /// A result that streams; the command tag is `SELECT n` with the rows counted as they leave.
    Rows {
        /// As Describe tells them.
        columns: Arc<[OutputColumn]>,
        /// The rows, not yet asked for.
        stream: RowsStream,
    },
    /// A COPY TO the client: rows that leave as data.
    CopyOut {
        /// Of the rows.
        columns: Arc<[OutputColumn]>,
        /// The rows, not yet asked for.
        stream: RowsStream,
        /// Makes data of them.
        encoder: RowEncoder,
        /// Is told how far it is.
        copying: Copying,
    },
    /// A COPY FROM the client, which takes its data.
    CopyIn(CopyIn),
    /// A write that is done (not yet committed): its tag (`INSERT 0 3`) and the rows of RETURNING, if it has one.
    Written(dml::WriteResult),
    /// A statement without rows that is done.
    Done {
        /// `CREATE TABLE`.
        tag: String,
    },
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
    raise_warnings(ctx, statement);
    require_own_database(ctx, statement)?;
    require_parameter_types(ctx)?;
    // A query that was short before leaves its connection's task when it is not any more.
    let is_known_to_be_short =
        || statement.kept.is_short_by_experience(ctx) && statement.effort.is_pausing(ctx);
    match statement.effort.is_bounded(ctx) || is_known_to_be_short() {
        true => execute_here(ctx, statement).await,
        false => Box::pin(execute_apart(ctx.clone(), Arc::clone(statement))).await,
    }
}

fn raise_warnings(ctx: &StatementContext, statement: &Statement) {
    for warning in statement.parsed.warnings.iter() {
        ctx.notice(Notice {
            hint: Some(warning.hint.clone()),
            ..Notice::warning("01000", warning.message.clone())
        });
    }
}

/// Errors: 0A000 for a relation of another database.
fn require_own_database(ctx: &StatementContext, statement: &Statement) -> Result<()> {
    let mut named = statement.parsed.databases.iter();
    let is_other = |name: &&ObjectName| {
        let database = name.0.first().and_then(|part| part.as_ident());
        database.is_some_and(|database| *names::fold(database) != *ctx.database)
    };
    match named.find(is_other) {
        None => Ok(()),
        Some(name) => Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: format!("cross-database references are not implemented: \"{name}\""),
            hint: Some(
                "A session reads the database that it connected to: connect to the other one.".to_string(),
            ),
        }),
    }
}

/// Errors: XX000 for a parameter of an enum that has been dropped since the statement was prepared, as PostgreSQL's: drivers that cache
/// types know it, and prepare the statement again.
fn require_parameter_types(ctx: &StatementContext) -> Result<()> {
    let mut enums = ctx.parameter_types.iter().filter_map(SqlType::enum_type);
    match enums.find(|ty| ctx.catalog.types.by_oid(ty.oid).is_none()) {
        None => Ok(()),
        Some(gone) => {
            let message = format!("cache lookup failed for type {}", gone.oid);
            Err(Raised::new("XX000", message).into())
        }
    }
}

/// Runs a statement on the query threads; the rows of its result are computed there too.
async fn execute_apart(ctx: StatementContext, statement: Arc<Statement>) -> Result<Outcome> {
    let jobs = Arc::clone(&ctx.jobs);
    let writes = statement.parsed.kind.write().is_some();
    let calls = statement.parsed.runs_code() || !ctx.catalog.routines.is_empty();
    let work = async move { execute_here(&ctx, &statement).await };
    let outcome = match (calls, writes) {
        // A function may write, and nothing of it goes on when the statement has been dropped.
        (true, _) => {
            jobs.run_on_query_threads(query_threads::in_own_task(work))
                .await?
        }
        (false, true) => jobs.run_on_query_threads(work).await?,
        (false, false) => query_threads::run(work).await?,
    };
    Ok(match outcome {
        Outcome::Rows { columns, stream } => Outcome::Rows {
            columns,
            stream: query_threads::on_query_threads(stream),
        },
        Outcome::CopyOut {
            columns,
            stream,
            encoder,
            copying,
        } => Outcome::CopyOut {
            columns,
            stream: query_threads::on_query_threads(stream),
            encoder,
            copying,
        },
        done => done,
    })
}

async fn execute_here(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    hold_plan(ctx, statement)?;
    let executed = match &statement.parsed.command {
        Some(Command::Copy(copy)) => Box::pin(copy::execute(ctx, statement, copy)).await,
        _ => execute_tree(ctx, statement).await,
    };
    match executed {
        Ok(outcome) => Ok(outcome),
        Err(error) => Err(located(ctx, statement, error).await),
    }
}

/// The error that a statement ends with, at its place in the text.
async fn located(ctx: &StatementContext, statement: &Statement, error: Error) -> Error {
    let error = Box::pin(named_locks::error_of_named(ctx, error)).await;
    statement.parsed.locate(error)
}

async fn execute_tree(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    match (&statement.parsed.ast, &statement.kept) {
        (ast::Statement::Query(query), KeptPlan::Query(kept)) => execute_query(ctx, kept, query).await,
        (ast::Statement::Query(query), KeptPlan::WithWrites(kept)) => {
            let written = Box::pin(dml::execute_with_writes(ctx, query, kept)).await;
            written.map(Outcome::Written)
        }
        (write, KeptPlan::Write(kept)) => {
            let written = Box::pin(dml::execute(ctx, write, kept)).await;
            written.map(Outcome::Written)
        }
        _ => Box::pin(execute_other(ctx, statement)).await,
    }
}

async fn execute_query(
    ctx: &StatementContext,
    kept: &PlanCache<QueryPlan>,
    query: &ast::Query,
) -> Result<Outcome> {
    let plan = match kept.get(ctx.plan_basis()).filter(|plan| plan.fits(ctx)) {
        Some(plan) => plan,
        None => plan_select(ctx, kept, query, &known_types(ctx))?,
    };
    let fetching = (ctx.rows_wanted.is_some() && plan.acts()).then(|| Box::new(ctx.fetching()));
    let ctx = fetching.as_deref().unwrap_or(ctx);
    let mut stream = plan.run(ctx).await?;
    if plan.locks_rows() || plan.calls_routines() || ctx.txn.may_be_refused() {
        stream = held_back(ctx, stream).await?;
    }
    if plan.is_of_constants() {
        // What fails in it does so before the client is told of columns.
        let first = stream.try_next().await?;
        stream = futures::stream::iter(first.map(Ok)).chain(stream).boxed();
    }
    Ok(Outcome::Rows {
        columns: plan.columns(),
        stream,
    })
}

/// The rows, once all are there that are wanted. Errors: the stream's; 53100, 53200.
pub(in crate::sql) async fn held_back(ctx: &StatementContext, mut rows: RowsStream) -> Result<RowsStream> {
    let mut kept = Spool::new(Arc::clone(&ctx.settings), Arc::clone(&ctx.memory), 0);
    let mut left = ctx.rows_wanted.unwrap_or(usize::MAX);
    while left > 0
        && let Some(rows) = rows.try_next().await?
    {
        left = left.saturating_sub(rows.num_rows());
        kept.push(rows.into_batch()?).await?;
    }
    Ok(kept.into_stream().map_ok(Rows::Columns).boxed())
}

async fn execute_other(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    if let Some(Command::Do { language, code }) = &statement.parsed.command {
        return routine::execute_block(ctx, language, code).await;
    }
    if let Some(Command::UpdateCatalog(update)) = &statement.parsed.command {
        let rows = Box::pin(ddl::update_catalog(ctx, update)).await?;
        return Ok(Outcome::Done {
            tag: format!("UPDATE {rows}"),
        });
    }
    match &statement.parsed.ast {
        ast::Statement::Explain { .. } => {
            let explained = Box::pin(explain::execute(ctx, statement)).await?;
            named_locks::lock_named(ctx).await?;
            Ok(explained)
        }
        ast::Statement::Call(function) => routine::execute_call(ctx, function).await,
        ast::Statement::Query(query) => Ok(Outcome::Done {
            tag: ddl::select_into(ctx, query).await?,
        }),
        _ => Ok(Outcome::Done {
            tag: Box::pin(ddl::execute(ctx, statement)).await?,
        }),
    }
}

/// Takes from the statement's memory what the plan of a long text with many constants takes. Errors: 53200.
fn hold_plan(ctx: &StatementContext, statement: &Statement) -> Result<()> {
    let text = &statement.parsed.text;
    match text.len() > TEXT_BYTES_MAX {
        true => ctx.memory.hold(text.len() + count_expressions(text) * PLAN_BYTES),
        false => Ok(()),
    }
}

/// Plans the query of a statement, which keeps the plan if it lasts. Columns that nobody has written yet read as NULL.
fn plan_select(
    ctx: &StatementContext,
    kept: &PlanCache<QueryPlan>,
    query: &ast::Query,
    parameters: &[Option<SqlType>],
) -> Result<Arc<QueryPlan>> {
    let noticed = ctx.notices_raised();
    let plan = Arc::new(QueryPlan::new(query::plan_query(ctx, query, parameters)?));
    // What the client is told of, it is told of each time.
    if plan.is_lasting() && ctx.notices_raised() == noticed {
        kept.set(ctx.kept_basis(), &plan);
    }
    Ok(plan)
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
    require_own_database(ctx, statement)?;
    hold_plan(ctx, statement)?;
    let told = Box::pin(tell(ctx, statement, parameters)).await;
    // What the client is told is to be so when the statement runs.
    match told {
        Ok(told) => Box::pin(named_locks::wait_for_named(ctx)).await.map(|()| told),
        Err(error) => Err(located(ctx, statement, error).await),
    }
}

async fn tell(
    ctx: &StatementContext,
    statement: &Statement,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    let mut types = parameters.to_vec();
    types.resize(types.len().max(parameters::count(&statement.parsed.ast)?), None);
    match (&statement.parsed.ast, &statement.kept) {
        (ast::Statement::Query(query), KeptPlan::WithWrites(_)) => WithWrites::describe(ctx, query, types),
        (ast::Statement::Query(query), KeptPlan::Query(kept)) => {
            let plan = plan_select(ctx, kept, query, &types)?;
            Ok(Description {
                parameters: plan.parameters().to_vec(),
                columns: Some(plan.columns()),
            })
        }
        (write, KeptPlan::Write(kept)) => WritePlan::describe(ctx, write, kept, &types),
        (
            ast::Statement::CreateTable(ast::CreateTable {
                query: Some(query), ..
            }),
            _,
        ) => Ok(told_of_source(ctx, query, &types)),
        (ast::Statement::Query(query), _) => {
            let mut query = query.clone();
            take_into(&mut query);
            Ok(told_of_source(ctx, &query, &types))
        }
        (ast::Statement::Call(function), _) => {
            let (parameters, columns) = routine::describe_call(ctx, function, &types)?;
            Ok(Description {
                parameters,
                columns: (!columns.is_empty()).then(|| columns.into()),
            })
        }
        (
            ast::Statement::Explain {
                statement: explained, ..
            },
            _,
        ) => {
            let explained = statement.with_tree((**explained).clone());
            let described = Box::pin(describe_here(ctx, &explained, &types)).await?;
            Ok(Description {
                columns: Some(explain::columns(&statement.parsed.ast).into()),
                ..described
            })
        }
        _ => Ok(Description {
            parameters: decided(types),
            columns: None,
        }),
    }
}

/// What is told of a statement that makes a table of a query.
fn told_of_source(ctx: &StatementContext, query: &ast::Query, types: &[Option<SqlType>]) -> Description {
    Description {
        parameters: decided(query::parameters_of(ctx, query, types)),
        columns: None,
    }
}

fn decided(types: Vec<Option<SqlType>>) -> Vec<SqlType> {
    let types = types.into_iter();
    types.map(|ty| ty.unwrap_or(SqlType::Unknown)).collect()
}
