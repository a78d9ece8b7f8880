//! The key of an index, as it is written and as it is read.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, IndexColumn};

use crate::catalog::{IndexBuckets, IndexExpression, IndexTerms, KeyColumn};
use crate::codec::row::ColumnId;
use crate::types::SqlType;

/// What an index is over.
pub(super) struct Key {
    pub(super) columns: Vec<KeyColumn>,
    pub(super) expressions: Vec<IndexExpression>,
    pub(super) predicate: Option<IndexExpression>,
    pub(super) buckets: Option<IndexBuckets>,
    pub(super) terms: Option<IndexTerms>,
    /// Operator classes to be told (see `IndexDef`).
    pub(super) classes: BTreeMap<ColumnId, String>,
    /// Of each part what the index's name has of it.
    pub(super) names: Vec<String>,
}

/// A key as it is written.
pub(super) struct WrittenKey<'a> {
    pub(super) parts: &'a [IndexColumn],
    /// WHERE.
    pub(super) condition: Option<&'a Expr>,
    /// BUCKETS.
    pub(super) buckets: Option<u16>,
    /// The access method, if it is inverted.
    pub(super) inverted: Option<&'static str>,
}

/// The column that holds an expression.
pub(super) struct ExpressionColumn {
    pub(super) id: ColumnId,
    pub(super) ty: SqlType,
}
