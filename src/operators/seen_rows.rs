//! `SeenRows`: the rows of a recursion (WITH RECURSIVE … UNION) whose equal values may differ, told apart by keys that stand beside them:
//! DataFusion's recursion compares whole rows. Put around a recursion and above each of its terms by `builder`.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion_physical_plan::aggregates::order::GroupOrdering;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use futures::{StreamExt, TryStreamExt, stream};

use super::Operator;
use super::node_properties::{node_without_expressions, only_input};

/// What the nodes of one recursion share: which columns tell its rows apart, and, while it runs, which rows it has had.
#[derive(Debug, Clone)]
pub(super) struct SeenRows {
    places: Arc<[usize]>,
    /// Kept by the stream of the whole recursion alone.
    keys: Arc<Mutex<Weak<Mutex<SeenKeys>>>>,
}

/// The keys of the rows that a run has had.
struct SeenKeys {
    groups: Box<dyn GroupValues>,
    /// The number of each row's key, of a batch.
    numbers: Vec<usize>,
    reservation: MemoryReservation,
}

impl SeenRows {
    /// Of rows that the columns at these places tell apart.
    pub(super) fn by(places: &[usize]) -> SeenRows {
        SeenRows {
            places: places.into(),
            keys: Arc::default(),
        }
    }

    /// The rows of a term of the recursion that it has not had.
    pub(super) fn unseen(&self, term: Operator) -> Operator {
        Arc::new(UnseenRows {
            input: term,
            seen: self.clone(),
        })
    }

    /// The recursion, which keeps what was seen as long as it runs.
    pub(super) fn around(&self, recursion: Operator) -> Operator {
        Arc::new(SeenRowsScope {
            input: recursion,
            seen: self.clone(),
        })
    }

    /// Begins a run.
    fn begin(&self, schema: &SchemaRef, context: &TaskContext) -> DataFusionResult<Arc<Mutex<SeenKeys>>> {
        let keys = Arc::new(schema.project(&self.places)?);
        let keys = Arc::new(Mutex::new(SeenKeys {
            groups: new_group_values(keys, &GroupOrdering::None)?,
            numbers: Vec::new(),
            reservation: MemoryConsumer::new("SeenRows").register(context.memory_pool()),
        }));
        *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&keys);
        Ok(keys)
    }

    /// Those of the batch that the run has not had. Errors: 53200 beyond the statement's memory.
    fn unseen_of(&self, batch: &RecordBatch) -> DataFusionResult<RecordBatch> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        let keys =
            keys.ok_or_else(|| DataFusionError::Internal("a term without its recursion".to_string()))?;
        let columns: Vec<ArrayRef> = self
            .places
            .iter()
            .map(|place| Arc::clone(batch.column(*place)))
            .collect();
        let mut keys = keys.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(filter_record_batch(batch, &keys.are_new(&columns)?)?)
    }
}

impl SeenKeys {
    /// Whether each row's key is the first of its kind; all are seen from now on.
    fn are_new(&mut self, keys: &[ArrayRef]) -> DataFusionResult<BooleanArray> {
        // New keys are numbered as they come.
        let mut next = self.groups.len();
        self.groups.intern(keys, &mut self.numbers)?;
        self.reservation.try_resize(self.groups.size())?;
        let are_new = self.numbers.iter().map(|number| {
            let is_new = *number == next;
            next += usize::from(is_new);
            is_new
        });
        Ok(are_new.collect::<Vec<bool>>().into())
    }
}

/// Whether a node is one of these.
pub(super) fn is_of(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<UnseenRows>() || plan.is::<SeenRowsScope>()
}

/// The rows of a term that the recursion has not had.
#[derive(Debug)]
struct UnseenRows {
    input: Operator,
    seen: SeenRows,
}

impl DisplayAs for UnseenRows {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "UnseenRows")
    }
}

impl ExecutionPlan for UnseenRows {
    node_without_expressions!("UnseenRows", |node| node.input.properties());
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn children(&self) -> Vec<&Operator> {
        vec![&self.input]
    }
    fn with_new_children(self: Arc<Self>, children: Vec<Operator>) -> DataFusionResult<Operator> {
        Ok(self.seen.unseen(only_input(children)?))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let batches = self.input.execute(partition, context)?;
        let (schema, seen) = (batches.schema(), self.seen.clone());
        let unseen = batches.and_then(move |batch| std::future::ready(seen.unseen_of(&batch)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, unseen.boxed())))
    }
}

/// A recursion that keeps what was seen while it runs.
#[derive(Debug)]
struct SeenRowsScope {
    input: Operator,
    seen: SeenRows,
}

impl DisplayAs for SeenRowsScope {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "SeenRowsScope")
    }
}

impl ExecutionPlan for SeenRowsScope {
    node_without_expressions!("SeenRowsScope", |node| node.input.properties());
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn children(&self) -> Vec<&Operator> {
        vec![&self.input]
    }
    fn with_new_children(self: Arc<Self>, children: Vec<Operator>) -> DataFusionResult<Operator> {
        Ok(self.seen.around(only_input(children)?))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let schema = self.input.schema();
        let keys = self.seen.begin(&schema, &context)?;
        let rows = self.input.execute(partition, context)?;
        // The keys live as long as the stream.
        let rows = stream::try_unfold((rows, keys), |(mut rows, keys)| async move {
            let batch = rows.try_next().await?;
            Ok(batch.map(|batch| (batch, (rows, keys))))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows.boxed())))
    }
}
