//! `RowLayout`: where the columns that a read wants stand in stored rows and entries. Made once a read; `RowDecoder` turns rows into
//! Arrow batches by it, `RowFormatter` into the fields of the wire.

use std::sync::Arc;

use arrow::datatypes::{Fields, Schema, SchemaRef};

use crate::catalog::{IndexDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

/// The Arrow schema of the columns of `table` at `projection` (positions in `TableDef::columns`), types in metadata.
pub fn row_schema(table: &TableDef, projection: &[usize]) -> SchemaRef {
    let fields = table.fields();
    let fields: Fields = projection.iter().map(|&at| Arc::clone(&fields[at])).collect();
    Arc::new(Schema::new(fields))
}

/// Where the columns of a projection stand in the rows of a table, or in the entries of an index that covers them.
#[derive(Debug)]
pub struct RowLayout {
    /// Positions in `TableDef::columns`, perhaps some of them twice.
    pub(super) projection: Vec<usize>,
    /// The schema of the projection.
    pub(super) schema: SchemaRef,
    /// The distinct columns of the projection.
    pub(super) columns: Vec<LayoutColumn>,
    /// For each column of the projection, its position in `columns`.
    pub(super) outputs: Vec<usize>,
    /// The key's fields up to the last one projected, each with its position in `columns` if it is projected.
    pub(super) key_fields: Vec<(KeyField, Option<usize>)>,
    /// So many of the key's fields are in every key: those behind them are in the values instead where they tell no rows
    /// apart.
    pub(super) fields_always: usize,
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
    /// In the key, at this position, or where the key ends before it in the value.
    KeyOrValue { at: usize, id: ColumnId },
    /// In the row value; rows written before there was the column read as `missing`.
    Value { id: ColumnId, missing: Value },
}

impl RowLayout {
    /// For the rows of `table`, and its columns at `projection` (positions in `TableDef::columns`, perhaps some of them
    /// twice).
    pub fn new(table: &TableDef, projection: &[usize]) -> RowLayout {
        RowLayout::of_key(table, &table.primary_key, projection)
    }

    /// For what stands under a key: rows under the primary key, entries under an index, which must cover the columns.
    pub fn of_key(table: &TableDef, index: &IndexDef, projection: &[usize]) -> RowLayout {
        let mut distinct: Vec<usize> = Vec::new();
        let mut outputs = Vec::with_capacity(projection.len());
        for &at in projection {
            outputs.push(distinct.iter().position(|&known| known == at).unwrap_or_else(|| {
                distinct.push(at);
                distinct.len() - 1
            }));
        }
        let sorted = table.sort_columns(index);
        let key_columns: Vec<usize> = sorted
            .iter()
            .filter_map(|key| table.column_index_by_id(key.column))
            .collect();
        let mut key_fields: Vec<_> = table
            .fields_of(&sorted)
            .into_iter()
            .zip(&key_columns)
            .map(|(field, &at)| {
                let is_read = key::tells_value(&field.ty);
                (field, distinct.iter().position(|&known| known == at && is_read))
            })
            .collect();
        // An index may have a column twice, which is read once.
        let mut read = vec![false; distinct.len()];
        for (_, column) in &mut key_fields {
            *column = column.filter(|at| !std::mem::replace(&mut read[*at], true));
        }
        let fields_always = index.columns.len();
        while key_fields.last().is_some_and(|(_, column)| column.is_none()) {
            key_fields.pop();
        }
        let column = |&at: &usize| {
            let column = &table.columns[at];
            let in_key = key_columns.iter().position(|&key| key == at);
            let place = match in_key.filter(|_| key::tells_value(&column.ty)) {
                Some(at) if at >= fields_always && index.unique => Place::KeyOrValue { at, id: column.id },
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
                .any(|column| !matches!(column.place, Place::Key(_))),
            projection: projection.to_vec(),
            fields_always,
            columns,
            outputs,
            key_fields,
        }
    }

    /// The columns: positions in `TableDef::columns`.
    pub fn projection(&self) -> &[usize] {
        &self.projection
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
