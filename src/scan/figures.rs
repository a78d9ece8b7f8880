//! What EXPLAIN ANALYZE counts: `Figures` of one node, and `watch`, which counts a stream. Other runs count nothing.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt};

/// The counters of a node, over all of its runs.
#[derive(Debug, Default)]
pub struct Figures {
    loops: AtomicU64,
    rows: AtomicU64,
    first_ns: AtomicU64,
    total_ns: AtomicU64,
}

/// What was counted, as EXPLAIN shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Runs that were asked for rows: of a node that several readers run, one each.
    pub loops: u64,
    /// Rows of all runs.
    pub rows: u64,
    /// From when it was asked to its first answer, over all runs.
    pub first: Duration,
    /// From when it was asked to its answers, over all runs.
    pub total: Duration,
}

impl Figures {
    /// What was counted so far.
    pub fn seen(&self) -> Seen {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Seen {
            loops: read(&self.loops),
            rows: read(&self.rows),
            first: Duration::from_nanos(read(&self.first_ns)),
            total: Duration::from_nanos(read(&self.total_ns)),
        }
    }

    fn add(&self, counter: impl Fn(&Figures) -> &AtomicU64, more: u64) {
        counter(self).fetch_add(more, Ordering::Relaxed);
    }
}

/// A stream whose rows and time are counted: from each time it is asked to its answer, waiting included.
pub struct Watched<S, T> {
    stream: S,
    figures: Arc<Figures>,
    rows_of: fn(&T) -> usize,
    /// When it was asked for what it has not answered yet.
    asked: Option<Instant>,
    has_begun: bool,
    has_answered: bool,
}

/// Counts a stream as one run. `rows_of`: the rows of an item.
pub fn watch<S, T, E>(stream: S, figures: &Arc<Figures>, rows_of: fn(&T) -> usize) -> Watched<S, T>
where
    S: Stream<Item = Result<T, E>>,
{
    Watched {
        stream,
        figures: Arc::clone(figures),
        rows_of,
        asked: None,
        has_begun: false,
        has_answered: false,
    }
}

impl<S, T, E> Stream for Watched<S, T>
where
    S: Stream<Item = Result<T, E>> + Unpin,
{
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T, E>>> {
        if !self.has_begun {
            self.has_begun = true;
            self.figures.add(|figures| &figures.loops, 1);
        }
        let asked = *self.asked.get_or_insert_with(Instant::now);
        let Poll::Ready(answer) = self.stream.poll_next_unpin(context) else {
            return Poll::Pending;
        };
        self.asked = None;
        let spent = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.figures.add(|figures| &figures.total_ns, spent);
        if !self.has_answered {
            self.has_answered = true;
            self.figures.add(|figures| &figures.first_ns, spent);
        }
        if let Some(Ok(item)) = &answer {
            let rows = (self.rows_of)(item) as u64;
            self.figures.add(|figures| &figures.rows, rows);
        }
        Poll::Ready(answer)
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn rows_and_loops_are_counted_and_time_grows() {
        let figures = Arc::new(Figures::default());
        assert_eq!(figures.seen(), Seen::default());
        for _ in 0..2 {
            let items = stream::iter([Ok::<usize, ()>(3), Ok(4)]);
            let all: Vec<_> = watch(items, &figures, |rows| *rows).collect().await;
            assert_eq!(all, [Ok(3), Ok(4)]);
        }
        let seen = figures.seen();
        assert_eq!((seen.loops, seen.rows), (2, 14));
        assert!(seen.first > Duration::ZERO && seen.total >= seen.first);
    }

    #[test]
    fn a_stream_that_nobody_asks_has_not_run() {
        let figures = Arc::new(Figures::default());
        drop(watch(stream::iter([Ok::<usize, ()>(3)]), &figures, |rows| *rows));
        assert_eq!(figures.seen().loops, 0);
    }
}
