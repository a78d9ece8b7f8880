//! `Abandoned`: key ranges that nobody reads or writes any more and that are being emptied, so that the applier need not bring
//! to the engine what the memtable still has for them. A load whose table is dropped or written anew at once never gets there.
//!
//! Invariant: what is passed over is deleted by a commit that was durable before, and its key is not in the engine: the applier,
//! which alone writes there, asks for the range's last key when it first meets the range, and passes over only what stands behind
//! it. So what the log says last of a key is what the engine has, at any time, and a replay changes nothing of that.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::Result;
use crate::store::KeyRange;
use crate::store::engine::Engine;
use crate::store::log::Timestamp;

/// The ranges under way; hardly ever more than one.
#[derive(Debug, Default)]
pub(super) struct Abandoned {
    ranges: Mutex<Arc<Vec<Arc<AbandonedRange>>>>,
}

/// What commits up to `until` wrote there is of no use.
#[derive(Debug)]
struct AbandonedRange {
    range: KeyRange,
    until: Timestamp,
    /// The last of its keys that the engine had when the applier met it, if it had any: writes of these go there as ever.
    kept: OnceLock<Option<Vec<u8>>>,
}

/// The ranges of a moment.
pub(super) struct AbandonedNow(Arc<Vec<Arc<AbandonedRange>>>);

impl AbandonedNow {
    /// Whether nobody needs what the commit `timestamp` wrote under `key`.
    pub(super) fn has(&self, key: &[u8], timestamp: Timestamp) -> bool {
        let ranges = self.0.iter();
        ranges
            .filter(|abandoned| timestamp <= abandoned.until)
            .any(|abandoned| abandoned.range.contains(key) && abandoned.is_not_kept(key))
    }
}

impl AbandonedRange {
    fn is_not_kept(&self, key: &[u8]) -> bool {
        let kept = self.kept.get();
        kept.is_some_and(|kept| kept.as_deref().is_none_or(|kept| key > kept))
    }

    /// Error: the engine's.
    fn meet(&self, engine: &dyn Engine) -> Result<()> {
        if self.kept.get().is_none() {
            let mut last = None;
            let range = &self.range;
            engine.scan(&range.start, range.end.as_deref(), true, &mut |key, _| {
                last = Some(key.to_vec());
                ControlFlow::Break(())
            })?;
            self.kept.get_or_init(|| last);
        }
        Ok(())
    }
}

/// Keeps a range among the abandoned ones.
pub(super) struct Abandoning<'a> {
    all: &'a Abandoned,
    one: Arc<AbandonedRange>,
}

impl Abandoned {
    /// Until what it answers is dropped, writes of `range` by commits up to `until` are of no use. No open snapshot is older.
    pub(super) fn begin(&self, range: KeyRange, until: Timestamp) -> Abandoning<'_> {
        let one = Arc::new(AbandonedRange {
            range,
            until,
            kept: OnceLock::new(),
        });
        let mut ranges = self.lock();
        Arc::make_mut(&mut ranges).push(Arc::clone(&one));
        Abandoning { all: self, one }
    }

    /// For the applier, between two of the engine's batches. Error: the engine's.
    pub(super) fn now(&self, engine: &dyn Engine) -> Result<AbandonedNow> {
        let now = AbandonedNow(Arc::clone(&self.lock()));
        now.0.iter().try_for_each(|range| range.meet(engine))?;
        Ok(now)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Vec<Arc<AbandonedRange>>>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Abandoning<'_> {
    fn drop(&mut self) {
        let mut ranges = self.all.lock();
        Arc::make_mut(&mut ranges).retain(|range| !Arc::ptr_eq(range, &self.one));
    }
}
