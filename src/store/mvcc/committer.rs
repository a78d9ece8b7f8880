//! The committer: writes to the log, in groups, and makes commits visible (see the module above for the order of steps).
//! One thread at a time has it: the [commit thread](super::commit_thread), or a session that commits by itself. It knows
//! nothing of sessions.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::applier::Applier;
use super::checkpoint::Checkpointer;
use super::commit::Commit;
use super::counts::{Changed, Counts};
use super::group::{Group, merge};
use super::large::{LargeCommit, Step};
use super::limits::{MARK_AFTER, PATIENCE, RELAXED_DURABLE_MS, UNSYNCED_BYTES_MAX};
use super::state::Shared;
use super::under_way::Place;
use crate::store::log::{Body, Log, Timestamp};
use crate::store::{Batch, HeldLocks, Write};
use crate::{Error, Result};

/// A batch that waits for its group.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) batch: Batch,
    pub(super) answer: oneshot::Sender<Result<()>>,
    pub(super) place: Place,
}

/// How a commit enters.
#[derive(Debug, Default)]
struct Entry {
    /// The keys of writes that nobody reads.
    unseen: HashSet<Vec<u8>>,
    /// The locks under which its batches were made, and that they pass on.
    passes_on: Vec<Arc<HeldLocks>>,
    /// It is visible once it is durable.
    is_durable: bool,
}

impl Entry {
    /// Gives up the locks of what the commit writes: whoever gets them finds it there.
    fn pass_on(&self, commit: &Commit) {
        let writes = commit.writes_of();
        for locks in &self.passes_on {
            locks.release_some(0, |key| !writes(key));
        }
    }
}

/// The end of the log, and what is under way there.
#[derive(Debug)]
pub(super) struct Committer {
    shared: Arc<Shared>,
    /// Timestamp of the newest commit.
    clock: Timestamp,
    counts: Counts,
    /// `None` for an engine without a disk.
    log: Option<Log>,
    /// The record under way; its memory is used again.
    body: Body,
    applier: Applier,
    checkpointer: Checkpointer,
    /// Visible commits that the log does not have for sure yet: the engine must not have them before it.
    unsynced: Vec<Arc<Commit>>,
    /// The log has them all by now, and they are visible.
    are_synced: bool,
    /// When the oldest of them must be durable.
    sync_at: Option<Instant>,
    /// When the end of the log is to be marked.
    mark_at: Option<Instant>,
    /// Batches of the last group.
    last_batches: usize,
    large: Option<LargeCommit>,
    /// Large commits that wait for their turn.
    large_waiting: VecDeque<Waiting>,
}

impl Committer {
    pub(super) fn new(
        shared: Arc<Shared>,
        clock: Timestamp,
        log: Option<Log>,
        applier: Applier,
        checkpointer: Checkpointer,
    ) -> Committer {
        Committer {
            counts: Counts::new(Arc::clone(&shared)),
            shared,
            clock,
            log,
            body: Body::default(),
            applier,
            checkpointer,
            unsynced: Vec::new(),
            are_synced: false,
            sync_at: None,
            mark_at: None,
            last_batches: 0,
            large: None,
            large_waiting: VecDeque::new(),
        }
    }

    /// How long the commit thread may wait for requests before something else is due; `None`: for ever.
    pub(super) fn patience(&self) -> Option<Duration> {
        let until_due = self
            .due_at()
            .map(|at| at.saturating_duration_since(Instant::now()));
        match &self.large {
            // It can only close once others before it are in the engine.
            Some(large) if large.is_logged(self.log.is_some()) && !large.has_room() => {
                Some(until_due.map_or(PATIENCE, |until| until.min(PATIENCE)))
            }
            Some(_) => Some(Duration::ZERO),
            None if !self.large_waiting.is_empty() => Some(Duration::ZERO),
            None => until_due,
        }
    }

    /// When something is to be done that no request asks for.
    pub(super) fn due_at(&self) -> Option<Instant> {
        self.sync_at.into_iter().chain(self.mark_at).min()
    }

    /// Whether it looks as if sessions came one at a time: then there is nobody to share a sync with.
    pub(super) fn expects_one(&self) -> bool {
        self.last_batches <= 1
    }

    /// Takes the next step of what goes on beside the groups.
    pub(super) fn do_what_is_due(&mut self) {
        // Nobody waits for these; a failure is kept and answers every later batch.
        if self.sync_at.is_some_and(|at| at <= Instant::now()) {
            let _ = self.sync();
        }
        if self.mark_at.is_some_and(|at| at <= Instant::now()) {
            let _ = self.mark();
        }
        self.step_large();
    }

    /// Puts large commits behind those that wait for their turn.
    pub(super) fn queue_large(&mut self, waiting: Vec<Waiting>) {
        self.large_waiting.extend(waiting);
    }

    /// Commits one batch, which is not large.
    pub(super) fn commit_one(&mut self, batch: Batch) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        // Whoever had the committer before may have closed it.
        shared.check_open()?;
        if let Some(failure) = shared.failure() {
            return Err(failure);
        }
        let mut group = Group::new(&shared, &mut self.counts);
        group.admit(&batch)?;
        let changed = group.into_changed();
        let unseen = unseen_keys(&batch).collect();
        let Batch {
            writes,
            relaxed,
            passes_on,
            locks: _locks,
            ..
        } = batch;
        let entry = Entry {
            unseen,
            passes_on: passes_on.into_iter().collect(),
            is_durable: !relaxed,
        };
        let committed = self.commit_writes((writes, changed), &entry, 1);
        self.hand_over();
        committed
    }

    /// Commits one group and answers every batch of it.
    pub(super) fn commit(&mut self, waiting: Vec<Waiting>, durable: bool) {
        if waiting.is_empty() {
            return;
        }
        self.last_batches = waiting.len();
        let shared = Arc::clone(&self.shared);
        let mut changed = Changed::new();
        let verdicts: Vec<Result<()>> = match shared.failure() {
            Some(failure) => waiting.iter().map(|_| Err(failure.clone())).collect(),
            None => {
                let mut group = Group::new(&shared, &mut self.counts);
                let admitted = waiting.iter().map(|waiting| group.admit(&waiting.batch));
                let verdicts = admitted.collect();
                changed = group.into_changed();
                verdicts
            }
        };
        let admitted = verdicts.iter().filter(|verdict| verdict.is_ok()).count() as u64;
        // The batches, their snapshots and locks go before the answers, so that whoever has an answer finds what they held gone.
        let (mut answers, mut writes, mut locks) = (Vec::new(), Vec::new(), Vec::new());
        let mut entry = Entry {
            is_durable: durable,
            ..Entry::default()
        };
        for (Waiting { batch, answer, place }, verdict) in waiting.into_iter().zip(&verdicts) {
            answers.push((answer, place));
            if verdict.is_ok() {
                entry.unseen.extend(unseen_keys(&batch));
                entry.passes_on.extend(batch.passes_on);
                locks.extend(batch.locks);
                writes.extend(batch.writes);
            }
        }
        let committed = if admitted == 0 {
            Ok(())
        } else {
            self.commit_writes((writes, changed), &entry, admitted)
        };
        drop(locks);
        for ((answer, _place), verdict) in answers.into_iter().zip(verdicts) {
            // A session that has gone does not want its answer.
            let _ = answer.send(verdict.and_then(|()| committed.clone()));
        }
        self.hand_over();
    }

    /// Commits the writes of so many admitted batches, and the counts that they change, as one record.
    fn commit_writes(
        &mut self,
        (writes, changed): (Vec<Write>, Changed),
        entry: &Entry,
        batches: u64,
    ) -> Result<()> {
        let mut writes = merge(writes);
        Counts::fill(&mut writes, &changed);
        match writes.is_empty() {
            true if entry.is_durable => self.sync()?,
            true => {}
            false => self.append(writes, entry)?,
        }
        self.counts.note(changed);
        self.shared.commits.fetch_add(batches, Ordering::Relaxed);
        Ok(())
    }

    /// Appends the group's record, and makes it visible once it is as durable as it was asked to be.
    fn append(&mut self, writes: Vec<Write>, entry: &Entry) -> Result<()> {
        let timestamp = self.clock + 1;
        if let Some(log) = &mut self.log {
            self.body.commit(timestamp);
            writes.iter().for_each(|write| self.body.push(write));
            if let Err(error) = log.append(&self.body, timestamp) {
                return Err(self.fail_unless_full(error));
            }
        }
        if let Some(large) = &mut self.large {
            large.note_commit(&writes);
        }
        self.enter(Commit::new(timestamp, writes, false), entry)
    }

    /// Makes a commit whose last record is appended durable, if it is to be, and visible. Meanwhile those go on who waited for what it
    /// writes.
    fn enter(&mut self, commit: Commit, entry: &Entry) -> Result<()> {
        let timestamp = commit.timestamp;
        self.clock = timestamp;
        let is_seen = |write: &&Write| entry.unseen.is_empty() || !entry.unseen.contains(write.key());
        let seen = commit.writes.iter().filter(is_seen).map(Write::key);
        self.shared.recent.note(timestamp, seen);
        let commit = Arc::new(commit);
        self.shared.memtable.insert(&commit);
        self.shared.entered.store(timestamp, Ordering::Release);
        if self.log.is_some() {
            entry.pass_on(&commit);
        }
        self.unsynced.push(commit);
        self.sync_at
            .get_or_insert_with(|| Instant::now() + Duration::from_millis(RELAXED_DURABLE_MS));
        let unsynced_bytes = self.log.as_ref().map_or(0, Log::unsynced_bytes);
        let is_synced = entry.is_durable || self.log.is_none() || unsynced_bytes > UNSYNCED_BYTES_MAX;
        if is_synced {
            self.sync_log()?;
        }
        self.shared.undo.publish(timestamp);
        self.shared.commit_groups.fetch_add(1, Ordering::Relaxed);
        self.are_synced = is_synced;
        Ok(())
    }

    /// Makes everything appended durable.
    fn sync(&mut self) -> Result<()> {
        self.sync_log()?;
        self.are_synced = true;
        self.hand_over();
        Ok(())
    }

    /// Makes everything appended durable, and has the log say so if there is room for that.
    fn mark(&mut self) -> Result<()> {
        let synced = self.sync();
        // Nothing was written since; and after a failure there is nothing to come back for.
        self.mark_at = None;
        synced?;
        match self.log.as_mut().map_or(Ok(()), Log::mark) {
            Err(error) if !matches!(error, Error::DiskFull { .. }) => Err(self.shared.fail(error)),
            _ => Ok(()),
        }
    }

    fn sync_log(&mut self) -> Result<()> {
        // Whatever comes of it, it is not due again: the commit thread would come back at once, for ever.
        self.sync_at = None;
        if let Some(failure) = self.shared.failure() {
            return Err(failure);
        }
        let Some(log) = &mut self.log else { return Ok(()) };
        let synced = log.sync();
        if let Err(error) = synced {
            return Err(self.shared.fail(error));
        }
        self.mark_at = Some(Instant::now() + MARK_AFTER);
        self.shared.log_end.store(log.end(), Ordering::Relaxed);
        self.checkpointer.wake_if_needed();
        Ok(())
    }

    /// Lets the applier have what is durable and visible: before, a snapshot might still open that needs what it replaces.
    /// Whoever waits for an answer has it first.
    fn hand_over(&mut self) {
        if std::mem::take(&mut self.are_synced) {
            self.applier.send(self.unsynced.drain(..));
        }
    }

    /// Takes a step of the large commit, or begins the next.
    fn step_large(&mut self) {
        if self.large.is_none() {
            self.large = self.large_waiting.pop_front().map(|waiting| {
                let Waiting { batch, answer, place } = waiting;
                LargeCommit::new(Arc::clone(&self.shared), batch, answer, place)
            });
        }
        let Some(mut large) = self.large.take() else {
            return;
        };
        let step = match self.shared.failure() {
            Some(failure) => Err(failure),
            None => large.step(self.log.as_mut(), self.clock, &mut self.body),
        };
        match step {
            Ok(Step::Again) => self.large = Some(large),
            Ok(Step::ReadyToClose) if !large.has_room() => {
                self.shared.memtable.hurry();
                self.large = Some(large);
            }
            Ok(Step::ReadyToClose) => {
                let closed = self.close_large(&mut large);
                self.end_large(large, closed);
            }
            Err(error) => {
                let error = match error {
                    error @ (Error::Io { .. } | Error::Corrupt { .. }) => self.shared.fail(error),
                    error => error,
                };
                self.end_large(large, Err(error));
            }
        }
    }

    /// Makes a large commit, all of whose parts are in the log, a commit.
    fn close_large(&mut self, large: &mut LargeCommit) -> Result<()> {
        large.require_untouched()?;
        let timestamp = self.clock + 1;
        let changed = large.count(&mut self.counts)?;
        if let Some(log) = &mut self.log {
            if let Err(error) = large.write_counts(log, self.clock, &mut self.body) {
                return Err(self.fail_unless_full(error));
            }
            large.close(timestamp, &mut self.body);
            if let Err(error) = log.append(&self.body, timestamp) {
                return Err(self.fail_unless_full(error));
            }
        }
        let (writes, first) = large.take();
        if let (Some(log), Some(first)) = (&self.log, first) {
            log.files().end_large(first, Some(timestamp));
        }
        let entry = Entry {
            is_durable: true,
            ..Entry::default()
        };
        self.enter(Commit::new(timestamp, writes, true), &entry)?;
        self.counts.note(changed);
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn end_large(&mut self, large: LargeCommit, result: Result<()>) {
        if let (Some(log), Some(first), Err(_)) = (&self.log, large.first_part(), &result) {
            log.files().end_large(first, None);
        }
        large.answer(result);
        self.hand_over();
    }

    /// A full disk refuses the commit, and no more; any other error ends writing.
    fn fail_unless_full(&self, error: Error) -> Error {
        if matches!(error, Error::DiskFull { .. }) {
            self.shared.disk_is_low.store(true, Ordering::Relaxed);
            return error;
        }
        self.shared.fail(error)
    }

    /// Ends what is under way, then everything below.
    pub(super) fn close(&mut self) -> Result<()> {
        while self.large.is_some() || !self.large_waiting.is_empty() {
            self.step_large();
            if self.shared.memtable.has_large() {
                std::thread::yield_now();
            }
        }
        let synced = self.sync();
        self.shared.closed.store(true, Ordering::Release);
        self.checkpointer.stop();
        self.applier.stop();
        synced?;
        if let Some(failure) = self.shared.failure() {
            return Err(failure);
        }
        self.shared.engine.close()?;
        self.mark()?;
        if let Some(log) = &self.log {
            log.files().recycle(self.shared.applied.load(Ordering::Acquire))?;
        }
        Ok(())
    }
}

/// The keys of a batch that nobody reads.
fn unseen_keys(batch: &Batch) -> impl Iterator<Item = Vec<u8>> + '_ {
    let writes = batch.writes.iter().filter(|_| batch.unseen);
    writes.map(|write| write.key().to_vec())
}
