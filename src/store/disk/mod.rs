//! The seam to the file system for what must survive a power cut: the log, its segments, their names. Everything that
//! the log does to files goes through here, so that tests put a disk in its place that fails, shortens, reorders and
//! forgets (`simulated`). It knows nothing of what is written.
//!
//! It has this shape because a log needs so little: files made at their full length, writes that are durable when they
//! answer, names that are durable when they answer. Of files there is no call that leaves something unsynced, so there is none
//! whose sync can be forgotten; what a power cut may tear is the one write that is under way. Beside files stand notes: small,
//! written often, and waited for by nobody.

mod os;
#[cfg(test)]
pub(crate) mod simulated;

use std::fmt::Debug;
use std::io::Result;
use std::path::Path;

pub(crate) use os::OsDisk;

/// Offsets and lengths of writes are multiples of this: what every disk writes directly, without the page cache.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// Directories, names and free space. Any thread may call it.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Makes the directory, if it is not there; its name is durable when it answers. Its parent exists.
    fn create_directory(&self, directory: &Path) -> Result<()>;

    /// The names of the files in a directory, in no order.
    fn list(&self, directory: &Path) -> Result<Vec<String>>;

    /// Makes a file of `length` zero bytes, a multiple of [`BLOCK_BYTES`]; name and bytes are durable and have their
    /// place on the disk when it answers. An error may leave a file, of any length. Error `AlreadyExists`.
    fn create(&self, path: &Path, length: u64) -> Result<()>;

    /// Opens a file that is there for reads and writes.
    fn open(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Opens a file that is there for reads only: also one that may not be written.
    fn open_to_read(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Opens a file that is there for notes.
    fn open_note(&self, path: &Path) -> Result<Box<dyn NoteFile>>;

    /// Gives a file another name, which no file has; durable when it answers. After a crash it has one of the two.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Removes a file; durable when it answers.
    fn remove(&self, path: &Path) -> Result<()>;

    /// Bytes that may still be written to the file system that holds `directory`.
    fn free_bytes(&self, directory: &Path) -> Result<u64>;
}

/// An open file of a fixed length.
pub(crate) trait DiskFile: Debug + Send + Sync {
    /// Its length in bytes.
    fn length(&self) -> Result<u64>;

    /// Fills `bytes` with what stands from `offset` on. Error `UnexpectedEof` behind the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<()>;

    /// Writes inside the file's length, at an offset and of a length that are multiples of [`BLOCK_BYTES`]; durable when
    /// it answers. A crash before, or an error, leaves any of its sectors written and the others as they were.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;
}

/// An open file that is written often and never waited for.
pub(crate) trait NoteFile: Debug + Send + Sync {
    /// Writes inside the file's length, which is there for whoever reads the file from then on, also when this process is
    /// killed. A power cut leaves of the writes since the last `sync` any, in any order; two writes to one place may tear one another.
    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()>;

    /// When it answers, all that was written before survives a power cut.
    fn sync(&self) -> Result<()>;
}
