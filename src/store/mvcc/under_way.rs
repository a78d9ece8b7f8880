//! `UnderWay`: the commits that somebody has asked for and that have not ended, so that one can wait for all of a moment. A range may be
//! emptied only behind those that still write there, be it that nobody waits for them any more.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// Which commits are under way.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    newest: Mutex<Arc<Generation>>,
}

/// The commits between two waits: it is there as long as one of them is.
///
/// Invariant: it goes after all before it, for each holds the one behind it.
#[derive(Debug, Default)]
struct Generation {
    /// And who waits for it to go.
    behind: OnceLock<(Arc<Generation>, oneshot::Sender<()>)>,
}

/// A commit under way, until it is dropped.
#[derive(Debug)]
pub(super) struct CommitUnderWay {
    _generation: Arc<Generation>,
}

/// A place among the commits that wait for the committer; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) _permit: OwnedSemaphorePermit,
    pub(super) _under_way: CommitUnderWay,
}

impl UnderWay {
    pub(super) fn begin(&self) -> CommitUnderWay {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        CommitUnderWay {
            _generation: Arc::clone(&newest),
        }
    }

    /// Waits until all that are under way now have ended.
    pub(super) async fn ended(&self) {
        let gone = self.renew();
        // Nothing is ever sent; it goes with the generation.
        let _ = gone.await;
    }

    fn renew(&self) -> oneshot::Receiver<()> {
        let (waited_for, gone) = oneshot::channel();
        let next = Arc::new(Generation::default());
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest has none behind it yet.
        let _ = newest.behind.set((Arc::clone(&next), waited_for));
        *newest = next;
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn who_waits_waits_for_all_that_began_before_and_for_no_other() {
        let under_way = UnderWay::default();
        assert!(under_way.ended().now_or_never().is_some());
        let first = under_way.begin();
        let mut waits = Box::pin(under_way.ended());
        assert!((&mut waits).now_or_never().is_none());
        let (second, mut waits_longer) = (under_way.begin(), Box::pin(under_way.ended()));
        assert!((&mut waits_longer).now_or_never().is_none());
        let _third = under_way.begin();
        drop(second);
        assert!((&mut waits).now_or_never().is_none() && (&mut waits_longer).now_or_never().is_none());
        drop(first);
        assert!(waits.now_or_never().is_some() && waits_longer.now_or_never().is_some());
    }
}
