//! Rows that several places of a plan read and that must be the same there: a WITH query whose functions are volatile.
//! The first place that asks runs the query to its end, the others find its rows. The binder places the node in logical plans;
//! `shared_rows_exec` makes it executable. A plan that holds one serves one run.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_common::DFSchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_execution::memory_pool::MemoryReservation;
use datafusion_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use tokio::sync::OnceCell;

use super::only_input::only_input;

/// The rows of one run, and the memory they take of the statement's.
pub(crate) type Rows = OnceCell<(Vec<RecordBatch>, MemoryReservation)>;

/// The logical node: its input's rows, the same wherever a copy of the node stands.
#[derive(Debug, Clone)]
pub struct SharedRows {
    input: LogicalPlan,
    pub(crate) rows: Arc<Rows>,
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
