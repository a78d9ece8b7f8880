//! `RowsExec` gives rows that are in memory: those of a statement's own, of the system's relations, and the constants of VALUES. Made by
//! `builder`.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::stats::Precision;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{ScalarValue, Statistics};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::node_properties;
use super::planning::statement_context;
use crate::logical::rows_source::MadeRows;
use crate::system::StatementContext;

/// What a node's rows are.
#[derive(Debug, Clone)]
enum Source {
    Made {
        rows: MadeRows,
        projection: Option<Arc<[usize]>>,
        /// So many there are in the run that the plan was made for.
        count: usize,
    },
    /// Expressions without columns, computed when the plan runs.
    Values(Arc<[Vec<Arc<dyn PhysicalExpr>>]>),
}

/// Gives rows that are in memory.
#[derive(Debug, Clone)]
pub struct RowsExec {
    source: Source,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl RowsExec {
    /// Columns of batches of this schema, in a plan that is made for a run of this statement.
    pub(super) fn of(
        schema: &SchemaRef,
        rows: MadeRows,
        projection: Option<&[usize]>,
        ctx: &StatementContext,
    ) -> DataFusionResult<RowsExec> {
        let given = match projection {
            Some(columns) => Arc::new(schema.project(columns)?),
            None => Arc::clone(schema),
        };
        let source = Source::Made {
            projection: projection.map(Arc::from),
            count: rows.in_run(ctx).iter().map(RecordBatch::num_rows).sum(),
            rows,
        };
        Ok(RowsExec::new(source, given))
    }

    /// The rows of VALUES.
    pub(super) fn values(rows: Vec<Vec<Arc<dyn PhysicalExpr>>>, schema: SchemaRef) -> RowsExec {
        RowsExec::new(Source::Values(rows.into()), schema)
    }

    fn new(source: Source, schema: SchemaRef) -> RowsExec {
        let properties = node_properties::in_parts(Arc::clone(&schema), 1);
        RowsExec {
            source,
            schema,
            properties,
        }
    }

    fn num_rows(&self) -> usize {
        match &self.source {
            Source::Made { count, .. } => *count,
            Source::Values(rows) => rows.len(),
        }
    }
}

impl DisplayAs for RowsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "RowsExec: {} rows", self.num_rows())
    }
}

impl ExecutionPlan for RowsExec {
    fn name(&self) -> &str {
        "RowsExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        let Source::Values(rows) = &self.source else {
            return Ok(TreeNodeRecursion::Continue);
        };
        for expr in rows.iter().flatten() {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn partition_statistics(&self, _: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = Precision::Inexact(self.num_rows());
        Ok(Arc::new(statistics))
    }
    fn execute(&self, _: usize, context: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let schema = Arc::clone(&self.schema);
        let batches = match &self.source {
            Source::Made { rows, projection, .. } => {
                let batches = match rows {
                    MadeRows::Batches(batches) => Arc::clone(batches),
                    rows => rows.in_run(&*statement_context(context.session_config())?),
                };
                let (count, projection) = (batches.len(), projection.clone());
                let projected = move |at: usize| match &projection {
                    Some(columns) => Ok(batches[at].project(columns)?),
                    None => Ok(batches[at].clone()),
                };
                stream::iter((0..count).map(projected)).boxed()
            }
            Source::Values(rows) => {
                let (rows, schema) = (Arc::clone(rows), Arc::clone(&schema));
                stream::once(async move { values(&rows, schema) }).boxed()
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// The rows of VALUES in one batch. Errors: those of computing them.
fn values(rows: &[Vec<Arc<dyn PhysicalExpr>>], schema: SchemaRef) -> DataFusionResult<RecordBatch> {
    let nothing = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        Vec::new(),
        &RecordBatchOptions::new().with_row_count(Some(1)),
    )?;
    let cell = |expr: &Arc<dyn PhysicalExpr>| match expr.evaluate(&nothing)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
    };
    let mut columns = vec![Vec::with_capacity(rows.len()); schema.fields().len()];
    // Row by row: what a call gives may hang on those before it.
    for row in rows {
        for (cells, expr) in columns.iter_mut().zip(row) {
            cells.push(cell(expr)?);
        }
    }
    let columns = columns.into_iter().zip(schema.fields());
    let columns = columns.map(|(cells, field)| match cells.is_empty() {
        true => Ok(new_null_array(field.data_type(), 0)),
        false => ScalarValue::iter_to_array(cells),
    });
    let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
