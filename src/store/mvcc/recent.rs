//! `RecentKeys`: which keys the newest commits wrote, for as long as somebody watches: transactions that must know whether anything was
//! written in the ranges that they have read. The committer notes and asks; nothing of it is on disk.
//!
//! Invariant: of every commit above `floor` the keys are here, as long as there is a watch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::KeyRange;
use crate::store::log::Timestamp;
use crate::{Error, Result};

/// What a key costs beside its bytes.
const KEY_OVERHEAD_BYTES: usize = 24;

/// The keys of the newest commits.
#[derive(Debug)]
pub(super) struct RecentKeys {
    state: Mutex<State>,
    /// Above so many bytes the oldest commits are forgotten.
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct State {
    watches: usize,
    /// The oldest first.
    commits: VecDeque<Keys>,
    bytes: usize,
    /// Commits up to this one are forgotten.
    floor: Timestamp,
}

/// The keys of a commit, sorted.
#[derive(Debug)]
struct Keys {
    timestamp: Timestamp,
    keys: Vec<Box<[u8]>>,
    bytes: usize,
}

/// Keeps the keys of commits from being forgotten, as far as there is room.
#[derive(Debug)]
pub(super) struct Watch(Arc<RecentKeys>);

impl RecentKeys {
    /// None yet; `clock`: the newest commit.
    pub(super) fn new(clock: Timestamp, bytes_max: usize) -> Arc<RecentKeys> {
        let state = State {
            floor: clock,
            ..State::default()
        };
        Arc::new(RecentKeys {
            state: Mutex::new(state),
            bytes_max,
        })
    }

    /// From now on keys are noted.
    pub(super) fn watch(self: &Arc<Self>) -> Watch {
        self.lock().watches += 1;
        Watch(Arc::clone(self))
    }

    /// Notes the keys of a commit that somebody may read, which are sorted, before it is visible.
    pub(super) fn note<'a>(&self, timestamp: Timestamp, keys: impl Iterator<Item = &'a [u8]>) {
        let mut state = self.lock();
        if state.watches == 0 {
            state.floor = timestamp;
            return;
        }
        let keys: Vec<Box<[u8]>> = keys.map(Box::from).collect();
        let bytes = keys.iter().map(|key| key.len() + KEY_OVERHEAD_BYTES).sum();
        state.bytes += bytes;
        state.commits.push_back(Keys {
            timestamp,
            keys,
            bytes,
        });
        while state.bytes > self.bytes_max
            && let Some(oldest) = state.commits.pop_front()
        {
            state.bytes -= oldest.bytes;
            state.floor = oldest.timestamp;
        }
    }

    /// Whether all commits behind this one are here.
    pub(super) fn knows_since(&self, timestamp: Timestamp) -> bool {
        timestamp >= self.lock().floor
    }

    /// Errors: `ReadConflict` when a commit behind `since` wrote in one of the ranges, or when that is not known any more.
    pub(super) fn require_untouched(&self, since: Timestamp, ranges: &[KeyRange]) -> Result<()> {
        let state = self.lock();
        let first = state.commits.partition_point(|commit| commit.timestamp <= since);
        let mut behind = state.commits.iter().skip(first);
        let is_touched = since < state.floor || behind.any(|commit| commit.touches(ranges));
        match is_touched {
            true => Err(Error::ReadConflict),
            false => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keys {
    fn touches(&self, ranges: &[KeyRange]) -> bool {
        ranges.iter().any(|range| {
            let first = self.keys.partition_point(|key| **key < *range.start);
            let key = self.keys.get(first);
            key.is_some_and(|key| range.end.as_ref().is_none_or(|end| **key < **end))
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.watches -= 1;
        if state.watches == 0
            && let Some(newest) = state.commits.back()
        {
            state.floor = newest.timestamp;
            state.commits = VecDeque::new();
            state.bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<'a>(keys: &'a [&str]) -> impl Iterator<Item = &'a [u8]> {
        keys.iter().map(|key| key.as_bytes())
    }

    fn range(start: &str, end: &str) -> Vec<KeyRange> {
        vec![KeyRange {
            start: start.into(),
            end: Some(end.into()),
        }]
    }

    #[test]
    fn what_was_written_behind_a_commit_is_known_while_there_is_a_watch() {
        let recent = RecentKeys::new(1, 1 << 20);
        recent.note(2, keys(&["a"]));
        assert!(!recent.knows_since(1) && recent.knows_since(2));
        let watch = recent.watch();
        recent.note(3, keys(&["b", "d"]));
        recent.note(4, keys(&["c"]));
        for (since, (start, end), is_touched) in [
            (2, ("a", "b"), false),
            (2, ("a", "b\0"), true),
            (2, ("c", "d"), true),
            (3, ("b", "c"), false),
            (3, ("b", "c\0"), true),
            (4, ("", "z"), false),
            (1, ("x", "y"), true),
        ] {
            let found = recent.require_untouched(since, &range(start, end));
            assert_eq!(found.is_err(), is_touched, "{since} {start}..{end}");
        }
        let open = KeyRange {
            start: b"d".to_vec(),
            end: None,
        };
        assert!(recent.require_untouched(2, &[open]).is_err());
        drop(watch);
        assert!(recent.knows_since(4) && !recent.knows_since(3));
    }

    #[test]
    fn above_the_budget_the_oldest_are_forgotten() {
        let recent = RecentKeys::new(0, 2 * (1 + KEY_OVERHEAD_BYTES));
        let _watch = recent.watch();
        for timestamp in 1..=3 {
            recent.note(timestamp, keys(&["k"]));
        }
        assert!(recent.knows_since(1) && !recent.knows_since(0));
        assert!(recent.require_untouched(0, &range("x", "y")).is_err());
        assert!(recent.require_untouched(1, &range("x", "y")).is_ok());
    }
}
