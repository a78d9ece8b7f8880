//! Rows of batches by their places. Arrow's own functions lose the number of rows that have no columns, so these stand in their place.

use arrow::array::{Array, RecordBatch, RecordBatchOptions};
use arrow::compute::{interleave, take};
use arrow::error::ArrowError;

/// The rows at these places.
pub fn take_rows(batch: &RecordBatch, places: &dyn Array) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter();
    let columns = columns.map(|column| take(column, places, None));
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(batch.schema(), columns.collect::<Result<_, _>>()?, &options)
}

/// Rows of several batches of one schema, each by its batch and place. Errors: there is no batch.
pub fn interleave_rows(
    batches: &[&RecordBatch],
    places: &[(usize, usize)],
) -> Result<RecordBatch, ArrowError> {
    let first = batches
        .first()
        .ok_or_else(|| ArrowError::InvalidArgumentError("rows of no batch".to_string()))?;
    let column = |at: usize| {
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        interleave(&parts, places)
    };
    let columns = (0..first.num_columns()).map(column).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(first.schema(), columns, &options)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::UInt32Array;
    use arrow::datatypes::Schema;

    use super::*;

    #[test]
    fn rows_without_columns_are_counted() {
        let options = RecordBatchOptions::new().with_row_count(Some(5));
        let batch =
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
        let taken = take_rows(&batch, &UInt32Array::from(vec![4, 0])).unwrap();
        assert_eq!(taken.num_rows(), 2);
        let both = interleave_rows(&[&batch, &taken], &[(0, 3), (1, 1), (0, 0)]).unwrap();
        assert_eq!(both.num_rows(), 3);
        assert!(interleave_rows(&[], &[]).is_err());
    }
}
