//! The defaults that take values of sequences which are to go: told of without CASCADE, removed with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::foreign_key::Reference;
use crate::Result;
use crate::catalog::{Catalog, CatalogWriter, ColumnDef, SequenceDef, TableDef};

/// A column whose default takes values of a sequence.
pub(super) struct DependentDefault<'a> {
    /// Its table.
    pub(super) table: &'a Arc<TableDef>,
    /// The column.
    pub(super) column: &'a ColumnDef,
    /// The sequence.
    pub(super) sequence: &'a SequenceDef,
}

impl DependentDefault<'_> {
    /// As messages name it.
    pub(super) fn described(&self) -> String {
        format!(
            "default value for column {} of table {}",
            self.column.name, self.table.name
        )
    }

    /// What it depends on.
    pub(super) fn line(&self) -> String {
        format!("{} depends on sequence {}", self.described(), self.sequence.name)
    }
}

/// The defaults that take values of these sequences, but for those of columns that go themselves.
pub(super) fn of_sequences<'a>(
    catalog: &'a Catalog,
    sequences: &[&'a SequenceDef],
    is_gone: impl Fn(&TableDef, &ColumnDef) -> bool,
) -> Vec<DependentDefault<'a>> {
    let mut found = Vec::new();
    for sequence in sequences {
        for (table, column) in catalog.columns_using(sequence.oid()) {
            if !is_gone(table, column) {
                found.push(DependentDefault {
                    table,
                    column,
                    sequence,
                });
            }
        }
    }
    found
}

/// Takes the defaults off their columns, and foreign keys off their tables.
pub(super) fn remove(
    writer: &CatalogWriter<'_>,
    defaults: &[DependentDefault<'_>],
    foreign_keys: &[Reference<'_>],
) -> Result<()> {
    let mut changed: BTreeMap<u32, TableDef> = BTreeMap::new();
    for default in defaults {
        let table = changed.entry(default.table.oid);
        let table = table.or_insert_with(|| TableDef::clone(default.table));
        if let Some(at) = table.column_index_by_id(default.column.id) {
            table.columns[at].default = None;
        }
    }
    for (by, key) in foreign_keys {
        let table = changed.entry(by.oid).or_insert_with(|| TableDef::clone(by));
        table.foreign_keys.retain(|own| own.oid != key.oid);
    }
    changed
        .into_values()
        .try_for_each(|table| writer.put_table(table).map(drop))
}
