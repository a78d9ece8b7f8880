//! `Decoder`: pieces of data to rows of fields, in any of the forms. Driven by `sql::copy`.

use std::ops::Range;

use super::binary::{BinaryReader, Row};
use super::line::{Line, LineReader};
use super::{CopyForm, CopyFormat, Record, csv_fields, text_fields};
use crate::Result;
use crate::error::utf8;
use crate::types::TextDecoder;

/// Pieces of data to rows.
#[derive(Debug)]
pub struct Decoder {
    format: CopyFormat,
    reader: Reader,
    /// What makes UTF-8 of the data, where it is not.
    texts: Option<(TextDecoder, String)>,
    /// The line read last, unless what was read of it is no text.
    line: Option<Range<usize>>,
}

#[derive(Debug)]
enum Reader {
    Lines(LineReader),
    Rows(BinaryReader),
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A row.
    Row,
    /// More data is needed.
    Starved,
    /// There are no more rows.
    Ended,
}

impl Decoder {
    /// For rows of so many columns. `row_bytes_max`: the longest row.
    pub fn new(format: CopyFormat, columns: usize, row_bytes_max: usize) -> Decoder {
        let reader = match format.form {
            CopyForm::Binary => Reader::Rows(BinaryReader::new(columns, row_bytes_max)),
            CopyForm::Text | CopyForm::Csv => Reader::Lines(LineReader::new(&format, row_bytes_max)),
        };
        let recodes = !format.is_binary() && !format.encoding.is_own();
        Decoder {
            texts: recodes.then(|| (TextDecoder::new(format.encoding), String::new())),
            format,
            reader,
            line: None,
        }
    }

    /// Takes more data. Errors: 22021 for what is not in the data's encoding.
    pub fn push(&mut self, piece: &[u8]) -> Result<()> {
        let piece = match &mut self.texts {
            Some((decoder, text)) => {
                text.clear();
                decoder.decode(piece, false, text)?;
                text.as_bytes()
            }
            None => piece,
        };
        match &mut self.reader {
            Reader::Lines(lines) => lines.push(piece),
            Reader::Rows(rows) => rows.push(piece),
        }
        Ok(())
    }

    /// No more data comes. Errors: 22021 for what ends within a character.
    pub fn end(&mut self) -> Result<()> {
        if let Some((decoder, text)) = &mut self.texts {
            text.clear();
            decoder.decode(&[], true, text)?;
        }
        match &mut self.reader {
            Reader::Lines(lines) => lines.end(),
            Reader::Rows(rows) => rows.end(),
        }
        Ok(())
    }

    /// Reads the next row. Errors: 22P04, 22021, 54000.
    pub fn read(&mut self, record: &mut Record) -> Result<Progress> {
        self.line = None;
        match &mut self.reader {
            Reader::Rows(rows) => Ok(match rows.next(record)? {
                Row::Whole => Progress::Row,
                Row::Starved => Progress::Starved,
                Row::Ended => Progress::Ended,
            }),
            Reader::Lines(lines) => {
                let line = match lines.next()? {
                    Line::Whole(line) => line,
                    Line::Starved => return Ok(Progress::Starved),
                    Line::Ended => return Ok(Progress::Ended),
                };
                let text = &lines.data()[line.clone()];
                utf8::text(text)?;
                self.line = Some(line);
                match self.format.form {
                    CopyForm::Csv => csv_fields::read(text, &self.format, record)?,
                    CopyForm::Text | CopyForm::Binary => text_fields::read(text, &self.format, record)?,
                }
                Ok(Progress::Row)
            }
        }
    }

    /// The number of the row read last, or of the one that was not read: lines of text and CSV; counts from 1.
    pub fn number(&self) -> u64 {
        match &self.reader {
            Reader::Lines(lines) => lines.number(),
            Reader::Rows(rows) => rows.number(),
        }
    }

    /// Where the line read last stands in the data, for [`Decoder::text`].
    pub fn line(&self) -> Option<Range<usize>> {
        self.line.clone()
    }

    /// A line since the last `take_read`.
    pub fn text(&self, line: &Range<usize>) -> &str {
        let data = match &self.reader {
            Reader::Lines(lines) => lines.data(),
            Reader::Rows(_) => &[],
        };
        let text = data.get(line.clone()).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// Bytes of the rows read since the last `take_read`.
    pub fn read_bytes(&self) -> usize {
        match &self.reader {
            Reader::Lines(lines) => lines.read_bytes(),
            Reader::Rows(rows) => rows.read_bytes(),
        }
    }

    /// Bytes that it holds.
    pub fn held_bytes(&self) -> usize {
        match &self.reader {
            Reader::Lines(lines) => lines.data().len(),
            Reader::Rows(rows) => rows.held_bytes(),
        }
    }

    /// Gives away the lines that were read, as their places say, and forgets binary rows.
    pub fn take_read(&mut self) -> Vec<u8> {
        self.line = None;
        match &mut self.reader {
            Reader::Lines(lines) => lines.take_read(),
            Reader::Rows(rows) => {
                rows.release();
                Vec::new()
            }
        }
    }
}
