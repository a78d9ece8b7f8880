//! `Claim`: keys that one transaction locks by the thousand, for as long as nobody else asks for any near them.
//!
//! Who inserts many rows locks many keys that nobody asks for. A lock in the table costs about a microsecond and some hundred bytes; in a
//! claim it is its key in a list. A claim is of all keys with one prefix (a table's), which nobody else may have locked when it is made.
//! Whoever then asks for one of them, whatever the key, first puts what the claim holds into the table, and the claim is over: so all locks
//! are always where they are looked for, or in a claim that nobody has had to do with.
//!
//! Invariants
//!
//! 1. As long as a claim stands nobody else holds or waits for a key with its prefix: it is made known before the table is searched for
//!    such keys, and asked for under the shard's lock.
//! 2. What a claim that has ended held is in the table, in the name of its owner, before whoever ended it goes on.

use std::sync::{Arc, Mutex};

use super::{Lock, LockMode, LockOwner, LockTable, lock_of};

/// Leading bytes that the keys of a claim have in common.
pub(super) const PREFIX_BYTES: usize = 4;
/// How all its keys are locked.
pub(super) const MODE: LockMode = LockMode::Insert;

/// What all keys of a claim begin with.
pub(super) type Prefix = [u8; PREFIX_BYTES];

/// Locks of one owner on keys with one prefix.
#[derive(Debug)]
pub(super) struct Claim {
    pub(super) prefix: Prefix,
    owner: LockOwner,
    state: Mutex<ClaimState>,
}

#[derive(Debug, Default)]
struct ClaimState {
    /// Those that are not in the table.
    runs: Vec<Arc<KeyRun>>,
    /// Everything is in the table, and whatever else is locked goes there.
    is_over: bool,
}

/// Keys, one behind the other.
#[derive(Debug)]
pub(super) struct KeyRun {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyRun {
    pub(super) fn new(keys: &[Vec<u8>]) -> KeyRun {
        let mut run = KeyRun {
            bytes: Vec::with_capacity(keys.iter().map(Vec::len).sum()),
            ends: Vec::with_capacity(keys.len()),
        };
        for key in keys {
            run.bytes.extend_from_slice(key);
            run.ends.push(run.bytes.len());
        }
        run
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.bytes[start..*end])
    }

    /// What it takes in memory.
    pub(super) fn size_bytes(&self) -> usize {
        self.bytes.len() + self.ends.len() * size_of::<usize>()
    }
}

impl Claim {
    /// Locks keys, unless the claim is over: then they are to be locked in the table.
    pub(super) fn add(&self, run: &Arc<KeyRun>) -> bool {
        let mut state = lock_of(&self.state);
        if !state.is_over {
            state.runs.push(Arc::clone(run));
        }
        !state.is_over
    }

    /// Gives up keys; `false`: they are in the table.
    pub(super) fn remove(&self, run: &Arc<KeyRun>) -> bool {
        let mut state = lock_of(&self.state);
        state.runs.retain(|known| !Arc::ptr_eq(known, run));
        !state.is_over
    }

    pub(super) fn runs(&self) -> Vec<Arc<KeyRun>> {
        lock_of(&self.state).runs.clone()
    }

    pub(super) fn owner(&self) -> LockOwner {
        self.owner
    }
}

impl LockTable {
    /// Claims the keys with a prefix; `None` where others have some locked, or wait for them.
    pub(super) fn claim(&self, owner: LockOwner, prefix: Prefix) -> Option<Arc<Claim>> {
        let claim = Arc::new(Claim {
            prefix,
            owner,
            state: Mutex::default(),
        });
        {
            let mut claims = lock_of(&self.claims);
            if claims.contains_key(&prefix) {
                return None;
            }
            claims.insert(prefix, Arc::clone(&claim));
            self.has_claims.store(true, std::sync::atomic::Ordering::SeqCst);
        }
        let is_others = |lock: &Lock| {
            lock.held.iter().any(|held| held.owner != owner)
                || lock.waiting.iter().any(|waiter| waiter.owner != owner)
        };
        let is_free = self.shards.iter().all(|shard| {
            let shard = lock_of(shard);
            let mut locks = shard.iter();
            !locks.any(|(key, lock)| key.starts_with(&prefix) && is_others(lock))
        });
        if !is_free {
            self.end_claim(&claim);
            return None;
        }
        Some(claim)
    }

    /// The claim that another than the owner has on a key. Asked under the lock of the key's shard.
    pub(super) fn claim_of_others(&self, owner: LockOwner, key: &[u8]) -> Option<Arc<Claim>> {
        if !self.has_claims.load(std::sync::atomic::Ordering::SeqCst) {
            return None;
        }
        let prefix = key.first_chunk::<PREFIX_BYTES>()?;
        let claims = lock_of(&self.claims);
        claims.get(prefix).filter(|claim| claim.owner != owner).cloned()
    }

    /// Ends a claim: what it holds is in the table then.
    pub(super) fn end_claim(&self, claim: &Arc<Claim>) {
        {
            let mut state = lock_of(&claim.state);
            for run in std::mem::take(&mut state.runs) {
                for key in run.keys() {
                    let mut shard = self.shard(key);
                    match shard.get_mut(key) {
                        Some(lock) => lock.grant(claim.owner, MODE),
                        None => {
                            let mut lock = Lock::default();
                            lock.grant(claim.owner, MODE);
                            shard.insert(Arc::from(key), lock);
                        }
                    }
                }
            }
            state.is_over = true;
        }
        self.forget_claim(claim);
    }

    /// The owner holds nothing by it any more.
    pub(super) fn forget_claim(&self, claim: &Arc<Claim>) {
        let mut claims = lock_of(&self.claims);
        let known = claims.get(&claim.prefix);
        if known.is_some_and(|known| Arc::ptr_eq(known, claim)) {
            claims.remove(&claim.prefix);
        }
        self.has_claims
            .store(!claims.is_empty(), std::sync::atomic::Ordering::SeqCst);
    }

    /// Those that stand.
    pub(super) fn standing_claims(&self) -> Vec<Arc<Claim>> {
        lock_of(&self.claims).values().cloned().collect()
    }
}
