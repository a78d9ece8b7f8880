//! Text to statement: dialect, names resolved against our catalog, DDL, DML, hints; SELECTs by the direct path or by
//! DataFusion. Knows nothing of sockets.

mod column_name;
pub mod command;
mod command_reader;
mod comment;
mod condition_text;
mod constant;
pub mod ddl;
mod direct;
mod distinct;
pub mod dml;
mod explain;
mod grammar;
mod infer;
mod names;
mod operand;
mod parameters;
mod pattern;
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

use arrow::array::RecordBatch;
use futures::stream::BoxStream;
use sqlparser::ast;

use crate::Result;
use crate::exec::{OutputColumn, StatementContext};
use crate::types::{SqlType, Value};
use direct::DirectSelect;
pub use statement::{Statement, parse};

/// A stream of result batches; dropping it stops the work behind it.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// What executing a statement gives.
pub enum Outcome {
    /// A result that streams; the command tag is `SELECT n` with the rows counted as they leave.
    Rows {
        columns: Vec<OutputColumn>,
        stream: BatchStream,
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
    pub columns: Option<Vec<OutputColumn>>,
}

/// Runs any statement but transaction control, SET, SHOW, PREPARE and the like, which are the session's.
pub async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    // Boxed: the future of a statement is large, and one inside another doubles the stack that it takes.
    let done = Box::pin(run(ctx, statement)).await;
    done.map_err(|error| statement.locate(error))
}

async fn run(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    let ctx = &StatementContext {
        allow_filtering: ctx.allow_filtering || statement.allow_filtering,
        ..ctx.clone()
    };
    if let ast::Statement::Query(query) = &statement.ast {
        match direct_select(ctx, query) {
            Ok(Some(outcome)) => return Ok(outcome),
            // A column that nobody has written yet, perhaps.
            Err(error) if error.sqlstate() != "42703" => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    let resolved = unwritten::resolve(ctx, &statement.ast).map(|ast| Statement {
        ast,
        ..statement.clone()
    });
    let statement = resolved.as_ref().unwrap_or(statement);
    match &statement.ast {
        ast::Statement::Query(query) => {
            if let Some(outcome) = direct_select(ctx, query)? {
                return Ok(outcome);
            }
            match ddl::select_into(ctx, query).await? {
                Some(tag) => Ok(Outcome::Done { tag }),
                None => general_select(ctx, query).await,
            }
        }
        ast::Statement::Insert(_) | ast::Statement::Update(_) | ast::Statement::Delete(_) => {
            Ok(Outcome::Written(dml::execute(ctx, statement).await?))
        }
        ast::Statement::Explain { .. } => explain::execute(ctx, statement).await,
        _ => Ok(Outcome::Done {
            tag: ddl::execute(ctx, statement).await?,
        }),
    }
}

/// Runs a query by the direct path; `None` when it is none of its shape.
fn direct_select(ctx: &StatementContext, query: &ast::Query) -> Result<Option<Outcome>> {
    let Some(shape) = DirectSelect::from_query(ctx, query) else {
        return Ok(None);
    };
    let columns = shape.columns.clone();
    let plan = shape.plan(ctx)?;
    Ok(plan.map(|plan| Outcome::Rows {
        columns,
        stream: plan.run(ctx, Arc::default()),
    }))
}

async fn general_select(ctx: &StatementContext, query: &ast::Query) -> Result<Outcome> {
    let planned = query::plan_query(ctx, query, &known_types(ctx)).await?;
    let stream = query::run_query(ctx, &planned).await?;
    Ok(Outcome::Rows {
        columns: planned.columns,
        stream,
    })
}

/// The types of the bound parameters that have one.
fn known_types(ctx: &StatementContext) -> Vec<Option<SqlType>> {
    ctx.parameters.iter().map(known_type).collect()
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
        ast::Statement::Query(query) => describe_query(ctx, query, types).await,
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
            let described = Box::pin(describe(ctx, &explained, &types)).await?;
            Ok(Description {
                columns: Some(explain::columns(&statement.ast)),
                ..described
            })
        }
        _ => Ok(Description {
            parameters: types.into_iter().map(|ty| ty.unwrap_or(SqlType::Text)).collect(),
            columns: None,
        }),
    }
}

async fn describe_query(
    ctx: &StatementContext,
    query: &ast::Query,
    mut types: Vec<Option<SqlType>>,
) -> Result<Description> {
    if let Some(shape) = DirectSelect::from_query(ctx, query) {
        shape.infer_parameters(&mut types);
        if types.iter().all(Option::is_some) {
            let parameters = types.into_iter().flatten().collect();
            return Ok(Description {
                parameters,
                columns: Some(shape.columns),
            });
        }
    }
    let planned = query::plan_query(ctx, query, &types).await?;
    Ok(Description {
        parameters: planned.parameters,
        columns: Some(planned.columns),
    })
}
