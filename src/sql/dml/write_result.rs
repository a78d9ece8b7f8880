//! `WriteResult`: what a write did, and what its RETURNING shows.

use arrow::array::RecordBatch;

use super::returning::Returning;
use super::row_buffer::RowBuffer;
use crate::Result;
use crate::scan::OutputColumn;
use crate::system::StatementContext;

/// What a write did.
#[derive(Debug)]
pub struct WriteResult {
    /// `INSERT 0 3`, `UPDATE 2`, `DELETE 1`.
    pub tag: String,
    /// How many rows.
    pub rows_written: u64,
    /// RETURNING's columns; empty without RETURNING.
    pub columns: Vec<OutputColumn>,
    /// RETURNING's rows.
    pub batches: Vec<RecordBatch>,
}

impl WriteResult {
    /// That of a write of so many rows. `rows`: those that RETURNING shows, whole.
    pub(super) async fn of(
        ctx: &StatementContext,
        verb: &str,
        rows_written: u64,
        returning: Option<&Returning>,
        rows: RowBuffer,
    ) -> Result<WriteResult> {
        let (columns, batches) = match returning {
            None => (Vec::new(), Vec::new()),
            Some(returning) => (
                returning.columns().to_vec(),
                returning.evaluate(ctx, rows.into_batches()).await?,
            ),
        };
        Ok(WriteResult {
            tag: format!("{verb} {rows_written}"),
            rows_written,
            columns,
            batches,
        })
    }
}
