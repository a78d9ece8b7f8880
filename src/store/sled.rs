//! The sled engine (0.34.7; 1.0 is an alpha without atomic batches): the only file that names sled. Opened by
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
//! - The empty key is a key like any other, both in gets and at the edge of scans.
//! - A locked file is reported as an `Io` error of kind `Other` whose text says so. Our own LOCK file tells a directory
//!   in use before that; sled's lock may outlive a closed database for a moment, while its threads wind down.
//! - Damaged files give an error, a panic, or empty data: opening and every call after it are caught, and a log that
//!   lost what it held is found out by the watermark of `mvcc`.

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
        if let Some(value) = self.call(|| self.db.get(key))? {
            visit(&value);
        }
        Ok(())
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        // sled compares every key with the far bound twice: it is not told of it.
        self.call(|| {
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
                if is_beyond(&key) || visit(&key, &value) == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        let mut writes = sled::Batch::default();
        for (key, value) in batch.iter() {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;
    use crate::store::{
        Batch, KeyRange, Page, ScanRequest, Store, StoreKind, StoreOptions, Write, conformance, open_store,
    };

    /// Rows of `fill_store`, committed a hundred at a time.
    const ROWS: u32 = 3000;

    fn open(path: &Path) -> Result<Arc<dyn Store>> {
        open_with_cache(path, 16 << 20)
    }

    fn open_with_cache(path: &Path, cache_bytes: u64) -> Result<Arc<dyn Store>> {
        let options = StoreOptions {
            cache_bytes,
            ..StoreOptions::default()
        };
        open_store(StoreKind::Sled, path, &options)
    }

    async fn fill_store(store: &dyn Store, value_bytes: usize) {
        for start in (0..ROWS).step_by(100) {
            let put = |n: u32| Write::Put {
                key: n.to_be_bytes().to_vec(),
                value: vec![n as u8; value_bytes],
            };
            let writes = (start..start + 100).map(put).collect();
            let batch = Batch {
                writes,
                relaxed: start % 1000 != 0,
                ..Batch::default()
            };
            store.commit(batch).await.unwrap();
        }
    }

    /// How many rows the store holds; checks their values.
    async fn count_rows(store: &dyn Store) -> Result<u32> {
        let everything = KeyRange {
            start: Vec::new(),
            end: None,
        };
        let mut scan = store.snapshot().await?.scan(ScanRequest {
            read_ahead: false,
            ranges: vec![everything],
            reverse: false,
            keys_only: false,
            page_rows_max: 1000,
            page_bytes_max: 1 << 20,
        });
        let mut page = Page::new();
        let mut count = 0u32;
        loop {
            scan.next_page(&mut page).await?;
            if page.is_empty() {
                return Ok(count);
            }
            for (key, value) in page.iter() {
                assert_eq!(key, count.to_be_bytes());
                assert!(value.iter().all(|byte| *byte == count as u8));
                count += 1;
            }
        }
    }

    fn is_corrupt(error: &Error, directory: &Path) -> bool {
        matches!(error, Error::Corrupt { .. }) && error.to_string().contains(&directory.display().to_string())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_sled_store_conforms() {
        let directory = tempfile::tempdir().unwrap();
        let opened = std::cell::Cell::new(0);
        conformance::check_all(|| {
            opened.set(opened.get() + 1);
            open(&directory.path().join(opened.get().to_string())).unwrap()
        })
        .await;
    }

    #[tokio::test]
    async fn a_directory_is_opened_once() {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path()).unwrap();
        let path = directory.path().display().to_string();
        assert_eq!(open(directory.path()).err(), Some(Error::DataDirInUse { path }));
        fill_store(&*store, 10).await;
        drop(store);
        // Sled's own lock may still be held by a thread of its own; opening waits for it.
        let store = open(directory.path()).unwrap();
        assert_eq!(count_rows(&*store).await, Ok(ROWS));
        // A closed store gives the directory free once nothing holds it any more, snapshots included.
        let snapshot = store.snapshot().await.unwrap();
        store.close().await.unwrap();
        drop((store, snapshot));
        assert_eq!(count_rows(&*open(directory.path()).unwrap()).await, Ok(ROWS));
    }

    #[tokio::test]
    async fn a_damaged_log_is_refused_or_still_whole() {
        let whole = tempfile::tempdir().unwrap();
        fill_store(&*open(whole.path()).unwrap(), 100).await;
        let log = std::fs::read(whole.path().join("sled/db")).unwrap();
        let mut random = StdRng::seed_from_u64(1);
        let mut refused = 0;
        for round in 0..16 {
            let directory = tempfile::tempdir().unwrap();
            for file in ["FORMAT", "WATERMARK", "sled/conf"] {
                std::fs::create_dir_all(directory.path().join("sled")).unwrap();
                std::fs::copy(whole.path().join(file), directory.path().join(file)).unwrap();
            }
            let mut damaged = log.clone();
            let at = random.random_range(0..log.len());
            match round % 4 {
                0 => damaged.truncate(at),
                1 => damaged[at] ^= 0x55,
                2 => random.fill(&mut damaged[at..log.len().min(at + 5000)]),
                _ => (0..20).for_each(|_| damaged[random.random_range(0..log.len())] ^= 0xFF),
            }
            std::fs::write(directory.path().join("sled/db"), damaged).unwrap();
            let count = match open(directory.path()) {
                Ok(store) => count_rows(&*store).await,
                Err(error) => Err(error),
            };
            match count {
                Ok(count) => assert_eq!(count, ROWS, "round {round}: rows were lost without a word"),
                Err(error) => {
                    assert!(matches!(error, Error::Corrupt { .. }), "round {round}: {error:?}");
                    refused += 1;
                }
            }
        }
        assert!(
            refused >= 4,
            "truncation at least is always found, {refused} were"
        );
    }

    #[tokio::test]
    async fn other_damaged_files_are_refused() {
        let damages: [(&str, Option<&[u8]>); 7] = [
            ("FORMAT", Some(b"keyspan format one engine sled")),
            ("FORMAT", Some(b"")),
            ("FORMAT", None),
            ("WATERMARK", Some(b"many")),
            (
                "sled/conf",
                Some(b"segment_size: 1\nuse_compression: false\nversion: 0.34\n...."),
            ),
            ("sled/conf", Some(b"\xff\xfe nothing that sled would write")),
            ("sled/db", None),
        ];
        for (file, damage) in damages {
            let directory = tempfile::tempdir().unwrap();
            fill_store(&*open(directory.path()).unwrap(), 10).await;
            let path = directory.path().join(file);
            match damage {
                Some(bytes) => std::fs::write(&path, bytes).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let error = open(directory.path()).expect_err(file);
            assert!(
                matches!(error, Error::Corrupt { .. }),
                "{file} with {damage:?}: {error:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_newer_format_or_another_engine_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        drop(open(directory.path()).unwrap());
        std::fs::write(directory.path().join("FORMAT"), "keyspan format 2 engine sled\n").unwrap();
        let path = directory.path().display().to_string();
        assert_eq!(
            open(directory.path()).err(),
            Some(Error::DataDirFormat {
                path,
                found: 2,
                supported: 1
            })
        );
        std::fs::write(directory.path().join("FORMAT"), "keyspan format 1 engine other\n").unwrap();
        assert_eq!(open(directory.path()).unwrap_err().sqlstate(), "22023");
        let not_ours = tempfile::tempdir().unwrap();
        std::fs::write(not_ours.path().join("letter.txt"), "dear reader").unwrap();
        assert!(is_corrupt(&open(not_ours.path()).unwrap_err(), not_ours.path()));
    }

    /// Damage while the store runs: reads of what is not cached fail with an error, and nothing panics or hangs.
    #[tokio::test]
    async fn damage_under_a_running_store_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        fill_store(&*open(directory.path()).unwrap(), 3000).await;
        let store = open_with_cache(directory.path(), 1 << 10).unwrap();
        assert_eq!(count_rows(&*store).await, Ok(ROWS));
        let log = directory.path().join("sled/db");
        let length = std::fs::metadata(&log).unwrap().len();
        let mut garbage = vec![0; length as usize];
        StdRng::seed_from_u64(1).fill(&mut garbage[..]);
        let file = File::options().write(true).open(&log).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 0).unwrap();
        let error = count_rows(&*store).await.expect_err("reading garbage");
        assert!(is_corrupt(&error, directory.path()), "{error:?}");
    }

    /// Values large enough for files of their own survive a restart.
    #[tokio::test]
    async fn large_values_survive_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let large = |n: u8| vec![n; 300_000 + usize::from(n)];
        {
            let store = open(directory.path()).unwrap();
            for n in 0..5 {
                let writes = vec![Write::Put {
                    key: vec![n],
                    value: large(n),
                }];
                store
                    .commit(Batch {
                        writes,
                        ..Batch::default()
                    })
                    .await
                    .unwrap();
            }
        }
        assert!(
            std::fs::read_dir(directory.path().join("sled/blobs"))
                .unwrap()
                .count()
                > 0
        );
        let store = open(directory.path()).unwrap();
        let snapshot = store.snapshot().await.unwrap();
        let values = snapshot
            .get_many(&(0..5).map(|n| vec![n]).collect::<Vec<_>>())
            .await
            .unwrap();
        for n in 0..5 {
            assert_eq!(values.get(n.into()), Some(&large(n)[..]));
        }
    }
}
