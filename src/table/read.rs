//! Pages of stored rows into Arrow batches: only the projected columns are decoded, straight into builders.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};

use crate::catalog::{ColumnDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::codec::row::{ColumnBuilder, ColumnId, RowReader};
use crate::types::Value;
use crate::{Error, Result};

/// Rows a builder has room for at first.
const BUILDER_ROWS: usize = 64;

/// The Arrow schema of the columns of `table` at `projection` (positions in `TableDef::columns`), types in metadata.
pub fn row_schema(table: &TableDef, projection: &[usize]) -> SchemaRef {
    let field = |column: &ColumnDef| {
        let nullable = !column.not_null && !table.is_key_column(column.id);
        column.ty.field(&column.name, nullable)
    };
    Arc::new(Schema::new(
        projection
            .iter()
            .map(|&at| field(&table.columns[at]))
            .collect::<Vec<_>>(),
    ))
}

/// The Arrow schema of batches to be written: every column, each nullable, for NULLs are refused by the writer.
pub fn write_schema(table: &TableDef) -> SchemaRef {
    Arc::new(Schema::new(
        table
            .columns
            .iter()
            .map(|column| column.ty.field(&column.name, true))
            .collect::<Vec<_>>(),
    ))
}

/// Decodes rows of one table into batches of a fixed projection. Reused from page to page.
#[derive(Debug)]
pub struct RowDecoder {
    schema: SchemaRef,
    /// One a distinct projected column.
    builders: Vec<ColumnBuilder>,
    /// For each output column, its builder.
    outputs: Vec<usize>,
    /// The key's fields up to the last one projected, with the builders of those that are.
    key_fields: Vec<(KeyField, Option<usize>)>,
    /// Projected columns of the row value.
    value_columns: Vec<ValueColumn>,
    rows: usize,
}

/// A projected column that stands in the row value.
#[derive(Debug)]
struct ValueColumn {
    id: ColumnId,
    missing: Value,
    builder: usize,
}

impl RowDecoder {
    /// For rows of the primary key (index 0).
    pub fn new(table: &TableDef, projection: &[usize]) -> RowDecoder {
        let mut distinct: Vec<usize> = Vec::new();
        let mut outputs = Vec::with_capacity(projection.len());
        for &at in projection {
            outputs.push(distinct.iter().position(|&known| known == at).unwrap_or_else(|| {
                distinct.push(at);
                distinct.len() - 1
            }));
        }
        let builder_of = |at: usize| distinct.iter().position(|&known| known == at);
        let key_columns = table.key_columns();
        let mut key_fields: Vec<_> = table
            .key_fields(&table.primary_key)
            .into_iter()
            .zip(&key_columns)
            .map(|(field, &at)| (field, builder_of(at)))
            .collect();
        while key_fields.last().is_some_and(|(_, builder)| builder.is_none()) {
            key_fields.pop();
        }
        let value_columns = distinct
            .iter()
            .enumerate()
            .filter(|(_, at)| !key_columns.contains(at))
            .map(|(builder, &at)| {
                let column = &table.columns[at];
                ValueColumn {
                    id: column.id,
                    missing: column.missing.clone(),
                    builder,
                }
            })
            .collect();
        let builders = distinct
            .iter()
            .map(|&at| ColumnBuilder::new(&table.columns[at].ty, BUILDER_ROWS))
            .collect();
        RowDecoder {
            schema: row_schema(table, projection),
            builders,
            outputs,
            key_fields,
            value_columns,
            rows: 0,
        }
    }

    /// Adds one stored row. Errors: `Corrupt`.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut fields = key.get(ENTRY_PREFIX_BYTES..).ok_or_else(|| Error::Corrupt {
            what: "row key".to_string(),
            reason: format!("{} bytes are too few", key.len()),
        })?;
        for (field, builder) in &self.key_fields {
            let length = match builder {
                Some(builder) => self.builders[*builder].append_key_field(fields, field)?,
                None => key::field_length(fields, field)?,
            };
            fields = &fields[length..];
        }
        if !self.value_columns.is_empty() {
            let row = RowReader::new(value)?;
            for column in &self.value_columns {
                match row.get(column.id) {
                    Some(stored) => self.builders[column.builder].append_stored(stored)?,
                    None => self.builders[column.builder].append_value(&column.missing),
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// The batch of the rows pushed since the last call.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let arrays: Vec<_> = self.builders.iter_mut().map(ColumnBuilder::finish).collect();
        let columns = self
            .outputs
            .iter()
            .map(|&builder| Arc::clone(&arrays[builder]))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| Error::internal(format!("decoded rows do not form a batch: {error}")))
    }
}
