//! Rows in memory as a relation of a logical plan: what a statement has made itself. The binder places it; `rows_exec` of `operators`
//! gives its rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_expr::{TableScan, TableSource};

/// The relation.
#[derive(Debug)]
pub struct RowsSource {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl RowsSource {
    /// Of batches of this schema; none where the rows come later.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> RowsSource {
        RowsSource {
            schema,
            batches: batches.into(),
        }
    }

    /// The rows that a scan without projection, filters and limit reads.
    pub(crate) fn scanned(scan: &TableScan) -> Option<Vec<RecordBatch>> {
        let is_whole = scan.filters.is_empty() && scan.fetch.is_none() && scan.projection.is_none();
        let source = scan.source.downcast_ref::<RowsSource>().filter(|_| is_whole)?;
        Some(source.batches.to_vec())
    }

    /// Its rows.
    pub(crate) fn batches(&self) -> &Arc<[RecordBatch]> {
        &self.batches
    }
}

impl TableSource for RowsSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
