//! Expressions over a batch: their values, the rows for which one is true, a batch of several.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;

use crate::exec::datafusion_error::from_datafusion;
use crate::{Error, Result};

/// The values of an expression, one a row.
pub(crate) fn values(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let evaluated = expr.evaluate(batch).map_err(from_datafusion)?;
    evaluated.into_array(batch.num_rows()).map_err(from_datafusion)
}

/// For which rows a condition is true, false or NULL.
pub(crate) fn truth(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let truth = values(condition, batch)?;
    let truth = truth.as_boolean_opt().cloned();
    truth.ok_or_else(|| Error::internal("a condition that is no boolean"))
}

/// The rows for which a condition is true.
pub(crate) fn filter(condition: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<RecordBatch> {
    filter_record_batch(batch, &truth(condition, batch)?).map_err(Error::arrow)
}

/// A batch of what the expressions give.
pub(crate) fn project(
    columns: &[Arc<dyn PhysicalExpr>],
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let arrays = columns
        .iter()
        .map(|column| values(column, batch))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(Error::arrow)
}
