//! The memtable: commits that are in the log and visible, but not in the engine yet. The committer adds them, the applier
//! takes them away once the engine has them, readers ask here first; knows nothing of the log or the engine.
//!
//! For each key it holds *every* version of the commits in it, so that a reader finds the newest one that its snapshot
//! sees. Commits reach the engine in order, so a version here is never older than the engine's of the same key: what is
//! found here is the answer, and only what is not is asked of the engine, and then of the undo map.
//!
//! A large commit is not copied key by key: it is searched as the sorted list that it came as. There are few at a time.
//!
//! It also knows intervals of keys in which nobody sees a row ([`Emptied`]), for it is the first that a commit comes to.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::atomic::{self, AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use smallvec::SmallVec;

use super::commit::Commit;
use super::emptied::{Emptied, Interval};
use super::limits::DELETED_IN_THE_WAY;
use super::undo::is_empty_interval;
use crate::store::log::Timestamp;
use crate::store::{KeyRange, Write};

/// One lock's hold of `collect` looks at this many keys at most.
const COLLECT_KEYS_MAX: usize = 4096;

/// Bytes of a key that need no memory of their own.
const KEY_INLINE_BYTES: usize = 32;

/// Commits not in the engine yet.
#[derive(Debug, Default)]
pub(super) struct Memtable {
    state: RwLock<State>,
    emptied: Emptied,
    /// A reader passed many keys that are deleted, or somebody waits for the engine.
    is_in_the_way: AtomicBool,
    /// Commits held: lets readers skip the lock in the common case of none. Raised before a commit is visible.
    commits: AtomicUsize,
    bytes: Mutex<Bytes>,
    shrunk: Condvar,
}

/// What the commits held take, in bytes.
#[derive(Debug, Default)]
struct Bytes {
    small: usize,
    large: usize,
}

impl Bytes {
    fn of(&mut self, commit: &Commit) -> &mut usize {
        match commit.is_large {
            true => &mut self.large,
            false => &mut self.small,
        }
    }
}

/// A key: one of the usual size stands in the tree's node, so that a search reads no other memory.
type Key = SmallVec<[u8; KEY_INLINE_BYTES]>;

/// What commits made of a key.
#[derive(Debug)]
enum Versions {
    /// As of most keys.
    One(Version),
    /// Oldest first; never empty.
    Many(VecDeque<Version>),
}

#[derive(Debug, Default)]
struct State {
    /// For each key its versions.
    rows: BTreeMap<Key, Versions>,
    /// Large commits, oldest first.
    large: VecDeque<Arc<Commit>>,
    /// The newest commit that was taken away.
    removed: Timestamp,
}

/// What a commit made of a key: the place of the write in its commit.
#[derive(Debug, Clone)]
struct Version {
    commit: Arc<Commit>,
    at: usize,
}

/// A key, and the value that a snapshot sees of it here; `None`: deleted.
pub(super) type MemtableRow = (Vec<u8>, Option<Vec<u8>>);

/// What `collect` found in an interval of keys.
#[derive(Default)]
pub(super) struct Collected {
    /// In scan order.
    pub(super) rows: Vec<MemtableRow>,
    /// The last key looked at, when the interval was not walked to its end.
    pub(super) stopped_at: Option<Vec<u8>>,
}

impl Memtable {
    /// Adds a commit. It must not be visible yet, and be newer than all before it.
    pub(super) fn insert(&self, commit: &Arc<Commit>) {
        self.commits.fetch_add(1, atomic::Ordering::Release);
        *self.lock_bytes().of(commit) += commit.bytes;
        let mut state = self.write();
        self.emptied
            .forget(|interval| commit.puts_within(interval.bounds()));
        if commit.is_large {
            state.large.push_back(Arc::clone(commit));
            return;
        }
        for (at, write) in commit.writes.iter().enumerate() {
            let version = Version {
                commit: Arc::clone(commit),
                at,
            };
            match state.rows.get_mut(write.key()) {
                Some(versions) => versions.push(version),
                None => drop(
                    state
                        .rows
                        .insert(Key::from_slice(write.key()), Versions::One(version)),
                ),
            }
        }
    }

    /// Takes commits away that the engine has. They must be the oldest.
    pub(super) fn remove(&self, commits: &[Arc<Commit>]) {
        for commit in commits {
            *self.lock_bytes().of(commit) -= commit.bytes;
            let mut state = self.write();
            state.removed = commit.timestamp;
            if commit.is_large {
                state.large.pop_front();
                continue;
            }
            for write in &commit.writes {
                let Some(versions) = state.rows.get_mut(write.key()) else {
                    continue;
                };
                if !versions.forget_oldest() {
                    state.rows.remove(write.key());
                }
            }
        }
        self.commits.fetch_sub(commits.len(), atomic::Ordering::Release);
        self.shrunk.notify_all();
    }

    /// What a snapshot at `timestamp` sees of `key` here: calls `visit` with the value, or `None` when it is deleted.
    /// Answers whether there is anything.
    pub(super) fn get(&self, key: &[u8], timestamp: Timestamp, visit: impl FnOnce(Option<&[u8]>)) -> bool {
        if self.is_empty() {
            return false;
        }
        let state = self.read();
        match state.newest(key, timestamp) {
            Some((_, write)) => {
                visit(write.value());
                true
            }
            None => false,
        }
    }

    /// When `key` was last written by a commit in here, and whether it was deleted then.
    pub(super) fn last_write(&self, key: &[u8]) -> Option<(Timestamp, bool)> {
        if self.is_empty() {
            return None;
        }
        let state = self.read();
        let (timestamp, write) = state.newest(key, Timestamp::MAX)?;
        Some((timestamp, write.value().is_none()))
    }

    /// What a snapshot at `timestamp` sees here of the keys in the interval, in scan order: at most about `rows_max` rows
    /// or `bytes_max` bytes, and `keys_max` keys, those that are deleted among them. Ask the engine afterwards.
    pub(super) fn collect(
        &self,
        (start, end): (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        timestamp: Timestamp,
        (rows_max, keys_max): (usize, usize),
        bytes_max: usize,
    ) -> Collected {
        let keys_max = keys_max.min(COLLECT_KEYS_MAX);
        let mut collected = Collected::default();
        if self.is_empty() || is_empty_interval(start, end) {
            return collected;
        }
        let state = self.read();
        let (mut walked, mut rows, mut bytes) = (0, 0, 0);
        for entry in state.entries((start, end), reverse, timestamp) {
            if let Some((_, write)) = newest_of(entry.versions, entry.large, timestamp) {
                bytes += write.bytes();
                rows += usize::from(write.value().is_some());
                collected
                    .rows
                    .push((entry.key.to_vec(), write.value().map(<[u8]>::to_vec)));
            }
            walked += 1;
            if rows >= rows_max || bytes >= bytes_max || walked >= keys_max {
                collected.stopped_at = Some(entry.key.to_vec());
                break;
            }
        }
        if collected.rows.len() - rows >= DELETED_IN_THE_WAY {
            self.is_in_the_way.store(true, atomic::Ordering::Relaxed);
        }
        collected
    }

    /// Where a scan of a snapshot at `timestamp` may go on that stands at `border`: see [`Emptied::behind`].
    pub(super) fn behind_emptied(
        &self,
        border: &[u8],
        reverse: bool,
        timestamp: Timestamp,
    ) -> Option<Vec<u8>> {
        self.emptied.behind(border, reverse, timestamp)
    }

    /// Notes an interval in which a snapshot of its time saw nothing, if nobody has put a key there since.
    pub(super) fn note_emptied(&self, interval: Interval) {
        if interval.is_empty() {
            return;
        }
        // No commit comes meanwhile.
        let state = self.read();
        if state.removed <= interval.since && !state.puts_after(interval.since, interval.bounds()) {
            self.emptied.note(interval);
        }
    }

    /// Has the range, of which the engine may have keys again that were deleted, walked from its beginning to its end.
    pub(super) fn forget_emptied(&self, range: &KeyRange) {
        let is_behind = |interval: &Interval| range.end.as_ref().is_some_and(|end| *end <= interval.start);
        self.emptied
            .forget(|interval| range.start < interval.end && !is_behind(interval));
    }

    /// A deletion of each key of the range that has a value here, in the order of keys.
    pub(super) fn deletions(&self, range: &KeyRange) -> Vec<Write> {
        let mut deletions = Vec::new();
        let end = range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut behind: Option<Vec<u8>> = None;
        loop {
            let from = Bound::Included(range.start.as_slice());
            let start = behind.as_deref().map_or(from, Bound::Excluded);
            let all = (usize::MAX, usize::MAX);
            let found = self.collect((start, end), false, Timestamp::MAX, all, usize::MAX);
            let put = found.rows.into_iter().filter(|(_, value)| value.is_some());
            deletions.extend(put.map(|(key, _)| Write::Delete { key }));
            match found.stopped_at {
                Some(last) => behind = Some(last),
                None => return deletions,
            }
        }
    }

    /// Has the applier linger no more: somebody waits until the engine has what is here.
    pub(super) fn hurry(&self) {
        self.is_in_the_way.store(true, atomic::Ordering::Relaxed);
    }

    /// Whether readers have had to pass many deleted keys since it was asked last, which in the engine are gone, or somebody waits.
    pub(super) fn take_in_the_way(&self) -> bool {
        self.is_in_the_way.swap(false, atomic::Ordering::Relaxed)
    }

    /// Whether a large commit is on its way to the engine.
    pub(super) fn has_large(&self) -> bool {
        self.lock_bytes().large > 0
    }

    /// Whether a large commit of so many bytes may come, too: the first always may.
    pub(super) fn has_room_for_large(&self, bytes: usize, bytes_max: usize) -> bool {
        let held = self.lock_bytes().large;
        held == 0 || held.saturating_add(bytes) <= bytes_max
    }

    /// Bytes of the commits that are not large.
    pub(super) fn bytes(&self) -> usize {
        self.lock_bytes().small
    }

    /// Waits until a commit has left, or `patience` has passed.
    pub(super) fn wait_for_room(&self, bytes_max: usize, patience: Duration) {
        let bytes = self.lock_bytes();
        if bytes.small > bytes_max {
            drop(self.shrunk.wait_timeout(bytes, patience));
        }
    }

    /// Whether it holds nothing; takes no lock.
    pub(super) fn is_empty(&self) -> bool {
        self.commits.load(atomic::Ordering::Acquire) == 0
    }

    fn lock_bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Versions {
    fn push(&mut self, version: Version) {
        match self {
            Versions::One(oldest) => *self = Versions::Many(VecDeque::from([oldest.clone(), version])),
            Versions::Many(versions) => versions.push_back(version),
        }
    }

    /// Forgets the oldest, if there are newer ones; answers whether it did.
    fn forget_oldest(&mut self) -> bool {
        match self {
            Versions::Many(versions) if versions.len() > 1 => versions.pop_front().is_some(),
            Versions::One(_) | Versions::Many(_) => false,
        }
    }

    /// The newest up to `timestamp`.
    fn newest(&self, timestamp: Timestamp) -> Option<&Version> {
        let is_seen = |version: &&Version| version.commit.timestamp <= timestamp;
        match self {
            Versions::One(version) => Some(version).filter(is_seen),
            Versions::Many(versions) => versions.iter().rfind(is_seen),
        }
    }

    /// Whether one is a value that was put after `timestamp`.
    fn put_after(&self, timestamp: Timestamp) -> bool {
        let is_put =
            |version: &Version| version.commit.timestamp > timestamp && version.write().value().is_some();
        match self {
            Versions::One(version) => is_put(version),
            Versions::Many(versions) => versions.iter().any(is_put),
        }
    }
}

impl Version {
    fn write(&self) -> &Write {
        &self.commit.writes[self.at]
    }
}

impl State {
    /// The newest write of `key` up to `timestamp`.
    fn newest(&self, key: &[u8], timestamp: Timestamp) -> Option<Seen<'_>> {
        let large = self.large_up_to(timestamp).rev();
        let large = large
            .filter_map(|commit| Some((commit.timestamp, commit.find(key)?)))
            .next();
        newest_of(self.rows.get(key), large, timestamp)
    }

    /// The large commits up to `timestamp`, oldest first.
    fn large_up_to(&self, timestamp: Timestamp) -> impl DoubleEndedIterator<Item = &Commit> {
        let is_seen = move |commit: &&Commit| commit.timestamp <= timestamp;
        self.large.iter().map(Arc::as_ref).filter(is_seen)
    }

    /// Whether a commit after `timestamp` puts a key of the interval.
    fn puts_after(&self, timestamp: Timestamp, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
        let mut rows = self.rows.range::<[u8], _>(bounds);
        let mut large = self.large.iter().filter(|commit| commit.timestamp > timestamp);
        rows.any(|(_, versions)| versions.put_after(timestamp))
            || large.any(|commit| commit.puts_within(bounds))
    }

    /// What stands under the keys of the interval, in scan order, that of large commits up to `timestamp` among the others.
    fn entries<'a>(
        &'a self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        reverse: bool,
        timestamp: Timestamp,
    ) -> Entries<'a> {
        let rows = self.rows.range::<[u8], _>(bounds);
        let rows = rows.map(|(key, versions)| (key.as_slice(), versions));
        let large = self.large_up_to(timestamp).map(|commit| {
            let writes = commit.within(bounds).iter();
            let writes = writes.map(|write| (commit.timestamp, write));
            in_order(writes, reverse)
        });
        Entries {
            large: large.collect(),
            rows: in_order(rows, reverse),
            reverse,
        }
    }
}

/// A write, and when it was committed.
type Seen<'a> = (Timestamp, &'a Write);

/// The newest of a key's versions, and of what the large commits up to `timestamp` write there, up to it.
fn newest_of<'a>(
    versions: Option<&'a Versions>,
    large: Option<Seen<'a>>,
    timestamp: Timestamp,
) -> Option<Seen<'a>> {
    let version = versions.and_then(|versions| versions.newest(timestamp));
    let small = version.map(|version| (version.commit.timestamp, version.write()));
    small
        .into_iter()
        .chain(large)
        .max_by_key(|(committed, _)| *committed)
}

/// What stands under a key.
struct Entry<'a> {
    key: &'a [u8],
    versions: Option<&'a Versions>,
    /// What the newest of the large commits writes there.
    large: Option<Seen<'a>>,
}

/// Some items in the order of keys.
type Walk<'a, T> = std::iter::Peekable<Box<dyn Iterator<Item = T> + 'a>>;

fn in_order<'a, T>(items: impl DoubleEndedIterator<Item = T> + 'a, reverse: bool) -> Walk<'a, T> {
    let walk: Box<dyn Iterator<Item = T> + 'a> = match reverse {
        false => Box::new(items),
        true => Box::new(items.rev()),
    };
    walk.peekable()
}

/// Versions and the large commits' writes, walked as one in the order of keys; a key that several have comes once.
struct Entries<'a> {
    rows: Walk<'a, (&'a [u8], &'a Versions)>,
    /// Oldest first.
    large: SmallVec<[Walk<'a, Seen<'a>>; 2]>,
    reverse: bool,
}

impl<'a> Entries<'a> {
    /// The key that comes first.
    fn peek(&mut self) -> Option<&'a [u8]> {
        let reverse = self.reverse;
        let large = self.large.iter_mut();
        let large = large.filter_map(|walk| walk.peek().map(|(_, write)| write.key()));
        let keys = large.chain(self.rows.peek().map(|(key, _)| *key));
        keys.reduce(|first, key| if (key < first) != reverse { key } else { first })
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let key = self.peek()?;
        let large = self.large.iter_mut();
        let large = large.filter_map(|walk| walk.next_if(|(_, write)| write.key() == key));
        Some(Entry {
            key,
            large: large.last(),
            versions: self
                .rows
                .next_if(|(row, _)| *row == key)
                .map(|(_, versions)| versions),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(timestamp: Timestamp, is_large: bool, writes: &[(&str, Option<&str>)]) -> Arc<Commit> {
        let writes = writes
            .iter()
            .map(|(key, value)| match value {
                Some(value) => Write::Put {
                    key: key.as_bytes().to_vec(),
                    value: value.as_bytes().to_vec(),
                },
                None => Write::Delete {
                    key: key.as_bytes().to_vec(),
                },
            })
            .collect();
        Arc::new(Commit::new(timestamp, writes, is_large))
    }

    fn get(memtable: &Memtable, key: &str, timestamp: Timestamp) -> Option<Option<String>> {
        let mut found = None;
        memtable.get(key.as_bytes(), timestamp, |value| {
            found = Some(value.map(|value| String::from_utf8_lossy(value).into_owned()));
        });
        found
    }

    fn keys(memtable: &Memtable, reverse: bool, timestamp: Timestamp) -> String {
        let all = (Bound::Unbounded, Bound::Unbounded);
        let rows = memtable.collect(all, reverse, timestamp, (100, 100), 1000).rows;
        let shown = rows.iter().map(|(key, value)| {
            let value = value.as_deref().unwrap_or(b"-");
            format!(
                "{}{}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(value)
            )
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_snapshot_sees_its_versions_and_commits_leave_oldest_first() {
        let memtable = Memtable::default();
        let commits = [
            commit(1, false, &[("a", Some("1")), ("c", Some("1"))]),
            commit(2, true, &[("a", Some("2")), ("b", Some("2")), ("c", None)]),
            commit(3, false, &[("b", None), ("d", Some("3"))]),
        ];
        commits.iter().for_each(|commit| memtable.insert(commit));
        assert_eq!(get(&memtable, "a", 0), None);
        assert_eq!(get(&memtable, "a", 1), Some(Some("1".to_string())));
        assert_eq!(get(&memtable, "a", 9), Some(Some("2".to_string())));
        assert_eq!(get(&memtable, "c", 2), Some(None));
        assert_eq!(keys(&memtable, false, 1), "a1 c1");
        assert_eq!(keys(&memtable, false, 2), "a2 b2 c-");
        assert_eq!(keys(&memtable, true, 3), "d3 c- b- a2");
        assert_eq!(memtable.last_write(b"b"), Some((3, true)));
        assert_eq!(memtable.last_write(b"a"), Some((2, false)));
        let between = (Bound::Excluded(&b"a"[..]), Bound::Included(&b"c"[..]));
        let some = memtable.collect(between, true, 3, (100, 1), 1000);
        assert_eq!((some.rows.len(), some.stopped_at), (1, Some(b"c".to_vec())));
        // Those that are deleted are no rows.
        let all = memtable.collect(between, true, 3, (1, 100), 1000);
        assert_eq!((all.rows.len(), all.stopped_at), (2, None));
        let range = |start: &str, end: Option<&str>| KeyRange {
            start: start.as_bytes().to_vec(),
            end: end.map(|end| end.as_bytes().to_vec()),
        };
        let deletions = |start, end| {
            let writes = memtable.deletions(&range(start, end)).into_iter();
            writes
                .map(|write| String::from_utf8_lossy(write.key()).into_owned())
                .collect::<String>()
        };
        let all = (
            deletions("", None),
            deletions("a", Some("d")),
            deletions("b", Some("b")),
        );
        assert_eq!(all, ("ad".to_string(), "a".to_string(), String::new()));
        let some = memtable.collect(between, true, 2, (1, 100), 1000);
        assert_eq!((some.rows.len(), some.stopped_at), (2, Some(b"b".to_vec())));

        memtable.remove(&commits[..1]);
        assert_eq!(
            (get(&memtable, "a", 1), keys(&memtable, false, 3)),
            (None, "a2 b- c- d3".to_string())
        );
        memtable.remove(&commits[1..2]);
        assert_eq!(keys(&memtable, false, 3), "b- d3");
        memtable.remove(&commits[2..3]);
        assert!(memtable.is_empty() && memtable.bytes() == 0);
    }
}
