//! Makes a [`Store`] of any [`Engine`]: snapshots, conflict detection, group commit. `open_store` builds it; every
//! embedded engine runs under it. It knows nothing of the library below or, but for [`counts`], of what a key means.
//!
//! # How a value is stored
//!
//! The newest committed value of a key stands in the engine under the key itself, behind the timestamp of its commit. So a
//! point read is one engine get, a scan runs at the engine's own speed, and overwriting leaves nothing behind on disk:
//!
//! ```text
//!   engine key        engine value
//!   (empty)           [clock: u64 BE][format: u32 BE][log: u128 BE][branch: u64 BE]
//!                                                          the newest commit in the engine and whose it is, the last write of each batch
//!   01 02 …           [timestamp: u64 BE][value …]         the newest value of the key up to the clock
//! ```
//!
//! A crash may leave some writes of a batch without their clock: those are in the log, and a start writes them again.
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
//! [`memtable`], lets new snapshots see it, and answers all. Whoever waits for the lock of a key that the group writes does not wait for the
//! sync: he gets it, and what stands there, once the group is in the memtable ([`Batch::passes_on`](super::Batch)). The [`commit_thread`] does so for those who wait; a lone client
//! never waits for company, but commits on its own thread. Another thread, the [`applier`], brings it to the engine meanwhile. Batches that asked for `relaxed` form a group of their own that skips the
//! sync: visible and answered at once, durable with the next sync or after [`RELAXED_DURABLE_MS`]; the engine has them only then.
//! What a commit makes of the number of a table's rows is written with it ([`counts`]).
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
//!    the memtable when the engine has all of it, but for what a later durable commit deletes of a dropped range ([`abandoned`]).
//! 5. A snapshot that was given up answers `SnapshotTooOld` from then on, never a wrong row. The undo map exceeds its
//!    budget by at most one piece's replaced values; the memtable its own by one group, or by one large commit.
//! 6. A snapshot sees a commit that is not visible only where its owner has locked a key that this one wrote, and with it all that it
//!    wrote; a durable batch made of that stands behind it in the log.
//! 7. A durable batch is acknowledged only after a sync of the log that began after its record was appended.
//! 8. After an error of log or engine nothing more is appended, made visible or acknowledged: [`Store::failed`] says why, and
//!    every later batch gets that error before anything else is judged. What was visible stays readable.
//! 9. A segment of the log is recycled only when every commit in it is durable in the engine.
//! 10. In an interval that is known as [`emptied`] no snapshot from its time on sees a row: a commit that puts a key there ends it
//!     before the commit is visible.
//! 11. What a commit holds of its transaction (locks, its place among those [`under_way`]) it holds until it has ended, whoever waits
//!     for it.

mod abandoned;
mod applier;
mod checkpoint;
mod commit;
mod commit_thread;
mod committer;
mod counts;
mod cursor;
mod emptied;
mod group;
mod large;
mod limits;
mod lock;
mod memtable;
mod page_limits;
mod recent;
mod replay;
mod room;
mod scan;
mod snapshot;
mod split;
mod state;
mod store;
mod stored;
mod under_way;
mod undo;
mod view;

#[cfg(test)]
mod counts_tests;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod large_tests;
#[cfg(test)]
mod tests;

pub use store::MvccStore;
pub(crate) use stored::{is_sound_row, over_at_of_sound_row};
pub(super) use stored::{read_clock, split_stored};
#[cfg(test)]
pub(crate) use tests::store_on;
