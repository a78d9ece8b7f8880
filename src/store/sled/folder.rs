//! The folders of a sled database, and how one comes into being: as a whole or not at all. Called by the engine when it
//! opens; knows nothing of what is stored.
//!
//! ```text
//!   data directory
//!   ├── sled/         written by releases of data format 1: other segments, keys as they are, files for large values
//!   ├── sled-2.new/   a database being made; whatever it holds is thrown away by the next start
//!   └── sled-2/       the database
//! ```
//!
//! Names alone say what is what: if `sled-2` is there, it is whole and `sled`, if there is one, is a left-over. If only
//! `sled` is there, it is the database, and is copied (`upgrade`). Each step is on the disk before the next is taken:
//!
//! 1. `sled-2.new` is removed, then made and filled; its files and its name are synced.
//! 2. It is renamed to `sled-2`; the data directory is synced.
//! 3. `sled` is removed.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::fault::{caught, corrupt, io_error, sled_error};
use crate::{Error, Result};

/// How long the lock of a database that was just closed in this process may take to go.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// The database of this release.
pub(super) const CURRENT: &str = "sled-2";
/// A database that is being made.
pub(super) const UNFINISHED: &str = "sled-2.new";
/// The database of data format 1.
pub(super) const OLD: &str = "sled";

/// sled writes its log in segments of this size. It may be at most 16 MiB. Each takes a buffer of its size in memory,
/// and items above a quarter of it would become files of their own.
pub(super) const SEGMENT_BYTES: usize = 8 << 20;
/// The segments of data format 1.
pub(super) const OLD_SEGMENT_BYTES: usize = 512 << 10;

/// What sled takes beside its cache: buffers, the place of each page, pages that it counts late.
const BESIDE_CACHE_BYTES: u64 = 64 << 20;

/// The capacity that makes the process grow by so many bytes. sled counts pages as stored, which is less than half of
/// what they take in memory: measured with rows of 110 bytes, 206 MiB for a capacity of 64 MiB.
pub(super) fn page_bytes(cache_bytes: u64) -> u64 {
    let pages = cache_bytes.saturating_sub(BESIDE_CACHE_BYTES) / 11 * 5;
    // sled asks for 256 bytes at least.
    pages.max(cache_bytes / 8).max(256)
}

/// How a database is opened.
pub(super) fn config(path: &Path, segment_bytes: usize, cache_bytes: u64) -> sled::Config {
    sled::Config::new()
        .path(path)
        .segment_size(segment_bytes)
        .cache_capacity(page_bytes(cache_bytes))
        .flush_every_ms(None)
        .use_compression(false)
}

/// Opens the database in a folder, which must hold one unless it is to be made.
pub(super) fn open(path: &Path, config: &sled::Config, is_new: bool) -> Result<sled::Db> {
    super::system_call::refuse_sync_file_range()?;
    if is_new {
        std::fs::create_dir_all(path).map_err(|error| io_error("create", path, &error))?;
    } else {
        for file in ["conf", "db"] {
            if !path.join(file).exists() {
                return Err(corrupt(path, format!("its file \"{file}\" is missing")));
            }
        }
        remove_unfinished_snapshots(path).map_err(|error| io_error("clean", path, &error))?;
    }
    let db = open_when_unlocked(config, path)?;
    // What sled wrote by opening: `conf`, `snap.*`, the folders.
    sync_all_files(path).map_err(|error| io_error("sync", path, &error))?;
    Ok(db)
}

/// Removes what is left of a database, if there is one.
pub(super) fn remove(data_dir: &Path, name: &str) -> Result<()> {
    let path = data_dir.join(name);
    match std::fs::remove_dir_all(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result
            .and_then(|()| sync(data_dir))
            .map_err(|error| io_error("remove", &path, &error)),
    }
}

/// Lets a database that was made durable take its place, which is answered.
pub(super) fn finish(data_dir: &Path) -> Result<PathBuf> {
    let path = data_dir.join(CURRENT);
    sync_all_files(&data_dir.join(UNFINISHED))
        .and_then(|()| std::fs::rename(data_dir.join(UNFINISHED), &path))
        .and_then(|()| sync(data_dir))
        .map_err(|error| io_error("create", &path, &error))?;
    Ok(path)
}

/// A start that could not finish sled's snapshot file leaves `snap.<number>.generating`, which sled then takes for the
/// newest snapshot.
fn remove_unfinished_snapshots(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("snap.") && name.ends_with(".generating") {
            tracing::warn!(
                "removing \"{}\", left by a start that did not finish",
                entry.path().display()
            );
            std::fs::remove_file(entry.path())?;
        }
    }
    sync(path)
}

/// Opens the database; waits for a lock that this process itself still holds, for we hold the data directory's.
fn open_when_unlocked(config: &sled::Config, path: &Path) -> Result<sled::Db> {
    let started = Instant::now();
    loop {
        match caught(path, || config.open())? {
            Ok(db) => return Ok(db),
            Err(error) if is_locked(&error) && started.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) if is_locked(&error) => {
                return Err(Error::DataDirInUse {
                    path: path.display().to_string(),
                });
            }
            Err(error) => return Err(sled_error(path, error)),
        }
    }
}

/// sled has no kind of its own for it.
fn is_locked(error: &sled::Error) -> bool {
    matches!(error, sled::Error::Io(error) if error.to_string().starts_with("could not acquire lock"))
}

/// Syncs each file of sled's directory, the directory, and the one above it, which names it.
fn sync_all_files(path: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        sync(&entry?.path())?;
    }
    sync(path)?;
    path.parent().map_or(Ok(()), sync)
}

fn sync(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}
