//! A generated column of a batch of rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};

use super::{GeneratedColumns, TableDef};
use crate::codec::row::ColumnId;
use crate::{Error, Result};

/// The generated column at `position`, of rows of its table that have its inputs. Errors: those of [`GeneratedColumns::compute`].
pub fn computed_column(
    table: &TableDef,
    generated: &dyn GeneratedColumns,
    position: usize,
    rows: &RecordBatch,
) -> Result<ArrayRef> {
    let generation = table.columns[position].generation();
    let generation = generation.ok_or_else(|| Error::internal("a column that is not generated"))?;
    let input = |id: &ColumnId| {
        let at = table.column_index_by_id(*id).ok_or_else(lost_input)?;
        Ok(Arc::clone(rows.column(at)))
    };
    let inputs: Vec<ArrayRef> = generation.inputs.iter().map(input).collect::<Result<_>>()?;
    generated.compute(position, &inputs, rows.num_rows())
}

/// The error for a column that is gone, and what is computed of it is not.
pub(crate) fn lost_input() -> Error {
    Error::internal("a generated column is computed of a column that is not there")
}
