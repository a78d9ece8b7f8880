//! `HeldLocks`: what one transaction has locked, until it ends. It knows of each key what was committed under it, which stays so as
//! long as the key is locked. A key that it holds alone and in a range is held in both modes, and what is known of either is.

use std::sync::{Arc, Mutex, MutexGuard};

use super::key_map::{HashedKey, KeptKey, KeyMap};
use super::range_map::RangeMap;
use super::{LockMode, LockModes, LockOwner, LockPolicy, LockTable, LockWait, lock_of};
use crate::Result;
use crate::codec::{KeyRange, successor};
use crate::store::{CountedBytes, MemoryAccount};

/// What a lock costs beside two copies of its key's reference: nodes of two maps, the list of holders, the journal.
const LOCK_OVERHEAD_BYTES: usize = 256;

/// The locks of one transaction. Dropping them gives them up.
#[derive(Debug)]
pub struct HeldLocks {
    table: Arc<LockTable>,
    owner: LockOwner,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    keys: KeyMap<HeldKey>,
    /// With whether it is known that nothing is committed in them.
    ranges: RangeMap<bool>,
    /// In the order they came.
    journal: Vec<Taken>,
    bytes: usize,
    counted: CountedBytes,
}

/// A lock that was taken.
#[derive(Debug)]
enum Taken {
    /// Of a key, and how it was held before.
    Key(KeptKey, LockModes),
    /// Of the range that begins with a key.
    Range(Box<[u8]>, LockMode),
}

#[derive(Debug, Default, Clone, Copy)]
struct HeldKey {
    modes: LockModes,
    /// Whether a value is committed under the key; `None`: nobody has looked, or it may change.
    is_there: Option<bool>,
    /// The transaction has read what is committed under it, whatever its snapshot sees.
    is_read: bool,
}

impl HeldKey {
    /// That no value is there stays so only where nobody else may put one.
    fn note_there(&mut self, is_there: bool) {
        self.is_there = Some(is_there).filter(|is_there| *is_there || self.modes.keep_absence());
    }

    /// What was read counts only if it stays.
    fn note_read(&mut self) {
        self.is_read |= match self.is_there {
            Some(false) => self.modes.keep_absence(),
            _ => self.modes.keep_row(),
        };
    }
}

/// The locks of a transaction that ends: they are given up when the last copy of this goes, be it the commit's on its way through the
/// store, which goes on when nobody waits for it any more, or that of who waits.
#[derive(Debug)]
pub struct LocksToEnd(pub Arc<HeldLocks>);

impl Drop for LocksToEnd {
    fn drop(&mut self) {
        self.0.release_all();
    }
}

/// The modes that are wanted of some keys.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// In the order in which they are locked.
    pub keys: &'a [Vec<u8>],
    /// How.
    pub mode: LockMode,
    /// What to do where others are in the way.
    pub wait: LockWait,
    /// How long to wait for them.
    pub policy: LockPolicy,
}

/// A range of keys that is wanted: from the first to the last of some, whether there are others between or not.
#[derive(Debug, Clone, Copy)]
pub struct WantedRange<'a> {
    /// Rising.
    pub keys: &'a [Vec<u8>],
    /// How.
    pub mode: LockMode,
    /// As what it is wanted only.
    pub state: RangeState,
}

impl WantedRange<'_> {
    /// All of it; `None`: it is of no key.
    pub fn range(&self) -> Option<KeyRange> {
        let (first, last) = (self.keys.first()?, self.keys.last()?);
        Some(KeyRange {
            start: first.clone(),
            end: Some(successor(last)),
        })
    }
}

/// How a range is that a transaction locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeState {
    /// Nothing is committed in it, nor was when the transaction read.
    Absent,
    /// Its keys are as the transaction has read them.
    Unchanged,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlocked {
    /// The keys that were left out, by their places, rising: SKIP LOCKED.
    pub skipped: Vec<usize>,
    /// The key that somebody else has locked: NOWAIT.
    pub refused: Option<usize>,
    /// The first of the keys for which it had to wait; it is locked.
    pub waited_for: Option<usize>,
}

impl Unlocked {
    /// Whether the key at this place is locked.
    pub fn is_locked(&self, at: usize) -> bool {
        self.refused != Some(at) && self.skipped.binary_search(&at).is_err()
    }
}

impl HeldLocks {
    /// None yet, of a transaction of the session.
    pub fn new(table: &Arc<LockTable>, session: i32) -> HeldLocks {
        HeldLocks {
            table: Arc::clone(table),
            owner: table.new_owner(session),
            held: Mutex::default(),
        }
    }

    /// Who holds them.
    pub fn owner(&self) -> LockOwner {
        self.owner
    }

    /// From now on what they take is taken from this account.
    pub fn count_in(&self, account: MemoryAccount) {
        self.lock().counted.count_in(account);
    }

    /// Locks keys one after the other. Those that were locked stay so when it fails. Errors: 40P01, 55P03, 53200.
    pub async fn acquire(&self, wanted: Wanted<'_>) -> Result<Unlocked> {
        let mut unlocked = Unlocked::default();
        for (at, key) in wanted.keys.iter().enumerate() {
            let key = self.table.hashed(key);
            if self.holds(key, wanted.mode) {
                continue;
            }
            let locked = match (self.table.try_lock(self.owner, key, wanted.mode), wanted.wait) {
                (Some(key), _) => key,
                (None, wait) if self.waits(key, wanted.mode, wait) => {
                    unlocked.waited_for = unlocked.waited_for.or(Some(at));
                    self.table
                        .lock(self.owner, key, wanted.mode, wanted.policy)
                        .await?
                }
                (None, LockWait::SkipLocked) => {
                    unlocked.skipped.push(at);
                    continue;
                }
                (None, LockWait::NoWait | LockWait::Block) => {
                    unlocked.refused = Some(at);
                    return Ok(unlocked);
                }
            };
            self.note(locked, wanted.mode)?;
        }
        Ok(unlocked)
    }

    /// Whether who finds a key locked waits for it.
    fn waits(&self, key: HashedKey<'_>, mode: LockMode, wait: LockWait) -> bool {
        match wait {
            LockWait::Block => true,
            LockWait::NoWait => self.table.waits_briefly(self.owner, key, mode),
            LockWait::SkipLocked => false,
        }
    }

    /// Whether somebody is in the way of the mode.
    pub fn would_wait(&self, key: &[u8], mode: LockMode) -> bool {
        self.table.would_wait(self.owner, self.table.hashed(key), mode)
    }

    /// Whether what is held of a key includes the mode.
    pub fn includes(&self, key: &[u8], mode: LockMode) -> bool {
        self.holds(self.table.hashed(key), mode)
    }

    fn holds(&self, key: HashedKey<'_>, mode: LockMode) -> bool {
        self.lock().get(key).is_some_and(|key| key.modes.include(mode))
    }

    /// How many keys are locked one by one.
    pub fn count(&self) -> usize {
        self.lock().keys.len()
    }

    /// Locks a range, whatever its state; answers whether it did: where others are in the way, or the keys are locked already, it does not, and
    /// does not wait. Errors: 53200.
    pub fn acquire_range(&self, wanted: WantedRange<'_>) -> Result<bool> {
        let WantedRange { keys, mode, .. } = wanted;
        let Some(range) = wanted.range() else {
            return Ok(false);
        };
        let mut held = self.lock();
        let mut are_held = keys.iter().map(|key| held.get(self.table.hashed(key)));
        if are_held.all(|key| key.is_some_and(|key| key.modes.include(mode)))
            || !self
                .table
                .try_lock_range(self.owner, &range, mode, |key: HashedKey<'_>| {
                    held.modes_alone(key)
                })
        {
            return Ok(false);
        }
        held.journal
            .push(Taken::Range(Box::from(range.start.as_slice()), mode));
        held.bytes += bytes_of_range(&range.start, range.end.as_deref());
        held.ranges.insert(mode, range, false);
        let bytes = held.bytes;
        held.counted.resize(bytes)?;
        Ok(true)
    }

    /// A range that was just locked is in the state in which it was wanted.
    pub fn note_range(&self, wanted: WantedRange<'_>) {
        let mut held = self.lock();
        let known = held.ranges.get_mut(wanted.mode, &wanted.keys[0]);
        if let Some(is_absent) = known {
            *is_absent = wanted.state == RangeState::Absent && wanted.mode.keeps_absence();
        }
    }

    /// Gives up a range that was just locked.
    pub fn release_range(&self, wanted: WantedRange<'_>) {
        let mut held = self.lock();
        let is_it = |taken: &Taken| matches!(taken, Taken::Range(start, mode) if **start == *wanted.keys[0] && *mode == wanted.mode);
        if let Some(at) = held.journal.iter().rposition(is_it) {
            let taken = held.journal.remove(at);
            held.release(&self.table, self.owner, taken);
        }
    }

    /// Whether anything is held of a key, and if so, whether a value is committed under it (`None`: nobody has looked).
    pub fn known(&self, key: &[u8]) -> Option<Option<bool>> {
        let key = self.table.hashed(key);
        self.lock().get(key).map(|key| key.is_there)
    }

    /// The places of keys of which it is known whether a value is committed under them, and whether one is. Keys come with whether
    /// they are known to be new.
    pub fn known_of<'a>(&self, keys: impl Iterator<Item = (&'a [u8], bool)>) -> Vec<(usize, bool)> {
        let held = self.lock();
        let known = |(key, is_new): (&[u8], bool)| match is_new {
            true => Some(false),
            false if held.keys.is_empty() && held.ranges.is_empty() => None,
            false => held.get(self.table.hashed(key)).and_then(|key| key.is_there),
        };
        keys.map(known)
            .enumerate()
            .filter_map(|(at, is_there)| Some((at, is_there?)))
            .collect()
    }

    /// Keeps in mind whether values are committed under keys that are locked.
    pub fn note_there<'a>(&self, keys: impl Iterator<Item = (&'a [u8], bool)>) {
        let mut held = self.lock();
        for (key, is_there) in keys {
            if let Some(key) = held.keys.get_mut(self.table.hashed(key)) {
                key.note_there(is_there);
            }
        }
    }

    /// The transaction has read what is committed under these keys. They come with whether it saw a value there that has not changed since.
    pub fn note_read<'a>(&self, keys: impl Iterator<Item = (&'a [u8], bool)>) {
        let mut held = self.lock();
        for (key, is_seen) in keys {
            if let Some(key) = held.keys.get_mut(self.table.hashed(key)) {
                if is_seen {
                    key.is_there.get_or_insert(true);
                }
                key.note_read();
            }
        }
    }

    /// Whether the transaction has read what is committed under all of these keys, which it has locked in a mode that includes this one.
    pub fn are_read(&self, keys: &[Vec<u8>], mode: LockMode) -> bool {
        let held = self.lock();
        let mut known = keys.iter().map(|key| held.get(self.table.hashed(key)));
        mode.keeps_row() && known.all(|key| key.is_some_and(|key| key.is_read && key.modes.include(mode)))
    }

    /// Whether the transaction has read what is committed under a locked key.
    pub fn is_read(&self, key: &[u8]) -> bool {
        let key = self.table.hashed(key);
        self.lock().get(key).is_some_and(|key| key.is_read)
    }

    /// How many came so far: a mark for [`HeldLocks::release_after`].
    pub fn mark(&self) -> usize {
        self.lock().journal.len()
    }

    /// Gives up what came after the mark.
    pub fn release_after(&self, mark: usize) {
        let mut held = self.lock();
        while held.journal.len() > mark {
            let Some(taken) = held.journal.pop() else {
                break;
            };
            held.release(&self.table, self.owner, taken);
        }
    }

    /// Gives up of what came after the mark the keys that are not kept; ranges are.
    pub fn release_some(&self, mark: usize, is_kept: impl Fn(&[u8]) -> bool) {
        let mut held = self.lock();
        let mark = mark.min(held.journal.len());
        for taken in held.journal.split_off(mark) {
            match &taken {
                Taken::Key(key, _) if !is_kept(key.bytes()) => held.release(&self.table, self.owner, taken),
                Taken::Key(..) | Taken::Range(..) => held.journal.push(taken),
            }
        }
    }

    /// Gives up everything.
    pub fn release_all(&self) {
        self.release_after(0);
    }

    fn note(&self, key: KeptKey, mode: LockMode) -> Result<()> {
        let mut held = self.lock();
        let known = match held.keys.get_mut(key.hashed()) {
            Some(known) => known,
            None => held.keys.insert_new(key.clone(), HeldKey::default()),
        };
        let before = known.modes;
        known.modes = before.with(mode);
        held.bytes += bytes_of(key.bytes());
        held.journal.push(Taken::Key(key, before));
        let bytes = held.bytes;
        held.counted.resize(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        lock_of(&self.held)
    }
}

impl Held {
    /// How a key is held, alone and in ranges, and what is known of it.
    fn get(&self, key: HashedKey<'_>) -> Option<HeldKey> {
        let alone = self.keys.get(key).copied();
        self.ranges
            .having(key.bytes)
            .fold(alone, |known, (mode, is_absent)| {
                let known = known.unwrap_or_default();
                Some(HeldKey {
                    modes: known.modes.with(mode),
                    is_there: known.is_there.or(is_absent.then_some(false)),
                    // A range is kept only where nothing has changed since it was read.
                    is_read: known.is_read || *is_absent || mode.keeps_row(),
                })
            })
    }

    /// How a key is held, but for ranges.
    fn modes_alone(&self, key: HashedKey<'_>) -> LockModes {
        self.keys.get(key).map_or(LockModes::default(), |key| key.modes)
    }

    /// Gives up what was taken.
    fn release(&mut self, table: &LockTable, owner: LockOwner, taken: Taken) {
        match taken {
            Taken::Key(key, before) => self.release_key(table, owner, key, before),
            Taken::Range(start, mode) => {
                table.release_range(owner, &start, mode, |key: HashedKey<'_>| self.modes_alone(key));
                if let Some((end, _)) = self.ranges.remove(mode, &start) {
                    self.resize(self.bytes - bytes_of_range(&start, end.as_deref()));
                }
            }
        }
    }

    /// Gives up what is held of a key beyond what was before.
    fn release_key(&mut self, table: &LockTable, owner: LockOwner, key: KeptKey, before: LockModes) {
        table.release(owner, key.hashed(), before);
        match before.is_empty() {
            true => self.keys.remove(key.hashed()),
            false => {
                if let Some(key) = self.keys.get_mut(key.hashed()) {
                    // What was known under a stronger lock may change under the weaker one.
                    *key = HeldKey {
                        modes: before,
                        ..HeldKey::default()
                    };
                }
            }
        }
        self.resize(self.bytes - bytes_of(key.bytes()));
    }

    fn resize(&mut self, bytes: usize) {
        self.bytes = bytes;
        // To hold less is never refused.
        let _ = self.counted.resize(bytes);
    }
}

impl Drop for HeldLocks {
    fn drop(&mut self) {
        self.release_all();
    }
}

fn bytes_of(key: &[u8]) -> usize {
    key.len() + LOCK_OVERHEAD_BYTES
}

fn bytes_of_range(start: &[u8], end: Option<&[u8]>) -> usize {
    bytes_of(start) + end.map_or(0, <[u8]>::len)
}
