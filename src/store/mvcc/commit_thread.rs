//! The commit thread: takes whatever batches wait as a group and has the [`Committer`] commit them; also does what is due
//! by time, and large commits in steps. Sessions talk to it through a channel; one that finds nobody waiting goes to the
//! committer itself (`MvccStore::commit_here`).

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};

use tokio::sync::oneshot;

use super::commit::Size;
use super::committer::{Committer, Waiting};
use super::limits::{LARGE_WRITES, PATIENCE};
use super::state::Shared;
use crate::{Error, Result};

/// A group ends at this many batches …
const GROUP_BATCHES_MAX: usize = 256;
/// … or when its writes reach this many bytes, or `LARGE_WRITES`; it holds at least one batch.
const GROUP_BYTES_MAX: usize = 4 << 20;

/// What sessions ask of the thread.
pub(super) enum Request {
    /// Apply a batch. The place among the waiting is given back when it was answered.
    Commit(Waiting),
    /// A session has committed by itself: see what is due by time now.
    Look,
    /// Finish what waits, close the engine, end.
    Close { answer: oneshot::Sender<Result<()>> },
}

/// What the thread found to do.
#[derive(Default)]
struct Work {
    relaxed: Vec<Waiting>,
    durable: Vec<Waiting>,
    large: Vec<Waiting>,
    end: Option<End>,
}

/// How the thread was told to end.
enum End {
    Asked(oneshot::Sender<Result<()>>),
    Dropped,
}

/// Runs until the store is closed or dropped. What arrives after that is answered `Shutdown` by the channel's end.
pub(super) fn run(shared: &Shared, committer: &Mutex<Committer>, requests: &Receiver<Request>) {
    loop {
        let work = next_work(shared, committer, requests);
        let Ok(mut committer) = committer.lock() else {
            // Nobody knows what a panic left of it.
            shared.fail(Error::internal("a commit panicked"));
            return;
        };
        committer.commit(work.relaxed, false);
        committer.commit(work.durable, true);
        committer.queue_large(work.large);
        committer.do_what_is_due();
        match work.end {
            None => {}
            Some(End::Asked(answer)) => {
                let _ = answer.send(committer.close());
                return;
            }
            Some(End::Dropped) => {
                if let Err(error) = committer.close() {
                    tracing::error!(%error, "the store did not close cleanly");
                }
                return;
            }
        }
    }
}

/// Waits for a first request, unless there is something else to do, then takes those that have come meanwhile, but
/// never waits for more.
fn next_work(shared: &Shared, committer: &Mutex<Committer>, requests: &Receiver<Request>) -> Work {
    let mut work = Work::default();
    if shared.is_memtable_full() && shared.failure().is_none() {
        shared
            .memtable
            .wait_for_room(shared.options.memtable_bytes_max, PATIENCE);
        return work;
    }
    let mut next = match first_request(committer, requests) {
        Ok(request) => request,
        Err(RecvTimeoutError::Timeout) => return work,
        Err(RecvTimeoutError::Disconnected) => {
            work.end = Some(End::Dropped);
            return work;
        }
    };
    let (mut batches, mut writes, mut bytes) = (0, 0, 0);
    loop {
        match next {
            Request::Close { answer } => {
                work.end = Some(End::Asked(answer));
                return work;
            }
            Request::Look => {}
            Request::Commit(waiting) => {
                let size = Size::of(&waiting.batch);
                if size.is_large() {
                    work.large.push(waiting);
                } else {
                    (batches, writes, bytes) = (batches + 1, writes + size.writes, bytes + size.bytes);
                    match waiting.batch.relaxed {
                        true => work.relaxed.push(waiting),
                        false => work.durable.push(waiting),
                    }
                }
            }
        }
        if writes >= LARGE_WRITES || bytes >= GROUP_BYTES_MAX || batches >= GROUP_BATCHES_MAX {
            return work;
        }
        next = match requests.try_recv() {
            Ok(request) => request,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return work,
        };
    }
}

fn first_request(
    committer: &Mutex<Committer>,
    requests: &Receiver<Request>,
) -> Result<Request, RecvTimeoutError> {
    // A panic under the lock ends the thread at its next turn.
    let patience = committer
        .lock()
        .map_or(Some(PATIENCE), |committer| committer.patience());
    match patience {
        Some(patience) => requests.recv_timeout(patience),
        None => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
