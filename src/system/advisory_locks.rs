//! `AdvisoryLocks`: locks on numbers, which mean what applications agree on. One table a server, in memory: they end with
//! their session, and with the server. Called by the functions `pg_advisory_lock` and kin, and by `session` at the end of
//! transactions and sessions.
//!
//! Invariants
//!
//! 1. Two sessions never hold conflicting locks on one key; a session never conflicts with itself.
//! 2. Who waits is granted in the order of asking, but for those that no earlier one conflicts with, and sessions that hold the key already.
//! 3. No session waits for itself over others: the wait that would close the circle is refused (40P01).
//! 4. A wait that is given up leaves nothing behind, also when it had been granted in the meantime.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::catalog::DATABASE_OID;
use crate::{Error, Result};

/// What a lock is on: the numbers as `pg_locks` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The upper half of one number, or the first of two.
    pub class: u32,
    /// The lower half, or the second.
    pub object: u32,
    /// How many numbers: the two kinds never meet.
    pub numbers: u16,
}

/// How it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockMode {
    /// With others of the kind.
    Shared,
    /// Alone.
    Exclusive,
}

/// Until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockLevel {
    /// Until it is unlocked, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// A lock that is held or waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockRow {
    /// On what.
    pub key: AdvisoryKey,
    /// By whom.
    pub session: i32,
    /// How.
    pub mode: LockMode,
    /// Since when it is waited for, in microseconds since 1970; `None`: it is held.
    pub waits_since_us: Option<i64>,
}

/// Who asks, for what.
#[derive(Debug, Clone, Copy)]
pub struct LockRequest {
    /// The session.
    pub session: i32,
    /// On what.
    pub key: AdvisoryKey,
    /// How.
    pub mode: LockMode,
    /// Until when.
    pub level: LockLevel,
    /// `keyspan.advisory_locks_max`: locks of all sessions, those waited for among them.
    pub locks_max: usize,
}

/// The advisory locks of a server.
#[derive(Debug, Default)]
pub struct AdvisoryLocks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    locks: HashMap<AdvisoryKey, Lock>,
    /// Entries in all locks.
    entries: usize,
    waits_begun: u64,
    sessions: HashMap<i32, OfSession>,
}

/// What one session holds and waits for.
#[derive(Debug, Default)]
struct OfSession {
    held: BTreeSet<AdvisoryKey>,
    waits: Vec<AdvisoryKey>,
    /// Locks of its transaction, in the order they came.
    transaction: Vec<(AdvisoryKey, LockMode)>,
}

#[derive(Debug, Default)]
struct Lock {
    held: Vec<Held>,
    waiting: VecDeque<Waiting>,
}

#[derive(Debug)]
struct Held {
    session: i32,
    mode: LockMode,
    /// How often for the session and for its transaction.
    counts: [u32; 2],
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    request: LockRequest,
    since_us: i64,
    granted: oneshot::Sender<()>,
}

impl AdvisoryLocks {
    /// Takes the lock if nobody is in the way; whether it did. Errors: 53200.
    pub fn try_lock(&self, request: LockRequest) -> Result<bool> {
        let mut state = self.lock_state();
        match state.is_free(&request) {
            true => state.grant(&request).map(|()| true),
            false => Ok(false),
        }
    }

    /// Takes the lock, and waits for it so long (`None`: for ever). Dropped, it waits no more. Errors: 40P01, 55P03, 53200.
    pub async fn lock(&self, request: LockRequest, timeout: Option<Duration>) -> Result<()> {
        let Some(mut wait) = self.begin_wait(request)? else {
            return Ok(());
        };
        let granted = &mut wait.granted;
        let ended = match timeout {
            Some(timeout) => tokio::time::timeout(timeout, granted).await.is_ok(),
            None => granted.await.is_ok(),
        };
        // What was granted in the moment of giving up is given back by the drop.
        wait.is_over = ended;
        match ended {
            true => Ok(()),
            false => Err(Error::LockTimeout),
        }
    }

    /// Gives back one lock of the session; whether there was one.
    pub fn unlock(&self, session: i32, key: AdvisoryKey, mode: LockMode) -> bool {
        self.lock_state()
            .release((session, key, mode), LockLevel::Session)
    }

    /// Gives back all locks of the session but those of its transaction.
    pub fn unlock_all(&self, session: i32) {
        let mut state = self.lock_state();
        for key in state.keys_of(session) {
            state.release_all(session, key, LockLevel::Session);
        }
    }

    /// How many locks the session's transaction has: a mark for `end_transaction`.
    pub fn transaction_mark(&self, session: i32) -> usize {
        let state = self.lock_state();
        state
            .sessions
            .get(&session)
            .map_or(0, |own| own.transaction.len())
    }

    /// Gives back the locks of the session's transaction that came after the mark.
    pub fn end_transaction(&self, session: i32, mark: usize) {
        let mut state = self.lock_state();
        let Some(own) = state.sessions.get_mut(&session) else {
            return;
        };
        let taken = own.transaction.split_off(mark.min(own.transaction.len()));
        for (key, mode) in taken {
            state.release((session, key, mode), LockLevel::Transaction);
        }
    }

    /// Gives back everything of a session that ends.
    pub fn end_session(&self, session: i32) {
        self.end_transaction(session, 0);
        self.unlock_all(session);
    }

    /// All locks, those waited for too.
    pub fn rows(&self) -> Vec<LockRow> {
        let state = self.lock_state();
        let mut rows = Vec::new();
        for (key, lock) in &state.locks {
            rows.extend(lock.held.iter().map(|held| LockRow {
                key: *key,
                session: held.session,
                mode: held.mode,
                waits_since_us: None,
            }));
            rows.extend(lock.waiting.iter().map(|waiting| LockRow {
                key: *key,
                session: waiting.request.session,
                mode: waiting.request.mode,
                waits_since_us: Some(waiting.since_us),
            }));
        }
        rows.sort_by_key(|row| (row.key, row.waits_since_us, row.session));
        rows
    }

    /// Enters a wait; `None`: there is nothing to wait for.
    fn begin_wait(&self, request: LockRequest) -> Result<Option<Wait<'_>>> {
        let mut state = self.lock_state();
        if state.is_free(&request) {
            state.grant(&request)?;
            return Ok(None);
        }
        state.require_no_circle(&request)?;
        state.require_room(&request)?;
        let (sender, granted) = oneshot::channel();
        let number = state.waits_begun;
        state.waits_begun += 1;
        state.entries += 1;
        let own = state.sessions.entry(request.session).or_default();
        own.waits.push(request.key);
        let lock = state.locks.entry(request.key).or_default();
        lock.waiting.push_back(Waiting {
            number,
            request,
            since_us: chrono::Utc::now().timestamp_micros(),
            granted: sender,
        });
        Ok(Some(Wait {
            locks: self,
            request,
            number,
            granted,
            is_over: false,
        }))
    }

    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait on its way; given up when dropped before it is over.
struct Wait<'a> {
    locks: &'a AdvisoryLocks,
    request: LockRequest,
    number: u64,
    granted: oneshot::Receiver<()>,
    is_over: bool,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let LockRequest {
            session,
            key,
            mode,
            level,
            ..
        } = self.request;
        let mut state = self.locks.lock_state();
        if state.take_waiting(key, self.number).is_some() {
            state.grant_waiting(key);
            return;
        }
        // It was granted, and nobody has heard of it.
        if level == LockLevel::Transaction
            && let Some(own) = state.sessions.get_mut(&session)
            && let Some(at) = own.transaction.iter().rposition(|taken| *taken == (key, mode))
        {
            own.transaction.remove(at);
        }
        state.release((session, key, mode), level);
    }
}

impl Lock {
    /// The sessions that keep a request from being granted: they hold the key, or asked for it before (number `before`).
    fn in_the_way(&self, request: &LockRequest, before: u64) -> Vec<i32> {
        let conflicts = |session: i32, mode: LockMode| {
            session != request.session && (mode == LockMode::Exclusive || request.mode == LockMode::Exclusive)
        };
        let held = self.held.iter();
        let mut sessions: Vec<i32> = held
            .filter(|held| conflicts(held.session, held.mode))
            .map(|held| held.session)
            .collect();
        if !self.held.iter().any(|held| held.session == request.session) {
            let earlier = self.waiting.iter().filter(|waiting| waiting.number < before);
            let earlier = earlier.map(|waiting| &waiting.request);
            sessions.extend(
                earlier
                    .filter(|other| conflicts(other.session, other.mode))
                    .map(|other| other.session),
            );
        }
        sessions
    }
}

impl State {
    fn is_free(&self, request: &LockRequest) -> bool {
        let lock = self.locks.get(&request.key);
        lock.is_none_or(|lock| lock.in_the_way(request, u64::MAX).is_empty())
    }

    /// Errors: 53200.
    fn require_room(&self, request: &LockRequest) -> Result<()> {
        match self.entries < request.locks_max {
            true => Ok(()),
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

    fn grant(&mut self, request: &LockRequest) -> Result<()> {
        let at = match request.level {
            LockLevel::Session => 0,
            LockLevel::Transaction => 1,
        };
        let is_it = |held: &&mut Held| held.session == request.session && held.mode == request.mode;
        let held = self.locks.get_mut(&request.key).map(|lock| lock.held.iter_mut());
        match held.and_then(|mut held| held.find(is_it)) {
            Some(held) => held.counts[at] += 1,
            None => {
                self.require_room(request)?;
                self.entries += 1;
                let mut counts = [0; 2];
                counts[at] = 1;
                self.locks.entry(request.key).or_default().held.push(Held {
                    session: request.session,
                    mode: request.mode,
                    counts,
                });
            }
        }
        let own = self.sessions.entry(request.session).or_default();
        own.held.insert(request.key);
        if request.level == LockLevel::Transaction {
            own.transaction.push((request.key, request.mode));
        }
        Ok(())
    }

    fn keys_of(&self, session: i32) -> Vec<AdvisoryKey> {
        let own = self.sessions.get(&session);
        own.map_or_else(Vec::new, |own| own.held.iter().copied().collect())
    }

    fn release(&mut self, (session, key, mode): (i32, AdvisoryKey, LockMode), level: LockLevel) -> bool {
        let at = usize::from(level == LockLevel::Transaction);
        let Some(lock) = self.locks.get_mut(&key) else {
            return false;
        };
        let is_it = |held: &&mut Held| held.session == session && held.mode == mode && held.counts[at] > 0;
        let Some(held) = lock.held.iter_mut().find(is_it) else {
            return false;
        };
        held.counts[at] -= 1;
        if held.counts == [0, 0] {
            self.clear(session, key);
        }
        true
    }

    fn release_all(&mut self, session: i32, key: AdvisoryKey, level: LockLevel) {
        let at = usize::from(level == LockLevel::Transaction);
        if let Some(lock) = self.locks.get_mut(&key) {
            for held in lock.held.iter_mut().filter(|held| held.session == session) {
                held.counts[at] = 0;
            }
            self.clear(session, key);
        }
    }

    /// Takes out what of the session's is held no more, and grants what waited for it.
    fn clear(&mut self, session: i32, key: AdvisoryKey) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        let before = lock.held.len();
        lock.held
            .retain(|held| held.session != session || held.counts != [0, 0]);
        self.entries -= before - lock.held.len();
        if !lock.held.iter().any(|held| held.session == session)
            && let Some(own) = self.sessions.get_mut(&session)
        {
            own.held.remove(&key);
        }
        self.grant_waiting(key);
        self.forget_empty(session, key);
    }

    fn grant_waiting(&mut self, key: AdvisoryKey) {
        let mut at = 0;
        while let Some(lock) = self.locks.get(&key)
            && let Some(waiting) = lock.waiting.get(at)
        {
            if !lock.in_the_way(&waiting.request, waiting.number).is_empty() {
                at += 1;
                continue;
            }
            let number = waiting.number;
            if let Some(waiting) = self.take_waiting(key, number) {
                // Its entry goes over to the lock that is held, so that there is room.
                let request = LockRequest {
                    locks_max: usize::MAX,
                    ..waiting.request
                };
                if self.grant(&request).is_ok() {
                    // Who has gone gives it back himself.
                    let _ = waiting.granted.send(());
                }
            }
        }
        self.locks
            .retain(|other, lock| *other != key || !lock.held.is_empty() || !lock.waiting.is_empty());
    }

    fn take_waiting(&mut self, key: AdvisoryKey, number: u64) -> Option<Waiting> {
        let lock = self.locks.get_mut(&key)?;
        let at = lock.waiting.iter().position(|waiting| waiting.number == number)?;
        let waiting = lock.waiting.remove(at)?;
        self.entries -= 1;
        if let Some(own) = self.sessions.get_mut(&waiting.request.session)
            && let Some(at) = own.waits.iter().position(|waited| *waited == key)
        {
            own.waits.remove(at);
        }
        Some(waiting)
    }

    fn forget_empty(&mut self, session: i32, key: AdvisoryKey) {
        let is_empty = |lock: &Lock| lock.held.is_empty() && lock.waiting.is_empty();
        if self.locks.get(&key).is_some_and(is_empty) {
            self.locks.remove(&key);
        }
        let is_idle =
            |own: &OfSession| own.held.is_empty() && own.waits.is_empty() && own.transaction.is_empty();
        if self.sessions.get(&session).is_some_and(is_idle) {
            self.sessions.remove(&session);
        }
    }

    /// Errors: 40P01 when those in the way wait, over others, for the session that asks.
    fn require_no_circle(&self, request: &LockRequest) -> Result<()> {
        let lines = |request: &LockRequest, by: i32| {
            let mode = request.mode.name();
            let AdvisoryKey {
                class,
                object,
                numbers,
            } = request.key;
            format!(
                "Process {} waits for {mode} on advisory lock [{},{class},{object},{numbers}]; blocked by process {by}.",
                request.session, DATABASE_OID
            )
        };
        let mut seen = HashSet::new();
        let mut open: Vec<(LockRequest, u64, Vec<String>)> = vec![(*request, u64::MAX, Vec::new())];
        while let Some((waiting, number, story)) = open.pop() {
            let Some(lock) = self.locks.get(&waiting.key) else {
                continue;
            };
            for session in lock.in_the_way(&waiting, number) {
                let mut story = story.clone();
                story.push(lines(&waiting, session));
                if session == request.session {
                    return Err(Error::Deadlock {
                        detail: story.join("\n"),
                    });
                }
                if !seen.insert(session) {
                    continue;
                }
                let keys = self.sessions.get(&session).map(|own| own.waits.as_slice());
                let locks = keys
                    .unwrap_or_default()
                    .iter()
                    .filter_map(|key| self.locks.get(key));
                let waits = locks.flat_map(|lock| &lock.waiting);
                let waits = waits.filter(|other| other.request.session == session);
                open.extend(waits.map(|other| (other.request, other.number, story.clone())));
            }
        }
        Ok(())
    }
}

impl LockMode {
    /// As `pg_locks` names it.
    pub fn name(self) -> &'static str {
        match self {
            LockMode::Shared => "ShareLock",
            LockMode::Exclusive => "ExclusiveLock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LockLevel::{Session, Transaction};
    use super::LockMode::{Exclusive, Shared};
    use super::*;

    fn request(session: i32, number: u32, mode: LockMode, level: LockLevel) -> LockRequest {
        LockRequest {
            session,
            key: AdvisoryKey {
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
        let locks = AdvisoryLocks::default();
        let exclusive = request(1, 7, Exclusive, Session);
        assert_eq!(locks.try_lock(exclusive), Ok(true));
        assert_eq!(locks.try_lock(exclusive), Ok(true));
        assert_eq!(
            locks.try_lock(request(1, 7, Shared, Session)),
            Ok(true),
            "one's own"
        );
        assert_eq!(locks.try_lock(request(2, 7, Shared, Session)), Ok(false));
        assert!(locks.unlock(1, exclusive.key, Exclusive));
        assert_eq!(locks.try_lock(request(2, 7, Shared, Session)), Ok(false));
        assert!(locks.unlock(1, exclusive.key, Exclusive));
        assert!(!locks.unlock(1, exclusive.key, Exclusive));
        assert_eq!(locks.try_lock(request(2, 7, Shared, Transaction)), Ok(true));
        assert!(
            !locks.unlock(2, exclusive.key, Shared),
            "only the transaction's end does"
        );
        locks.end_session(1);
        locks.end_transaction(2, 0);
        assert_eq!(locks.rows(), []);
        assert!(locks.lock_state().sessions.is_empty());
    }

    #[tokio::test]
    async fn who_waits_is_granted_in_order_and_leaves_nothing_when_it_gives_up() {
        let locks = AdvisoryLocks::default();
        assert_eq!(locks.try_lock(request(1, 7, Exclusive, Session)), Ok(true));
        let short = Some(Duration::from_millis(1));
        let late = locks.lock(request(2, 7, Exclusive, Transaction), short).await;
        assert_eq!(late.unwrap_err().sqlstate(), "55P03");
        let (second, third) = (
            request(2, 7, Exclusive, Transaction),
            request(3, 7, Shared, Session),
        );
        let mut waits = [
            Box::pin(locks.lock(second, None)),
            Box::pin(locks.lock(third, None)),
        ];
        assert!(futures::poll!(&mut waits[0]).is_pending());
        assert!(futures::poll!(&mut waits[1]).is_pending());
        assert_eq!(locks.rows().len(), 3);
        locks.end_session(1);
        assert!(futures::poll!(&mut waits[1]).is_pending(), "another asked before");
        // Granted, and given up before it heard so.
        let [first, mut last] = waits;
        drop(first);
        assert!(futures::poll!(&mut last).is_ready());
        assert_eq!(locks.rows().len(), 1);
        locks.end_session(3);
        assert_eq!(locks.lock_state().entries, 0);
    }

    #[tokio::test]
    async fn a_circle_of_waits_is_refused() {
        let locks = AdvisoryLocks::default();
        for (session, number) in [(1, 1), (2, 2), (3, 3)] {
            assert_eq!(
                locks.try_lock(request(session, number, Exclusive, Session)),
                Ok(true)
            );
        }
        let mut first = Box::pin(locks.lock(
            LockRequest {
                locks_max: 10,
                ..request(1, 2, Shared, Session)
            },
            None,
        ));
        let mut second = Box::pin(locks.lock(
            LockRequest {
                locks_max: 10,
                ..request(2, 3, Exclusive, Session)
            },
            None,
        ));
        assert!(futures::poll!(&mut first).is_pending());
        assert!(futures::poll!(&mut second).is_pending());
        let error = locks
            .lock(request(3, 1, Exclusive, Session), None)
            .await
            .unwrap_err();
        assert_eq!(error.sqlstate(), "40P01");
        assert_eq!(error.detail().map(|detail| detail.lines().count()), Some(3));
    }

    #[test]
    fn there_are_so_many() {
        let locks = AdvisoryLocks::default();
        for number in 0..4 {
            assert_eq!(locks.try_lock(request(1, number, Shared, Session)), Ok(true));
        }
        let error = locks.try_lock(request(1, 4, Shared, Session)).unwrap_err();
        assert_eq!(error.sqlstate(), "53200");
        locks.unlock_all(1);
        assert_eq!(locks.try_lock(request(1, 4, Shared, Session)), Ok(true));
    }
}
