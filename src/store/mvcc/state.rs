//! `Shared`: what the threads, snapshots and scans of a store have in common, and whether it is open, has room, or has failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use tokio::sync::watch;

use super::abandoned::Abandoned;
use super::memtable::Memtable;
use super::recent::RecentKeys;
use super::stored::split_stored;
use super::undo::Undo;
use crate::store::engine::Engine;
use crate::store::log::{Origin, Position, Timestamp};
use crate::store::{Batch, LockTable, StoreOptions, WallClock};
use crate::{Error, Result};

/// What the newest commits, but for those that only the undo map knows, did to a key.
pub(super) enum LastWrite {
    Put(Timestamp),
    /// It is not in the engine yet.
    Deleted(Timestamp),
    None,
}

/// What the store's threads, snapshots and scans share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) memtable: Memtable,
    pub(super) undo: Undo,
    pub(super) abandoned: Abandoned,
    pub(super) locks: Arc<LockTable>,
    pub(super) recent: Arc<RecentKeys>,
    pub(super) wall_clock: Arc<WallClock>,
    pub(super) options: StoreOptions,
    /// Whose the commits of this process are.
    pub(super) origin: Origin,
    /// The newest commit in the memtable or the engine: locks of commits up to it may have been passed on. Never below what is visible.
    pub(super) entered: AtomicU64,
    /// The newest commit in the engine.
    pub(super) applied: AtomicU64,
    /// Where the log is durable.
    pub(super) log_end: AtomicU64,
    /// Room on the disk, when it was last measured.
    pub(super) free_bytes: AtomicU64,
    /// There is less of it than is to be left.
    pub(super) disk_is_low: AtomicBool,
    /// There is less room than the reserve, and a checkpoint under way may give some back: whoever takes room waits for it, and is
    /// refused only when it has not.
    pub(super) makes_room: AtomicBool,
    /// The newest commit that was in the engine, for sure, when the checkpointer last looked at the disk.
    pub(super) checkpointed: watch::Sender<Timestamp>,
    pub(super) closed: AtomicBool,
    /// Why nothing is written any more.
    pub(super) failure: watch::Sender<Option<Error>>,
    pub(super) commits: AtomicU64,
    pub(super) commit_groups: AtomicU64,
}

impl Shared {
    /// For a store whose newest commit is `clock`, in the engine and in the log, which ends at `log_end`.
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        options: &StoreOptions,
        clock: Timestamp,
        log_end: Position,
        origin: Origin,
    ) -> Shared {
        Shared {
            engine,
            memtable: Memtable::default(),
            undo: Undo::new(clock, options.undo_bytes_max),
            abandoned: Abandoned::default(),
            locks: Arc::default(),
            recent: RecentKeys::new(clock, options.recent_keys_bytes_max),
            wall_clock: Arc::default(),
            options: options.clone(),
            origin,
            entered: AtomicU64::new(clock),
            applied: AtomicU64::new(clock),
            log_end: AtomicU64::new(log_end),
            free_bytes: AtomicU64::new(u64::MAX),
            disk_is_low: AtomicBool::new(false),
            makes_room: AtomicBool::new(false),
            checkpointed: watch::Sender::new(0),
            closed: AtomicBool::new(false),
            failure: watch::Sender::new(None),
            commits: AtomicU64::new(0),
            commit_groups: AtomicU64::new(0),
        }
    }

    pub(super) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            Err(Error::Shutdown)
        } else {
            Ok(())
        }
    }

    /// Error 53100 when the disk is nearly full and the batch would take more of it.
    pub(super) fn check_room(&self, batch: &Batch) -> Result<()> {
        if self.disk_is_low.load(Ordering::Relaxed) && takes_room(batch) {
            Err(Error::DiskFull {
                free_bytes: self.free_bytes.load(Ordering::Relaxed),
                reserve_bytes: self.options.disk_reserve_bytes,
            })
        } else {
            Ok(())
        }
    }

    /// Whether the batch would do better to wait until the checkpoint thread has looked.
    pub(super) fn may_lack_room(&self, batch: &Batch) -> bool {
        (self.makes_room.load(Ordering::Relaxed) || self.disk_is_low.load(Ordering::Relaxed))
            && takes_room(batch)
    }

    /// When the newest value of a key was committed, if it has one now.
    pub(super) fn last_put(&self, key: &[u8]) -> Result<Option<Timestamp>> {
        Ok(match self.last_write(key)? {
            LastWrite::Put(timestamp) => Some(timestamp),
            LastWrite::Deleted(_) | LastWrite::None => None,
        })
    }

    /// What the newest commits in memtable and engine did to a key.
    pub(super) fn last_write(&self, key: &[u8]) -> Result<LastWrite> {
        if let Some((timestamp, is_deleted)) = self.memtable.last_write(key) {
            return Ok(match is_deleted {
                true => LastWrite::Deleted(timestamp),
                false => LastWrite::Put(timestamp),
            });
        }
        let mut found = Ok(LastWrite::None);
        self.engine.get(key, &mut |stored| {
            found = split_stored(stored).map(|(timestamp, _)| LastWrite::Put(timestamp));
        })?;
        found
    }

    /// Whether commits must wait until the applier has brought some to the engine.
    pub(super) fn is_memtable_full(&self) -> bool {
        self.memtable.bytes() > self.options.memtable_bytes_max
    }

    /// Ends all writing; the first reason is kept. Answers the error that later batches get.
    pub(super) fn fail(&self, error: Error) -> Error {
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

    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.borrow().clone()
    }
}

/// Whether the batch needs more of the disk than it gives back.
fn takes_room(batch: &Batch) -> bool {
    !batch.reclaims && batch.writes.iter().any(|write| write.value().is_some())
}

/// Does a thread's work; a panic is an error like others. `who`: the thread.
pub(super) fn caught(who: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(Error::internal(format!("the {who} thread panicked"))))
}

/// Error: `Io`.
pub(super) fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_string())
        .spawn(run)
        .map_err(|error| Error::Io {
            action: format!("could not start the thread {name}"),
            reason: error.to_string(),
        })
}
