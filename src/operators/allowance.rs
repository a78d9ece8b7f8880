//! `within_allowance`: a stream that is computed in its connection's own task as long as it is short. What proves long goes on on the
//! query threads from where it is; it does not begin again.
//!
//! The operators of a plan pull their input in loops that end when it gives or is not ready. So what reads (scans, lookups) asks
//! [`take`] for each batch, and says that it is not ready once the allowance is spent: whoever polls the plan then moves it.

use std::cell::Cell;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream, StreamExt};

use crate::Result;
use crate::system::query_threads::{is_leavable, on_query_threads};

/// Batches that a plan reads in its connection's task.
const BATCHES: u32 = 12;
/// The time that it computes there.
const TIME: Duration = Duration::from_millis(4);

thread_local! {
    /// Batches left to the plan that is being polled; `None`: as many as it likes.
    static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Ready when another batch may be read.
pub(super) fn take(context: &mut Context<'_>) -> Poll<()> {
    match LEFT.get() {
        Some(0) => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        Some(left) => {
            LEFT.set(Some(left - 1));
            Poll::Ready(())
        }
        None => Poll::Ready(()),
    }
}

/// The stream, whose batches are taken one by one.
pub(super) fn taken<T: Send + 'static>(mut batches: BoxStream<'static, T>) -> BoxStream<'static, T> {
    let mut may_read = false;
    stream::poll_fn(move |context| {
        if !may_read {
            futures::ready!(take(context));
            may_read = true;
        }
        let batch = futures::ready!(batches.poll_next_unpin(context));
        may_read = false;
        Poll::Ready(batch)
    })
    .boxed()
}

/// The same pieces, computed where they are polled as long as the allowance lasts, then on the query threads.
pub fn within_allowance<T: Send + 'static>(
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    if is_leavable() {
        return pieces;
    }
    let mut place = Place::Here {
        pieces,
        left: BATCHES,
        until_moved: TIME,
    };
    stream::poll_fn(move |context| place.poll(context)).boxed()
}

/// Where pieces are computed.
enum Place<T> {
    Here {
        pieces: BoxStream<'static, Result<T>>,
        left: u32,
        until_moved: Duration,
    },
    Apart(BoxStream<'static, Result<T>>),
}

impl<T: Send + 'static> Place<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let (pieces, left, until_moved) = match self {
            Place::Apart(pieces) => return pieces.poll_next_unpin(context),
            Place::Here {
                pieces,
                left,
                until_moved,
            } => (pieces, left, until_moved),
        };
        let before = LEFT.replace(Some(*left));
        let begun = Instant::now();
        let polled = pieces.poll_next_unpin(context);
        *until_moved = until_moved.saturating_sub(begun.elapsed());
        *left = LEFT.replace(before).unwrap_or_default();
        let is_over = matches!(polled, Poll::Ready(None | Some(Err(_))));
        if is_over || (*left > 0 && !until_moved.is_zero()) {
            return polled;
        }
        let pieces = std::mem::replace(pieces, stream::empty().boxed());
        let mut apart = on_query_threads(pieces);
        let polled = match polled {
            Poll::Ready(piece) => Poll::Ready(piece),
            Poll::Pending => apart.poll_next_unpin(context),
        };
        *self = Place::Apart(apart);
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u32) -> BoxStream<'static, Result<u32>> {
        taken(stream::iter((0..count).map(Ok)).boxed())
    }

    #[tokio::test]
    async fn what_is_short_stays() {
        let here = std::thread::current().id();
        let mut pieces = within_allowance(
            numbers(BATCHES / 2)
                .map(|_| Ok(std::thread::current().id()))
                .boxed(),
        );
        while let Some(thread) = pieces.next().await {
            assert_eq!(thread, Ok(here));
        }
    }

    #[tokio::test]
    async fn what_is_long_goes_on_elsewhere_and_does_not_begin_again() {
        let here = std::thread::current().id();
        let summed = numbers(3 * BATCHES);
        let pieces = summed.map(|number| Ok((number?, std::thread::current().id())));
        let pieces: Vec<_> = within_allowance(pieces.boxed()).collect().await;
        let (numbers, threads): (Vec<u32>, Vec<_>) = pieces.into_iter().map(|piece| piece.unwrap()).unzip();
        assert_eq!(numbers, (0..3 * BATCHES).collect::<Vec<u32>>());
        assert_eq!(threads[0], here);
        assert_ne!(threads[numbers.len() - 1], here);
    }

    /// What collects everything before it gives leaves in the midst of a poll.
    #[tokio::test]
    async fn what_collects_leaves_when_it_reads_much() {
        let here = std::thread::current().id();
        let collected = stream::once(async {
            let numbers: Vec<_> = numbers(3 * BATCHES).collect().await;
            Ok((numbers.len(), std::thread::current().id()))
        });
        let pieces: Vec<_> = within_allowance(collected.boxed()).collect().await;
        let (count, thread) = *pieces[0].as_ref().unwrap();
        assert_eq!(count, 3 * BATCHES as usize);
        assert_ne!(thread, here);
    }
}
