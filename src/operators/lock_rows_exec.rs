//! `LockRowsExec`: rows that are locked as they come by, as a node of an executable plan. Their order stays.

use std::fmt;
use std::sync::Arc;

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt, stream};

use super::node_properties;
use super::row_locks::{KeyedLocks, MadeRows, RunningRowLocks, TableRowLocks};
use crate::Result;
use crate::logical::placeholder::Constants;
use crate::logical::run_inputs::RunInputs;
use crate::operators::node_properties::{node_without_expressions, only_input, over_another};
use crate::operators::physical_expr::ExprBuilder;
use crate::operators::planning::statement_context;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::{Column, LockRows};

/// The node.
#[derive(Debug, Clone)]
pub(crate) struct LockRowsExec {
    input: Arc<dyn ExecutionPlan>,
    tables: Arc<[KeyedLocks]>,
    made: Option<MadeRows>,
    /// Of a generic plan: what its runs are given.
    inputs: Option<Arc<RunInputs>>,
    /// No more rows are locked than these.
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl LockRowsExec {
    /// The node over its input.
    pub(super) fn build(
        node: &LockRows,
        input: Arc<dyn ExecutionPlan>,
        exprs: &ExprBuilder,
    ) -> DataFusionResult<LockRowsExec> {
        let schema = node.input.schema();
        // Those that nobody reads are gone.
        let of_made = |at| {
            node.made
                .schema()
                .index_of_column(&Column::from(schema.qualified_field(at)))
        };
        let columns = (0..schema.fields().len())
            .map(of_made)
            .collect::<Result<Arc<[usize]>>>()?;
        let tables = node.locks.iter().map(|lock| {
            Ok(KeyedLocks {
                table: Arc::new(TableRowLocks::new(lock)),
                key: exprs.all(&lock.key, schema)?,
            })
        });
        let tables = tables.collect::<DataFusionResult<Vec<KeyedLocks>>>()?;
        Ok(LockRowsExec {
            properties: properties_over(&input),
            input,
            tables: tables.into(),
            made: MadeRows::of(node, Some(columns)),
            inputs: exprs.inputs.clone(),
            fetch: None,
        })
    }

    /// Where its rows come from.
    pub(crate) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }
}

fn properties_over(input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
    node_properties::in_order(input.properties().equivalence_properties().clone())
}

impl DisplayAs for LockRowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LockRowsExec")
    }
}

impl ExecutionPlan for LockRowsExec {
    node_without_expressions!("LockRowsExec");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = only_input(children)?;
        Ok(Arc::new(LockRowsExec {
            properties: over_another((&self.input, &self.properties), &input, properties_over),
            input,
            ..LockRowsExec::clone(&self)
        }))
    }
    fn fetch(&self) -> Option<usize> {
        self.fetch
    }
    fn with_fetch(&self, fetch: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(LockRowsExec {
            fetch,
            ..self.clone()
        }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let ctx = statement_context(context.session_config())?;
        let constants = match &self.inputs {
            Some(inputs) => inputs.given().map(|given| Constants::clone(&given.constants)),
            // What parameters stand for is part of the plan.
            None => Constants::new(&ctx, &[]),
        };
        let constants = constants.map_err(to_datafusion)?;
        let made = self.made.clone().map(|made| (made, constants));
        let locks = RunningRowLocks::new(self.tables.to_vec(), &ctx, made, self.fetch);
        let input = self.input.execute(partition, context)?;
        let rows = stream::try_unfold((input, locks), |(mut input, mut locks)| async move {
            loop {
                while locks.has_more() {
                    let locked = locks.next().await.map_err(to_datafusion)?;
                    if let Some(locked) = locked.filter(|rows| rows.num_rows() > 0) {
                        return Ok(Some((locked, (input, locks))));
                    }
                }
                if locks.is_done() {
                    return Ok(None);
                }
                match input.try_next().await? {
                    Some(batch) => locks.push(batch),
                    None => return Ok::<_, DataFusionError>(None),
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.input.schema(),
            rows.boxed(),
        )))
    }
}
