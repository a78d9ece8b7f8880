//! The seam to the ordered key-value store: what the rest of Keyspan sees of any engine. Knows nothing of what a key
//! means. `mvcc` makes a `Store` of any embedded `Engine`; `memory`, `sled` and `fjall` are engines, `cache` stands above those on disk; `conformance` is the one
//! suite every store passes.
//!
//! Keys are 1 or more bytes and compare as unsigned byte strings. Values are 0 or more bytes.

mod cache;
mod capabilities;
mod check_log;
mod disk;
pub mod engine;
pub mod fjall;
mod format;
mod format_1;
mod inspect;
mod kind;
mod locks;
mod log;
mod machine;
pub mod memory;
pub mod mvcc;
mod open;
mod options;
mod own_thread;
mod page;
mod permissions;
mod server_memory;
pub mod sled;
mod wall_clock;

#[cfg(test)]
pub(crate) mod behind_a_network;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod crash;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod engine_tests;
#[cfg(test)]
mod mirror;
#[cfg(test)]
mod open_tests;

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;

pub use crate::codec::KeyRange;
use crate::codec::expiry::ExpiryRule;
use crate::{Error, Result};
pub use capabilities::Capabilities;
pub use check_log::check_log;
#[cfg(test)]
pub(crate) use disk::simulated::SimulatedDisk;
pub use inspect::inspect_store;
pub use kind::StoreKind;
pub use locks::{
    BRIEF_SESSION, HeldLocks, LockMode, LockModes, LockOwner, LockPolicy, LockTable, LockWait, LocksToEnd,
    RangeState, Unlocked, Wanted, WantedRange,
};
pub use machine::{address_bytes_max, default_statements_bytes};
pub use open::open_store;
pub use options::StoreOptions;
pub use own_thread::serve_on_this_thread;
pub use page::{Entry, KnownOfAll, Page};
pub use server_memory::{
    ACCOUNT_BYTES_SMALL, CountedBytes, MemoryAccount, ProcessBytes, ServerMemory, out_of_server_memory,
};
pub use wall_clock::{KeptMoment, WallClock};

/// What a scan walks, and how.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    /// Sorted, disjoint, non-empty.
    pub ranges: Vec<KeyRange>,
    /// From the last key to the first.
    pub reverse: bool,
    /// Leave values out (pages then hold empty values).
    pub keys_only: bool,
    /// Everything is wanted: the next page may be read while the last one is used.
    pub read_ahead: bool,
    /// A page ends after this many rows …
    pub page_rows_max: usize,
    /// … or when keys and values reach this many bytes; a page holds at least one row, however large.
    pub page_bytes_max: usize,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Store the value under the key, replacing any.
    Put {
        /// One or more bytes.
        key: Vec<u8>,
        /// Zero or more bytes.
        value: Vec<u8>,
    },
    /// Remove the key, if there.
    Delete {
        /// One or more bytes.
        key: Vec<u8>,
    },
}

/// What a commit applies, all or nothing.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The snapshot the writes were computed from; needed when `unchanged`, `checked` or `untouched` is not empty.
    pub snapshot: Option<Arc<dyn Snapshot>>,
    /// At most one write a key; any order.
    pub writes: Vec<Write>,
    /// The writes, by their places in `writes`, rising, whose keys count as `unchanged`, too.
    pub checked: Vec<usize>,
    /// The writes, by their places in `writes`, rising, of which it is known whether a value is under their keys now: keys that the
    /// transaction has locked.
    pub known: Vec<(usize, bool)>,
    /// Keys that must not have changed (been put or deleted) since `snapshot`: otherwise `Error::Conflict`, naming one.
    /// A key that was absent then and is absent again counts as unchanged.
    /// A written key that is not listed here is written blind: last one wins.
    pub unchanged: Vec<Vec<u8>>,
    /// Ranges in which nothing may have been put or deleted since `snapshot`: otherwise `Error::ReadConflict`. A watch must have been
    /// open before the snapshot was.
    pub untouched: Vec<KeyRange>,
    /// Durable when it answers (the default is `false` = durable); `true`: visible at once, durable soon.
    pub relaxed: bool,
    /// It frees space, or will: taken even when the disk is nearly full. A batch that only deletes always is.
    pub reclaims: bool,
    /// It changes nothing that anybody reads, now or at a moment that is kept: it touches no range of [`Batch::untouched`].
    pub unseen: bool,
    /// The locks under which it was made. Those of keys that it writes may go to whoever waits for them as soon as its place among the
    /// commits is sure, before it is durable: who gets them is told by [`Locked::rests_on`].
    pub passes_on: Option<Arc<HeldLocks>>,
    /// The locks that are to stand until the store is done with the batch, whoever waits for that, and goes.
    pub locks: Option<Arc<LocksToEnd>>,
}

impl Batch {
    /// The keys that must not have changed.
    pub fn guarded(&self) -> impl Iterator<Item = &[u8]> {
        let checked = self.checked.iter().filter_map(|at| self.writes.get(*at));
        self.unchanged
            .iter()
            .map(Vec::as_slice)
            .chain(checked.map(Write::key))
    }
}

impl Write {
    /// The key it writes.
    pub fn key(&self) -> &[u8] {
        match self {
            Write::Put { key, .. } | Write::Delete { key } => key,
        }
    }

    /// The key's new value; `None`: removed.
    pub fn value(&self) -> Option<&[u8]> {
        match self {
            Write::Put { value, .. } => Some(value),
            Write::Delete { .. } => None,
        }
    }

    /// Bytes of key and value.
    pub fn bytes(&self) -> usize {
        self.key().len() + self.value().map_or(0, <[u8]>::len)
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Default)]
pub struct StoreStats {
    /// Bytes on disk (or in memory for the memory store).
    pub size_bytes: u64,
    /// Open snapshots.
    pub snapshots: usize,
    /// Bytes that the undo map holds for them.
    pub undo_bytes: usize,
    /// Above so many the oldest snapshots end.
    pub undo_bytes_max: usize,
    /// Commits since start, and the groups (fsyncs) they took.
    pub commits: u64,
    /// See `commits`.
    pub commit_groups: u64,
}

/// An ordered, transactional key-value store.
pub trait Store: Debug + Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// A consistent view of everything committed before the call, for as long as it is held.
    fn snapshot(&self) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>> {
        self.snapshot_after(0)
    }
    /// The same, and of what was committed up to this number ([`Locked::rests_on`]), which may not be durable yet.
    fn snapshot_after(&self, commit: u64) -> BoxFuture<'_, Result<Arc<dyn Snapshot>>>;
    /// The number of the newest commit whose locks may have been passed on ([`Batch::passes_on`]).
    fn newest_commit(&self) -> u64;
    /// Waits until the commit of this number is durable, as it was asked to be; 0 is. Errors: `Io`, `Shutdown`; whoever was told of it was told too early.
    fn make_durable(&self, commit: u64) -> BoxFuture<'_, Result<()>>;
    /// Applies a batch, all or nothing; when it answers, the batch is visible to new snapshots and durable.
    /// Errors: `Conflict`, `SnapshotTooOld`, `Shutdown`, 53100; after these nothing of the batch is applied. `Io`: the
    /// store has failed (see [`Store::failed`]), and whether the batch is there shows when it is opened again: whole, or not.
    /// `OutcomeUnknown`: whether it is there shows when it is read; a store in this process always knows.
    fn commit(&self, batch: Batch) -> BoxFuture<'_, Result<()>>;
    /// The locks of a transaction that begins, of the session (a process id; 0: none). None yet.
    fn locks(&self, session: i32) -> HeldLocks;
    /// Locks keys for a transaction, waiting for those in its way, and tells what is committed under them then: nobody changes that
    /// who locks what he writes, until the locks are given up. `since`: what was read until now; `asks`: what is wanted. Errors: 40P01, 55P03, 53200,
    /// `SnapshotTooOld`; what was locked until then stays so.
    fn lock<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: Wanted<'a>,
        since: &'a Arc<dyn Snapshot>,
        asks: LockAsks,
    ) -> BoxFuture<'a, Result<Locked>>;
    /// Locks the whole range of some keys as [`Store::lock`] locks keys, and answers what [`Locked::rests_on`] would be. It never waits:
    /// where others are in the way, or the range is not as it should be, or the store has no such locks, it locks nothing (`None`). Errors:
    /// 53200, `SnapshotTooOld`, `Io`.
    fn lock_range<'a>(
        &'a self,
        locks: &'a HeldLocks,
        wanted: WantedRange<'a>,
        since: &'a Arc<dyn Snapshot>,
    ) -> BoxFuture<'a, Result<Option<u64>>>;
    /// As long as it is held the store remembers which keys commits write, for [`Store::require_untouched`].
    fn watch(&self) -> Box<dyn WriteWatch>;
    /// Errors: `ReadConflict` when something was put or deleted in the ranges since the snapshot, or when the store does not know any more.
    fn require_untouched(&self, since: &Arc<dyn Snapshot>, ranges: &[KeyRange]) -> Result<()>;
    /// The locks of all transactions.
    fn lock_table(&self) -> &Arc<LockTable>;
    /// The time of day by which its rows are over.
    fn clock(&self) -> &Arc<WallClock>;
    /// Removes every key of the range by pages (each page one commit); for dropped tables. The commit that dropped them is visible: no
    /// snapshot of it or a later commit is used to read or write there, and no commit to it begins. Those that are under way come first. Safe
    /// to repeat.
    fn delete_range(&self, range: KeyRange) -> BoxFuture<'_, Result<()>>;
    /// When it answers, what was committed before the call stands in the engine's files, and the segments of the log that nobody needs any
    /// more are free for the next commits. Nothing, for a store without a disk.
    fn checkpoint(&self) -> BoxFuture<'_, Result<()>>;
    /// Up to `parts - 1` sorted keys inside the range that cut it into parts of about the same size.
    fn split_points(&self, range: KeyRange, parts: usize) -> BoxFuture<'_, Result<Vec<Vec<u8>>>>;
    /// Figures for monitoring.
    fn stats(&self) -> StoreStats;
    /// Ends the store: commits in flight finish, later calls fail with `Shutdown`.
    fn close(&self) -> BoxFuture<'_, Result<()>>;
    /// Resolves with the cause once the store has failed for good (its engine or its log could not be written): the
    /// process is to end then. Never, for a store that cannot fail. May be called any number of times.
    fn failed(&self) -> BoxFuture<'static, Error> {
        Box::pin(std::future::pending())
    }
}

/// What is asked of keys once they are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockAsks {
    /// Which have changed.
    Changes,
    /// What is committed under them.
    Values,
    /// Both.
    ChangesAndValues,
}

impl LockAsks {
    fn for_changes(self) -> bool {
        self != LockAsks::Values
    }

    fn for_values(self) -> bool {
        self != LockAsks::Changes
    }
}

/// What came of locking keys.
#[derive(Debug, Clone, Default)]
pub struct Locked {
    /// The keys that are not locked.
    pub unlocked: Unlocked,
    /// Places of the keys, rising, that were put or deleted since the snapshot; of none when that was not asked.
    pub changed: Vec<usize>,
    /// The values that are committed under the keys, whatever the snapshot sees; of none when they were not asked for.
    pub values: Values,
    /// The number of the newest commit that wrote one of the keys, if that may not be durable yet; else 0. Whoever asked reads by
    /// [`Store::snapshot_after`] it from now on, and tells nobody of what he reads until it is durable.
    pub rests_on: u64,
}

/// See [`Store::watch`].
pub trait WriteWatch: Debug + Send + Sync {
    /// Whether it was open in time for this snapshot: else another is to be taken.
    fn covers(&self, snapshot: &Arc<dyn Snapshot>) -> bool;
}

/// A consistent view of a store. `Any`, so that a store knows its own snapshot again in a [`Batch`].
pub trait Snapshot: Any + Debug + Send + Sync {
    /// The values of `keys`, in the order asked, duplicates and misses included. Errors: `SnapshotTooOld`, `Io`.
    fn get_many<'a>(&'a self, keys: &'a [Vec<u8>]) -> BoxFuture<'a, Result<Values>>;
    /// A scan over the ranges of the request; nothing is read before the first page is asked for.
    fn scan(&self, request: ScanRequest) -> Box<dyn Scan>;
}

/// A walk over key ranges, one page at a time. It may be dropped at any moment.
pub trait Scan: Debug + Send {
    /// Clears `page` and fills it with the next rows; an empty page means the end. Page borders never split a row.
    fn next_page<'a>(&'a mut self, page: &'a mut Page) -> BoxFuture<'a, Result<()>>;
    /// Goes on at `key` (in the scan's direction), or where it is when it is already past it.
    fn skip_to(&mut self, key: &[u8]);
    /// From now on pages tell, where that is known without a look at each row, from when on the first of them is over by this rule
    /// ([`KnownOfAll::over_from`]). All ranges of the scan are of one table.
    fn tell_over(&mut self, _rule: &Arc<ExpiryRule>) {}
}

/// The answer of `get_many`: one optional value a key asked.
#[derive(Debug, Clone, Default)]
pub struct Values {
    bytes: Vec<u8>,
    /// (start, end) in `bytes`; `None` for a miss.
    spans: Vec<Option<(usize, usize)>>,
}

impl Values {
    /// Room for `keys` answers.
    pub fn with_capacity(keys: usize) -> Values {
        Values {
            bytes: Vec::new(),
            spans: Vec::with_capacity(keys),
        }
    }
    /// Appends the next answer.
    pub fn push(&mut self, value: Option<&[u8]>) {
        self.spans.push(value.map(|value| {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(value);
            (start, self.bytes.len())
        }));
    }
    /// The answer for the key at `index`.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let (start, end) = (*self.spans.get(index)?)?;
        Some(&self.bytes[start..end])
    }
    /// The key at `index` has no value any more.
    pub fn forget(&mut self, index: usize) {
        if let Some(span) = self.spans.get_mut(index) {
            *span = None;
        }
    }
    /// How many keys were asked for.
    pub fn len(&self) -> usize {
        self.spans.len()
    }
    /// Whether no key was asked for.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}
