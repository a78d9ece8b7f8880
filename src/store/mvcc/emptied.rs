//! `Emptied`: intervals of keys of which it is known that snapshots from a time on see no row there, so that scans pass over them: what
//! a queue leaves at its head is walked once, not by each reader until the engine has all of it. A scan that walked one tells the
//! memtable, which notes it here, and forgets it when a commit puts a key there.
//!
//! Invariant: no commit newer than an interval's `since` has put a key in it.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::limits::EMPTIED_MAX;
use crate::store::log::Timestamp;

/// So many intervals that lie in one are kept beside it: snapshots that are a little older can use those, which were known earlier.
const WITHIN_ANOTHER_MAX: usize = 3;

/// The intervals known; few.
#[derive(Debug, Default)]
pub(super) struct Emptied {
    /// Oldest first; they may overlap.
    intervals: RwLock<Vec<Interval>>,
    /// As many: lets readers and commits skip the lock in the common case of none.
    count: AtomicUsize,
}

/// The keys from `start` to before `end`: snapshots from `since` on see nothing there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    pub(super) start: Vec<u8>,
    pub(super) end: Vec<u8>,
    pub(super) since: Timestamp,
}

impl Interval {
    /// For maps of keys; it is not empty.
    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Included(&self.start), Bound::Excluded(&self.end))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    fn is_within(&self, other: &Interval) -> bool {
        other.start <= self.start && self.end <= other.end
    }

    /// Whether no key is between them.
    fn touches(&self, other: &Interval) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Where a scan that stands at its beginning, or inside, goes on: behind it.
    fn behind(&self, border: &[u8], reverse: bool) -> Option<&[u8]> {
        let (start, end) = (self.start.as_slice(), self.end.as_slice());
        match reverse {
            false => (start <= border && border < end).then_some(end),
            true => (start < border && border <= end).then_some(start),
        }
    }
}

impl Emptied {
    /// Where a scan of a snapshot at `timestamp` may go on that stands at `border`, its start (inclusive) or in reverse its end
    /// (exclusive); `None`: right there.
    pub(super) fn behind(&self, border: &[u8], reverse: bool, timestamp: Timestamp) -> Option<Vec<u8>> {
        if self.is_empty() {
            return None;
        }
        let intervals = self.read();
        // The newest are the largest.
        let known = || {
            intervals
                .iter()
                .rev()
                .filter(|interval| interval.since <= timestamp)
        };
        let next = |border: &[u8]| known().find_map(|interval| interval.behind(border, reverse));
        let mut behind = next(border)?;
        while let Some(further) = next(behind) {
            behind = further;
        }
        Some(behind.to_vec())
    }

    /// Notes an interval, which is not empty. No commit newer than its time has put a key there, nor does one meanwhile.
    pub(super) fn note(&self, mut new: Interval) {
        let mut intervals = self.write();
        for known in intervals.iter().filter(|known| known.since <= new.since) {
            if new.is_within(known) {
                return;
            }
            if known.touches(&new) {
                new.start = new.start.min(known.start.clone());
                new.end = new.end.max(known.end.clone());
            }
        }
        let within = || (0..intervals.len()).filter(|at| intervals[*at].is_within(&new));
        let oldest_within = within().next();
        let is_full = intervals.len() >= EMPTIED_MAX;
        if is_full || within().count() >= WITHIN_ANOTHER_MAX {
            intervals.remove(oldest_within.unwrap_or(0));
        }
        intervals.push(new);
        self.count.store(intervals.len(), Ordering::Release);
    }

    /// Forgets those of which `counts_no_more` says so: a commit puts a key there, and is not visible yet.
    pub(super) fn forget(&self, counts_no_more: impl Fn(&Interval) -> bool) {
        if !self.is_empty() {
            let mut intervals = self.write();
            intervals.retain(|interval| !counts_no_more(interval));
            self.count.store(intervals.len(), Ordering::Release);
        }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Interval>> {
        self.intervals.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Interval>> {
        self.intervals.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start: &str, end: &str, since: Timestamp) -> Interval {
        Interval {
            start: start.into(),
            end: end.into(),
            since,
        }
    }

    fn behind(emptied: &Emptied, border: &str, reverse: bool, timestamp: Timestamp) -> String {
        let behind = emptied.behind(border.as_bytes(), reverse, timestamp);
        behind.map_or("-".to_string(), |key| String::from_utf8_lossy(&key).into_owned())
    }

    #[test]
    fn scans_go_on_behind_what_their_snapshots_see_empty() {
        let emptied = Emptied::default();
        assert_eq!(behind(&emptied, "b", false, 9), "-");
        emptied.note(interval("b", "d", 5));
        emptied.note(interval("d", "f", 7));
        let forward = ["a", "b", "c", "d", "e", "f"].map(|border| behind(&emptied, border, false, 9));
        assert_eq!(forward, ["-", "f", "f", "f", "f", "-"]);
        let reverse = ["b", "bb", "f", "g"].map(|border| behind(&emptied, border, true, 9));
        assert_eq!(reverse, ["-", "b", "b", "-"]);
        // Older snapshots know less.
        let older = [4, 5, 6, 7].map(|timestamp| behind(&emptied, "b", false, timestamp));
        assert_eq!(older, ["-", "d", "d", "f"]);
    }

    #[test]
    fn a_key_that_is_put_ends_the_intervals_that_have_it() {
        let emptied = Emptied::default();
        emptied.note(interval("b", "d", 5));
        emptied.note(interval("c", "f", 7));
        emptied
            .forget(|interval| interval.start.as_slice() <= &b"e"[..] && &b"e"[..] < interval.end.as_slice());
        assert_eq!(behind(&emptied, "b", false, 9), "d");
        emptied.forget(|_| true);
        assert_eq!(behind(&emptied, "b", false, 9), "-");
    }

    #[test]
    fn few_are_kept_and_the_largest_longest() {
        let emptied = Emptied::default();
        for at in 0..200u8 {
            let end = String::from_utf8_lossy(&[b'a', at / 2]).into_owned();
            emptied.note(interval("a", &end, at.into()));
            assert!(emptied.read().len() <= WITHIN_ANOTHER_MAX + 1);
        }
        for at in 0..2 * EMPTIED_MAX as u64 {
            emptied.note(interval(&format!("k{at:03}"), &format!("k{at:03}x"), 300 + at));
        }
        assert_eq!(emptied.read().len(), EMPTIED_MAX);
    }
}
