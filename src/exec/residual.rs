//! Evaluates a `Predicate` over Arrow batches with PostgreSQL's three-valued logic and comparisons.

use arrow::array::{BooleanArray, RecordBatch};

use crate::Result;
use crate::plan::Predicate;

/// Which rows satisfy the predicate (NULL where PostgreSQL says NULL). `column_of` gives the batch column that holds a
/// column of the table. The predicate holds no `Opaque`.
pub fn evaluate(
    _predicate: &Predicate,
    _batch: &RecordBatch,
    _column_of: &dyn Fn(usize) -> usize,
) -> Result<BooleanArray> {
    unimplemented!()
}
