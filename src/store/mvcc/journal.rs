//! The journal: a file beside the engine that holds a commit too large for one of the engine's batches, while it goes
//! there piece by piece. Whatever ends the process in between, the commit is in the engine whole after the next start,
//! or not at all. Written and removed by the committer, replayed by `MvccStore::open`; knows nothing of snapshots.
//!
//! ```text
//!   [timestamp: u64 BE]
//!   [length: u64 BE][piece]  …            at least one; no length is 0
//!   [0: u64][crc32c of all before: u32 BE]
//!
//!   piece:  for each write  [key length: u64 BE][value length + 1, or 0 to delete: u64 BE][key][value]
//! ```
//!
//! # Invariants
//!
//! 1. No piece reaches the engine before the whole journal, and every commit before it, is durable.
//! 2. The journal is removed only once its commit is durable in the engine.
//! 3. Pieces may be applied again: they put and delete whole values. The last one moves the clock.
//!
//! So a journal without its end belongs to a commit that never began, one at or before the engine's clock to a commit
//! that is whole; both are thrown away. One just behind the clock is applied from its beginning.
//! That may be a commit whose session was told of an error of the disk: what became of it nobody could know.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write as _};
use std::path::PathBuf;

use super::{Timestamp, corrupt, sync_directory};
use crate::store::engine::{Engine, EngineBatch};
use crate::{Error, Result};

/// The file; it is there only while it is needed.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal that stands, or would stand, at `path`.
    pub fn new(path: PathBuf) -> Journal {
        Journal { path }
    }

    /// Writes the commit; durable when it answers. Error: `Io`, and the caller removes what may be there.
    pub(super) fn write(
        &self,
        timestamp: Timestamp,
        pieces: impl Iterator<Item = EngineBatch>,
    ) -> Result<()> {
        self.write_file(timestamp, pieces)
            .map_err(|error| self.io_error("write", &error))
    }

    /// Removes the file, if it is there; durable when it answers. Error: `Io`.
    pub(super) fn remove(&self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            removed => removed,
        }
        .and_then(|()| sync_directory(&self.path))
        .map_err(|error| self.io_error("remove", &error))
    }

    /// Finishes the commit that was under way when the process ended, if there was one; durable when it answers.
    /// `clock` is the engine's. Errors: `Io`, `Corrupt`.
    pub(super) fn replay(&self, engine: &dyn Engine, clock: Timestamp) -> Result<()> {
        match self.whole_commit()? {
            Some(timestamp) if timestamp > clock + 1 => {
                let reason = format!("it ends at commit {clock}, but commit {timestamp} had begun");
                return Err(corrupt("the storage engine's log", reason));
            }
            Some(timestamp) if timestamp == clock + 1 => {
                tracing::info!(timestamp, "finishing a commit that was under way");
                self.apply(engine)?;
                engine.make_durable()?;
            }
            _ => {}
        }
        self.remove()
    }

    fn write_file(
        &self,
        timestamp: Timestamp,
        pieces: impl Iterator<Item = EngineBatch>,
    ) -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(&self.path)?);
        let mut checksum = 0;
        let mut put = |bytes: &[u8]| {
            checksum = crc32c::crc32c_append(checksum, bytes);
            file.write_all(bytes)
        };
        put(&timestamp.to_be_bytes())?;
        let mut piece = Vec::new();
        for batch in pieces {
            encode(&batch, &mut piece);
            put(&length(&piece))?;
            put(&piece)?;
        }
        put(&length(&[]))?;
        file.write_all(&checksum.to_be_bytes())?;
        let file = file.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        sync_directory(&self.path)
    }

    /// The timestamp of the commit, if the file is there up to its end.
    fn whole_commit(&self) -> Result<Option<Timestamp>> {
        match self.read_pieces(&mut |_| ()) {
            Ok((timestamp, is_whole)) => Ok(is_whole.then_some(timestamp)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof) => Ok(None),
            Err(error) => Err(self.io_error("read", &error)),
        }
    }

    fn apply(&self, engine: &dyn Engine) -> Result<()> {
        let mut applied = Ok(());
        let read = self.read_pieces(&mut |piece| {
            if applied.is_ok() {
                applied = self.decode(piece).and_then(|batch| engine.apply(&batch));
            }
        });
        applied.and(read.map(|_| ()).map_err(|error| self.io_error("read", &error)))
    }

    /// Hands out each piece; then the timestamp, and whether the checksum is right.
    fn read_pieces(&self, visit: &mut dyn FnMut(&[u8])) -> std::io::Result<(Timestamp, bool)> {
        let file = File::open(&self.path)?;
        let file_bytes = file.metadata()?.len();
        let mut file = BufReader::new(file);
        let mut word = [0; 8];
        file.read_exact(&mut word)?;
        let timestamp = Timestamp::from_be_bytes(word);
        let mut checksum = crc32c::crc32c(&word);
        let mut piece = Vec::new();
        loop {
            file.read_exact(&mut word)?;
            checksum = crc32c::crc32c_append(checksum, &word);
            let length = u64::from_be_bytes(word);
            if length == 0 {
                break;
            }
            // An unfinished file may hold anything: never more memory than it is long.
            if length > file_bytes {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            piece.clear();
            if file.by_ref().take(length).read_to_end(&mut piece)? as u64 != length {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            checksum = crc32c::crc32c_append(checksum, &piece);
            visit(&piece);
        }
        let mut end = [0; 4];
        file.read_exact(&mut end)?;
        Ok((timestamp, end == checksum.to_be_bytes()))
    }

    fn decode(&self, piece: &[u8]) -> Result<EngineBatch> {
        let mut batch = EngineBatch::default();
        let mut rest = piece;
        while !rest.is_empty() {
            rest = decode_write(rest, &mut batch).ok_or_else(|| {
                corrupt(
                    &self.path.display().to_string(),
                    "a piece ends too early".to_string(),
                )
            })?;
        }
        Ok(batch)
    }

    fn io_error(&self, action: &str, error: &std::io::Error) -> Error {
        Error::Io {
            action: format!("could not {action} \"{}\"", self.path.display()),
            reason: error.to_string(),
        }
    }
}

/// Makes `piece` the bytes of a batch.
fn encode(batch: &EngineBatch, piece: &mut Vec<u8>) {
    piece.clear();
    for (key, value) in batch.iter() {
        piece.extend_from_slice(&length(key));
        piece.extend_from_slice(&value.map_or(0, |value| value.len() as u64 + 1).to_be_bytes());
        piece.extend_from_slice(key);
        piece.extend_from_slice(value.unwrap_or_default());
    }
}

fn length(bytes: &[u8]) -> [u8; 8] {
    (bytes.len() as u64).to_be_bytes()
}

/// Adds the first write of a piece to the batch; answers the rest.
fn decode_write<'a>(piece: &'a [u8], batch: &mut EngineBatch) -> Option<&'a [u8]> {
    let (key_length, rest) = piece.split_first_chunk()?;
    let (value_length, rest) = rest.split_first_chunk()?;
    let (key, rest) = cut(rest, u64::from_be_bytes(*key_length))?;
    match u64::from_be_bytes(*value_length).checked_sub(1) {
        None => {
            batch.delete(key);
            Some(rest)
        }
        Some(length) => {
            let (value, rest) = cut(rest, length)?;
            batch.put(key, &[value]);
            Some(rest)
        }
    }
}

fn cut(bytes: &[u8], length: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(length).ok()?)
}
