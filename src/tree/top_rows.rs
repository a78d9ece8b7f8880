//! `TopRows`: the first rows in an order, made in two ways of which one is likely to be short and the other is never long.

use std::sync::Arc;

use super::plan::Plan;

/// The first rows in an order. Both plans have the same rows and columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TopRows {
    /// A [`super::Sort`] that keeps its first rows.
    pub(crate) whole: Arc<Plan>,
    /// What is sorted there, made so that it may be read in the order and left once there is enough of it: nothing in it takes in all of a
    /// table before it gives its first row.
    pub(crate) streamed: Arc<Plan>,
}
