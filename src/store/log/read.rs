//! Reading the log at a start: `Survey` finds where it ends and whether it is whole, [`ReadRecords`] then gives its
//! records in order. Called by `mvcc`'s replay and by the check; writes nothing.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;

use super::end::Vouched;
use super::record::{self, ALIGNMENT, Header, Record};
use super::segment::{FIRST_POSITION, FileKind, Segment, file_kind};
use super::{Origin, Position, Timestamp, corrupt, io_error};
use crate::Result;
use crate::store::disk::{BLOCK_BYTES, Disk};

/// A log that was found whole.
#[derive(Debug)]
pub(crate) struct Survey {
    /// From the oldest to the last.
    pub(super) segments: Vec<SurveyedSegment>,
    pub(super) last: Segment,
    /// Behind the last whole record.
    pub(crate) end: Position,
    /// The newest commit before the oldest record.
    pub(crate) begins_after: Timestamp,
    /// The newest commit.
    pub(crate) clock: Timestamp,
    /// For each large commit that was closed: its timestamp and its parts, by the position of the first.
    closed: HashMap<Position, Closed>,
    /// Bytes of records.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
pub(super) struct SurveyedSegment {
    pub(super) segment: Segment,
    pub(super) length: u64,
    /// Behind its last whole record.
    end: Position,
}

#[derive(Debug, Default)]
struct Closed {
    parts: Vec<Position>,
    /// How many there were and which commit they are, once the close is found.
    close: Option<(u32, Timestamp)>,
}

/// The records of a surveyed log.
pub(crate) struct ReadRecords<'a> {
    disk: &'a dyn Disk,
    directory: &'a Path,
    survey: &'a Survey,
}

impl Survey {
    /// Reads the whole log; `None` when the directory holds no segment. Error `Corrupt` when it is not whole, or not what was
    /// vouched for; `Io`.
    pub(crate) fn read(
        disk: &dyn Disk,
        directory: &Path,
        vouched: Option<&Vouched>,
    ) -> Result<Option<Survey>> {
        let sequences = sequences(disk, directory)?;
        let Some(first) = sequences.first() else {
            return match vouched.filter(|vouched| !vouched.is_new()) {
                None => Ok(None),
                Some(vouched) => Err(corrupt(format!(
                    "all its segments are missing, but commit {} was durable in it",
                    vouched.clock
                ))),
            };
        };
        if let Some(at) = (1..sequences.len()).find(|&at| sequences[at] != first + at as u64) {
            return Err(corrupt(format!("segment {:x} is missing", first + at as u64)));
        }
        let mut segments: Vec<SurveyedSegment> = Vec::with_capacity(sequences.len());
        for sequence in &sequences {
            let segment = header(disk, directory, *sequence)?;
            segments.push(segment);
        }
        let oldest = segments[0].segment;
        let mut survey = Survey {
            last: segments[segments.len() - 1].segment,
            segments,
            end: oldest.start,
            begins_after: oldest.clock,
            clock: oldest.clock,
            closed: HashMap::new(),
            bytes: 0,
        };
        for at in 0..survey.segments.len() {
            survey.read_segment(disk, directory, at)?;
        }
        survey.bytes = survey.end - oldest.start;
        survey.closed.retain(|_, closed| closed.close.is_some());
        vouched.map_or(Ok(()), |vouched| survey.check(vouched))?;
        Ok(Some(survey))
    }

    /// Who wrote a commit; `None` when that is not in the log any more, or not yet.
    pub(crate) fn origin_of(&self, commit: Timestamp) -> Option<Origin> {
        let branch = match commit {
            _ if commit == self.begins_after => self.segments.first()?.segment.clock_branch,
            _ if commit > self.clock => return None,
            _ => {
                let behind = self
                    .segments
                    .partition_point(|surveyed| surveyed.segment.clock < commit);
                self.segments.get(behind.checked_sub(1)?)?.segment.branch
            }
        };
        let log_id = self.last.log_id;
        Some(Origin { log_id, branch })
    }

    /// Whether the log is the one that was vouched for, and has all of it.
    fn check(&self, vouched: &Vouched) -> Result<()> {
        if self.last.log_id != vouched.origin.log_id {
            return Err(corrupt("it is the log of another data directory".to_string()));
        }
        if self.end < vouched.position {
            return Err(corrupt(format!(
                "it ends at commit {}, but was durable beyond, up to commit {}: its last segments are missing, cut, or older ones",
                self.clock, vouched.clock
            )));
        }
        // What vouches may be older than the oldest segment, after a power cut.
        let is_other =
            vouched.clock >= self.begins_after && self.origin_of(vouched.clock) != Some(vouched.origin);
        if vouched.clock > 0 && is_other {
            return Err(corrupt(format!(
                "its commit {} is not the one that was durable: it is the log of a copy of this data directory",
                vouched.clock
            )));
        }
        Ok(())
    }

    /// Whether the closed large commit has all its parts in the log still.
    pub(crate) fn has_parts(&self, large: Position) -> bool {
        self.closed.get(&large).is_some_and(|closed| {
            closed
                .close
                .is_some_and(|(parts, _)| parts as usize == closed.parts.len())
        })
    }

    /// Which commit the large commit became, if it was closed.
    pub(crate) fn closed_as(&self, large: Position) -> Option<Timestamp> {
        let (_, timestamp) = self.closed.get(&large)?.close?;
        Some(timestamp)
    }

    /// How many segments there are.
    pub(crate) fn segments(&self) -> usize {
        self.segments.len()
    }

    fn read_segment(&mut self, disk: &dyn Disk, directory: &Path, at: usize) -> Result<()> {
        let (segment, next) = (self.segments[at].segment, self.segments.get(at + 1));
        let is_continued =
            (segment.log_id, segment.start, segment.clock) == (self.last.log_id, self.end, self.clock);
        let is_of_branch = self
            .origin_of(self.clock)
            .is_some_and(|origin| origin.branch == segment.clock_branch);
        if !is_continued || !is_of_branch {
            return Err(corrupt(format!(
                "segment {:x} does not go on where the one before it ends",
                segment.sequence
            )));
        }
        let must_reach = next.map(|next| next.segment.start);
        let bytes = read_file(disk, directory, &segment)?;
        loop {
            if must_reach.is_some_and(|border| self.end >= border) {
                break;
            }
            let offset = segment.offset(self.end) as usize;
            let Some((header, record)) = bytes
                .get(offset..)
                .and_then(|rest| record::decode(rest, self.end))
            else {
                break;
            };
            self.note(self.end, &record)?;
            self.end += record::record_bytes(header.length) as u64;
        }
        self.segments[at].end = self.end;
        match must_reach {
            Some(border) if self.end != border => Err(damaged(&segment, self.end)),
            Some(_) => Ok(()),
            None => check_tail(&bytes, &segment, self.end),
        }
    }

    /// Takes note of a record in the order of the log.
    fn note(&mut self, position: Position, record: &Record<'_>) -> Result<()> {
        let committed = match record {
            Record::Commit { timestamp, .. } => Some(*timestamp),
            Record::Part { large, .. } => {
                self.closed.entry(*large).or_default().parts.push(position);
                None
            }
            Record::Close {
                large,
                timestamp,
                parts,
                ..
            } => {
                self.closed.entry(*large).or_default().close = Some((*parts, *timestamp));
                Some(*timestamp)
            }
            Record::Mark => None,
        };
        match committed {
            Some(timestamp) if timestamp <= self.clock => Err(corrupt(format!(
                "commit {timestamp} stands behind commit {}",
                self.clock
            ))),
            Some(timestamp) => {
                self.clock = timestamp;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl<'a> ReadRecords<'a> {
    /// The records that `survey` found.
    pub(crate) fn new(disk: &'a dyn Disk, directory: &'a Path, survey: &'a Survey) -> ReadRecords<'a> {
        ReadRecords {
            disk,
            directory,
            survey,
        }
    }

    /// Calls `visit` with each record, in the order of the log. Errors: `visit`'s, `Corrupt`, `Io`.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(Position, Record<'_>) -> Result<()>) -> Result<()> {
        (0..self.survey.segments()).try_for_each(|at| self.for_each_in(at, &mut visit))
    }

    /// The same for the segment at `at` only, counted from the oldest.
    pub(crate) fn for_each_in(
        &self,
        at: usize,
        mut visit: impl FnMut(Position, Record<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(surveyed) = self.survey.segments.get(at) else {
            return Ok(());
        };
        let segment = surveyed.segment;
        let bytes = read_file(self.disk, self.directory, &segment)?;
        let mut position = segment.start;
        while position < surveyed.end {
            let (header, record) = bytes
                .get(segment.offset(position) as usize..)
                .and_then(|rest| record::decode(rest, position))
                .ok_or_else(|| damaged(&segment, position))?;
            visit(position, record)?;
            position += record::record_bytes(header.length) as u64;
        }
        Ok(())
    }

    /// Calls `visit` with the parts of a closed large commit. Errors: `visit`'s, `Corrupt`, `Io`.
    pub(crate) fn for_each_part(
        &self,
        large: Position,
        mut visit: impl FnMut(record::Writes<'_>) -> Result<()>,
    ) -> Result<()> {
        let parts = self
            .survey
            .closed
            .get(&large)
            .map_or(&[][..], |closed| &closed.parts);
        for position in parts {
            let bytes = self.read_record(*position)?;
            match record::decode(&bytes, *position) {
                Some((_, Record::Part { writes, .. })) => visit(writes)?,
                _ => return Err(corrupt(format!("there is no part at {position}"))),
            }
        }
        Ok(())
    }

    fn read_record(&self, position: Position) -> Result<Vec<u8>> {
        let at = self
            .survey
            .segments
            .partition_point(|surveyed| surveyed.end <= position);
        let segment = self
            .survey
            .segments
            .get(at)
            .ok_or_else(|| corrupt(format!("nothing stands at {position}")))?
            .segment;
        let path = self.directory.join(segment.file_name());
        let read = || -> std::io::Result<Vec<u8>> {
            let file = self.disk.open_to_read(&path)?;
            let mut bytes = vec![0; record::HEADER_BYTES];
            file.read_at(&mut bytes, segment.offset(position))?;
            let length = Header::decode(&bytes).map_or(0, |header| header.length);
            bytes.resize(record::HEADER_BYTES + length, 0);
            file.read_at(&mut bytes, segment.offset(position))?;
            Ok(bytes)
        };
        read().map_err(|error| io_error("read", &path, &error))
    }
}

/// The numbers of the segments in the directory, rising.
fn sequences(disk: &dyn Disk, directory: &Path) -> Result<Vec<u64>> {
    let names = match disk.list(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        names => names.map_err(|error| io_error("list", directory, &error))?,
    };
    let mut sequences: Vec<u64> = names
        .iter()
        .filter_map(|name| match file_kind(name) {
            FileKind::Segment(sequence) => Some(sequence),
            _ => None,
        })
        .collect();
    sequences.sort_unstable();
    Ok(sequences)
}

/// Reads the header of a segment. A name is only given once the header is durable, so a wrong one is damage.
fn header(disk: &dyn Disk, directory: &Path, sequence: u64) -> Result<SurveyedSegment> {
    let named = Segment {
        sequence,
        log_id: 0,
        start: FIRST_POSITION,
        clock: 0,
        branch: 0,
        clock_branch: 0,
    };
    let path = directory.join(named.file_name());
    let read = || -> std::io::Result<(Vec<u8>, u64)> {
        let file = disk.open_to_read(&path)?;
        let length = file.length()?;
        let mut block = vec![0; BLOCK_BYTES.min(length as usize)];
        file.read_at(&mut block, 0)?;
        Ok((block, length))
    };
    let (block, length) = read().map_err(|error| io_error("read", &path, &error))?;
    let segment = Segment::from_header(&block)
        .filter(|segment| segment.sequence == sequence)
        .ok_or_else(|| corrupt(format!("the header of segment {sequence:x} is unreadable")))?;
    Ok(SurveyedSegment {
        segment,
        length,
        end: segment.start,
    })
}

fn read_file(disk: &dyn Disk, directory: &Path, segment: &Segment) -> Result<Vec<u8>> {
    let path = directory.join(segment.file_name());
    let read = || -> std::io::Result<Vec<u8>> {
        let file = disk.open_to_read(&path)?;
        let mut bytes = vec![0; file.length()? as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes)
    };
    read().map_err(|error| io_error("read", &path, &error))
}

/// Whether what stands behind `end` in the last segment is a torn end and no more: no whole record there was written when
/// the log was durable beyond `end`.
fn check_tail(bytes: &[u8], segment: &Segment, end: Position) -> Result<()> {
    let mut offset = segment.offset(end) as usize;
    while let Some(rest) = bytes.get(offset..offset + record::HEADER_BYTES) {
        let position = segment.position(offset as u64);
        let says_durable = record::u64_at(rest, 8) == Some(position)
            && record::decode(&bytes[offset..], position).is_some_and(|(header, _)| header.durable > end);
        if says_durable {
            return Err(damaged(segment, end));
        }
        offset += ALIGNMENT;
    }
    Ok(())
}

fn damaged(segment: &Segment, at: Position) -> crate::Error {
    corrupt(format!(
        "segment {:x} has no whole record at {at}, but the log goes on behind it",
        segment.sequence
    ))
}
