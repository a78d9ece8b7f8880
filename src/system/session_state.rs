//! `SessionState`: what of a session others may see or change: who it belongs to, what it does, what it is told by NOTIFY, and
//! how it is stopped. [`super::ServerState`] makes one for each session; statements find it in their context.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::advisory_locks::AdvisoryLocks;
use super::channels::{Channels, PendingMark, SessionChannels};
use super::copy_progress::CopyAtHand;
use super::deferred_constraints::{DeferredConstraints, DeferredMark};
use super::exported_snapshots::ExportedSnapshots;
use super::interrupt::Interrupt;
use super::large_object_descriptors::LargeObjectDescriptors;
use super::open_cursors::OpenCursors;
use super::relations_in_use::RelationsInUse;
use super::session_random::SessionRandom;
use super::session_sequences::SessionSequences;
use crate::Result;
use crate::codec::keyspace::DatabaseId;

/// Bytes of a statement that are told of it: those of `track_activity_query_size` without the zero byte that ends them in PostgreSQL.
const QUERY_BYTES_TOLD: usize = 1023;

/// Where the two ends of a client's connection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpEnds {
    /// The client's.
    pub client: SocketAddr,
    /// The server's.
    pub server: SocketAddr,
    /// Whether nobody between them can read what is said.
    pub is_encrypted: bool,
}

/// Who a session belongs to.
#[derive(Debug, Clone)]
pub struct SessionOwner {
    /// Its user.
    pub user: Arc<str>,
    /// Its database, by the name that it asked for.
    pub database: Arc<str>,
    /// The database's oid.
    pub database_id: DatabaseId,
}

/// One session as others see it.
#[derive(Debug)]
pub struct SessionState {
    /// `pg_backend_pid()`.
    pub process_id: i32,
    /// Its user.
    pub user: Arc<str>,
    /// Its database, by the name that it asked for.
    pub database: Arc<str>,
    /// The database's oid.
    pub database_id: DatabaseId,
    /// Where its client is; `None`: the server itself.
    pub client: Option<TcpEnds>,
    /// When it began: microseconds since 1970 UTC, as all times here.
    pub started_us: i64,
    /// Stops what it runs.
    pub interrupt: Arc<Interrupt>,
    /// LISTEN and NOTIFY.
    pub channels: SessionChannels,
    /// currval, lastval, CACHE.
    pub sequences: SessionSequences,
    /// What its transaction has left to be asked of constraints. Who leaves something touches the session.
    pub deferred: DeferredConstraints,
    /// What of tables its statements and cursors use.
    pub relations_in_use: Arc<RelationsInUse>,
    /// Its cursors.
    pub open_cursors: OpenCursors,
    /// Its open large objects. Who opens one touches the session.
    pub large_objects: LargeObjectDescriptors,
    /// What random() gives.
    pub random: SessionRandom,
    /// The COPY that it runs.
    pub copy: Arc<CopyAtHand>,
    all_locks: Arc<AdvisoryLocks>,
    all_channels: Arc<Channels>,
    all_snapshots: Arc<ExportedSnapshots>,
    /// Something was done that the end of the transaction has to do with: locks, notifications, snapshots, constraints.
    is_touched: AtomicBool,
    /// It has had temporary objects.
    has_temporary: AtomicBool,
    waits_for: AtomicU8,
    state: AtomicU8,
    changed_us: AtomicI64,
    transaction_started_us: AtomicI64,
    message_us: AtomicI64,
    has_begun: AtomicBool,
    activity: Mutex<Activity>,
}

/// What a session runs, or ran last.
#[derive(Debug, Clone, Default)]
pub struct Activity {
    /// application_name.
    pub application: Arc<str>,
    /// The statement.
    pub query: Arc<str>,
    /// When that began; 0: there was none.
    pub query_started_us: i64,
}

impl Activity {
    /// The statement as far as others are told of it.
    pub fn told_query(&self) -> &str {
        let end = self.query.floor_char_boundary(QUERY_BYTES_TOLD);
        &self.query[..end]
    }
}

/// What a session is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityState {
    /// It waits for its client.
    Idle,
    /// The same in a transaction.
    IdleInTransaction,
    /// The same in one that has failed.
    IdleInFailed,
    /// It runs a statement.
    Active,
}

impl ActivityState {
    /// As pg_stat_activity names it.
    pub fn name(self) -> &'static str {
        match self {
            ActivityState::Idle => "idle",
            ActivityState::IdleInTransaction => "idle in transaction",
            ActivityState::IdleInFailed => "idle in transaction (aborted)",
            ActivityState::Active => "active",
        }
    }
}

/// What a statement waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// `pg_sleep`.
    Sleep = 1,
}

/// A place in a transaction to roll back to.
#[derive(Debug, Clone, Copy, Default)]
pub struct SharedMark {
    locks: usize,
    pending: PendingMark,
    deferred: DeferredMark,
    large_objects: usize,
}

/// Says that a statement waits as long as it lives.
#[derive(Debug)]
pub struct Waiting<'a>(&'a SessionState);

impl SessionState {
    /// Of a session that begins.
    pub(crate) fn new(
        (all_locks, all_channels, all_snapshots): (Arc<AdvisoryLocks>, Arc<Channels>, Arc<ExportedSnapshots>),
        owner: SessionOwner,
        process_id: i32,
        client: Option<TcpEnds>,
    ) -> SessionState {
        let SessionOwner {
            user,
            database,
            database_id,
        } = owner;
        let started_us = now_us();
        SessionState {
            process_id,
            user,
            database,
            database_id,
            client,
            started_us,
            interrupt: Arc::default(),
            channels: all_channels.session(process_id),
            sequences: SessionSequences::default(),
            deferred: DeferredConstraints::default(),
            large_objects: LargeObjectDescriptors::default(),
            relations_in_use: Arc::default(),
            open_cursors: OpenCursors::default(),
            random: SessionRandom::default(),
            copy: Arc::default(),
            all_locks,
            all_channels,
            all_snapshots,
            is_touched: AtomicBool::new(false),
            has_temporary: AtomicBool::new(false),
            waits_for: AtomicU8::new(0),
            state: AtomicU8::new(ActivityState::Idle as u8),
            changed_us: AtomicI64::new(started_us),
            transaction_started_us: AtomicI64::new(0),
            message_us: AtomicI64::new(started_us),
            has_begun: AtomicBool::new(false),
            activity: Mutex::default(),
        }
    }

    /// The session is over: its locks are free, and it listens no more.
    pub(crate) fn end(&self) {
        self.all_snapshots.end_transaction(self.process_id);
        self.all_locks.end_session(self.process_id);
        self.all_channels.end_session(&self.channels);
    }

    /// The end of the transaction has something to do.
    pub fn touch(&self) {
        self.is_touched.store(true, Ordering::Relaxed);
    }

    /// It makes a temporary object: its commits, and its end, have something to do with these from now on.
    pub fn note_temporary(&self) {
        self.has_temporary.store(true, Ordering::Relaxed);
    }

    /// Whether it has had temporary objects.
    pub fn has_had_temporary(&self) -> bool {
        self.has_temporary.load(Ordering::Relaxed)
    }

    /// Whether a commit can be followed by what it has to tell. Errors: 54000.
    pub fn before_commit(&self, queue_bytes_max: usize) -> Result<()> {
        match self.is_touched.load(Ordering::Relaxed) {
            true => self.all_channels.require_room(&self.channels, queue_bytes_max),
            false => Ok(()),
        }
    }

    /// The transaction is over: what it notified is told, or forgotten, its locks are free, and nobody begins at its snapshots any more.
    pub fn end_transaction(&self, committed: bool) {
        if !self.is_touched.swap(false, Ordering::Relaxed) {
            return;
        }
        match committed {
            true => self.all_channels.commit(&self.channels),
            false => self.channels.roll_back_to(PendingMark::default()),
        }
        self.deferred.roll_back_to(DeferredMark::default());
        self.large_objects.roll_back_to(0);
        self.all_snapshots.end_transaction(self.process_id);
        self.all_locks.end_transaction(self.process_id, 0);
    }

    /// A savepoint.
    pub fn mark(&self) -> SharedMark {
        match self.is_touched.load(Ordering::Relaxed) {
            true => SharedMark {
                locks: self.all_locks.transaction_mark(self.process_id),
                pending: self.channels.mark(),
                deferred: self.deferred.mark(),
                large_objects: self.large_objects.mark(),
            },
            false => SharedMark::default(),
        }
    }

    /// Back to a savepoint.
    pub fn roll_back_to(&self, mark: SharedMark) {
        if self.is_touched.load(Ordering::Relaxed) {
            self.channels.roll_back_to(mark.pending);
            self.deferred.roll_back_to(mark.deferred);
            self.large_objects.roll_back_to(mark.large_objects);
            self.all_locks.end_transaction(self.process_id, mark.locks);
        }
    }

    /// A message of the client's comes that runs statements.
    pub fn takes_message(&self) {
        self.message_us.store(now_us(), Ordering::Relaxed);
    }

    /// When the last such message came.
    pub fn message_us(&self) -> i64 {
        self.message_us.load(Ordering::Relaxed)
    }

    /// What the statement is to do has begun: its plan is made.
    pub fn begins_work(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    /// Whether the statement at hand, or the last, came so far.
    pub fn has_begun_work(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// A statement begins.
    pub fn runs(&self, query: &Arc<str>) {
        let now_us = now_us();
        self.has_begun.store(false, Ordering::Relaxed);
        self.state.store(ActivityState::Active as u8, Ordering::Relaxed);
        self.changed_us.store(now_us, Ordering::Relaxed);
        // Nobody else holds it but whoever reads pg_stat_activity.
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.query = Arc::clone(query);
        activity.query_started_us = now_us;
    }

    /// It waits for its client, and keeps no more of what it ran than is told.
    pub fn idles(&self, state: ActivityState) {
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        if activity.query.len() > QUERY_BYTES_TOLD {
            activity.query = activity.told_query().into();
        }
        drop(activity);
        self.state.store(state as u8, Ordering::Relaxed);
        self.changed_us.store(now_us(), Ordering::Relaxed);
    }

    /// A transaction block began then; 0: it is over.
    pub fn in_transaction_since(&self, started_us: i64) {
        self.transaction_started_us.store(started_us, Ordering::Relaxed);
    }

    /// What its client calls itself.
    pub fn set_application(&self, name: &str) {
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.application = name.into();
    }

    /// What it runs, or ran last.
    pub fn activity(&self) -> Activity {
        self.activity
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What it is about, and since when.
    pub fn state(&self) -> (ActivityState, i64) {
        const STATES: [ActivityState; 4] = [
            ActivityState::Idle,
            ActivityState::IdleInTransaction,
            ActivityState::IdleInFailed,
            ActivityState::Active,
        ];
        let state = usize::from(self.state.load(Ordering::Relaxed));
        let state = STATES.get(state).copied().unwrap_or(ActivityState::Idle);
        (state, self.changed_us.load(Ordering::Relaxed))
    }

    /// When its transaction block began, if there is one.
    pub fn transaction_started_us(&self) -> Option<i64> {
        let started_us = self.transaction_started_us.load(Ordering::Relaxed);
        (started_us != 0).then_some(started_us)
    }

    /// Says that the statement waits, until the answer is dropped.
    pub fn waits_for(&self, what: WaitFor) -> Waiting<'_> {
        self.waits_for.store(what as u8, Ordering::Relaxed);
        Waiting(self)
    }

    /// What its statement waits for.
    pub fn waiting_for(&self) -> Option<WaitFor> {
        match self.waits_for.load(Ordering::Relaxed) {
            1 => Some(WaitFor::Sleep),
            _ => None,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waits_for.store(0, Ordering::Relaxed);
    }
}

/// The time, in microseconds since 1970-01-01 UTC.
pub fn now_us() -> i64 {
    chrono::Utc::now().timestamp_micros()
}
