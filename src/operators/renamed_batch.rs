//! `as_rows_of`: rows under other names.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;

use crate::{Error, Result};

/// The rows under the names of a schema, which has the same types.
pub(super) fn as_rows_of(rows: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let renamed = RecordBatch::try_new_with_options(Arc::clone(schema), rows.columns().to_vec(), &options);
    renamed.map_err(Error::arrow)
}
