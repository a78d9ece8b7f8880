//! The commit log: every commit, in order, in segments beside the engine. It is the truth since the last checkpoint; the
//! engine may lag behind. `mvcc` appends commits, replays at a start what the engine lacks, and recycles segments whose
//! commits the engine has for sure. Knows nothing of engines, snapshots or what a key means.
//!
//! ```text
//!   log/
//!   ├── 0000000000000007.log          a segment, by its number
//!   ├── 0000000000000008.log          the next; only the last one grows
//!   └── 0000000000000003.spare        zeros, or an old segment: the next but one
//!
//!   segment    [header: one block of 4096 bytes][record][record] …  and then whatever stood there before
//!
//!   header     "KEYSPLOG"                      8 bytes
//!              [crc32c of the rest       u32 BE]
//!              [format = 2               u32 BE]
//!              [log's number, random    u128 BE]
//!              [segment's number         u64 BE]
//!              [position of its first record      u64 BE]
//!              [newest commit before that record  u64 BE]
//!              [branch of its records    u64 BE]
//!              [branch of that commit    u64 BE]
//!              zeros
//!
//!   record     [length of the body       u32 BE]     a record begins at a multiple of 8 bytes
//!              [crc32c of all the rest   u32 BE]
//!              [position of this record  u64 BE]
//!              [position up to which the log was durable when this was written  u64 BE]
//!              [kind  u8][0; 7]
//!              body, and zeros up to a multiple of 8 bytes
//!
//!   body       1 commit   [timestamp u64 BE][time of day, µs since 1970  i64 BE][write] …
//!              2 part     [large commit  u64 BE][write] …
//!              3 close    [large commit  u64 BE][timestamp u64 BE][time of day i64 BE][parts u32 BE]
//!              4 mark     nothing: all before it is durable
//!
//!   write      [key length u32 BE][value length + 1, or 0 to delete  u32 BE][key][value]
//! ```
//!
//! A **position** counts the bytes of records since the log began, over all its segments, headers left out. It says
//! where a record stands, and being part of the record it also says that the record belongs there: segments are used
//! again without being cleared, and what an earlier use left behind has earlier positions.
//!
//! A commit group is one record. A **large commit** is written in parts while others go on; a close record, which
//! names it by the position of its first part (written as 0 in that part itself), makes it a commit.
//!
//! # Whose log it is
//!
//! The log's number is also the data directory's. Each start that writes begins a **branch** of it, a random number, and a segment
//! of its own: a copy of a directory has the same log, but what either writes from then on is of another branch. The engine stores with its
//! clock which log and branch that commit is of ([`Origin`]), and so does the file that vouches for the log's end. Each of the three
//! so knows the others again: another directory's log, an older one, or a copy's is refused.
//!
//! # Durable
//!
//! Appending only fills a buffer. [`Log::sync`] writes all of it with one write that is durable when it answers. Segments have
//! their full length, filled with zeros, before they are used, so that this write changes no record of the file system.
//! The last block is written again with the next record; its older bytes are then the same as before, so that a torn
//! write leaves them as they were.
//!
//! # Torn, or damaged
//!
//! After a power cut the log ends with the last record that is whole, and what a write under way left behind it is
//! dropped: nobody was told that it is there. A record that does not decode although the log had once been durable
//! beyond it is **damage**, and refused: a later segment begins behind it, a later record says that all was durable, or the file
//! that vouches for the [`end`] does. It is written with each sync, before anybody has an answer, and stands elsewhere: also what is cut
//! off, zeroed or removed is missed. After a power cut that file may be a little behind; so [`Log::mark`] writes a later record when
//! nothing else comes for a second, and has the file synced. Never is damage taken for an end.
//!
//! # Invariants
//!
//! 1. Positions and timestamps only rise along the log. A segment begins where the one before it ends.
//! 2. Nothing is appended to a segment before its header and its name are durable, and before all of the segment before it is.
//! 3. A segment goes only when every commit of it is durable in the engine, and with it all before it.
//! 4. A start never writes behind the end that it found in a segment: it begins a new one.
//! 5. What the end's file vouches for was durable before.
//! 6. After an error of `sync` nothing more is written; the caller ends the process. An append that finds no room on the
//!    disk leaves the log as it was.

mod end;
mod files;
mod place;
mod read;
mod record;
mod segment;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

pub(crate) use end::{EndFile, Vouched, unfinished};
pub(crate) use files::{LogFiles, remove_spares};
pub(crate) use place::LogPlace;
pub(crate) use read::{ReadRecords, Survey};
pub(crate) use record::{Body, Record, Writes, encoded_bytes};
use segment::Segment;

use super::disk::{BLOCK_BYTES, DiskFile};
use crate::{Error, Result};

/// A commit's place in time: 1 for the first commit of a store.
pub(crate) type Timestamp = u64;

/// A place in the log (see the module's doc).
pub(crate) type Position = u64;

/// Whose commit it is: numbers of commits come again in copies of a log that went apart, branches do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    /// The log, and so the data directory.
    pub(crate) log_id: u128,
    /// The start of a server that wrote it; 0 for those of releases before there were branches.
    pub(crate) branch: u64,
}

/// The end of the log, where records are appended. One thread has it.
#[derive(Debug)]
pub(crate) struct Log {
    files: Arc<LogFiles>,
    /// `None`: a segment begins with the next record, so that a start writes nothing, and succeeds on a full disk.
    file: Option<Box<dyn DiskFile>>,
    /// What `file` holds; without one, what stands before the next segment.
    segment: Segment,
    /// Of the segment's file; 0 without one.
    length: u64,
    /// What stands, or is to stand, in the file from `buffer_offset` on, which is the beginning of a block.
    buffer: Vec<u8>,
    buffer_offset: u64,
    /// So many bytes of the buffer are in the file already.
    synced: usize,
    /// The newest commit appended.
    clock: Timestamp,
    /// Who wrote it.
    clock_branch: u64,
    /// Vouches for what is durable.
    end_file: EndFile,
    /// Where the log ended when it was last marked.
    marked: Position,
}

impl Log {
    /// Begins a log in an empty directory, or goes on behind what `survey` found. `clock`: the newest commit so far.
    pub(crate) fn open(
        files: Arc<LogFiles>,
        survey: Option<&Survey>,
        clock: Timestamp,
        end_file: EndFile,
    ) -> Log {
        let found = survey.and_then(|survey| survey.origin_of(clock));
        let clock_branch = found.unwrap_or_default().branch;
        let segment = Segment {
            sequence: survey.map_or(0, |survey| survey.last.sequence),
            log_id: end_file.log_id(),
            start: survey.map_or(segment::FIRST_POSITION, |survey| survey.end),
            clock,
            branch: rand::random_range(1..=u64::MAX),
            clock_branch,
        };
        Log {
            files,
            file: None,
            segment,
            length: 0,
            buffer: Vec::new(),
            buffer_offset: BLOCK_BYTES as u64,
            synced: 0,
            clock,
            clock_branch,
            end_file,
            marked: segment.start,
        }
    }

    /// Appends a record; it is durable after the next `sync`. `clock`: the newest commit of the log with it. Answers where
    /// the record stands. Errors: `Io`; 53100, and then the log is as it was.
    pub(crate) fn append(&mut self, body: &Body, clock: Timestamp) -> Result<Position> {
        let needed = record::record_bytes(body.len()) as u64;
        if self.end_offset() + needed > self.length {
            self.begin_segment(needed)?;
        }
        let (position, durable) = (self.end(), self.durable());
        record::encode(body, position, durable, &mut self.buffer);
        if clock > self.clock {
            self.clock = clock;
            self.clock_branch = self.segment.branch;
        }
        Ok(position)
    }

    /// Makes everything appended durable. Error: `Io`; what became of it nobody knows then.
    pub(crate) fn sync(&mut self) -> Result<()> {
        let filled = self.buffer.len();
        let Some(file) = self.file.as_ref().filter(|_| filled > self.synced) else {
            return Ok(());
        };
        self.buffer.resize(filled.next_multiple_of(BLOCK_BYTES), 0);
        let written = file.write_at(&self.buffer, self.buffer_offset);
        // Also after an error: it may be an append's that found no room, which leaves the log as it was.
        self.buffer.truncate(filled);
        written.map_err(|error| io_error("write", &self.files.path(&self.segment), &error))?;
        // Only the last block will be written again.
        let whole_blocks = filled / BLOCK_BYTES * BLOCK_BYTES;
        self.buffer.drain(..whole_blocks);
        self.buffer_offset += whole_blocks as u64;
        self.synced = self.buffer.len();
        self.end_file.note(self.end(), self.clock, self.clock_branch)
    }

    /// Says behind the last record that it is durable: if it rots later, it is not taken for a torn end. Does nothing when
    /// nothing was appended since the last mark. Errors: as `append` and `sync`.
    pub(crate) fn mark(&mut self) -> Result<()> {
        if self.end() == self.marked {
            return Ok(());
        }
        self.sync()?;
        let mut body = Body::default();
        body.mark();
        self.append(&body, self.clock)?;
        self.sync()?;
        self.marked = self.end();
        self.end_file.sync()
    }

    /// Where the next record will stand, if it fits this segment.
    pub(crate) fn end(&self) -> Position {
        self.segment.position(self.end_offset())
    }

    /// Bytes appended that are not durable yet.
    pub(crate) fn unsynced_bytes(&self) -> usize {
        self.buffer.len() - self.synced
    }

    /// Whose the commits are that are appended here.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            log_id: self.segment.log_id,
            branch: self.segment.branch,
        }
    }

    /// Its files.
    pub(crate) fn files(&self) -> &Arc<LogFiles> {
        &self.files
    }

    /// Everything before this is durable.
    fn durable(&self) -> Position {
        self.segment.position(self.buffer_offset + self.synced as u64)
    }

    fn end_offset(&self) -> u64 {
        self.buffer_offset + self.buffer.len() as u64
    }

    /// Goes on in a new segment with room for `needed` bytes. Errors: `Io`; 53100, and then the log is as it was.
    pub(crate) fn begin_segment(&mut self, needed: u64) -> Result<()> {
        self.sync()?;
        self.end_file.sync()?;
        let segment = Segment {
            sequence: self.segment.sequence + 1,
            start: self.end(),
            clock: self.clock,
            clock_branch: self.clock_branch,
            ..self.segment
        };
        let (file, length) = self.files.begin(segment, needed)?;
        self.segment = segment;
        self.file = Some(file);
        self.length = length;
        self.buffer.clear();
        self.buffer_offset = BLOCK_BYTES as u64;
        self.synced = 0;
        Ok(())
    }
}

/// Something is wrong with what stands in the log.
pub(super) fn corrupt(reason: String) -> Error {
    Error::Corrupt {
        what: "the commit log".to_string(),
        reason,
    }
}

fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return Error::DiskFull {
            free_bytes: 0,
            reserve_bytes: 0,
        };
    }
    io_failure(action, path, error)
}

/// The same where a full disk is a failure as any other.
fn io_failure(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        action: format!("could not {action} \"{}\"", path.display()),
        reason: error.to_string(),
    }
}
