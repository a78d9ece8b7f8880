//! `View`: a registered timestamp that a snapshot and its scans hold together, and the reads of single keys at it.

use std::future::Future;
use std::sync::Arc;

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

impl View {
    pub(super) fn open(shared: Arc<Shared>) -> View {
        let timestamp = shared.undo.open_snapshot();
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

    /// The values of several keys.
    pub(super) fn read<'k>(&self, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<Values> {
        let mut values = Values::with_capacity(keys.len());
        for key in keys {
            self.read_key(key, &mut values)?;
        }
        self.check()?;
        Ok(values)
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
        let mut found = Ok(false);
        self.shared.engine.get(key, &mut |stored| {
            found = split_stored(stored).map(|(timestamp, value)| {
                let seen = timestamp <= self.timestamp;
                if seen {
                    values.push(Some(value));
                }
                seen
            });
        })?;
        if !found? {
            values.push(self.shared.undo.find(key, self.timestamp).as_deref());
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
