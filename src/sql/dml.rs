//! INSERT, UPSERT, UPDATE, DELETE with ON CONFLICT and RETURNING.

use arrow::array::RecordBatch;

use super::Statement;
use crate::Result;
use crate::exec::{OutputColumn, StatementContext};
use crate::types::SqlType;

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
pub async fn execute(_ctx: &StatementContext, _statement: &Statement) -> Result<WriteResult> {
    unimplemented!()
}

/// Parameter types and RETURNING columns of a write, without running it.
pub async fn describe(
    _ctx: &StatementContext,
    _statement: &Statement,
    _parameters: &[Option<SqlType>],
) -> Result<super::Description> {
    unimplemented!()
}
