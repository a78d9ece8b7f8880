//! The logs of tables that get another primary key: whoever writes a row of one puts the row's key there, in the same commit. The
//! transaction does so by itself, whatever writes the row, by what the catalog that it has loaded says.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::Transaction;
use super::buffer::Buffer;
use crate::Result;
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, IndexId, TableId, entry_prefix};
use crate::store::Write;

/// Which tables have logs.
#[derive(Debug, Default)]
pub(super) struct ChangeLogs {
    /// Whether any has: most often none has, and nothing else is looked at.
    any: AtomicBool,
    logs: RwLock<Option<Arc<BTreeMap<TableId, IndexId>>>>,
}

impl ChangeLogs {
    /// The key under which it is logged that this one is written; `None`: it need not be.
    pub(super) fn key_of(&self, written: &[u8]) -> Option<Vec<u8>> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let (prefix, fields) = written.split_at_checked(ENTRY_PREFIX_BYTES)?;
        let [a, b, c, d, 0, 0] = prefix else {
            return None;
        };
        let table = TableId::from_be_bytes([*a, *b, *c, *d]);
        let logs = self.logs.read().unwrap_or_else(PoisonError::into_inner);
        let log = logs.as_ref()?.get(&table)?;
        Some([&entry_prefix(table, *log), fields].concat())
    }
}

/// A row that is logged is written.
pub(super) fn put_logged(buffer: &mut Buffer, key: Option<Vec<u8>>) -> Result<()> {
    let value = Vec::new();
    match key {
        None => Ok(()),
        Some(key) => buffer.write(Write::Put { key, value }, None),
    }
}

impl Transaction {
    /// Rows are logged by what another transaction has loaded.
    pub(super) fn log_changes_as(&self, other: &Transaction) {
        let logs = &other.whole.change_logs.logs;
        self.log_changes(logs.read().unwrap_or_else(PoisonError::into_inner).as_ref());
    }

    /// From now on rows of these tables are logged when they are written.
    pub fn log_changes(&self, logs: Option<&Arc<BTreeMap<TableId, IndexId>>>) {
        let own = &self.whole.change_logs;
        if logs.is_none() && !own.any.load(Ordering::Relaxed) {
            return;
        }
        let mut known = own.logs.write().unwrap_or_else(PoisonError::into_inner);
        *known = logs.cloned();
        own.any.store(known.is_some(), Ordering::Relaxed);
    }
}
