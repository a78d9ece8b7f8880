//! `ShownRelation`: the one relation whose rows a view shows, each once, so that rows are written through it. Kept in a view's record by
//! `sql::ddl`, for the system catalogs say what is written to and know no SQL text.

/// The relation that a view shows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShownRelation {
    /// The table or view: its oid in pg_class.
    pub oid: u32,
    /// What each column of the view is: the position of a visible column of the relation, or something computed.
    pub columns: Vec<Option<usize>>,
}
