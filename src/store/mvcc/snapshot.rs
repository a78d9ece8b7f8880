//! Snapshots: what the store hands out for a [`View`]. Readers of every layer use them as `dyn Snapshot`.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::scan::MvccScan;
use super::view::{View, run_blocking};
use crate::Result;
use crate::store::{Page, Scan, ScanRequest, Snapshot, Values};

/// This many keys are read on the caller's thread: some 3 µs each when cached. More go to a blocking thread.
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
            if keys.len() <= INLINE_KEYS_MAX {
                return self.view.read(keys.iter().map(Vec::as_slice));
            }
            let mut arena = Page::new();
            keys.iter().for_each(|key| arena.push(key, &[]));
            let view = Arc::clone(&self.view);
            run_blocking(move || view.read((0..arena.len()).map(|index| arena.row(index).0))).await
        }
        .boxed()
    }

    fn scan(&self, request: ScanRequest) -> Box<dyn Scan> {
        Box::new(MvccScan::new(Arc::clone(&self.view), request))
    }
}
