//! `PreparedList`: the prepared statements of a session as `pg_prepared_statements` tells of them. The session keeps it;
//! the catalog reads it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::types::SqlType;

/// One prepared statement that has a name.
#[derive(Debug, Clone)]
pub struct PreparedRow {
    /// The text that prepared it: all of PREPARE, or the statement itself when the protocol's Parse did.
    pub text: Arc<str>,
    /// The types of its parameters.
    pub parameter_types: Arc<[SqlType]>,
    /// When: microseconds since 1970 UTC.
    pub prepared_us: i64,
    /// Whether SQL's PREPARE made it.
    pub from_sql: bool,
}

/// All of them, by name.
#[derive(Debug, Default)]
pub struct PreparedList(Mutex<BTreeMap<String, PreparedRow>>);

impl PreparedList {
    /// Adds one. The unnamed statement is not told of.
    pub fn add(&self, name: &str, row: PreparedRow) {
        if !name.is_empty() {
            self.rows().insert(name.to_string(), row);
        }
    }

    /// Takes one out, if it is there.
    pub fn remove(&self, name: &str) {
        self.rows().remove(name);
    }

    /// Takes all out.
    pub fn clear(&self) {
        self.rows().clear();
    }

    /// The list itself.
    pub fn rows(&self) -> MutexGuard<'_, BTreeMap<String, PreparedRow>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
