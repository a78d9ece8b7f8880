//! `Append`, as PostgreSQL calls it: the rows of several inputs, one after the other, in one stream. Made by `builder`.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::node_properties;
use super::renamed_batch::as_rows_of;
use crate::operators::node_properties::node_without_expressions;
use crate::system::datafusion_error::to_datafusion;

/// The node.
#[derive(Debug)]
pub struct Append {
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl Append {
    /// Of inputs whose columns are of these types.
    pub(super) fn new(inputs: Vec<Arc<dyn ExecutionPlan>>, schema: &SchemaRef) -> Append {
        let properties = node_properties::in_parts(Arc::clone(schema), 1);
        Append { inputs, properties }
    }
}

impl DisplayAs for Append {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Append")
    }
}

impl ExecutionPlan for Append {
    node_without_expressions!("Append");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition; self.inputs.len()]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Append {
            inputs: children,
            properties: Arc::clone(&self.properties),
        }))
    }
    fn execute(&self, part: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let schema = self.schema();
        let streams = self
            .inputs
            .iter()
            .map(|input| input.execute(part, Arc::clone(&context)));
        let streams = streams.collect::<DataFusionResult<Vec<_>>>()?;
        let of_schema = Arc::clone(&schema);
        // Branches may differ in what they know of NULLs, and of lengths.
        let rows = stream::iter(streams).flatten();
        let rows = rows.map(move |batch| as_rows_of(batch?, &of_schema).map_err(to_datafusion));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.boxed())))
    }
}
