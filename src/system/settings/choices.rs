//! Settings that are one of several words, as values of their own. Read by `Settings` once a change.

/// What a column is that a write may add and none has yet (keyspan.unwritten_columns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnwrittenColumns {
    /// NULL where it is shown, an error where it decides which rows there are or what is written.
    Shown,
    /// An error.
    Error,
    /// NULL.
    Null,
}

/// Which statements are logged when they begin (log_statement).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoggedStatements {
    /// None.
    None,
    /// Those that define something.
    Definitions,
    /// Those that write.
    Writes,
    /// Every one.
    All,
}

impl UnwrittenColumns {
    /// By a word that the setting takes.
    pub(super) fn named(word: &str) -> UnwrittenColumns {
        match word {
            "error" => UnwrittenColumns::Error,
            "null" => UnwrittenColumns::Null,
            _ => UnwrittenColumns::Shown,
        }
    }
}

impl LoggedStatements {
    /// By a word that the setting takes.
    pub(super) fn named(word: &str) -> LoggedStatements {
        match word {
            "ddl" => LoggedStatements::Definitions,
            "mod" => LoggedStatements::Writes,
            "all" => LoggedStatements::All,
            _ => LoggedStatements::None,
        }
    }
}
