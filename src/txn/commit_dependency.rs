//! `CommitDependency`: how far what a session has read rests on commits of others that may not be durable yet. A transaction gets the lock of
//! a row as soon as the place of its writer among the commits is sure (`Batch::passes_on`), and reads what that one wrote; nobody outside
//! is told of it before it is durable, or a power cut could take back what a client has seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Result;
use crate::store::Store;

/// The number of the newest commit that a session rests on. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct CommitDependency(Arc<AtomicU64>);

impl CommitDependency {
    /// The number; 0: of nobody's.
    pub fn commit(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// It rests on this commit, too, and on all before it.
    pub fn rest_on(&self, commit: u64) {
        if commit > 0 {
            self.0.fetch_max(commit, Ordering::Relaxed);
        }
    }
}

/// What a client is told of passes here first.
#[derive(Debug, Clone)]
pub struct DurabilityBarrier {
    store: Arc<dyn Store>,
    dependency: CommitDependency,
}

impl DurabilityBarrier {
    /// For a session that rests on this in the store.
    pub fn new(store: Arc<dyn Store>, dependency: CommitDependency) -> DurabilityBarrier {
        DurabilityBarrier { store, dependency }
    }

    /// Waits until what the session rests on is durable. Errors: `Io`, `Shutdown`.
    pub async fn pass(&self) -> Result<()> {
        let commit = self.dependency.commit();
        if commit == 0 {
            return Ok(());
        }
        self.store.make_durable(commit).await?;
        // Nothing is to be waited for any more, unless it rests on another by now.
        let _ = self
            .dependency
            .0
            .compare_exchange(commit, 0, Ordering::Relaxed, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_rests_on_the_newest_and_forgets_nothing() {
        let dependency = CommitDependency::default();
        let shared = dependency.clone();
        for commit in [3, 0, 7, 5] {
            dependency.rest_on(commit);
        }
        assert_eq!(shared.commit(), 7);
    }
}
