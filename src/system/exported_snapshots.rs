//! `ExportedSnapshots`: the snapshots that transactions of the server let others begin at (`pg_export_snapshot`), by identifier, each as
//! long as its transaction lasts.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Limit;
use crate::txn::SharedSnapshot;
use crate::{Error, Result};

/// So many are there at the same time.
const EXPORTS_MAX: usize = 1000;

/// One of them.
#[derive(Debug, Clone)]
pub struct ExportedSnapshot {
    /// What it sees.
    pub snapshot: SharedSnapshot,
    /// Whether its transaction is serializable.
    pub is_serializable: bool,
    /// Whether its transaction is read-only.
    pub is_read_only: bool,
}

/// All of a server.
#[derive(Debug, Default)]
pub struct ExportedSnapshots {
    made: AtomicU32,
    /// With the sessions whose transactions they are of.
    exports: Mutex<BTreeMap<String, (i32, ExportedSnapshot)>>,
}

impl ExportedSnapshots {
    /// Exports the snapshot of a session's transaction; answers its identifier. Errors: 53200 when there are too many.
    pub fn export(&self, session: i32, snapshot: ExportedSnapshot) -> Result<String> {
        let mut exports = self.lock();
        if exports.len() >= EXPORTS_MAX {
            return Err(Error::LimitExceeded {
                state: Limit::Memory,
                message: format!("more than {EXPORTS_MAX} snapshots are exported"),
                hint: "End transactions that called pg_export_snapshot().".to_string(),
            });
        }
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let id = format!("{session:08X}-{number:08X}-1");
        exports.insert(id.clone(), (session, snapshot));
        Ok(id)
    }

    /// The one of this identifier. Errors: 22023.
    pub fn import(&self, id: &str) -> Result<ExportedSnapshot> {
        let found = self.lock().get(id).map(|(_, exported)| exported.clone());
        found.ok_or_else(|| Error::InvalidParameter {
            message: format!("invalid snapshot identifier: \"{id}\""),
            hint: Some(
                "A snapshot lasts as long as the transaction that called pg_export_snapshot().".to_string(),
            ),
        })
    }

    /// The transaction of a session is over.
    pub fn end_transaction(&self, session: i32) {
        self.lock().retain(|_, (of, _)| *of != session);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (i32, ExportedSnapshot)>> {
        self.exports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
