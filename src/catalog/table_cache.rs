//! `TableCache`: what is worked out of a table's record when it is first asked for.

use std::sync::{Arc, OnceLock};

use arrow::datatypes::{FieldRef, SchemaRef};

use super::generation::GeneratedColumns;

/// What is worked out of a table's record when it is first asked for, because it is dear. No part of the record: a clone,
/// which is made to be changed, starts without, and all are equal.
#[derive(Debug, Default)]
pub struct TableCache {
    /// See [`super::TableDef::fields`].
    pub(super) fields: OnceLock<Vec<FieldRef>>,
    /// See [`super::TableDef::write_schema`].
    pub(super) write_schema: OnceLock<SchemaRef>,
    /// Whether there are generated columns.
    pub(super) generates: OnceLock<bool>,
    /// See [`super::TableDef::generated`].
    pub(super) generated: OnceLock<Arc<dyn GeneratedColumns>>,
}

impl Clone for TableCache {
    fn clone(&self) -> TableCache {
        TableCache::default()
    }
}

impl PartialEq for TableCache {
    fn eq(&self, _: &TableCache) -> bool {
        true
    }
}
