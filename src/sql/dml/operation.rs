//! `Operation`: what a write does with its rows, for who tells of it.

/// What is done with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// INSERT; a row whose key is there already is an error, left out, or updates the one that is there.
    Insert {
        /// `NOTHING` or `UPDATE`.
        on_conflict: Option<&'static str>,
    },
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// MERGE.
    Merge,
}

impl Operation {
    /// The first word of its command tag.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Operation::Insert { .. } => "INSERT",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Merge => "MERGE",
        }
    }
}
