//! Writes of whole rows through a transaction. Batches hold every column of `TableDef::columns` in that order (hidden
//! row id included), already of the columns' types.

use arrow::array::RecordBatch;

use crate::Result;
use crate::catalog::TableDef;
use crate::txn::Transaction;

/// Encodes rows of batches into keys and values.
#[derive(Debug)]
pub struct RowEncoder {}

impl RowEncoder {
    /// For one table.
    pub fn new(_table: &TableDef) -> RowEncoder {
        unimplemented!()
    }
    /// The stored key of a row. Errors: 23502 for NULL in a key column, 54000 above the size limits.
    pub fn key(&mut self, _batch: &RecordBatch, _row: usize) -> Result<Vec<u8>> {
        unimplemented!()
    }
    /// The row value. Errors: 23502 for NULL in a NOT NULL column, 54000 above the size limit.
    pub fn value(&mut self, _batch: &RecordBatch, _row: usize) -> Result<Vec<u8>> {
        unimplemented!()
    }
}

/// Inserts rows; a key that is there already (or twice in the batch) is 23505.
pub async fn insert_rows(_txn: &Transaction, _table: &TableDef, _batch: &RecordBatch) -> Result<()> {
    unimplemented!()
}
/// Writes rows whatever stands under their keys.
pub async fn put_rows(_txn: &Transaction, _table: &TableDef, _batch: &RecordBatch) -> Result<()> {
    unimplemented!()
}
/// Removes the rows with the keys of the batch's rows (only key columns are read).
pub async fn delete_rows(_txn: &Transaction, _table: &TableDef, _batch: &RecordBatch) -> Result<()> {
    unimplemented!()
}
