//! `Block`: all entries of the engine in a range of keys, sorted, in two arenas.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::sync::atomic::{self, AtomicBool};

/// The end of a range of keys, which is not in it; `None`: there is none.
pub(super) type Bound<'a> = Option<&'a [u8]>;

/// Bytes that a block takes beside its entries, its place among others included.
const BLOCK_OVERHEAD_BYTES: usize = 256;
/// Bytes that an entry takes beside its key and value.
const ENTRY_OVERHEAD_BYTES: usize = size_of::<[u32; 2]>() + size_of::<u64>();

/// The entries of a range that begins with the key that the block is kept under.
#[derive(Debug)]
pub(super) struct Block {
    entries: BlockDraft,
    /// So many bytes all keys begin with in common.
    prefix: usize,
    /// The first bytes of each key behind these, as a number that compares as they do: a search goes through few lines of memory.
    heads: Vec<u64>,
    end: Option<Box<[u8]>>,
    /// Whether it was read since the last round of those that are given up.
    is_used: AtomicBool,
}

/// Entries that become a block, in their order.
#[derive(Debug, Default)]
pub(super) struct BlockDraft {
    /// Keys one after the other: what a search goes through.
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

    /// The block, whose range ends here.
    pub(super) fn ended(mut self, end: Bound<'_>) -> Block {
        self.keys.shrink_to_fit();
        self.values.shrink_to_fit();
        self.ends.shrink_to_fit();
        let prefix = match self.len() {
            0 => 0,
            all => common_bytes(self.key(0), self.key(all - 1)),
        };
        Block {
            heads: (0..self.len()).map(|at| head(&self.key(at)[prefix..])).collect(),
            prefix,
            entries: self,
            end: end.map(Box::from),
            is_used: AtomicBool::new(true),
        }
    }

    fn key(&self, at: usize) -> &[u8] {
        &self.keys[self.begin(at, 0)..self.ends[at][0] as usize]
    }

    fn value(&self, at: usize) -> &[u8] {
        &self.values[self.begin(at, 1)..self.ends[at][1] as usize]
    }

    fn begin(&self, at: usize, part: usize) -> usize {
        match at {
            0 => 0,
            at => self.ends[at - 1][part] as usize,
        }
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
    let mut head = [0; 8];
    let length = key.len().min(head.len());
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

impl Block {
    /// The place of the first entry whose key is not less.
    fn place(&self, key: &[u8]) -> usize {
        let all = self.entries.len();
        if all == 0 {
            return 0;
        }
        let rest = match key[..key.len().min(self.prefix)].cmp(&self.entries.keys[..self.prefix]) {
            Ordering::Less => return 0,
            Ordering::Greater => return all,
            Ordering::Equal => &key[self.prefix..],
        };
        let wanted = head(rest);
        let low = self.heads.partition_point(|head| *head < wanted);
        let alike = self.heads[low..].partition_point(|head| *head == wanted);
        let (mut low, mut high) = (low, low + alike);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.entries.key(middle) < key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The value of a key in its range, if there is one.
    pub(super) fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let at = self.place(key);
        (at < self.entries.len() && self.entries.key(at) == key).then(|| self.entries.value(at))
    }

    /// The entries with `start <= key` and `key < end`.
    pub(super) fn entries(
        &self,
        start: &[u8],
        end: Bound<'_>,
    ) -> impl DoubleEndedIterator<Item = (&[u8], &[u8])> {
        // Most walks come in at the beginning of a block and leave it at its end.
        let entries = &self.entries;
        let first = match entries.len() {
            0 => 0,
            _ if start <= entries.key(0) => 0,
            _ => self.place(start),
        };
        let last = match (entries.len(), end) {
            (0, _) => 0,
            (all, Some(end)) if end <= entries.key(all - 1) => self.place(end),
            (all, _) => all,
        };
        (first..last.max(first)).map(|at| (entries.key(at), entries.value(at)))
    }

    /// Where its range ends.
    pub(super) fn end(&self) -> Bound<'_> {
        self.end.as_deref()
    }

    /// Whether a key that is not before its range is in it.
    pub(super) fn reaches(&self, key: &[u8]) -> bool {
        self.end().is_none_or(|end| key < end)
    }

    /// Bytes that it takes.
    pub(super) fn size_bytes(&self) -> usize {
        self.entries.size_bytes() + self.entries.len() * ENTRY_OVERHEAD_BYTES + BLOCK_OVERHEAD_BYTES
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

    /// What becomes of it with these writes, which are sorted: one block or, when it grows beyond so many entries or bytes, several,
    /// each with where it begins; the first begins where it did.
    pub(super) fn with_writes<'a>(
        &'a self,
        start: &[u8],
        writes: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
        (entries_max, bytes_max): (usize, usize),
    ) -> Vec<(Box<[u8]>, Block)> {
        let mut parts = Vec::new();
        let (mut begun, mut draft) = (Box::from(start), BlockDraft::default());
        for (key, value) in self.merged(writes.peekable()) {
            if draft.len() >= entries_max || draft.size_bytes() >= bytes_max {
                let whole = std::mem::take(&mut draft).ended(Some(key));
                parts.push((std::mem::replace(&mut begun, Box::from(key)), whole));
            }
            draft.push(key, value);
        }
        parts.push((begun, draft.ended(self.end())));
        parts
    }

    /// Its entries, with what the writes put and without what they delete.
    fn merged<'a>(
        &'a self,
        mut writes: Peekable<impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>>,
    ) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut own = self.entries(&[], None).peekable();
        std::iter::from_fn(move || {
            loop {
                let Some((key, value)) =
                    writes.next_if(|(key, _)| own.peek().is_none_or(|(own, _)| key <= own))
                else {
                    return own.next();
                };
                own.next_if(|(own, _)| *own == key);
                if let Some(value) = value {
                    return Some((key, value));
                }
            }
        })
    }
}
