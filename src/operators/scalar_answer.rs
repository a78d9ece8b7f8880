//! The answer of a scalar subquery that is run before the rows around it. PostgreSQL runs it when it is read for the first time, if ever: so
//! what fails in it is raised where it is read ([`SubqueryValue`]), and [`ScalarAnswer`] keeps it until then.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{FieldRef, Schema};
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties};
use futures::{TryStreamExt, stream};

use super::node_properties::{node_without_expressions, only_input};
use crate::Error;
use crate::system::datafusion_error::{from_datafusion, to_datafusion};

/// Why a subquery has no answer, if it has none.
#[derive(Debug, Clone, Default)]
pub(super) struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    fn put(&self, error: Option<Error>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = error;
    }

    fn get(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The rows of a subquery, of which there is one, or none where it failed.
#[derive(Debug)]
pub(super) struct ScalarAnswer {
    input: Arc<dyn ExecutionPlan>,
    failure: Failure,
}

impl ScalarAnswer {
    /// Of a subquery.
    pub(super) fn of(input: Arc<dyn ExecutionPlan>, failure: Failure) -> ScalarAnswer {
        let input: Arc<dyn ExecutionPlan> = match input.output_partitioning().partition_count() {
            1 => input,
            _ => Arc::new(CoalescePartitionsExec::new(input)),
        };
        ScalarAnswer { input, failure }
    }

    /// What the subquery runs as.
    pub(super) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }
}

impl DisplayAs for ScalarAnswer {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "ScalarAnswer")
    }
}

impl ExecutionPlan for ScalarAnswer {
    node_without_expressions!("ScalarAnswer", |node| node.input.properties());
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ScalarAnswer::of(
            only_input(children)?,
            self.failure.clone(),
        )))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let (failure, schema) = (self.failure.clone(), self.schema());
        failure.put(None);
        let rows = self.input.execute(partition, context)?;
        let none = RecordBatch::new_empty(Arc::clone(&schema));
        let answer = async move {
            match only_row(rows).await {
                Err(error) if error.is_of_values() => failure.put(Some(error)),
                Err(error) => return Err(to_datafusion(error)),
                Ok(row) => return Ok(row.unwrap_or(none)),
            }
            Ok(none)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            schema,
            stream::once(answer),
        )))
    }
}

/// The only row there is. Errors: 21000 for a second one.
async fn only_row(mut rows: SendableRecordBatchStream) -> crate::Result<Option<RecordBatch>> {
    let mut found: Option<RecordBatch> = None;
    while let Some(batch) = rows.try_next().await.map_err(from_datafusion)? {
        if batch.num_rows() == 0 {
            continue;
        }
        if batch.num_rows() > 1 || found.is_some() {
            return Err(Error::CardinalityViolation);
        }
        found = Some(batch);
    }
    Ok(found)
}

/// The value of a subquery. Errors: what failed in it.
#[derive(Debug)]
pub(super) struct SubqueryValue {
    pub(super) value: ScalarSubqueryExpr,
    failure: Failure,
}

impl SubqueryValue {
    /// What is read of it.
    pub(super) fn new(value: ScalarSubqueryExpr, failure: Failure) -> SubqueryValue {
        SubqueryValue { value, failure }
    }
}

impl fmt::Display for SubqueryValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl PartialEq for SubqueryValue {
    fn eq(&self, other: &SubqueryValue) -> bool {
        self.value == other.value
    }
}

impl Eq for SubqueryValue {}

impl Hash for SubqueryValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PhysicalExpr for SubqueryValue {
    fn return_field(&self, schema: &Schema) -> DataFusionResult<FieldRef> {
        self.value.return_field(schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        // For no rows nobody reads it.
        match self.failure.get().filter(|_| batch.num_rows() > 0) {
            Some(error) => Err(to_datafusion(error)),
            None => self.value.evaluate(batch),
        }
    }
    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        Vec::new()
    }
    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn PhysicalExpr>>,
    ) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        Ok(self)
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}
