//! Row values: format version, flags, the ids of the columns present (sorted), their end offsets, their data, CRC32C.
//! Absent is not NULL: an absent column takes the default recorded when it was added.

use arrow::array::ArrayRef;

use crate::Result;
use crate::types::{SqlType, Value};

/// The id of a column within its table; never used again.
pub type ColumnId = u16;

/// Writes row values, reusing its buffers from row to row.
#[derive(Debug, Default)]
pub struct RowWriter {}

impl RowWriter {
    /// Forgets the row before.
    pub fn clear(&mut self) {
        unimplemented!()
    }
    /// Adds a column from an Arrow array of its SQL type; ids must rise. A NULL element is stored as present and NULL.
    pub fn push_array(&mut self, _id: ColumnId, _ty: &SqlType, _array: &ArrayRef, _row: usize) {
        unimplemented!()
    }
    /// Adds a column whose stored bytes come from another row (`RowReader::get`).
    pub fn push_stored(&mut self, _id: ColumnId, _stored: Stored<'_>) {
        unimplemented!()
    }
    /// The finished row value, checksum included.
    pub fn finish(&mut self) -> Vec<u8> {
        unimplemented!()
    }
}

/// What a row holds of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Present and NULL.
    Null,
    /// Present: the stored bytes of its type.
    Bytes(&'a [u8]),
}

/// Reads a row value without copying; looks columns up by id.
#[derive(Debug, Clone, Copy)]
pub struct RowReader<'a> {
    _bytes: &'a [u8],
}

impl<'a> RowReader<'a> {
    /// Checks format and checksum. Errors: `Corrupt`.
    pub fn new(_bytes: &'a [u8]) -> Result<RowReader<'a>> {
        unimplemented!()
    }
    /// The column with this id; `None`: absent.
    pub fn get(&self, _id: ColumnId) -> Option<Stored<'a>> {
        unimplemented!()
    }
    /// All columns present, by rising id.
    pub fn columns(&self) -> impl Iterator<Item = (ColumnId, Stored<'a>)> {
        std::iter::empty()
    }
}

/// Collects one column of many rows into an Arrow array of its SQL type, straight from stored bytes.
#[derive(Debug)]
pub struct ColumnBuilder {}

impl ColumnBuilder {
    /// A builder for a column of this type with room for `rows`.
    pub fn new(_ty: &SqlType, _rows: usize) -> ColumnBuilder {
        unimplemented!()
    }
    /// Appends what a row holds. Errors: `Corrupt`.
    pub fn append_stored(&mut self, _stored: Stored<'_>) -> Result<()> {
        unimplemented!()
    }
    /// Appends the key field that `bytes` starts with, and answers its length. Errors: `Corrupt`.
    pub fn append_key_field(&mut self, _bytes: &[u8], _field: &super::key::KeyField) -> Result<usize> {
        unimplemented!()
    }
    /// Appends a constant of the column's type (a default, or NULL).
    pub fn append_value(&mut self, _value: &Value) {
        unimplemented!()
    }
    /// Rows appended so far.
    pub fn len(&self) -> usize {
        unimplemented!()
    }
    /// The array; the builder is empty again.
    pub fn finish(&mut self) -> ArrayRef {
        unimplemented!()
    }
}
