//! Rows in memory as a relation of a logical plan: what a statement has made itself. The binder places it; `rows_exec` of `operators`
//! gives its rows.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::system::StatementContext;
use crate::tree::{TableScan, TableSource};

/// The relation.
#[derive(Debug)]
pub struct RowsSource {
    schema: SchemaRef,
    rows: MadeRows,
}

/// Rows that a statement has made.
#[derive(Debug, Clone)]
pub(crate) enum MadeRows {
    /// These.
    Batches(Arc<[RecordBatch]>),
    /// What the part of its WITH clause at this place gives, in whichever run it is.
    OfPart(usize),
}

impl MadeRows {
    /// The rows in a run of the statement.
    pub(crate) fn in_run(&self, ctx: &StatementContext) -> Arc<[RecordBatch]> {
        match self {
            MadeRows::Batches(batches) => Arc::clone(batches),
            MadeRows::OfPart(place) => ctx.rows_of_part(*place),
        }
    }

    /// Whether each run has its own.
    pub(crate) fn is_lasting(&self) -> bool {
        matches!(self, MadeRows::OfPart(_))
    }
}

impl RowsSource {
    /// Of batches of this schema.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> RowsSource {
        let rows = MadeRows::Batches(batches.into());
        RowsSource { schema, rows }
    }

    /// Of what the part of the statement at this place gives.
    pub(crate) fn of_part(schema: SchemaRef, place: usize) -> RowsSource {
        let rows = MadeRows::OfPart(place);
        RowsSource { schema, rows }
    }

    /// The rows that a scan without projection, filters and limit reads.
    pub(crate) fn scanned(scan: &TableScan) -> Option<MadeRows> {
        let source = scan
            .source
            .downcast_ref::<RowsSource>()
            .filter(|_| is_whole(scan))?;
        Some(source.rows.clone())
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &MadeRows {
        &self.rows
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
