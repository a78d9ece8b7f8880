//! The file that vouches for the end of the log: how far it was durable. It stands apart from what it vouches for, so that a
//! log that lost its end, or is an older one, is not taken for a shorter one. Read by the survey; written by the log after each
//! sync; knows nothing of records.
//!
//! ```text
//!   file    [slot: 512 bytes][slot: 512 bytes] zeros up to 4096 bytes         the one with the later position holds
//!
//!   slot    "KEYSPEND"                      8 bytes
//!           [crc32c of the rest       u32 BE]
//!           [format = 1               u32 BE]
//!           [log's number            u128 BE]
//!           [position up to which the log is durable     u64 BE]
//!           [newest commit before it  u64 BE]
//!           [branch of that commit    u64 BE]
//!           zeros
//! ```
//!
//! # What it costs, and what it is worth
//!
//! A slot is written when the log is durable and before anybody has an answer, but not synced: one call, a microsecond. So it
//! is exact whenever the process is killed, and never ahead of the log. It is synced when commits pause, when a
//! segment was begun, and at the end: a power cut in between leaves an earlier position, which still names all segments but the last.
//! Slots take turns, so that one torn by a power cut leaves the one before.

use std::path::{Path, PathBuf};

use super::record::u64_at;
use super::segment::FIRST_POSITION;
use super::{Origin, Position, Timestamp, io_error};
use crate::store::disk::{BLOCK_BYTES, Disk, NoteFile};
use crate::{Error, Result};

const MAGIC: &[u8; 8] = b"KEYSPEND";
/// How a slot is written; any other number is not ours.
const FORMAT: u32 = 1;
/// Bytes of a slot that mean something.
const SLOT_BYTES: usize = 56;
/// Where the second slot stands: what a disk writes whole ends before it.
const SLOT_DISTANCE: usize = 512;
const SLOTS: usize = 2;

/// What is known of the log from elsewhere than the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vouched {
    /// Up to here the log was durable.
    pub(super) position: Position,
    /// The newest commit before it.
    pub(crate) clock: Timestamp,
    /// Whose commit that is.
    pub(super) origin: Origin,
}

/// The file, open for writing. One thread has it.
#[derive(Debug)]
pub(crate) struct EndFile {
    note: Box<dyn NoteFile>,
    path: PathBuf,
    vouched: Vouched,
    /// The slot that is written next.
    next_slot: usize,
    is_synced: bool,
}

impl Vouched {
    /// For a log that nothing was ever written to.
    pub(crate) fn new() -> Vouched {
        Vouched {
            position: FIRST_POSITION,
            clock: 0,
            origin: Origin {
                log_id: rand::random(),
                branch: 0,
            },
        }
    }

    /// Whether nothing was ever written.
    pub(crate) fn is_new(&self) -> bool {
        self.position == FIRST_POSITION
    }

    /// What the file says; `None` when there is none. Errors: `Corrupt`, `Io`.
    pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Vouched>> {
        let read = || -> std::io::Result<Vec<u8>> {
            let file = disk.open_to_read(path)?;
            let mut bytes = vec![0; BLOCK_BYTES.min(file.length()? as usize)];
            file.read_at(&mut bytes, 0)?;
            Ok(bytes)
        };
        match read() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", path, &error)),
            Ok(bytes) => newest_slot(&bytes)
                .map(|(_, vouched)| Some(vouched))
                .ok_or_else(|| unreadable(path)),
        }
    }

    /// Makes the file, durably and as a whole. There is none. Errors: `Io`; 53100.
    pub(crate) fn create(&self, disk: &dyn Disk, path: &Path) -> Result<()> {
        let unfinished = unfinished(path);
        let make = || -> std::io::Result<()> {
            match disk.remove(&unfinished) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            disk.create(&unfinished, BLOCK_BYTES as u64)?;
            let mut block = self.slot();
            block.resize(BLOCK_BYTES, 0);
            disk.open(&unfinished)?.write_at(&block, 0)?;
            disk.rename(&unfinished, path)
        };
        make().map_err(|error| io_error("make", path, &error))
    }

    fn slot(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(SLOT_BYTES);
        fields.extend_from_slice(&FORMAT.to_be_bytes());
        fields.extend_from_slice(&self.origin.log_id.to_be_bytes());
        for field in [self.position, self.clock, self.origin.branch] {
            fields.extend_from_slice(&field.to_be_bytes());
        }
        let mut slot = MAGIC.to_vec();
        slot.extend_from_slice(&crc32c::crc32c(&fields).to_be_bytes());
        slot.extend_from_slice(&fields);
        slot
    }

    fn from_slot(slot: &[u8]) -> Option<Vouched> {
        let rest = slot.get(..SLOT_BYTES)?.strip_prefix(MAGIC)?;
        let (checksum, fields) = rest.split_first_chunk()?;
        let (format, rest) = fields.split_first_chunk()?;
        let (log_id, rest) = rest.split_first_chunk()?;
        let is_ours =
            u32::from_be_bytes(*checksum) == crc32c::crc32c(fields) && u32::from_be_bytes(*format) == FORMAT;
        is_ours.then_some(Vouched {
            position: u64_at(rest, 0)?,
            clock: u64_at(rest, 8)?,
            origin: Origin {
                log_id: u128::from_be_bytes(*log_id),
                branch: u64_at(rest, 16)?,
            },
        })
    }
}

impl EndFile {
    /// Opens the file, which is there. Errors: `Corrupt`, `Io`.
    pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<EndFile> {
        let open = || -> std::io::Result<(Vec<u8>, Box<dyn NoteFile>)> {
            let mut bytes = vec![0; SLOTS * SLOT_DISTANCE];
            disk.open_to_read(path)?.read_at(&mut bytes, 0)?;
            Ok((bytes, disk.open_note(path)?))
        };
        let (bytes, note) = open().map_err(|error| io_error("open", path, &error))?;
        let (slot, vouched) = newest_slot(&bytes).ok_or_else(|| unreadable(path))?;
        Ok(EndFile {
            note,
            path: path.to_path_buf(),
            vouched,
            next_slot: (slot + 1) % SLOTS,
            is_synced: true,
        })
    }

    /// The log that it vouches for.
    pub(crate) fn log_id(&self) -> u128 {
        self.vouched.origin.log_id
    }

    /// What it says.
    pub(super) fn vouched(&self) -> Vouched {
        self.vouched
    }

    /// Says that the log is durable up to `position`. Error: `Io`.
    pub(super) fn note(&mut self, position: Position, clock: Timestamp, branch: u64) -> Result<()> {
        let vouched = Vouched {
            position,
            clock,
            origin: Origin {
                branch,
                ..self.vouched.origin
            },
        };
        self.note
            .write_at(&vouched.slot(), (self.next_slot * SLOT_DISTANCE) as u64)
            .map_err(|error| io_error("write", &self.path, &error))?;
        self.vouched = vouched;
        self.next_slot = (self.next_slot + 1) % SLOTS;
        self.is_synced = false;
        Ok(())
    }

    /// Makes what it says durable. Error: `Io`.
    pub(super) fn sync(&mut self) -> Result<()> {
        if !self.is_synced {
            self.note
                .sync()
                .map_err(|error| io_error("sync", &self.path, &error))?;
            self.is_synced = true;
        }
        Ok(())
    }
}

/// The name of the file before it is whole.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    path.with_extension("new")
}

/// The slot with the latest position, and which one it is.
fn newest_slot(bytes: &[u8]) -> Option<(usize, Vouched)> {
    let slots =
        (0..SLOTS).filter_map(|slot| Some((slot, Vouched::from_slot(bytes.get(slot * SLOT_DISTANCE..)?)?)));
    slots.max_by_key(|(_, vouched)| vouched.position)
}

fn unreadable(path: &Path) -> Error {
    Error::Corrupt {
        what: format!("\"{}\"", path.display()),
        reason: "it does not say where the commit log ends".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::OsDisk;

    #[test]
    fn the_later_slot_holds_and_a_torn_one_leaves_the_one_before() {
        let directory = tempfile::tempdir().unwrap();
        let (disk, path) = (OsDisk::default(), directory.path().join("END"));
        assert_eq!(Vouched::read(&disk, &path), Ok(None));
        let new = Vouched::new();
        new.create(&disk, &path).unwrap();
        assert_eq!(Vouched::read(&disk, &path), Ok(Some(new)));
        let mut file = EndFile::open(&disk, &path).unwrap();
        for step in 1..5 {
            file.note(FIRST_POSITION + 8 * step, step, 7).unwrap();
            file.sync().unwrap();
            assert_eq!(Vouched::read(&disk, &path), Ok(Some(file.vouched())));
        }
        let whole = std::fs::read(&path).unwrap();
        for slot in 0..SLOTS {
            for byte in 0..SLOT_BYTES {
                let mut damaged = whole.clone();
                damaged[slot * SLOT_DISTANCE + byte] ^= 1;
                std::fs::write(&path, damaged).unwrap();
                let found = Vouched::read(&disk, &path).unwrap().unwrap();
                assert_eq!(found.clock, [3, 4][slot], "byte {byte} of slot {slot}");
            }
        }
        for bytes in [vec![0; BLOCK_BYTES], Vec::new(), whole[..20].to_vec()] {
            std::fs::write(&path, bytes).unwrap();
            assert!(matches!(Vouched::read(&disk, &path), Err(Error::Corrupt { .. })));
        }
    }
}
