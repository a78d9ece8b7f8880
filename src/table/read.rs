//! Pages of stored rows into Arrow batches: only the projected columns are decoded, straight into builders.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;

use super::layout::{Place, RowLayout};
use crate::catalog::TableDef;
use crate::codec::key;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::codec::row::{ColumnBuilder, RowReader, STRING_BYTES_GUESS};
use crate::store::Entry;
use crate::types::Value;
use crate::{Error, Result};

/// Rows to make room for when nobody says how many there are.
const ROWS_GUESS: usize = 16;

/// Decodes rows of one table into batches of a fixed projection. Reused from page to page.
#[derive(Debug)]
pub struct RowDecoder {
    layout: Arc<RowLayout>,
    /// One a column of the layout, while a batch is being made.
    builders: Vec<ColumnBuilder>,
    /// For each column of the layout: the bytes of a text or bytea as the last batch had them.
    string_bytes: Vec<usize>,
    rows: usize,
}

impl RowDecoder {
    /// For rows of the primary key (index 0).
    pub fn new(table: &TableDef, projection: &[usize]) -> RowDecoder {
        RowDecoder::with_layout(Arc::new(RowLayout::new(table, projection)))
    }

    /// For the projection of a layout.
    pub fn with_layout(layout: Arc<RowLayout>) -> RowDecoder {
        RowDecoder {
            builders: Vec::new(),
            string_bytes: vec![STRING_BYTES_GUESS; layout.columns.len()],
            rows: 0,
            layout,
        }
    }

    /// The schema of its batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.layout.schema
    }

    /// Makes room for the rows of the next batch, before the first of them is pushed. Without it there is room for few.
    pub fn reserve(&mut self, rows: usize) {
        let columns = self.layout.columns.iter().zip(&self.string_bytes);
        self.builders.clear();
        self.builders.extend(
            columns.map(|(column, string_bytes)| {
                ColumnBuilder::with_string_bytes(&column.ty, rows, *string_bytes)
            }),
        );
    }

    /// Adds one stored row, or entry of an index, as the layout says. Errors: `Corrupt`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.push_entry(Entry::new(key, value))
    }

    /// As [`RowDecoder::push`], for a row of a page.
    pub fn push_entry(&mut self, entry: Entry<'_>) -> Result<()> {
        if self.builders.is_empty() {
            self.reserve(ROWS_GUESS);
        }
        let mut fields = fields_of(entry.key)?;
        let mut fields_read = 0;
        for (field, column) in &self.layout.key_fields {
            if fields.is_empty() && fields_read >= self.layout.fields_always {
                break;
            }
            fields_read += 1;
            let length = match column {
                Some(column) => self.builders[*column].append_key_field(fields, field)?,
                None => key::field_length(fields, field)?,
            };
            fields = &fields[length..];
        }
        if self.layout.reads_values {
            let row = row_of(entry)?;
            for (column, builder) in self.layout.columns.iter().zip(&mut self.builders) {
                let (id, missing) = match &column.place {
                    Place::Value { id, missing } => (id, missing),
                    Place::KeyOrValue { at, id } if *at >= fields_read => (id, &Value::Null),
                    Place::Key(_) | Place::KeyOrValue { .. } => continue,
                };
                match row.get(*id) {
                    Some(stored) => builder.append_stored(stored)?,
                    None => builder.append_value(missing)?,
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The batch of the rows pushed since the last call.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        if self.builders.is_empty() {
            self.reserve(0);
        }
        for (builder, string_bytes) in self.builders.iter().zip(&mut self.string_bytes) {
            if let Some(bytes) = builder.string_bytes().checked_div(self.rows) {
                *string_bytes = bytes + bytes / 8 + 1;
            }
        }
        let arrays: Vec<_> = self.builders.drain(..).map(ColumnBuilder::finish).collect();
        let columns = self
            .layout
            .outputs
            .iter()
            .map(|&column| Arc::clone(&arrays[column]))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(&self.layout.schema), columns, &options)
            .map_err(|error| Error::internal(format!("decoded rows do not form a batch: {error}")))
    }
}

/// A decoder of every column of the table.
pub(super) fn whole_rows(table: &TableDef) -> RowDecoder {
    RowDecoder::new(table, &(0..table.columns.len()).collect::<Vec<_>>())
}

/// What a row, or entry of an index, holds. Errors: `Corrupt`.
#[inline]
pub(super) fn row_of(entry: Entry<'_>) -> Result<RowReader<'_>> {
    match entry.is_verified {
        true => RowReader::of_verified(entry.value),
        false => RowReader::new(entry.value),
    }
}

/// The fields of a row's key. Errors: `Corrupt`.
pub(super) fn fields_of(key: &[u8]) -> Result<&[u8]> {
    key.get(ENTRY_PREFIX_BYTES..).ok_or_else(|| Error::Corrupt {
        what: "row key".to_string(),
        reason: format!("{} bytes are too few", key.len()),
    })
}
