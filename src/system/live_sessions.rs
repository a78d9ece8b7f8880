//! `LiveSessions`: the sessions of all databases of a server, and which databases take none, for they are being dropped or changed.
//! Both stand under one lock, so that no session begins between the question and the change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::session_state::SessionState;
use crate::codec::keyspace::DatabaseId;
use crate::error::{Limit, StatementFault};
use crate::{Error, Result};

/// The sessions of a server.
#[derive(Debug, Default)]
pub struct LiveSessions {
    state: Mutex<State>,
    /// A database was dropped: what is in it is to be removed.
    dropped: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// By process id.
    live: BTreeMap<i32, Arc<SessionState>>,
    /// The databases that take no session now.
    closed: BTreeMap<DatabaseId, Closing>,
}

/// Why a database takes no session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// It is dropped, or gets another name.
    Removed,
    /// It is copied, by this session.
    Copied(i32),
}

/// How many sessions may be at once; `None`: as many as the server has.
#[derive(Debug, Clone, Copy, Default)]
pub struct SessionLimits {
    /// In the session's database.
    pub of_database: Option<usize>,
    /// Of its user.
    pub of_role: Option<usize>,
}

/// A database takes no session as long as this lives.
#[derive(Debug)]
pub struct ClosedDatabase {
    sessions: Arc<LiveSessions>,
    database: DatabaseId,
    is_dropped: bool,
}

impl LiveSessions {
    /// All of them.
    pub fn all(&self) -> Vec<Arc<SessionState>> {
        self.lock().live.values().cloned().collect()
    }

    /// The one of this process id.
    pub fn get(&self, process_id: i32) -> Option<Arc<SessionState>> {
        self.lock().live.get(&process_id).cloned()
    }

    /// Those of a database.
    pub fn of_database(&self, database: DatabaseId) -> Vec<Arc<SessionState>> {
        let state = self.lock();
        let own = state
            .live
            .values()
            .filter(|session| session.database_id == database);
        own.cloned().collect()
    }

    /// One begins, within limits. Errors: 53300; 3D000 for a database that is being dropped, 55000 for one that is being copied.
    pub fn begin(&self, session: &Arc<SessionState>, limits: SessionLimits) -> Result<()> {
        let mut state = self.lock();
        if let Some(closing) = state.closed.get(&session.database_id) {
            return Err(closing.refusal(&session.database));
        }
        let all = || state.live.values();
        let of_database = || {
            all()
                .filter(|other| other.database_id == session.database_id)
                .count()
        };
        let of_role = || all().filter(|other| other.user == session.user).count();
        let full = if limits.of_database.is_some_and(|limit| of_database() >= limit) {
            Some(("database", &session.database))
        } else if limits.of_role.is_some_and(|limit| of_role() >= limit) {
            Some(("role", &session.user))
        } else {
            None
        };
        if let Some((kind, name)) = full {
            return Err(Error::LimitExceeded {
                state: Limit::Connections,
                message: format!("too many connections for {kind} \"{name}\""),
                hint: format!(
                    "End some, or raise it: ALTER {} … CONNECTION LIMIT.",
                    kind.to_uppercase()
                ),
            });
        }
        state.live.insert(session.process_id, Arc::clone(session));
        Ok(())
    }

    /// One is over.
    pub fn end(&self, process_id: i32) {
        self.lock().live.remove(&process_id);
    }

    /// Closes a database that has no session but that which copies it; where it has some, or is closed already, answers how many.
    pub fn close(
        self: &Arc<LiveSessions>,
        database: DatabaseId,
        why: Closing,
    ) -> std::result::Result<ClosedDatabase, usize> {
        let mut state = self.lock();
        let others = state.live.values();
        let others = others
            .filter(|session| session.database_id == database && why != Closing::Copied(session.process_id));
        let others = others.count();
        if others > 0 || state.closed.contains_key(&database) {
            return Err(others);
        }
        state.closed.insert(database, why);
        Ok(ClosedDatabase {
            sessions: Arc::clone(self),
            database,
            is_dropped: false,
        })
    }

    /// Waits until a database is dropped; answers at once where one was since the last time.
    pub async fn database_dropped(&self) {
        self.dropped.notified().await;
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closing {
    /// What a session is told that would begin.
    fn refusal(self, database: &str) -> Error {
        match self {
            Closing::Removed => Error::UndefinedDatabase {
                name: database.to_string(),
            },
            Closing::Copied(_) => Error::InvalidStatement {
                state: StatementFault::NotInPrerequisiteState,
                message: format!("database \"{database}\" is not currently accepting connections"),
                hint: Some(
                    "It is being copied: try again when CREATE DATABASE … TEMPLATE is over.".to_string(),
                ),
            },
        }
    }
}

impl ClosedDatabase {
    /// It was dropped: it stays closed, for its oid is never another's.
    pub fn dropped(mut self) {
        self.is_dropped = true;
    }
}

impl Drop for ClosedDatabase {
    fn drop(&mut self) {
        match self.is_dropped {
            true => self.sessions.dropped.notify_one(),
            false => {
                self.sessions.lock().closed.remove(&self.database);
            }
        }
    }
}
