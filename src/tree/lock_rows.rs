//! `LockRows`: rows that are locked as they come by.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::expr::Expr;
use super::plan::Plan;
use crate::catalog::TableDef;
use crate::parse::row_locks::{LockStrength, WaitPolicy};

/// The rows of its input, each locked before it is given; those that others hold are left out where the statement says so. A limit
/// stands above it, and locks no more rows than it gives and skips.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LockRows {
    /// The rows.
    pub(crate) input: Arc<Plan>,
    /// What is locked for each.
    pub(crate) locks: Vec<RowLock>,
    /// What makes its rows, whatever their order: it stays as it is bound, for rows that turn out to be newer than they were read.
    pub(crate) made: Arc<Plan>,
}

/// A table's row that a row of the input is made of, locked.
#[derive(Debug, Clone)]
pub struct RowLock {
    /// The table.
    pub table: Arc<TableDef>,
    /// What the statement calls it.
    pub relation: String,
    /// Its primary key, in the key's order, over the input.
    pub key: Vec<Expr>,
    /// How it is locked.
    pub(crate) strength: LockStrength,
    /// What becomes of rows that others have locked.
    pub(crate) wait: WaitPolicy,
}

impl PartialEq for RowLock {
    fn eq(&self, other: &RowLock) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
            && self.key == other.key
            && (self.strength, self.wait) == (other.strength, other.wait)
    }
}

impl Eq for RowLock {}

impl Hash for RowLock {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}
