//! `MvccStore`: the store itself. Opens it, starts its threads, and answers what the seam asks; the work is done below.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, Semaphore, oneshot};

use super::applier::Applier;
use super::checkpoint::{Checkpointer, Waker};
use super::commit::{Size, bytes_in_memory};
use super::commit_thread::{self, Request};
use super::committer::{Committer, Waiting};
use super::cursor::Cursor;
use super::group::view_of;
use super::limits::{
    BUSY_BYTES, DELETE_PAGE_ROWS, LOOKS_FOR_ROOM_MAX, PASSED_OVER_MIN, WAIT_OF_DELETED_PAGE,
    WAITING_BATCHES_MAX, WAITS_OF_DELETED_PAGE,
};
use super::lock;
use super::page_limits::Limits;
use super::recent::Watch;
use super::replay;
use super::scan::{Content, Wait, fill};
use super::snapshot::MvccSnapshot;
use super::split::split_points;
use super::state::{Shared, start_thread};
use super::stored::{EngineClock, read_clock};
use super::under_way::{Place, UnderWay};
use super::view::{View, run_blocking};
use crate::codec::successor;
use crate::store::engine::Engine;
use crate::store::log::{Log, LogFiles, LogPlace, Origin, Timestamp};
use crate::store::own_thread::hold_up;
use crate::store::{
    Batch, Capabilities, HeldLocks, KeyRange, LockAsks, LockTable, Locked, Page, Snapshot, Store,
    StoreOptions, StoreStats, WallClock, Wanted, WantedRange, Write, WriteWatch,
};
use crate::{Error, Result};

/// A store over an embedded engine. Dropping it ends the committer after the batches that already wait.
#[derive(Debug)]
pub struct MvccStore {
    pub(super) shared: Arc<Shared>,
    /// `None` once the store is being dropped.
    requests: Option<mpsc::Sender<Request>>,
    pub(super) places: Arc<Semaphore>,
    under_way: UnderWay,
    pub(super) committer: Arc<Mutex<Committer>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    checkpoints: Waker,
    /// One range is deleted at a time: who wants one gone that another is at finds it gone.
    deleting: Arc<tokio::sync::Mutex<()>>,
    /// Whether commits wait for a disk.
    has_log: bool,
}

/// A log that was opened, and how far it brought the engine.
struct OpenedLog {
    log: Log,
    /// The newest commit.
    clock: Timestamp,
    /// How many commits the engine lacked.
    replayed: u64,
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
        let log = log.map(|place| open_log(&*engine, engine_clock, options, &place));
        let (log, clock, replayed) = match log.transpose()? {
            Some(opened) => (Some(opened.log), opened.clock, opened.replayed),
            None => (None, engine_clock.timestamp, 0),
        };
        let log_end = log.as_ref().map_or(0, Log::end);
        let origin = log.as_ref().map_or(Origin::default(), Log::origin);
        let shared = Arc::new(Shared::new(engine, options, clock, log_end, origin));
        let applier = Applier::start(Arc::clone(&shared))?;
        let has_log = log.is_some();
        let files = log.as_ref().map(|log| Arc::clone(log.files()));
        let checkpointer = Checkpointer::start(Arc::clone(&shared), files, replayed > 0)?;
        let checkpoints = checkpointer.waker();
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
            under_way: UnderWay::default(),
            committer,
            thread: Mutex::new(Some(thread)),
            checkpoints,
            deleting: Arc::default(),
            has_log,
        })
    }

    /// Opens the store to be read only: what the engine lacks is replayed, the log stays as it is. Errors: `Corrupt`, `Io`.
    pub(crate) fn inspect(
        engine: Arc<dyn Engine>,
        options: &StoreOptions,
        log: &LogPlace,
    ) -> Result<MvccStore> {
        if let Some(survey) = &log.survey {
            let clock = read_clock(&*engine)?;
            replay::check_clocks(clock, survey)?;
            replay::replay(&*engine, clock, log, survey)?;
        }
        MvccStore::open(engine, options, None)
    }

    /// Of everything visible, and of every commit up to `least`.
    fn open_view(&self, least: Timestamp) -> Result<Arc<View>> {
        self.shared.check_open()?;
        Ok(Arc::new(View::open(Arc::clone(&self.shared), least)))
    }

    fn send(&self, request: Request) -> Result<()> {
        let requests = self.requests.as_ref().ok_or(Error::Shutdown)?;
        requests.send(request).map_err(|_| Error::Shutdown)
    }

    async fn commit_and_wait(&self, batch: Batch) -> Result<()> {
        self.shared.check_open()?;
        if self.shared.may_lack_room(&batch) {
            self.wait_for_room(&batch).await;
        }
        let under_way = self.under_way.begin();
        let batch = match self.commit_here(batch) {
            Ok(committed) => return committed,
            Err(batch) => *batch,
        };
        let permit = Arc::clone(&self.places).acquire_owned().await;
        let place = Place {
            _permit: permit.map_err(|_| Error::Shutdown)?,
            _under_way: under_way,
        };
        let (answer, answered) = oneshot::channel();
        self.send(Request::Commit(Waiting { batch, answer, place }))?;
        answered.await.unwrap_or(Err(Error::Shutdown))
    }

    /// Waits, on a disk that is nearly full, while there are commits that no checkpoint has seen: they may have emptied tables, and it
    /// gives back the room that these took. Whoever comes after the last of them does not wait.
    async fn wait_for_room(&self, batch: &Batch) {
        let mut checkpointed = self.shared.checkpointed.subscribe();
        self.checkpoints.look_now();
        for _ in 0..LOOKS_FOR_ROOM_MAX {
            let is_seen = *checkpointed.borrow_and_update() >= self.shared.undo.visible();
            if is_seen || !self.shared.may_lack_room(batch) || checkpointed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Has checkpoints made until one has seen all that is committed now.
    async fn make_checkpoint(&self) -> Result<()> {
        self.shared.check_open()?;
        let committed = self.shared.undo.visible();
        let mut checkpointed = self.shared.checkpointed.subscribe();
        while *checkpointed.borrow_and_update() < committed {
            // The applier may not have got so far yet: then another follows.
            self.shared.memtable.hurry();
            if !self.checkpoints.make_now() || checkpointed.changed().await.is_err() {
                break;
            }
        }
        match self.shared.failure() {
            Some(failure) => Err(failure),
            None => self.shared.check_open(),
        }
    }

    /// Commits on the caller's own thread when nobody else waits: two hops between threads take as long as the disk. Gives
    /// the batch back when it has to wait for its turn.
    fn commit_here(&self, batch: Batch) -> Result<Result<()>, Box<Batch>> {
        if !self.is_free() || !may_block() || Size::of(&batch).is_large() {
            return Err(Box::new(batch));
        }
        match self.committer.try_lock() {
            Ok(mut committer) if committer.expects_one() => {
                let had_plans = committer.due_at().is_some();
                let commit = || committer.commit_one(batch);
                let committed = match self.has_log {
                    // The disk may take seconds, and this thread may be the one that waits for all sockets: another takes its place.
                    true => hold_up(commit),
                    false => commit(),
                };
                if !had_plans && committer.due_at().is_some() {
                    // Without it the thread would sleep past that time; if it has ended, so has the store.
                    let _ = self.send(Request::Look);
                }
                Ok(committed)
            }
            _ => Err(Box::new(batch)),
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
        let deleting = Arc::new(Arc::clone(&self.deleting).lock_owned().await);
        // It is useless to others, but not to what was on its way there.
        self.under_way.ended().await;
        self.abandon(&range, &deleting).await?;
        loop {
            let view = self.open_view(0)?;
            let ranges = vec![range.clone()];
            let limits = Limits::new(DELETE_PAGE_ROWS, usize::MAX);
            let (page, is_done) = run_blocking(move || {
                let (mut cursor, mut page) = (Cursor::new(ranges, false), Page::new());
                while page.is_empty() && !cursor.is_done() {
                    fill(&view, &mut cursor, &Content::Keys, limits, Wait::May, &mut page)?;
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
            self.give_way().await;
        }
    }

    /// Lets the commits of others, which wait for the engine as well, go first, but not for ever: who waits for them, waits for somebody;
    /// nobody waits for what was dropped.
    async fn give_way(&self) {
        for _ in 0..WAITS_OF_DELETED_PAGE {
            let memtable = &self.shared.memtable;
            if memtable.bytes() < BUSY_BYTES && !memtable.has_large() {
                return;
            }
            tokio::time::sleep(WAIT_OF_DELETED_PAGE).await;
        }
    }

    /// Gives the disk what it can have at once of a range that nobody uses, unless an old snapshot may still see it; and keeps from the
    /// engine what it does not have yet.
    async fn abandon(&self, range: &KeyRange, deleting: &Arc<OwnedMutexGuard<()>>) -> Result<()> {
        let useless_since = self.shared.undo.visible();
        // Whatever made the range useless is durable when its files go.
        self.commit_and_wait(Batch::default()).await?;
        if self.shared.undo.has_snapshot_before(useless_since) {
            return Ok(());
        }
        let (shared, files) = (Arc::clone(&self.shared), range.clone());
        // Dropping the files goes on when nobody waits for it any more; no other may be at the range then.
        let deleting = Arc::clone(deleting);
        run_blocking(move || {
            let _deleting = deleting;
            let dropped = shared.engine.drop_files(&files.start, files.end.as_deref());
            dropped.map_err(|error| shared.fail(error))?;
            shared.memtable.forget_emptied(&files);
            Ok(())
        })
        .await?;
        self.pass_over(range).await
    }

    /// Has the applier pass over what the memtable has of a range that nobody uses and the engine does not have, and waits until it has
    /// come so far. A commit in the log deletes it first: engine and log agree at any time, and after a crash it does not come back. A few
    /// keys are not worth that: all that lingers before them would have to go to the engine now.
    pub(super) async fn pass_over(&self, range: &KeyRange) -> Result<()> {
        let (shared, keys) = (Arc::clone(&self.shared), range.clone());
        let deletions = run_blocking(move || Ok(shared.memtable.deletions(&keys))).await?;
        let bytes_max = self.shared.options.large_commits_bytes_max;
        let bytes = bytes_in_memory(&deletions);
        if deletions.len() < PASSED_OVER_MIN || !self.shared.memtable.has_room_for_large(bytes, bytes_max) {
            return Ok(());
        }
        self.commit_and_wait(Batch {
            known: (0..deletions.len()).map(|at| (at, true)).collect(),
            writes: deletions,
            reclaims: true,
            ..Batch::default()
        })
        .await?;
        let deleted = self.shared.undo.visible();
        let _abandoning = self.shared.abandoned.begin(range.clone(), deleted);
        while self.shared.applied.load(Ordering::Acquire) < deleted {
            self.shared.check_open()?;
            if let Some(failure) = self.shared.failure() {
                return Err(failure);
            }
            self.shared.memtable.hurry();
            tokio::time::sleep(WAIT_OF_DELETED_PAGE).await;
        }
        Ok(())
    }

    async fn split(&self, range: KeyRange, parts: usize) -> Result<Vec<Vec<u8>>> {
        if parts < 2 {
            return Ok(Vec::new());
        }
        let view = self.open_view(0)?;
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
    fn capabilities(&self) -> Capabilities {
        // Large batches are committed by parts.
        Capabilities {
            key_bytes_max: self.shared.engine.key_bytes_max(),
            ..Capabilities::UNBOUNDED
        }
    }

    fn snapshot_after(&self, commit: u64) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>> {
        let snapshot = self
            .open_view(commit)
            .map(|view| Arc::new(MvccSnapshot { view }) as Arc<dyn Snapshot>);
        std::future::ready(snapshot).boxed()
    }

    fn newest_commit(&self) -> u64 {
        self.shared.entered.load(Ordering::Acquire)
    }

    fn make_durable(&self, commit: u64) -> BoxFuture<'_, Result<()>> {
        match self.shared.undo.visible() >= commit {
            true => std::future::ready(Ok(())).boxed(),
            // Behind it in the log, and so after it.
            false => self.commit_and_wait(Batch::default()).boxed(),
        }
    }

    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<()>> {
        self.commit_and_wait(batch).boxed()
    }

    fn locks(&self, session: i32) -> HeldLocks {
        HeldLocks::new(&self.shared.locks, session)
    }

    fn lock<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: Wanted<'a>,
        since: &'a Arc<dyn Snapshot>,
        asks: LockAsks,
    ) -> BoxFuture<'a, Result<Locked>> {
        lock::lock_keys(&self.shared, locks, wanted, since, asks).boxed()
    }

    fn lock_range<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: WantedRange<'a>,
        since: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<Option<u64>>> {
        lock::lock_range(&self.shared, locks, wanted, since).boxed()
    }

    fn watch(&self) -> Box<dyn WriteWatch> {
        Box::new(MvccWatch {
            shared: Arc::clone(&self.shared),
            _watch: self.shared.recent.watch(),
        })
    }

    fn require_untouched(&self, since: &Arc<dyn Snapshot>, ranges: &[KeyRange]) -> Result<()> {
        let since = view_of(&self.shared, since)?.timestamp;
        self.shared.recent.require_untouched(since, ranges)
    }

    fn lock_table(&self) -> &Arc<LockTable> {
        &self.shared.locks
    }

    fn clock(&self) -> &Arc<WallClock> {
        &self.shared.wall_clock
    }

    fn delete_range(&self, range: KeyRange) -> BoxFuture<'_, Result<()>> {
        self.delete_pages(range).boxed()
    }

    fn checkpoint(&self) -> BoxFuture<'_, Result<()>> {
        self.make_checkpoint().boxed()
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
            undo_bytes_max: self.shared.options.undo_bytes_max,
            commits: self.shared.commits.load(Ordering::Relaxed),
            commit_groups: self.shared.commit_groups.load(Ordering::Relaxed),
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.close_committer().boxed()
    }
}

/// The store remembers what is written.
#[derive(Debug)]
struct MvccWatch {
    shared: Arc<Shared>,
    _watch: Watch,
}

impl WriteWatch for MvccWatch {
    fn covers(&self, snapshot: &Arc<dyn Snapshot>) -> bool {
        let view = view_of(&self.shared, snapshot);
        view.is_ok_and(|view| self.shared.recent.knows_since(view.timestamp))
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

/// Replays the log into the engine and begins to append behind it.
fn open_log(
    engine: &dyn Engine,
    engine_clock: EngineClock,
    options: &StoreOptions,
    place: &LogPlace,
) -> Result<OpenedLog> {
    let (mut clock, mut replayed) = (engine_clock.timestamp, 0);
    let survey = place.survey.as_ref();
    if let Some(survey) = survey {
        replay::check_clocks(engine_clock, survey)?;
    }
    // What the engine gets now stays in the log, whatever happens.
    let end_file = place.open_end()?;
    if let Some(survey) = survey {
        replayed = replay::replay(engine, engine_clock, place, survey)?;
        clock = survey.clock;
    }
    if replayed == 0 && clock > 0 && engine_clock.origin.is_none() {
        let branchless = Origin {
            log_id: end_file.log_id(),
            branch: 0,
        };
        let origin = survey.and_then(|survey| survey.origin_of(clock));
        replay::name_origin(engine, clock, origin.unwrap_or(branchless))?;
    }
    let files = LogFiles::open(
        Arc::clone(&place.disk),
        &place.directory,
        options.segment_bytes,
        options.checkpoint_bytes,
        survey,
    )?;
    let mut log = Log::open(Arc::new(files), survey, clock, end_file);
    if survey.is_none() {
        // From now on a log that is missing is a log that was lost.
        log.begin_segment(0)?;
    }
    Ok(OpenedLog { log, clock, replayed })
}

/// Whether the runtime goes on while a task of it holds up its thread. At most one does at a time: who has the committer.
fn may_block() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
