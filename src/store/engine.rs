//! `Engine`: what an embedded ordered map must offer so that [`super::mvcc`] can make a `Store` of it. Knows nothing of
//! snapshots, transactions or time.
//!
//! It has this shape because it is the least that every embedded map has: synchronous calls, byte strings, batches in
//! their order, one way to make everything durable. Reads hand out borrowed bytes through a callback, so that a scan costs no
//! allocation a row whatever the library returns. Tests swap in an engine that fails.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::page::KnownOfAll;
use crate::Result;
use crate::codec::expiry::ExpiryRule;

/// What a scan calls for each entry, with key and value; `Break` ends the scan.
pub type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>;

/// An embedded ordered map of byte strings. Keys compare as unsigned byte strings; the empty key is allowed.
///
/// Any number of threads read while one thread writes. A reader that sees a write of a batch also sees everything that
/// the caller of `apply` did before the call. No method panics, whatever stands on the disk.
///
/// After a crash or a power cut the engine comes back holding *the first N batches applied*, whole, for some N not
/// smaller than those applied before the last `make_durable` that answered `Ok`, and perhaps some writes of the next one *but not its
/// last*, which is there only when all others are: a clock that stands there tells N. The engine may lag behind, but never has a later
/// batch without an earlier one. The log replays the rest, where it does not matter what was there already. After the first error of any method every later call answers
/// an error, and none waits for ever.
pub trait Engine: Debug + Send + Sync + 'static {
    /// The longest key that it takes.
    fn key_bytes_max(&self) -> usize {
        usize::MAX
    }

    /// Calls `visit` with the value of `key`, if there is one. Errors: `Io`, `Corrupt`.
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()>;

    /// Calls `visit` with the value of one key after the other, `None` where there is none, until one would have to be waited
    /// for; answers of how many. Errors are left to `get`.
    fn get_in_memory(&self, _keys: &[&[u8]], _visit: &mut dyn FnMut(Option<&[u8]>)) -> usize {
        0
    }

    /// Visits the entries with `start <= key` and, if `end` is given, `key < end`, in key order or its reverse. It need
    /// not be a snapshot: each entry is as it was at some moment of the call, and an entry that stood unchanged
    /// throughout the call is visited exactly once. Errors: `Io`, `Corrupt`; entries may have been visited before.
    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()>;

    /// Visits the entries that `scan` would, up to the first that would have to be waited for. Errors are left to `scan`. `rule`: by which
    /// the rows visited may be over, all of one table.
    fn scan_in_memory(
        &self,
        _start: &[u8],
        _end: Option<&[u8]>,
        _reverse: bool,
        _rule: Option<&Arc<ExpiryRule>>,
        _visit: Visit<'_>,
    ) -> ScannedInMemory {
        ScannedInMemory::default()
    }

    /// Whether a read of what is not in memory may have to wait for a write or a sync that is under way, and so for as long as
    /// the disk takes for that. A read of what is in memory never waits for either.
    fn is_busy(&self) -> bool {
        false
    }

    /// Applies a batch, visible when it answers; it need not be on the disk. After an error any part of it may be seen by
    /// readers until the process ends. Called by one thread at a time. A batch should not be larger than some megabytes
    /// (readers may wait for it, but not for a sync), nor many batches tiny (each may cost a write of its own).
    fn apply(&self, batch: &EngineBatch) -> Result<()>;

    /// When it answers `Ok`, every batch applied before the call survives a power cut. May be called while another thread
    /// calls `apply`, which may wait for it; readers do not. It may open files: the server keeps some descriptors
    /// in reserve.
    fn make_durable(&self) -> Result<()>;

    /// Bytes on disk, or in memory for an engine without a disk. May take as long as listing a directory.
    fn size_bytes(&self) -> Result<u64>;

    /// Bytes inside its files that later writes can take before these grow: a guess, for a disk that is nearly full. It may read
    /// everything.
    fn reusable_bytes(&self) -> Result<u64> {
        Ok(0)
    }

    /// Gives up at once the files that hold only keys of this range, where it can tell: keys may come back that were deleted, or
    /// written again, before. For a range that nobody reads or writes any more, before its keys are deleted one by one.
    fn drop_files(&self, _start: &[u8], _end: Option<&[u8]>) -> Result<()> {
        Ok(())
    }

    /// Called once, after the last `apply`: makes everything durable and stops background work where the library can.
    fn close(&self) -> Result<()>;
}

/// What came of a scan of what an engine has in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScannedInMemory {
    /// Whether the scan came to its end, or the visitor ended it.
    pub is_done: bool,
    /// What is known of all that was visited.
    pub known: KnownOfAll,
}

/// Whether what an engine stores under a key needs no more checks for as long as it stays in memory. Asked when it comes there.
pub type Verify = fn(&[u8]) -> bool;

/// Writes that go to an engine in one call, in one arena. A key written twice takes the later write.
#[derive(Debug, Default)]
pub struct EngineBatch {
    bytes: Vec<u8>,
    /// Where the key starts and ends, and where the value ends; `None`: delete.
    writes: Vec<(usize, usize, Option<usize>)>,
}

impl EngineBatch {
    /// Stores under `key` the concatenation of `value_parts`.
    pub fn put(&mut self, key: &[u8], value_parts: &[&[u8]]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        for part in value_parts {
            self.bytes.extend_from_slice(part);
        }
        self.writes.push((start, middle, Some(self.bytes.len())));
    }

    /// Removes `key`.
    pub fn delete(&mut self, key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.writes.push((start, self.bytes.len(), None));
    }

    /// Key and new value (`None`: delete) of each write, in the order written.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.writes.iter().map(|&(start, middle, end)| {
            (
                &self.bytes[start..middle],
                end.map(|end| &self.bytes[middle..end]),
            )
        })
    }

    /// How many writes it holds.
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    /// Bytes of its keys and values.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it holds no write.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}
