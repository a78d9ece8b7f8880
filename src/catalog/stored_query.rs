//! `StoredQuery`: the query whose rows a materialized view keeps. It stands in the record of a table, which holds the rows.

/// Stands before the name of a relation in a printed query, which whoever shows it may call otherwise.
pub const RELATION_BEGINS: char = '\u{2}';
/// Stands behind it.
pub const RELATION_ENDS: char = '\u{3}';

/// A query as `pg_get_viewdef` prints it: the names of relations with their schemas, in marks that whoever shows it takes away.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PrintedQuery {
    /// Each operator in parentheses.
    pub plain: String,
    /// As psql shows it.
    pub pretty: String,
}

/// What makes a table a materialized view.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoredQuery {
    /// The SELECT, whose columns are the table's in their order.
    pub query: String,
    /// It as it is printed; `None`: as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedQuery>,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// Oids of the relations that it reads.
    pub depends_on: Vec<u32>,
    /// Whether its rows are there: a view WITH NO DATA cannot be read.
    pub is_populated: bool,
}
