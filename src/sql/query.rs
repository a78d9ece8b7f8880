//! Queries by DataFusion: joins, aggregates, expressions, CTEs, windows, subqueries, set operations, VALUES.

use datafusion::logical_expr::LogicalPlan;
use sqlparser::ast;

use super::BatchStream;
use crate::Result;
use crate::exec::{OutputColumn, StatementContext};
use crate::types::SqlType;

/// A query that is planned (logically) and may be run.
#[derive(Debug, Clone)]
pub struct PlannedQuery {
    /// The result's columns, with PostgreSQL's names and types.
    pub columns: Vec<OutputColumn>,
    /// The types of `$1` …
    pub parameters: Vec<SqlType>,
    /// The logical plan, before optimization; placeholders still in it.
    pub plan: LogicalPlan,
}

/// Plans a query against the context's catalog. `parameters`: the types the client gave (`None`: to be inferred).
/// Errors: PostgreSQL's for unknown names, types, misplaced aggregates …
pub async fn plan_query(
    _ctx: &StatementContext,
    _query: &ast::Query,
    _parameters: &[Option<SqlType>],
) -> Result<PlannedQuery> {
    unimplemented!()
}

/// Runs it with the context's parameters, in its transaction. The stream's batches have exactly `columns`' Arrow types.
pub async fn run_query(_ctx: &StatementContext, _query: &PlannedQuery) -> Result<BatchStream> {
    unimplemented!()
}

/// The plan's lines for EXPLAIN, two blanks a level. `analyze`: runs the query first and adds what each scan read.
pub(crate) async fn explain_query(_ctx: &StatementContext, _query: &PlannedQuery, _analyze: bool) -> Result<Vec<String>> {
    unimplemented!()
}
