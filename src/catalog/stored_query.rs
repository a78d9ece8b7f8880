//! `StoredQuery`: the query whose rows a materialized view keeps. It stands in the record of a table, which holds the rows.

/// What makes a table a materialized view.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoredQuery {
    /// The SELECT, whose columns are the table's in their order.
    pub query: String,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// Oids of the relations that it reads.
    pub depends_on: Vec<u32>,
    /// Whether its rows are there: a view WITH NO DATA cannot be read.
    pub is_populated: bool,
}
