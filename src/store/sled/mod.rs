//! The sled engine (0.34.7; 1.0 is an alpha without atomic batches): the only folder that names sled. Opened by
//! `open_store`; knows nothing of snapshots.
//!
//! What sled does, read in its source and seen with strace, and what this file adds:
//!
//! - `apply_batch` is atomic across a crash: a manifest in the log names the log position that must be intact, else
//!   recovery stops before the batch. It holds a lock that readers take for each entry, so a huge batch delays reads,
//!   and pins an epoch, so that every page it replaces (some 6 kB a write) stays in memory until it ends: a batch of two
//!   million rows took 13 GB. So `mvcc` hands over large commits in pieces.
//! - Pages that were replaced are freed by the epochs of crossbeam, a few on every 128th call of any kind. A thread that
//!   only writes batches leaves more behind than that (two million rows in pieces still took 2 GB): `apply` has them freed.
//! - `flush` waits until an I/O thread has written the log buffer, `pwrite64(db)` then `sync_file_range(db)`. That
//!   survives a killed process but no power cut: neither the file's size nor the disk's cache is flushed. So
//!   `make_durable` then calls `fdatasync` on the same file through a descriptor of its own.
//! - Items above a quarter of a segment (128 KiB) become files in `blobs/`, written without any sync. `make_durable`
//!   syncs the new ones, and the directory. Nothing else is written while sled runs; after opening, everything that
//!   recovery wrote (`conf`, `snap.*`, the directories) is synced once.
//! - The background flusher is off (`flush_every_ms(None)`): nothing but a commit flushes. Segments are cleaned as part
//!   of page replacements, so files shrink in use without it.
//! - The cache limit counts pages as stored, and counts them late: each of 256 shards looks at its queue of accesses
//!   every 64 of them, so up to 16,384 pages (of about 12 rows) are resident beyond the limit. A scan of 500,000 rows of
//!   150 bytes took a fresh process with a 16 MiB cache from 25 to 75 MiB, and no further however often it was repeated.
//! - Reverse scans lose their way among keys with four FF bytes in a row: `stuffing` keeps such keys from sled.
//! - The empty key is a key like any other, both in gets and at the edge of scans.
//! - A locked file is reported as an `Io` error of kind `Other` whose text says so. Our own LOCK file tells a directory
//!   in use before that; sled's lock may outlive a closed database for a moment, while its threads wind down.
//! - Damaged files give an error, a panic, or empty data: opening and every call after it are caught, and a log that
//!   lost what it held is found out by the watermark of `mvcc`.

mod stuffing;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::engine::{Engine, EngineBatch, Visit};
use crate::{Error, Result};
use stuffing::{stuff, unstuff};

/// How long the lock of a database that was just closed in this process may take to go.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// A write leaves two or three objects behind; one collection frees some five hundred that no thread can see any more.
const WRITES_PER_COLLECTION: usize = 64;

/// Two changes of a directory within this time may leave the same time stamp on it.
const TIME_STAMP_GRAIN: Duration = Duration::from_millis(100);

/// An ordered map in a directory of sled's. Public, so that a benchmark can measure it without the layers above.
pub struct SledEngine {
    db: sled::Db,
    path: PathBuf,
    /// sled's log, through a descriptor of ours.
    log: File,
    blobs: Mutex<Blobs>,
    /// Keeps the data directory locked; released after `db` has closed.
    _lock: File,
}

/// Which files under `blobs/` are known to be on the disk.
#[derive(Default)]
struct Blobs {
    synced: HashSet<OsString>,
    /// The directory's time stamp when it was last listed, once it is old enough to tell a later change.
    settled: Option<SystemTime>,
}

impl SledEngine {
    /// Opens or creates the database in `path`; `lock` is held until it is closed. Errors: `DataDirInUse`, `Corrupt`,
    /// `Io`.
    pub fn open(path: &Path, cache_bytes: u64, lock: File) -> Result<SledEngine> {
        std::fs::create_dir_all(path).map_err(|error| io_error("create", path, &error))?;
        let config = sled::Config::new()
            .path(path)
            .cache_capacity(cache_bytes)
            .flush_every_ms(None)
            .use_compression(false);
        let db = open_when_unlocked(&config, path)?;
        let log_path = path.join("db");
        let log = File::open(&log_path).map_err(|error| io_error("open", &log_path, &error))?;
        let engine = SledEngine {
            db,
            path: path.to_path_buf(),
            log,
            blobs: Mutex::default(),
            _lock: lock,
        };
        engine.make_durable()?;
        sync_all_files(path).map_err(|error| io_error("sync", path, &error))?;
        Ok(engine)
    }

    /// Runs a call of sled's and makes an error of ours out of its error, or of its panic.
    fn call<T>(&self, call: impl FnOnce() -> sled::Result<T>) -> Result<T> {
        caught(&self.path, call)?.map_err(|error| engine_error(&self.path, error))
    }
}

impl std::fmt::Debug for SledEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SledEngine")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Engine for SledEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        let key = stuff(key);
        if let Some(value) = self.call(|| self.db.get(&key))? {
            visit(&value);
        }
        Ok(())
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        let (start, end) = (stuff(start), end.map(stuff));
        let (start, end) = (&*start, end.as_deref());
        let mut damaged = false;
        // sled compares every key with the far bound twice: it is not told of it.
        self.call(|| {
            let mut buffer = Vec::new();
            let mut entries = match (reverse, end) {
                (false, _) => self.db.range(start..),
                (true, Some(end)) => self.db.range(..end),
                (true, None) => self.db.iter(),
            };
            let is_beyond = |key: &[u8]| match reverse {
                false => end.is_some_and(|end| key >= end),
                true => key < start,
            };
            while let Some(entry) = if reverse {
                entries.next_back()
            } else {
                entries.next()
            } {
                let (key, value) = entry?;
                if is_beyond(&key) {
                    break;
                }
                let Some(key) = unstuff(&key, &mut buffer) else {
                    damaged = true;
                    break;
                };
                if visit(key, &value) == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(())
        })?;
        match damaged {
            false => Ok(()),
            true => Err(corrupt(&self.path, "a key in sled is none of ours".to_string())),
        }
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        let mut writes = sled::Batch::default();
        for (key, value) in batch.iter() {
            let key = &*stuff(key);
            match value {
                Some(value) => writes.insert(key, value),
                None => writes.remove(key),
            }
        }
        self.call(|| self.db.apply_batch(writes))?;
        free_replaced_pages(batch.len());
        Ok(())
    }

    fn make_durable(&self) -> Result<()> {
        self.call(|| self.db.flush())?;
        let blobs = self.path.join("blobs");
        let mut known = self.blobs.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .sync_new(&blobs)
            .map_err(|error| io_error("sync", &blobs, &error))?;
        self.log
            .sync_data()
            .map_err(|error| io_error("sync", &self.path.join("db"), &error))
    }

    fn size_bytes(&self) -> Result<u64> {
        self.call(|| self.db.size_on_disk())
    }

    fn close(&self) -> Result<()> {
        self.make_durable()
    }
}

impl Blobs {
    /// Syncs the files that appeared since the last call, and the directory. Costs one `stat` while nothing appears.
    fn sync_new(&mut self, directory: &Path) -> std::io::Result<()> {
        let modified = std::fs::metadata(directory)?.modified()?;
        if self.settled == Some(modified) {
            return Ok(());
        }
        let is_old_enough = modified.elapsed().is_ok_and(|age| age > TIME_STAMP_GRAIN);
        self.settled = None;
        let mut present = HashSet::new();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if !self.synced.contains(&name) {
                match File::open(entry.path()).and_then(|file| file.sync_data()) {
                    // sled may have removed it since.
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    result => result?,
                }
            }
            present.insert(name);
        }
        if present != self.synced {
            File::open(directory)?.sync_all()?;
        }
        self.synced = present;
        self.settled = is_old_enough.then_some(modified);
        Ok(())
    }
}

/// Has the epochs that sled uses free what the batch replaced, and what was left by earlier ones.
fn free_replaced_pages(writes: usize) {
    for _ in 0..writes / WRITES_PER_COLLECTION {
        crossbeam_epoch::pin().flush();
    }
}

/// Opens the database; waits for a lock that this process itself still holds, for we hold the data directory's.
fn open_when_unlocked(config: &sled::Config, path: &Path) -> Result<sled::Db> {
    let started = Instant::now();
    loop {
        match caught(path, || config.open())? {
            Ok(db) => return Ok(db),
            Err(error) if is_locked(&error) && started.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) if is_locked(&error) => {
                return Err(Error::DataDirInUse {
                    path: path.display().to_string(),
                });
            }
            Err(error) => return Err(engine_error(path, error)),
        }
    }
}

/// sled has no kind of its own for it.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().starts_with("could not acquire lock"))
}

/// Runs a call of sled's, which asserts what it expects of its files; a panic is our `Corrupt`.
fn caught<T>(path: &Path, call: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied());
        corrupt(
            path,
            format!("sled gave up: {}", text.unwrap_or("no reason given")),
        )
    })
}

fn engine_error(path: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::NotFound => corrupt(
                path,
                format!("sled met a missing or short piece of a file: {error}"),
            ),
            _ => io_error("read or write", path, &error),
        },
        sled::Error::Corruption { at, .. } => {
            let place = at.map_or_else(String::new, |at| format!(" at {at:?}"));
            corrupt(path, format!("sled found a wrong checksum{place}"))
        }
        sled::Error::Unsupported(reason) | sled::Error::ReportableBug(reason) => corrupt(path, reason),
        sled::Error::CollectionNotFound(_) => corrupt(path, "sled misses its tree".to_string()),
    }
}

fn corrupt(path: &Path, reason: String) -> Error {
    Error::Corrupt {
        what: format!("data directory \"{}\"", path.display()),
        reason,
    }
}

fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        action: format!("could not {action} \"{}\"", path.display()),
        reason: error.to_string(),
    }
}

/// Syncs each file of sled's directory, the directory, and the one above it, which names it.
fn sync_all_files(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        File::open(entry?.path())?.sync_all()?;
    }
    File::open(path)?.sync_all()?;
    path.parent()
        .map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}
