//! The data directory's lock, and the FORMAT file that says which release and engine wrote it. Called by `open`; knows
//! nothing of what else is in the directory.

use std::fs::{File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::StoreKind;
use crate::{Error, Result};

/// The format that this release writes, and the greatest that it reads. It covers everything in the directory: the
/// log, the engine, the bytes of keys and rows, the catalog. Format 1 had no log, but two files of `format_1`.
pub(super) const DATA_DIR_FORMAT: u32 = 2;

/// How long another holder of the lock may take to let go: a server that is just ending, or a process that this one is
/// just starting, which holds copies of its files until it runs its own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Locks the directory until the file and its clones are closed.
pub(super) fn lock_directory(data_dir: &Path) -> Result<File> {
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

/// The format that the FORMAT file names; `None`: it is a new directory, and has the file now. Errors: `DataDirFormat`,
/// `InvalidParameter` when another engine wrote it, `Corrupt`, `Io`.
pub(super) fn check_format(data_dir: &Path, kind: StoreKind) -> Result<Option<u32>> {
    let path = data_dir.join("FORMAT");
    let line = match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            check_empty(data_dir)?;
            return write_format(data_dir, kind).map(|()| None);
        }
        line => line.map_err(io_error("read", &path))?,
    };
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
    Ok(Some(found))
}

/// The format and the engine that a FORMAT file names.
pub(super) fn parse_format(line: &[u8]) -> Option<(u32, &str)> {
    let rest = str::from_utf8(line).ok()?.strip_prefix("keyspan format ")?;
    let (format, engine) = rest.trim_end().split_once(" engine ")?;
    Some((format.parse().ok()?, engine))
}

/// Written beside and renamed, so that no half of it is ever there.
pub(super) fn write_format(data_dir: &Path, kind: StoreKind) -> Result<()> {
    let (path, unfinished) = (data_dir.join("FORMAT"), unfinished(data_dir));
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&unfinished)?;
        writeln!(file, "keyspan format {DATA_DIR_FORMAT} engine {kind}")?;
        file.sync_all()?;
        std::fs::rename(&unfinished, &path)?;
        File::open(data_dir)?.sync_all()
    };
    write().map_err(io_error("write", &path))
}

/// A directory with other files was never ours, or is a data directory that lost its FORMAT file.
fn check_empty(data_dir: &Path) -> Result<()> {
    let ours = [data_dir.join("LOCK"), unfinished(data_dir)];
    for entry in std::fs::read_dir(data_dir).map_err(io_error("list", data_dir))? {
        let found: PathBuf = entry.map_err(io_error("list", data_dir))?.path();
        if !ours.contains(&found) {
            return Err(corrupt(
                data_dir,
                &format!("it has no FORMAT file, but holds \"{}\"", found.display()),
            ));
        }
    }
    Ok(())
}

fn unfinished(data_dir: &Path) -> PathBuf {
    data_dir.join("FORMAT.new")
}

pub(super) fn corrupt(data_dir: &Path, reason: &str) -> Error {
    Error::Corrupt {
        what: format!("data directory \"{}\"", data_dir.display()),
        reason: reason.to_string(),
    }
}

pub(super) fn io_error(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("could not {action} \"{}\"", path.display());
    move |error| Error::Io {
        action,
        reason: error.to_string(),
    }
}
