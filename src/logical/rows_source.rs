//! Rows in memory as a relation of a logical plan: what a statement has made itself. The binder places it; `rows_exec` of `operators`
//! gives its rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_expr::{TableScan, TableSource};

use crate::system::LaterRows;

/// The relation.
#[derive(Debug)]
pub struct RowsSource {
    schema: SchemaRef,
    rows: LaterRows,
}

impl RowsSource {
    /// Of batches of this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> RowsSource {
        let rows = LaterRows::default();
        // Nobody else has it yet.
        let _ = rows.set(batches.into());
        RowsSource::later(schema, rows)
    }

    /// Of batches of this schema that are there when it is read.
    pub(crate) fn later(schema: SchemaRef, rows: LaterRows) -> RowsSource {
        RowsSource { schema, rows }
    }

    /// The rows that a scan without projection, filters and limit reads.
    pub(crate) fn scanned(scan: &TableScan) -> Option<LaterRows> {
        let source = scan
            .source
            .downcast_ref::<RowsSource>()
            .filter(|_| is_whole(scan))?;
        Some(Arc::clone(&source.rows))
    }

    /// Its rows; none before they are there.
    pub(crate) fn batches(&self) -> Arc<[RecordBatch]> {
        self.rows.get().cloned().unwrap_or_default()
    }
}

/// Whether a scan gives all that its relation has.
pub(crate) fn is_whole(scan: &TableScan) -> bool {
    scan.filters.is_empty() && scan.fetch.is_none() && scan.projection.is_none()
}

impl TableSource for RowsSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
