//! `ConnectionThreads`: what connections are served on. A connection has a thread of its own while there are enough of them, and shares
//! one with others then; it stays where it is. A keyed read begins and ends on that thread and wakes no other, as it would where a pool
//! of threads takes each other's work. What computes for long is done on the query threads, so that those who share one need not wait.
//!
//! Knows nothing of what a connection does.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio_util::task::TaskTracker;

use crate::store::serve_on_this_thread;
use crate::system::query_threads::{THREAD_STACK_BYTES, blocking_threads_max, threads_within_addresses};

/// Threads that serve connections, at most.
pub(super) const CONNECTION_THREADS_MAX: usize = 64;

/// Descriptors that a thread needs to wait for its sockets.
pub(super) const DESCRIPTORS: usize = 3;

/// The threads, begun as connections come; they stay.
#[derive(Debug)]
pub(super) struct ConnectionThreads {
    threads_max: usize,
    threads: Mutex<Vec<ConnectionThread>>,
}

/// A thread, and how many connections it serves.
#[derive(Debug)]
struct ConnectionThread {
    /// Of one thread, which others replace while it is held up.
    runtime: Option<Runtime>,
    connections: Arc<AtomicUsize>,
}

/// A connection's place on a thread, given back when dropped.
#[derive(Debug)]
struct Seat(Arc<AtomicUsize>);

impl ConnectionThreads {
    /// At most so many, or as many as have room for their stacks.
    pub(super) fn new(threads_max: usize) -> ConnectionThreads {
        ConnectionThreads {
            threads_max: threads_within_addresses(threads_max),
            threads: Mutex::default(),
        }
    }

    /// Serves a connection on the thread that has fewest, as one of the tracker's tasks. Errors: the system's, when the first thread
    /// cannot be begun.
    pub(super) fn serve(
        &self,
        tracker: &TaskTracker,
        connection: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let (thread, seat) = self.seat()?;
        tracker.spawn_on(
            async move {
                connection.await;
                drop(seat);
            },
            &thread,
        );
        Ok(())
    }

    /// A seat on a thread that nobody has, on a new one, or where fewest are.
    fn seat(&self) -> std::io::Result<(Handle, Seat)> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let emptiest = |threads: &[ConnectionThread]| {
            let fewest = threads
                .iter()
                .enumerate()
                .min_by_key(|(_, thread)| thread.served());
            fewest.map(|(index, thread)| (index, thread.served()))
        };
        let index = match emptiest(&threads) {
            Some((index, 0)) => index,
            Some((index, _)) if threads.len() >= self.threads_max => index,
            known => match (ConnectionThread::begin(), known) {
                (Ok(thread), _) => {
                    threads.push(thread);
                    threads.len() - 1
                }
                (Err(_), Some((index, _))) => index,
                (Err(error), None) => return Err(error),
            },
        };
        let thread = &threads[index];
        Ok((thread.handle(), thread.take_seat()))
    }
}

impl ConnectionThread {
    fn begin() -> std::io::Result<ConnectionThread> {
        let connections = Arc::new(AtomicUsize::new(0));
        let served = Arc::clone(&connections);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(blocking_threads_max())
            .thread_name("connection")
            .thread_stack_size(THREAD_STACK_BYTES)
            .on_thread_start(move || serve_on_this_thread(Arc::clone(&served)))
            .enable_io()
            .enable_time()
            .build()?;
        Ok(ConnectionThread {
            runtime: Some(runtime),
            connections,
        })
    }

    fn served(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn take_seat(&self) -> Seat {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Seat(Arc::clone(&self.connections))
    }

    fn handle(&self) -> Handle {
        let runtime = self.runtime.as_ref();
        runtime
            .expect("a thread has its runtime until it is dropped")
            .handle()
            .clone()
    }
}

impl Drop for ConnectionThread {
    fn drop(&mut self) {
        // The server may be dropped in a task, which cannot wait for threads.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threads' numbers of connections, fewest first.
    fn served(threads: &ConnectionThreads) -> Vec<usize> {
        let threads = threads.threads.lock().unwrap();
        let mut served: Vec<usize> = threads.iter().map(ConnectionThread::served).collect();
        served.sort_unstable();
        served
    }

    #[test]
    fn each_has_its_own_while_there_are_enough() {
        let threads = ConnectionThreads::new(3);
        let mut seats: Vec<Seat> = (0..3).map(|_| threads.seat().unwrap().1).collect();
        assert_eq!(served(&threads), [1, 1, 1]);
        // One that ended leaves its thread to the next.
        seats.pop();
        assert_eq!(served(&threads), [0, 1, 1]);
        seats.extend((0..3).map(|_| threads.seat().unwrap().1));
        assert_eq!(served(&threads), [1, 2, 2]);
    }

    #[tokio::test]
    async fn a_connection_stays_on_its_thread() {
        let threads = ConnectionThreads::new(2);
        let tracker = TaskTracker::new();
        let (answer, answered) = tokio::sync::oneshot::channel();
        let connection = async move {
            let thread = std::thread::current().id();
            for _ in 0..1000 {
                tokio::task::yield_now().await;
                assert_eq!(std::thread::current().id(), thread);
            }
            answer.send(()).unwrap();
        };
        threads.serve(&tracker, connection).unwrap();
        answered.await.unwrap();
        tracker.close();
        tracker.wait().await;
        assert_eq!(served(&threads), [0]);
    }
}
