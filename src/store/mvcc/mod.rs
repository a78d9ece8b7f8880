//! Makes a [`Store`] of any [`Engine`]: snapshots, conflict detection, group commit. `open_store` builds it; every
//! embedded engine runs under it. It knows nothing of the library below or of what a key means.
//!
//! # How a value is stored
//!
//! The newest committed value of a key stands under the key itself, behind the timestamp of its commit. So a point
//! read is one engine get, a scan runs at the engine's own speed, and overwriting leaves nothing behind on disk:
//!
//! ```text
//!   engine key        engine value
//!   (empty)           [clock: u64 BE][format: u32 BE]      the newest commit, rewritten in each commit's batch
//!   01 02 …           [timestamp: u64 BE][value …]         the newest committed value of the key
//! ```
//!
//! Keys of the store are at least one byte long, so the empty key is free for the clock. After a restart no snapshot
//! is left, so nothing but the clock is needed to go on. Two files stand beside an engine on disk: the [`Watermark`] names
//! a clock that was durable, and an engine that comes back with less has lost data and is refused; the [`Journal`] holds a
//! commit too large for one of the engine's batches while it goes there, and is the only thing a restart may have to
//! finish.
//!
//! # What a snapshot sees
//!
//! A snapshot is a timestamp `s`: it sees the commits up to `s`. What a later commit replaces or deletes moves to the
//! **undo map** in memory ([`undo`]) *before* the engine changes, with the span of time it was valid for, and leaves it
//! when the last snapshot in that span closes:
//!
//! ```text
//!   time      1         2         3         4         5
//!   commits   put k=a             put k=b   delete k
//!   engine    k@1=a     k@1=a     k@3=b     –
//!   undo                          k[1,3)=a  k[1,3)=a
//!                                           k[3,4)=b
//!   snapshot 2 reads k: engine has no k; undo has a version with 2 in [1,3): a
//! ```
//!
//! A reader asks **the engine first, then the undo map**. If the engine's entry is not newer than `s`, it is the
//! answer: every commit up to `s` was applied before `s` was given out. If it is newer or missing, then the commit
//! that made it so had recorded what it replaced before it touched the engine, so the undo map has the answer already;
//! and if it has none, the key did not exist at `s`. Asking in the other order would lose a value that moves in
//! between. This holds for each entry of a scan by itself, so the engine's iterator need not be a snapshot: a page of
//! engine entries is merged with the undo map's entries of exactly the key interval that the page covers.
//!
//! # How a commit goes
//!
//! One thread, the [`committer`], takes whatever batches wait as a group: validates each against the engine, the undo
//! map and the batches before it in the group; records what they replace; applies all as one engine batch; makes that
//! durable, once; lets new snapshots see it; answers all. A lone client never waits for company. Batches that asked
//! for `relaxed` form a group of their own that skips the wait: visible and answered at once, durable with the next
//! durable group or after [`RELAXED_DURABLE_MS`]. A commit above [`BATCH_WRITES_MAX`] goes to the journal first and then to
//! the engine in pieces, so that reads go on in between and the engine never holds more than a piece's worth of garbage.
//!
//! # Invariants
//!
//! 1. Timestamps in the engine never exceed the clock stored beside them, but for those of a commit in the journal, which
//!    are one above it; and the clock never falls.
//! 2. Every commit with a timestamp up to `visible` is in the engine, whole; and durable, unless it was relaxed.
//! 3. What a commit replaces is in the undo map before the engine changes, if a snapshot in its span of validity is
//!    open, or can still open (it is not visible yet).
//! 4. A version leaves the undo map when the last open snapshot that sees it has closed or was given up.
//! 5. A snapshot that was given up answers `SnapshotTooOld` from then on, never a wrong row. The undo map exceeds its
//!    budget by at most one group's replaced values.
//! 6. A durable batch is acknowledged only after a `make_durable` that began after its `apply` has answered `Ok`.
//! 7. After `apply` or `make_durable` failed nothing more is applied, made visible or acknowledged; what was visible
//!    stays readable, because the undo map keeps what the failed group replaced.

mod committer;
mod journal;
mod scan;
mod snapshot;
mod split;
mod undo;
mod watermark;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot};

use super::engine::Engine;
use super::{Batch, KeyRange, Page, Snapshot, Store, StoreStats, Write};
use crate::codec::successor;
use crate::{Error, Result};
use committer::{Committer, Request};
pub use journal::Journal;
use scan::{Cursor, Limits, fill};
use snapshot::{MvccSnapshot, View, run_blocking};
use split::split_points;
use undo::Undo;
pub use watermark::Watermark;

/// A commit's place in time: 1 for the first commit of a store.
type Timestamp = u64;

/// The engine key of the clock.
const CLOCK_KEY: &[u8] = b"";

/// How values stand in the engine (the picture above); any other number is not ours.
pub const MVCC_FORMAT: u32 = 1;

/// Bytes before each value.
const TIMESTAMP_BYTES: usize = 8;

/// Batches that may wait for the committer; sessions beyond it wait for a place.
const WAITING_BATCHES_MAX: usize = 1024;

/// A relaxed commit is durable after about this many milliseconds at the latest.
pub const RELAXED_DURABLE_MS: u64 = 100;

/// A commit of at most this many writes and [`BATCH_BYTES_MAX`] is one batch of the engine's; a group ends here. sled keeps
/// what a batch replaces, some 6 kB a write, until the batch ends, and lets nobody read meanwhile.
const BATCH_WRITES_MAX: usize = if cfg!(test) { 128 } else { 8192 };
/// See [`BATCH_WRITES_MAX`]. Unit tests have lower limits, so that all suites use the journal.
const BATCH_BYTES_MAX: usize = 16 << 20;
/// A piece of a larger commit ends at this many writes or at [`PIECE_BYTES_MAX`].
const PIECE_WRITES_MAX: usize = if cfg!(test) { 32 } else { 1024 };
/// See [`PIECE_WRITES_MAX`].
const PIECE_BYTES_MAX: usize = 1 << 20;

/// Rows that `delete_range` removes in one commit.
const DELETE_PAGE_ROWS: usize = 1000;

/// A store over an embedded engine. Dropping it ends the committer after the batches that already wait.
#[derive(Debug)]
pub struct MvccStore {
    shared: Arc<Shared>,
    /// `None` once the store is being dropped.
    requests: Option<mpsc::Sender<Request>>,
    places: Arc<Semaphore>,
    committer: Mutex<Option<std::thread::JoinHandle<()>>>,
}

/// The files beside an engine on disk.
#[derive(Debug)]
pub struct Files {
    /// What was durable.
    pub watermark: Watermark,
    /// What is under way.
    pub journal: Journal,
}

/// What the committer, snapshots and scans share.
#[derive(Debug)]
struct Shared {
    engine: Arc<dyn Engine>,
    undo: Undo,
    closed: AtomicBool,
    commits: AtomicU64,
    commit_groups: AtomicU64,
}

impl MvccStore {
    /// Opens the store in `engine`, empty or written by an earlier `MvccStore`. `undo_bytes_max` bounds the memory for
    /// what open snapshots still need; an engine on disk brings its `files`. Errors: `Corrupt`, `Io`.
    pub fn open(engine: Arc<dyn Engine>, undo_bytes_max: usize, files: Option<Files>) -> Result<MvccStore> {
        let mut clock = read_clock(&*engine)?;
        if let Some(files) = &files {
            files.journal.replay(&*engine, clock)?;
            clock = read_clock(&*engine)?;
            files.watermark.check(clock)?;
        }
        let shared = Arc::new(Shared {
            engine,
            undo: Undo::new(clock, undo_bytes_max),
            closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            commit_groups: AtomicU64::new(0),
        });
        let (requests, receiver) = mpsc::channel();
        let committer = Committer::new(Arc::clone(&shared), receiver, clock, files);
        let thread = std::thread::Builder::new()
            .name("keyspan-commit".to_string())
            .spawn(move || committer.run())
            .map_err(|error| Error::Io {
                action: "start the commit thread".into(),
                reason: error.to_string(),
            })?;
        Ok(MvccStore {
            shared,
            requests: Some(requests),
            places: Arc::new(Semaphore::new(WAITING_BATCHES_MAX)),
            committer: Mutex::new(Some(thread)),
        })
    }

    fn open_view(&self) -> Result<Arc<View>> {
        self.shared.check_open()?;
        Ok(Arc::new(View::open(Arc::clone(&self.shared))))
    }

    fn send(&self, request: Request) -> Result<()> {
        let requests = self.requests.as_ref().ok_or(Error::Shutdown)?;
        requests.send(request).map_err(|_| Error::Shutdown)
    }

    async fn commit_and_wait(&self, batch: Batch) -> Result<()> {
        self.shared.check_open()?;
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| Error::Shutdown)?;
        let (answer, answered) = oneshot::channel();
        self.send(Request::Commit { batch, answer, place })?;
        answered.await.unwrap_or(Err(Error::Shutdown))
    }

    /// Pages are relaxed commits: a crash in between leaves a part of the range, and the caller repeats. The last,
    /// empty commit is durable and takes all before it along. Each page has a fresh snapshot, so that the undo map need
    /// not keep the whole range for this one.
    async fn delete_pages(&self, mut range: KeyRange) -> Result<()> {
        loop {
            let view = self.open_view()?;
            let ranges = vec![range.clone()];
            let limits = Limits {
                rows_max: DELETE_PAGE_ROWS,
                bytes_max: usize::MAX,
            };
            let (page, is_done) = run_blocking(move || {
                let (mut cursor, mut page) = (Cursor::new(ranges, false), Page::new());
                while page.is_empty() && !cursor.is_done() {
                    fill(&view, &mut cursor, true, limits, &mut page)?;
                }
                Ok((page, cursor.is_done()))
            })
            .await?;
            let writes = page
                .iter()
                .map(|(key, _)| Write::Delete { key: key.to_vec() })
                .collect();
            self.commit_and_wait(Batch {
                writes,
                relaxed: !is_done,
                ..Batch::default()
            })
            .await?;
            match page.last() {
                Some((last, _)) if !is_done => range.start = successor(last),
                _ => return Ok(()),
            }
        }
    }

    async fn split(&self, range: KeyRange, parts: usize) -> Result<Vec<Vec<u8>>> {
        if parts < 2 {
            return Ok(Vec::new());
        }
        let view = self.open_view()?;
        run_blocking(move || split_points(&view, &range, parts)).await
    }

    async fn close_committer(&self) -> Result<()> {
        self.shared.check_open()?;
        let (answer, answered) = oneshot::channel();
        self.send(Request::Close { answer })?;
        let closed = answered.await.unwrap_or(Err(Error::Shutdown));
        self.places.close();
        closed
    }
}

impl Store for MvccStore {
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>> {
        let snapshot = self
            .open_view()
            .map(|view| Arc::new(MvccSnapshot { view }) as Arc<dyn Snapshot>);
        std::future::ready(snapshot).boxed()
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
        self.commit_and_wait(batch).boxed()
    }

    fn delete_range(&self, range: KeyRange) -> BoxFuture<'_, Result<()>> {
        self.delete_pages(range).boxed()
    }

    fn split_points(&self, range: KeyRange, parts: usize) -> BoxFuture<'_, Result<Vec<Vec<u8>>>> {
        self.split(range, parts).boxed()
    }

    fn stats(&self) -> StoreStats {
        let (snapshots, undo_bytes) = self.shared.undo.figures();
        StoreStats {
            size_bytes: self.shared.engine.size_bytes().unwrap_or_default(),
            snapshots,
            undo_bytes,
            commits: self.shared.commits.load(Ordering::Relaxed),
            commit_groups: self.shared.commit_groups.load(Ordering::Relaxed),
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.close_committer().boxed()
    }
}

impl Drop for MvccStore {
    /// Waits for the committer, at most for the batches that still wait and one `make_durable`, so that afterwards
    /// nothing of the store runs and the directory can be opened again.
    fn drop(&mut self) {
        self.requests = None;
        let committer = self
            .committer
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if committer.is_some_and(|committer| committer.join().is_err()) {
            tracing::error!("the commit thread panicked");
        }
    }
}

impl Shared {
    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            Err(Error::Shutdown)
        } else {
            Ok(())
        }
    }
}

/// The timestamp of the newest commit in the engine; 0 when there is none.
fn read_clock(engine: &dyn Engine) -> Result<Timestamp> {
    let mut clock = Ok(0);
    engine.get(CLOCK_KEY, &mut |stored| {
        clock = split_stored(stored).and_then(|(timestamp, format)| match <[u8; 4]>::try_from(format) {
            Ok(format) if u32::from_be_bytes(format) == MVCC_FORMAT => Ok(timestamp),
            _ => Err(corrupt(
                "the clock record",
                format!("its format is {format:02x?}"),
            )),
        });
    })?;
    clock
}

/// An engine value apart: when it was committed, and the value.
fn split_stored(stored: &[u8]) -> Result<(Timestamp, &[u8])> {
    match stored.split_first_chunk() {
        Some((timestamp, value)) => Ok((Timestamp::from_be_bytes(*timestamp), value)),
        None => Err(corrupt(
            "a stored value",
            format!("{} bytes are too few for a timestamp", stored.len()),
        )),
    }
}

/// Makes the name of a file that was made, renamed or removed durable.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    path.parent()
        .map_or(Ok(()), |directory| File::open(directory)?.sync_all())
}

fn corrupt(what: &str, reason: String) -> Error {
    Error::Corrupt {
        what: what.to_string(),
        reason,
    }
}
