//! `Handle`: a store as a server has it that shares it with others over a network, for tests: its answers take their time, and of some
//! commits nobody learns what became of them. Several handles over one store stand for several servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;

use super::*;

/// One server's way to the store.
#[derive(Debug)]
pub(crate) struct Handle {
    store: Arc<dyn Store>,
    /// Commits so far.
    commits: AtomicU64,
    /// Of so many commits one's outcome stays unknown; 0: none.
    unknown_of: u64,
}

impl Handle {
    pub(crate) fn new(store: &Arc<dyn Store>, unknown_of: u64) -> Handle {
        Handle {
            store: Arc::clone(store),
            commits: AtomicU64::new(0),
            unknown_of,
        }
    }

    /// Others have their turn, as they would while a message is on its way.
    async fn travel(&self) {
        for _ in 0..rand::random_range(0..4) {
            tokio::task::yield_now().await;
        }
    }

    /// Commits, or does not, and does not tell.
    async fn commit_untold(&self, batch: Batch) -> Result<()> {
        if rand::random_bool(0.5) {
            // Where it is refused it has not happened, either.
            let _ = self.store.commit(batch).await;
        }
        Err(Error::OutcomeUnknown {
            reason: "the store did not answer".to_string(),
        })
    }
}

impl Store for Handle {
    fn capabilities(&self) -> Capabilities {
        self.store.capabilities()
    }

    fn snapshot_after(&self, commit: u64) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>> {
        async move {
            self.travel().await;
            self.store.snapshot_after(commit).await
        }
        .boxed()
    }

    fn newest_commit(&self) -> u64 {
        self.store.newest_commit()
    }

    fn make_durable(&self, commit: u64) -> BoxFuture<'_, Result<()>> {
        self.store.make_durable(commit)
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
        async {
            self.travel().await;
            let number = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
            let is_untold = self.unknown_of > 0 && number.is_multiple_of(self.unknown_of);
            let committed = match is_untold {
                true => self.commit_untold(batch).await,
                false => self.store.commit(batch).await,
            };
            self.travel().await;
            committed
        }
        .boxed()
    }

    fn locks(&self, session: i32) -> HeldLocks {
        self.store.locks(session)
    }

    fn lock<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: Wanted<'a>,
        since: &'a Arc<dyn Snapshot>,
        asks: LockAsks,
    ) -> BoxFuture<'a, Result<Locked>> {
        async move {
            self.travel().await;
            let locked = self.store.lock(locks, wanted, since, asks).await;
            self.travel().await;
            locked
        }
        .boxed()
    }

    fn lock_range<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: WantedRange<'a>,
        since: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<Option<u64>>> {
        async move {
            self.travel().await;
            self.store.lock_range(locks, wanted, since).await
        }
        .boxed()
    }

    fn watch(&self) -> Box<dyn WriteWatch> {
        self.store.watch()
    }

    fn require_untouched(&self, since: &Arc<dyn Snapshot>, ranges: &[KeyRange]) -> Result<()> {
        self.store.require_untouched(since, ranges)
    }

    fn lock_table(&self) -> &Arc<LockTable> {
        self.store.lock_table()
    }

    fn clock(&self) -> &Arc<WallClock> {
        self.store.clock()
    }

    fn delete_range(&self, range: KeyRange) -> BoxFuture<'_, Result<()>> {
        self.store.delete_range(range)
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<()>> {
        self.store.checkpoint()
    }

    fn split_points(&self, range: KeyRange, parts: usize) -> BoxFuture<'_, Result<Vec<Vec<u8>>>> {
        self.store.split_points(range, parts)
    }

    fn stats(&self) -> StoreStats {
        self.store.stats()
    }

    /// A server that ends leaves the store to the others.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        std::future::ready(Ok(())).boxed()
    }
}
