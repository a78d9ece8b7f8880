//! What is likely of rows of which nothing but their number is known. Orders of joins and their sides are chosen by it; how a table is
//! read, and whether it may be, never depends on it.

use super::pinned_column;
use crate::catalog::TableDef;
use crate::scan::selectivity::OTHER_ROWS;
use crate::tree::{Expr, split_conjunction};

/// One row in so many satisfies a condition that pins a column to some values.
const PINNED_ROWS: u64 = 20;
/// A column that alone is no unique key has so many values, as PostgreSQL has it where it knows nothing …
const DISTINCT_VALUES: u64 = 200;
/// … or, of a large table, one for so many rows.
const ROWS_A_VALUE: u64 = 100;

/// How many of the rows satisfy the conditions.
pub(crate) fn rows_selected<'a>(rows: u64, conditions: impl IntoIterator<Item = &'a Expr>) -> u64 {
    let conditions = conditions.into_iter().flat_map(split_conjunction);
    conditions.fold(rows, |rows, condition| match pinned_column(condition) {
        Some(_) => rows.div_ceil(PINNED_ROWS),
        None => rows.div_ceil(OTHER_ROWS),
    })
}

/// How many values a column (a position in `TableDef::columns`) of a table of so many rows has.
pub(crate) fn distinct_values(table: &TableDef, position: usize, rows: u64) -> u64 {
    match holds_unique_key(table, &[position]) {
        true => rows,
        false => rows.min(DISTINCT_VALUES.max(rows / ROWS_A_VALUE)),
    }
}

/// Whether a unique key of the table has none but these columns (positions in `TableDef::columns`).
pub(crate) fn holds_unique_key(table: &TableDef, columns: &[usize]) -> bool {
    let mut keys = table.all_indexes().filter(|key| key.unique);
    keys.any(|key| {
        let mut parts = key.columns.iter();
        parts.all(|part| columns.iter().any(|at| table.columns[*at].id == part.column))
    })
}
