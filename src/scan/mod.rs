//! Access paths to rows: [`executor::scan_stored`] reads a path through a transaction, with multi-gets, ranges, merges, lookups of an
//! index's entries and residual filters, as stored rows or as Arrow batches. Knows neither plans nor sessions.

pub(crate) mod costs;
pub mod executor;
pub mod figures;
mod layouts;
pub(crate) mod like_values;
mod merged_scan;
mod open_range;
mod pieces;
pub(crate) mod range_cardinality;
pub(crate) mod read_budget;
pub mod residual;
mod row_filter;
pub(crate) mod row_keys;
mod rows;
mod rows_of_entries;
pub mod scan_metrics;
pub(crate) mod selectivity;
pub(crate) mod shared_scan;
pub(crate) mod table_access;
mod term_scan;
pub(crate) mod watched_reads;

pub use layouts::ScannedColumns;
pub use rows::{OutputColumn, Rows, RowsStream, StoredRows};
