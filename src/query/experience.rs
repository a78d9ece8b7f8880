//! `Experience`: whether the last run of a query was short. Such a query may be run in the task of its connection, as long as it leaves
//! that when it is not short any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream, StreamExt};

use crate::Result;

/// See the module's description.
#[derive(Debug, Clone, Default)]
pub(super) struct Experience(Arc<AtomicBool>);

impl Experience {
    /// Whether the last run that was seen to its end was short.
    pub(super) fn is_short(&self) -> bool {
        self.0.load(Ordering::Relaxed)
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
