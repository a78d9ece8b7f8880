//! What settings say of a transaction: its [`Isolation`], and whether it may write. Asked by `session` before a statement, and by
//! functions that write.

use super::{Settings, find};
use crate::{Error, Result};

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
    /// The level as settings say it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// That of a setting's value.
    pub(super) fn of(value: &str) -> Isolation {
        match value {
            "repeatable read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            _ => Isolation::ReadCommitted,
        }
    }
}

impl Settings {
    /// Has the settings of a transaction say what the next one begins with, as they do while there is none.
    pub fn begin_anew(&mut self) {
        for mode in ["isolation", "read_only", "deferrable"] {
            let own = find(&format!("transaction_{mode}"));
            let default = find(&format!("default_transaction_{mode}"));
            if let (Some((own, _)), Some((default, _))) = (own, default) {
                self.values[own] = self.values[default].clone();
            }
        }
        self.derive();
    }

    /// Errors: 25006, naming `what` was to be done, where a statement's transaction may not write: that of a block, or its own.
    pub fn require_writable(&self, in_block: bool, what: &str) -> Result<()> {
        let by_default = || self.get("default_transaction_read_only").as_deref() == Some("on");
        match self.transaction_read_only || !in_block && by_default() {
            false => Ok(()),
            true => Err(Error::TransactionState {
                state: "25006",
                message: format!("cannot execute {what} in a read-only transaction"),
            }),
        }
    }
}
