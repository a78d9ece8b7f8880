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
use std::time::Duration;

use super::Store;
use super::disk::{Disk, OsDisk};
use super::engine::Engine;
use super::fjall::FjallEngine;
use super::format::{DATA_DIR_FORMAT, check_format, corrupt, io_error, lock_directory, write_format};
use super::format_1;
use super::log::{Survey, remove_spares};
use super::machine::default_cache_bytes;
use super::memory::MemoryEngine;
use super::mvcc::{LogPlace, MvccStore, read_clock};
use super::permissions::{create_data_dir, restrict};
use super::sled::SledEngine;
use crate::{Error, Result};

/// Which engine a store keeps its data in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// On disk, in a data directory: sled, a tree in a log.
    Sled,
    /// On disk, in a data directory: fjall, a log-structured merge tree.
    Fjall,
    /// In memory, gone with the process.
    Memory,
}

/// Sizes of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreOptions {
    /// Memory that the engine takes, by which the process grows: each engine makes of it what it counts by itself.
    pub cache_bytes: u64,
    /// Memory for values that open snapshots still need; above it the oldest end with `SnapshotTooOld`.
    pub undo_bytes_max: usize,
    /// Memory for commits that are in the log but not in the engine yet; above it commits wait for the engine. One large
    /// commit comes on top.
    pub memtable_bytes_max: usize,
    /// A checkpoint begins when the log has grown by so much since the last …
    pub checkpoint_bytes: u64,
    /// … or after this time, if it has grown at all.
    pub checkpoint_interval: Duration,
    /// Free space on the disk below which only what frees space is written.
    pub disk_reserve_bytes: u64,
    /// Length of a segment of the log.
    pub segment_bytes: u64,
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            cache_bytes: default_cache_bytes(),
            undo_bytes_max: 256 << 20,
            memtable_bytes_max: 64 << 20,
            checkpoint_bytes: 256 << 20,
            checkpoint_interval: Duration::from_secs(300),
            disk_reserve_bytes: 256 << 20,
            // Unit tests make many stores, and go through many segments.
            segment_bytes: if cfg!(test) { 64 << 10 } else { 16 << 20 },
        }
    }
}

impl StoreKind {
    /// Every kind, in the order of the help text.
    pub const ALL: [StoreKind; 3] = [StoreKind::Sled, StoreKind::Fjall, StoreKind::Memory];

    /// The name on the command line and in the FORMAT file.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::Sled => "sled",
            StoreKind::Fjall => "fjall",
            StoreKind::Memory => "memory",
        }
    }
}

impl std::fmt::Display for StoreKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for StoreKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<StoreKind> {
        let names = StoreKind::ALL.map(StoreKind::name).join(", ");
        StoreKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| Error::InvalidParameter {
                message: format!("unknown store \"{name}\""),
                hint: Some(format!("Available stores: {names}.")),
            })
    }
}

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
    let engine = match open_engine(kind, data_dir, options.cache_bytes, &lock) {
        Err(error)
            if disk
                .free_bytes(&directory)
                .is_ok_and(|free| free < FULL_DISK_BYTES) =>
        {
            // The engine's recovery needs some room: the log's spare segments give theirs.
            tracing::warn!(%error, "the disk is full: giving up the spare segments of the log");
            remove_spares(&*disk, &directory)?;
            open_engine(kind, data_dir, options.cache_bytes, &lock)?
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
