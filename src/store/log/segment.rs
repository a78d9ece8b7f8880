//! A segment of the log: its file's name and its header. The picture is in the module above.

use super::record::u64_at;
use super::{Position, Timestamp};
use crate::store::disk::BLOCK_BYTES;

/// What every segment begins with.
const MAGIC: &[u8; 8] = b"KEYSPLOG";
/// How records stand in a segment; any other number is not ours. Headers of format 1 have no branches: there zeros stand.
const FORMAT: u32 = 2;
const FORMAT_WITHOUT_BRANCHES: u32 = 1;
/// Bytes of the header that mean something; the rest of its block is zero.
const HEADER_BYTES: usize = 72;
const HEADER_BYTES_WITHOUT_BRANCHES: usize = 56;

/// Where the first record of the first segment stands. Not 0, so that 0 can mean "none".
pub(super) const FIRST_POSITION: Position = 4096;

/// A segment that holds records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// 1 for the first of a log.
    pub(super) sequence: u64,
    /// The log that it belongs to.
    pub(super) log_id: u128,
    /// Where its first record stands, which is where the last record of the segment before it ends.
    pub(super) start: Position,
    /// The newest commit before its first record.
    pub(super) clock: Timestamp,
    /// The start of a server that wrote its records (see [`Origin`](super::Origin)).
    pub(super) branch: u64,
    /// The one that wrote the commit `clock`.
    pub(super) clock_branch: u64,
}

impl Segment {
    /// The name of its file.
    pub(super) fn file_name(&self) -> String {
        format!("{:016x}.log", self.sequence)
    }

    /// The first block of its file.
    pub(super) fn header(&self) -> Vec<u8> {
        let mut fields = Vec::with_capacity(BLOCK_BYTES);
        fields.extend_from_slice(&FORMAT.to_be_bytes());
        fields.extend_from_slice(&self.log_id.to_be_bytes());
        for field in [
            self.sequence,
            self.start,
            self.clock,
            self.branch,
            self.clock_branch,
        ] {
            fields.extend_from_slice(&field.to_be_bytes());
        }
        let mut block = MAGIC.to_vec();
        block.extend_from_slice(&crc32c::crc32c(&fields).to_be_bytes());
        block.extend_from_slice(&fields);
        block.resize(BLOCK_BYTES, 0);
        block
    }

    /// The segment that a header describes, if it is one.
    pub(super) fn from_header(block: &[u8]) -> Option<Segment> {
        let header = block.get(..HEADER_BYTES)?.strip_prefix(MAGIC)?;
        let (checksum, fields) = header.split_first_chunk()?;
        let (format, rest) = fields.split_first_chunk()?;
        let (log_id, rest) = rest.split_first_chunk()?;
        let covered = match u32::from_be_bytes(*format) {
            FORMAT => fields,
            FORMAT_WITHOUT_BRANCHES => &header[4..HEADER_BYTES_WITHOUT_BRANCHES - MAGIC.len()],
            _ => return None,
        };
        let is_ours = u32::from_be_bytes(*checksum) == crc32c::crc32c(covered);
        is_ours.then_some(Segment {
            log_id: u128::from_be_bytes(*log_id),
            sequence: u64_at(rest, 0)?,
            start: u64_at(rest, 8)?,
            clock: u64_at(rest, 16)?,
            branch: u64_at(rest, 24)?,
            clock_branch: u64_at(rest, 32)?,
        })
    }

    /// Where in its file the record at `position` stands.
    pub(super) fn offset(&self, position: Position) -> u64 {
        BLOCK_BYTES as u64 + (position - self.start)
    }

    /// The position of what stands at an offset in its file.
    pub(super) fn position(&self, offset: u64) -> Position {
        self.start + (offset - BLOCK_BYTES as u64)
    }
}

/// What a file in the log's directory is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    /// The segment of this sequence.
    Segment(u64),
    /// A spare: zeros, or a segment that is not needed any more.
    Spare(u64),
    /// A file being made.
    Unfinished,
    /// None of ours.
    Other,
}

pub(super) fn spare_name(number: u64) -> String {
    format!("{number:016x}.spare")
}

/// The name of a spare before all its zeros are there.
pub(super) fn unfinished_name(number: u64) -> String {
    format!("{number:016x}.unfinished")
}

pub(super) fn file_kind(name: &str) -> FileKind {
    let number = |digits: &str| {
        let is_ours = digits.len() == 16
            && digits
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_ours.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
    };
    let Some((digits, extension)) = name.split_once('.') else {
        return FileKind::Other;
    };
    match (number(digits), extension) {
        (Some(sequence), "log") => FileKind::Segment(sequence),
        (Some(number), "spare") => FileKind::Spare(number),
        (Some(_), "unfinished") => FileKind::Unfinished,
        _ => FileKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_names_are_read_as_they_were_written() {
        let segment = Segment {
            sequence: 0x1F,
            log_id: 77,
            start: 123_456,
            clock: 99,
            branch: 5,
            clock_branch: 4,
        };
        let header = segment.header();
        assert_eq!(header.len(), BLOCK_BYTES);
        assert_eq!(Segment::from_header(&header), Some(segment));
        for byte in 0..HEADER_BYTES {
            let mut damaged = header.clone();
            damaged[byte] ^= 4;
            assert_eq!(Segment::from_header(&damaged), None, "byte {byte}");
        }
        assert_eq!(Segment::from_header(&[0; BLOCK_BYTES]), None);
        assert_eq!(file_kind(&segment.file_name()), FileKind::Segment(0x1F));
        assert_eq!(file_kind(&spare_name(3)), FileKind::Spare(3));
        assert_eq!(file_kind(&unfinished_name(3)), FileKind::Unfinished);
        for other in ["x", "1.log", "000000000000001F.log", "000000000000001f.log.bak"] {
            assert_eq!(file_kind(other), FileKind::Other);
        }
        assert_eq!(segment.position(segment.offset(123_464)), 123_464);
    }
}
