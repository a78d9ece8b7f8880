//! Shared rows as executable plans, made by `builder`.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::node_properties;
use crate::operators::node_properties::{node_without_expressions, only_input};
use crate::tree::{Rows, SharedRows};

/// The executable node.
#[derive(Debug)]
pub(super) struct SharedRowsExec {
    input: Arc<dyn ExecutionPlan>,
    rows: Arc<Rows>,
    properties: Arc<PlanProperties>,
}

impl SharedRowsExec {
    /// The node over its input.
    pub(super) fn build(node: &SharedRows, input: Arc<dyn ExecutionPlan>) -> SharedRowsExec {
        SharedRowsExec {
            rows: Arc::clone(&node.rows),
            properties: node_properties::in_parts(input.schema(), 1),
            input,
        }
    }
}

impl DisplayAs for SharedRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedRowsExec")
    }
}

impl ExecutionPlan for SharedRowsExec {
    node_without_expressions!("SharedRowsExec");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    /// All rows come in one stream, whatever branches they come from: the first place that asks takes them all.
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        // Of the input its properties have the schema alone.
        Ok(Arc::new(SharedRowsExec {
            input: only_input(children)?,
            rows: Arc::clone(&self.rows),
            properties: Arc::clone(&self.properties),
        }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let (input, rows) = (Arc::clone(&self.input), Arc::clone(&self.rows));
        let found = async move {
            let collected = rows.get_or_try_init(|| collect(input, partition, context));
            let (batches, _) = collected.await?;
            Ok::<_, DataFusionError>(stream::iter(batches.clone().into_iter().map(Ok)))
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.input.schema(),
            stream::once(found).try_flatten().boxed(),
        )))
    }
}

/// Every batch of the input. Errors: 53200 beyond the statement's memory.
async fn collect(
    input: Arc<dyn ExecutionPlan>,
    partition: usize,
    context: Arc<TaskContext>,
) -> DataFusionResult<(Vec<RecordBatch>, MemoryReservation)> {
    let reservation = MemoryConsumer::new("SharedRows").register(context.memory_pool());
    let mut stream = input.execute(partition, context)?;
    let mut batches = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        reservation.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok((batches, reservation))
}
