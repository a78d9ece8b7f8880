//! `WindowMemory`: the rows that a window over whole partitions collects, counted in the statement's memory. DataFusion's
//! window keeps all of its input and counts nothing. Put below such windows by `builder`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_execution::memory_pool::MemoryConsumer;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt};

use crate::operators::node_properties::{node_without_expressions, only_input};

/// How often a window holds its rows: as they came, and put together.
const COPIES: usize = 2;

/// Passes rows on, and holds the memory that they take until whoever collects them is done.
#[derive(Debug)]
pub(super) struct WindowMemory {
    input: Arc<dyn ExecutionPlan>,
}

impl WindowMemory {
    /// The rows of the input.
    pub(super) fn of(input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(WindowMemory { input })
    }
}

impl DisplayAs for WindowMemory {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "WindowMemory")
    }
}

impl ExecutionPlan for WindowMemory {
    node_without_expressions!("WindowMemory", |node| node.input.properties());
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
        let input = only_input(children)?;
        Ok(Arc::new(WindowMemory { input }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let held = MemoryConsumer::new("Window").register(context.memory_pool());
        let rows = self.input.execute(partition, context)?;
        let schema = rows.schema();
        let counted = rows.and_then(move |batch| {
            let counted = held.try_grow(COPIES * batch.get_array_memory_size());
            futures::future::ready(counted.map(|()| batch))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, counted.boxed())))
    }
}
