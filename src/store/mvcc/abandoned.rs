//! `Abandoned`: key ranges that nobody reads or writes any more and that are being emptied, so that the applier need not bring
//! to the engine what the memtable still has for them. A load whose table is dropped or written anew at once never gets there.
//!
//! Invariant: what is passed over is deleted by a commit that was durable before. So what the log says last of a key is what
//! the engine has, and a replay of it changes nothing of that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::KeyRange;
use crate::store::log::Timestamp;

/// The ranges under way; hardly ever more than one.
#[derive(Debug, Default)]
pub(super) struct Abandoned {
    ranges: Mutex<Arc<Vec<AbandonedRange>>>,
}

/// What commits up to `until` wrote there is of no use.
#[derive(Debug, Clone, PartialEq)]
struct AbandonedRange {
    range: KeyRange,
    until: Timestamp,
}

/// The ranges of a moment.
pub(super) struct AbandonedNow(Arc<Vec<AbandonedRange>>);

impl AbandonedNow {
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nobody needs what the commit `timestamp` wrote under `key`.
    pub(super) fn has(&self, key: &[u8], timestamp: Timestamp) -> bool {
        let is_in =
            |abandoned: &AbandonedRange| timestamp <= abandoned.until && abandoned.range.contains(key);
        self.0.iter().any(is_in)
    }
}

/// Keeps a range among the abandoned ones.
pub(super) struct Abandoning<'a> {
    all: &'a Abandoned,
    one: AbandonedRange,
}

impl Abandoned {
    /// Until what it answers is dropped, writes of `range` by commits up to `until` are of no use. No open snapshot is older.
    pub(super) fn begin(&self, range: KeyRange, until: Timestamp) -> Abandoning<'_> {
        let one = AbandonedRange { range, until };
        let mut ranges = self.lock();
        Arc::make_mut(&mut ranges).push(one.clone());
        Abandoning { all: self, one }
    }

    pub(super) fn now(&self) -> AbandonedNow {
        AbandonedNow(Arc::clone(&self.lock()))
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Vec<AbandonedRange>>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Abandoning<'_> {
    fn drop(&mut self) {
        let mut ranges = self.all.lock();
        let at = ranges.iter().position(|range| *range == self.one);
        if let Some(at) = at {
            Arc::make_mut(&mut ranges).remove(at);
        }
    }
}
