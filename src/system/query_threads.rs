//! Threads for what may compute for long. A join, a sort or the planning of a large query may work for seconds without a
//! pause; done in the session's own task it would keep that from hearing a cancel request, and the server's threads from
//! other clients' keyed reads. `sql` sends here whatever has no bounds by its form, and every general query's stream;
//! keyed reads stay where they are.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};

use crate::store::address_bytes_max;
use crate::{Error, Result};

/// Stack of each thread that serves clients: planning and running a statement nests deeply, most of all in builds
/// without optimization, where tokio's own 2 MiB do not hold it: a tree of the greatest depth that is read takes 24 MiB
/// to be cloned there. Memory is used as far as the stack was ever deep.
pub const THREAD_STACK_BYTES: usize = 64 << 20;

/// Statements that compute at once without a pause before others wait for them. Many more than processors, so that it is
/// the system that shares these out; a thread without work costs nothing but addresses.
const THREADS: usize = 64;

/// Threads for calls that block, as tokio has them by default.
const BLOCKING_THREADS: usize = 512;

/// Where the addresses of the process are limited: the part of these that stacks of each kind of threads may have.
const STACKS_DIVISOR: u64 = 6;

/// Fewer threads than this are of no use.
const THREADS_MIN: usize = 4;

/// Threads for calls that block that the main runtime may have.
pub fn blocking_threads_max() -> usize {
    threads_within_addresses(BLOCKING_THREADS)
}

/// So many threads, or as many as have room for their stacks in this process.
pub(crate) fn threads_within_addresses(threads: usize) -> usize {
    threads_within(threads, address_bytes_max())
}

/// So many threads, or as many as have room for their stacks where addresses are limited.
fn threads_within(threads: usize, address_bytes: Option<u64>) -> usize {
    let Some(bytes) = address_bytes else {
        return threads;
    };
    let stacks = bytes / STACKS_DIVISOR / THREAD_STACK_BYTES as u64;
    threads
        .min(usize::try_from(stacks).unwrap_or(threads))
        .max(THREADS_MIN)
}

/// Pieces computed before they are asked for.
const PIECES_AHEAD: usize = 1;

tokio::task_local! {
    /// Set in work that may be left alone at any moment, long before it stops.
    static LEAVABLE: ();
    /// Set in work on the query threads: whether nobody waits for it any more.
    static LEFT: Arc<AtomicBool>;
}

/// What computes for long without a pause asks this by and by, so that it stops soon when its statement has been cancelled
/// or has timed out. Errors: 57014.
pub fn check_left() -> Result<()> {
    match LEFT.try_with(|left| left.load(Ordering::Relaxed)) {
        Ok(true) => Err(Error::QueryCanceled),
        Ok(false) | Err(_) => Ok(()),
    }
}

/// Does some work on the query threads; in the caller's own task, if that is such work. Dropped, it stops at its next
/// pause, which nobody waits for: so it must not write. Errors: the work's; 58030 when there are no threads.
pub async fn run<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    if is_leavable() {
        return work.await;
    }
    let (answer, answered) = oneshot::channel();
    let (_task, _stop) = spawn(LEAVABLE.scope((), async move {
        // Nobody waits for it any more when the answer cannot be sent.
        let _ = answer.send(work.await);
    }))?;
    answered.await.map_err(|_| panicked())?
}

/// Begins a task on the query threads, which ends soon after its `Stop` is dropped. Errors: 58030.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) -> Result<(JoinHandle<()>, Stop)> {
    let left = Arc::new(AtomicBool::new(false));
    let task = runtime()?.spawn(LEFT.scope(Arc::clone(&left), task));
    let stop = Stop {
        left,
        task: task.abort_handle(),
    };
    Ok((task, stop))
}

/// What is said of work that panicked.
pub(crate) fn panicked() -> Error {
    Error::internal("a statement failed; the server's log says where")
}

/// The work, all of whose parts are done in its own task, as on the query threads: with it they have ended.
pub async fn in_own_task<T>(work: impl Future<Output = T>) -> T {
    LEAVABLE.scope((), work).await
}

/// Whether the caller is on the query threads.
pub(crate) fn is_leavable() -> bool {
    LEAVABLE.try_with(|_| ()).is_ok()
}

/// The same stream, computed on the query threads from its first poll on; as it is when the caller is in `run`. Dropping it
/// stops the work at its next pause.
pub fn on_query_threads<T: Send + 'static>(
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    match is_leavable() {
        true => pieces,
        false => apart(pieces),
    }
}

/// The same, always in a task of its own: beside the caller's.
pub(crate) fn apart<T: Send + 'static>(
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let started = stream::once(async move { start(pieces) });
    started
        .flat_map(|started| match started {
            Ok(running) => running.pieces().boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        })
        .boxed()
}

/// The same stream, computed on the query threads, no piece before it is asked for: what computing one does comes behind what was done with
/// the one before.
pub(crate) fn piece_by_piece<T: Send + 'static>(
    pieces: BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    if is_leavable() {
        return pieces;
    }
    let (ask, asked) = mpsc::channel::<()>(1);
    let when_asked = stream::unfold((pieces, asked), |(mut pieces, mut asked)| async move {
        asked.recv().await?;
        Some((pieces.next().await?, (pieces, asked)))
    });
    let computed = apart(when_asked.boxed());
    let asking = stream::unfold((computed, ask), |(mut computed, ask)| async move {
        // Where nobody hears it the pieces have ended.
        let _ = ask.send(()).await;
        Some((computed.next().await?, (computed, ask)))
    });
    asking.boxed()
}

/// Ends a task with who waits for it: at its next pause, or where it asks whether it is left.
pub(crate) struct Stop {
    left: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.left.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

/// A stream that is being computed.
struct Running<T> {
    computed: mpsc::Receiver<Result<T>>,
    _stop: Stop,
}

fn start<T: Send + 'static>(mut pieces: BoxStream<'static, Result<T>>) -> Result<Running<T>> {
    let (sender, computed) = mpsc::channel(PIECES_AHEAD);
    let (_task, stop) = spawn(LEAVABLE.scope((), async move {
        let mut panics = false;
        while !panics {
            let piece = match AssertUnwindSafe(pieces.next()).catch_unwind().await {
                Ok(Some(piece)) => piece,
                Ok(None) => return,
                Err(_) => {
                    panics = true;
                    Err(panicked())
                }
            };
            if sender.send(piece).await.is_err() {
                return;
            }
        }
    }))?;
    Ok(Running {
        computed,
        _stop: stop,
    })
}

impl<T: Send + 'static> Running<T> {
    fn pieces(self) -> impl futures::Stream<Item = Result<T>> {
        stream::unfold(self, |mut running| async move {
            Some((running.computed.recv().await?, running))
        })
    }
}

fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, Error>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(threads_within_addresses(THREADS))
            .max_blocking_threads(blocking_threads_max())
            .thread_name("query")
            .thread_stack_size(THREAD_STACK_BYTES)
            .enable_all()
            .build()
            .map_err(|error| Error::Io {
                action: "could not start the query threads".to_string(),
                reason: error.to_string(),
            })
    });
    runtime.as_ref().map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use arrow::array::RecordBatch;
    use arrow::datatypes::Schema;

    use super::*;

    fn empty() -> Result<RecordBatch> {
        Ok(RecordBatch::new_empty(Arc::new(Schema::empty())))
    }

    #[tokio::test]
    async fn batches_and_errors_come_in_order_and_nothing_before_the_first_poll() {
        let begun = Arc::new(AtomicBool::new(false));
        let first = begun.clone();
        let batches = stream::iter([empty(), empty(), Err(Error::DivisionByZero)]).inspect(move |_| {
            first.store(true, Ordering::SeqCst);
        });
        let computed = on_query_threads(batches.boxed());
        assert!(!begun.load(Ordering::SeqCst));
        let all: Vec<_> = computed.collect().await;
        assert_eq!(all.len(), 3);
        assert_eq!(all[2], Err(Error::DivisionByZero));
    }

    /// The test's runtime has one thread: work without a pause in its own task would never let the time limit end it.
    #[tokio::test]
    async fn work_without_a_pause_leaves_the_caller_free() {
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let endless = stream::once(async move {
            while !asked.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            empty()
        });
        let mut computed = on_query_threads(endless.boxed());
        let waited = tokio::time::timeout(Duration::from_millis(1), computed.next()).await;
        assert!(waited.is_err());
        stop.store(true, Ordering::SeqCst);
        drop(computed);
    }

    #[test]
    fn threads_are_as_few_as_addresses_allow() {
        assert_eq!(threads_within(64, None), 64);
        assert_eq!(threads_within(64, Some(1 << 40)), 64);
        assert_eq!(threads_within(64, Some(6 << 30)), 16);
        assert_eq!(threads_within(64, Some(1 << 20)), THREADS_MIN);
    }

    /// A computation without pauses that asks whether it is left ends when it is.
    #[tokio::test]
    async fn work_learns_that_it_is_left() {
        let (said, ended) = oneshot::channel();
        let (begun, has_begun) = oneshot::channel();
        let work = run::<()>(async move {
            let _ = begun.send(());
            loop {
                if let Err(error) = check_left() {
                    let _ = said.send(error.clone());
                    return Err(error);
                }
            }
        });
        let mut work = Box::pin(work);
        assert!(futures::poll!(&mut work).is_pending());
        has_begun.await.unwrap();
        assert_eq!(check_left(), Ok(()));
        drop(work);
        assert_eq!(ended.await, Ok(Error::QueryCanceled));
    }
}
