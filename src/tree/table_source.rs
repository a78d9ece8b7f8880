//! `TableSource`: what a scan reads.

use std::any::Any;
use std::fmt::Debug;

use arrow::datatypes::SchemaRef;

use super::expr::Expr;

/// A relation as scans name it.
pub trait TableSource: Any + Debug + Send + Sync {
    /// Its columns.
    fn schema(&self) -> SchemaRef;

    /// Whether it gives the rows that another of the same name gives.
    fn reads_as(&self, _other: &dyn TableSource) -> bool {
        true
    }

    /// Whether it has no rows, in whatever run.
    fn has_no_rows(&self) -> bool {
        false
    }

    /// What becomes of each of these conditions when the relation is asked it. The relation is asked none that it does not support.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Vec<FilterPushDown> {
        vec![FilterPushDown::Unsupported; filters.len()]
    }
}

impl dyn TableSource {
    /// Whether it is of this kind.
    pub fn is<T: TableSource>(&self) -> bool {
        (self as &dyn Any).is::<T>()
    }

    /// As one of this kind.
    pub fn downcast_ref<T: TableSource>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// What becomes of a condition that a relation is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterPushDown {
    /// Nothing.
    Unsupported,
    /// It may give rows for which it does not hold.
    Inexact,
    /// It gives no others.
    Exact,
}
