//! `Command`: the statements that are the session's own business (transactions, settings, prepared statements, cursors).
//! `command_reader` reads them, `session` runs them.

use crate::types::{SqlType, Value};

/// A statement that the session runs itself.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the line of a variant says what its fields hold")]
pub enum Command {
    /// BEGIN; START TRANSACTION with `start`.
    Begin { modes: Modes, start: bool },
    /// COMMIT, END.
    Commit { chain: bool },
    /// ROLLBACK, ABORT.
    Rollback { chain: bool },
    /// SAVEPOINT.
    Savepoint { name: String },
    /// RELEASE.
    Release { name: String },
    /// ROLLBACK TO.
    RollbackTo { name: String },
    /// SET TRANSACTION.
    SetTransaction { modes: Modes },
    /// SET SESSION CHARACTERISTICS.
    SetCharacteristics { modes: Modes },
    /// SET; `values` is `None` for DEFAULT.
    Set {
        name: String,
        values: Option<Vec<String>>,
        local: bool,
    },
    /// RESET; `None` for ALL.
    Reset { name: Option<String> },
    /// SHOW; `None` for ALL.
    Show { name: Option<String> },
    /// PREPARE.
    Prepare {
        name: String,
        types: Vec<SqlType>,
        text: String,
    },
    /// EXECUTE with constants.
    Execute { name: String, arguments: Vec<Value> },
    /// DEALLOCATE; `None` for ALL.
    Deallocate { name: Option<String> },
    /// DISCARD ALL, PLANS, SEQUENCES, TEMP.
    Discard { what: Discard },
    /// DECLARE … CURSOR FOR query.
    Declare { name: String, text: String },
    /// FETCH, or MOVE: `count` is `None` for ALL.
    Fetch {
        name: String,
        count: Option<u64>,
        only_move: bool,
    },
    /// CLOSE; `None` for ALL.
    Close { name: Option<String> },
}

/// What DISCARD forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// Everything of the session.
    All,
    /// Cached plans.
    Plans,
    /// Cached sequence values.
    Sequences,
    /// Temporary tables.
    Temp,
}

/// Modes of a transaction; `None`: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL, lower case.
    pub isolation: Option<&'static str>,
    /// READ ONLY / READ WRITE.
    pub read_only: Option<bool>,
    /// [NOT] DEFERRABLE.
    pub deferrable: Option<bool>,
}
