//! The data directory's lock, and the FORMAT file that says which release and engine wrote it. Called by `open` and the
//! check; knows nothing of what else is in the directory.

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::StoreKind;
use super::disk::Disk;
use super::log::{Vouched, unfinished as unfinished_end};
use crate::{Error, Result};

/// The format that this release writes, and the greatest that it reads. It covers everything in the directory: the
/// log, the engine, the bytes of keys and rows, the catalog. Format 2 had no LOG_END, and its engine did not name its log;
/// format 1 had no log, but two files of `format_1`.
pub(super) const DATA_DIR_FORMAT: u32 = 3;

/// The file that vouches for the end of the log.
pub(super) const LOG_END: &str = "LOG_END";

/// How long another holder of the lock may take to let go: a server that is just ending, or a process that this one is
/// just starting, which holds copies of its files until it runs its own program.
const LOCK_PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 3 });

/// Locks the directory until the answer and its clones are closed. What is locked is the directory itself, so that nothing that is
/// removed in it lets a second server in; nothing is made or changed, so that it may be read-only. Where directories cannot be
/// locked (some network file systems), its file LOCK is. Errors: `DataDirInUse`, `Io`.
pub(super) fn lock_directory(data_dir: &Path) -> Result<File> {
    let directory = File::open(data_dir).map_err(io_error("open", data_dir))?;
    let path = data_dir.join("LOCK");
    match lock(&directory, data_dir) {
        Ok(()) => {}
        Err(error @ Error::DataDirInUse { .. }) => return Err(error),
        Err(_) => {
            let options = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path);
            let file = options.map_err(io_error("open", &path))?;
            return lock(&file, data_dir).map(|()| file);
        }
    }
    // A release of before may have the directory open, which locks this file alone. Let go at once: it refuses this format.
    match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(directory),
        file => lock(&file.map_err(io_error("open", &path))?, data_dir).map(|()| directory),
    }
}

fn lock(file: &File, data_dir: &Path) -> Result<()> {
    let started = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if started.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::DataDirInUse {
                    path: data_dir.display().to_string(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io_error("lock", data_dir)(error)),
        }
    }
}

/// The format that the FORMAT file names; `None`: the directory is empty, not there, or one that a start began to make. Changes
/// nothing: it may be somebody else's. Errors: `DataDirFormat`; `InvalidParameter` when it is none of ours, or another engine
/// wrote it; `Corrupt`, `Io`.
pub(super) fn find_format(disk: &dyn Disk, data_dir: &Path, kind: StoreKind) -> Result<Option<u32>> {
    let Some((found, engine)) = read_format(data_dir)? else {
        check_empty(disk, data_dir)?;
        return Ok(None);
    };
    if engine != kind {
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

/// The format and the engine that the FORMAT file names; `None` when there is no such file. Errors: `DataDirFormat`,
/// `InvalidParameter` for a file that is no folder, `Corrupt`, `Io`.
pub(super) fn read_format(data_dir: &Path) -> Result<Option<(u32, StoreKind)>> {
    let path = data_dir.join("FORMAT");
    let line = match std::fs::read(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Err(Error::InvalidParameter {
                message: format!("\"{}\" is not a folder", data_dir.display()),
                hint: Some("Give a data directory, or the name of one that is to be made.".to_string()),
            });
        }
        line => line.map_err(io_error("read", &path))?,
    };
    let (found, engine) =
        parse_format(&line).ok_or_else(|| corrupt(data_dir, "its FORMAT file is unreadable"))?;
    if found > DATA_DIR_FORMAT {
        return Err(Error::DataDirFormat {
            path: data_dir.display().to_string(),
            found,
            supported: DATA_DIR_FORMAT,
        });
    }
    Ok(Some((found, engine.parse()?)))
}

/// The format and the engine that a FORMAT file names.
fn parse_format(line: &[u8]) -> Option<(u32, &str)> {
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

/// What is wrong with a folder that has no FORMAT file and is not empty: it is a data directory that lost it, or none of ours.
pub(super) fn without_format(data_dir: &Path, holds: Option<&Path>) -> Error {
    let ours = [LOG_END, "log", "sled", "sled-2", "fjall"];
    if ours.iter().any(|name| data_dir.join(name).exists()) {
        return corrupt(data_dir, "it has no FORMAT file");
    }
    let shown = data_dir.display();
    let (message, hint) = match holds {
        Some(found) => (
            format!(
                "\"{shown}\" is not a data directory: it holds \"{}\"",
                found.display()
            ),
            "Give an empty or a new folder with --data-dir, or one that Keyspan made.",
        ),
        None => (
            format!("\"{shown}\" is not a data directory"),
            "Give the folder that --data-dir named.",
        ),
    };
    Error::InvalidParameter {
        message,
        hint: Some(hint.to_string()),
    }
}

/// A directory with other files than those that a start makes before FORMAT.
fn check_empty(disk: &dyn Disk, data_dir: &Path) -> Result<()> {
    let entries = match std::fs::read_dir(data_dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(io_error("list", data_dir))?,
    };
    let (lock, end) = (data_dir.join("LOCK"), data_dir.join(LOG_END));
    for entry in entries {
        let found: PathBuf = entry.map_err(io_error("list", data_dir))?.path();
        let is_ours = match () {
            () if found == lock => std::fs::metadata(&found).is_ok_and(|file| file.len() == 0),
            () if found == end => Vouched::read(disk, &end)?.is_some_and(|vouched| vouched.is_new()),
            () => found == unfinished(data_dir) || found == unfinished_end(&end),
        };
        if !is_ours {
            return Err(without_format(data_dir, Some(&found)));
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

/// What the operating system refused, with a cure where there is one.
pub(super) fn io_error(action: &str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let action = format!("could not {action} \"{}\"", path.display());
    move |error| match error.kind() {
        ErrorKind::PermissionDenied => Error::CannotStart {
            message: format!("{action}: {error}"),
            hint: "Run as the user who owns the data directory, or give another directory with --data-dir."
                .to_string(),
        },
        ErrorKind::ReadOnlyFilesystem => Error::CannotStart {
            message: format!("{action}: {error}"),
            hint: "Mount the file system for writing, or give another directory with --data-dir.".to_string(),
        },
        _ => Error::Io {
            action,
            reason: error.to_string(),
        },
    }
}
