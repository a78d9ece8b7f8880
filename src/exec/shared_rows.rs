//! Rows that several places of a plan read and that must be the same there: a WITH query whose functions are volatile.
//! The first place that asks runs the query to its end, the others find its rows. The binder places it in logical plans;
//! `SharedRowsPlanner` makes it executable. A plan that holds one serves one run.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::DFSchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::OnceCell;

use super::only_input::only_input;

/// The rows of one run, and the memory they take of the statement's.
type Rows = OnceCell<(Vec<RecordBatch>, MemoryReservation)>;

/// The logical node: its input's rows, the same wherever a copy of the node stands.
#[derive(Debug, Clone)]
pub struct SharedRows {
    input: LogicalPlan,
    rows: Arc<Rows>,
}

impl SharedRows {
    /// The node over `input`.
    pub fn plan(input: LogicalPlan) -> LogicalPlan {
        let rows = Arc::default();
        let node = Arc::new(SharedRows { input, rows });
        LogicalPlan::Extension(Extension { node })
    }

    /// What tells it from others.
    fn identity(&self) -> *const Rows {
        Arc::as_ptr(&self.rows)
    }
}

/// Whether the node gives the same rows wherever it stands.
pub fn is_shared(node: &LogicalPlan) -> bool {
    match node {
        LogicalPlan::Extension(extension) => extension.node.as_any().is::<SharedRows>(),
        _ => false,
    }
}

impl PartialEq for SharedRows {
    fn eq(&self, other: &SharedRows) -> bool {
        self.identity() == other.identity() && self.input == other.input
    }
}

impl Eq for SharedRows {}

impl Hash for SharedRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
    }
}

impl PartialOrd for SharedRows {
    fn partial_cmp(&self, other: &SharedRows) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for SharedRows {
    fn name(&self) -> &str {
        "SharedRows"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }
    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }
    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }
    /// All: what one place filters, another may want.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        let fields = self.input.schema().fields();
        fields.iter().map(|field| field.name().clone()).collect()
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedRows")
    }
    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> DataFusionResult<SharedRows> {
        let input = only_input(inputs)?;
        Ok(SharedRows {
            input,
            rows: Arc::clone(&self.rows),
        })
    }
}

/// Plans shared rows.
#[derive(Debug)]
pub(super) struct SharedRowsPlanner;

#[async_trait]
impl ExtensionPlanner for SharedRowsPlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _planning: &PhysicalPlanningContext,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(shared), [input]) = (node.as_any().downcast_ref::<SharedRows>(), physical_inputs) else {
            return Ok(None);
        };
        Ok(Some(Arc::new(SharedRowsExec::new(
            Arc::clone(input),
            Arc::clone(&shared.rows),
        ))))
    }
}

/// The executable node.
#[derive(Debug)]
struct SharedRowsExec {
    input: Arc<dyn ExecutionPlan>,
    rows: Arc<Rows>,
    properties: Arc<PlanProperties>,
}

impl SharedRowsExec {
    fn new(input: Arc<dyn ExecutionPlan>, rows: Arc<Rows>) -> SharedRowsExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        SharedRowsExec {
            input,
            rows,
            properties: Arc::new(properties),
        }
    }
}

impl DisplayAs for SharedRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedRowsExec")
    }
}

impl ExecutionPlan for SharedRowsExec {
    fn name(&self) -> &str {
        "SharedRowsExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    /// All rows come in one stream, whatever branches they come from: the first place that asks takes them all.
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
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
        let input = only_input(children)?;
        Ok(Arc::new(SharedRowsExec::new(input, Arc::clone(&self.rows))))
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
