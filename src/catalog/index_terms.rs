//! `IndexTerms`: whose terms an inverted index has entries of. Part of a table's record.

use crate::codec::row::ColumnId;
use crate::codec::terms::TermClass;

/// What an inverted index has entries of.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IndexTerms {
    /// The hidden column of type bytea that stands for a term in the index's key. No row has a value of it.
    pub column: ColumnId,
    /// Whose terms, in the order in which the statement names them; at most [`TERM_SOURCES_MAX`].
    pub sources: Vec<TermSource>,
}

/// A column, or an expression's hidden column, whose terms an index has.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TermSource {
    /// The column.
    pub column: ColumnId,
    /// How its values are taken apart.
    pub class: TermClass,
    /// The operator class, where it was named and is not the type's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
}

/// Sources of an index of terms at most: PostgreSQL's limit. A stored term begins with its source's place.
pub const TERM_SOURCES_MAX: usize = 32;
