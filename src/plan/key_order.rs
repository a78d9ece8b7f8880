//! `KeyOrder`: the order in which the entries of a key come, once a condition has pinned some of its columns.

use super::wanted::OrderColumn;
use crate::catalog::{IndexDef, KeyColumn, TableDef};

/// The order of a key's entries.
#[derive(Debug)]
pub(super) struct KeyOrder<'a> {
    table: &'a TableDef,
    key: &'a IndexDef,
    /// Columns (positions in `TableDef::columns`) that have one value.
    pinned: &'a [usize],
    /// Columns that no entry that is read holds NULL in.
    null_free: &'a [usize],
    /// Columns that say nothing of the order, because parts that have one value each in them are merged.
    aside: &'a [usize],
}

impl<'a> KeyOrder<'a> {
    pub(super) fn new(
        table: &'a TableDef,
        key: &'a IndexDef,
        pinned: &'a [usize],
        null_free: &'a [usize],
    ) -> KeyOrder<'a> {
        KeyOrder {
            table,
            key,
            pinned,
            null_free,
            aside: &[],
        }
    }

    /// The order of entries that are merged from parts with one value each in these columns.
    pub(super) fn aside(self, aside: &'a [usize]) -> KeyOrder<'a> {
        KeyOrder { aside, ..self }
    }

    /// Whether entries from the first to the last (`Some(false)`) or from the last to the first (`Some(true)`) come in the
    /// order asked for. `None`: it takes a sort.
    pub(super) fn direction(&self, order: &[OrderColumn]) -> Option<bool> {
        let mut settled = self.pinned.to_vec();
        let columns = self.open_columns();
        let mut key_columns = columns.iter();
        let own = self.own_columns();
        let mut reverse = None;
        for wanted in order {
            // No two rows are alike in what came before, so nothing behind it matters.
            if key_columns.len() == 0 && self.aside.is_empty()
                || self.key.unique && own.iter().all(|at| self.tells_apart(*at, &settled))
            {
                break;
            }
            if settled.contains(&wanted.column) {
                continue;
            }
            let (column, key) = key_columns.next()?;
            if *column != wanted.column {
                return None;
            }
            let backward = wanted.descending != key.descending;
            let nulls_agree =
                self.is_never_null(*column) || (wanted.nulls_first != key.nulls_first) == backward;
            if *reverse.get_or_insert(backward) != backward || !nulls_agree {
                return None;
            }
            settled.push(*column);
        }
        Some(reverse.unwrap_or(false))
    }

    /// Whether rows with the same values in these columns come one after the other.
    pub(super) fn keeps_together(&self, columns: &[usize]) -> bool {
        let mut apart: Vec<usize> = columns.to_vec();
        apart.retain(|column| !self.pinned.contains(column));
        apart.sort_unstable();
        apart.dedup();
        let open = self.open_columns().into_iter().map(|(column, _)| column);
        let mut leading: Vec<usize> = open.take(apart.len()).collect();
        leading.sort_unstable();
        leading == apart
    }

    /// The columns that entries are sorted by, without those that are pinned.
    pub(super) fn columns(&self) -> Vec<OrderColumn> {
        let columns = self.open_columns().into_iter();
        columns
            .map(|(column, key)| OrderColumn {
                column,
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect()
    }

    /// Those with their positions.
    fn open_columns(&self) -> Vec<(usize, KeyColumn)> {
        let columns = self.table.sort_columns(self.key).into_iter();
        columns
            .filter_map(|key| Some((self.table.column_index_by_id(key.column)?, key)))
            .filter(|(column, _)| !self.pinned.contains(column) && !self.aside.contains(column))
            .collect()
    }

    fn own_columns(&self) -> Vec<usize> {
        let columns = self.key.columns.iter();
        columns
            .filter_map(|key| self.table.column_index_by_id(key.column))
            .collect()
    }

    fn tells_apart(&self, column: usize, settled: &[usize]) -> bool {
        settled.contains(&column) && self.is_never_null(column)
    }

    fn is_never_null(&self, column: usize) -> bool {
        self.null_free.contains(&column) || self.table.is_never_null(column)
    }
}
