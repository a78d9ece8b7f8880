//! The undo map: values that were replaced or deleted in the engine, kept in memory while an open snapshot sees them; with
//! it the register of open snapshots and the visible timestamp, because the three change together under one lock. The
//! applier records, the committer publishes, readers find and collect; knows nothing of the engine.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::log::Timestamp;

/// What a version costs beside the bytes of its key and value: map nodes, reference counts, the index by time.
const VERSION_OVERHEAD_BYTES: usize = 160;

/// One lock's hold of `collect` looks at this many keys at most.
const COLLECT_KEYS_MAX: usize = 4096;

/// A snapshot after whose time no more versions ended than so many looks at these alone: what is kept for older ones, of a queue every row
/// that has gone, is nothing to it.
const RECENT_MAX: usize = 512;

/// Replaced values, open snapshots and the visible timestamp.
pub(super) struct Undo {
    state: Mutex<State>,
    /// Versions held: lets readers skip the lock in the common case of none. Raised before the engine changes.
    versions: AtomicUsize,
    /// Snapshots with a smaller timestamp were given up.
    floor: AtomicU64,
    bytes_max: usize,
}

/// A value that is about to be replaced or deleted in the engine.
pub(super) struct Replaced {
    pub(super) key: Vec<u8>,
    /// When the value was committed.
    pub(super) from: Timestamp,
    /// The commit that replaces it.
    pub(super) until: Timestamp,
    pub(super) value: Vec<u8>,
}

/// A key and the value that a snapshot sees.
pub(super) type UndoRow = (Arc<[u8]>, Arc<[u8]>);

/// What `collect` found in an interval of keys.
#[derive(Default)]
pub(super) struct Collected {
    /// Keys and the values that the snapshot sees, in scan order.
    pub(super) rows: Vec<UndoRow>,
    /// The last key looked at, when the interval was not walked to its end.
    pub(super) stopped_at: Option<Arc<[u8]>>,
}

#[derive(Default)]
struct State {
    /// For each key its replaced values, oldest first; never empty.
    keys: BTreeMap<Arc<[u8]>, Vec<Version>>,
    /// The keys of the versions that ended at a timestamp: what to look at when snapshots close.
    ended: BTreeMap<Timestamp, Vec<Arc<[u8]>>>,
    /// Timestamps of open snapshots, and how many share each.
    open: BTreeMap<Timestamp, usize>,
    visible: Timestamp,
    bytes: usize,
}

/// The value a key had for snapshots with `from <= timestamp < until`.
struct Version {
    from: Timestamp,
    until: Timestamp,
    value: Arc<[u8]>,
}

impl Undo {
    /// An empty map; `visible` is the newest commit.
    pub(super) fn new(visible: Timestamp, bytes_max: usize) -> Undo {
        Undo {
            state: Mutex::new(State {
                visible,
                ..State::default()
            }),
            versions: AtomicUsize::new(0),
            floor: AtomicU64::new(0),
            bytes_max,
        }
    }

    /// Registers a snapshot of everything visible, and of every commit up to `least`, and answers its timestamp.
    pub(super) fn open_snapshot(&self, least: Timestamp) -> Timestamp {
        let mut state = self.lock();
        let timestamp = state.visible.max(least);
        *state.open.entry(timestamp).or_insert(0) += 1;
        timestamp
    }

    /// Forgets one snapshot, and the versions that only it could see.
    pub(super) fn close_snapshot(&self, timestamp: Timestamp) {
        let mut state = self.lock();
        // A snapshot that was given up is not registered any more.
        let Some(count) = state.open.get_mut(&timestamp) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            state.open.remove(&timestamp);
            let dropped = state.release(timestamp);
            self.versions.fetch_sub(dropped, Ordering::Release);
        }
    }

    /// Whether a snapshot older than the commit `timestamp`, which is visible, is open: none can open any more.
    pub(super) fn has_snapshot_before(&self, timestamp: Timestamp) -> bool {
        let state = self.lock();
        state
            .open
            .first_key_value()
            .is_some_and(|(oldest, _)| *oldest < timestamp)
    }

    /// Keeps those of the values that an open snapshot sees, and gives up the oldest snapshots while the map is above its
    /// budget. The commits that replace them are visible; for each key the values come in the order of time. Must be
    /// called before the engine changes.
    pub(super) fn record(&self, replaced: Vec<Replaced>) {
        let mut state = self.lock();
        for value in replaced {
            if state.keep(value) {
                self.versions.fetch_add(1, Ordering::Release);
            }
        }
        let mut dropped = 0;
        while state.bytes > self.bytes_max
            && let Some((oldest, _)) = state.open.pop_first()
        {
            self.floor.store(oldest + 1, Ordering::Release);
            dropped += state.release(oldest);
        }
        self.versions.fetch_sub(dropped, Ordering::Release);
    }

    /// The newest commit that new snapshots see.
    pub(super) fn visible(&self) -> Timestamp {
        self.lock().visible
    }

    /// Makes the commit `timestamp` visible to new snapshots.
    pub(super) fn publish(&self, timestamp: Timestamp) {
        self.lock().visible = timestamp;
    }

    /// The replaced value of `key` that a snapshot at `timestamp` sees, if there is one. Ask the engine first.
    pub(super) fn find(&self, key: &[u8], timestamp: Timestamp) -> Option<Arc<[u8]>> {
        if self.is_empty() {
            return None;
        }
        let state = self.lock();
        visible_value(state.keys.get(key)?, timestamp).cloned()
    }

    /// The replaced values that a snapshot at `timestamp` sees of keys from `start` to before `end`, in scan order: at
    /// most about `rows_max` rows or `bytes_max` bytes. Ask the engine first.
    pub(super) fn collect(
        &self,
        (start, end): (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        timestamp: Timestamp,
        rows_max: usize,
        bytes_max: usize,
    ) -> Collected {
        let (mut collected, mut bytes) = (Collected::default(), 0);
        if self.is_empty() || is_empty_interval(start, end) {
            return collected;
        }
        let state = self.lock();
        let mut add = |key: &Arc<[u8]>, versions: &[Version], walked: usize| {
            if let Some(value) = visible_value(versions, timestamp) {
                collected.rows.push((Arc::clone(key), Arc::clone(value)));
                bytes += key.len() + value.len();
            }
            let is_full = collected.rows.len() >= rows_max || bytes >= bytes_max;
            if is_full || walked >= COLLECT_KEYS_MAX {
                collected.stopped_at = Some(Arc::clone(key));
            }
            collected.stopped_at.is_none()
        };
        if let Some(mut recent) = state.ended_after(timestamp, (start, end)) {
            if reverse {
                recent.reverse();
            }
            for key in recent {
                let versions = state.keys.get(&key);
                if versions.is_some_and(|versions| !add(&key, versions, 0)) {
                    break;
                }
            }
            return collected;
        }
        let (mut keys, mut walked) = (state.keys.range::<[u8], _>((start, end)), 0);
        while let Some((key, versions)) = if reverse { keys.next_back() } else { keys.next() } {
            walked += 1;
            if !add(key, versions, walked) {
                break;
            }
        }
        collected
    }

    /// Whether a snapshot at `timestamp` was given up. Ask after reading, not before: what was read until then is right.
    pub(super) fn is_too_old(&self, timestamp: Timestamp) -> bool {
        timestamp < self.floor.load(Ordering::Acquire)
    }

    /// Whether nothing is kept; takes no lock.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.load(Ordering::Acquire) == 0
    }

    /// Open snapshots, and bytes kept for them.
    pub(super) fn figures(&self) -> (usize, usize) {
        let state = self.lock();
        (state.open.values().sum(), state.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Undo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        f.debug_struct("Undo")
            .field("visible", &state.visible)
            .field("open", &state.open)
            .field("keys", &state.keys.len())
            .field("bytes", &state.bytes)
            .finish()
    }
}

impl State {
    /// The keys between these bounds of which a version ended after a time, sorted. `None`: too many did, wherever they are.
    fn ended_after(
        &self,
        timestamp: Timestamp,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Option<Vec<Arc<[u8]>>> {
        let mut found = Vec::new();
        let mut looked_at = 0;
        for keys in self.ended.range(timestamp + 1..).map(|(_, keys)| keys) {
            looked_at += keys.len();
            if looked_at > RECENT_MAX {
                return None;
            }
            let inside = keys
                .iter()
                .filter(|key| RangeBounds::<[u8]>::contains(&bounds, &***key));
            found.extend(inside.cloned());
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Keeps a value if an open snapshot sees it; answers whether.
    fn keep(&mut self, replaced: Replaced) -> bool {
        let Replaced {
            key,
            from,
            until,
            value,
        } = replaced;
        if from >= until || self.open.range(from..until).next().is_none() {
            return false;
        }
        let key = match self.keys.get_key_value(key.as_slice()) {
            Some((key, _)) => Arc::clone(key),
            None => key.into(),
        };
        let version = Version {
            from,
            until,
            value: value.into(),
        };
        self.bytes += version.bytes(&key);
        self.keys.entry(Arc::clone(&key)).or_default().push(version);
        self.ended.entry(until).or_default().push(key);
        true
    }

    /// Drops the versions that only snapshots at `timestamp` could see, now that none is open there; answers how many.
    ///
    /// Such a version ended after `timestamp`, and not after the next snapshot above (or what new snapshots will see);
    /// and it began after the next snapshot below.
    fn release(&mut self, timestamp: Timestamp) -> usize {
        let below = self.open.range(..timestamp).next_back().map(|(below, _)| *below);
        let above = self
            .open
            .range(timestamp + 1..)
            .next()
            .map_or(self.visible, |(above, _)| *above);
        if above <= timestamp {
            return 0;
        }
        let ends: Vec<Timestamp> = self
            .ended
            .range(timestamp + 1..=above)
            .map(|(end, _)| *end)
            .collect();
        ends.into_iter().map(|end| self.drop_ended(end, below)).sum()
    }

    /// Drops the versions that ended at `until`, but for those that a snapshot at `below` sees; answers how many.
    fn drop_ended(&mut self, until: Timestamp, below: Option<Timestamp>) -> usize {
        let Some(mut ended) = self.ended.remove(&until) else {
            return 0;
        };
        let before = ended.len();
        ended.retain(|key| {
            let Some(versions) = self.keys.get_mut(key) else {
                return false;
            };
            let Ok(at) = versions.binary_search_by_key(&until, |version| version.until) else {
                return false;
            };
            if below.is_some_and(|below| versions[at].from <= below) {
                return true;
            }
            self.bytes -= versions.remove(at).bytes(key);
            if versions.is_empty() {
                self.keys.remove(key);
            }
            false
        });
        let dropped = before - ended.len();
        if !ended.is_empty() {
            self.ended.insert(until, ended);
        }
        dropped
    }
}

impl Version {
    fn bytes(&self, key: &[u8]) -> usize {
        key.len() + self.value.len() + VERSION_OVERHEAD_BYTES
    }
}

/// The value among a key's versions (oldest first) that a snapshot at `timestamp` sees.
fn visible_value(versions: &[Version], timestamp: Timestamp) -> Option<&Arc<[u8]>> {
    let at = versions.partition_point(|version| version.until <= timestamp);
    versions
        .get(at)
        .filter(|version| version.from <= timestamp)
        .map(|version| &version.value)
}

/// `BTreeMap::range` panics on such bounds instead of answering nothing.
pub(super) fn is_empty_interval(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end))
        | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next commit replaces the value of `key`, which it had since `from`.
    fn replace(undo: &Undo, key: &str, from: Timestamp, until: Timestamp, value: &str) {
        undo.publish(until);
        undo.record(vec![Replaced {
            key: key.into(),
            from,
            until,
            value: value.into(),
        }]);
    }

    fn value(undo: &Undo, key: &str, timestamp: Timestamp) -> Option<String> {
        undo.find(key.as_bytes(), timestamp)
            .map(|value| String::from_utf8_lossy(&value).into_owned())
    }

    #[test]
    fn a_version_lives_exactly_as_long_as_a_snapshot_that_sees_it() {
        let undo = Undo::new(1, usize::MAX);
        let old = undo.open_snapshot(0);
        for commit in 2..=9 {
            replace(&undo, "k", commit - 1, commit, &format!("v{}", commit - 1));
        }
        // Only the version that the snapshot at 1 sees is kept of eight.
        assert_eq!(undo.versions.load(Ordering::Relaxed), 1);
        assert_eq!(value(&undo, "k", old).as_deref(), Some("v1"));

        let middle = undo.open_snapshot(0);
        assert!(undo.has_snapshot_before(2) && !undo.has_snapshot_before(1));
        replace(&undo, "k", 9, 10, "v9");
        assert_eq!(value(&undo, "k", middle).as_deref(), Some("v9"));
        undo.close_snapshot(middle);
        assert_eq!(value(&undo, "k", 9), None);
        assert_eq!(value(&undo, "k", old).as_deref(), Some("v1"));
        undo.close_snapshot(old);
        assert!(undo.is_empty() && !undo.has_snapshot_before(99));
        assert_eq!(undo.figures(), (0, 0));
    }

    /// Of a queue whose rows have gone: what an old snapshot has kept costs a newer one nothing.
    #[test]
    fn a_snapshot_looks_at_what_ended_after_it() {
        let undo = Undo::new(1, usize::MAX);
        let old = undo.open_snapshot(0);
        let key = |at: u64| format!("{at:06}");
        let gone = COLLECT_KEYS_MAX as u64 + 10;
        for at in 0..gone {
            replace(&undo, &key(at), 1, at + 2, "v");
        }
        let new = undo.open_snapshot(0);
        for at in [gone, gone + 2, gone + 1] {
            replace(&undo, &key(at), 1, undo.visible() + 1, "w");
        }
        let collect = |at, reverse, start: Bound<&[u8]>, rows_max| {
            let collected = undo.collect((start, Bound::Unbounded), reverse, at, rows_max, usize::MAX);
            let rows = collected.rows.iter();
            let rows: Vec<u64> = rows
                .map(|(key, _)| String::from_utf8_lossy(key).parse().unwrap())
                .collect();
            (rows, collected.stopped_at.is_some())
        };
        let all = [gone, gone + 1, gone + 2];
        assert_eq!(collect(new, false, Bound::Unbounded, 9), (all.to_vec(), false));
        let first = key(gone);
        let behind = Bound::Excluded(first.as_bytes());
        assert_eq!(collect(new, true, behind, 9), (vec![gone + 2, gone + 1], false));
        assert_eq!(
            collect(new, false, Bound::Unbounded, 2),
            (all[..2].to_vec(), true)
        );
        let seen_by_old = collect(old, false, Bound::Unbounded, usize::MAX);
        assert_eq!(seen_by_old, ((0..COLLECT_KEYS_MAX as u64).collect(), true));
        undo.close_snapshot(old);
        undo.close_snapshot(new);
        assert!(undo.is_empty());
    }

    #[test]
    fn what_no_open_snapshot_sees_is_not_kept() {
        let undo = Undo::new(5, usize::MAX);
        replace(&undo, "k", 3, 6, "old");
        assert!(undo.is_empty());
        let after = undo.open_snapshot(0);
        replace(&undo, "new", 7, 8, "nobody saw it");
        assert!(undo.is_empty());
        undo.close_snapshot(after);
    }

    #[test]
    fn above_the_budget_the_oldest_snapshots_are_given_up_first() {
        let undo = Undo::new(1, 2 * (VERSION_OVERHEAD_BYTES + 1 + 100));
        let value = "x".repeat(100);
        let snapshots: Vec<Timestamp> = (2..6)
            .map(|commit| {
                let snapshot = undo.open_snapshot(0);
                replace(&undo, "k", commit - 1, commit, &value);
                snapshot
            })
            .collect();
        assert_eq!(snapshots, [1, 2, 3, 4]);
        assert_eq!(
            snapshots
                .iter()
                .map(|&at| undo.is_too_old(at))
                .collect::<Vec<_>>(),
            [true, true, false, false]
        );
        assert!(undo.find(b"k", 3).is_some() && undo.find(b"k", 4).is_some());
        for snapshot in snapshots {
            undo.close_snapshot(snapshot);
        }
        assert_eq!(undo.figures(), (0, 0));
    }
}
