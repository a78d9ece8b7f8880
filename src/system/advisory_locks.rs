//! `AdvisoryLocks`: locks on numbers, which mean what applications agree on. They stand in the store's lock table beside those of rows and
//! tables, so that one rule says who waits, and a circle of waits of several kinds is found; what is added here is that they count, that
//! they may outlive their transaction, and how many there may be. Called by the functions `pg_advisory_lock` and kin, and by `session` at
//! the end of transactions and sessions.
//!
//! Invariants
//!
//! 1. A session has one owner in the lock table for all its advisory locks: it never conflicts with itself.
//! 2. What is counted here is held there, and nothing else of that owner is, but for the moment between a grant and its count.
//! 3. A wait that is given up leaves nothing behind, also when it had been granted in the meantime.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::codec::keyspace::{AdvisoryKey, Keyspace};
use crate::store::{LockMode, LockModes, LockOwner, LockPolicy, LockTable};
use crate::{Error, Result};

/// How an advisory lock is held: with others of the kind, or alone.
pub(crate) const SHARED: LockMode = LockMode::ShareRelation;
/// See [`SHARED`].
pub(crate) const EXCLUSIVE: LockMode = LockMode::Exclusive;

/// Until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockLevel {
    /// Until it is unlocked, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// Who asks, for what.
#[derive(Debug, Clone, Copy)]
pub struct LockRequest {
    /// The session.
    pub session: i32,
    /// On what.
    pub key: AdvisoryKey,
    /// How: [`SHARED`] or [`EXCLUSIVE`].
    pub mode: LockMode,
    /// Until when.
    pub level: LockLevel,
    /// `keyspan.advisory_locks_max`: locks of all sessions, those waited for among them.
    pub locks_max: usize,
}

/// The advisory locks of a server.
#[derive(Debug)]
pub struct AdvisoryLocks {
    table: Arc<LockTable>,
    sessions: Mutex<HashMap<i32, OfSession>>,
    /// Locks that are held or waited for.
    entries: AtomicUsize,
}

/// What one session holds.
#[derive(Debug)]
struct OfSession {
    owner: LockOwner,
    /// How often for the session and for its transaction.
    held: BTreeMap<(AdvisoryKey, LockMode), [u32; 2]>,
    /// Locks of its transaction, in the order they came.
    transaction: Vec<(AdvisoryKey, LockMode)>,
}

impl AdvisoryLocks {
    /// None yet, in this table.
    pub fn new(table: Arc<LockTable>) -> AdvisoryLocks {
        AdvisoryLocks {
            table,
            sessions: Mutex::default(),
            entries: AtomicUsize::new(0),
        }
    }

    /// Takes the lock if nobody is in the way; whether it did. Errors: 53200.
    pub fn try_lock(&self, request: LockRequest) -> Result<bool> {
        if self.holds_already(&request) {
            return Ok(true);
        }
        let entry = self.enter(&request)?;
        let key = Keyspace::AdvisoryLock(request.key).encode();
        let is_locked = self
            .table
            .try_lock(
                self.owner_of(request.session),
                self.table.hashed(&key),
                request.mode,
            )
            .is_some();
        if is_locked {
            self.count(&request, entry);
        }
        Ok(is_locked)
    }

    /// Takes the lock, and waits for it. Dropped, it waits no more. Errors: 40P01, 55P03, 53200.
    pub async fn lock(&self, request: LockRequest, policy: LockPolicy) -> Result<()> {
        if self.holds_already(&request) {
            return Ok(());
        }
        let entry = self.enter(&request)?;
        let key = Keyspace::AdvisoryLock(request.key).encode();
        let owner = self.owner_of(request.session);
        self.table
            .lock(owner, self.table.hashed(&key), request.mode, policy)
            .await?;
        self.count(&request, entry);
        Ok(())
    }

    /// Gives back one lock of the session; whether there was one.
    pub fn unlock(&self, session: i32, key: AdvisoryKey, mode: LockMode) -> bool {
        let mut sessions = self.lock_sessions();
        let own = sessions.get_mut(&session);
        own.is_some_and(|own| self.release(own, (key, mode), LockLevel::Session))
    }

    /// Gives back all locks of the session but those of its transaction.
    pub fn unlock_all(&self, session: i32) {
        let mut sessions = self.lock_sessions();
        let Some(own) = sessions.get_mut(&session) else {
            return;
        };
        let held: Vec<_> = own.held.keys().copied().collect();
        for lock in held {
            while self.release(own, lock, LockLevel::Session) {}
        }
    }

    /// How many locks the session's transaction has: a mark for `end_transaction`.
    pub fn transaction_mark(&self, session: i32) -> usize {
        let sessions = self.lock_sessions();
        sessions.get(&session).map_or(0, |own| own.transaction.len())
    }

    /// Gives back the locks of the session's transaction that came after the mark.
    pub fn end_transaction(&self, session: i32, mark: usize) {
        let mut sessions = self.lock_sessions();
        let Some(own) = sessions.get_mut(&session) else {
            return;
        };
        for lock in own.transaction.split_off(mark.min(own.transaction.len())) {
            self.release(own, lock, LockLevel::Transaction);
        }
    }

    /// Gives back everything of a session that ends.
    pub fn end_session(&self, session: i32) {
        self.end_transaction(session, 0);
        self.unlock_all(session);
        self.lock_sessions().remove(&session);
    }

    /// Counts one more of a lock that the session has; `false`: it has none such.
    fn holds_already(&self, request: &LockRequest) -> bool {
        let mut sessions = self.lock_sessions();
        let Some(own) = sessions.get_mut(&request.session) else {
            return false;
        };
        let holds = own.held.contains_key(&(request.key, request.mode));
        if holds {
            own.count(request);
        }
        holds
    }

    fn owner_of(&self, session: i32) -> LockOwner {
        let mut sessions = self.lock_sessions();
        let own = sessions.entry(session).or_insert_with(|| OfSession {
            owner: self.table.new_owner(session),
            held: BTreeMap::new(),
            transaction: Vec::new(),
        });
        own.owner
    }

    /// Errors: 53200 when there are as many locks as there may be.
    fn enter(&self, request: &LockRequest) -> Result<Entry<'_>> {
        let entry = Entry(&self.entries);
        match self.entries.fetch_add(1, Ordering::Relaxed) < request.locks_max {
            true => Ok(entry),
            false => Err(Error::LimitExceeded {
                state: crate::error::Limit::Memory,
                message: "out of shared memory".to_string(),
                hint: format!(
                    "All sessions together have at most {} advisory locks (keyspan.advisory_locks_max).",
                    request.locks_max
                ),
            }),
        }
    }

    /// The lock table has granted it.
    fn count(&self, request: &LockRequest, entry: Entry<'_>) {
        if let Some(own) = self.lock_sessions().get_mut(&request.session) {
            own.count(request);
            // Its entry is the lock's own now.
            std::mem::forget(entry);
        }
    }

    fn release(&self, own: &mut OfSession, lock: (AdvisoryKey, LockMode), level: LockLevel) -> bool {
        let counts = own.held.get_mut(&lock);
        let Some(counts) = counts.filter(|counts| counts[place(level)] > 0) else {
            return false;
        };
        counts[place(level)] -= 1;
        if *counts == [0, 0] {
            own.held.remove(&lock);
            let (key, _) = lock;
            let left = [SHARED, EXCLUSIVE].into_iter();
            let left = left.filter(|mode| own.held.contains_key(&(key, *mode)));
            let left = left.fold(LockModes::default(), LockModes::with);
            let key = Keyspace::AdvisoryLock(key).encode();
            self.table.release(own.owner, self.table.hashed(&key), left);
            drop(Entry(&self.entries));
        }
        true
    }

    fn lock_sessions(&self) -> MutexGuard<'_, HashMap<i32, OfSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfSession {
    fn count(&mut self, request: &LockRequest) {
        let lock = (request.key, request.mode);
        self.held.entry(lock).or_default()[place(request.level)] += 1;
        if request.level == LockLevel::Transaction {
            self.transaction.push(lock);
        }
    }
}

/// One of the locks that there may be; not counted any more when it is dropped.
struct Entry<'a>(&'a AtomicUsize);

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn place(level: LockLevel) -> usize {
    usize::from(level == LockLevel::Transaction)
}

#[cfg(test)]
mod tests {
    use super::LockLevel::{Session, Transaction};
    use std::time::Duration;

    use super::*;

    fn request(session: i32, number: u32, mode: LockMode, level: LockLevel) -> LockRequest {
        LockRequest {
            session,
            key: AdvisoryKey {
                database: 5,
                class: 0,
                object: number,
                numbers: 1,
            },
            mode,
            level,
            locks_max: 4,
        }
    }

    #[test]
    fn locks_count_and_conflict_by_mode() {
        let locks = AdvisoryLocks::new(Arc::default());
        let exclusive = request(1, 7, EXCLUSIVE, Session);
        assert!(locks.try_lock(exclusive).unwrap());
        assert!(locks.try_lock(exclusive).unwrap());
        assert_eq!(
            locks.try_lock(request(1, 7, SHARED, Session)),
            Ok(true),
            "one's own"
        );
        assert_eq!(locks.try_lock(request(2, 7, SHARED, Session)), Ok(false));
        assert!(locks.unlock(1, exclusive.key, EXCLUSIVE));
        assert_eq!(locks.try_lock(request(2, 7, SHARED, Session)), Ok(false));
        assert!(locks.unlock(1, exclusive.key, EXCLUSIVE));
        assert!(!locks.unlock(1, exclusive.key, EXCLUSIVE));
        assert_eq!(locks.try_lock(request(2, 7, SHARED, Transaction)), Ok(true));
        assert!(
            !locks.unlock(2, exclusive.key, SHARED),
            "only the transaction's end does"
        );
        locks.end_session(1);
        locks.end_transaction(2, 0);
        assert_eq!(locks.table.rows().len(), 0);
        assert!(locks.lock_sessions()[&2].held.is_empty());
    }

    #[tokio::test]
    async fn who_waits_is_granted_in_order_and_leaves_nothing_when_it_gives_up() {
        let locks = AdvisoryLocks::new(Arc::default());
        assert_eq!(locks.try_lock(request(1, 7, EXCLUSIVE, Session)), Ok(true));
        let short = LockPolicy {
            timeout: Some(Duration::from_millis(1)),
            ..LockPolicy::default()
        };
        let late = locks.lock(request(2, 7, EXCLUSIVE, Transaction), short).await;
        assert_eq!(late.unwrap_err().sqlstate(), "55P03");
        let (second, third) = (
            request(2, 7, EXCLUSIVE, Transaction),
            request(3, 7, SHARED, Session),
        );
        let mut waits = [
            Box::pin(locks.lock(second, LockPolicy::default())),
            Box::pin(locks.lock(third, LockPolicy::default())),
        ];
        assert!(futures::poll!(&mut waits[0]).is_pending());
        assert!(futures::poll!(&mut waits[1]).is_pending());
        assert_eq!(locks.table.rows().len(), 3);
        locks.end_session(1);
        assert!(futures::poll!(&mut waits[1]).is_pending(), "another asked before");
        // Granted, and given up before it heard so.
        let [first, mut last] = waits;
        drop(first);
        assert!(futures::poll!(&mut last).is_ready());
        assert_eq!(locks.table.rows().len(), 1);
        locks.end_session(3);
        assert_eq!(locks.entries.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_circle_of_waits_is_refused() {
        let locks = AdvisoryLocks::new(Arc::default());
        for (session, number) in [(1, 1), (2, 2), (3, 3)] {
            assert_eq!(
                locks.try_lock(request(session, number, EXCLUSIVE, Session)),
                Ok(true)
            );
        }
        let mut first = Box::pin(locks.lock(
            LockRequest {
                locks_max: 10,
                ..request(1, 2, SHARED, Session)
            },
            LockPolicy::default(),
        ));
        let mut second = Box::pin(locks.lock(
            LockRequest {
                locks_max: 10,
                ..request(2, 3, EXCLUSIVE, Session)
            },
            LockPolicy::default(),
        ));
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        let at_once = LockPolicy {
            deadlock_after: Duration::ZERO,
            ..LockPolicy::default()
        };
        let closing = LockRequest {
            locks_max: 10,
            ..request(3, 1, EXCLUSIVE, Session)
        };
        let error = locks.lock(closing, at_once).await.unwrap_err();
        assert_eq!(error.sqlstate(), "40P01");
        assert_eq!(error.detail().map(|detail| detail.lines().count()), Some(3));
    }

    #[test]
    fn there_are_so_many() {
        let locks = AdvisoryLocks::new(Arc::default());
        for number in 0..4 {
            assert_eq!(locks.try_lock(request(1, number, SHARED, Session)), Ok(true));
        }
        let error = locks.try_lock(request(1, 4, SHARED, Session)).unwrap_err();
        assert_eq!(error.sqlstate(), "53200");
        locks.unlock_all(1);
        assert_eq!(locks.try_lock(request(1, 4, SHARED, Session)), Ok(true));
    }
}
