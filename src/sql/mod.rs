//! Text to statement: dialect, names resolved against our catalog, DDL, DML, hints; SELECTs by the direct path or by
//! DataFusion. Knows nothing of sockets.

mod comment;
pub mod ddl;
pub mod dml;
pub mod query;
mod statement;
mod symmetric;
mod tokens;

use arrow::array::RecordBatch;
use futures::stream::BoxStream;

use crate::Result;
use crate::exec::{OutputColumn, StatementContext};
use crate::types::SqlType;
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
pub async fn execute(_ctx: &StatementContext, _statement: &Statement) -> Result<Outcome> {
    unimplemented!()
}

/// Finds parameter types and result columns without running. `parameters`: the types the client gave (`None`: unsaid).
pub async fn describe(
    _ctx: &StatementContext,
    _statement: &Statement,
    _parameters: &[Option<SqlType>],
) -> Result<Description> {
    unimplemented!()
}
