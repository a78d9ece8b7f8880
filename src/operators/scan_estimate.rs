//! How many rows a scan is likely to give: for the one choice that asks, which side of a hash join is kept in memory and which is
//! streamed past it. How a table is read, and whether it may be, never depends on it.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::Statistics;
use datafusion_common::stats::Precision;

use crate::Result;
use crate::logical::likely::{distinct_values, rows_selected};
use crate::plan::{AccessClass, AccessPath};
use crate::table::committed_row_counts;
use crate::tree::Expr;
use crate::txn::Transaction;

/// What is known of a scan before it begins.
#[derive(Debug, Clone)]
pub(crate) struct ScanEstimate {
    /// Rows of the table. `None`: nobody has counted them.
    pub(crate) table_rows: Option<u64>,
    /// What is likely of the rows that it gives.
    pub(crate) statistics: Arc<Statistics>,
}

impl ScanEstimate {
    /// Of rows of which nothing is known.
    pub(crate) fn unknown(schema: &Schema) -> ScanEstimate {
        ScanEstimate {
            table_rows: None,
            statistics: Arc::new(Statistics::new_unknown(schema)),
        }
    }
}

/// What is likely of the columns at `positions` (of `TableDef::columns`) of the rows that the path gives under the conditions it was
/// planned for. Nothing is said of a table whose rows nobody has counted.
pub(crate) async fn estimate(
    txn: &Transaction,
    path: &AccessPath,
    conditions: &[Expr],
    positions: &[usize],
    schema: &Schema,
) -> Result<ScanEstimate> {
    let mut statistics = Statistics::new_unknown(schema);
    let counts = committed_row_counts(txn, &[&path.table]).await?;
    let table_rows = counts.first().copied().flatten();
    if let Some(rows) = table_rows {
        state_likely(&mut statistics, rows, path, conditions, positions);
    }
    Ok(ScanEstimate {
        table_rows,
        statistics: Arc::new(statistics),
    })
}

fn state_likely(
    statistics: &mut Statistics,
    rows: u64,
    path: &AccessPath,
    conditions: &[Expr],
    positions: &[usize],
) {
    statistics.num_rows = likely(match &path.class {
        AccessClass::Empty => 0,
        AccessClass::MultiGet { keys } => rows.min(keys.len() as u64),
        _ => rows_selected(rows, conditions),
    });
    for (column, position) in statistics.column_statistics.iter_mut().zip(positions) {
        column.distinct_count = likely(distinct_values(&path.table, *position, rows));
    }
}

fn likely(count: u64) -> Precision<usize> {
    usize::try_from(count).map_or(Precision::Absent, Precision::Inexact)
}
