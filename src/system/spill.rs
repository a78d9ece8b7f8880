//! `SpillFiles`: the folder for what statements cannot keep in memory, and DataFusion's manager of the files in it. Made
//! once by the server's start; every statement finds it in its settings.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion_common::Result as DataFusionResult;
use datafusion_execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion_execution::{SpillFile, SpillWriter};

use super::datafusion_error::from_datafusion;
use crate::Result;

/// Temporary files of all statements together; past it a statement fails with 53100.
const SPILL_BYTES_MAX: u64 = 16 << 30;

/// Where statements spill to.
#[derive(Debug, Default)]
pub struct SpillFiles {
    /// `None`: the system's temporary folder.
    folder: Option<PathBuf>,
    /// Made by the first statement that could need it; tried again by the next when it could not be made.
    manager: Mutex<Option<Arc<DiskManager>>>,
}

/// A file that goes when it is dropped, and counts with those of all statements.
pub(crate) struct TemporaryFile {
    file: Arc<dyn SpillFile>,
    writer: Box<dyn SpillWriter>,
}

impl TemporaryFile {
    /// To be read from its beginning.
    pub(crate) fn open(&self) -> io::Result<std::fs::File> {
        match self.file.path() {
            Some(path) => std::fs::File::open(path),
            None => Err(io::Error::other("a temporary file without a path")),
        }
    }
}

impl std::fmt::Debug for TemporaryFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TemporaryFile").field(&self.file.path()).finish()
    }
}

impl io::Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl SpillFiles {
    /// A new file, empty. `purpose`: what it is for. Errors: 53100, 58030.
    pub(crate) fn create(&self, purpose: &str) -> Result<TemporaryFile> {
        let manager = self.manager_within(None).map_err(from_datafusion)?;
        let file = manager.create_tmp_file(purpose).map_err(from_datafusion)?;
        let writer = file.open_writer().map_err(from_datafusion)?;
        Ok(TemporaryFile { file, writer })
    }

    /// In a folder that nobody else uses, which is made when there is none. What a killed server left in it is removed.
    /// A disk that is full, or fails, is no reason not to start: what goes wrong is logged, and tried again when needed.
    pub fn in_folder(folder: PathBuf) -> SpillFiles {
        if let Err(error) = empty(&folder) {
            tracing::warn!(%error, "could not empty \"{}\"", folder.display());
        }
        SpillFiles {
            folder: Some(folder),
            manager: Mutex::default(),
        }
    }

    /// DataFusion's manager of the files: that of all statements, or one for a statement that may have so many bytes only.
    pub(crate) fn manager_within(&self, bytes_max: Option<u64>) -> DataFusionResult<Arc<DiskManager>> {
        match bytes_max {
            None => self.manager(),
            Some(bytes_max) => build(self.mode(), bytes_max.min(SPILL_BYTES_MAX)),
        }
    }

    fn mode(&self) -> DiskManagerMode {
        match &self.folder {
            Some(folder) => DiskManagerMode::Directories(vec![folder.clone()]),
            None => DiskManagerMode::OsTmpDirectory,
        }
    }

    /// That of all statements. Without a folder to write to, those that fit in memory still run.
    fn manager(&self) -> DataFusionResult<Arc<DiskManager>> {
        let mut kept = self.manager.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(manager) = &*kept {
            return Ok(manager.clone());
        }
        match build(self.mode(), SPILL_BYTES_MAX) {
            Ok(manager) => Ok(kept.insert(manager).clone()),
            Err(error) => {
                tracing::warn!(%error, "no statement can spill to disk");
                build(DiskManagerMode::Disabled, SPILL_BYTES_MAX)
            }
        }
    }
}

fn build(mode: DiskManagerMode, bytes_max: u64) -> DataFusionResult<Arc<DiskManager>> {
    let builder = DiskManagerBuilder::default()
        .with_mode(mode)
        .with_max_temp_directory_size(bytes_max);
    builder.build().map(Arc::new)
}

/// Removes whatever lies in the folder. Without one there is nothing to do: the first spill makes it.
fn empty(folder: &Path) -> io::Result<()> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::SpillFiles;

    #[test]
    fn a_start_empties_the_folder_and_files_go_there() {
        let directory = TempDir::new().expect("a temporary folder");
        let folder = directory.path().join("spill");
        std::fs::create_dir_all(folder.join("datafusion-left/deeper")).expect("a folder");
        std::fs::write(folder.join("datafusion-left/deeper/file"), "rows").expect("a file");
        std::fs::write(folder.join("file"), "rows").expect("a file");
        let spill = SpillFiles::in_folder(folder.clone());
        assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0);
        let manager = spill.manager().expect("a manager");
        let file = manager.create_tmp_file("a test").expect("a file");
        assert!(file.path().is_some_and(|path| path.starts_with(&folder)));
        assert!(
            std::sync::Arc::ptr_eq(&manager, &spill.manager().expect("a manager")),
            "all statements count into one sum"
        );
    }

    #[test]
    fn without_a_folder_statements_still_run() {
        let directory = TempDir::new().expect("a temporary folder");
        let taken = directory.path().join("spill");
        std::fs::write(&taken, "a file, not a folder").expect("a file");
        let spill = SpillFiles::in_folder(taken.clone());
        let manager = spill.manager().expect("a manager");
        assert!(manager.create_tmp_file("a test").is_err());
        // Once the folder can be made, statements spill again.
        std::fs::remove_file(&taken).expect("removed");
        let manager = spill.manager().expect("a manager");
        assert!(manager.create_tmp_file("a test").is_ok());
    }
}
