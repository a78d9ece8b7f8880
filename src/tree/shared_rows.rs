//! `SharedRows`: rows that several places of a tree read and that must be the same there: a WITH query whose functions are volatile.
//! The first place that asks runs the query to its end, the others find its rows. A tree that holds one serves one run.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::RecordBatch;
use tokio::sync::OnceCell;

use super::plan::Plan;
use crate::system::statement_memory::MemoryShare;

/// The rows of one run, and the memory they take of the statement's.
pub type Rows = OnceCell<(Vec<RecordBatch>, MemoryShare)>;

/// Its input's rows, the same wherever a copy of it stands.
#[derive(Debug, Clone)]
pub struct SharedRows {
    pub(crate) input: Arc<Plan>,
    pub(crate) rows: Arc<Rows>,
}

impl SharedRows {
    /// Over `input`.
    pub fn new(input: Plan) -> SharedRows {
        SharedRows {
            input: Arc::new(input),
            rows: Arc::default(),
        }
    }
}

impl PartialEq for SharedRows {
    fn eq(&self, other: &SharedRows) -> bool {
        Arc::ptr_eq(&self.rows, &other.rows) && self.input == other.input
    }
}

impl Eq for SharedRows {}

impl Hash for SharedRows {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
    }
}
