//! Expressions over a batch: their values, the rows for which one is true, a batch of several ([`Projection`]).

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::bound_function::bound_function_of;
use crate::error::Limit;
use crate::system::datafusion_error::{from_datafusion, query_memory_exceeded};
use crate::{Error, Result};

/// What a constant may take when each row of a batch gets a copy of it: far from where Arrow's offsets end.
const COPIES_BYTES_MAX: usize = 64 << 20;

/// The values of an expression, one a row. Errors: the expression's; 53200 when they are too many bytes for one batch.
pub(crate) fn values(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef> {
    let evaluated = expr.evaluate(batch).map_err(from_datafusion)?;
    if let ColumnarValue::Scalar(constant) = &evaluated
        && constant.size().saturating_mul(batch.num_rows()) > COPIES_BYTES_MAX
        && batch.num_rows() > 1
    {
        return Err(query_memory_exceeded());
    }
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
    let truth = truth(condition, batch)?;
    match truth.true_count() == batch.num_rows() {
        true => Ok(batch.clone()),
        false => filter_record_batch(batch, &truth).map_err(Error::arrow),
    }
}

/// Whether one call in the expressions may change what another gives: rows are to be computed one at a time.
pub(crate) fn act_together(columns: &[Arc<dyn PhysicalExpr>]) -> bool {
    columns.iter().map(calls_that_act).sum::<usize>() > 1
}

/// How many calls in an expression do more than answer, or tell what others have done.
pub(crate) fn calls_that_act(expr: &Arc<dyn PhysicalExpr>) -> usize {
    let mut acting = 0;
    // The closure does not fail.
    let _ = expr.apply(|expr| {
        let call = expr.downcast_ref::<ScalarFunctionExpr>();
        let function = call.and_then(|call| bound_function_of(call.fun()));
        acting += usize::from(function.is_some_and(|function| function.acts()));
        Ok(TreeNodeRecursion::Continue)
    });
    acting
}

/// A batch of what the expressions give.
pub(crate) fn project(
    columns: &[Arc<dyn PhysicalExpr>],
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    if batch.num_rows() > 1 && act_together(columns) {
        let rows = (0..batch.num_rows()).map(|row| project(columns, schema, &batch.slice(row, 1)));
        return concat_batches(schema, &rows.collect::<Result<Vec<_>>>()?).map_err(Error::arrow);
    }
    let arrays = columns
        .iter()
        .map(|column| values(column, batch))
        .collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(Error::arrow)
}

/// How many rows somebody wants yet; by default all.
#[derive(Debug, Default)]
pub(crate) struct RowsWanted(Option<usize>);

impl RowsWanted {
    /// So many.
    pub(crate) fn at_most(rows: usize) -> RowsWanted {
        RowsWanted(Some(rows))
    }

    /// The rows of a batch that are wanted.
    pub(crate) fn of(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(left) = &mut self.0 else { return batch };
        let rows = batch.num_rows().min(*left);
        *left -= rows;
        batch.slice(0, rows)
    }
}

/// Expressions computed of batches. Where they are too many bytes for all rows of a batch, as many rows at a time as can be;
/// unless one of them must be asked once a row. Rows that nobody wants are not computed, and an error comes behind the rows before its own.
pub(crate) struct Projection {
    columns: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    /// Rows that are still to be computed.
    rest: Option<RecordBatch>,
    /// So many at a time, those of `rest` and those of the batches to come.
    rest_max: usize,
    rows_max: usize,
    wanted: RowsWanted,
}

impl Projection {
    pub(crate) fn new(columns: Vec<Arc<dyn PhysicalExpr>>, schema: SchemaRef) -> Projection {
        Projection {
            columns,
            schema,
            rest: None,
            rest_max: usize::MAX,
            rows_max: usize::MAX,
            wanted: RowsWanted::default(),
        }
    }

    /// No more rows are wanted than these.
    pub(crate) fn want(&mut self, wanted: RowsWanted) {
        self.wanted = wanted;
    }

    /// From now on somebody may want no row behind one that it has given: they come one by one if computing them does something.
    pub(crate) fn note_end(&mut self) {
        if self.columns.iter().map(calls_that_act).sum::<usize>() > 0 {
            self.rows_max = 1;
        }
    }

    /// Takes a batch. `None`: it comes in parts, by [`Projection::next`]. Errors: the expressions'.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let batch = self.wanted.of(batch);
        let rows = batch.num_rows();
        self.rest_max = self.rows_max;
        if rows <= self.rows_max {
            match project(&self.columns, &self.schema, &batch) {
                Err(error) if self.may_be_halved(&error, rows) => {
                    self.rows_max = rows / 2;
                    self.rest_max = self.rows_max;
                }
                Err(_) if rows > 1 && !self.columns.iter().any(is_volatile) => self.rest_max = 1,
                projected => return projected.map(Some),
            }
        }
        self.rest = Some(batch).filter(|_| rows > 0);
        Ok(None)
    }

    /// Whether rows are left of the batch.
    pub(crate) fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// Leaves the rest of the batch out.
    pub(crate) fn forget(&mut self) {
        self.rest = None;
    }

    /// The next of them. Errors: the expressions'.
    pub(crate) fn next(&mut self) -> Result<RecordBatch> {
        let Some(batch) = self.rest.take() else {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.schema)));
        };
        loop {
            let rows = self.rest_max.min(batch.num_rows());
            match project(&self.columns, &self.schema, &batch.slice(0, rows)) {
                Err(error) if self.may_be_halved(&error, rows) => {
                    self.rows_max = rows / 2;
                    self.rest_max = self.rows_max;
                }
                projected => {
                    let rest = batch.num_rows() - rows;
                    self.rest = (rest > 0).then(|| batch.slice(rows, rest));
                    return projected;
                }
            }
        }
    }

    /// Whether fewer rows may do where so many did not.
    fn may_be_halved(&self, error: &Error, rows: usize) -> bool {
        let is_memory = matches!(
            error,
            Error::LimitExceeded {
                state: Limit::Memory,
                ..
            }
        );
        rows > 1 && is_memory && !self.columns.iter().any(is_volatile)
    }
}
