//! The buffered writes of a transaction: for each key its versions, so that savepoints and open scans each see the
//! buffer as it was. Used by `Transaction` and its scans under one lock; knows nothing of the store below.
//!
//! Time within a transaction is a counter of writes. A *mark* (a savepoint or an open scan) is a value of the counter
//! and sees the versions up to it. A write replaces those versions of its key that no mark sees: without savepoints and
//! scans a key has one.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::{SmallVec, smallvec};

use super::finished;
use super::own_keys::{OwnEntry, OwnKeys};
use crate::codec::keyspace::tells_of_others;
use crate::error::Limit;
use crate::store::{CountedBytes, KeyRange, LockMode, MemoryAccount, Write};
use crate::{Error, Result};

/// What a version costs beside key and value: map nodes, reference counts, the journal.
const VERSION_OVERHEAD_BYTES: usize = 128;

/// How often a write stands in memory at the most: in the buffer or the batch, in the log's record, in the memtable.
const COPIES: usize = 2;

/// What a key is now: `Some(Some(value))` put, `Some(None)` deleted, `None` not written.
pub(super) type OwnValue = Option<Option<Bytes>>;

/// A buffered row for a scan: the key, and the value or its deletion.
pub(super) type OwnRow = (Bytes, Option<Bytes>);

/// The writes of one transaction.
#[derive(Debug)]
pub(super) struct Buffer {
    /// What was written to each key. Bytes that nobody shares come and go without being copied.
    keys: OwnKeys<OwnKey>,
    /// Keys that must not change, when they were first named, and the strongest lock that was asked for.
    guards: HashMap<Arc<[u8]>, (usize, LockMode)>,
    /// What is to be locked at the statement's end: when it was named, the key, and how.
    unsettled: Vec<(usize, Arc<[u8]>, LockMode)>,
    /// Since the first savepoint: each new version and its key, so that a rollback need not walk the whole buffer. A
    /// version that only replaced others newer than every mark is not new: its key stands here already.
    journal: Vec<(usize, Bytes)>,
    /// Savepoints not rolled back, rising.
    savepoints: Vec<usize>,
    /// Open scans by the mark they see, and how many share it.
    scans: BTreeMap<usize, usize>,
    /// Writes and marks so far.
    now: usize,
    bytes: usize,
    bytes_max: usize,
    counted: CountedBytes,
    is_finished: bool,
}

/// A key that was written.
#[derive(Debug)]
struct OwnKey {
    /// Oldest first; never empty.
    versions: SmallVec<[Version; 1]>,
    /// Nothing is committed under it, nor will be before the transaction is.
    is_new: bool,
}

#[derive(Debug)]
struct Version {
    at: usize,
    value: Option<Bytes>,
}

/// What a transaction leaves to be committed.
#[derive(Debug, Default)]
pub(super) struct Finished {
    /// In the order of keys.
    pub(super) writes: Vec<Write>,
    /// For each of them whether its key is new.
    pub(super) are_new: Vec<bool>,
}

impl OwnKey {
    /// How many of its versions a new one leaves, of which that mark is the newest, and the bytes of the others.
    fn replaced(&self, key: &[u8], newest_mark: Option<usize>) -> (usize, usize) {
        let is_seen = |version: &Version| newest_mark.is_some_and(|mark| version.at <= mark);
        let kept = self.versions.iter().rposition(is_seen).map_or(0, |at| at + 1);
        let freed = self.versions[kept..].iter().map(|version| version.bytes(key));
        (kept, freed.sum())
    }
}

impl Buffer {
    pub(super) fn new(bytes_max: usize) -> Buffer {
        Buffer {
            keys: OwnKeys::default(),
            guards: HashMap::new(),
            unsettled: Vec::new(),
            journal: Vec::new(),
            savepoints: Vec::new(),
            scans: BTreeMap::new(),
            now: 0,
            bytes: 0,
            bytes_max,
            counted: CountedBytes::default(),
            is_finished: false,
        }
    }

    /// From now on its bytes are taken from this account.
    pub(super) fn count_in(&mut self, account: MemoryAccount) {
        self.counted.count_in(account);
    }

    /// The account with what was written, which the commit still holds.
    pub(super) fn take_account(&mut self) -> Option<MemoryAccount> {
        self.counted.take_account()
    }

    /// What each key is, as the mark sees it (`None`: now); empty when nothing was written at all.
    pub(super) fn get_many(&self, keys: &[Vec<u8>], mark: Option<usize>) -> Vec<OwnValue> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let mark = mark.unwrap_or(self.now);
        keys.iter()
            .map(|key| {
                Some(
                    visible(&self.keys.get(key.as_slice())?.versions, mark)?
                        .value
                        .clone(),
                )
            })
            .collect()
    }

    /// For each key whether a value is put under it, as the mark sees it (`None`: now).
    pub(super) fn are_put<'a>(&self, keys: impl Iterator<Item = &'a [u8]>, mark: Option<usize>) -> Vec<bool> {
        let mark = mark.unwrap_or(self.now);
        let is_put = |key: &[u8]| {
            let own = self.keys.get(key)?;
            visible(&own.versions, mark)?.value.as_ref()
        };
        keys.map(|key| is_put(key).is_some()).collect()
    }

    /// Which of the keys were written between two marks.
    pub(super) fn are_written_between(&self, earlier: usize, later: usize, keys: &[Vec<u8>]) -> Vec<bool> {
        let is_written = |key: &Vec<u8>| {
            let own = self.keys.get(key.as_slice());
            let seen = own.and_then(|own| visible(&own.versions, later));
            seen.is_some_and(|version| version.at > earlier)
        };
        keys.iter().map(is_written).collect()
    }

    /// Adds a write, whose key is to be locked so at the statement's end; refused whole when the buffer would grow above its
    /// limit.
    pub(super) fn write(&mut self, write: Write, lock: Option<LockMode>) -> Result<()> {
        self.add(write, lock, false)
    }

    /// Adds a write whose key is locked, or cannot be written by others, and under which nothing is committed unless the transaction
    /// has written it before.
    pub(super) fn write_new(&mut self, write: Write) -> Result<()> {
        self.add(write, None, true)
    }

    fn add(&mut self, write: Write, lock: Option<LockMode>, is_new: bool) -> Result<()> {
        if self.is_finished {
            return Err(finished());
        }
        let (key, value) = match write {
            Write::Put { key, value } => (key, Some(Bytes::from(value.into_boxed_slice()))),
            Write::Delete { key } => (key, None),
        };
        let newest_mark = self.newest_mark();
        let version = Version {
            at: self.now + 1,
            value,
        };
        let key = Bytes::from(key.into_boxed_slice());
        let version_bytes = version.bytes(&key);
        let entry = self.keys.entry(key);
        // Versions that no mark sees are replaced, the others stay below the new one.
        let (kept, freed) = match &entry {
            OwnEntry::Occupied(own) => own.get().replaced(own.key(), newest_mark),
            OwnEntry::Vacant(_) => (0, 0),
        };
        let bytes = self.bytes - freed + version_bytes;
        if bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        self.counted.resize(bytes * COPIES)?;
        self.bytes = bytes;
        self.now += 1;
        if let Some(mode) = lock {
            self.unsettled.push((self.now, Arc::from(&**entry.key()), mode));
        }
        let journaled = match entry {
            OwnEntry::Occupied(mut own) => {
                let versions = &mut own.get_mut().versions;
                let is_replaced = kept < versions.len();
                versions.truncate(kept);
                versions.push(version);
                (!is_replaced && !self.savepoints.is_empty()).then(|| own.key().clone())
            }
            OwnEntry::Vacant(place) => {
                let journaled = (!self.savepoints.is_empty()).then(|| place.key().clone());
                let versions = smallvec![version];
                place.insert(OwnKey { versions, is_new });
                journaled
            }
        };
        self.journal.extend(journaled.map(|key| (self.now, key)));
        Ok(())
    }

    /// Puts another value in the place of the newest that was put under a key: who sees that sees this instead, and what takes that back takes
    /// this back. Refused when the buffer would grow above its limit.
    pub(super) fn amend(&mut self, key: &[u8], value: Vec<u8>) -> Result<()> {
        let Some(version) = self.keys.get_mut(key).and_then(|own| own.versions.last_mut()) else {
            return Ok(());
        };
        let before = version.value.as_ref().map_or(0, |value| value.len());
        let bytes = self.bytes - before + value.len();
        if bytes > self.bytes_max {
            return Err(too_large(self.bytes_max));
        }
        self.counted.resize(bytes * COPIES)?;
        self.bytes = bytes;
        version.value = Some(Bytes::from(value));
        Ok(())
    }

    /// Puts an empty value, unchecked, under a key that has not been written.
    pub(super) fn mark(&mut self, key: Vec<u8>) -> Result<()> {
        if self.keys.contains_key(key.as_slice()) {
            return Ok(());
        }
        let value = Vec::new();
        self.write(Write::Put { key, value }, None)
    }

    /// The keys of a range that are written, and whether they are put or deleted.
    pub(super) fn written(&self, range: &KeyRange) -> Vec<(Vec<u8>, bool)> {
        let end = match &range.end {
            Some(end) => Bound::Excluded(end.as_slice()),
            None => Bound::Unbounded,
        };
        let keys = self.keys.range((Bound::Included(range.start.as_slice()), end));
        let written = keys.filter_map(|(key, own)| {
            let newest = own.versions.last()?;
            Some((key.to_vec(), newest.value.is_some()))
        });
        written.collect()
    }

    /// The key must stay as it is, and is to be locked so at the statement's end. `anew`: though it may be said already, by a statement that
    /// has read something newer.
    pub(super) fn guard(&mut self, key: &[u8], mode: LockMode, anew: bool) {
        if !anew && self.guards.get(key).is_some_and(|(_, known)| *known >= mode) {
            return;
        }
        self.now += 1;
        let key: Arc<[u8]> = Arc::from(key);
        self.unsettled.push((self.now, Arc::clone(&key), mode));
        // What was known before goes with it when it is rolled back: then the key is only locked once more.
        let known = self.guards.get(&key).map_or(mode, |(_, known)| mode.max(*known));
        self.guards.insert(key, (self.now, known));
    }

    /// What has come to be locked since a mark, in the order of keys, of one key the strongest first; from now on it counts as being so. What
    /// tells of others comes last: who holds an object's record for himself then finds all that they did to it.
    pub(super) fn take_unsettled(&mut self, since: usize) -> Vec<(Arc<[u8]>, LockMode)> {
        let from = self.unsettled.partition_point(|(at, ..)| *at <= since);
        let mut unsettled: Vec<_> = self
            .unsettled
            .drain(from..)
            .map(|(_, key, mode)| (key, mode))
            .collect();
        unsettled.sort_unstable_by(|(a, a_mode), (b, b_mode)| {
            let place = tells_of_others(a).cmp(&tells_of_others(b));
            place.then_with(|| a.cmp(b)).then_with(|| b_mode.cmp(a_mode))
        });
        unsettled.dedup();
        unsettled
    }

    /// Whether it is to be locked at the statement's end.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled.is_empty()
    }

    /// Whether the transaction has written the key.
    pub(super) fn writes(&self, key: &[u8]) -> bool {
        self.keys.contains_key(key)
    }

    pub(super) fn progress(&self) -> usize {
        self.now
    }

    pub(super) fn has_writes(&self) -> bool {
        !self.keys.is_empty()
    }

    /// A mark of everything so far, kept until it is rolled back beyond.
    pub(super) fn savepoint(&mut self) -> usize {
        if self.savepoints.last() != Some(&self.now) {
            self.savepoints.push(self.now);
        }
        self.now
    }

    /// Forgets what came after the mark.
    pub(super) fn rollback_to(&mut self, mark: usize) {
        self.savepoints
            .truncate(self.savepoints.partition_point(|savepoint| *savepoint <= mark));
        self.guards.retain(|_, (at, _)| *at <= mark);
        self.unsettled.retain(|(at, ..)| *at <= mark);
        while let Some((_, key)) = self.journal.pop_if(|(at, _)| *at > mark) {
            let Some(own) = self.keys.get_mut(&key) else {
                continue;
            };
            while own.versions.last().is_some_and(|version| version.at > mark) {
                self.bytes -= own.versions.pop().map_or(0, |version| version.bytes(&key));
            }
            if own.versions.is_empty() {
                self.keys.remove(&key);
            }
        }
        // To hold less is never refused.
        let _ = self.counted.resize(self.bytes * COPIES);
    }

    /// Registers a scan of everything so far, or of what a mark sees that is open already; answers its mark.
    pub(super) fn open_scan(&mut self, mark: Option<usize>) -> usize {
        let mark = mark.unwrap_or(self.now);
        *self.scans.entry(mark).or_insert(0) += 1;
        mark
    }

    /// Forgets a scan.
    pub(super) fn close_scan(&mut self, mark: usize) {
        if let Some(count) = self.scans.get_mut(&mark) {
            *count -= 1;
            if *count == 0 {
                self.scans.remove(&mark);
            }
        }
    }

    /// Up to `rows_max` rows between the bounds as the mark sees them, in key order or its reverse, deletions included.
    /// Fewer than `rows_max` mean that there are no more.
    pub(super) fn rows(
        &self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        mark: usize,
        rows_max: usize,
    ) -> Vec<OwnRow> {
        let visible =
            |(key, own): (&Bytes, &OwnKey)| Some((key.clone(), visible(&own.versions, mark)?.value.clone()));
        let keys = self.keys.range(bounds);
        match reverse {
            false => keys.filter_map(visible).take(rows_max).collect(),
            true => keys.rev().filter_map(visible).take(rows_max).collect(),
        }
    }

    /// Ends the transaction: its writes leave the buffer.
    pub(super) fn finish(&mut self) -> Result<Finished> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Err(finished());
        }
        let mut finished = Finished {
            writes: Vec::with_capacity(self.keys.len()),
            are_new: Vec::with_capacity(self.keys.len()),
        };
        self.journal = Vec::new();
        self.guards = HashMap::new();
        for (key, mut own) in std::mem::take(&mut self.keys).into_keys() {
            let Some(version) = own.versions.pop() else {
                continue;
            };
            let key = key.into();
            finished.are_new.push(own.is_new);
            finished.writes.push(match version.value {
                Some(value) => Write::Put {
                    key,
                    value: value.into(),
                },
                None => Write::Delete { key },
            });
        }
        Ok(finished)
    }

    /// Whether the transaction has ended.
    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn newest_mark(&self) -> Option<usize> {
        self.savepoints
            .last()
            .copied()
            .max(self.scans.last_key_value().map(|(mark, _)| *mark))
    }
}

impl Version {
    fn bytes(&self, key: &[u8]) -> usize {
        key.len() + self.value.as_ref().map_or(0, |value| value.len()) + VERSION_OVERHEAD_BYTES
    }
}

/// The version of a key that a mark sees.
fn visible(versions: &[Version], mark: usize) -> Option<&Version> {
    versions.iter().rfind(|version| version.at <= mark)
}

fn too_large(bytes_max: usize) -> Error {
    Error::LimitExceeded {
        state: Limit::Program,
        message: format!("the writes of the transaction exceed the limit of {bytes_max} bytes"),
        hint: "Commit in smaller parts, or raise keyspan.transaction_bytes_max.".to_string(),
    }
}
