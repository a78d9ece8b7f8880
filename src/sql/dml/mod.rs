//! INSERT, UPSERT, UPDATE, DELETE with ON CONFLICT and RETURNING. Called by `sql::execute`; commits nothing.
//!
//! The rows that UPDATE and DELETE write are a query ([`found_rows`]). Constants go straight into Arrow columns; other
//! expressions over rows in memory are a query by `query` too ([`evaluate`]). On an error
//! nothing of the statement stays in the transaction.

mod assign;
mod conflict;
mod default;
mod delete;
mod describe;
mod evaluate;
mod found_rows;
mod generated;
mod insert;
mod joined;
mod kept_rows;
mod reading;
mod returning;
mod target;
mod update;
mod values;

use arrow::array::RecordBatch;
use sqlparser::ast;

use super::Statement;
use crate::exec::{OutputColumn, StatementContext};
use crate::query::Observation;
use crate::{Error, Result};

pub(crate) use default::evaluate_default;
pub use describe::describe;
pub(crate) use evaluate::{parse_expression, select_of, with_select};
pub(crate) use generated::{check_generation, compile_generated};
pub(crate) use insert::{copy_rows, insert_query};
pub(crate) use reading::{Operation, Reading, RowsRead, plan_reading};

/// What a write did.
#[derive(Debug)]
pub struct WriteResult {
    /// `INSERT 0 3`, `UPDATE 2`, `DELETE 1`.
    pub tag: String,
    /// RETURNING's columns; empty without RETURNING.
    pub columns: Vec<OutputColumn>,
    /// RETURNING's rows.
    pub batches: Vec<RecordBatch>,
}

/// Runs a write inside the transaction (the caller commits).
pub async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<WriteResult> {
    execute_observed(ctx, statement, None).await
}

/// The same; what it reads is counted in the observation, if there is one.
pub(crate) async fn execute_observed(
    ctx: &StatementContext,
    statement: &Statement,
    observation: Option<&Observation>,
) -> Result<WriteResult> {
    let savepoint = ctx.txn.savepoint();
    let result = match &statement.parsed.ast {
        ast::Statement::Insert(insert) => insert::execute(ctx, insert, observation).await,
        ast::Statement::Update(update) => update::execute(ctx, update, (&statement.plan, observation)).await,
        ast::Statement::Delete(delete) => delete::execute(ctx, delete, (&statement.plan, observation)).await,
        other => Err(Error::internal(format!("not a write: {other}"))),
    };
    if result.is_err() {
        ctx.txn.rollback_to(savepoint);
    }
    result
}

/// Whether the expression is the word DEFAULT.
fn is_default(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Identifier(ident)
        if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

#[cfg(test)]
mod tests;
