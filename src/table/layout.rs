//! `RowLayout`: where the columns that a read wants stand in stored rows. Made once a read; `RowDecoder` turns rows into
//! Arrow batches by it, `RowFormatter` into the fields of the wire.

use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, SchemaRef};

use crate::catalog::{ColumnDef, TableDef};
use crate::codec::key::KeyField;
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

/// The Arrow schema of the columns of `table` at `projection` (positions in `TableDef::columns`), types in metadata.
pub fn row_schema(table: &TableDef, projection: &[usize]) -> SchemaRef {
    let fields = table.fields();
    let fields: Fields = projection.iter().map(|&at| Arc::clone(&fields[at])).collect();
    Arc::new(Schema::new(fields))
}

/// The Arrow schema of batches to be written: every column, each nullable, for NULLs are refused by the writer.
pub fn write_schema(table: &TableDef) -> SchemaRef {
    let field = |column: &ColumnDef| column.ty.field(&column.name, true);
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

/// Where the columns of a projection stand in the rows of a table's primary key.
#[derive(Debug)]
pub struct RowLayout {
    /// The schema of the projection.
    pub(super) schema: SchemaRef,
    /// The distinct columns of the projection.
    pub(super) columns: Vec<LayoutColumn>,
    /// For each column of the projection, its position in `columns`.
    pub(super) outputs: Vec<usize>,
    /// The key's fields up to the last one projected, each with its position in `columns` if it is projected.
    pub(super) key_fields: Vec<(KeyField, Option<usize>)>,
    /// Whether any column stands in the row value.
    pub(super) reads_values: bool,
}

/// One projected column.
#[derive(Debug)]
pub(super) struct LayoutColumn {
    pub(super) ty: SqlType,
    pub(super) place: Place,
}

/// Where a column stands.
#[derive(Debug)]
pub(super) enum Place {
    /// In the key: its position among the layout's `key_fields`.
    Key(usize),
    /// In the row value; rows written before there was the column read as `missing`.
    Value { id: ColumnId, missing: Value },
}

impl RowLayout {
    /// For columns of `table` at `projection` (positions in `TableDef::columns`, perhaps some of them twice).
    pub fn new(table: &TableDef, projection: &[usize]) -> RowLayout {
        let mut distinct: Vec<usize> = Vec::new();
        let mut outputs = Vec::with_capacity(projection.len());
        for &at in projection {
            outputs.push(distinct.iter().position(|&known| known == at).unwrap_or_else(|| {
                distinct.push(at);
                distinct.len() - 1
            }));
        }
        let key_columns = table.key_columns();
        let mut key_fields: Vec<_> = table
            .key_fields(&table.primary_key)
            .into_iter()
            .zip(&key_columns)
            .map(|(field, &at)| (field, distinct.iter().position(|&known| known == at)))
            .collect();
        while key_fields.last().is_some_and(|(_, column)| column.is_none()) {
            key_fields.pop();
        }
        let column = |&at: &usize| {
            let column = &table.columns[at];
            let place = match key_columns.iter().position(|&key| key == at) {
                Some(field) => Place::Key(field),
                None => Place::Value {
                    id: column.id,
                    missing: column.missing.clone(),
                },
            };
            LayoutColumn {
                ty: column.ty.clone(),
                place,
            }
        };
        let columns: Vec<_> = distinct.iter().map(column).collect();
        RowLayout {
            schema: row_schema(table, projection),
            reads_values: columns
                .iter()
                .any(|column| matches!(column.place, Place::Value { .. })),
            columns,
            outputs,
            key_fields,
        }
    }

    /// The schema of the projection.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Whether any column stands in the row value: else keys alone will do.
    pub fn reads_values(&self) -> bool {
        self.reads_values
    }
}
