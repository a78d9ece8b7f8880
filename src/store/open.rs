//! Opening a store: the data directory, its log, and the engine inside. Called once by the server's start, and by tests;
//! knows nothing of what is stored.
//!
//! ```text
//!   data directory
//!   ├── FORMAT      one line: `keyspan format 3 engine sled`
//!   ├── LOG_END     how far the commit log was durable
//!   ├── log/        the commit log: the truth since the last checkpoint
//!   ├── sled-2/     the engine's own files, or fjall/
//!   └── spill/      what statements write that do not fit memory; emptied at a start
//! ```
//!
//! The directory itself is locked while a server has it open. Nothing is written to it before FORMAT was read: it may be none of
//! ours. FORMAT is written when a directory is all it says: a new one after LOG_END, an older one when its engine names its log.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::cache::{self, CachedEngine};
use super::disk::{Disk, OsDisk};
use super::engine::Engine;
use super::fjall::FjallEngine;
use super::format::{DATA_DIR_FORMAT, LOG_END, corrupt, find_format, io_error, lock_directory, write_format};
use super::format_1;
use super::log::{LogPlace, Vouched, remove_spares};
use super::memory::MemoryEngine;
use super::mvcc::{MvccStore, is_sound_row, read_clock};
use super::permissions::{create_data_dir, restrict};
use super::sled::SledEngine;
use super::{Store, StoreKind, StoreOptions};
use crate::{Error, Result};

/// Opens a store; creates the data directory when there is none (`Memory` leaves it alone). Blocks while the engine
/// reads its files and the log is replayed. Errors: `InvalidParameter` for a folder that is none of ours, which is left as it is;
/// `DataDirInUse`, `DataDirFormat`, `CannotStart`, `Corrupt`, `Io`.
pub fn open_store(kind: StoreKind, data_dir: &Path, options: &StoreOptions) -> Result<Arc<dyn Store>> {
    if kind == StoreKind::Memory {
        let store = MvccStore::open(Arc::new(MemoryEngine::new()), options, None)?;
        return Ok(Arc::new(store));
    }
    check_clock(SystemTime::now())?;
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
    find_format(&*disk, data_dir, kind)?;
    create_data_dir(data_dir)?;
    let lock = lock_directory(data_dir)?;
    // Another server may have made it meanwhile.
    let found = find_format(&*disk, data_dir, kind)?;
    restrict(data_dir)?;
    let (directory, end_path) = (data_dir.join("log"), data_dir.join(LOG_END));
    if found.is_none() {
        if Vouched::read(&*disk, &end_path)?.is_none() {
            Vouched::new().create(&*disk, &end_path)?;
        }
        write_format(data_dir, kind)?;
    }
    // Damage of the log is found before the engine's library writes anything.
    let log = LogPlace::look(Arc::clone(&disk), &directory, &end_path)?;
    let is_current = found.is_none_or(|format| format == DATA_DIR_FORMAT);
    if is_current && log.vouched.is_none() {
        return Err(corrupt(data_dir, "its file LOG_END is missing"));
    }
    disk.create_directory(&directory)
        .map_err(io_error("create", &directory))?;
    let (engine_bytes, blocks_bytes) = cache::divide(options.cache_bytes);
    let engine = match open_engine(kind, data_dir, engine_bytes, &lock) {
        Err(error)
            if disk
                .free_bytes(&directory)
                .is_ok_and(|free| free < FULL_DISK_BYTES) =>
        {
            // The engine's recovery needs some room: the log's spare segments give theirs.
            tracing::warn!(%error, "the disk is full: giving up the spare segments of the log");
            remove_spares(&*disk, &directory)?;
            open_engine(kind, data_dir, engine_bytes, &lock)?
        }
        opened => opened?,
    };
    check_belongs(data_dir, found, &log, &*engine)?;
    let engine = Arc::new(CachedEngine::new(engine, blocks_bytes, is_sound_row));
    let store = MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, options, Some(log))?;
    if !is_current {
        // It names its log from now on.
        engine.make_durable()?;
        write_format(data_dir, kind)?;
        format_1::forget(data_dir)?;
    }
    Ok(Arc::new(store))
}

/// The engines' libraries count from 1970, and panic before.
pub(super) fn check_clock(now: SystemTime) -> Result<()> {
    match now.duration_since(UNIX_EPOCH) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::CannotStart {
            message: "the system's clock stands before 1970".to_string(),
            hint: "Set the clock, and start again.".to_string(),
        }),
    }
}

/// Error `Corrupt` when the engine has commits that no log is there for, or does not say whose they are although the directory is of
/// a format that does.
pub(super) fn check_belongs(
    data_dir: &Path,
    format: Option<u32>,
    log: &LogPlace,
    engine: &dyn Engine,
) -> Result<()> {
    let clock = read_clock(engine)?;
    let has_log = format.is_none_or(|format| format > format_1::FORMAT);
    if has_log && log.survey.is_none() && clock.timestamp > 0 {
        return Err(corrupt(data_dir, "its commit log is missing"));
    }
    if format == Some(DATA_DIR_FORMAT) && clock.timestamp > 0 && clock.origin.is_none() {
        return Err(corrupt(
            data_dir,
            "its storage engine is that of an older data directory",
        ));
    }
    Ok(())
}

/// With less free space than this an engine may find no room for what its recovery writes.
const FULL_DISK_BYTES: u64 = 64 << 20;

/// Opens the engine of a kind; `lock` is held until it is closed.
pub(super) fn open_engine(
    kind: StoreKind,
    data_dir: &Path,
    cache_bytes: u64,
    lock: &File,
) -> Result<Arc<dyn Engine>> {
    let lock = lock.try_clone().map_err(io_error("lock", data_dir))?;
    Ok(match kind {
        StoreKind::Memory => Arc::new(MemoryEngine::new()),
        StoreKind::Fjall => Arc::new(FjallEngine::open(data_dir, cache_bytes, lock)?),
        StoreKind::Sled => {
            SledEngine::upgrade(data_dir, &|engine| format_1::finish(data_dir, engine))?;
            Arc::new(SledEngine::open(data_dir, cache_bytes, lock)?)
        }
    })
}
