//! The numbers that bound how commits go: what waits, what goes together, how long. Unit tests have lower ones, so that all
//! suites take every way. Used by whoever they bound.

use std::time::Duration;

/// Batches that may wait for the committer; sessions beyond it wait for a place.
pub(super) const WAITING_BATCHES_MAX: usize = 1024;

/// A relaxed commit is durable after about this many milliseconds at the latest.
pub const RELAXED_DURABLE_MS: u64 = 100;

/// When no commit comes for so long, the log is marked as durable to its end.
pub(super) const MARK_AFTER: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// A commit of more writes, or of more than [`LARGE_BYTES`], takes the way of large commits. Unit tests have lower limits, so
/// that all suites use it.
pub(super) const LARGE_WRITES: usize = if cfg!(test) { 128 } else { 8192 };
/// See [`LARGE_WRITES`].
pub(super) const LARGE_BYTES: usize = 1 << 20;
/// A part of a large commit in the log ends at this many bytes, unless one write is larger: writing it holds up others.
pub(super) const PART_BYTES_MAX: usize = if cfg!(test) { 4 << 10 } else { 1 << 20 };
/// One batch of the engine's holds at most this many writes of a large commit: blocks in memory are made new behind each, and
/// snapshots keep what it replaces.
pub(super) const PIECE_WRITES_MAX: usize = if cfg!(test) { 32 } else { 1024 };
/// Small commits go together until they are about so many writes: neighbours and writes of one key are then written at once.
pub(super) const GATHERED_WRITES_MAX: usize = if cfg!(test) { 32 } else { 4096 };
/// See [`PIECE_WRITES_MAX`].
pub(super) const PIECE_BYTES_MAX: usize = 2 << 20;
/// How long the applier waits for more commits before it brings a few to the engine: readers find them in the memtable.
pub(super) const APPLY_LINGER: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 1000 });
/// The same for a large commit, while others have room beside it: what a load does next may drop it, or want the processor.
pub(super) const LARGE_LINGER: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 2000 });
/// With more commits than these behind it others are writing, and it waits no longer: theirs come after it.
pub(super) const COMMITS_BEHIND_LARGE_MAX: usize = 64;
/// There is room while large commits that wait take less than this part of what they may.
pub(super) const LARGE_WAITING_PART: usize = 2;

/// The applier looks so often whether readers wait for it meanwhile …
pub(super) const APPLY_LOOK: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 50 });
/// … as they do when they pass so many deleted keys in the memtable: behind the head of a queue.
pub(super) const DELETED_IN_THE_WAY: usize = if cfg!(test) { 8 } else { 128 };

/// An interval of keys is noted as emptied when a scan passes so many deleted ones in it …
pub(super) const EMPTIED_KEYS_MIN: usize = if cfg!(test) { 2 } else { 16 };
/// … and so many intervals at most: scans and commits look at each.
pub(super) const EMPTIED_MAX: usize = 16;

/// How often the checkpointer looks at a disk that is nearly full while a commit waits for room: half a second each.
pub(super) const LOOKS_FOR_ROOM_MAX: usize = 20;

/// Rows that `delete_range` removes in one commit.
pub(super) const DELETE_PAGE_ROWS: usize = 1000;

/// The applier passes over keys of a range that nobody uses when the memtable has so many.
pub(super) const PASSED_OVER_MIN: usize = if cfg!(test) { 2 } else { DELETE_PAGE_ROWS };

/// Behind a page of these it waits so often, so long each, while the memtable holds this or a large commit: then others are writing.
pub(super) const WAITS_OF_DELETED_PAGE: u32 = if cfg!(test) { 1 } else { 10 };
/// See [`WAITS_OF_DELETED_PAGE`].
pub(super) const WAIT_OF_DELETED_PAGE: Duration = Duration::from_millis(if cfg!(test) { 1 } else { 10 });
/// See [`WAITS_OF_DELETED_PAGE`]. In bytes: more than what is being deleted takes while it waits to be brought to the engine.
pub(super) const BUSY_BYTES: usize = 8 << 20;

/// Relaxed commits are made durable before their time when they reach this many bytes.
pub(super) const UNSYNCED_BYTES_MAX: usize = 1 << 20;
/// How long the commit thread waits at a time for the engine, before it looks what else there is to do.
pub(super) const PATIENCE: Duration = Duration::from_millis(5);

/// A replay applies the log in batches of about so many writes: nobody reads meanwhile, so only their memory counts.
pub(super) const REPLAYED_WRITES_MAX: usize = if cfg!(test) { 32 } else { 8192 };
/// See [`REPLAYED_WRITES_MAX`].
pub(super) const REPLAYED_BYTES_MAX: usize = 8 << 20;
