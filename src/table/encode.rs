//! Rows of Arrow batches into stored keys and row values, with NOT NULL and the size limits checked. Called by `write`, and
//! by `entry` for the entries of indexes.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};

use super::{Limits, row_text};
use crate::catalog::{ColumnDef, KeyColumn, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::codec::row::{ColumnId, RowReader, RowWriter, Stored};
use crate::txn::Transaction;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Encodes rows of batches into keys and values. Batches hold every column of the table, in its order.
#[derive(Debug)]
pub struct RowEncoder<'a> {
    key: KeyEncoder<'a>,
    value: ValueEncoder<'a>,
    /// A key on its way: what it becomes takes no more memory than it needs.
    draft: Vec<u8>,
}

impl<'a> RowEncoder<'a> {
    /// For one table, to know what its rows are under.
    pub fn new(table: &'a TableDef, limits: Limits) -> RowEncoder<'a> {
        RowEncoder {
            key: KeyEncoder::new(table, limits, &table.primary_key.columns),
            value: ValueEncoder::new(table, limits, |id| !table.is_in_key_alone(id)),
            draft: Vec::new(),
        }
    }

    /// For one table, to write rows in a transaction: where they may be over, or have versions, they tell when they were written.
    pub fn of_write(txn: &Transaction, table: &'a TableDef, limits: Limits) -> RowEncoder<'a> {
        let mut encoder = RowEncoder::new(table, limits);
        let keeps_versions = table.keeps_versions();
        if table.options.expiry.may_be_over() || keeps_versions {
            let now = txn.write_time();
            let expiry = limits.row_lifetime.map(|lifetime| now.saturating_add(lifetime));
            let written = limits.version_time.filter(|_| keeps_versions);
            let writer = &mut encoder.value.writer;
            writer.set_times(Some(written.unwrap_or(now)), expiry);
            writer.set_unsettled(keeps_versions && written.is_none());
        }
        encoder
    }

    /// The stored key of a row. Errors: 23502 for NULL in a key column, 54000 above the size limits.
    pub fn key(&mut self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        let table = self.key.table;
        if let Some(at) = self.key.positions().find(|at| batch.column(*at).is_null(row)) {
            return Err(null_violation(table, at, batch, row));
        }
        self.draft.clear();
        self.draft
            .extend_from_slice(&entry_prefix(table.id, table.primary_key.id));
        self.key.put(&mut self.draft, batch, row)?;
        self.key.check_size(&self.draft)?;
        Ok(self.draft.to_vec())
    }

    /// The row value. Errors: 23502 for NULL in a NOT NULL column, 54000 above the size limit.
    pub fn value(&mut self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        self.value.encode(batch, row)
    }

    /// The row value that keeps what the row held in every column but those at the positions that `named` marks, which
    /// come from the batch (`None`: all), and in those that were left out of the table. Errors as `value`, and `Corrupt`.
    pub fn merged_value(
        &mut self,
        old: &[u8],
        named: Option<&[bool]>,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<Vec<u8>> {
        self.value.merge(old, named, batch, row)
    }
}

/// The stored keys of rows, of the columns of the primary key alone.
#[derive(Debug)]
pub struct StoredKeys {
    prefix: Vec<u8>,
    fields: Vec<KeyField>,
}

impl StoredKeys {
    /// Of a table's rows.
    pub fn new(table: &TableDef) -> StoredKeys {
        StoredKeys {
            prefix: entry_prefix(table.id, table.primary_key.id).to_vec(),
            fields: table.fields_of(&table.primary_key.columns),
        }
    }

    /// The key of the row with these values, which come in the key's order and are of its columns' types.
    pub fn key_of(&self, values: &[&Value]) -> Vec<u8> {
        let mut key = self.prefix.clone();
        for (value, field) in values.iter().zip(&self.fields) {
            key::encode_value(&mut key, value, field);
        }
        key
    }

    /// The key of a row, whose columns come in the key's order, as they were read of the table.
    pub fn key(&self, columns: &[ArrayRef], row: usize) -> Vec<u8> {
        let mut key = self.prefix.clone();
        for (column, field) in columns.iter().zip(&self.fields) {
            key::encode_array(&mut key, column, row, field);
        }
        key
    }
}

/// Encodes columns into the fields of keys.
#[derive(Debug)]
pub(super) struct KeyEncoder<'a> {
    table: &'a TableDef,
    limits: Limits,
    parts: Vec<KeyPart>,
}

/// A column of a key.
#[derive(Debug)]
struct KeyPart {
    position: usize,
    field: KeyField,
}

impl<'a> KeyEncoder<'a> {
    /// For columns of one key.
    pub(super) fn new(table: &'a TableDef, limits: Limits, columns: &[KeyColumn]) -> KeyEncoder<'a> {
        let positions = columns
            .iter()
            .filter_map(|key| table.column_index_by_id(key.column));
        let parts = positions.zip(table.fields_of(columns));
        KeyEncoder {
            table,
            limits,
            parts: parts
                .map(|(position, field)| KeyPart { position, field })
                .collect(),
        }
    }

    pub(super) fn table(&self) -> &'a TableDef {
        self.table
    }

    /// Where its columns stand in batches.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().map(|part| part.position)
    }

    /// Appends the fields of a row. Errors: 54000 for one above the size limit.
    pub(super) fn put(&self, out: &mut Vec<u8>, batch: &RecordBatch, row: usize) -> Result<()> {
        self.put_parts(&self.parts, out, batch, row)
    }

    /// The same but for the last.
    pub(super) fn put_leading(&self, out: &mut Vec<u8>, batch: &RecordBatch, row: usize) -> Result<()> {
        let leading = self.parts.split_last().map_or(&[][..], |(_, leading)| leading);
        self.put_parts(leading, out, batch, row)
    }

    fn put_parts(&self, parts: &[KeyPart], out: &mut Vec<u8>, batch: &RecordBatch, row: usize) -> Result<()> {
        for part in parts {
            let start = out.len();
            key::encode_array(out, batch.column(part.position), row, &part.field);
            let encoded = out.len() - start;
            if encoded <= self.limits.key_column_bytes_max {
                continue;
            }
            let bytes = value_bytes(batch.column(part.position), row).map_or(encoded, |own| own.min(encoded));
            if bytes > self.limits.key_column_bytes_max {
                return Err(Error::TooLarge {
                    what: format!("key column \"{}\"", self.table.columns[part.position].name),
                    bytes,
                    bytes_max: self.limits.key_column_bytes_max,
                    setting: "keyspan.key_column_bytes_max",
                });
            }
        }
        Ok(())
    }

    /// Errors: 54000 for a stored key above the size limit.
    pub(super) fn check_size(&self, key: &[u8]) -> Result<()> {
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
}

/// Bytes of a text or bytea: what its field in a key has besides is not the user's.
fn value_bytes(array: &ArrayRef, row: usize) -> Option<usize> {
    let text = array.as_string_opt::<i32>().map(|texts| texts.value(row).len());
    text.or_else(|| array.as_binary_opt::<i32>().map(|values| values.value(row).len()))
}

/// Encodes columns into row values.
#[derive(Debug)]
pub(super) struct ValueEncoder<'a> {
    table: &'a TableDef,
    limits: Limits,
    /// By rising id.
    parts: Vec<ValuePart>,
    writer: RowWriter,
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

impl<'a> ValueEncoder<'a> {
    /// For the columns whose ids `holds` chooses.
    pub(super) fn new(
        table: &'a TableDef,
        limits: Limits,
        holds: impl Fn(ColumnId) -> bool,
    ) -> ValueEncoder<'a> {
        let columns = table.columns.iter().enumerate();
        let held = columns.filter(|(_, column)| holds(column.id));
        let mut parts: Vec<_> = held
            .map(|(position, column)| ValuePart::new(position, column))
            .collect();
        parts.sort_by_key(|part| part.id);
        ValueEncoder {
            table,
            limits,
            parts,
            writer: RowWriter::default(),
        }
    }

    /// Errors: 23502 for NULL in a NOT NULL column, 54000 above the size limit.
    pub(super) fn encode(&mut self, batch: &RecordBatch, row: usize) -> Result<Vec<u8>> {
        self.writer.clear();
        for part in &self.parts {
            let array = batch.column(part.position);
            if array.is_null(row) {
                if part.not_null {
                    return Err(null_violation(self.table, part.position, batch, row));
                }
                if part.absent_is_null {
                    continue;
                }
            }
            self.writer.push_array(part.id, &part.ty, array, row);
        }
        self.finish()
    }

    /// See [`RowEncoder::merged_value`].
    fn merge(
        &mut self,
        old: &[u8],
        named: Option<&[bool]>,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<Vec<u8>> {
        let old = RowReader::new(old)?;
        self.writer.clear();
        let is_kept = |(id, _): &(ColumnId, Stored<'_>)| self.table.leaves_out(*id);
        let mut kept = match self.table.is_narrowed() {
            true => old.columns().filter(is_kept).collect(),
            false => Vec::new(),
        }
        .into_iter()
        .peekable();
        for part in &self.parts {
            while let Some((id, stored)) = kept.next_if(|(id, _)| *id < part.id) {
                self.writer.push_stored(id, stored);
            }
            let array = batch.column(part.position);
            if !named.is_none_or(|named| named[part.position]) {
                if let Some(stored) = old.get(part.id) {
                    self.writer.push_stored(part.id, stored);
                }
            } else if !array.is_null(row) {
                self.writer.push_array(part.id, &part.ty, array, row);
            } else if part.not_null {
                return Err(null_violation(self.table, part.position, batch, row));
            } else if !part.absent_is_null {
                self.writer.push_stored(part.id, Stored::Null);
            }
        }
        for (id, stored) in kept {
            self.writer.push_stored(id, stored);
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
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

/// Whether no row before this one is NULL in a column that may not be: encoding would tell, but later. Errors: 23502.
pub fn require_not_null(table: &TableDef, batch: &RecordBatch, rows: usize) -> Result<()> {
    let wanted: Vec<usize> = (0..table.columns.len())
        .filter(|at| table.columns[*at].not_null || table.is_key_column(table.columns[*at].id))
        .collect();
    for row in 0..rows {
        if let Some(at) = wanted.iter().find(|at| batch.column(**at).is_null(row)) {
            return Err(null_violation(table, *at, batch, row));
        }
    }
    Ok(())
}

fn null_violation(table: &TableDef, position: usize, batch: &RecordBatch, row: usize) -> Error {
    Error::NotNullViolation {
        schema: table.schema.clone(),
        table: table.name.clone(),
        column: table.columns[position].name.clone(),
        row: row_text(table, batch, row),
    }
}
