//! The sled engine (0.34.7; 1.0 is an alpha without atomic batches): the only folder that names sled. Opened by
//! `open_store`; knows nothing of snapshots.
//!
//! What sled does, read in its source and seen with strace, and what stands against it:
//!
//! - `apply_batch` is atomic across a crash: a manifest in the log names the log position that must be intact, else
//!   recovery stops before the batch. It holds a lock that readers take for each entry, so a huge batch delays reads,
//!   and pins an epoch, so that every page it replaces (some 6 kB a write) stays in memory until it ends: a batch of two
//!   million rows took 13 GB. It also goes through its keys in the order of their hashes (4.7 to 6.0 µs a write where single ones in
//!   key order take 2.8 to 4.5), and ends two buffers, each synced by a thread of sled's. So `write` uses it only for what
//!   takes several entries: a value in pieces, a room made for a key.
//! - Recovery goes through the log in its order, from the last point that is known to be stable to the first hole or
//!   torn message, and ends there or before the batch that reaches beyond. With each buffer truly on the disk before
//!   sled counts it as stable (`system_call`), a crash or a power cut therefore leaves the first so many writes.
//! - `flush` waits until the log is written and synced. It holds the lock for readers and writers meanwhile, and a batch
//!   that waits for that lock holds up all reads: so flushes and batches take a lock of ours before.
//! - A page that left the cache before it was synced can only be read again when it is: such a read waits for the disk, and
//!   if a batch does that, all reads wait with it. So `write` syncs before much less than a cache is unsynced, and says when
//!   reads may have to wait (`is_busy`).
//! - Items above a quarter of a segment would become files that are never synced: `entry` proves that none does.
//! - Reverse scans lose their way among keys with four FF bytes in a row: `stuffing` keeps such keys from sled.
//! - A snapshot file that a start did not finish breaks the next one, and a new database is written in several steps,
//!   none of them synced: `folder`.
//! - After a failed write calls may wait for ever, and damaged files give errors, panics or empty data: `fault`. Empty
//!   data are found out by those who know what was there: the engine's clock is older than the log.
//! - Pages that were replaced are freed by the epochs of crossbeam, a few on every 128th call of any kind. A thread that
//!   only writes batches leaves more behind than that (two million rows in pieces still took 2 GB): `write` has them
//!   freed.
//! - The background flusher is off (`flush_every_ms(None)`). Segments are cleaned as part of page replacements, so files
//!   shrink in use without it.
//! - No file is opened after the start: blobs, conf and snapshots are for recovery only.
//! - The cache limit counts pages as stored, and counts them late: each of 256 shards looks at its queue of accesses
//!   every 64 of them, so up to 16,384 pages (of about 12 rows) are resident beyond the limit. A scan of 500,000 rows of
//!   150 bytes took a fresh process with a 16 MiB cache from 25 to 75 MiB, and no further however often it was repeated.
//!   So `folder` hands it less than the memory that it may take.
//! - The empty key is a key like any other, both in gets and at the edge of scans.
//! - A locked file is reported as an `Io` error of kind `Other` whose text says so. Our own lock tells a directory
//!   in use before that; sled's lock may outlive a closed database for a moment, while its threads wind down.

mod entry;
mod fault;
mod folder;
mod read;
mod stuffing;
mod system_call;
#[cfg(test)]
mod tests;
mod upgrade;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Engine, EngineBatch, Visit};
use crate::Result;
use fault::{Failure, Watch, corrupt, io_error};
use write::Writer;

/// Bytes that the file takes for each byte of keys and values: 1.8 for rows of 960 bytes, 2 for rows of 110. What is beyond is
/// in segments that sled fills again, or frees soon.
const BYTES_PER_LIVE: u64 = 2;

/// An ordered map in a folder of sled's. Public, so that a benchmark can measure it without the layers above.
pub struct SledEngine {
    /// Ends first: it holds the database open.
    _watch: Watch,
    failure: Arc<Failure>,
    path: PathBuf,
    db: sled::Db,
    writer: Mutex<Writer>,
    /// Whether something is being written, or was and is not synced.
    is_busy: AtomicBool,
    /// Keeps the data directory locked; released after `db` has closed.
    lock: Option<File>,
}

impl SledEngine {
    /// Opens the database of a data directory, or makes one; `lock` is held until it is closed. Errors: `DataDirInUse`,
    /// `Corrupt`, `Io`, `FeatureNotSupported`.
    pub fn open(data_dir: &Path, cache_bytes: u64, lock: File) -> Result<SledEngine> {
        folder::remove(data_dir, folder::UNFINISHED)?;
        let path = data_dir.join(folder::CURRENT);
        let is_new = !path.exists();
        if is_new && data_dir.join(folder::OLD).exists() {
            let reason = "it was written by an earlier release, and was not taken along".to_string();
            return Err(corrupt(data_dir, reason));
        }
        let made = match is_new {
            true => data_dir.join(folder::UNFINISHED),
            false => path,
        };
        let mut engine = SledEngine::open_folder(&made, is_new, cache_bytes)?;
        if is_new {
            engine.make_durable()?;
            // sled looks up names in its folder only when it opens.
            engine.path = folder::finish(data_dir)?;
        }
        engine.lock = Some(lock);
        Ok(engine)
    }

    /// Opens the database in this folder, or makes one there.
    fn open_folder(path: &Path, is_new: bool, cache_bytes: u64) -> Result<SledEngine> {
        let config = folder::config(path, folder::SEGMENT_BYTES, cache_bytes);
        let db = folder::open(path, &config, is_new)?;
        let failure = Arc::new(Failure::new(path));
        let watch = Watch::start(config, db.clone(), Arc::clone(&failure))?;
        let unsynced_bytes_max = write::unsynced_bytes_max(folder::page_bytes(cache_bytes));
        let writer = Mutex::new(failure.call(|| Writer::open(&db, unsynced_bytes_max))?);
        Ok(SledEngine {
            _watch: watch,
            failure,
            path: path.to_path_buf(),
            db,
            writer,
            is_busy: AtomicBool::new(false),
            lock: None,
        })
    }

    /// Makes a call as the only one that writes.
    fn write(&self, call: impl FnOnce(&mut Writer, &sled::Db) -> Result<(), fault::Fault>) -> Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_busy.store(true, Ordering::SeqCst);
        self.failure.call(|| call(&mut writer, &self.db))?;
        self.is_busy.store(!writer.is_synced(), Ordering::SeqCst);
        Ok(())
    }
}

impl std::fmt::Debug for SledEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SledEngine")
            .field("path", &self.path)
            .field("is_locked", &self.lock.is_some())
            .finish_non_exhaustive()
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.failure.call(|| read::get(&self.db, key, visit))
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        self.failure
            .call(|| read::scan(&self.db, start, end, reverse, visit))
    }

    fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::SeqCst)
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        self.write(|writer, db| writer.apply(db, batch))
    }

    fn make_durable(&self) -> Result<()> {
        self.write(|writer, db| writer.flush(db))
    }

    fn size_bytes(&self) -> Result<u64> {
        let log = self.path.join("db");
        let size = std::fs::metadata(&log).map_err(|error| io_error("read", &log, &error))?;
        Ok(size.len())
    }

    fn reusable_bytes(&self) -> Result<u64> {
        let size = self.size_bytes()?;
        let live = self
            .failure
            .call(|| read::live_bytes(&self.db, size / BYTES_PER_LIVE))?;
        Ok(size - live * BYTES_PER_LIVE)
    }

    fn close(&self) -> Result<()> {
        self.make_durable()
    }
}
