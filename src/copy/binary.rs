//! `BinaryReader`: COPY's binary form: a signature, then a row a number of fields, each with its length; −1 ends them. Called by
//! `decoder`.

use super::{Record, bad};
use crate::{Error, Result};

/// What the data begins with.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Flags from here up change the form; of those below only the one of oids was ever used.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
const HAS_OIDS: u32 = 1 << 16;

/// Reads rows off binary data.
#[derive(Debug)]
pub(super) struct BinaryReader {
    data: Vec<u8>,
    /// What stands before it was read.
    at: usize,
    has_header: bool,
    /// Fields of a row.
    columns: usize,
    has_ended: bool,
    /// −1 was read: nothing may follow.
    is_done: bool,
    /// The row at hand or the one read last; counts from 1.
    number: u64,
    row_bytes_max: usize,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row {
    Whole,
    Starved,
    Ended,
}

/// Where a row is read: what was taken counts only once the row is whole.
struct Taker<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Taker<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.data.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    fn word<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }
}

impl BinaryReader {
    pub(super) fn new(columns: usize, row_bytes_max: usize) -> BinaryReader {
        BinaryReader {
            data: Vec::new(),
            at: 0,
            has_header: false,
            columns,
            has_ended: false,
            is_done: false,
            number: 0,
            row_bytes_max,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.data.extend_from_slice(piece);
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(super) fn read_bytes(&self) -> usize {
        self.at
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.data.len()
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn release(&mut self) {
        self.data.drain(..self.at);
        self.at = 0;
    }

    /// The next row. Errors: 22P04; 54000 for one that is too long.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<Row> {
        if !self.has_header && !self.read_header()? {
            return Ok(Row::Starved);
        }
        if self.is_done {
            return match self.at < self.data.len() {
                true => Err(bad("received copy data after EOF marker")),
                false if self.has_ended => Ok(Row::Ended),
                false => Ok(Row::Starved),
            };
        }
        let mut taker = Taker {
            data: &self.data,
            at: self.at,
        };
        let Some(count) = taker.word() else {
            return self.starved(true);
        };
        let count = i16::from_be_bytes(count);
        if count == -1 {
            self.number += 1;
            self.at = taker.at;
            self.is_done = true;
            return self.next(record);
        }
        if usize::try_from(count) != Ok(self.columns) {
            self.number += 1;
            let columns = self.columns;
            return Err(bad(format!("row field count is {count}, expected {columns}")));
        }
        record.clear();
        match read_fields(&mut taker, self.columns, record) {
            Ok(true) => {
                self.at = taker.at;
                self.number += 1;
                Ok(Row::Whole)
            }
            Ok(false) => self.starved(false),
            Err(error) => {
                self.number += 1;
                Err(error)
            }
        }
    }

    /// `between`: no row has begun.
    fn starved(&mut self, between: bool) -> Result<Row> {
        let bytes = self.data.len() - self.at;
        match self.has_ended {
            true if between => Ok(Row::Ended),
            true => {
                self.number += 1;
                Err(bad("unexpected EOF in COPY data"))
            }
            false if bytes > self.row_bytes_max => Err(Error::TooLarge {
                what: "row of COPY data".to_string(),
                bytes,
                bytes_max: self.row_bytes_max,
                setting: "keyspan.message_bytes_max",
            }),
            false => Ok(Row::Starved),
        }
    }

    /// Whether the header is whole, and read.
    fn read_header(&mut self) -> Result<bool> {
        let is_signed = self
            .data
            .iter()
            .zip(SIGNATURE)
            .all(|(found, wanted)| found == wanted);
        if !is_signed || (self.has_ended && self.data.len() < SIGNATURE.len()) {
            return Err(bad("COPY file signature not recognized"));
        }
        if self.data.len() < SIGNATURE.len() {
            return Ok(false);
        }
        let missing = |what: &str| match self.has_ended {
            true => Err(bad(format!("invalid COPY file header ({what})"))),
            false => Ok(false),
        };
        let mut taker = Taker {
            data: &self.data,
            at: SIGNATURE.len(),
        };
        let Some(flags) = taker.word() else {
            return missing("missing flags");
        };
        let flags = u32::from_be_bytes(flags);
        if flags & HAS_OIDS != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL_FLAGS != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let Some(length) = taker.word() else {
            return missing("missing length");
        };
        let Ok(length) = usize::try_from(i32::from_be_bytes(length)) else {
            return Err(bad("invalid COPY file header (missing length)"));
        };
        if length > self.row_bytes_max {
            return Err(bad("invalid COPY file header (wrong length)"));
        }
        if taker.take(length).is_none() {
            return missing("wrong length");
        }
        self.at = taker.at;
        self.has_header = true;
        Ok(true)
    }
}

/// Whether the fields were all there.
fn read_fields(taker: &mut Taker<'_>, columns: usize, record: &mut Record) -> Result<bool> {
    for _ in 0..columns {
        let Some(length) = taker.word() else {
            return Ok(false);
        };
        match i32::from_be_bytes(length) {
            -1 => record.end_null(),
            length => {
                let length = usize::try_from(length).map_err(|_| bad("invalid field size"))?;
                let Some(bytes) = taker.take(length) else {
                    return Ok(false);
                };
                record.extend(bytes);
                record.end_data();
            }
        }
    }
    Ok(true)
}
