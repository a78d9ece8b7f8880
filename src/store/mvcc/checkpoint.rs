//! The checkpoint: a thread that makes the engine durable now and then and recycles the segments of the log whose commits
//! the engine has for sure; it also makes spare segments ahead and watches the room on the disk. It stops no commit.
//!
//! When the disk is nearly full, it makes a checkpoint of whatever has come since the last, so that the log takes as little as it can.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::room::Room;
use super::state::{Shared, caught, start_thread};
use crate::store::log::LogFiles;
use crate::{Error, Result};

/// How often it looks what there is to do, unless it is woken.
const INTERVAL: Duration = Duration::from_millis(500);

/// With less room than so many times the reserve no more spare segments are kept than are needed.
const AMPLE_TIMES: u64 = 2;

/// Has the thread look at once.
#[derive(Debug, Clone)]
pub(super) struct Waker {
    state: Arc<State>,
    has_thread: bool,
}

impl Waker {
    pub(super) fn look_now(&self) {
        self.state.set(|wanted| wanted.look = true);
    }

    /// Has it make a checkpoint; whether there is anybody who does.
    pub(super) fn make_now(&self) -> bool {
        self.state
            .set(|wanted| (wanted.look, wanted.checkpoint) = (true, true));
        self.has_thread
    }
}

/// The way to the thread; without a log there is none.
#[derive(Debug)]
pub(super) struct Checkpointer {
    state: Arc<State>,
    files: Option<Arc<LogFiles>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

#[derive(Debug, Default, Clone, Copy)]
struct Wanted {
    look: bool,
    /// Whatever has come since the last.
    checkpoint: bool,
    stop: bool,
}

impl Checkpointer {
    /// Starts the thread, if there is a log. `has_replayed`: its commits were replayed, and a checkpoint is due at once, lest crashes
    /// in a row leave a segment each, and each start read them all; so it is where the last one ended before it had let go of segments
    /// whose commits the engine has. Error: `Io`.
    pub(super) fn start(
        shared: Arc<Shared>,
        files: Option<Arc<LogFiles>>,
        has_replayed: bool,
    ) -> Result<Checkpointer> {
        let state = Arc::new(State::default());
        let thread = match &files {
            Some(files) => {
                let (state, files) = (Arc::clone(&state), Arc::clone(files));
                let log_end = shared.log_end.load(Ordering::Relaxed);
                let has_old_segments = files.has_old_segments();
                let mut checkpoints = Checkpoints {
                    shared,
                    files,
                    last: Instant::now(),
                    last_end: log_end,
                    last_clock: 0,
                    is_due: has_replayed || has_old_segments,
                    room: Room::default(),
                };
                Some(start_thread("keyspan-checkpoint", move || {
                    checkpoints.run(&state)
                })?)
            }
            None => None,
        };
        Ok(Checkpointer { state, files, thread })
    }

    /// A way to it for sessions.
    pub(super) fn waker(&self) -> Waker {
        Waker {
            state: Arc::clone(&self.state),
            has_thread: self.thread.is_some(),
        }
    }

    /// Has the thread look at once when a spare segment is missing. Called after each sync of the log.
    pub(super) fn wake_if_needed(&self) {
        if self.files.as_ref().is_some_and(|files| files.needs_spares()) {
            self.state.set(|wanted| wanted.look = true);
        }
    }

    /// Waits until the thread has ended.
    pub(super) fn stop(&mut self) {
        self.state.set(|wanted| wanted.stop = true);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the checkpoint thread panicked");
        }
    }
}

impl State {
    fn set(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until something is wanted, or the interval has passed.
    fn wait(&self) -> Wanted {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut wanted, _) = self
            .changed
            .wait_timeout_while(wanted, INTERVAL, |wanted| !wanted.look && !wanted.stop)
            .unwrap_or_else(PoisonError::into_inner);
        let found = *wanted;
        (wanted.look, wanted.checkpoint) = (false, false);
        found
    }
}

/// The thread's own state.
struct Checkpoints {
    shared: Arc<Shared>,
    files: Arc<LogFiles>,
    /// When the last checkpoint ended, where the log ended when it began, and the commit that it made durable.
    last: Instant,
    last_end: u64,
    last_clock: u64,
    /// The next comes at once.
    is_due: bool,
    room: Room,
}

impl Checkpoints {
    fn run(&mut self, state: &State) {
        loop {
            if let Err(error) = caught("checkpoint", || self.look()) {
                self.shared.fail(error);
                break;
            }
            let wanted = state.wait();
            if wanted.stop || self.shared.failure().is_some() {
                break;
            }
            self.is_due |= wanted.checkpoint;
        }
        // Nobody is to wait for another look.
        self.shared.checkpointed.send_replace(u64::MAX);
    }

    fn look(&mut self) -> Result<()> {
        let mut room = self.measure_room()?;
        let is_tight = room.is_tight();
        let options = &self.shared.options;
        let end = self.shared.log_end.load(Ordering::Relaxed);
        let has_news = end > self.last_end || self.shared.applied.load(Ordering::Acquire) > self.last_clock;
        let is_due = std::mem::take(&mut self.is_due)
            || end - self.last_end >= options.checkpoint_bytes
            || self.last.elapsed() >= options.checkpoint_interval && end > self.last_end
            || is_tight && has_news;
        if is_due {
            self.shared.makes_room.store(is_tight, Ordering::Relaxed);
            self.checkpoint(end)?;
        }
        if is_tight && is_due {
            room = self.measure_room()?;
        }
        self.publish(&room);
        self.shared.makes_room.store(false, Ordering::Relaxed);
        self.shared.checkpointed.send_replace(self.last_clock);
        match self.files.make_spares() {
            Err(Error::DiskFull { .. }) => {
                self.shared.disk_is_low.store(true, Ordering::Relaxed);
                Ok(())
            }
            made => made,
        }
    }

    /// What the applier has handed over when it begins is durable when it ends.
    fn checkpoint(&mut self, log_end: u64) -> Result<()> {
        let clock = self.shared.applied.load(Ordering::Acquire);
        if clock > self.last_clock {
            self.shared.engine.make_durable()?;
            self.files.recycle(clock)?;
        }
        self.last = Instant::now();
        self.last_end = log_end;
        self.last_clock = clock;
        Ok(())
    }

    /// Measures the room there is, and has spare segments kept by it.
    fn measure_room(&mut self) -> Result<Measured> {
        let shared = &self.shared;
        let free = self.files.free_bytes()?;
        let reserve = shared.options.disk_reserve_bytes;
        self.files
            .keep_few_spares(free < reserve.saturating_mul(AMPLE_TIMES))?;
        let log_end = shared.log_end.load(Ordering::Relaxed);
        let applied = shared.applied.load(Ordering::Acquire);
        let is_low = self
            .room
            .is_low(&*shared.engine, (free, reserve), log_end, applied)?;
        Ok(Measured {
            free,
            reserve,
            is_low,
        })
    }

    /// From here on commits are taken or refused by what was measured.
    fn publish(&self, room: &Measured) {
        let (shared, free) = (&self.shared, room.free);
        shared.free_bytes.store(free, Ordering::Relaxed);
        if shared.disk_is_low.swap(room.is_low, Ordering::Relaxed) != room.is_low {
            match room.is_low {
                true => tracing::warn!(
                    free_bytes = free,
                    "the disk is nearly full: only what frees space is written until there is room"
                ),
                false => tracing::info!(free_bytes = free, "there is room on the disk again"),
            }
        }
    }
}

/// What is free on the disk and what is to stay so, in bytes, and whether it is less even with what the engine's files can take.
struct Measured {
    free: u64,
    reserve: u64,
    is_low: bool,
}

impl Measured {
    /// Whether less of the disk is free than the reserve.
    fn is_tight(&self) -> bool {
        self.free < self.reserve
    }
}
