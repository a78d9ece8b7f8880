//! `Block`: all entries of the engine in a range of keys, sorted, in one piece of memory:
//!
//! ```text
//! heads     8 bytes an entry: the first bytes of its key behind those that all keys begin with, 00 for what is missing
//! ends      4 + 4 bytes an entry: where its key and its value end among the keys and the values
//! keys      one after the other
//! values    one after the other
//! ```
//!
//! A search goes through the heads, then looks at the one key that they lead to: few lines of memory, and few pages.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{self, AtomicBool};
use std::sync::{Arc, Mutex, PoisonError};

use crate::codec::expiry::{ExpiryRule, NEVER};
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::store::engine::Verify;
use crate::store::mvcc::over_at_of_sound_row;
use crate::store::page::KnownOfAll;

/// The end of a range of keys, which is not in it; `None`: there is none.
pub(super) type Bound<'a> = Option<&'a [u8]>;

/// Bytes that a block takes beside its entries, its place among others included.
const BLOCK_OVERHEAD_BYTES: usize = 256;
/// Bytes that come from memory at once.
const LINE_BYTES: usize = 64;

const HEAD_BYTES: usize = size_of::<u64>();
const END_BYTES: usize = size_of::<u32>();
/// Bytes that an entry takes beside its key and value.
const ENTRY_BYTES: usize = HEAD_BYTES + 2 * END_BYTES;

/// The entries of a range that begins with the key that the block is kept under.
#[derive(Debug)]
pub(super) struct Block {
    bytes: Box<[u8]>,
    entries: usize,
    /// So many bytes all keys begin with in common.
    prefix: usize,
    /// Where the values stand.
    values_at: usize,
    end: Option<Box<[u8]>>,
    is_verified: bool,
    /// From when on the first of its rows is over, by the rule that it was asked for last.
    over_from: Mutex<Option<(Arc<ExpiryRule>, Option<i64>)>>,
    /// Whether it was read since the last round of those that are given up.
    is_used: AtomicBool,
}

/// Entries that become a block, in their order.
#[derive(Debug, Default)]
pub(super) struct BlockDraft {
    keys: Vec<u8>,
    values: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<[u32; 2]>,
}

impl BlockDraft {
    /// Appends an entry, whose key comes after all others.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
        self.ends.push([self.keys.len() as u32, self.values.len() as u32]);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of keys and values.
    pub(super) fn size_bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    /// The block, whose range ends here, its values verified unless they are known to be.
    pub(super) fn ended(&self, end: Bound<'_>, verify: Verify, is_known: bool) -> Block {
        let is_verified = is_known || (0..self.len()).all(|at| verify(self.value(at)));
        let entries = self.len();
        let prefix = match entries {
            0 => 0,
            all => common_bytes(self.key(0), self.key(all - 1)),
        };
        let values_at = entries * ENTRY_BYTES + self.keys.len();
        let mut bytes = Vec::with_capacity(values_at + self.values.len());
        for at in 0..entries {
            bytes.extend_from_slice(&head(&self.key(at)[prefix..]).to_ne_bytes());
        }
        for end in self.ends.iter().flatten() {
            bytes.extend_from_slice(&end.to_ne_bytes());
        }
        bytes.extend_from_slice(&self.keys);
        bytes.extend_from_slice(&self.values);
        Block {
            bytes: bytes.into(),
            entries,
            prefix,
            values_at,
            end: end.map(Box::from),
            is_verified,
            over_from: Mutex::default(),
            is_used: AtomicBool::new(true),
        }
    }

    fn key(&self, at: usize) -> &[u8] {
        &self.keys[self.span(at, 0)]
    }

    fn value(&self, at: usize) -> &[u8] {
        &self.values[self.span(at, 1)]
    }

    /// Where a key (`part` 0) or a value (1) begins and ends among those of its kind.
    fn span(&self, at: usize, part: usize) -> Range<usize> {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before][part]);
        begin as usize..self.ends[at][part] as usize
    }
}

/// How many bytes two keys have in common where they begin.
fn common_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

/// The first eight bytes, and 00 for those that are missing: of two keys that are told apart by them that which is less has less.
fn head(key: &[u8]) -> u64 {
    let mut head = [0; HEAD_BYTES];
    let length = key.len().min(head.len());
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

/// The first place for which `is_before` does not hold, among places for which it holds first and then no more.
fn first_not(mut places: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    while !places.is_empty() {
        let middle = places.start + places.len() / 2;
        match is_before(middle) {
            true => places.start = middle + 1,
            false => places.end = middle,
        }
    }
    places.start
}

impl Block {
    fn head(&self, at: usize) -> u64 {
        let bytes = &self.bytes[at * HEAD_BYTES..(at + 1) * HEAD_BYTES];
        u64::from_ne_bytes(bytes.try_into().unwrap_or_default())
    }

    /// Where a key (`part` 0) or a value (1) begins and ends among those of its kind.
    fn span(&self, at: usize, part: usize) -> Range<usize> {
        let end = |at: usize| {
            let from = self.entries * HEAD_BYTES + (2 * at + part) * END_BYTES;
            u32::from_ne_bytes(self.bytes[from..from + END_BYTES].try_into().unwrap_or_default()) as usize
        };
        at.checked_sub(1).map_or(0, end)..end(at)
    }

    fn key(&self, at: usize) -> &[u8] {
        let keys = &self.bytes[self.entries * ENTRY_BYTES..self.values_at];
        &keys[self.span(at, 0)]
    }

    fn value(&self, at: usize) -> &[u8] {
        &self.bytes[self.values_at..][self.span(at, 1)]
    }

    /// The place of the first entry whose head is not less than the key's, and that head; or, where what all keys begin with decides
    /// already, the place of the first entry whose key is not less.
    fn head_place(&self, key: &[u8]) -> std::result::Result<(usize, u64), usize> {
        if self.entries == 0 {
            return Err(0);
        }
        let common = &self.bytes[self.entries * ENTRY_BYTES..][..self.prefix];
        let rest = match key[..key.len().min(self.prefix)].cmp(common) {
            Ordering::Less => return Err(0),
            Ordering::Greater => return Err(self.entries),
            Ordering::Equal => &key[self.prefix..],
        };
        let wanted = head(rest);
        let low = first_not(0..self.entries, |at| self.head(at) < wanted);
        Ok((low, wanted))
    }

    /// Reads a byte of each line of memory that [`Block::near`] needs.
    pub(super) fn touch_heads(&self) -> u8 {
        let lines = (0..self.entries * HEAD_BYTES).step_by(LINE_BYTES);
        let heads = lines.fold(0, |touched, at| touched ^ self.bytes[at]);
        heads ^ self.bytes.get(self.entries * ENTRY_BYTES).unwrap_or(&0)
    }

    /// Where the key stands if it is there, but for keys with the same head.
    pub(super) fn near(&self, key: &[u8]) -> usize {
        match self.head_place(key) {
            Ok((place, _)) | Err(place) => place,
        }
    }

    /// Reads a byte of each line of memory that [`Block::get`] needs for the entry at a place, if there is one.
    pub(super) fn touch_entry(&self, at: usize) -> u8 {
        if at >= self.entries {
            return 0;
        }
        let lines = |bytes: &[u8]| {
            bytes
                .iter()
                .step_by(LINE_BYTES)
                .fold(0, |touched, byte| touched ^ byte)
        };
        lines(self.key(at)) ^ lines(self.value(at))
    }

    /// The place of the first entry whose key is not less.
    fn place(&self, key: &[u8]) -> usize {
        let (low, wanted) = match self.head_place(key) {
            Ok(found) => found,
            Err(place) => return place,
        };
        let is_alike = |at: usize| at < self.entries && self.head(at) == wanted;
        match (is_alike(low), is_alike(low + 1)) {
            (false, _) => low,
            (true, false) => low + usize::from(self.key(low) < key),
            (true, true) => first_not(low..self.entries, |at| self.key(at) < key),
        }
    }

    /// The value of a key in its range, if there is one.
    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = self.place(key);
        (at < self.entries && self.key(at) == key).then(|| self.value(at))
    }

    /// The entries with `start <= key` and `key < end`.
    pub(super) fn entries(
        &self,
        start: &[u8],
        end: Bound<'_>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        // Most walks come in at the beginning of a block and leave it at its end.
        let first = match self.entries {
            0 => 0,
            _ if start <= self.key(0) => 0,
            _ => self.place(start),
        };
        let last = match (self.entries, end) {
            (0, _) => 0,
            (all, Some(end)) if end <= self.key(all - 1) => self.place(end),
            (all, _) => all,
        };
        (first..last.max(first)).map(|at| (self.key(at), self.value(at)))
    }

    /// What is known of all its entries, whose rows may be over by this rule.
    pub(super) fn known(&self, rule: Option<&Arc<ExpiryRule>>) -> KnownOfAll {
        KnownOfAll {
            are_verified: self.is_verified,
            over_from: rule.and_then(|rule| self.over_from(rule)),
        }
    }

    /// From when on the first of its rows is over, in microseconds since 1970. `None` where it cannot tell: not all are rows of one table.
    fn over_from(&self, rule: &Arc<ExpiryRule>) -> Option<i64> {
        if !self.is_verified || (self.entries > 0 && self.prefix < ENTRY_PREFIX_BYTES) {
            return None;
        }
        let mut known = self.over_from.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, moment)) if Arc::ptr_eq(of, rule) || of == rule => *moment,
            _ => {
                let moments =
                    (0..self.entries).map(|at| over_at_of_sound_row(rule, self.key(at), self.value(at)));
                let moment = moments
                    .into_iter()
                    .try_fold(NEVER, |first, moment| Some(first.min(moment?)));
                *known = Some((Arc::clone(rule), moment));
                moment
            }
        }
    }

    /// Where its range ends.
    pub(super) fn end(&self) -> Bound<'_> {
        self.end.as_deref()
    }

    /// Whether a key that is not before its range is in it.
    pub(super) fn reaches(&self, key: &[u8]) -> bool {
        self.end().is_none_or(|end| key < end)
    }

    /// Bytes that it takes; an allocator leaves about an eighth between pieces of such sizes.
    pub(super) fn size_bytes(&self) -> usize {
        self.bytes.len() + self.bytes.len() / 8 + BLOCK_OVERHEAD_BYTES
    }

    /// Notes that it is read.
    pub(super) fn note_use(&self) {
        if !self.is_used.load(atomic::Ordering::Relaxed) {
            self.is_used.store(true, atomic::Ordering::Relaxed);
        }
    }

    /// Whether it was read since it was asked last.
    pub(super) fn take_use(&self) -> bool {
        self.is_used.swap(false, atomic::Ordering::Relaxed)
    }

    /// What becomes of it with these writes, which are sorted: one block or, when it would be more than so many entries or bytes,
    /// several, each with where it begins; the first begins where it did. They are of the same length, unless all is written
    /// behind its end: then the first are full, for the next will be written there, too.
    pub(super) fn with_writes(
        &self,
        start: &[u8],
        writes: &[(&[u8], Option<&[u8]>)],
        (entries_max, bytes_max): (usize, usize),
        verify: Verify,
    ) -> Vec<(Box<[u8]>, Block)> {
        let is_known = self.is_verified && writes.iter().all(|(_, value)| value.is_none_or(verify));
        let entries = self.merged(writes);
        let is_appended = match (self.entries.checked_sub(1), writes.first()) {
            (Some(last), Some((first, _))) => self.key(last) < *first,
            _ => true,
        };
        let parts = entries.len().div_ceil(entries_max).max(1);
        let entries_max = match is_appended {
            true => entries_max,
            false => entries.len().div_ceil(parts).max(1),
        };
        let (mut blocks, mut begun) = (Vec::with_capacity(parts), Box::from(start));
        let mut draft = BlockDraft::default();
        for (key, value) in entries {
            if draft.len() >= entries_max || draft.size_bytes() >= bytes_max {
                let whole = std::mem::take(&mut draft).ended(Some(key), verify, is_known);
                blocks.push((std::mem::replace(&mut begun, Box::from(key)), whole));
            }
            draft.push(key, value);
        }
        blocks.push((begun, draft.ended(self.end(), verify, is_known)));
        blocks
    }

    /// How many entries it has.
    pub(super) fn len(&self) -> usize {
        self.entries
    }

    /// Bytes of its keys and values.
    pub(super) fn entry_bytes(&self) -> usize {
        self.bytes.len() - self.entries * ENTRY_BYTES
    }

    /// One block for its range and for that of the block that begins where it ends.
    pub(super) fn joined(&self, behind: &Block, verify: Verify) -> Block {
        let mut draft = BlockDraft::default();
        for block in [self, behind] {
            for (key, value) in block.entries(&[], None) {
                draft.push(key, value);
            }
        }
        let joined = draft.ended(behind.end(), verify, self.is_verified && behind.is_verified);
        let is_used = [self, behind].map(|block| block.is_used.load(atomic::Ordering::Relaxed));
        joined
            .is_used
            .store(is_used.contains(&true), atomic::Ordering::Relaxed);
        joined
    }

    /// Its entries, with what the writes put and without what they delete.
    fn merged<'a>(&'a self, writes: &[(&'a [u8], Option<&'a [u8]>)]) -> Vec<(&'a [u8], &'a [u8])> {
        let mut merged = Vec::with_capacity(self.entries + writes.len());
        let mut own = self.entries(&[], None).peekable();
        for (key, value) in writes {
            while let Some(entry) = own.next_if(|(own, _)| own < key) {
                merged.push(entry);
            }
            own.next_if(|(own, _)| own == key);
            merged.extend(value.map(|value| (*key, value)));
        }
        merged.extend(own);
        merged
    }
}
