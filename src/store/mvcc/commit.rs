//! A commit on its way from the log to the engine: what the memtable shows to readers and the applier writes. Made by
//! the committer; knows nothing of either.

use std::cell::Cell;
use std::ops::Bound;

use super::limits::{LARGE_BYTES, LARGE_WRITES};
use crate::store::log::Timestamp;
use crate::store::{Batch, Write};

/// A committed batch, or group of batches.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) timestamp: Timestamp,
    /// At most one write a key, in the order of keys.
    pub(super) writes: Vec<Write>,
    /// Bytes that it takes in memory, about.
    pub(super) bytes: usize,
    /// Too large to be copied into the memtable's tree: it is searched where it stands.
    pub(super) is_large: bool,
}

/// What a write costs beside its key and value: two allocations, the vector, the memtable's node.
const WRITE_OVERHEAD_BYTES: usize = 160;

/// Bytes that a commit of these takes in memory, about.
pub(super) fn bytes_in_memory(writes: &[Write]) -> usize {
    writes
        .iter()
        .map(|write| write.bytes() + WRITE_OVERHEAD_BYTES)
        .sum()
}

impl Commit {
    pub(super) fn new(timestamp: Timestamp, writes: Vec<Write>, is_large: bool) -> Commit {
        let bytes = bytes_in_memory(&writes);
        debug_assert!(writes.is_sorted_by(|a, b| a.key() < b.key()));
        Commit {
            timestamp,
            writes,
            bytes,
            is_large,
        }
    }

    /// What it writes to a key, if it does.
    pub(super) fn find(&self, key: &[u8]) -> Option<&Write> {
        self.place(key).map(|at| &self.writes[at])
    }

    /// Its writes of keys in the interval.
    pub(super) fn within(&self, (start, end): (Bound<&[u8]>, Bound<&[u8]>)) -> &[Write] {
        let writes = &self.writes;
        let from = match start {
            Bound::Included(start) => writes.partition_point(|write| write.key() < start),
            Bound::Excluded(start) => writes.partition_point(|write| write.key() <= start),
            Bound::Unbounded => 0,
        };
        let until = match end {
            Bound::Included(end) => writes.partition_point(|write| write.key() <= end),
            Bound::Excluded(end) => writes.partition_point(|write| write.key() < end),
            Bound::Unbounded => writes.len(),
        };
        &writes[from..until]
    }

    /// Whether it gives a key of the interval a value.
    pub(super) fn puts_within(&self, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
        self.within(bounds).iter().any(|write| write.value().is_some())
    }

    /// Tells of keys whether it writes them: fastest of those that it writes one after the other, and that are asked for so.
    pub(super) fn writes_of(&self) -> impl Fn(&[u8]) -> bool + '_ {
        let next = Cell::new(0);
        move |key| {
            let is_next = self
                .writes
                .get(next.get())
                .is_some_and(|write| write.key() == key);
            let place = match is_next {
                true => Some(next.get()),
                false => self.place(key),
            };
            next.set(place.map_or(next.get(), |place| place + 1));
            place.is_some()
        }
    }

    fn place(&self, key: &[u8]) -> Option<usize> {
        self.writes.binary_search_by(|write| write.key().cmp(key)).ok()
    }
}

/// What a batch asks of the log.
pub(super) struct Size {
    pub(super) writes: usize,
    pub(super) bytes: usize,
}

impl Size {
    pub(super) fn of(batch: &Batch) -> Size {
        Size {
            writes: batch.writes.len(),
            bytes: batch.writes.iter().map(Write::bytes).sum(),
        }
    }

    /// Whether the batch takes the way of large commits.
    pub(super) fn is_large(&self) -> bool {
        self.writes > LARGE_WRITES || self.bytes > LARGE_BYTES
    }
}
