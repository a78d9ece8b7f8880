//! A table as a write sees it that names few of many columns: without those that the write neither gives nor reads, and that say
//! nothing of other columns. What a write costs then follows from what it names, not from how many columns its table has.
//! Called by `sql::dml`; `table` keeps the values of what was left out as they stand.
//!
//! Such a definition is never a record: nobody changes it and puts it back.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ColumnDef, TableDef};
use crate::codec::row::ColumnId;
use crate::types::Value;

/// Narrower tables are written whole: there is little to leave out.
const WIDE_FROM: usize = 32;

impl TableDef {
    /// The table with the columns that `is_named` chooses, and those that no write may do without: of keys, indexes, constraints,
    /// with defaults, generated, and what these are computed of. The same table where that is most of it, or where triggers see its rows.
    pub fn narrowed(self: &Arc<TableDef>, is_named: impl Fn(&ColumnDef) -> bool) -> Arc<TableDef> {
        if self.columns.len() < WIDE_FROM || self.has_row_triggers() {
            return Arc::clone(self);
        }
        let needed = self.columns_needed();
        let is_kept = |column: &ColumnDef| {
            let decides = column.hidden || column.not_null || column.domain.is_some();
            let is_filled = column.default.is_some() || column.missing != Value::Null;
            decides || is_filled || needed.contains(&column.id) || is_named(column)
        };
        let (kept, left_out): (Vec<&ColumnDef>, Vec<&ColumnDef>) =
            self.columns.iter().partition(|column| is_kept(column));
        if left_out.len() < kept.len() {
            return Arc::clone(self);
        }
        let mut left_out: Vec<ColumnId> = left_out.iter().map(|column| column.id).collect();
        left_out.sort_unstable();
        Arc::new(TableDef {
            schema: self.schema.clone(),
            name: self.name.clone(),
            columns: kept.into_iter().cloned().collect(),
            primary_key: self.primary_key.clone(),
            indexes: self.indexes.clone(),
            checks: self.checks.clone(),
            foreign_keys: self.foreign_keys.clone(),
            triggers: self.triggers.clone(),
            partitioning: self.partitioning.clone(),
            partition: self.partition.clone(),
            options: self.options.clone(),
            wildcards: self.wildcards.clone(),
            stored_query: self.stored_query.clone(),
            comment: None,
            cache: super::TableCache::default(),
            left_out: left_out.into(),
            version_read: self.version_read.clone(),
            read_after: self.read_after.clone(),
            told: Arc::clone(&self.told),
            ..**self
        })
    }

    /// Whether columns were left out.
    pub fn is_narrowed(&self) -> bool {
        !self.left_out.is_empty()
    }

    /// Whether stored rows may have a value of the column, which was left out.
    pub fn leaves_out(&self, id: ColumnId) -> bool {
        self.left_out.binary_search(&id).is_ok()
    }

    /// The columns that keys, indexes and constraints name, and those that generated columns are computed of.
    fn columns_needed(&self) -> HashSet<ColumnId> {
        let keys = self.all_indexes().flat_map(|index| index.held_columns());
        let checks = self.checks.iter().flat_map(|check| check.columns.iter().copied());
        let references = self
            .foreign_keys
            .iter()
            .flat_map(|key| key.columns.iter().copied());
        let inputs = self
            .generations()
            .flat_map(|(_, generation)| generation.inputs.iter().copied());
        let partitions = self.partitioning.iter().flat_map(|by| &by.columns);
        let partitions = partitions.chain(self.partition.iter().flat_map(|of| &of.columns));
        keys.chain(checks)
            .chain(references)
            .chain(inputs)
            .chain(partitions.copied())
            .collect()
    }
}
