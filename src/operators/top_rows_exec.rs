//! `TopRowsExec`: the first rows in an order, read in it until there are enough. Where those are far apart, which nobody knows before, a scan that
//! fetches rows by their keys takes longer than one that reads all; so the scan has a budget (`read_budget`), and when that is spent the rows
//! are made in the other way, from the beginning. Made by `builder`.
//!
//! Invariants:
//! 1. Nothing is given before it is known which of the two ways it is of: the rows of both may differ in the order of equal keys.
//! 2. What a read gave whose budget is spent is nothing, however much it is: groups may have more rows, and equal keys too.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::{LexOrdering, OrderingRequirements};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::known_order::with_order;
use super::node_properties;
use super::renamed_batch::as_rows_of;
use super::scan_exec::KeyspanScanExec;
use crate::operators::node_properties::node_without_expressions;
use crate::scan::read_budget::ReadBudget;
use crate::system::datafusion_error::to_datafusion;

/// The node.
#[derive(Debug)]
pub(crate) struct TopRowsExec {
    streamed: Arc<dyn ExecutionPlan>,
    whole: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
}

impl TopRowsExec {
    /// Of two plans that give the same rows in this order; a scan of the first has a budget.
    pub(super) fn new(
        streamed: Arc<dyn ExecutionPlan>,
        whole: Arc<dyn ExecutionPlan>,
        order: LexOrdering,
    ) -> TopRowsExec {
        let unordered = node_properties::in_parts(whole.schema(), 1);
        TopRowsExec {
            properties: with_order(&unordered, &order),
            streamed,
            whole,
            order,
        }
    }

    /// What is read until there is enough.
    pub(crate) fn streamed(&self) -> &Arc<dyn ExecutionPlan> {
        &self.streamed
    }

    /// What is read where that is too much.
    pub(crate) fn whole(&self) -> &Arc<dyn ExecutionPlan> {
        &self.whole
    }
}

impl DisplayAs for TopRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "TopRowsExec")
    }
}

impl ExecutionPlan for TopRowsExec {
    node_without_expressions!("TopRowsExec");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.streamed, &self.whole]
    }
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition; 2]
    }
    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let order = OrderingRequirements::from(self.order.clone());
        vec![Some(order.clone()), Some(order)]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let mut children = children.into_iter();
        Ok(Arc::new(TopRowsExec {
            streamed: node_properties::only_input(children.next().into_iter().collect())?,
            whole: node_properties::only_input(children.collect())?,
            order: self.order.clone(),
            properties: Arc::clone(&self.properties),
        }))
    }
    fn execute(&self, part: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let (streamed, whole) = (Arc::clone(&self.streamed), Arc::clone(&self.whole));
        let schema = self.schema();
        let of_schema = Arc::clone(&schema);
        let rows = stream::once(async move {
            let budget = budget_of(&streamed);
            let (rows, held) = collect(streamed, part, &context).await?;
            if budget.is_some_and(|budget| budget.is_spent()) {
                drop((rows, held));
                return whole.execute(part, context).map(StreamExt::boxed);
            }
            let rows = rows.into_iter().map(move |row| {
                let _held = &held;
                Ok(row)
            });
            Ok(stream::iter(rows).boxed())
        });
        let rows = rows.try_flatten();
        // The two may differ in what they know of NULLs, and of lengths.
        let rows = rows.map(move |batch| as_rows_of(batch?, &of_schema).map_err(to_datafusion));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.boxed())))
    }
}

/// The budget of the scan below that has one.
fn budget_of(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<ReadBudget>> {
    let scan = plan.downcast_ref::<KeyspanScanExec>();
    let own = scan.and_then(KeyspanScanExec::budget).cloned();
    own.or_else(|| plan.children().into_iter().find_map(budget_of))
}

/// The rows of a plan. Errors: 53200 beyond the statement's memory.
async fn collect(
    plan: Arc<dyn ExecutionPlan>,
    part: usize,
    context: &Arc<TaskContext>,
) -> DataFusionResult<(Vec<RecordBatch>, MemoryReservation)> {
    let held = MemoryConsumer::new("TopRows").register(context.memory_pool());
    let mut stream = plan.execute(part, Arc::clone(context))?;
    let mut batches = Vec::new();
    while let Some(batch) = stream.try_next().await? {
        held.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok((batches, held))
}
