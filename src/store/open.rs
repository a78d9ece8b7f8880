//! Opening a store: the data directory's lock and format, and the engine inside. Called once by the server's start, and
//! by tests; knows nothing of what is stored.
//!
//! ```text
//!   data directory
//!   ├── LOCK        locked while a server has the directory open
//!   ├── FORMAT      one line: `keyspan format 1 engine sled`
//!   ├── WATERMARK   one line: the number of a commit known to be durable
//!   ├── JOURNAL     only while a large commit is under way: what it writes
//!   └── sled-2/     the engine's own files, or fjall/
//! ```

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Store;
use super::engine::Engine;
use super::fjall::FjallEngine;
use super::machine::default_cache_bytes;
use super::memory::MemoryEngine;
use super::mvcc::{Files, Journal, MvccStore, Watermark};
use super::sled::SledEngine;
use crate::{Error, Result};

/// The format that this release writes, and the greatest that it reads. It covers everything in the directory: the
/// engine, the bytes of keys and rows, the catalog.
const DATA_DIR_FORMAT: u32 = 1;

/// How long another holder of the lock may take to let go: a server that is just ending, or a process that this one is
/// just starting, which holds copies of its files until it runs its own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

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
}

impl Default for StoreOptions {
    fn default() -> StoreOptions {
        StoreOptions {
            cache_bytes: default_cache_bytes(),
            undo_bytes_max: 256 << 20,
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
/// reads its files. Errors: `DataDirInUse`, `DataDirFormat`, `Corrupt`, `Io`.
pub fn open_store(kind: StoreKind, data_dir: &Path, options: &StoreOptions) -> Result<Arc<dyn Store>> {
    match kind {
        StoreKind::Memory => Ok(Arc::new(MvccStore::open(
            Arc::new(MemoryEngine::new()),
            options.undo_bytes_max,
            None,
        )?)),
        StoreKind::Sled | StoreKind::Fjall => {
            let lock = lock_directory(data_dir)?;
            check_format(data_dir, kind)?;
            let engine = open_engine(kind, data_dir, options.cache_bytes, lock)?;
            let files = Files {
                watermark: Watermark::open(&data_dir.join("WATERMARK"))?,
                journal: Journal::new(data_dir.join("JOURNAL")),
            };
            Ok(Arc::new(MvccStore::open(
                engine,
                options.undo_bytes_max,
                Some(files),
            )?))
        }
    }
}

/// Opens the engine of a kind; `lock` is held until it is closed.
fn open_engine(kind: StoreKind, data_dir: &Path, cache_bytes: u64, lock: File) -> Result<Arc<dyn Engine>> {
    Ok(match kind {
        StoreKind::Memory => Arc::new(MemoryEngine::new()),
        StoreKind::Fjall => Arc::new(FjallEngine::open(data_dir, cache_bytes, lock)?),
        StoreKind::Sled => {
            SledEngine::upgrade(data_dir, &|_| Ok(()))?;
            Arc::new(SledEngine::open(data_dir, cache_bytes, lock)?)
        }
    })
}

/// Creates the directory and locks it until the file is closed.
fn lock_directory(data_dir: &Path) -> Result<File> {
    std::fs::create_dir_all(data_dir).map_err(io_error("create", data_dir))?;
    let path = data_dir.join("LOCK");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(io_error("open", &path))?;
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::DataDirInUse {
                    path: data_dir.display().to_string(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", &path)(error)),
        }
    }
}

/// Checks the FORMAT file, or writes it in a new directory.
fn check_format(data_dir: &Path, kind: StoreKind) -> Result<()> {
    let path = data_dir.join("FORMAT");
    match std::fs::read(&path) {
        Ok(line) => {
            let (found, engine) =
                parse_format(&line).ok_or_else(|| corrupt(data_dir, "its FORMAT file is unreadable"))?;
            if found > DATA_DIR_FORMAT {
                let path = data_dir.display().to_string();
                return Err(Error::DataDirFormat {
                    path,
                    found,
                    supported: DATA_DIR_FORMAT,
                });
            }
            if engine != kind.name() {
                return Err(Error::InvalidParameter {
                    message: format!(
                        "data directory \"{}\" belongs to the store \"{engine}\"",
                        data_dir.display()
                    ),
                    hint: Some(format!(
                        "Start with --store {engine}, or give another directory with --data-dir."
                    )),
                });
            }
            Ok(())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => write_format(data_dir, &path, kind),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

/// The format and the engine that a FORMAT file names.
fn parse_format(line: &[u8]) -> Option<(u32, &str)> {
    let rest = str::from_utf8(line).ok()?.strip_prefix("keyspan format ")?;
    let (format, engine) = rest.trim_end().split_once(" engine ")?;
    Some((format.parse().ok()?, engine))
}

/// Written beside and renamed, so that no half of it is ever there. Only in an empty directory: one with other files
/// was never ours, or is a data directory that lost its FORMAT file.
fn write_format(data_dir: &Path, path: &Path, kind: StoreKind) -> Result<()> {
    let unfinished = data_dir.join("FORMAT.new");
    let ours = [data_dir.join("LOCK"), unfinished.clone()];
    for entry in std::fs::read_dir(data_dir).map_err(io_error("list", data_dir))? {
        let found: PathBuf = entry.map_err(io_error("list", data_dir))?.path();
        if !ours.contains(&found) {
            return Err(corrupt(
                data_dir,
                &format!("it has no FORMAT file, but holds \"{}\"", found.display()),
            ));
        }
    }
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&unfinished)?;
        writeln!(file, "keyspan format {DATA_DIR_FORMAT} engine {kind}")?;
        file.sync_all()?;
        std::fs::rename(&unfinished, path)?;
        File::open(data_dir)?.sync_all()
    };
    write().map_err(io_error("write", path))
}

fn corrupt(data_dir: &Path, reason: &str) -> Error {
    Error::Corrupt {
        what: format!("data directory \"{}\"", data_dir.display()),
        reason: reason.to_string(),
    }
}

fn io_error(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("could not {action} \"{}\"", path.display());
    move |error| Error::Io {
        action,
        reason: error.to_string(),
    }
}
