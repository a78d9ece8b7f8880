//! `ServerState`: what the statements of all sessions of one database share, in memory and beside the store. All databases share the
//! list of sessions.

use std::sync::Arc;

use super::advisory_locks::AdvisoryLocks;
use super::catalog_version::version::KnownVersions;
use super::channels::Channels;
use super::expiry_figures::ExpiryFigures;
use super::exported_snapshots::ExportedSnapshots;
use super::live_sessions::{LiveSessions, SessionLimits};
use super::refused_statements::RefusedStatements;
use super::session_state::{SessionOwner, SessionState, TcpEnds};
use super::small_scans::SmallScans;
use super::statement_statistics::StatementStatistics;
use crate::Result;
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
    /// How statements ran.
    pub statements: StatementStatistics,
    /// What the system catalogs say of the versions of the catalog that statements see.
    pub catalog_versions: KnownVersions,
    /// Those of all databases.
    sessions: Arc<LiveSessions>,
}

impl Default for ServerState {
    /// With locks of its own: no store's.
    fn default() -> ServerState {
        ServerState::new(&Arc::default(), Arc::default())
    }
}

impl ServerState {
    /// Of a server whose locks stand in this table, and that has these sessions.
    pub fn new(locks: &Arc<LockTable>, sessions: Arc<LiveSessions>) -> ServerState {
        ServerState {
            small_scans: SmallScans::default(),
            locks: Arc::new(AdvisoryLocks::new(Arc::clone(locks))),
            channels: Arc::default(),
            snapshots: Arc::default(),
            expiry: ExpiryFigures::default(),
            heat: Arc::default(),
            refused: RefusedStatements::default(),
            statements: StatementStatistics::default(),
            catalog_versions: KnownVersions::default(),
            sessions,
        }
    }

    /// All sessions, of all databases, by process id.
    pub fn sessions(&self) -> Vec<Arc<SessionState>> {
        self.sessions.all()
    }

    /// A session, of whichever database.
    pub fn get_session(&self, process_id: i32) -> Option<Arc<SessionState>> {
        self.sessions.get(process_id)
    }

    /// The sessions of all databases.
    pub fn live_sessions(&self) -> &Arc<LiveSessions> {
        &self.sessions
    }

    /// A session begins, which all see until `end_session`. `limits`: as [`LiveSessions::begin`]. Errors: as there.
    pub fn begin_session(
        &self,
        owner: SessionOwner,
        process_id: i32,
        client: Option<TcpEnds>,
        limits: SessionLimits,
    ) -> Result<Arc<SessionState>> {
        let shared = (
            Arc::clone(&self.locks),
            Arc::clone(&self.channels),
            Arc::clone(&self.snapshots),
        );
        let session = Arc::new(SessionState::new(shared, owner, process_id, client));
        match self.sessions.begin(&session, limits) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.end();
                Err(error)
            }
        }
    }

    /// A session of a test.
    #[cfg(test)]
    pub fn begin_test_session(&self) -> Arc<SessionState> {
        let owner = SessionOwner {
            user: "test".into(),
            database: "test".into(),
            database_id: crate::catalog::FIRST_DATABASE,
        };
        self.begin_session(owner, 1, None, SessionLimits::default())
            .unwrap()
    }

    /// The session is over: its locks are free, and it listens no more.
    pub fn end_session(&self, session: &SessionState) {
        session.end();
        self.sessions.end(session.process_id);
    }
}
