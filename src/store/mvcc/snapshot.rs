//! Snapshots: what the store hands out for a [`View`]. Readers of every layer use them as `dyn Snapshot`.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::scan::MvccScan;
use super::view::{View, run_blocking};
use crate::Result;
use crate::store::{Page, Scan, ScanRequest, Snapshot, Values};

/// This many keys that are not in memory are read on the caller's thread, unless the engine is busy: they may wait then, and the
/// caller's thread serves other clients, too. More go to a blocking thread.
const INLINE_KEYS_MAX: usize = 32;

/// A snapshot of an `MvccStore`.
pub(super) struct MvccSnapshot {
    pub(super) view: Arc<View>,
}

impl std::fmt::Debug for MvccSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MvccSnapshot")
            .field("timestamp", &self.view.timestamp)
            .finish_non_exhaustive()
    }
}

impl Snapshot for MvccSnapshot {
    fn get_many<'a>(&'a self, keys: &'a [Vec<u8>]) -> BoxFuture<'a, Result<Values>> {
        async move {
            let mut values = Values::with_capacity(keys.len());
            let is_busy = self.view.shared.engine.is_busy();
            if is_busy || keys.len() > INLINE_KEYS_MAX {
                self.view.read_in_memory(keys, &mut values)?;
            }
            let left = keys.len() - values.len();
            if left == 0 || left <= INLINE_KEYS_MAX && !is_busy {
                self.view.read(keys, &mut values)?;
                return Ok(values);
            }
            let mut arena = Page::new();
            keys.iter().for_each(|key| arena.push(key, &[]));
            let view = Arc::clone(&self.view);
            run_blocking(move || {
                let keys: Vec<&[u8]> = (0..arena.len()).map(|index| arena.row(index).0).collect();
                view.read(&keys, &mut values)?;
                Ok(values)
            })
            .await
        }
        .boxed()
    }

    fn scan(&self, request: ScanRequest) -> Box<dyn Scan> {
        Box::new(MvccScan::new(Arc::clone(&self.view), request))
    }
}
