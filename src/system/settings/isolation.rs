//! `Isolation`: what a transaction sees of others.

/// The levels that there are; READ UNCOMMITTED is the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement reads what was committed before it.
    ReadCommitted,
    /// All statements read what was committed before the first.
    RepeatableRead,
    /// The same, and what was read is as if it were read at the commit.
    Serializable,
}

impl Isolation {
    /// That of a setting's value.
    pub(super) fn of(value: &str) -> Isolation {
        match value {
            "repeatable read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        }
    }
}
