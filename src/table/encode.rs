//! Rows of Arrow batches into stored keys, row values and index entries, with NOT NULL and the size limits checked.
//! Called by `write`.

use arrow::array::{Array, RecordBatch};

use super::{Limits, row_text};
use crate::catalog::{ColumnDef, IndexDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::codec::row::{ColumnId, RowReader, RowWriter, Stored};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Encodes rows of batches into keys and values. Batches hold every column of the table, in its order.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    table: &'a TableDef,
    limits: Limits,
    key_parts: Vec<KeyPart>,
    /// Columns of the row value, by rising id.
    value_parts: Vec<ValuePart>,
    writer: RowWriter,
}

/// A column of a key.
#[derive(Debug)]
struct KeyPart {
    position: usize,
    field: KeyField,
}

/// A column of a row value.
#[derive(Debug)]
struct ValuePart {
    position: usize,
    id: ColumnId,
    ty: SqlType,
    not_null: bool,
    /// A NULL need not be stored, because an absent column reads as NULL.
    absent_is_null: bool,
}

/// An entry of a secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The stored key.
    pub key: Vec<u8>,
    /// The stored value.
    pub value: Vec<u8>,
    /// Whether another row may not have the same key: a unique index, and no NULL among its columns.
    pub exclusive: bool,
}

impl<'a> RowEncoder<'a> {
    /// For one table.
    pub fn new(table: &'a TableDef, limits: Limits) -> RowEncoder<'a> {
        let mut value_parts: Vec<_> = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !table.is_key_column(column.id))
            .map(|(position, column)| ValuePart::new(position, column))
            .collect();
        value_parts.sort_by_key(|part| part.id);
        RowEncoder {
            table,
            limits,
            key_parts: key_parts(table, &table.primary_key),
            value_parts,
            writer: RowWriter::default(),
        }
    }

    /// The stored key of a row. Errors: 23502 for NULL in a key column, 54000 above the size limits.
    pub fn key(&mut self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        let mut out = entry_prefix(self.table.id, self.table.primary_key.id).to_vec();
        for part in &self.key_parts {
            if batch.column(part.position).is_null(row) {
                return Err(self.null_violation(part.position, batch, row));
            }
            self.push_key_part(&mut out, part, batch, row)?;
        }
        self.check_key_bytes(&out)?;
        Ok(out)
    }

    /// The row value. Errors: 23502 for NULL in a NOT NULL column, 54000 above the size limit.
    pub fn value(&mut self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        self.writer.clear();
        for part in &self.value_parts {
            let array = batch.column(part.position);
            if array.is_null(row) {
                if part.not_null {
                    return Err(self.null_violation(part.position, batch, row));
                }
                if part.absent_is_null {
                    continue;
                }
            }
            self.writer.push_array(part.id, &part.ty, array, row);
        }
        self.finish_value()
    }

    /// The row value that keeps what the row held in every column but those at the positions that `named` marks, which
    /// come from the batch. Errors as `value`, and `Corrupt`.
    pub fn merged_value(
        &mut self,
        old: &[u8],
        named: &[bool],
        batch: &RecordBatch,
        row: usize,
    ) -> Result<Vec<u8>> {
        let old = RowReader::new(old)?;
        self.writer.clear();
        for part in &self.value_parts {
            let array = batch.column(part.position);
            if !named[part.position] {
                if let Some(stored) = old.get(part.id) {
                    self.writer.push_stored(part.id, stored);
                }
            } else if !array.is_null(row) {
                self.writer.push_array(part.id, &part.ty, array, row);
            } else if part.not_null {
                return Err(self.null_violation(part.position, batch, row));
            } else if !part.absent_is_null {
                self.writer.push_stored(part.id, Stored::Null);
            }
        }
        self.finish_value()
    }

    /// The row's entry in a secondary index. Errors: 54000 above the size limits.
    pub fn index_entry(&mut self, index: &IndexDef, batch: &RecordBatch, row: usize) -> Result<IndexEntry> {
        let mut key = entry_prefix(self.table.id, index.id).to_vec();
        let mut has_null = false;
        for part in key_parts(self.table, index) {
            has_null |= batch.column(part.position).is_null(row);
            self.push_key_part(&mut key, &part, batch, row)?;
        }
        let exclusive = index.unique && !has_null;
        self.writer.clear();
        let indexed = |id: ColumnId| index.columns.iter().any(|column| column.column == id);
        if exclusive {
            let mut rest: Vec<_> = self
                .key_parts
                .iter()
                .map(|part| (self.table.columns[part.position].id, part))
                .collect();
            rest.retain(|(id, _)| !indexed(*id));
            rest.sort_by_key(|(id, _)| *id);
            for (id, part) in rest {
                self.writer
                    .push_array(id, &part.field.ty, batch.column(part.position), row);
            }
        } else {
            for part in &self.key_parts {
                if !indexed(self.table.columns[part.position].id) {
                    self.push_key_part(&mut key, part, batch, row)?;
                }
            }
        }
        self.check_key_bytes(&key)?;
        Ok(IndexEntry {
            key,
            value: self.writer.finish(),
            exclusive,
        })
    }

    fn push_key_part(
        &self,
        out: &mut Vec<u8>,
        part: &KeyPart,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<()> {
        let start = out.len();
        key::encode_array(out, batch.column(part.position), row, &part.field);
        let bytes = out.len() - start;
        if bytes > self.limits.key_column_bytes_max {
            return Err(Error::TooLarge {
                what: format!("key column \"{}\"", self.table.columns[part.position].name),
                bytes,
                bytes_max: self.limits.key_column_bytes_max,
                setting: "keyspan.key_column_bytes_max",
            });
        }
        Ok(())
    }

    fn check_key_bytes(&self, key: &[u8]) -> Result<()> {
        let bytes = key.len() - ENTRY_PREFIX_BYTES;
        if bytes <= self.limits.key_bytes_max {
            return Ok(());
        }
        Err(Error::TooLarge {
            what: format!("key of relation \"{}\"", self.table.name),
            bytes,
            bytes_max: self.limits.key_bytes_max,
            setting: "keyspan.key_bytes_max",
        })
    }

    fn finish_value(&mut self) -> Result<Vec<u8>> {
        let value = self.writer.finish();
        if value.len() <= self.limits.value_bytes_max {
            return Ok(value);
        }
        Err(Error::TooLarge {
            what: format!("row value of relation \"{}\"", self.table.name),
            bytes: value.len(),
            bytes_max: self.limits.value_bytes_max,
            setting: "keyspan.value_bytes_max",
        })
    }

    fn null_violation(&self, position: usize, batch: &RecordBatch, row: usize) -> Error {
        Error::NotNullViolation {
            table: self.table.name.clone(),
            column: self.table.columns[position].name.clone(),
            row: row_text(self.table, batch, row),
        }
    }
}

impl ValuePart {
    fn new(position: usize, column: &ColumnDef) -> ValuePart {
        ValuePart {
            position,
            id: column.id,
            ty: column.ty.clone(),
            not_null: column.not_null,
            absent_is_null: column.missing == Value::Null,
        }
    }
}

/// The columns of an index with their positions, in key order.
fn key_parts(table: &TableDef, index: &IndexDef) -> Vec<KeyPart> {
    let fields = table.key_fields(index);
    let positions = index
        .columns
        .iter()
        .filter_map(|column| table.column_index_by_id(column.column));
    positions
        .zip(fields)
        .map(|(position, field)| KeyPart { position, field })
        .collect()
}
