//! `within_allowance`: a stream that is computed in its connection's own task as long as it is short. What proves long goes on on the
//! query threads from where it is; it does not begin again.
//!
//! The operators of a plan pull their input in loops that end when it gives or is not ready. So what reads (scans, lookups) asks
//! [`take`] for each batch, and says that it is not ready once the allowance is spent: whoever polls the plan then moves it.

use std::cell::Cell;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures::stream::{self, BoxStream, StreamExt};
use rustix::time::{ClockId, clock_gettime};

use super::query_threads::{is_leavable, on_query_threads};
use crate::Result;

/// How long a plan computes in its connection's task.
const TIME: Duration = Duration::from_millis(4);

thread_local! {
    /// When the allowance of the plan that is being polled is spent; `None`: never.
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Ready when another batch may be read.
pub(crate) fn take(context: &mut Context<'_>) -> Poll<()> {
    match UNTIL.get() {
        Some(until) if Instant::now() >= until => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
        _ => Poll::Ready(()),
    }
}

/// The stream, whose batches are taken one by one.
pub(crate) fn taken<T: Send + 'static>(mut batches: BoxStream<'static, T>) -> BoxStream<'static, T> {
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

/// Does work in the middle of a plan that is no part of it: who waits there in place has no use for pauses.
pub(super) fn without_limit<T>(work: impl FnOnce() -> T) -> T {
    let before = UNTIL.replace(None);
    let done = work();
    UNTIL.set(before);
    done
}

/// The same pieces, computed where they are polled as long as the allowance lasts, then on the query threads.
pub fn within_allowance<T: Send + 'static>(
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    within(TIME, pieces)
}

fn within<T: Send + 'static>(
    allowance: Duration,
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    if is_leavable() {
        return pieces;
    }
    let mut place = Place::Here {
        pieces,
        begun: None,
        half: allowance / 2,
        left: allowance / 2,
    };
    stream::poll_fn(move |context| place.poll(context)).boxed()
}

/// Where pieces are computed.
enum Place<T> {
    Here {
        pieces: BoxStream<'static, Result<T>>,
        /// What the thread had computed when the first half of the allowance was over. Asking for that is a system call, which
        /// the short do without.
        begun: Option<Duration>,
        /// Half of the allowance: the first goes by the clock.
        half: Duration,
        /// What is left of the half.
        left: Duration,
    },
    Apart(BoxStream<'static, Result<T>>),
}

impl<T: Send + 'static> Place<T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        let (pieces, begun, half, left) = match self {
            Place::Apart(pieces) => return pieces.poll_next_unpin(context),
            Place::Here {
                pieces,
                begun,
                half,
                left,
            } => (pieces, begun, *half, left),
        };
        let polled_at = Instant::now();
        let before = UNTIL.replace(Some(polled_at + *left));
        let polled = pieces.poll_next_unpin(context);
        UNTIL.set(before);
        *left = left.saturating_sub(polled_at.elapsed());
        let is_over = matches!(polled, Poll::Ready(None | Some(Err(_))));
        if left.is_zero() && !is_over {
            // The system may have given the processor to others meanwhile.
            let computed = processor_time();
            // It may be another thread than the last time, with another clock.
            *left = half.saturating_sub(computed.saturating_sub(*begun.get_or_insert(computed)));
        }
        if is_over || !left.is_zero() {
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

/// What this thread has computed since it began.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // The clock counts from nought, so neither part is negative.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);
    const COUNT: u32 = 20;

    fn numbers() -> BoxStream<'static, Result<u32>> {
        taken(stream::iter((0..COUNT).map(Ok)).boxed())
    }

    #[tokio::test]
    async fn what_is_short_stays() {
        let here = thread::current().id();
        let threads = numbers().map(|_| Ok(thread::current().id()));
        let mut pieces = within(LONG, threads.boxed());
        while let Some(thread) = pieces.next().await {
            assert_eq!(thread, Ok(here));
        }
    }

    #[tokio::test]
    async fn what_is_long_goes_on_elsewhere_and_does_not_begin_again() {
        let here = thread::current().id();
        let slow = numbers().map(|number| {
            let begun = processor_time();
            while processor_time() - begun < TIME / 4 {
                std::hint::spin_loop();
            }
            Ok((number?, thread::current().id()))
        });
        let pieces: Vec<_> = within(TIME, slow.boxed()).collect().await;
        let (numbers, threads): (Vec<u32>, Vec<_>) = pieces.into_iter().map(|piece| piece.unwrap()).unzip();
        assert_eq!(numbers, (0..COUNT).collect::<Vec<u32>>());
        assert_ne!(threads[numbers.len() - 1], here);
    }

    #[tokio::test]
    async fn who_waits_has_not_computed() {
        let here = thread::current().id();
        let slow = numbers().map(|_| {
            thread::sleep(TIME / 2);
            Ok(thread::current().id())
        });
        let threads: Vec<_> = within(TIME, slow.boxed()).collect().await;
        assert!(threads.iter().all(|thread| *thread == Ok(here)));
    }

    /// What collects everything before it gives leaves in the midst of a poll.
    #[tokio::test]
    async fn what_collects_leaves_when_it_reads_much() {
        let here = thread::current().id();
        let collected = stream::once(async {
            let numbers: Vec<_> = numbers().collect().await;
            Ok((numbers.len(), thread::current().id()))
        });
        let pieces: Vec<_> = within(Duration::ZERO, collected.boxed()).collect().await;
        let (count, thread) = *pieces[0].as_ref().unwrap();
        assert_eq!(count, COUNT as usize);
        assert_ne!(thread, here);
    }
}
