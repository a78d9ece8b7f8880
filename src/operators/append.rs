//! `Append`, as PostgreSQL calls it: the rows of several inputs, one after the other, in one stream. DataFusion's union has a part for
//! each input, each of which is gathered by a task of its own: too much for plans that are short.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::{StreamExt, stream};

/// Has unions give their rows in one part. To come before all rules that see to parts.
#[derive(Debug)]
pub(super) struct AppendUnions;

impl PhysicalOptimizerRule for AppendUnions {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match node.downcast_ref::<UnionExec>() {
                Some(union) => {
                    let inputs = union.inputs().to_vec();
                    Transformed::yes(Arc::new(Append::new(inputs, union)) as Arc<dyn ExecutionPlan>)
                }
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "append_unions"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The node.
#[derive(Debug)]
pub(super) struct Append {
    inputs: Vec<Arc<dyn ExecutionPlan>>,
    properties: Arc<PlanProperties>,
}

impl Append {
    fn new(inputs: Vec<Arc<dyn ExecutionPlan>>, like: &dyn ExecutionPlan) -> Append {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(like.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Append {
            inputs,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for Append {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Append")
    }
}

impl ExecutionPlan for Append {
    fn name(&self) -> &str {
        "Append"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition; self.inputs.len()]
    }
    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
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
        // Branches may differ in what they know of NULLs.
        let rows = stream::iter(streams)
            .flatten()
            .map(move |batch| Ok(batch?.with_schema(Arc::clone(&of_schema))?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.boxed())))
    }
}
