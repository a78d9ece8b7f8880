//! `RowByRow`: rows one at a time, below a select list of which one call may change what another gives (`nextval` beside `currval`,
//! functions of users that write): a batch is computed column by column, and PostgreSQL computes a row at a time. Also below what acts (takes
//! a lock, writes), where perhaps only some of the rows are asked for. Put there by `builder`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt, stream};

use super::node_properties::{node_without_expressions, only_input};

/// The rows of the input, each in a batch of its own.
#[derive(Debug)]
pub(super) struct RowByRow {
    input: Arc<dyn ExecutionPlan>,
}

impl RowByRow {
    /// The rows of a node.
    pub(super) fn of(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(RowByRow { input })
    }
}

impl DisplayAs for RowByRow {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "RowByRow")
    }
}

impl ExecutionPlan for RowByRow {
    node_without_expressions!("RowByRow", |node| node.input.properties());
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(RowByRow::of(only_input(children)?))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let batches = self.input.execute(partition, context)?;
        let schema = batches.schema();
        let rows = batches.map_ok(|batch| {
            let rows = (0..batch.num_rows()).map(move |row| Ok(batch.slice(row, 1)));
            stream::iter(rows)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            rows.try_flatten().boxed(),
        )))
    }
}
