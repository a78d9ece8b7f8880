//! Another primary key of a table that is there, or none.

use super::system_columns::row_id_column;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::row::ColumnId;

/// Takes off the primary key: the rows get hidden ids, in the order of the key that they had when they are stored anew.
pub(super) fn hide_key(table: &mut TableDef) {
    // Its columns stay NOT NULL, as in PostgreSQL.
    let of_index: Vec<ColumnId> = table
        .indexes
        .iter()
        .flat_map(IndexDef::computed_columns)
        .collect();
    table
        .columns
        .retain(|column| !column.hidden || of_index.contains(&column.id));
    table.options.buckets = None;
    let column = row_id_column(table.next_column_id);
    table.next_column_id += 1;
    let key = vec![KeyColumn::ascending(column.id)];
    table.columns.push(column);
    let name = table.primary_key.name.clone();
    set_key(table, name, false, key);
}

/// Gives the table this key: its rows are to be stored anew.
pub(super) fn set_key(table: &mut TableDef, name: String, constraint: bool, columns: Vec<KeyColumn>) {
    let of_index: Vec<ColumnId> = table
        .indexes
        .iter()
        .flat_map(IndexDef::computed_columns)
        .collect();
    let is_kept = |id: &ColumnId| of_index.contains(id) || columns.iter().any(|part| part.column == *id);
    table
        .columns
        .retain(|column| !column.hidden || is_kept(&column.id));
    for column in &mut table.columns {
        if columns.iter().any(|part| part.column == column.id) {
            column.not_null = true;
            column.unverified = None;
        }
    }
    table.primary_key = IndexDef {
        name,
        columns,
        include: Vec::new(),
        constraint,
        ..table.primary_key.clone()
    };
}
