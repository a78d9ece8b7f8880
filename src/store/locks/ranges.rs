//! Locks on ranges of keys: what a transaction takes that has locked many keys already, so that a write of a million rows holds few.
//!
//! Invariants
//!
//! 1. A range is granted only where nobody else holds or awaits a key of it, or holds a range over it, against its mode; else it is refused
//!    at once: nobody waits for a range, and who is refused locks keys.
//! 2. Who asks for a key looks at the ranges under its shard's lock, and who asks for a range enters it before he looks at any shard: one of
//!    the two sees the other.
//! 3. Who waits for a key of another's range waits at that key: the owner of the range holds it from then on as if he had locked it alone, as
//!    long as he holds the range. So waits, their order and their circles are those of keys.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::key_map::{HashedKey, KeptKey};
use super::range_map::RangeMap;
use super::{LockMode, LockModes, LockOwner, LockTable, lock_of};
use crate::codec::KeyRange;

/// So many locks are looked at, to see whether a range is free; where there are more it is refused.
const LOOKED_AT_MAX: usize = 65_536;

/// The ranges of all owners.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// How many there are, so that who locks a key where there is none asks nobody.
    count: AtomicUsize,
    owners: Mutex<Vec<Owned>>,
}

#[derive(Debug)]
struct Owned {
    owner: LockOwner,
    /// With the keys of each that somebody waited for.
    ranges: RangeMap<Vec<KeptKey>>,
}

impl Ranges {
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Whether another's range keeps the owner from a key.
    pub(super) fn conflict(&self, owner: LockOwner, key: HashedKey<'_>, mode: LockMode) -> bool {
        if self.is_empty() {
            return false;
        }
        let owners = lock_of(&self.owners);
        let mut others = owners.iter().filter(|other| other.owner != owner);
        others.any(|other| {
            other
                .ranges
                .having(key.bytes)
                .any(|(held, _)| held.conflicts(mode))
        })
    }

    /// Who keeps the owner from a key by a range, and how: the key is one of those that somebody waits for from now on.
    pub(super) fn await_key(
        &self,
        owner: LockOwner,
        key: HashedKey<'_>,
        mode: LockMode,
    ) -> SmallVec<[(LockOwner, LockMode); 1]> {
        let mut holders = SmallVec::new();
        if self.is_empty() {
            return holders;
        }
        let mut owners = lock_of(&self.owners);
        for other in owners.iter_mut().filter(|other| other.owner != owner) {
            let in_the_way = other.ranges.having_mut(key.bytes);
            for (held, awaited) in in_the_way.filter(|(held, _)| held.conflicts(mode)) {
                if !is_among(awaited, key) {
                    awaited.push(KeptKey::of(key));
                }
                holders.push((other.owner, held));
            }
        }
        holders
    }

    /// In which modes the owner holds a key that somebody waited for, by his ranges.
    pub(super) fn awaited_modes(&self, owner: LockOwner, key: HashedKey<'_>) -> LockModes {
        if self.is_empty() {
            return LockModes::default();
        }
        let owners = lock_of(&self.owners);
        let own = owners.iter().filter(|own| own.owner == owner);
        let having = own.flat_map(|own| own.ranges.having(key.bytes));
        let awaited = having.filter(|(_, awaited)| is_among(awaited, key));
        awaited.fold(LockModes::default(), |modes, (mode, _)| modes.with(mode))
    }

    /// Enters a range, if no other is in its way.
    fn enter(&self, owner: LockOwner, range: &KeyRange, mode: LockMode) -> bool {
        let mut owners = lock_of(&self.owners);
        let is_in_the_way = |known: &Owned| match known.owner == owner {
            true => known.ranges.overlaps(range, |held| held == mode),
            false => known.ranges.overlaps(range, |held| held.conflicts(mode)),
        };
        if owners.iter().any(is_in_the_way) {
            return false;
        }
        self.count.fetch_add(1, Ordering::SeqCst);
        let at = owners.iter().position(|known| known.owner == owner);
        let at = at.unwrap_or_else(|| {
            owners.push(Owned {
                owner,
                ranges: RangeMap::default(),
            });
            owners.len() - 1
        });
        owners[at].ranges.insert(mode, range.clone(), Vec::new());
        true
    }

    /// Forgets a range; answers the keys of it that somebody waited for.
    fn leave(&self, owner: LockOwner, start: &[u8], mode: LockMode) -> Vec<KeptKey> {
        let mut owners = lock_of(&self.owners);
        let Some(at) = owners.iter().position(|known| known.owner == owner) else {
            return Vec::new();
        };
        let Some((_, awaited)) = owners[at].ranges.remove(mode, start) else {
            return Vec::new();
        };
        if owners[at].ranges.is_empty() {
            owners.swap_remove(at);
        }
        self.count.fetch_sub(1, Ordering::SeqCst);
        awaited
    }
}

fn is_among(keys: &[KeptKey], key: HashedKey<'_>) -> bool {
    keys.iter().any(|known| **known.bytes() == *key.bytes)
}

impl LockTable {
    /// Takes a range if nobody is in the way, and if that is soon seen. `kept`: how the owner holds a key alone.
    pub(super) fn try_lock_range(
        &self,
        owner: LockOwner,
        range: &KeyRange,
        mode: LockMode,
        kept: impl Fn(HashedKey<'_>) -> LockModes,
    ) -> bool {
        if !self.ranges.enter(owner, range, mode) {
            return false;
        }
        let is_free = self.is_range_free(owner, range, mode);
        if !is_free {
            // Somebody may have begun to wait for a key of it meanwhile.
            self.release_range(owner, &range.start, mode, kept);
        }
        is_free
    }

    /// Gives up a range; the owner goes on holding some of its keys alone.
    pub(super) fn release_range(
        &self,
        owner: LockOwner,
        start: &[u8],
        mode: LockMode,
        kept: impl Fn(HashedKey<'_>) -> LockModes,
    ) {
        for key in self.ranges.leave(owner, start, mode) {
            self.release(owner, key.hashed(), kept(key.hashed()));
        }
    }

    /// Whether no lock of a key is in the way of a range.
    fn is_range_free(&self, owner: LockOwner, range: &KeyRange, mode: LockMode) -> bool {
        let mut looked_at = 0;
        self.shards.iter().all(|shard| {
            let shard = lock_of(shard);
            looked_at += shard.len();
            // The owner's own are many: their keys are not looked at.
            let mut others = shard.iter().filter(|(_, lock)| !lock.is_of_one(owner));
            looked_at <= LOOKED_AT_MAX
                && others.all(|(key, lock)| !range.contains(key) || lock.is_free_for_range(owner, mode))
        })
    }
}
