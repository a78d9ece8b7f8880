//! `View`: a registered timestamp that a snapshot and its scans hold together, and the reads of single keys at it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::state::Shared;
use super::stored::split_stored;
use crate::store::Values;
use crate::store::log::Timestamp;
use crate::{Error, Result};

/// A timestamp registered with the undo map, for as long as a snapshot or a scan of it lives.
pub(super) struct View {
    pub(super) shared: Arc<Shared>,
    pub(super) timestamp: Timestamp,
}

/// Keys that are read from the engine's memory in one call.
const KEYS_A_CALL: usize = 256;
/// As many need no room of their own.
const KEYS_INLINE: usize = 16;

impl View {
    /// Of everything visible, and of every commit up to `least`, which has entered.
    pub(super) fn open(shared: Arc<Shared>, least: Timestamp) -> View {
        let entered = shared.entered.load(Ordering::Acquire);
        let timestamp = shared.undo.open_snapshot(least.min(entered));
        View { shared, timestamp }
    }

    /// Whether what was read until now counts.
    pub(super) fn check(&self) -> Result<()> {
        self.shared.check_open()?;
        if self.shared.undo.is_too_old(self.timestamp) {
            Err(Error::SnapshotTooOld)
        } else {
            Ok(())
        }
    }

    /// Appends the values of the keys that have none yet, and checks the view.
    pub(super) fn read<K: AsRef<[u8]>>(&self, keys: &[K], values: &mut Values) -> Result<()> {
        loop {
            self.read_in_memory(keys, values)?;
            match keys.get(values.len()) {
                Some(key) => self.read_key(key.as_ref(), values)?,
                None => return self.check(),
            }
        }
    }

    /// Appends values of the keys that have none yet, one after the other, until one would have to be waited for. Check the view
    /// afterwards.
    pub(super) fn read_in_memory<K: AsRef<[u8]>>(&self, keys: &[K], values: &mut Values) -> Result<()> {
        while let Some(key) = keys.get(values.len()) {
            let left = keys[values.len()..].iter().map(AsRef::as_ref);
            // The memtable is asked first, as for one key.
            let in_memtable = |key: &[u8]| self.shared.memtable.get(key, self.timestamp, |_| ());
            let asked = left.take_while(|key| !key.is_empty() && !in_memtable(key));
            // Filled where it is: what it has room for is not to be copied for one key.
            let mut keys_of_engine = SmallVec::<[&[u8]; KEYS_INLINE]>::new();
            keys_of_engine.extend(asked.take(KEYS_A_CALL));
            if keys_of_engine.is_empty() {
                self.read_key(key.as_ref(), values)?;
                continue;
            }
            let (mut next, mut outcome) = (keys_of_engine.iter(), Ok(()));
            let engine = &self.shared.engine;
            let found = engine.get_in_memory(&keys_of_engine, &mut |stored| {
                let seen = next.next().map(|key| self.push_seen(key, stored, values));
                outcome = std::mem::replace(&mut outcome, Ok(())).and(seen.unwrap_or(Ok(())));
            });
            outcome?;
            if found < keys_of_engine.len() {
                break;
            }
        }
        Ok(())
    }

    /// Whether the snapshot sees a value of `key`. Check the view afterwards.
    pub(super) fn sees(&self, key: &[u8]) -> Result<bool> {
        let mut values = Values::with_capacity(1);
        self.read_key(key, &mut values)?;
        Ok(values.get(0).is_some())
    }

    fn read_key(&self, key: &[u8], values: &mut Values) -> Result<()> {
        if key.is_empty() {
            values.push(None);
            return Ok(());
        }
        let memtable = &self.shared.memtable;
        if memtable.get(key, self.timestamp, |value| values.push(value)) {
            return Ok(());
        }
        let (before, mut seen) = (values.len(), Ok(()));
        let engine = &self.shared.engine;
        engine.get(key, &mut |stored| {
            seen = self.push_seen(key, Some(stored), values)
        })?;
        match values.len() > before {
            true => seen,
            false => seen.and_then(|()| self.push_seen(key, None, values)),
        }
    }

    /// Appends what the snapshot sees of a key, given what the engine holds of it.
    fn push_seen(&self, key: &[u8], stored: Option<&[u8]>, values: &mut Values) -> Result<()> {
        match stored.map(split_stored).transpose()? {
            Some((timestamp, value)) if timestamp <= self.timestamp => values.push(Some(value)),
            _ => values.push(self.shared.undo.find(key, self.timestamp).as_deref()),
        }
        Ok(())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.shared.undo.close_snapshot(self.timestamp);
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("timestamp", &self.timestamp)
            .finish_non_exhaustive()
    }
}

/// Begins `work` at once where it may block: on tokio's blocking threads, or right here outside a runtime. The future
/// gives what came of it.
pub(super) fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> impl Future<Output = Result<T>> + Send + 'static {
    let started = match tokio::runtime::Handle::try_current() {
        Ok(runtime) => Ok(runtime.spawn_blocking(work)),
        Err(_) => Err(work()),
    };
    async {
        match started {
            Err(result) => result,
            Ok(running) => match running.await {
                Ok(result) => result,
                Err(error) if error.is_cancelled() => Err(Error::Shutdown),
                Err(error) => Err(Error::internal(format!("a read of the store failed: {error}"))),
            },
        }
    }
}
