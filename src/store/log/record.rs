//! One record of the log: its bytes, written and read. The picture is in the module above.

use std::time::{SystemTime, UNIX_EPOCH};

use super::{Position, Timestamp, corrupt};
use crate::Result;
use crate::store::Write;

/// Bytes before a record's body.
pub(super) const HEADER_BYTES: usize = 32;
/// Records begin at multiples of this.
pub(super) const ALIGNMENT: usize = 8;

/// Bytes of a write beside its key and value.
const WRITE_HEADER_BYTES: usize = 8;

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// A whole commit group.
    Commit {
        /// When in the order of commits.
        timestamp: Timestamp,
        /// When by the server's clock: microseconds since 1970, UTC.
        time_us: i64,
        /// What it writes.
        writes: Writes<'a>,
    },
    /// A part of a large commit, which counts only once its `Close` is there.
    Part {
        /// Which one: the position of its first part.
        large: Position,
        /// What this part writes.
        writes: Writes<'a>,
    },
    /// Makes a large commit one.
    Close {
        /// Which one: the position of its first part.
        large: Position,
        /// As of a commit.
        timestamp: Timestamp,
        /// As of a commit.
        time_us: i64,
        /// How many parts it has.
        parts: u32,
    },
    /// Says that everything before it is durable. The last record of a store that was closed.
    Mark,
}

/// The writes of a record, still encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Writes<'a>(&'a [u8]);

/// The header of a record, as it stands in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    pub(super) length: usize,
    checksum: u32,
    pub(super) position: Position,
    /// The log was durable up to here when the record was written.
    pub(super) durable: Position,
    kind: u8,
}

const COMMIT: u8 = 1;
const PART: u8 = 2;
const CLOSE: u8 = 3;
const MARK: u8 = 4;

/// The body of a record under way, and what it is.
#[derive(Debug, Default)]
pub(crate) struct Body {
    kind: u8,
    pub(super) bytes: Vec<u8>,
}

impl Body {
    /// Begins a commit.
    pub(crate) fn commit(&mut self, timestamp: Timestamp) {
        self.begin(COMMIT);
        self.bytes.extend_from_slice(&timestamp.to_be_bytes());
        self.bytes.extend_from_slice(&now_us().to_be_bytes());
    }

    /// Begins a part of a large commit; `None`: its first.
    pub(crate) fn part(&mut self, large: Option<Position>) {
        self.begin(PART);
        // The first part cannot know where it will stand: it says 0, which no part's position is.
        self.bytes
            .extend_from_slice(&large.unwrap_or_default().to_be_bytes());
    }

    /// The whole record that ends a large commit.
    pub(crate) fn close(&mut self, large: Position, timestamp: Timestamp, parts: u32) {
        self.begin(CLOSE);
        self.bytes.extend_from_slice(&large.to_be_bytes());
        self.bytes.extend_from_slice(&timestamp.to_be_bytes());
        self.bytes.extend_from_slice(&now_us().to_be_bytes());
        self.bytes.extend_from_slice(&parts.to_be_bytes());
    }

    /// The whole record that says what is durable.
    pub(super) fn mark(&mut self) {
        self.begin(MARK);
    }

    /// Adds a write to a commit or a part.
    pub(crate) fn push(&mut self, write: &Write) {
        let (key, value) = match write {
            Write::Put { key, value } => (key, Some(value)),
            Write::Delete { key } => (key, None),
        };
        let length = |bytes: &[u8]| bytes.len() as u32;
        self.bytes.extend_from_slice(&length(key).to_be_bytes());
        let stored = value.map_or(0, |value| length(value) + 1);
        self.bytes.extend_from_slice(&stored.to_be_bytes());
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value.map_or(&[], Vec::as_slice));
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    fn begin(&mut self, kind: u8) {
        self.kind = kind;
        self.bytes.clear();
    }
}

/// How many bytes a record with a body of this length takes.
pub(super) fn record_bytes(body_bytes: usize) -> usize {
    (HEADER_BYTES + body_bytes).next_multiple_of(ALIGNMENT)
}

/// Appends the record to `buffer`.
pub(super) fn encode(body: &Body, position: Position, durable: Position, buffer: &mut Vec<u8>) {
    let start = buffer.len();
    buffer.extend_from_slice(&(body.bytes.len() as u32).to_be_bytes());
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&position.to_be_bytes());
    buffer.extend_from_slice(&durable.to_be_bytes());
    buffer.extend_from_slice(&[body.kind, 0, 0, 0, 0, 0, 0, 0]);
    buffer.extend_from_slice(&body.bytes);
    let checksum = checksum(&buffer[start..]);
    buffer[start + 4..start + 8].copy_from_slice(&checksum.to_be_bytes());
    buffer.resize(start + record_bytes(body.bytes.len()), 0);
}

/// The record at the beginning of `bytes`, if it is one that was written at `position`; and its header.
pub(super) fn decode(bytes: &[u8], position: Position) -> Option<(Header, Record<'_>)> {
    let header = Header::decode(bytes).filter(|header| header.position == position)?;
    let whole = bytes.get(..HEADER_BYTES + header.length)?;
    if checksum(whole) != header.checksum {
        return None;
    }
    Some((header, decode_body(&header, &whole[HEADER_BYTES..])?))
}

impl Header {
    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let bytes = bytes.get(..HEADER_BYTES)?;
        Some(Header {
            length: u32_at(bytes, 0)? as usize,
            checksum: u32_at(bytes, 4)?,
            position: u64_at(bytes, 8)?,
            durable: u64_at(bytes, 16)?,
            kind: bytes[24],
        })
    }
}

/// Over everything but itself.
fn checksum(record: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&record[..4]), &record[8..])
}

fn decode_body<'a>(header: &Header, body: &'a [u8]) -> Option<Record<'a>> {
    Some(match header.kind {
        COMMIT => Record::Commit {
            timestamp: u64_at(body, 0)?,
            time_us: u64_at(body, 8)? as i64,
            writes: Writes(&body[16..]),
        },
        PART => Record::Part {
            large: match u64_at(body, 0)? {
                0 => header.position,
                large => large,
            },
            writes: Writes(&body[8..]),
        },
        CLOSE => Record::Close {
            large: u64_at(body, 0)?,
            timestamp: u64_at(body, 8)?,
            time_us: u64_at(body, 16)? as i64,
            parts: u32_at(body, 24)?,
        },
        MARK => Record::Mark,
        _ => return None,
    })
}

impl<'a> Writes<'a> {
    /// Calls `visit` with key and new value (`None`: deleted) of each write, in the order written. Errors: `visit`'s;
    /// `Corrupt` when the bytes are no writes, which behind a right checksum only a bug can be.
    pub(crate) fn for_each(
        &self,
        mut visit: impl FnMut(&'a [u8], Option<&'a [u8]>) -> Result<()>,
    ) -> Result<()> {
        let mut rest = self.0;
        while !rest.is_empty() {
            let (key, value, behind) = split_write(rest)
                .ok_or_else(|| corrupt("a record ends inside one of its writes".to_string()))?;
            visit(key, value)?;
            rest = behind;
        }
        Ok(())
    }
}

/// A key, its value (`None`: deleted), and the bytes behind them.
type FirstWrite<'a> = (&'a [u8], Option<&'a [u8]>, &'a [u8]);

fn split_write(bytes: &[u8]) -> Option<FirstWrite<'_>> {
    let key_bytes = u32_at(bytes, 0)? as usize;
    let stored = u32_at(bytes, 4)?;
    let (key, rest) = bytes[WRITE_HEADER_BYTES..].split_at_checked(key_bytes)?;
    match stored.checked_sub(1) {
        None => Some((key, None, rest)),
        Some(value_bytes) => {
            let (value, rest) = rest.split_at_checked(value_bytes as usize)?;
            Some((key, Some(value), rest))
        }
    }
}

/// How many bytes a write takes in a record.
pub(crate) fn encoded_bytes(write: &Write) -> usize {
    WRITE_HEADER_BYTES + write.bytes()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Microseconds since 1970 by the server's clock.
fn now_us() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn writes() -> impl Strategy<Value = Vec<Write>> {
        let bytes = |least| proptest::collection::vec(any::<u8>(), least..40);
        let write = (bytes(1), proptest::option::of(bytes(0))).prop_map(|(key, value)| match value {
            Some(value) => Write::Put { key, value },
            None => Write::Delete { key },
        });
        proptest::collection::vec(write, 0..20)
    }

    fn decoded(writes: Writes<'_>) -> Vec<Write> {
        let mut found = Vec::new();
        writes
            .for_each(|key, value| {
                let key = key.to_vec();
                found.push(match value {
                    Some(value) => Write::Put {
                        key,
                        value: value.to_vec(),
                    },
                    None => Write::Delete { key },
                });
                Ok(())
            })
            .unwrap();
        found
    }

    proptest! {
        #[test]
        fn a_commit_is_read_as_it_was_written(written in writes(), timestamp: u64, position: u64, durable: u64) {
            let mut body = Body::default();
            body.commit(timestamp);
            written.iter().for_each(|write| body.push(write));
            let size: usize = written.iter().map(encoded_bytes).sum();
            prop_assert_eq!(body.len(), 16 + size);
            let mut bytes = vec![7; 8];
            encode(&body, position, durable, &mut bytes);
            prop_assert_eq!(bytes.len(), 8 + record_bytes(body.len()));
            let (header, record) = decode(&bytes[8..], position).unwrap();
            prop_assert_eq!((header.position, header.durable), (position, durable));
            let Record::Commit { timestamp: read, writes, .. } = record else { panic!("{record:?}") };
            prop_assert_eq!(read, timestamp);
            prop_assert_eq!(decoded(writes), written);
            prop_assert!(decode(&bytes[8..], position.wrapping_add(8)).is_none());
        }

        #[test]
        fn no_flipped_bit_goes_unseen(written in writes(), bit: prop::sample::Index) {
            let mut body = Body::default();
            body.part(Some(88));
            written.iter().for_each(|write| body.push(write));
            let mut bytes = Vec::new();
            encode(&body, 96, 8, &mut bytes);
            let covered = HEADER_BYTES + body.len();
            let bit = bit.index(covered * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(decode(&bytes, 96).is_none());
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), position: u64) {
            prop_assert!(decode(&bytes, position).is_none());
            let _ = Writes(&bytes).for_each(|_, _| Ok(()));
        }
    }

    #[test]
    fn the_first_part_is_named_by_its_own_place() {
        let mut body = Body::default();
        let mut bytes = Vec::new();
        body.part(None);
        encode(&body, 640, 0, &mut bytes);
        let Some((_, Record::Part { large, .. })) = decode(&bytes, 640) else {
            panic!()
        };
        assert_eq!(large, 640);
        bytes.clear();
        body.close(640, 9, 3);
        encode(&body, 720, 0, &mut bytes);
        let Some((
            _,
            Record::Close {
                large,
                timestamp,
                parts,
                ..
            },
        )) = decode(&bytes, 720)
        else {
            panic!()
        };
        assert_eq!((large, timestamp, parts), (640, 9, 3));
    }
}
