//! Threads for what DataFusion computes. A join or a sort may work for seconds without a pause; done in the session's own
//! task it would keep that from hearing a cancel request, and the server's threads from other clients' keyed reads.
//! `sql` sends every general query's stream through here; keyed reads stay where they are.

use std::sync::OnceLock;

use arrow::array::RecordBatch;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{Error, Result};

/// Stack of each thread that serves clients: planning and running a statement nests deeply, most of all in builds
/// without optimization, where tokio's own 2 MiB do not hold it: a tree of the greatest depth that is read takes 24 MiB
/// to be cloned there. Memory is used as far as the stack was ever deep.
pub const THREAD_STACK_BYTES: usize = 64 << 20;

/// Batches computed before they are asked for.
const BATCHES_AHEAD: usize = 1;

/// The same stream, computed on the query threads from its first poll on. Dropping it stops the work at its next pause.
pub fn on_query_threads(
    batches: BoxStream<'static, Result<RecordBatch>>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let started = stream::once(async move { start(batches) });
    started
        .flat_map(|started| match started {
            Ok(running) => running.batches().boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
        })
        .boxed()
}

/// A stream that is being computed.
struct Running {
    computed: mpsc::Receiver<Result<RecordBatch>>,
    task: JoinHandle<()>,
}

fn start(mut batches: BoxStream<'static, Result<RecordBatch>>) -> Result<Running> {
    let (sender, computed) = mpsc::channel(BATCHES_AHEAD);
    let task = runtime()?.spawn(async move {
        while let Some(batch) = batches.next().await {
            if sender.send(batch).await.is_err() {
                return;
            }
        }
    });
    Ok(Running { computed, task })
}

impl Running {
    fn batches(self) -> impl futures::Stream<Item = Result<RecordBatch>> {
        stream::unfold(self, |mut running| async move {
            Some((running.computed.recv().await?, running))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::result::Result<Runtime, Error>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread()
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

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
}
