//! Makes a [`Store`] of any [`Engine`]: snapshots, conflict detection, group commit. `open_store` builds it; every
//! embedded engine runs under it. It knows nothing of the library below or of what a key means.
//!
//! # How a value is stored
//!
//! The newest committed value of a key stands in the engine under the key itself, behind the timestamp of its commit. So a
//! point read is one engine get, a scan runs at the engine's own speed, and overwriting leaves nothing behind on disk:
//!
//! ```text
//!   engine key        engine value
//!   (empty)           [clock: u64 BE][format: u32 BE]      the newest commit in the engine, rewritten with each batch
//!   01 02 …           [timestamp: u64 BE][value …]         the newest value of the key up to the clock
//! ```
//!
//! Keys of the store are at least one byte long, so the empty key is free for the clock.
//!
//! # How a commit goes
//!
//! The engine lags behind: what counts is the [log](super::log).
//!
//! ```text
//!   session ─► committer ──────────────────────────────► answer
//!              validate, append, sync once a group,
//!              memtable, visible
//!                  │
//!                  ▼
//!              applier: undo map, engine, out of the memtable
//!                  │
//!                  ▼
//!              checkpoint, now and then: engine durable, old segments of the log recycled
//! ```
//!
//! The [`committer`] takes whatever batches wait as a group: validates each against memtable, engine, undo map
//! and the batches before it in the group; appends one record to the log and syncs it; puts the group into the
//! [`memtable`], lets new snapshots see it, and answers all. The [`commit_thread`] does so for those who wait; a lone client
//! never waits for company, but commits on its own thread. Another thread, the [`applier`], brings it to the engine meanwhile. Batches that asked for `relaxed` form a group of their own that skips the
//! sync: visible and answered at once, durable with the next sync or after [`RELAXED_DURABLE_MS`]; the engine has them only then.
//! A [`large`] commit is written to the log in parts between the groups of others, and goes to the engine in pieces.
//!
//! A start opens the engine, reads its clock and [`replay`]s the commits of the log above it.
//!
//! # What a snapshot sees
//!
//! A snapshot is a timestamp `s`: it sees the commits up to `s`. What the applier replaces or deletes in the engine moves to
//! the **undo map** in memory ([`undo`]) *before* the engine changes, with the span of time it was valid for, if an open
//! snapshot sees it; it leaves the map when the last such snapshot closes:
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
//! A reader asks **the memtable, then the engine, then the undo map**. A version up to `s` in the memtable is newer than
//! the engine's, so it is the answer. If the engine's entry is not newer than `s`, it is: every commit up to `s` was in the memtable
//! or the engine before `s` was given out. If it is newer or missing, then what it replaced was recorded before the engine
//! changed, so the undo map has the answer already; and if it has none, the key did not exist at `s`. Any other order would
//! lose a value that moves in between. This holds for each entry of a scan by itself, so the engine's iterator need not be a
//! snapshot: a page of engine entries is merged with what the other two hold of exactly the key interval that it covers.
//!
//! # Invariants
//!
//! 1. Timestamps in the engine never exceed the clock stored beside them, but for those of a large commit whose last piece
//!    is missing, which are above it; the clock never falls, and never exceeds the newest commit that is durable in the log.
//! 2. Every commit with a timestamp up to `visible` is in the log, and in the memtable or the engine, whole; and durable in
//!    the log, unless it was relaxed.
//! 3. What the applier replaces is in the undo map before the engine changes, if a snapshot that sees it is open. None can
//!    open any more, for only visible commits are applied.
//! 4. A version leaves the undo map when the last open snapshot that sees it has closed or was given up. A commit leaves
//!    the memtable when the engine has all of it.
//! 5. A snapshot that was given up answers `SnapshotTooOld` from then on, never a wrong row. The undo map exceeds its
//!    budget by at most one piece's replaced values; the memtable its own by one group, and by one large commit.
//! 6. A durable batch is acknowledged only after a sync of the log that began after its record was appended.
//! 7. After an error of log or engine nothing more is appended, made visible or acknowledged: [`Store::failed`] says why, and
//!    every later batch gets that error before anything else is judged. What was visible stays readable.
//! 8. A segment of the log is recycled only when every commit in it is durable in the engine.

mod applier;
mod checkpoint;
mod commit;
mod commit_thread;
mod committer;
mod group;
mod large;
mod memtable;
mod replay;
mod scan;
mod snapshot;
mod split;
mod undo;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{Semaphore, oneshot, watch};

use super::disk::Disk;
use super::engine::Engine;
use super::log::{Log, LogFiles, Survey, Timestamp};
use super::{Batch, KeyRange, Page, Snapshot, Store, StoreOptions, StoreStats, Write};
use crate::codec::successor;
use crate::{Error, Result};
use applier::Applier;
use checkpoint::Checkpointer;
use commit_thread::{Request, Waiting};
use committer::Committer;
use memtable::Memtable;
use scan::{Cursor, Limits, fill};
use snapshot::{MvccSnapshot, View, run_blocking};
use split::split_points;
use undo::Undo;

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

/// When no commit comes for so long, the log is marked as durable to its end.
const MARK_AFTER: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// A commit of more writes, or of more than [`LARGE_BYTES`], takes the way of large commits. Unit tests have lower limits, so
/// that all suites use it.
const LARGE_WRITES: usize = if cfg!(test) { 128 } else { 8192 };
/// See [`LARGE_WRITES`].
const LARGE_BYTES: usize = 1 << 20;
/// A part of a large commit in the log ends at this many bytes, unless one write is larger: writing it holds up others.
const PART_BYTES_MAX: usize = if cfg!(test) { 4 << 10 } else { 1 << 20 };
/// One batch of the engine's holds at most this many writes of a large commit: sled keeps what a batch replaces, some 6 kB
/// a write, until the batch ends, and lets nobody read meanwhile.
const PIECE_WRITES_MAX: usize = if cfg!(test) { 32 } else { 1024 };
/// Small commits go together until they are about so many writes: each batch makes sled sync two of its buffers.
const GATHERED_WRITES_MAX: usize = if cfg!(test) { 32 } else { 4096 };
/// See [`PIECE_WRITES_MAX`].
const PIECE_BYTES_MAX: usize = 2 << 20;
/// How long the applier waits for more commits before it brings a few to the engine: readers find them in the memtable.
const APPLY_LINGER: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1000 });

/// Rows that `delete_range` removes in one commit.
const DELETE_PAGE_ROWS: usize = 1000;

/// A store over an embedded engine. Dropping it ends the committer after the batches that already wait.
#[derive(Debug)]
pub struct MvccStore {
    shared: Arc<Shared>,
    /// `None` once the store is being dropped.
    requests: Option<mpsc::Sender<Request>>,
    places: Arc<Semaphore>,
    committer: Arc<Mutex<Committer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// The log beside an engine on disk, as a start found it.
#[derive(Debug)]
pub(crate) struct LogPlace {
    pub(crate) disk: Arc<dyn Disk>,
    /// Is there.
    pub(crate) directory: PathBuf,
    /// `None`: nothing was ever written to it.
    pub(crate) survey: Option<Survey>,
}

/// What the store's threads, snapshots and scans share.
#[derive(Debug)]
struct Shared {
    engine: Arc<dyn Engine>,
    memtable: Memtable,
    undo: Undo,
    options: StoreOptions,
    /// The newest commit in the engine.
    applied: AtomicU64,
    /// Where the log is durable.
    log_end: AtomicU64,
    /// Room on the disk, when it was last measured.
    free_bytes: AtomicU64,
    /// There is less of it than is to be left.
    disk_is_low: AtomicBool,
    closed: AtomicBool,
    /// Why nothing is written any more.
    failure: watch::Sender<Option<Error>>,
    commits: AtomicU64,
    commit_groups: AtomicU64,
}

impl MvccStore {
    /// Opens the store in `engine`, empty or written by an earlier `MvccStore`; an engine on disk brings its log. Errors:
    /// `Corrupt`, `Io`, 53100.
    pub(crate) fn open(
        engine: Arc<dyn Engine>,
        options: &StoreOptions,
        log: Option<LogPlace>,
    ) -> Result<MvccStore> {
        let engine_clock = read_clock(&*engine)?;
        let log = log.map(|place| open_log(&*engine, engine_clock, options, place));
        let (log, clock) = match log.transpose()? {
            Some((log, clock)) => (Some(log), clock),
            None => (None, engine_clock),
        };
        let shared = Arc::new(Shared {
            engine,
            memtable: Memtable::default(),
            undo: Undo::new(clock, options.undo_bytes_max),
            options: options.clone(),
            applied: AtomicU64::new(clock),
            log_end: AtomicU64::new(log.as_ref().map_or(0, Log::end)),
            free_bytes: AtomicU64::new(u64::MAX),
            disk_is_low: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            failure: watch::Sender::new(None),
            commits: AtomicU64::new(0),
            commit_groups: AtomicU64::new(0),
        });
        let applier = Applier::start(Arc::clone(&shared))?;
        let files = log.as_ref().map(|log| Arc::clone(log.files()));
        let checkpointer = Checkpointer::start(Arc::clone(&shared), files)?;
        let committer = Committer::new(Arc::clone(&shared), clock, log, applier, checkpointer);
        let committer = Arc::new(Mutex::new(committer));
        let (requests, receiver) = mpsc::channel();
        let thread = start_thread("keyspan-commit", {
            let (shared, committer) = (Arc::clone(&shared), Arc::clone(&committer));
            move || commit_thread::run(&shared, &committer, &receiver)
        })?;
        Ok(MvccStore {
            shared,
            requests: Some(requests),
            places: Arc::new(Semaphore::new(WAITING_BATCHES_MAX)),
            committer,
            thread: Mutex::new(Some(thread)),
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
        let batch = match self.commit_here(batch) {
            Ok(committed) => return committed,
            Err(batch) => batch,
        };
        let place = Arc::clone(&self.places)
            .acquire_owned()
            .await
            .map_err(|_| Error::Shutdown)?;
        let (answer, answered) = oneshot::channel();
        self.send(Request::Commit(Waiting { batch, answer, place }))?;
        answered.await.unwrap_or(Err(Error::Shutdown))
    }

    /// Commits on the caller's own thread when nobody else waits: two hops between threads take as long as the disk. Gives
    /// the batch back when it has to wait for its turn.
    fn commit_here(&self, batch: Batch) -> Result<Result<()>, Batch> {
        if !self.is_free() || !may_block() || is_large(&batch) {
            return Err(batch);
        }
        match self.committer.try_lock() {
            Ok(mut committer) if committer.expects_one() => {
                let had_plans = committer.due_at().is_some();
                let committed = committer.commit_one(batch);
                if !had_plans && committer.due_at().is_some() {
                    // Without it the thread would sleep past that time; if it has ended, so has the store.
                    let _ = self.send(Request::Look);
                }
                Ok(committed)
            }
            _ => Err(batch),
        }
    }

    /// Whether a commit need not wait: for others, or for the applier.
    fn is_free(&self) -> bool {
        self.places.available_permits() == WAITING_BATCHES_MAX && !self.shared.is_memtable_full()
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

    fn failed(&self) -> BoxFuture<'static, Error> {
        let mut failure = self.shared.failure.subscribe();
        async move {
            let found = failure.wait_for(Option::is_some).await;
            match found.ok().and_then(|failure| failure.clone()) {
                Some(failure) => failure,
                // The store has gone without one.
                None => std::future::pending().await,
            }
        }
        .boxed()
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
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
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

    /// Error 53100 when the disk is nearly full and the batch would take more of it.
    fn check_room(&self, batch: &Batch) -> Result<()> {
        let takes_room = !batch.reclaims && batch.writes.iter().any(|write| write.value().is_some());
        if takes_room && self.disk_is_low.load(Ordering::Relaxed) {
            Err(Error::DiskFull {
                free_bytes: self.free_bytes.load(Ordering::Relaxed),
                reserve_bytes: self.options.disk_reserve_bytes,
            })
        } else {
            Ok(())
        }
    }

    /// Whether commits must wait until the applier has brought some to the engine.
    fn is_memtable_full(&self) -> bool {
        self.memtable.bytes() > self.options.memtable_bytes_max
    }

    /// Ends all writing; the first reason is kept. Answers the error that later batches get.
    fn fail(&self, error: Error) -> Error {
        let failure = Error::Io {
            action: "the store takes no more writes until a restart".to_string(),
            reason: error.to_string(),
        };
        self.failure.send_if_modified(|kept| {
            let is_first = kept.is_none();
            if is_first {
                tracing::error!(%error, "the store failed; it takes no more writes until a restart");
                *kept = Some(failure.clone());
            }
            is_first
        });
        self.failure().unwrap_or(failure)
    }

    fn failure(&self) -> Option<Error> {
        self.failure.borrow().clone()
    }
}

/// Replays the log into the engine and begins to append behind it; answers the newest commit, too.
fn open_log(
    engine: &dyn Engine,
    engine_clock: Timestamp,
    options: &StoreOptions,
    place: LogPlace,
) -> Result<(Log, Timestamp)> {
    let LogPlace {
        disk,
        directory,
        survey,
    } = place;
    let mut clock = engine_clock;
    if let Some(survey) = &survey {
        replay::check_clocks(engine_clock, survey)?;
        replay::replay(engine, engine_clock, &*disk, &directory, survey)?;
        clock = survey.clock;
    }
    let files = LogFiles::open(
        disk,
        &directory,
        options.segment_bytes,
        options.checkpoint_bytes,
        survey.as_ref(),
    )?;
    let mut log = Log::open(Arc::new(files), survey.as_ref(), clock);
    if survey.is_none() {
        // From now on a log that is missing is a log that was lost.
        log.begin_segment(0)?;
    }
    Ok((log, clock))
}

/// Whether the runtime goes on while a task of it holds up its thread. At most one does at a time: who has the committer.
fn may_block() -> bool {
    tokio::runtime::Handle::try_current().is_ok_and(|runtime| runtime.metrics().num_workers() > 1)
}

/// Whether a batch takes the way of large commits.
fn is_large(batch: &Batch) -> bool {
    let (writes, bytes) = size(batch);
    writes > LARGE_WRITES || bytes > LARGE_BYTES
}

/// How many writes a batch has, and how many bytes.
fn size(batch: &Batch) -> (usize, usize) {
    let bytes = batch.writes.iter().map(Write::bytes).sum();
    (batch.writes.len(), bytes)
}

/// Error: `Io`.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_string())
        .spawn(run)
        .map_err(|error| Error::Io {
            action: format!("could not start the thread {name}"),
            reason: error.to_string(),
        })
}

/// The timestamp of the newest commit in the engine; 0 when there is none.
pub(super) fn read_clock(engine: &dyn Engine) -> Result<Timestamp> {
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
pub(super) fn split_stored(stored: &[u8]) -> Result<(Timestamp, &[u8])> {
    match stored.split_first_chunk() {
        Some((timestamp, value)) => Ok((Timestamp::from_be_bytes(*timestamp), value)),
        None => Err(corrupt(
            "a stored value",
            format!("{} bytes are too few for a timestamp", stored.len()),
        )),
    }
}

fn corrupt(what: &str, reason: String) -> Error {
    Error::Corrupt {
        what: what.to_string(),
        reason,
    }
}
