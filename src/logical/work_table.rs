//! The rows that the turn of a recursion before gave, as a relation of a logical plan. The binder places it.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;

use crate::tree::{TableScan, TableSource};

/// The relation.
#[derive(Debug)]
pub struct WorkTable {
    name: String,
    schema: SchemaRef,
}

impl WorkTable {
    /// Of the recursion of this name, whose rows have this schema.
    pub fn new(name: String, schema: SchemaRef) -> WorkTable {
        WorkTable { name, schema }
    }

    /// The recursion's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl TableSource for WorkTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Whether a scan reads what the turn of a recursion before it gave.
pub fn is_work_table(scan: &TableScan) -> bool {
    scan.source.is::<WorkTable>()
}
