//! `LookupJoinExec`: a join by lookup as a node of an executable plan. The order of the outer rows stays.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, PlanProperties};
use futures::future::poll_fn;
use futures::{StreamExt, TryStreamExt, stream};

use super::node_properties;
use crate::Result;
use crate::operators::lookup::{Lookup, LookupFigures, RunningLookup};
use crate::operators::node_properties::{node_without_expressions, only_input};
use crate::operators::observer::CountMore;
use crate::operators::planning::{run_constants, statement_context};
use crate::system::allowance::take;
use crate::system::datafusion_error::{from_datafusion, to_datafusion};
use crate::tree::LookupJoin;

/// The node.
#[derive(Debug, Clone)]
pub(crate) struct LookupJoinExec {
    outer: Arc<dyn ExecutionPlan>,
    lookup: Arc<Lookup>,
    /// For each of its columns the place of it in what the lookup gives: outer columns first, all of them.
    columns: Arc<[usize]>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    figures: Arc<LookupFigures>,
}

impl LookupJoinExec {
    /// The node over its outer rows.
    pub(crate) fn build(
        node: &LookupJoin,
        outer: Arc<dyn ExecutionPlan>,
    ) -> DataFusionResult<LookupJoinExec> {
        let (rows, conditions) = (node.outer.schema(), &node.conditions);
        let lookup = Lookup::new(
            node.inner.as_ref().clone(),
            rows,
            &node.both,
            node.partners,
            conditions,
        )
        .ok_or_else(|| DataFusionError::Internal("a lookup by no key".to_string()))?;
        let own = rows.fields().len();
        let columns = (0..own).chain(node.seen.iter().map(|at| own + at)).collect();
        let schema = Arc::clone(node.schema.inner());
        LookupJoinExec::new(outer, (Arc::new(lookup), columns), schema)
    }

    fn new(
        outer: Arc<dyn ExecutionPlan>,
        (lookup, columns): (Arc<Lookup>, Arc<[usize]>),
        schema: SchemaRef,
    ) -> DataFusionResult<LookupJoinExec> {
        let properties = node_properties::beside_input(&outer, &schema)?;
        Ok(LookupJoinExec {
            outer,
            lookup,
            columns,
            schema,
            properties,
            figures: Arc::default(),
        })
    }

    /// The same over other outer rows.
    fn over(&self, outer: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let lookup = (Arc::clone(&self.lookup), Arc::clone(&self.columns));
        Ok(Arc::new(LookupJoinExec {
            figures: Arc::clone(&self.figures),
            ..LookupJoinExec::new(outer, lookup, Arc::clone(&self.schema))?
        }))
    }

    /// Begins a run.
    fn start(&self, context: &TaskContext) -> Result<RunningLookup> {
        let config = context.session_config();
        let ctx = statement_context(config).map_err(from_datafusion)?;
        let mut lookup = self.lookup.start(&ctx, &*run_constants(config)?, true)?;
        lookup.observe(Arc::clone(&self.figures));
        Ok(lookup)
    }

    /// Where its outer rows come from.
    pub(crate) fn outer(&self) -> &Arc<dyn ExecutionPlan> {
        &self.outer
    }

    /// What is looked up for them.
    pub(crate) fn lookup(&self) -> &Lookup {
        &self.lookup
    }

    /// For each of its columns the place of it in what the lookup gives.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// What was looked up, if it is observed.
    pub(crate) fn figures(&self) -> &LookupFigures {
        &self.figures
    }
}

impl DisplayAs for LookupJoinExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "LookupJoinExec: {}", self.lookup.alias())
    }
}

impl ExecutionPlan for LookupJoinExec {
    node_without_expressions!("LookupJoinExec");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.outer]
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
        self.over(only_input(children)?)
    }
    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        match options.children_properties {
            ChildrenPropertiesMode::Recompute => self.over(only_input(children)?),
            ChildrenPropertiesMode::Keep => Ok(Arc::new(LookupJoinExec {
                outer: only_input(children)?,
                ..self.as_ref().clone()
            })),
        }
    }
    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        let earlier: Option<&LookupJoinExec> = CountMore::earlier(&*state)?;
        Some(Arc::new(LookupJoinExec {
            figures: earlier.map_or_else(Arc::default, |earlier| Arc::clone(&earlier.figures)),
            ..self.clone()
        }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let lookup = self.start(&context).map_err(to_datafusion)?;
        let outer = self.outer.execute(partition, context)?;
        let (columns, schema) = (Arc::clone(&self.columns), Arc::clone(&self.schema));
        let batches = stream::try_unfold((outer, lookup), move |(mut outer, mut lookup)| {
            let (columns, schema) = (Arc::clone(&columns), Arc::clone(&schema));
            async move {
                loop {
                    while lookup.has_more() {
                        poll_fn(take).await;
                        let joined = lookup.next().await.map_err(to_datafusion)?;
                        if joined.num_rows() > 0 {
                            let joined = select(&joined, &columns, &schema)?;
                            return Ok(Some((joined, (outer, lookup))));
                        }
                    }
                    match outer.try_next().await? {
                        Some(batch) => lookup.push(batch),
                        None => return Ok::<_, DataFusionError>(None),
                    }
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches.boxed(),
        )))
    }
}

/// These columns of a batch, as the schema has them.
fn select(batch: &RecordBatch, columns: &[usize], schema: &SchemaRef) -> DataFusionResult<RecordBatch> {
    let columns = columns.iter().map(|at| Arc::clone(batch.column(*at)));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns.collect(),
        &options,
    )?)
}
