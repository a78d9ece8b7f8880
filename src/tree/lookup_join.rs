//! `LookupJoin`: rows with those of a table that are looked up for them by a key of it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::expr::Expr;
use super::plan::Plan;
use super::row_schema::RowSchemaRef;
use super::table_source::TableSource;
use crate::catalog::TableDef;
use crate::parse::IndexHint;

/// What becomes of outer rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Partners {
    /// Each stands beside each of its inner rows; without one it goes.
    Needed,
    /// The same, but without one it stays, with NULLs (LEFT JOIN).
    OrNone,
    /// It stays by itself if it has an inner row (EXISTS, IN).
    Exist,
    /// It stays by itself if it has none (NOT EXISTS).
    Miss,
}

impl Partners {
    /// Whether inner rows are given.
    pub(crate) fn are_given(self) -> bool {
        matches!(self, Partners::Needed | Partners::OrNone)
    }
}

/// What is looked up in which table.
#[derive(Debug, Clone, PartialEq)]
pub struct Inner {
    /// The table.
    pub table: Arc<TableDef>,
    /// What the statement calls it.
    pub alias: Arc<str>,
    /// Positions in `TableDef::columns` of its columns in the join.
    pub positions: Vec<usize>,
    /// Which keys the statement's hints leave.
    pub index_hint: Option<IndexHint>,
    /// Positions likewise of the columns it is looked up by, and what they equal, over the outer rows.
    pub keys: Vec<(usize, Expr)>,
}

/// The join. It gives the columns of its outer rows, then those of the inner ones that the join sees, if it sees any.
#[derive(Debug, Clone)]
pub struct LookupJoin {
    /// The rows for which is looked up.
    pub(crate) outer: Arc<Plan>,
    /// What is looked up.
    pub(crate) inner: Arc<Inner>,
    /// What becomes of outer rows.
    pub(crate) partners: Partners,
    /// What an inner row must satisfy beside its key to count, over `both`.
    pub(crate) conditions: Arc<[Expr]>,
    /// The columns of the outer rows, then `Inner::positions`.
    pub(crate) both: RowSchemaRef,
    /// What would scan the table that is looked up.
    pub(crate) source: Arc<dyn TableSource>,
    /// The places among the inner columns of those that it gives.
    pub(crate) seen: Arc<[usize]>,
    /// The columns.
    pub(crate) schema: RowSchemaRef,
}

impl PartialEq for LookupJoin {
    fn eq(&self, other: &LookupJoin) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) && self.outer == other.outer
    }
}

impl Eq for LookupJoin {}

impl Hash for LookupJoin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.outer.hash(state);
    }
}
