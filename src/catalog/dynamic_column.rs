//! Columns that writes have added to a table, as they are stored: a small record each, beside the table's, so that what a new column costs
//! does not grow with the columns that are there. Read by `load` and `check`; written by `column_change`.
//!
//! ```text
//! Relation { 7 }              the table with columns 1 and 2; the next column is 3
//! DynamicColumn { 7, 3 }      column 3
//! DynamicColumn { 7, 4 }      column 4; the next is 5
//! ```
//!
//! Invariants:
//!
//! 1. The ids of a table's columns that stand beside begin where its record says that the next column does, and have no gap.
//! 2. Who writes the table's record puts all columns into it, and removes their records; it guards the key of the next column, which whoever
//!    adds one meanwhile writes.
//! 3. The version of a table is that of its last column that stands beside, else that of its record.

use std::collections::BTreeMap;

use super::constant_record::corrupt;
use super::record;
use super::{ColumnDef, TableDef, UserTypes};
use crate::Result;
use crate::codec::keyspace::{Keyspace, TableId};
use crate::codec::row::ColumnId;

/// A column's record.
#[derive(Debug, Clone)]
pub(super) struct StoredColumn {
    /// The catalog version that added it.
    pub(super) version: u64,
    pub(super) def: ColumnDef,
}

/// Records of columns by their tables, in the order of ids.
pub(super) type StoredColumns = BTreeMap<TableId, Vec<StoredColumn>>;

/// The key of a column's record.
pub(super) fn key_of(table: TableId, column: ColumnId) -> Vec<u8> {
    Keyspace::DynamicColumn { table, column }.encode()
}

/// A column's record. Errors: `Corrupt`, also for one that stands under the key of another.
pub(super) fn decode(
    (table, column): (TableId, ColumnId),
    bytes: &[u8],
    types: &UserTypes,
) -> Result<StoredColumn> {
    let (id, version, def) = record::decode_column(bytes, types)?;
    match id == table && def.id == column {
        true => Ok(StoredColumn { version, def }),
        false => Err(corrupt(format!("it is that of column {} of table {id}", def.id))),
    }
}

/// Reads records, which stand in the order of their keys.
pub(super) fn decode_all(
    records: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>,
    types: &UserTypes,
) -> Result<StoredColumns> {
    let mut columns = StoredColumns::new();
    for (key, value) in records {
        if let Keyspace::DynamicColumn { table, column } = Keyspace::decode(&key)? {
            let column = decode((table, column), &value, types)?;
            columns.entry(table).or_default().push(column);
        }
    }
    Ok(columns)
}

impl TableDef {
    /// The table with the next columns that stand beside its record. Errors: `Corrupt`.
    pub(super) fn with_stored_columns(&self, columns: Vec<StoredColumn>) -> Result<TableDef> {
        let mut table = self.clone();
        for StoredColumn { version, def } in columns {
            if def.id != table.next_column_id {
                return Err(corrupt(format!(
                    "the next column of table {} is {}, and {} stands beside it",
                    table.id, table.next_column_id, def.id
                )));
            }
            table.beside_from.get_or_insert(def.id);
            table.version = version;
            table.add_column(def)?;
        }
        Ok(table)
    }

    /// The ids of its columns that have records of their own.
    pub(super) fn columns_beside(&self) -> std::ops::Range<ColumnId> {
        self.beside_from.unwrap_or(self.next_column_id)..self.next_column_id
    }
}
