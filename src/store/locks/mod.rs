//! `LockTable`: locks on keys, in memory, for the stores of one process. Nothing of it is on disk: it ends with the process, as the
//! transactions do that hold them. Called by `mvcc` for [`Store::lock`](super::Store::lock); what a key means it does not know.
//!
//! Invariants
//!
//! 1. Two owners never hold conflicting modes of one key; an owner never conflicts with itself.
//! 2. Who waits is granted in the order of asking, but for those that no earlier one conflicts with, and owners that hold the key
//!    already, which go to the head. A lock is handed over to whoever waits: nobody comes between. Who asks for a row that nobody holds
//!    against him does not wait, whoever waits (as in PostgreSQL: one who shares a row may then ask for more of it before those who wait);
//!    for a relation or an advisory number he does, lest those who want it for themselves wait for ever.
//! 3. A wait that is given up (dropped, timed out) leaves nothing behind, also when it was granted in the meantime.
//! 4. No circle of waits stands longer than the `deadlock_timeout` of one in it: if one of them only waits behind another, it goes before
//!    that; else that one's wait ends (40P01).
//! 5. One shard is locked at a time, never across an await; only the search for circles locks all, in their order.
//! 6. Ranges of keys are locked beside them: see [`ranges`].

mod deadlock;
mod held;
mod key_map;
mod mode;
mod range_map;
mod ranges;
mod wait;
mod waits;

#[cfg(test)]
mod range_tests;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;
use tokio::sync::oneshot;

pub use held::{HeldLocks, LocksToEnd, RangeState, Unlocked, Wanted, WantedRange};
use key_map::{HashedKey, KeptKey, KeyMap};
pub use mode::{LockMode, LockModes};
use ranges::Ranges;
pub use wait::{LockPolicy, LockWait};
use waits::Waits;

/// Parts of the table that are locked on their own.
const SHARDS: usize = 64;

/// The session of a task of the server's own that holds its locks for one commit, which waits for no disk: who would rather fail than wait
/// waits for it nevertheless.
pub const BRIEF_SESSION: i32 = -1;

/// Who holds and waits: a transaction of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockOwner {
    /// Its own; see [`LockTable::new_owner`].
    pub number: u64,
    /// The session's process id, as others see it; 0: none, or [`BRIEF_SESSION`].
    pub session: i32,
}

/// A lock that is held or waited for.
#[derive(Debug, Clone)]
pub struct LockRow {
    /// On what.
    pub key: Arc<[u8]>,
    /// By whom.
    pub owner: LockOwner,
    /// How.
    pub mode: LockMode,
    /// Since when it is waited for, in microseconds since 1970; `None`: it is held.
    pub waits_since_us: Option<i64>,
}

/// The locks.
#[derive(Debug)]
pub struct LockTable {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    /// Locked after a shard, never before one.
    ranges: Ranges,
    /// What each owner waits for. Locked before any shard.
    waits: Mutex<Waits>,
    owners: AtomicU64,
}

type Shard = KeyMap<Lock>;

#[derive(Debug, Default)]
struct Lock {
    held: SmallVec<[Held; 1]>,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Held {
    owner: LockOwner,
    modes: LockModes,
}

#[derive(Debug)]
struct Waiter {
    owner: LockOwner,
    mode: LockMode,
    since_us: i64,
    granted: oneshot::Sender<()>,
}

/// What came of asking for a lock.
enum Asked {
    Granted(KeptKey),
    /// Somebody is in the way.
    Refused,
    Waits(KeptKey, oneshot::Receiver<()>),
}

impl Default for LockTable {
    fn default() -> LockTable {
        LockTable {
            shards: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
            ranges: Ranges::default(),
            waits: Mutex::default(),
            owners: AtomicU64::new(1),
        }
    }
}

impl LockTable {
    /// An owner that there was never before.
    pub fn new_owner(&self, session: i32) -> LockOwner {
        LockOwner {
            number: self.owners.fetch_add(1, Ordering::Relaxed),
            session,
        }
    }

    /// Gives up the modes of a key that the owner holds beyond those that are kept, and grants what waited for it.
    pub fn release(&self, owner: LockOwner, key: HashedKey<'_>, kept: LockModes) {
        let mut shard = self.shard(key);
        let Some(lock) = shard.get_mut(key) else { return };
        let kept = kept.and(self.ranges.awaited_modes(owner, key));
        if let Some(at) = lock.held.iter().position(|held| held.owner == owner) {
            match kept.is_empty() {
                true => drop(lock.held.swap_remove(at)),
                false => lock.held[at].modes = kept,
            }
        }
        lock.grant_waiting();
        if lock.is_unused() {
            shard.remove(key);
        }
    }

    /// All locks, those waited for too.
    pub fn rows(&self) -> Vec<LockRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            for (key, lock) in lock_of(shard).iter() {
                for Held { owner, modes } in &lock.held {
                    rows.extend(modes.iter().map(|mode| LockRow {
                        key: Arc::clone(key),
                        owner: *owner,
                        mode,
                        waits_since_us: None,
                    }));
                }
                rows.extend(lock.waiting.iter().map(|waiter| LockRow {
                    key: Arc::clone(key),
                    owner: waiter.owner,
                    mode: waiter.mode,
                    waits_since_us: Some(waiter.since_us),
                }));
            }
        }
        rows
    }

    /// The sessions that keep a session waiting: those that hold what it waits for, and those before it in the queue.
    pub fn blockers(&self, session: i32) -> Vec<i32> {
        let waits = lock_of(&self.waits);
        let mut found = Vec::new();
        for (owner, key) in waits.of_session(session) {
            let key = self.hashed(key);
            if let Some(lock) = self.shard(key).get(key) {
                found.extend(lock.in_the_way_of(*owner).map(|blocker| blocker.owner.session));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// What each session waits for that waits.
    pub fn waits(&self) -> HashMap<i32, Arc<[u8]>> {
        let waits = lock_of(&self.waits);
        let waits = waits.iter();
        waits
            .map(|(owner, key)| (owner.session, Arc::clone(key)))
            .collect()
    }

    /// Whether the owner would wait for the mode.
    pub fn would_wait(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode) -> bool {
        let shard = self.shard(key);
        shard.get(key).is_some_and(|lock| !lock.is_free_now(owner, mode))
            || self.ranges.conflict(owner, key, mode)
    }

    /// Whether only such are in the way of the owner as hold their locks for a moment.
    fn waits_briefly(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode) -> bool {
        let is_brief = |held: &Held| {
            let is_in_the_way = held.owner != owner && held.modes.conflict(mode);
            !is_in_the_way || held.owner.session == BRIEF_SESSION
        };
        let shard = self.shard(key);
        let lock = shard.get(key);
        lock.is_none_or(|lock| lock.waiting.is_empty() && lock.held.iter().all(is_brief))
            && !self.ranges.conflict(owner, key, mode)
    }

    /// Whether one who waits holds of a relation what another needs who holds it and waits, too: neither can go on.
    fn is_upgrade_against_another(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode) -> bool {
        let shard = self.shard(key);
        let Some(lock) = shard.get(key).filter(|_| !mode.is_of_rows()) else {
            return false;
        };
        let held = |owner| lock.held.iter().find(|held| held.owner == owner);
        let Some(own) = held(owner) else { return false };
        let mut others = lock.waiting.iter().filter(|waiter| waiter.owner != owner);
        others.any(|waiter| {
            own.modes.conflict(waiter.mode)
                && held(waiter.owner).is_some_and(|held| held.modes.conflict(mode))
        })
    }

    /// Takes a lock if nobody is in the way; otherwise enters a wait, if the caller would wait.
    fn ask(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode, waits: bool) -> Asked {
        let mut shard = self.shard(key);
        if !waits && self.ranges.conflict(owner, key, mode) {
            return Asked::Refused;
        }
        let by_ranges = self.ranges.await_key(owner, key, mode);
        if let Some((known, lock)) = shard.entry_mut(key) {
            lock.grant_all(by_ranges);
            return lock.ask(known.clone(), owner, mode, waits);
        }
        let key = KeptKey::of(key);
        let mut lock = Lock::default();
        lock.grant_all(by_ranges);
        let asked = lock.ask(key.clone(), owner, mode, waits);
        shard.insert_new(key, lock);
        asked
    }

    /// The key with its hash, as the table wants it.
    pub fn hashed<'a>(&self, key: &'a [u8]) -> HashedKey<'a> {
        HashedKey {
            hash: self.hasher.hash_one(key),
            bytes: key,
        }
    }

    fn shard(&self, key: HashedKey<'_>) -> MutexGuard<'_, Shard> {
        lock_of(&self.shards[place(key)])
    }
}

/// Which of the shards a key is in: by bits that no map goes by, which takes the first and the last ones.
fn place(key: HashedKey<'_>) -> usize {
    ((key.hash >> 32) % SHARDS as u64) as usize
}

impl Lock {
    fn is_unused(&self) -> bool {
        self.held.is_empty() && self.waiting.is_empty()
    }

    fn holds(&self, owner: LockOwner) -> bool {
        self.held.iter().any(|held| held.owner == owner)
    }

    /// Whether nobody is in the way of a request before which so many wait.
    fn is_free(&self, owner: LockOwner, mode: LockMode, before: usize) -> bool {
        !self.is_held_against(owner, mode)
            && (self.holds(owner) || !self.is_awaited_against(owner, mode, before))
    }

    fn is_held_against(&self, owner: LockOwner, mode: LockMode) -> bool {
        let mut others = self.held.iter().filter(|held| held.owner != owner);
        others.any(|held| held.modes.conflict(mode))
    }

    /// Whether one of the first who wait is in the way.
    fn is_awaited_against(&self, owner: LockOwner, mode: LockMode, first: usize) -> bool {
        let mut waiting = self.waiting.iter().take(first);
        waiting.any(|waiter| waiter.owner != owner && waiter.mode.conflicts(mode))
    }

    /// Whether nobody is in the way of who asks now.
    fn is_free_now(&self, owner: LockOwner, mode: LockMode) -> bool {
        let before = match mode.is_of_rows() {
            true => 0,
            false => self.waiting.len(),
        };
        self.is_free(owner, mode, before)
    }

    /// Takes this lock, that of a key, or waits for it.
    fn ask(&mut self, key: KeptKey, owner: LockOwner, mode: LockMode, waits: bool) -> Asked {
        if self.is_free_now(owner, mode) {
            self.grant(owner, mode);
            return Asked::Granted(key);
        }
        if !waits {
            return Asked::Refused;
        }
        let (granted, receiver) = oneshot::channel();
        self.enqueue(Waiter {
            owner,
            mode,
            since_us: chrono::Utc::now().timestamp_micros(),
            granted,
        });
        Asked::Waits(key, receiver)
    }

    fn grant_all(&mut self, holders: impl IntoIterator<Item = (LockOwner, LockMode)>) {
        for (owner, mode) in holders {
            self.grant(owner, mode);
        }
    }

    /// Whether the owner holds it, and nobody else holds it or waits.
    fn is_of_one(&self, owner: LockOwner) -> bool {
        matches!(self.held.as_slice(), [held] if held.owner == owner) && self.waiting.is_empty()
    }

    /// Whether nobody holds it or waits for it against a range of the owner.
    fn is_free_for_range(&self, owner: LockOwner, mode: LockMode) -> bool {
        !self.is_held_against(owner, mode) && !self.is_awaited_against(owner, mode, self.waiting.len())
    }

    fn grant(&mut self, owner: LockOwner, mode: LockMode) {
        match self.held.iter_mut().find(|held| held.owner == owner) {
            Some(held) => held.modes = held.modes.with(mode),
            None => self.held.push(Held {
                owner,
                modes: LockModes::default().with(mode),
            }),
        }
    }

    /// Who holds the key already waits before those who do not.
    fn enqueue(&mut self, waiter: Waiter) {
        let at = match self.holds(waiter.owner) {
            true => {
                let upgrades = self.waiting.iter().take_while(|other| self.holds(other.owner));
                upgrades.count()
            }
            false => self.waiting.len(),
        };
        self.waiting.insert(at, waiter);
    }

    /// Grants what can be, from the head.
    fn grant_waiting(&mut self) {
        let mut at = 0;
        while let Some(waiter) = self.waiting.get(at) {
            if !self.is_free(waiter.owner, waiter.mode, at) {
                at += 1;
                continue;
            }
            if let Some(waiter) = self.waiting.remove(at)
                && waiter.granted.send(()).is_ok()
            {
                self.grant(waiter.owner, waiter.mode);
            }
        }
    }

    /// Who keeps a waiting owner from its lock: who holds the key, then those who wait before it.
    fn in_the_way_of(&self, owner: LockOwner) -> impl Iterator<Item = Blocker> + '_ {
        let place = self.waiting.iter().position(|waiter| waiter.owner == owner);
        let mode = place.map(|place| self.waiting[place].mode);
        let holders = self
            .held
            .iter()
            .filter(move |held| held.owner != owner && mode.is_some_and(|mode| held.modes.conflict(mode)));
        let before = if self.holds(owner) { 0 } else { place.unwrap_or(0) };
        let earlier =
            self.waiting.iter().take(before).filter(move |other| {
                other.owner != owner && mode.is_some_and(|mode| other.mode.conflicts(mode))
            });
        let holders = holders.map(|held| Blocker {
            owner: held.owner,
            waits: None,
        });
        holders.chain(earlier.map(|waiter| Blocker {
            owner: waiter.owner,
            waits: Some(waiter.mode),
        }))
    }
}

/// One who keeps another from a lock.
#[derive(Debug, Clone, Copy)]
struct Blocker {
    owner: LockOwner,
    /// How he waits himself, before the other; `None`: he holds the key.
    waits: Option<LockMode>,
}

/// Nothing is left half done under these locks, so a panic elsewhere does not spoil them.
fn lock_of<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
