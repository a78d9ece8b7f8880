//! The operating system's files. Writes go past the page cache and are on the disk when they return (`O_DIRECT` and
//! `O_DSYNC`): measured on a virtual disk a block so takes 125 to 160 µs, a write and `fdatasync` 200 µs. Where a file
//! system takes no direct writes, `O_DSYNC` alone does the same through the page cache.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;

use super::{BLOCK_BYTES, Disk, DiskFile, NoteFile};

/// New files and directories are the owner's alone, whatever the umask.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// A direct write copies at most so much at a time to memory that is aligned as the disk wants it.
const DIRECT_BYTES_MAX: usize = 1 << 20;

/// The file system. Directories that were synced once stay open, so that running out of descriptors fails no commit.
#[derive(Debug, Default)]
pub(crate) struct OsDisk {
    directories: Mutex<Vec<(PathBuf, File)>>,
}

#[derive(Debug)]
struct OsFile {
    reads: File,
    writes: Writes,
}

/// How a file is written.
#[derive(Debug)]
enum Writes {
    /// With `O_DIRECT`: from memory aligned to blocks, kept here.
    Direct(File, Mutex<Vec<u8>>),
    /// Through the page cache.
    Cached(File),
    /// Not at all.
    Never,
}

#[derive(Debug)]
struct OsNote(File);

impl OsDisk {
    fn sync_directory(&self, directory: &Path) -> Result<()> {
        let mut known = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, open)) = known.iter().find(|(path, _)| path == directory) {
            return open.sync_all();
        }
        let open = File::open(directory)?;
        open.sync_all()?;
        known.push((directory.to_path_buf(), open));
        Ok(())
    }

    fn sync_parent(&self, path: &Path) -> Result<()> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.sync_directory(parent),
            _ => self.sync_directory(Path::new(".")),
        }
    }
}

impl Disk for OsDisk {
    fn create_directory(&self, directory: &Path) -> Result<()> {
        match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => created?,
        }
        self.sync_parent(directory)
    }

    fn list(&self, directory: &Path) -> Result<Vec<String>> {
        std::fs::read_dir(directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    /// Real zeros, not a hole or a reservation: the first write to either changes the file system's own records, which
    /// a durable write then has to wait for.
    fn create(&self, path: &Path, length: u64) -> Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(path)?;
        let zeros = vec![0; DIRECT_BYTES_MAX];
        let mut left = length;
        while left > 0 {
            let bytes = left.min(zeros.len() as u64);
            file.write_all(&zeros[..bytes as usize])?;
            left -= bytes;
        }
        file.sync_all()?;
        self.sync_parent(path)
    }

    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let open = |flags: OFlags| {
            OpenOptions::new()
                .write(true)
                .custom_flags(flags.bits() as i32)
                .open(path)
        };
        let writes = match open(OFlags::DIRECT | OFlags::DSYNC) {
            Ok(file) => Writes::Direct(file, Mutex::default()),
            Err(error) if error.kind() == ErrorKind::InvalidInput => Writes::Cached(open(OFlags::DSYNC)?),
            Err(error) => return Err(error),
        };
        Ok(Box::new(OsFile {
            reads: File::open(path)?,
            writes,
        }))
    }

    fn open_to_read(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        Ok(Box::new(OsFile {
            reads: File::open(path)?,
            writes: Writes::Never,
        }))
    }

    fn open_note(&self, path: &Path) -> Result<Box<dyn NoteFile>> {
        let file = OpenOptions::new().write(true).open(path)?;
        Ok(Box::new(OsNote(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to)?;
        self.sync_parent(to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        std::fs::remove_file(path)?;
        self.sync_parent(path)
    }

    fn free_bytes(&self, directory: &Path) -> Result<u64> {
        let figures = rustix::fs::statvfs(directory)?;
        Ok(figures.f_bavail.saturating_mul(figures.f_frsize))
    }
}

impl DiskFile for OsFile {
    fn length(&self) -> Result<u64> {
        Ok(self.reads.metadata()?.len())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.reads.read_exact_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        if !bytes.len().is_multiple_of(BLOCK_BYTES) || !offset.is_multiple_of(BLOCK_BYTES as u64) {
            return Err(Error::from(ErrorKind::InvalidInput));
        }
        match &self.writes {
            Writes::Never => Err(Error::from(ErrorKind::PermissionDenied)),
            Writes::Cached(file) => file.write_all_at(bytes, offset),
            Writes::Direct(file, memory) => {
                let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
                write_aligned(file, &mut memory, bytes, offset)
            }
        }
    }
}

impl NoteFile for OsNote {
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> Result<()> {
        self.0.sync_data()
    }
}

/// Writes from a copy of the bytes that begins at an address divisible by [`BLOCK_BYTES`].
fn write_aligned(file: &File, memory: &mut Vec<u8>, bytes: &[u8], offset: u64) -> Result<()> {
    let needed = bytes.len().min(DIRECT_BYTES_MAX) + BLOCK_BYTES;
    if memory.len() < needed {
        *memory = vec![0; needed];
    }
    let begin = memory.as_ptr().align_offset(BLOCK_BYTES);
    for (index, piece) in bytes.chunks(DIRECT_BYTES_MAX).enumerate() {
        let aligned = &mut memory[begin..begin + piece.len()];
        aligned.copy_from_slice(piece);
        file.write_all_at(aligned, offset + (index * DIRECT_BYTES_MAX) as u64)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_at_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let disk = OsDisk::default();
        let path = directory.path().join("file");
        disk.create(&path, 3 << 20).unwrap();
        assert_eq!(
            disk.create(&path, 1).unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        let file = disk.open(&path).unwrap();
        assert_eq!(file.length().unwrap(), 3 << 20);
        let bytes: Vec<u8> = (0..DIRECT_BYTES_MAX + BLOCK_BYTES)
            .map(|at| (at % 251) as u8)
            .collect();
        file.write_at(&bytes, BLOCK_BYTES as u64).unwrap();
        let mut read = vec![0; bytes.len() + 2 * BLOCK_BYTES];
        file.read_at(&mut read, 0).unwrap();
        assert!(read[BLOCK_BYTES..BLOCK_BYTES + bytes.len()] == bytes[..]);
        assert!(
            read[..BLOCK_BYTES]
                .iter()
                .chain(&read[BLOCK_BYTES + bytes.len()..])
                .all(|byte| *byte == 0)
        );
        assert!(file.read_at(&mut read, 3 << 20).is_err());
        assert!(file.write_at(&bytes[..100], 0).is_err(), "not a whole block");
    }

    #[test]
    fn files_are_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let disk = OsDisk::default();
        let inner = directory.path().join("log");
        disk.create_directory(&inner).unwrap();
        disk.create_directory(&inner).unwrap();
        disk.create(&inner.join("a"), 4096).unwrap();
        disk.rename(&inner.join("a"), &inner.join("b")).unwrap();
        assert_eq!(disk.list(&inner).unwrap(), ["b"]);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&inner), mode(&inner.join("b"))),
            (DIRECTORY_MODE, FILE_MODE)
        );
        assert!(disk.free_bytes(&inner).unwrap() > 0);
        disk.remove(&inner.join("b")).unwrap();
        assert!(disk.open(&inner.join("b")).is_err());
    }
}
