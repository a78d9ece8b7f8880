//! `Change`: what ALTER TABLE makes of a table before any of it is written. Filled by `alter` and by those of its operations that
//! have files of their own.

use super::index::NewIndex;
use super::rewrite::Rewrite;
use super::verification::NoNulls;
use crate::Error;
use crate::catalog::{ForeignKey, TableDef};
use crate::error::nearest_name;

/// What ALTER TABLE makes of a table, operation by operation.
pub(super) struct Change {
    pub(super) table: TableDef,
    /// Indexes that it gets.
    pub(super) indexes: Vec<NewIndex>,
    /// What must hold of all rows; it holds of those that the transaction sees.
    pub(super) checks: Vec<NoNulls>,
    /// The names of CHECK constraints that the rows there are must be asked.
    pub(super) row_checks: Vec<String>,
    /// Foreign keys that it gets or that are to be valid, and whether the rows there are must be asked.
    pub(super) foreign_keys: Vec<(ForeignKey, bool)>,
    /// Its rows are to be stored otherwise.
    pub(super) rewrite: Option<Rewrite>,
    /// They may be written beside the table, while others write it.
    pub(super) beside: bool,
    /// Names of sequences that its new columns have got.
    pub(super) sequence_names: Vec<String>,
}

/// 0A000: the key is the order of the rows on disk.
pub(super) fn changed_key(table: &TableDef) -> Error {
    Error::unsupported(
        format!("changing the primary key of \"{}\"", table.name),
        Some(
            "Use ALTER TABLE ... ALTER PRIMARY KEY (...) [WITH (BUCKETS = n)], which stores the rows anew while others write them.",
        ),
    )
}

/// 42703.
pub(super) fn undefined_column(name: &str, table: &TableDef) -> Error {
    let nearest = nearest_name(name, table.visible_columns().map(|column| column.name.as_str()));
    Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", table.name),
        hint: nearest.map(|nearest| format!("Perhaps you meant the column \"{nearest}\".")),
    }
}

/// 23502.
pub(super) fn contains_null(table: &TableDef, column: &str) -> Error {
    Error::ContainsNull {
        schema: table.schema.clone(),
        table: table.name.clone(),
        column: column.to_string(),
    }
}
