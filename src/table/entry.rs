//! Entries of secondary indexes: rows into entries, and entries back to the keys of their rows. A row has one in each index, but for those
//! that are inverted: there it has one for each of its terms. What an entry looks like is in the docs of [`crate::table`].

use arrow::array::{Array, RecordBatch};

use super::Limits;
use super::encode::{KeyEncoder, ValueEncoder};
use super::read::fields_of;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix};
use crate::codec::row::{ColumnBuilder, ColumnId, RowReader};
use crate::codec::terms::{TermClass, put_term};
use crate::types::{SqlType, value_at};
use crate::{Error, Result};

/// An entry of a secondary index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The stored key.
    pub key: Vec<u8>,
    /// The stored value.
    pub value: Vec<u8>,
    /// Whether another row may not have the same key: a unique index, and no NULL among its columns that makes the row another.
    pub exclusive: bool,
}

/// Encodes the rows of batches into the entries of one index. Batches hold every column of the table, in its order.
#[derive(Debug)]
pub struct EntryEncoder<'a> {
    index: &'a IndexDef,
    indexed: KeyEncoder<'a>,
    /// The columns of the primary key that are not indexed.
    others: KeyEncoder<'a>,
    /// What the value of an entry holds beside which no other may stand under its key.
    exclusive_value: ValueEncoder<'a>,
    shared_value: ValueEncoder<'a>,
    /// The position of the column of its condition, if it has no entry of rows of which that is NULL.
    condition: Option<usize>,
    /// Positions and types of the columns whose terms it has, if it is inverted.
    sources: Vec<(usize, &'a SqlType, TermClass)>,
}

impl<'a> EntryEncoder<'a> {
    /// For one index of a table.
    pub fn new(table: &'a TableDef, index: &'a IndexDef, limits: Limits) -> EntryEncoder<'a> {
        let columns = table.sort_columns(index);
        let (indexed, others) = columns.split_at(index.columns.len());
        let included = |id: ColumnId| index.include.contains(&id);
        let is_other = |id: ColumnId| others.iter().any(|key| key.column == id);
        // What the key does not tell of its columns.
        let is_untold = |id: ColumnId| columns.iter().any(|key| key.column == id) && !table.key_tells(id);
        EntryEncoder {
            index,
            indexed: KeyEncoder::new(table, limits, indexed),
            others: KeyEncoder::new(table, limits, others),
            exclusive_value: ValueEncoder::new(table, limits, |id| {
                is_other(id) || included(id) || is_untold(id)
            }),
            shared_value: ValueEncoder::new(table, limits, |id| included(id) || is_untold(id)),
            condition: index
                .condition_that_omits()
                .and_then(|id| table.column_index_by_id(id)),
            sources: index
                .term_sources()
                .filter_map(|source| {
                    let at = table.column_index_by_id(source.column)?;
                    Some((at, &table.columns[at].ty, source.class))
                })
                .collect(),
        }
    }

    /// The stored key that no other row may have, where the row has no NULL in the index. Errors: 54000 above the size limits.
    pub(super) fn exclusive_key(&self, batch: &RecordBatch, row: usize) -> Result<Option<Vec<u8>>> {
        match self.index.unique {
            true => self.indexed_key(batch, row),
            false => Ok(None),
        }
    }

    /// How the entries of all rows with the same indexed columns begin, where none of these is NULL: who writes such rows locks it where they
    /// may not stay equal. Errors: 54000 above the size limits.
    pub fn indexed_key(&self, batch: &RecordBatch, row: usize) -> Result<Option<Vec<u8>>> {
        if self.is_apart(batch, row) {
            return Ok(None);
        }
        let mut key = entry_prefix(self.indexed.table().id, self.index.id).to_vec();
        self.indexed.put(&mut key, batch, row)?;
        self.indexed.check_size(&key)?;
        Ok(Some(key))
    }

    /// Whether a NULL among the indexed columns makes the row equal to no other: any, or where NULLs are not distinct that in the column of
    /// the index's condition alone.
    fn is_apart(&self, batch: &RecordBatch, row: usize) -> bool {
        let told = match self.index.nulls_not_distinct {
            true => usize::from(self.index.predicate.is_some()),
            false => self.index.columns.len(),
        };
        let mut told = self.indexed.positions().take(told);
        told.any(|at| batch.column(at).is_null(row))
    }

    /// Adds the entries of a row: none where the index's condition leaves it out. Errors: 54000 above the size limits.
    pub fn put_entries(
        &mut self,
        entries: &mut Vec<IndexEntry>,
        batch: &RecordBatch,
        row: usize,
    ) -> Result<()> {
        if self.condition.is_some_and(|at| batch.column(at).is_null(row)) {
            return Ok(());
        }
        match self.index.terms.is_some() {
            true => self.put_terms(entries, batch, row),
            false => {
                entries.push(self.entry(batch, row)?);
                Ok(())
            }
        }
    }

    /// The entries of the rows of a batch, and of which row each is. Errors: 54000 above the size limits.
    pub fn entries(&mut self, batch: &RecordBatch) -> Result<(Vec<IndexEntry>, Vec<usize>)> {
        let mut entries = Vec::with_capacity(batch.num_rows());
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            self.put_entries(&mut entries, batch, row)?;
            rows.resize(entries.len(), row);
        }
        Ok((entries, rows))
    }

    /// The entries of a row's terms: of each source those of its value, behind the source's place.
    fn put_terms(&mut self, entries: &mut Vec<IndexEntry>, batch: &RecordBatch, row: usize) -> Result<()> {
        let mut before = entry_prefix(self.indexed.table().id, self.index.id).to_vec();
        // The term comes last, and no row has a value of it.
        self.indexed.put_leading(&mut before, batch, row)?;
        let mut behind = Vec::new();
        self.others.put(&mut behind, batch, row)?;
        let value = self.shared_value.encode(batch, row)?;
        for (place, (at, ty, class)) in self.sources.iter().enumerate() {
            let terms = class.terms(&value_at(batch.column(*at), row, ty)?, ty)?;
            for term in terms {
                let mut key = before.clone();
                put_term(&mut key, place, &term);
                key.extend_from_slice(&behind);
                self.indexed.check_size(&key)?;
                entries.push(IndexEntry {
                    key,
                    value: value.clone(),
                    exclusive: false,
                });
            }
        }
        Ok(())
    }

    /// The one entry of a row, in an index that is not inverted.
    fn entry(&mut self, batch: &RecordBatch, row: usize) -> Result<IndexEntry> {
        let mut key = entry_prefix(self.indexed.table().id, self.index.id).to_vec();
        self.indexed.put(&mut key, batch, row)?;
        let exclusive = self.index.unique && !self.is_apart(batch, row);
        let value = match exclusive {
            true => self.exclusive_value.encode(batch, row)?,
            false => {
                self.others.put(&mut key, batch, row)?;
                self.shared_value.encode(batch, row)?
            }
        };
        self.indexed.check_size(&key)?;
        Ok(IndexEntry {
            key,
            value,
            exclusive,
        })
    }
}

/// In the order of `TableDef::kept_indexes`.
pub(super) fn entry_encoders(table: &TableDef, limits: Limits) -> Vec<EntryEncoder<'_>> {
    let indexes = table.kept_indexes();
    indexes
        .map(|index| EntryEncoder::new(table, index, limits))
        .collect()
}

/// Finds the rows of an index's entries.
#[derive(Debug)]
pub struct EntryReader {
    indexed: Vec<KeyField>,
    others: Vec<(ColumnId, KeyField)>,
    /// Where each column of the primary key comes from, in its order.
    primary: Vec<Origin>,
    row_prefix: [u8; ENTRY_PREFIX_BYTES],
    /// Where each field of the entry at hand ends, the first at 0.
    ends: Vec<usize>,
}

/// Where a column of the primary key stands in an entry.
#[derive(Debug)]
enum Origin {
    /// The indexed column at this place; in the other direction than in the primary key.
    Indexed { at: usize, turned: bool },
    /// That of the others at this place.
    Other(usize),
}

impl EntryReader {
    /// For entries of an index.
    pub fn new(table: &TableDef, index: &IndexDef) -> EntryReader {
        let columns = table.sort_columns(index);
        let (_, others) = columns.split_at(index.columns.len());
        let origin = |key: &KeyColumn| {
            let at = columns.iter().position(|column| column.column == key.column);
            let at = at.unwrap_or_default(); // sort columns end with those of the primary key
            match at.checked_sub(index.columns.len()) {
                Some(other) => Origin::Other(other),
                None => Origin::Indexed {
                    at,
                    turned: columns[at].descending != key.descending,
                },
            }
        };
        let ids = others.iter().map(|key| key.column);
        EntryReader {
            indexed: table.key_fields(index),
            primary: table.primary_key.columns.iter().map(origin).collect(),
            others: ids.zip(table.fields_of(others)).collect(),
            row_prefix: entry_prefix(table.id, table.primary_key.id),
            ends: Vec::new(),
        }
    }

    /// The key of the row that an entry is of. Errors: `Corrupt`.
    pub fn row_key(&mut self, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
        let fields = fields_of(key)?;
        let is_exclusive = self.find_fields(fields)?;
        let row = match is_exclusive && !self.others.is_empty() {
            true => Some(RowReader::new(value)?),
            false => None,
        };
        let mut row_key = Vec::with_capacity(key.len());
        row_key.extend_from_slice(&self.row_prefix);
        let field_at = |at: usize| &fields[self.ends[at]..self.ends[at + 1]];
        for origin in &self.primary {
            match (origin, &row) {
                (Origin::Indexed { at, turned: false }, _) => row_key.extend_from_slice(field_at(*at)),
                (Origin::Indexed { at, turned: true }, _) => {
                    row_key.extend(field_at(*at).iter().map(|byte| !byte));
                }
                (Origin::Other(at), None) => {
                    row_key.extend_from_slice(field_at(self.indexed.len() + at));
                }
                (Origin::Other(at), Some(row)) => {
                    let (id, field) = &self.others[*at];
                    let stored = row.get(*id);
                    let stored = stored.ok_or_else(|| damaged("its value lacks a key column"))?;
                    let mut builder = ColumnBuilder::new(&field.ty, 1);
                    builder.append_stored(stored)?;
                    key::encode_array(&mut row_key, &builder.finish(), 0, field);
                }
            }
        }
        Ok(row_key)
    }

    /// Finds where the fields of an entry's key end; answers whether it is exclusive: it ends with the indexed columns.
    fn find_fields(&mut self, fields: &[u8]) -> Result<bool> {
        self.ends.clear();
        self.ends.push(0);
        let mut end = 0;
        for field in &self.indexed {
            end += key::field_length(&fields[end..], field)?;
            self.ends.push(end);
        }
        let is_exclusive = end == fields.len();
        if !is_exclusive {
            for (_, field) in &self.others {
                end += key::field_length(&fields[end..], field)?;
                self.ends.push(end);
            }
        }
        match end == fields.len() {
            true => Ok(is_exclusive),
            false => Err(damaged("its key goes on behind its last column")),
        }
    }
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "index entry".to_string(),
        reason: reason.to_string(),
    }
}
