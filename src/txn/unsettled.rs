//! Versions of rows that get the time of their commit: what a transaction writes of tables that keep versions. Until then they have the time
//! of their statement, and the last of all in keys. Called by `table`, which says whose they are, and by COMMIT.

use std::sync::PoisonError;

use super::Transaction;
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::codec::row::settle;
use crate::codec::version::settled_key;
use crate::store::Write;

/// What the keys of a table's rows begin with, or those of their older versions.
pub type VersionsPrefix = [u8; ENTRY_PREFIX_BYTES];

impl Transaction {
    /// Rows of a table, and older versions of them, are written that get the time of the commit.
    pub fn note_unsettled(&self, prefixes: [VersionsPrefix; 2]) {
        let mut unsettled = self
            .whole
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        unsettled.extend(prefixes);
    }

    /// Gives what is about to be committed its time, if it gets one. The order of the keys stays: of a row nothing is newer.
    pub(super) fn settle_versions(&self, writes: &mut [Write]) {
        let unsettled = self
            .whole
            .unsettled
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if unsettled.is_empty() || writes.is_empty() {
            return;
        }
        let time = self.whole.store.clock().commit_time();
        for write in writes {
            let prefix = write.key().first_chunk();
            let Some(&[.., high, low]) = prefix.filter(|prefix| unsettled.contains(*prefix)) else {
                continue;
            };
            let is_unsettled = match write {
                Write::Put { value, .. } => settle(value, time),
                Write::Delete { .. } => true,
            };
            // The key of a row has no time, though it may end like one.
            if is_unsettled
                && [high, low] != [0, 0]
                && let Write::Put { key, .. } | Write::Delete { key } = write
                && let Some(settled) = settled_key(key, time)
            {
                *key = settled;
            }
        }
    }
}
