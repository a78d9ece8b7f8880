//! Opening a data directory without changing it, for `keyspan check`: nothing in it is written, removed or renamed, so that it may lie on
//! a file system mounted read-only, and the release that wrote it opens it as before.
//!
//! The log is read where it stands. The engines' libraries write when they open, and what the engine lacks has to be replayed into
//! it; so the engine is opened as a copy in a folder for temporary files, which goes when the check ends. A
//! table of fjall's never changes: of each the copy has a link. sled has one file, which the copy holds whole.

use std::fs::{DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::OsDisk;
use super::format::{
    DATA_DIR_FORMAT, LOG_END, corrupt, io_error, lock_directory, read_format, without_format,
};
use super::log::LogPlace;
use super::mvcc::MvccStore;
use super::open::{check_belongs, open_engine};
use super::{Store, StoreOptions};
use crate::{Error, Result};

/// What an engine's folders and the files of format 1 are called.
const COPIED: [&str; 5] = ["sled", "sled-2", "fjall", "WATERMARK", "JOURNAL"];
/// The folder of fjall's tables.
const TABLES: &str = "tables";

/// A store that was opened to be read. It takes no commits that matter: they would go with the copy.
#[derive(Debug)]
pub struct InspectedStore {
    /// Closes before its files go.
    store: Option<Arc<dyn Store>>,
    _copy: Scratch,
    /// No server opens the directory meanwhile.
    _lock: File,
}

/// A folder for temporary files, removed when dropped.
#[derive(Debug)]
struct Scratch(PathBuf);

/// Opens the store of a data directory that no server uses as a start would find it. Blocks while the engine is copied and the
/// log is replayed. Errors: those of `open_store`; `CannotStart` when there is no room for the copy.
pub fn inspect_store(data_dir: &Path, options: &StoreOptions) -> Result<InspectedStore> {
    let (format, kind) = read_format(data_dir)?.ok_or_else(|| without_format(data_dir, None))?;
    let lock = lock_directory(data_dir)?;
    let disk = Arc::new(OsDisk::default());
    let log = LogPlace::look(disk, &data_dir.join("log"), &data_dir.join(LOG_END))?;
    if format == DATA_DIR_FORMAT && log.vouched.is_none() {
        return Err(corrupt(data_dir, "its file LOG_END is missing"));
    }
    let copy = Scratch::make()?;
    for name in COPIED {
        copy_engine(&data_dir.join(name), &copy.0.join(name)).map_err(|error| no_copy(&copy.0, error))?;
    }
    let engine = open_engine(kind, &copy.0, options.cache_bytes, &lock)?;
    check_belongs(data_dir, Some(format), &log, &*engine)?;
    let store: Arc<dyn Store> = Arc::new(MvccStore::inspect(engine, options, &log)?);
    Ok(InspectedStore {
        store: Some(store),
        _copy: copy,
        _lock: lock,
    })
}

impl InspectedStore {
    /// The store, as it would be after a start.
    pub fn store(&self) -> &dyn Store {
        self.store.as_deref().expect("it goes only when this is dropped")
    }
}

impl Drop for InspectedStore {
    fn drop(&mut self) {
        self.store = None;
    }
}

impl Scratch {
    fn make() -> Result<Scratch> {
        let path = std::env::temp_dir().join(format!("keyspan-check-{:016x}", rand::random::<u64>()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(|error| no_copy(&path, error))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "could not remove \"{}\"", self.0.display());
        }
    }
}

/// Copies a file or a folder, if it is there; of tables of fjall's, links.
fn copy_engine(from: &Path, to: &Path) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return std::fs::copy(from, to).map(drop);
        }
        entries => entries?,
    };
    std::fs::create_dir(to)?;
    let are_tables = from.file_name().is_some_and(|name| name == TABLES);
    for entry in entries {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match are_tables {
            true => symlink(std::path::absolute(entry.path())?, target)?,
            false => copy_engine(&entry.path(), &target)?,
        }
    }
    Ok(())
}

fn no_copy(copy: &Path, error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::StorageFull
        | ErrorKind::PermissionDenied
        | ErrorKind::ReadOnlyFilesystem
        | ErrorKind::NotFound => Error::CannotStart {
            message: format!(
                "could not copy the storage engine to \"{}\": {error}",
                copy.display()
            ),
            hint: "Let TMPDIR name a folder that has room for a copy of it.".to_string(),
        },
        _ => io_error("copy the storage engine to", copy)(error),
    }
}
