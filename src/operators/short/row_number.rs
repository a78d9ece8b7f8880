//! `RunningNumbered`: the number of each row among those of its part (`row_number()`), in the order of the keys. It holds everything that
//! comes, which the run bounds.

use std::sync::Arc;

use arrow::array::{RecordBatch, UInt64Array};
use arrow::compute::partition;
use arrow::datatypes::{FieldRef, Schema};

use super::top_rows::TopRows;
use crate::{Error, Result};

/// See the module's description.
pub(super) struct RunningNumbered {
    rows: TopRows,
    /// Rows of a part have the same values in so many of the keys.
    part_keys: usize,
    field: FieldRef,
}

impl RunningNumbered {
    /// `rows`: all of them, by all keys.
    pub(super) fn new(rows: TopRows, part_keys: usize, field: &FieldRef) -> RunningNumbered {
        RunningNumbered {
            rows,
            part_keys,
            field: Arc::clone(field),
        }
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows.push(batch)
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    /// The rows with their numbers.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let Some(sorted) = self.rows.finish()? else {
            return Ok(None);
        };
        let keys = self.rows.values(&sorted)?;
        let numbers: UInt64Array = match &keys[..self.part_keys] {
            [] => (1..=sorted.num_rows() as u64).collect(),
            keys => {
                let parts = partition(keys).map_err(Error::arrow)?.ranges().into_iter();
                parts.flat_map(|part| 1..=part.len() as u64).collect()
            }
        };
        let fields = sorted.schema_ref().fields().iter().chain([&self.field]);
        let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        let mut columns = sorted.columns().to_vec();
        columns.push(Arc::new(numbers));
        RecordBatch::try_new(schema, columns)
            .map(Some)
            .map_err(Error::arrow)
    }
}
