//! What it costs to reach rows one by one beside reading them one after the other: by it, lookups and hash joins, indexes and tables are
//! chosen between, before a join or scan begins and while it runs. Which of them a statement *may* use never depends on it.

/// A row that is fetched, or looked up, by itself costs as much as so many that are read one after the other: 4 µs, where a scan over
/// what is in memory reads a row in 0.12 µs.
pub(crate) const ROWS_A_GET: u64 = 32;
