//! The applier: the one thread that writes to the engine. It takes commits that are durable in the log, in order, keeps
//! what they replace for the snapshots that see it, and lets them leave the memtable. The committer feeds it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use super::commit::Commit;
use super::limits::{
    APPLY_LINGER, APPLY_LOOK, COMMITS_BEHIND_LARGE_MAX, GATHERED_WRITES_MAX, LARGE_LINGER,
    LARGE_WAITING_PART, PIECE_BYTES_MAX, PIECE_WRITES_MAX,
};
use super::state::{Shared, caught, start_thread};
use super::stored::{put_clock, put_write, split_stored};
use super::undo::Replaced;
use crate::Result;
use crate::store::Write;
use crate::store::engine::EngineBatch;
use crate::store::log::Timestamp;

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Applier {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// Commits on their way to the engine. The thread is woken for the first and when there are enough, not for each.
#[derive(Debug)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
    /// Bytes of large commits that may wait for a better time.
    large_bytes_max: usize,
}

#[derive(Debug, Default)]
struct QueueState {
    /// With the time that they came.
    commits: VecDeque<(Instant, Arc<Commit>)>,
    small: Amount,
    large: Amount,
    is_ended: bool,
}

/// How much commits write.
#[derive(Debug, Default)]
struct Amount {
    writes: usize,
    bytes: usize,
}

impl Applier {
    /// Starts the thread. Error: `Io`.
    pub(super) fn start(shared: Arc<Shared>) -> Result<Applier> {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            changed: Condvar::new(),
            large_bytes_max: shared.options.large_commits_bytes_max / LARGE_WAITING_PART,
        });
        let commits = Arc::clone(&queue);
        let thread = start_thread("keyspan-apply", move || run(&shared, &commits))?;
        Ok(Applier {
            queue,
            thread: Some(thread),
        })
    }

    /// Hands over durable commits, oldest first. After a failure nobody takes them any more; they stay in the memtable, and in
    /// the log.
    pub(super) fn send(&self, commits: impl Iterator<Item = Arc<Commit>>) {
        let (mut state, now) = (self.queue.lock(), Instant::now());
        let (was_empty, was_enough) = (state.commits.is_empty(), self.queue.is_enough(&state));
        for commit in commits {
            let amount = state.amount_of(&commit);
            amount.writes += commit.writes.len();
            amount.bytes += commit.bytes;
            state.commits.push_back((now, commit));
        }
        let wakes = was_empty && !state.commits.is_empty() || !was_enough && self.queue.is_enough(&state);
        drop(state);
        if wakes {
            self.queue.changed.notify_one();
        }
    }

    /// Waits until everything handed over is in the engine, or has failed to get there.
    pub(super) fn stop(&mut self) {
        self.queue.lock().is_ended = true;
        self.queue.changed.notify_one();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the apply thread panicked");
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest commits, as many as go into one batch of the engine's: waits for the first, and then for more, but not
    /// for long, and not while they are in the way of readers. Empty at the end.
    fn next(&self, are_in_the_way: impl Fn() -> bool) -> Vec<Arc<Commit>> {
        let state = self.lock();
        let state = self
            .changed
            .wait_while(state, |state| state.commits.is_empty() && !state.is_ended)
            .unwrap_or_else(PoisonError::into_inner);
        let lingers_until = state.lingers_until();
        let mut state = state;
        let waits = |state: &QueueState| !self.is_enough(state) && !state.is_ended;
        while waits(&state) && lingers_until.is_some_and(|until| Instant::now() < until) && !are_in_the_way()
        {
            (state, _) = self
                .changed
                .wait_timeout_while(state, APPLY_LOOK, |state| waits(state))
                .unwrap_or_else(PoisonError::into_inner);
        }
        let mut together: Vec<Arc<Commit>> = Vec::new();
        while let Some(commit) = state.commits.front().map(|(_, commit)| Arc::clone(commit))
            && (together.is_empty() || !commit.is_large && !is_full(&together))
        {
            state.commits.pop_front();
            let amount = state.amount_of(&commit);
            amount.writes -= commit.writes.len();
            amount.bytes -= commit.bytes;
            together.push(commit);
        }
        together
    }

    fn is_enough(&self, state: &QueueState) -> bool {
        let small = &state.small;
        small.writes >= GATHERED_WRITES_MAX
            || small.bytes >= PIECE_BYTES_MAX
            || state.large.bytes > self.large_bytes_max
            || state.large.bytes > 0 && state.commits.len() > COMMITS_BEHIND_LARGE_MAX
    }
}

impl QueueState {
    fn amount_of(&mut self, commit: &Commit) -> &mut Amount {
        match commit.is_large {
            true => &mut self.large,
            false => &mut self.small,
        }
    }

    /// How long the oldest may wait for others.
    fn lingers_until(&self) -> Option<Instant> {
        let (came, oldest) = self.commits.front()?;
        Some(
            *came
                + if oldest.is_large {
                    LARGE_LINGER
                } else {
                    APPLY_LINGER
                },
        )
    }
}

fn run(shared: &Shared, queue: &Queue) {
    loop {
        let commits = queue.next(|| shared.memtable.take_in_the_way());
        if commits.is_empty() {
            return;
        }
        if let Err(error) = caught("apply", || apply(shared, &commits)) {
            shared.fail(error);
            return;
        }
    }
}

/// Whether no other commit goes into the engine's batch.
fn is_full(commits: &[Arc<Commit>]) -> bool {
    commits.iter().any(|commit| commit.is_large)
        || commits.iter().map(|commit| commit.writes.len()).sum::<usize>() >= GATHERED_WRITES_MAX
        || commits.iter().map(|commit| commit.bytes).sum::<usize>() >= PIECE_BYTES_MAX
}

/// Applies commits, small ones together, but for what is of no use any more, and takes them from the memtable.
fn apply(shared: &Shared, commits: &[Arc<Commit>]) -> Result<()> {
    let Some(last) = commits.last() else { return Ok(()) };
    let writes = commits
        .iter()
        .flat_map(|commit| commit.writes.iter().map(|write| (commit.timestamp, write)));
    let mut left = writes.peekable();
    while left.peek().is_some() {
        let (mut piece, mut bytes) = (Vec::new(), 0);
        let abandoned = shared.abandoned.now(&*shared.engine)?;
        while let Some((timestamp, write)) =
            left.next_if(|_| !last.is_large || piece.len() < PIECE_WRITES_MAX && bytes < PIECE_BYTES_MAX)
        {
            if !abandoned.has(write.key(), timestamp) {
                bytes += write.bytes();
                piece.push((timestamp, write));
            }
        }
        let clock = left.peek().is_none().then_some(last.timestamp);
        apply_piece(shared, &piece, clock)?;
    }
    shared.applied.store(last.timestamp, Ordering::Release);
    shared.memtable.remove(commits);
    Ok(())
}

/// One batch of the engine's; the last of its commit also moves the clock.
fn apply_piece(shared: &Shared, piece: &[(Timestamp, &Write)], clock: Option<Timestamp>) -> Result<()> {
    let newest = piece.last().map_or(0, |(timestamp, _)| *timestamp);
    if shared.undo.has_snapshot_before(newest) {
        shared.undo.record(replaced(shared, piece)?);
    }
    let mut batch = EngineBatch::default();
    for (timestamp, write) in piece {
        put_write(&mut batch, *timestamp, write.key(), write.value());
    }
    if let Some(clock) = clock {
        put_clock(&mut batch, clock, shared.origin);
    }
    shared.engine.apply(&batch)
}

/// What the writes replace: in the engine, or one another.
fn replaced(shared: &Shared, piece: &[(Timestamp, &Write)]) -> Result<Vec<Replaced>> {
    let mut replaced = Vec::new();
    let mut earlier: HashMap<&[u8], (Timestamp, &Write)> = HashMap::new();
    for &(until, write) in piece {
        let key = write.key();
        match earlier.insert(key, (until, write)) {
            Some((from, before)) => replaced.extend(before.value().map(|value| Replaced {
                key: key.to_vec(),
                from,
                until,
                value: value.to_vec(),
            })),
            None => {
                let mut damage = Ok(());
                shared.engine.get(key, &mut |stored| match split_stored(stored) {
                    Ok((from, value)) => replaced.push(Replaced {
                        key: key.to_vec(),
                        from,
                        until,
                        value: value.to_vec(),
                    }),
                    Err(error) => damage = Err(error),
                })?;
                damage?;
            }
        }
    }
    Ok(replaced)
}
