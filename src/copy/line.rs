//! `LineReader`: cuts pieces of data into lines, text or CSV: which line breaks end one, and where `\.` ends them all. Called by
//! `decoder`.
//!
//! The first line's end decides what ends the others: `\n`, `\r` or `\r\n`. In text a line break behind a backslash is data, in CSV
//! one in quotes. What was looked at is never looked at again, however small the pieces are.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2, memchr3};

use super::{CopyForm, CopyFormat, bad};
use crate::{Error, Result};

/// Cuts data into lines.
#[derive(Debug)]
pub(super) struct LineReader {
    csv: Option<Csv>,
    /// What was pushed and not taken.
    data: Vec<u8>,
    /// Where the line at hand begins.
    start: usize,
    /// What stands before it belongs to the line at hand, or to those before.
    at: usize,
    /// What ends a line.
    ending: Option<Ending>,
    /// The line at hand or the one read last; counts from 1.
    number: u64,
    has_begun: bool,
    /// No more data comes.
    has_ended: bool,
    /// Whatever comes counts for nothing: `\.` was read.
    is_done: bool,
    line_bytes_max: usize,
}

/// Where in CSV it stands.
#[derive(Debug)]
struct Csv {
    quote: u8,
    /// Unless it is the quote itself.
    escape: Option<u8>,
    in_quote: bool,
    was_escape: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Newline,
    Return,
    ReturnNewline,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without what ends it: where in the data.
    Whole(Range<usize>),
    /// More data is needed.
    Starved,
    /// There are no more.
    Ended,
}

/// What stands at a special character.
enum Found {
    /// It is data, and so is everything before this place.
    Data(usize),
    /// The line ends before the first and the next begins at the second.
    End(usize, usize),
    /// The data ends before this place.
    LastEnd(usize),
    /// More is needed to tell.
    Starved,
}

impl LineReader {
    pub(super) fn new(format: &CopyFormat, line_bytes_max: usize) -> LineReader {
        LineReader {
            csv: (format.form == CopyForm::Csv).then(|| Csv {
                quote: format.quote,
                escape: (format.escape != format.quote).then_some(format.escape),
                in_quote: false,
                was_escape: false,
            }),
            data: Vec::new(),
            start: 0,
            at: 0,
            ending: None,
            number: 0,
            has_begun: false,
            has_ended: false,
            is_done: false,
            line_bytes_max,
        }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        if !self.is_done {
            self.data.extend_from_slice(piece);
        }
    }

    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    /// The bytes pushed and not taken.
    pub(super) fn data(&self) -> &[u8] {
        &self.data
    }

    /// Bytes of lines that were read and not taken.
    pub(super) fn read_bytes(&self) -> usize {
        self.start
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Gives away the lines that were read: their places count in these alone.
    pub(super) fn take_read(&mut self) -> Vec<u8> {
        let read = self.data.drain(..self.start).collect();
        self.at -= self.start;
        self.start = 0;
        read
    }

    /// The next line. Errors: 22P04; 54000 for one that is too long.
    pub(super) fn next(&mut self) -> Result<Line> {
        if self.is_done {
            return Ok(Line::Ended);
        }
        if !self.has_begun {
            self.has_begun = true;
            self.number += 1;
        }
        loop {
            let found = match self.find_special() {
                Some(at) => self.judge(at)?,
                None if self.has_ended => Found::LastEnd(self.data.len()),
                None => {
                    self.at = self.data.len();
                    Found::Starved
                }
            };
            match found {
                Found::Data(at) => self.at = at,
                Found::End(end, next) => return Ok(Line::Whole(self.take(end, next))),
                Found::LastEnd(end) => {
                    self.is_done = true;
                    let next = self.data.len();
                    let line = self.take(end, next);
                    return Ok(match line.is_empty() {
                        true => Line::Ended,
                        false => Line::Whole(line),
                    });
                }
                Found::Starved => {
                    self.check_length()?;
                    return Ok(Line::Starved);
                }
            }
        }
    }

    fn take(&mut self, end: usize, next: usize) -> Range<usize> {
        let line = self.start..end;
        self.start = next;
        self.at = next;
        self.has_begun = false;
        line
    }

    fn check_length(&self) -> Result<()> {
        let bytes = self.data.len() - self.start;
        match bytes > self.line_bytes_max {
            true => Err(Error::TooLarge {
                what: "line of COPY data".to_string(),
                bytes,
                bytes_max: self.line_bytes_max,
                setting: "keyspan.message_bytes_max",
            }),
            false => Ok(()),
        }
    }

    /// The next character that may be more than data.
    fn find_special(&mut self) -> Option<usize> {
        let rest = &self.data[self.at..];
        let Some(csv) = &mut self.csv else {
            return memchr3(b'\n', b'\r', b'\\', rest).map(|found| self.at + found);
        };
        if !csv.in_quote {
            // A backslash is more than data only where a line begins.
            let found = match self.at == self.start && rest.first() == Some(&b'\\') {
                true => Some(0),
                false => memchr3(csv.quote, b'\n', b'\r', rest),
            };
            return found.map(|found| self.at + found);
        }
        let found = match csv.escape {
            None => memchr(csv.quote, rest),
            Some(escape) => memchr2(csv.quote, escape, rest),
        };
        let passed = &rest[..found.unwrap_or(rest.len())];
        if !passed.is_empty() {
            csv.was_escape = false;
            // PostgreSQL counts so, before it knows what ends a line, too.
            let counted = match self.ending {
                Some(Ending::Newline) => b'\n',
                _ => b'\r',
            };
            self.number += memchr_iter(counted, passed).count() as u64;
        }
        found.map(|found| self.at + found)
    }

    fn judge(&mut self, at: usize) -> Result<Found> {
        let byte = self.data[at];
        if let Some(csv) = &mut self.csv
            && (csv.in_quote || byte == csv.quote)
        {
            if csv.in_quote && Some(byte) == csv.escape {
                csv.was_escape = !csv.was_escape;
                return Ok(Found::Data(at + 1));
            }
            csv.in_quote ^= !csv.was_escape;
            csv.was_escape = false;
            return Ok(Found::Data(at + 1));
        }
        match byte {
            b'\n' => self.newline(at),
            b'\r' => self.carriage_return(at),
            _ => self.backslash(at),
        }
    }

    fn newline(&mut self, at: usize) -> Result<Found> {
        match self.ending {
            None | Some(Ending::Newline) => {
                self.ending = Some(Ending::Newline);
                Ok(Found::End(at, at + 1))
            }
            Some(Ending::Return | Ending::ReturnNewline) => Err(self.misplaced("newline", "\\n")),
        }
    }

    fn carriage_return(&mut self, at: usize) -> Result<Found> {
        match self.ending {
            Some(Ending::Newline) => Err(self.misplaced("carriage return", "\\r")),
            Some(Ending::Return) => Ok(Found::End(at, at + 1)),
            None | Some(Ending::ReturnNewline) => match self.data.get(at + 1) {
                None if !self.has_ended => {
                    self.at = at;
                    Ok(Found::Starved)
                }
                Some(b'\n') => {
                    self.ending = Some(Ending::ReturnNewline);
                    Ok(Found::End(at, at + 2))
                }
                _ if self.ending.is_some() => Err(self.misplaced("carriage return", "\\r")),
                _ => {
                    self.ending = Some(Ending::Return);
                    Ok(Found::End(at, at + 1))
                }
            },
        }
    }

    fn misplaced(&self, what: &str, escape: &'static str) -> Error {
        let (message, hint) = match (&self.csv, escape) {
            (None, "\\n") => (
                format!("literal {what} found in data"),
                "Use \"\\n\" to represent newline.",
            ),
            (None, _) => (
                format!("literal {what} found in data"),
                "Use \"\\r\" to represent carriage return.",
            ),
            (Some(_), "\\n") => (
                format!("unquoted {what} found in data"),
                "Use quoted CSV field to represent newline.",
            ),
            (Some(_), _) => (
                format!("unquoted {what} found in data"),
                "Use quoted CSV field to represent carriage return.",
            ),
        };
        Error::BadCopyData {
            message,
            hint: Some(hint),
        }
    }

    /// A backslash: `\.` ends the data, where nothing follows it in its line.
    fn backslash(&mut self, at: usize) -> Result<Found> {
        let is_csv = self.csv.is_some();
        match self.data.get(at + 1) {
            None if !self.has_ended => {
                self.at = at;
                return Ok(Found::Starved);
            }
            Some(b'.') => {}
            // What stands behind it is data, be it a line break.
            Some(_) if !is_csv => return Ok(Found::Data(at + 2)),
            _ => return Ok(Found::Data(at + 1)),
        }
        let mut next = at + 2;
        if self.ending == Some(Ending::ReturnNewline) {
            match self.byte_at(next) {
                None => return self.starved_at(at),
                Some(b'\r') => next += 1,
                Some(_) if is_csv => return Ok(Found::Data(at + 1)),
                Some(b'\n') => return Err(other_marker()),
                Some(_) => return Err(bad("end-of-copy marker corrupt")),
            }
        }
        let wanted = match self.ending {
            Some(Ending::Return) => Some(b'\r'),
            Some(Ending::Newline | Ending::ReturnNewline) => Some(b'\n'),
            None => None,
        };
        match self.byte_at(next) {
            None => self.starved_at(at),
            Some(byte @ (b'\r' | b'\n')) => match wanted.is_none_or(|wanted| wanted == byte) {
                true => Ok(Found::LastEnd(at)),
                false => Err(other_marker()),
            },
            Some(_) if is_csv => Ok(Found::Data(at + 1)),
            Some(_) => Err(bad("end-of-copy marker corrupt")),
        }
    }

    /// A byte; zero behind the end, `None` where it has not come yet.
    fn byte_at(&self, at: usize) -> Option<u8> {
        match self.data.get(at) {
            Some(byte) => Some(*byte),
            None if self.has_ended => Some(0),
            None => None,
        }
    }

    fn starved_at(&mut self, at: usize) -> Result<Found> {
        self.at = at;
        Ok(Found::Starved)
    }
}

fn other_marker() -> Error {
    bad("end-of-copy marker does not match previous newline style")
}
