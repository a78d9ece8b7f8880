//! `ServerState`: what the statements of all sessions of one server share, in memory and beside the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::advisory_locks::AdvisoryLocks;
use super::catalog_version::version::KnownVersions;
use super::channels::Channels;
use super::expiry_figures::ExpiryFigures;
use super::exported_snapshots::ExportedSnapshots;
use super::refused_statements::RefusedStatements;
use super::session_state::{SessionState, TcpEnds};
use super::small_scans::SmallScans;
use crate::store::LockTable;
use crate::txn::heat::KeyHeat;

/// What statements of all sessions share.
#[derive(Debug)]
pub struct ServerState {
    /// The statements that ran because a table is small.
    pub small_scans: SmallScans,
    /// Advisory locks.
    pub locks: Arc<AdvisoryLocks>,
    /// LISTEN and NOTIFY.
    pub channels: Arc<Channels>,
    /// Snapshots that transactions let others begin at.
    pub snapshots: Arc<ExportedSnapshots>,
    /// What is removed of rows that are over.
    pub expiry: ExpiryFigures,
    /// What is read and written of keys.
    pub heat: Arc<KeyHeat>,
    /// Statements that an index would serve.
    pub refused: RefusedStatements,
    /// What the system catalogs say of the versions of the catalog that statements see.
    pub catalog_versions: KnownVersions,
    /// Live sessions by process id.
    sessions: Mutex<BTreeMap<i32, Arc<SessionState>>>,
}

impl Default for ServerState {
    /// With locks of its own: no store's.
    fn default() -> ServerState {
        ServerState::new(&Arc::default())
    }
}

impl ServerState {
    /// Of a server whose locks stand in this table.
    pub fn new(locks: &Arc<LockTable>) -> ServerState {
        ServerState {
            small_scans: SmallScans::default(),
            locks: Arc::new(AdvisoryLocks::new(Arc::clone(locks))),
            channels: Arc::default(),
            snapshots: Arc::default(),
            expiry: ExpiryFigures::default(),
            heat: Arc::default(),
            refused: RefusedStatements::default(),
            catalog_versions: KnownVersions::default(),
            sessions: Mutex::default(),
        }
    }

    /// All sessions, by process id.
    pub fn sessions(&self) -> Vec<Arc<SessionState>> {
        self.live().values().cloned().collect()
    }

    /// A session.
    pub fn get_session(&self, process_id: i32) -> Option<Arc<SessionState>> {
        self.live().get(&process_id).cloned()
    }

    /// A session begins, which all see until `end_session`.
    pub fn begin_session(
        &self,
        (user, database): (Arc<str>, Arc<str>),
        process_id: i32,
        client: Option<TcpEnds>,
    ) -> Arc<SessionState> {
        let shared = (
            Arc::clone(&self.locks),
            Arc::clone(&self.channels),
            Arc::clone(&self.snapshots),
        );
        let session = Arc::new(SessionState::new(shared, (user, database), process_id, client));
        self.live().insert(process_id, Arc::clone(&session));
        session
    }

    /// The session is over: its locks are free, and it listens no more.
    pub fn end_session(&self, session: &SessionState) {
        session.end();
        self.live().remove(&session.process_id);
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<i32, Arc<SessionState>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
