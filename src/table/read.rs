//! Pages of stored rows into Arrow batches: only the projected columns are decoded, straight into builders.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::Result;
use crate::catalog::TableDef;

/// The Arrow schema of the columns of `table` at `projection` (positions in `TableDef::columns`), types in metadata.
pub fn row_schema(_table: &TableDef, _projection: &[usize]) -> SchemaRef {
    unimplemented!()
}

/// Decodes rows of one table into batches of a fixed projection. Reused from page to page.
#[derive(Debug)]
pub struct RowDecoder {}

impl RowDecoder {
    /// For rows of the primary key (index 0).
    pub fn new(_table: &TableDef, _projection: &[usize]) -> RowDecoder {
        unimplemented!()
    }
    /// Adds one stored row. Errors: `Corrupt`.
    pub fn push(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        unimplemented!()
    }
    /// The batch of the rows pushed since the last call.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        unimplemented!()
    }
}
