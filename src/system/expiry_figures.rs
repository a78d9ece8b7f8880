//! `ExpiryFigures`: what the background has removed of rows that are over, and what waits, by table: what `keyspan.ttl` shows. In memory: a
//! start begins anew.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The figures of all tables.
#[derive(Debug, Default)]
pub struct ExpiryFigures {
    /// By the oids of the tables.
    tables: Mutex<BTreeMap<u32, TableExpiry>>,
}

/// The figures of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableExpiry {
    /// Rows removed since the start.
    pub removed: u64,
    /// Rows that were over at the last look and are not removed.
    pub waiting: u64,
    /// When the first row is, or was, over that is not removed, in microseconds since 1970, as far as it is known.
    pub first_over: Option<i64>,
    /// When the last pass over the table ended, in microseconds since 1970.
    pub passed: Option<i64>,
}

impl ExpiryFigures {
    /// Those of the table with this oid.
    pub fn of(&self, oid: u32) -> TableExpiry {
        self.lock().get(&oid).copied().unwrap_or_default()
    }

    /// Changes them.
    pub fn change(&self, oid: u32, change: impl FnOnce(&mut TableExpiry)) {
        change(self.lock().entry(oid).or_default());
    }

    /// Forgets tables that are not there any more.
    pub fn keep(&self, is_there: impl Fn(u32) -> bool) {
        self.lock().retain(|oid, _| is_there(*oid));
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, TableExpiry>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
