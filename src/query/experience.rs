//! `Experience`: whether the last run of a query was short. Such a query may be run in the task of its connection, as long as it leaves
//! that when it is not short any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream, StreamExt};

use crate::Result;

/// A run that took longer is not short: that it is planned each time by its constants, and read by several readers, is worth more.
pub(super) const SHORT: Duration = Duration::from_millis(8);

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub(crate) struct Experience(Arc<AtomicBool>);

impl Experience {
    /// Whether the last run that was seen to its end was short.
    pub(crate) fn is_short(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What has run took so long.
    pub(crate) fn note(&self, took: Duration) {
        self.0.store(took < SHORT, Ordering::Relaxed);
    }

    /// The rows of a run, which is short when they take less than this.
    pub(super) fn timed<T: Send + 'static>(
        &self,
        mut rows: BoxStream<'static, Result<T>>,
        short: Duration,
    ) -> BoxStream<'static, Result<T>> {
        let was_short = Arc::clone(&self.0);
        let mut took = Duration::ZERO;
        let mut begun = None;
        stream::poll_fn(move |context| {
            let since = *begun.get_or_insert_with(Instant::now);
            let row = futures::ready!(rows.poll_next_unpin(context));
            took += since.elapsed();
            begun = None;
            if row.is_none() {
                was_short.store(took < short, Ordering::Relaxed);
            }
            Poll::Ready(row)
        })
        .boxed()
    }
}
