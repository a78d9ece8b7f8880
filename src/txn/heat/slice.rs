//! `HeatSlice`: what is read and written of one slice of a key. Counted by who reads and commits, with no lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::minutes::{MinuteCounts, Minutes};

/// One of so many accesses leaves its key.
const SAMPLED_EVERY: u64 = 64;
/// Keys that are kept of a slice: they say where it is read and written.
const SAMPLES_MAX: usize = 32;
/// Longer keys leave none.
const SAMPLE_BYTES_MAX: usize = 512;

/// A slice of a key.
#[derive(Debug)]
pub struct HeatSlice {
    /// The stored key that it begins with; it ends where the next begins.
    pub start: Vec<u8>,
    /// Since the last turn.
    reads: AtomicU64,
    writes: AtomicU64,
    seen: Mutex<Seen>,
}

/// What is known of the time before.
#[derive(Debug, Default)]
struct Seen {
    minutes: Minutes,
    /// Keys of some of the last accesses.
    samples: Vec<Vec<u8>>,
    next_sample: usize,
}

impl HeatSlice {
    pub(super) fn new(start: Vec<u8>) -> HeatSlice {
        HeatSlice {
            start,
            reads: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            seen: Mutex::default(),
        }
    }

    /// Rows were read, `key` among them.
    pub(super) fn count_reads(&self, rows: u64, key: &[u8]) {
        let before = self.reads.fetch_add(rows, Ordering::Relaxed);
        self.sample(before, rows, key);
    }

    /// Rows were written, `key` among them.
    pub(super) fn count_writes(&self, rows: u64, key: &[u8]) {
        let before = self.writes.fetch_add(rows, Ordering::Relaxed);
        self.sample(before, rows, key);
    }

    fn sample(&self, before: u64, rows: u64, key: &[u8]) {
        if before / SAMPLED_EVERY == (before + rows) / SAMPLED_EVERY || key.len() > SAMPLE_BYTES_MAX {
            return;
        }
        // Who would have to wait leaves none.
        let Ok(mut seen) = self.seen.try_lock() else {
            return;
        };
        let place = seen.next_sample % SAMPLES_MAX;
        seen.next_sample = place + 1;
        match seen.samples.get_mut(place) {
            Some(sample) => {
                sample.clear();
                sample.extend_from_slice(key);
            }
            None => seen.samples.push(key.to_vec()),
        }
    }

    /// The minute has come to its end: what was counted is of it, and what is older than `oldest` is forgotten. Answers how many
    /// minutes are kept, and what was counted.
    pub(super) fn turn(&self, minute: i64, oldest: i64) -> (usize, u64) {
        let reads = self.reads.swap(0, Ordering::Relaxed);
        let writes = self.writes.swap(0, Ordering::Relaxed);
        let mut seen = self.lock();
        if reads > 0 || writes > 0 {
            seen.minutes.add(minute, reads, writes);
        }
        (seen.minutes.forget_before(oldest), reads + writes)
    }

    /// The minutes from one on, the present one last, if there was something in it. `now`: which it is.
    pub fn minutes_since(&self, minute: i64, now: i64) -> Vec<MinuteCounts> {
        let mut counts: Vec<MinuteCounts> = self.lock().minutes.since(minute).collect();
        let present = MinuteCounts {
            minute: now,
            reads: self.reads.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
        };
        match counts.last_mut().filter(|last| last.minute >= now) {
            Some(last) => {
                last.reads += present.reads;
                last.writes += present.writes;
            }
            None if present.reads + present.writes > 0 => counts.push(present),
            None => {}
        }
        counts
    }

    /// A key that about half of the sampled accesses are below, and at least one is; `None`: they tell none.
    pub fn middle(&self) -> Option<Vec<u8>> {
        let mut samples = self.lock().samples.clone();
        samples.sort_unstable();
        let middle = samples.get(samples.len() / 2)?;
        let is_inside = *middle > self.start && samples.first() < Some(middle);
        is_inside.then(|| middle.clone())
    }

    /// Where the slice is cut nobody knows which side was accessed.
    pub(super) fn forget_samples(&self) {
        let mut seen = self.lock();
        seen.samples.clear();
        seen.next_sample = 0;
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
