//! The committer: the one thread that writes to the engine, in groups (see the module above for the order of steps).
//! `MvccStore` starts it and talks to it through a channel; it knows nothing of sessions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::snapshot::{MvccSnapshot, View};
use super::undo::Replaced;
use super::{
    BATCH_BYTES_MAX, BATCH_WRITES_MAX, CLOCK_KEY, Files, MVCC_FORMAT, PIECE_BYTES_MAX, PIECE_WRITES_MAX,
    RELAXED_DURABLE_MS, Shared, Timestamp, split_stored,
};
use crate::store::engine::EngineBatch;
use crate::store::{Batch, Write};
use crate::{Error, Result};

/// A group ends at this many batches …
const GROUP_BATCHES_MAX: usize = 256;
/// … or when its writes reach this many bytes, or `BATCH_WRITES_MAX`; it holds at least one batch, however large.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// What sessions ask of the committer.
pub(super) enum Request {
    /// Apply a batch. The place among the waiting is given back when the committer has answered.
    Commit {
        batch: Batch,
        answer: oneshot::Sender<Result<()>>,
        place: OwnedSemaphorePermit,
    },
    /// Finish what waits, close the engine, end.
    Close { answer: oneshot::Sender<Result<()>> },
}

/// A batch that waits for its group.
struct Waiting {
    batch: Batch,
    answer: oneshot::Sender<Result<()>>,
    place: OwnedSemaphorePermit,
}

/// The state of the commit thread.
pub(super) struct Committer {
    shared: Arc<Shared>,
    requests: Receiver<Request>,
    /// Timestamp of the newest group in the engine.
    clock: Timestamp,
    /// When the oldest relaxed group not yet durable must be.
    durable_at: Option<Instant>,
    /// `None` for an engine without a disk.
    files: Option<Files>,
    /// Set when the engine failed: nothing is applied any more.
    failure: Option<Error>,
}

/// What the committer found to do.
enum Work {
    Group {
        relaxed: Vec<Waiting>,
        durable: Vec<Waiting>,
        close: Option<oneshot::Sender<Result<()>>>,
    },
    MakeDurable,
    End,
}

impl Committer {
    pub(super) fn new(
        shared: Arc<Shared>,
        requests: Receiver<Request>,
        clock: Timestamp,
        files: Option<Files>,
    ) -> Committer {
        Committer {
            shared,
            requests,
            clock,
            durable_at: None,
            files,
            failure: None,
        }
    }

    /// Runs until the store is closed or dropped. What arrives after that is answered `Shutdown` by the channel's end.
    pub(super) fn run(mut self) {
        loop {
            match self.next_work() {
                Work::Group {
                    relaxed,
                    durable,
                    close,
                } => {
                    self.commit(relaxed, false);
                    self.commit(durable, true);
                    if let Some(answer) = close {
                        let _ = answer.send(self.close());
                        return;
                    }
                }
                Work::MakeDurable => {
                    // Nobody waits for it; a failure is kept and answers every later batch.
                    let _ = self.make_durable();
                }
                Work::End => {
                    if let Err(error) = self.close() {
                        tracing::error!(%error, "the store did not close cleanly");
                    }
                    return;
                }
            }
        }
    }

    /// Waits for a first request, then takes those that have come meanwhile, but never waits for more.
    fn next_work(&self) -> Work {
        let first = match self.durable_at {
            None => self.requests.recv().map_err(|_| Work::End),
            Some(at) => self
                .requests
                .recv_timeout(at.saturating_duration_since(Instant::now()))
                .map_err(|error| match error {
                    RecvTimeoutError::Timeout => Work::MakeDurable,
                    RecvTimeoutError::Disconnected => Work::End,
                }),
        };
        let mut next = match first {
            Ok(request) => request,
            Err(work) => return work,
        };
        let (mut relaxed, mut durable, mut writes, mut bytes) = (Vec::new(), Vec::new(), 0, 0);
        loop {
            match next {
                Request::Close { answer } => {
                    return Work::Group {
                        relaxed,
                        durable,
                        close: Some(answer),
                    };
                }
                Request::Commit { batch, answer, place } => {
                    writes += batch.writes.len();
                    bytes += batch.writes.iter().map(write_bytes).sum::<usize>();
                    let group = if batch.relaxed { &mut relaxed } else { &mut durable };
                    group.push(Waiting { batch, answer, place });
                }
            }
            let is_full = writes >= BATCH_WRITES_MAX || bytes >= GROUP_BYTES_MAX;
            if is_full || relaxed.len() + durable.len() >= GROUP_BATCHES_MAX {
                break;
            }
            next = match self.requests.try_recv() {
                Ok(request) => request,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            };
        }
        Work::Group {
            relaxed,
            durable,
            close: None,
        }
    }

    /// Commits one group and answers every batch of it.
    fn commit(&mut self, waiting: Vec<Waiting>, durable: bool) {
        if waiting.is_empty() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let mut group = Group::new(&shared);
        let verdicts: Vec<Result<()>> = waiting
            .iter()
            .map(|waiting| group.admit(&waiting.batch))
            .collect();
        let admitted = verdicts.iter().filter(|verdict| verdict.is_ok()).count() as u64;
        let Group { writes, replaced, .. } = group;
        let applied = self.apply(writes, replaced, durable);
        if applied.is_ok() {
            self.shared.commits.fetch_add(admitted, Ordering::Relaxed);
        }
        // The batches and their snapshots go before the answers, so that whoever has an answer finds what they held gone.
        let answers: Vec<_> = waiting
            .into_iter()
            .map(|Waiting { answer, place, .. }| (answer, place))
            .collect();
        for ((answer, _place), verdict) in answers.into_iter().zip(verdicts) {
            // A session that has gone does not want its answer.
            let _ = answer.send(verdict.and_then(|()| applied.clone()));
        }
    }

    fn apply(
        &mut self,
        writes: BTreeMap<&[u8], &Write>,
        replaced: Vec<Replaced>,
        durable: bool,
    ) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if writes.is_empty() {
            return if durable { self.make_durable() } else { Ok(()) };
        }
        let timestamp = self.clock + 1;
        let is_large = self.files.is_some() && is_large(&writes);
        if is_large {
            self.write_journal(timestamp, &writes)?;
        }
        self.shared.undo.record(timestamp, replaced);
        for batch in engine_batches(timestamp, &writes, is_large) {
            if let Err(error) = self.shared.engine.apply(&batch) {
                return Err(self.fail(error));
            }
        }
        self.clock = timestamp;
        self.durable_at
            .get_or_insert_with(|| Instant::now() + Duration::from_millis(RELAXED_DURABLE_MS));
        if durable || is_large {
            self.make_durable()?;
        }
        if is_large {
            self.remove_journal()?;
        }
        self.shared.undo.publish(timestamp);
        self.shared.commit_groups.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Makes a large commit sure to be finished. After an error nothing of it is left.
    fn write_journal(&mut self, timestamp: Timestamp, writes: &BTreeMap<&[u8], &Write>) -> Result<()> {
        self.make_durable()?;
        let Some(files) = &self.files else { return Ok(()) };
        let written = files
            .journal
            .write(timestamp, engine_batches(timestamp, writes, true));
        if written.is_err() {
            self.remove_journal()?;
        }
        written
    }

    fn remove_journal(&mut self) -> Result<()> {
        let Some(files) = &self.files else { return Ok(()) };
        let removed = files.journal.remove();
        removed.map_err(|error| self.fail(error))
    }

    /// Makes everything applied durable, if anything is not.
    fn make_durable(&mut self) -> Result<()> {
        if self.durable_at.take().is_none() {
            return Ok(());
        }
        let clock = self.clock;
        let files = self.files.as_mut();
        let durable = self.shared.engine.make_durable();
        let noted = durable.and_then(|()| files.map_or(Ok(()), |files| files.watermark.note(clock)));
        noted.map_err(|error| self.fail(error))
    }

    /// Remembers that the engine failed; what it holds beyond the last visible commit is not known any more.
    fn fail(&mut self, error: Error) -> Error {
        tracing::error!(%error, "the storage engine failed; the store takes no more writes until a restart");
        self.durable_at = None;
        self.failure = Some(Error::Io {
            action: "commit".to_string(),
            reason: format!("the store takes no more writes until a restart, because of: {error}"),
        });
        error
    }

    fn close(&mut self) -> Result<()> {
        self.shared.closed.store(true, Ordering::Release);
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.shared.engine.close()?;
        self.files
            .as_mut()
            .map_or(Ok(()), |files| files.watermark.write(self.clock))
    }
}

/// Batches admitted to one engine batch.
struct Group<'a> {
    shared: &'a Arc<Shared>,
    /// The last write of each key.
    writes: BTreeMap<&'a [u8], &'a Write>,
    /// What the engine holds under those keys.
    replaced: Vec<Replaced>,
}

impl<'a> Group<'a> {
    fn new(shared: &'a Arc<Shared>) -> Group<'a> {
        Group {
            shared,
            writes: BTreeMap::new(),
            replaced: Vec::new(),
        }
    }

    /// Adds a batch, if none of its `unchanged` keys has changed; an error leaves the group as it was.
    fn admit(&mut self, batch: &'a Batch) -> Result<()> {
        let view = self.view(batch)?;
        let mut unchanged: HashSet<&[u8]> = batch.unchanged.iter().map(Vec::as_slice).collect();
        let mut replaced = Vec::new();
        for write in &batch.writes {
            let key = write_key(write);
            if key.is_empty() {
                return Err(Error::internal("a write of the empty key"));
            }
            let since = if unchanged.remove(key) { view } else { None };
            self.check_group(key, since)?;
            if !self.writes.contains_key(key) {
                let current = self.current(key, true)?;
                self.check_engine(key, current.as_ref().map(|current| current.from), since)?;
                replaced.extend(current);
            }
        }
        for key in unchanged {
            self.check_group(key, view)?;
            let current = self.current(key, false)?;
            self.check_engine(key, current.map(|current| current.from), view)?;
        }
        self.writes
            .extend(batch.writes.iter().map(|write| (write_key(write), write)));
        self.replaced.extend(replaced);
        Ok(())
    }

    /// The snapshot that `unchanged` counts from; `None` when there is nothing to check.
    fn view(&self, batch: &'a Batch) -> Result<Option<&'a View>> {
        if batch.unchanged.is_empty() {
            return Ok(None);
        }
        let snapshot = batch
            .snapshot
            .as_deref()
            .ok_or_else(|| Error::internal("unchanged keys without a snapshot"))?;
        let snapshot: &dyn std::any::Any = snapshot;
        let view = &*snapshot
            .downcast_ref::<MvccSnapshot>()
            .filter(|snapshot| Arc::ptr_eq(&snapshot.view.shared, self.shared))
            .ok_or_else(|| Error::internal("a batch over a snapshot of another store"))?
            .view;
        // Only this thread gives snapshots up, so the answer stands until the group is applied.
        view.check()?;
        Ok(Some(view))
    }

    fn check_group(&self, key: &[u8], since: Option<&View>) -> Result<()> {
        if since.is_some() && self.writes.contains_key(key) {
            Err(conflict(key))
        } else {
            Ok(())
        }
    }

    /// `committed` is when the engine's value of the key was committed, if it has one.
    fn check_engine(&self, key: &[u8], committed: Option<Timestamp>, since: Option<&View>) -> Result<()> {
        let Some(view) = since else { return Ok(()) };
        let changed = match committed {
            Some(committed) => committed > view.timestamp,
            None => self.shared.undo.find(key, view.timestamp).is_some(),
        };
        if changed { Err(conflict(key)) } else { Ok(()) }
    }

    /// What the engine holds under a key; without its value if that is not wanted.
    fn current(&self, key: &[u8], with_value: bool) -> Result<Option<Replaced>> {
        let mut current = Ok(None);
        self.shared.engine.get(key, &mut |stored| {
            current = split_stored(stored).map(|(from, value)| {
                let value = if with_value { value.to_vec() } else { Vec::new() };
                Some(Replaced {
                    key: key.to_vec(),
                    from,
                    value,
                })
            });
        })?;
        current
    }
}

/// Whether the writes are too many for one batch of the engine's.
fn is_large(writes: &BTreeMap<&[u8], &Write>) -> bool {
    writes.len() > BATCH_WRITES_MAX
        || writes.values().map(|write| write_bytes(write)).sum::<usize>() > BATCH_BYTES_MAX
}

/// The writes behind their timestamp, in key order, in pieces or all in one; the last also moves the clock.
fn engine_batches<'a>(
    timestamp: Timestamp,
    writes: &'a BTreeMap<&[u8], &Write>,
    in_pieces: bool,
) -> impl Iterator<Item = EngineBatch> + 'a {
    let stamp = timestamp.to_be_bytes();
    let mut left = writes.values().peekable();
    std::iter::from_fn(move || {
        left.peek()?;
        let mut batch = EngineBatch::default();
        while let Some(write) = left
            .next_if(|_| !in_pieces || batch.len() < PIECE_WRITES_MAX && batch.size_bytes() < PIECE_BYTES_MAX)
        {
            match write {
                Write::Put { key, value } => batch.put(key, &[&stamp, value]),
                Write::Delete { key } => batch.delete(key),
            }
        }
        if left.peek().is_none() {
            batch.put(CLOCK_KEY, &[&stamp, &MVCC_FORMAT.to_be_bytes()]);
        }
        Some(batch)
    })
}

fn write_key(write: &Write) -> &[u8] {
    match write {
        Write::Put { key, .. } | Write::Delete { key } => key,
    }
}

fn write_bytes(write: &Write) -> usize {
    match write {
        Write::Put { key, value } => key.len() + value.len(),
        Write::Delete { key } => key.len(),
    }
}

fn conflict(key: &[u8]) -> Error {
    Error::Conflict { key: key.to_vec() }
}
