//! `HeldLocks`: what one transaction has locked, until it ends. It knows of each key what was committed under it, which stays so as
//! long as the key is locked.

use std::sync::{Arc, Mutex, MutexGuard};

use super::key_map::{HashedKey, KeptKey, KeyMap};
use super::{LockMode, LockModes, LockOwner, LockPolicy, LockTable, LockWait, lock_of};
use crate::Result;
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
    /// Each lock in the order they came, and what of its key was held before.
    journal: Vec<(KeptKey, LockModes)>,
    bytes: usize,
    counted: CountedBytes,
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

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unlocked {
    /// The keys that were left out, by their places, rising: SKIP LOCKED.
    pub skipped: Vec<usize>,
    /// The key that somebody else has locked: NOWAIT.
    pub refused: Option<usize>,
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
                (None, LockWait::NoWait) if self.table.waits_briefly(self.owner, key, wanted.mode) => {
                    self.table
                        .lock(self.owner, key, wanted.mode, wanted.policy)
                        .await?
                }
                (None, LockWait::Block) => {
                    self.table
                        .lock(self.owner, key, wanted.mode, wanted.policy)
                        .await?
                }
                (None, LockWait::SkipLocked) => {
                    unlocked.skipped.push(at);
                    continue;
                }
                (None, LockWait::NoWait) => {
                    unlocked.refused = Some(at);
                    return Ok(unlocked);
                }
            };
            self.note(locked, wanted.mode)?;
        }
        Ok(unlocked)
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
        let held = self.lock();
        held.keys.get(key).is_some_and(|key| key.modes.include(mode))
    }

    /// Whether anything is held of a key, and if so, whether a value is committed under it (`None`: nobody has looked).
    pub fn known(&self, key: &[u8]) -> Option<Option<bool>> {
        let key = self.table.hashed(key);
        self.lock().keys.get(key).map(|key| key.is_there)
    }

    /// The places of keys of which it is known whether a value is committed under them, and whether one is. Keys come with whether
    /// they are known to be new.
    pub fn known_of<'a>(&self, keys: impl Iterator<Item = (&'a [u8], bool)>) -> Vec<(usize, bool)> {
        let held = self.lock();
        let known = |(key, is_new): (&[u8], bool)| match is_new {
            true => Some(false),
            false if held.keys.is_empty() => None,
            false => held.keys.get(self.table.hashed(key)).and_then(|key| key.is_there),
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

    /// The transaction has read what is committed under these keys.
    pub fn note_read<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let mut held = self.lock();
        for key in keys {
            if let Some(key) = held.keys.get_mut(self.table.hashed(key)) {
                key.note_read();
            }
        }
    }

    /// Whether the transaction has read what is committed under all of these keys, which it has locked in a mode that includes this one.
    pub fn are_read(&self, keys: &[Vec<u8>], mode: LockMode) -> bool {
        let held = self.lock();
        let mut known = keys.iter().map(|key| held.keys.get(self.table.hashed(key)));
        mode.keeps_row() && known.all(|key| key.is_some_and(|key| key.is_read && key.modes.include(mode)))
    }

    /// Whether the transaction has read what is committed under a locked key.
    pub fn is_read(&self, key: &[u8]) -> bool {
        let key = self.table.hashed(key);
        self.lock().keys.get(key).is_some_and(|key| key.is_read)
    }

    /// How many came so far: a mark for [`HeldLocks::release_after`].
    pub fn mark(&self) -> usize {
        self.lock().journal.len()
    }

    /// Gives up what came after the mark.
    pub fn release_after(&self, mark: usize) {
        let mut held = self.lock();
        while held.journal.len() > mark {
            let Some((key, before)) = held.journal.pop() else {
                break;
            };
            held.release(&self.table, self.owner, key, before);
        }
    }

    /// Gives up of what came after the mark the keys that are not kept.
    pub fn release_some(&self, mark: usize, is_kept: impl Fn(&[u8]) -> bool) {
        let mut held = self.lock();
        let mark = mark.min(held.journal.len());
        for (key, before) in held.journal.split_off(mark) {
            match is_kept(key.bytes()) {
                true => held.journal.push((key, before)),
                false => held.release(&self.table, self.owner, key, before),
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
        held.journal.push((key, before));
        let bytes = held.bytes;
        held.counted.resize(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        lock_of(&self.held)
    }
}

impl Held {
    /// Gives up what is held of a key beyond what was before.
    fn release(&mut self, table: &LockTable, owner: LockOwner, key: KeptKey, before: LockModes) {
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
        self.bytes -= bytes_of(key.bytes());
        // To hold less is never refused.
        let _ = self.counted.resize(self.bytes);
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
