//! `IndexedColumn`: a hidden column that an index has of its table, and what it holds. `indexed_expressions` finds and reads them.

use super::bound::Bound;
use crate::tree::Expr;

/// A hidden column of a relation, and what it holds.
#[derive(Debug, Clone)]
pub(super) struct IndexedColumn {
    /// What is asked: an expression, or the conditions of a partial index, all of which hold where the column is true.
    pub(super) held: Held,
    /// The column.
    pub(super) column: Bound,
}

/// What a column holds.
#[derive(Debug, Clone)]
pub(super) enum Held {
    /// The value of an expression.
    Value(Expr),
    /// Whether all of these hold.
    Conditions(Vec<Expr>),
}
