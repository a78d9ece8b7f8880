//! What a cursor cannot be, and where it cannot stand: PostgreSQL's words for both.

use std::fmt;

/// What DECLARE says of a cursor that may then lock no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOnlyCursor {
    /// WITH HOLD.
    Holdable,
    /// SCROLL.
    Scrollable,
    /// INSENSITIVE.
    Insensitive,
}

impl ReadOnlyCursor {
    /// The SQLSTATE of one that locks rows.
    pub(super) fn sqlstate(self) -> &'static str {
        match self {
            ReadOnlyCursor::Holdable | ReadOnlyCursor::Scrollable => "0A000",
            ReadOnlyCursor::Insensitive => "42P11",
        }
    }

    pub(super) fn detail(self) -> String {
        format!("{self:?} cursors must be READ ONLY.")
    }

    /// `clause`: what locks.
    pub(super) fn message(self, clause: &str) -> String {
        let (declared, refused) = match self {
            ReadOnlyCursor::Holdable => ("CURSOR WITH HOLD", "supported"),
            ReadOnlyCursor::Scrollable => ("SCROLL CURSOR", "supported"),
            ReadOnlyCursor::Insensitive => ("INSENSITIVE CURSOR", "valid"),
        };
        format!("DECLARE {declared} ... {clause} is not {refused}")
    }
}

/// Why WHERE CURRENT OF names no row (24000).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorFault {
    /// It stands before the first row or behind the last.
    NotOnRow,
    /// Its transaction is over.
    Held,
    /// Its statement is no query.
    NotSelect,
    /// Its rows are not the table's.
    NotUpdatable { table: String },
    /// It locks rows, and none of the table's.
    NotLocked { table: String },
    /// It locks rows of the table under several names.
    LockedTwice { table: String },
}

impl fmt::Display for CursorFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CursorFault::NotOnRow => f.write_str("is not positioned on a row"),
            CursorFault::Held => f.write_str("is held from a previous transaction"),
            CursorFault::NotSelect => f.write_str("is not a SELECT query"),
            CursorFault::NotUpdatable { table } => {
                write!(f, "is not a simply updatable scan of table \"{table}\"")
            }
            CursorFault::NotLocked { table } => {
                write!(
                    f,
                    "does not have a FOR UPDATE/SHARE reference to table \"{table}\""
                )
            }
            CursorFault::LockedTwice { table } => {
                write!(f, "has multiple FOR UPDATE/SHARE references to table \"{table}\"")
            }
        }
    }
}
