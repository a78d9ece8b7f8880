//! `RowBuffer`: rows that a write must hold in memory, counted against `keyspan.transaction_bytes_max`: those of RETURNING, and
//! those of statements that must be read to their end before the first row is written. They are the statement's memory
//! until its result has left. Used by every write of this layer.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::{Stream, TryStreamExt};

use crate::error::Limit;
use crate::system::{StatementContext, StatementMemory};
use crate::{Error, Result};

/// So many bytes more are told to the statement's memory at once.
const HELD_BYTES: usize = 64 << 10;

/// Batches, up to a limit of bytes.
#[derive(Debug)]
pub(super) struct RowBuffer {
    batches: Vec<RecordBatch>,
    bytes: usize,
    bytes_max: usize,
    memory: Arc<StatementMemory>,
    /// Bytes that the statement's memory knows of: few rows are none.
    held: usize,
}

impl RowBuffer {
    /// None yet; as many may come as the transaction may write.
    pub(super) fn new(ctx: &StatementContext) -> RowBuffer {
        RowBuffer {
            batches: Vec::new(),
            bytes: 0,
            bytes_max: ctx.settings.transaction_bytes_max,
            memory: Arc::clone(&ctx.memory),
            held: 0,
        }
    }

    /// All rows of a stream. Errors: the stream's, 54000, 53200.
    pub(super) async fn collect(
        ctx: &StatementContext,
        mut rows: impl Stream<Item = Result<RecordBatch>> + Unpin,
    ) -> Result<RowBuffer> {
        let mut kept = RowBuffer::new(ctx);
        while let Some(batch) = rows.try_next().await? {
            kept.push(batch)?;
        }
        Ok(kept)
    }

    /// One batch more. Errors: 54000 when all together are too large, 53200.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let columns = batch.columns().iter();
        // A slice counts for what it shows, not for the buffer it shares.
        let bytes: usize = columns
            .map(|column| column.to_data().get_slice_memory_size().unwrap_or(0))
            .sum();
        self.bytes += bytes;
        if self.bytes > self.bytes_max {
            return Err(Error::LimitExceeded {
                state: Limit::Program,
                message: format!(
                    "the rows that the statement must keep exceed the limit of {} bytes",
                    self.bytes_max
                ),
                hint: "Write in smaller parts, or raise keyspan.transaction_bytes_max.".to_string(),
            });
        }
        if self.bytes >= self.held + HELD_BYTES {
            self.memory.hold(self.bytes - self.held)?;
            self.held = self.bytes;
        }
        self.batches.push(batch);
        Ok(())
    }

    /// The batches, in the order they came.
    pub(super) fn into_batches(self) -> Vec<RecordBatch> {
        self.batches
    }
}
