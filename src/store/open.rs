//! Opening a store: the data directory, its log, and the engine inside. Called once by the server's start, and by tests;
//! knows nothing of what is stored.
//!
//! ```text
//!   data directory
//!   ├── LOCK        locked while a server has the directory open
//!   ├── FORMAT      one line: `keyspan format 2 engine sled`
//!   ├── log/        the commit log: the truth since the last checkpoint
//!   ├── sled-2/     the engine's own files, or fjall/
//!   └── spill/      what statements write that do not fit memory; emptied at a start
//! ```

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use super::cache::{self, CachedEngine};
use super::disk::{Disk, OsDisk};
use super::engine::Engine;
use super::fjall::FjallEngine;
use super::format::{DATA_DIR_FORMAT, check_format, corrupt, io_error, lock_directory, write_format};
use super::format_1;
use super::log::{Survey, remove_spares};
use super::memory::MemoryEngine;
use super::mvcc::{LogPlace, MvccStore, is_sound_row, read_clock};
use super::permissions::{create_data_dir, restrict};
use super::sled::SledEngine;
use super::{Store, StoreKind, StoreOptions};
use crate::Result;

/// Opens a store; creates the data directory when there is none (`Memory` leaves it alone). Blocks while the engine
/// reads its files and the log is replayed. Errors: `DataDirInUse`, `DataDirFormat`, `Corrupt`, `Io`.
pub fn open_store(kind: StoreKind, data_dir: &Path, options: &StoreOptions) -> Result<Arc<dyn Store>> {
    if kind == StoreKind::Memory {
        let store = MvccStore::open(Arc::new(MemoryEngine::new()), options, None)?;
        return Ok(Arc::new(store));
    }
    create_data_dir(data_dir)?;
    let lock = lock_directory(data_dir)?;
    restrict(data_dir)?;
    let found = check_format(data_dir, kind)?;
    let disk: Arc<dyn Disk> = Arc::new(OsDisk::default());
    let directory = data_dir.join("log");
    disk.create_directory(&directory)
        .map_err(io_error("create", &directory))?;
    // Damage of the log is found before the engine's library writes anything.
    let survey = Survey::read(&*disk, &directory)?;
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
    if found == Some(DATA_DIR_FORMAT) && survey.is_none() && read_clock(&*engine)? > 0 {
        return Err(corrupt(data_dir, "its commit log is missing"));
    }
    let log = LogPlace {
        disk,
        directory,
        survey,
    };
    let engine = Arc::new(CachedEngine::new(engine, blocks_bytes, is_sound_row));
    let store = MvccStore::open(engine, options, Some(log))?;
    if found != Some(DATA_DIR_FORMAT) {
        write_format(data_dir, kind)?;
        format_1::forget(data_dir)?;
    }
    Ok(Arc::new(store))
}

/// With less free space than this an engine may find no room for what its recovery writes.
const FULL_DISK_BYTES: u64 = 64 << 20;

/// Opens the engine of a kind; `lock` is held until it is closed.
fn open_engine(kind: StoreKind, data_dir: &Path, cache_bytes: u64, lock: &File) -> Result<Arc<dyn Engine>> {
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
