//! `RowEncoder`: values to the bytes of a row, in any of the forms. Called by `wire` for each row that it sends, and for files;
//! nothing is allocated a row.

use memchr::memchr3;

use super::binary::SIGNATURE;
use super::{CopyForm, CopyFormat, CopyHeader};
use crate::types::{ColumnEncoder, WireFormat};
use crate::{Error, Result};

/// Writes rows.
#[derive(Debug)]
pub struct RowEncoder {
    format: CopyFormat,
    names: Vec<String>,
    /// Which columns are always quoted.
    is_quoted: Vec<bool>,
    /// A value as it is before it is quoted.
    scratch: Vec<u8>,
    /// Nothing was written yet: of binary data the header goes with the first row.
    is_first: bool,
}

impl RowEncoder {
    /// For columns of these names.
    pub fn new(format: CopyFormat, names: Vec<String>) -> RowEncoder {
        let is_quoted = names.iter().map(|name| format.force_quote.holds(name)).collect();
        RowEncoder {
            format,
            names,
            is_quoted,
            scratch: Vec::new(),
            is_first: true,
        }
    }

    /// Whether the data is binary.
    pub fn is_binary(&self) -> bool {
        self.format.is_binary()
    }

    /// How many columns.
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// The form that values are wanted in.
    pub fn wire_format(&self) -> WireFormat {
        match self.is_binary() {
            true => WireFormat::Binary,
            false => WireFormat::Text,
        }
    }

    /// Appends the line that names the columns, if there is one; whether there is.
    /// Errors: 22P05.
    pub fn put_header(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        if self.format.header == CopyHeader::Absent || self.is_binary() {
            return Ok(false);
        }
        let start = out.len();
        for (at, name) in self.names.iter().enumerate() {
            if at > 0 {
                out.push(self.format.delimiter);
            }
            self.scratch.clear();
            self.scratch.extend_from_slice(name.as_bytes());
            match self.format.form {
                CopyForm::Csv => put_csv(&self.scratch, &self.format, (false, self.names.len() == 1), out),
                CopyForm::Text | CopyForm::Binary => put_text(&self.scratch, self.format.delimiter, out),
            }
        }
        out.push(b'\n');
        self.recode(start, out)?;
        Ok(true)
    }

    /// Appends a row of columns. Errors: 22P05.
    pub fn put_row(&mut self, columns: &[ColumnEncoder], row: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.is_binary() {
            self.put_binary_header(out);
            out.extend_from_slice(&(columns.len() as i16).to_be_bytes());
            for column in columns {
                column.encode_field(row, out);
            }
            return Ok(());
        }
        let start = out.len();
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(self.format.delimiter);
            }
            self.scratch.clear();
            if !column.encode(row, &mut self.scratch) {
                out.extend_from_slice(self.format.null.as_bytes());
                continue;
            }
            match self.format.form {
                CopyForm::Csv => {
                    let how = (self.is_quoted[at], columns.len() == 1);
                    put_csv(&self.scratch, &self.format, how, out);
                }
                CopyForm::Text | CopyForm::Binary => put_text(&self.scratch, self.format.delimiter, out),
            }
        }
        out.push(b'\n');
        self.recode(start, out)
    }

    /// Brings what was appended from `start` on into the data's encoding.
    fn recode(&self, start: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.format.encoding.is_own() || out[start..].is_ascii() {
            return Ok(());
        }
        let text = String::from_utf8(out.split_off(start));
        let text = text.map_err(|_| Error::internal("a row of COPY that is no text"))?;
        out.extend(self.format.encoding.encode(&text)?);
        Ok(())
    }

    /// Appends what ends the data, if anything does; whether it does.
    pub fn put_end(&mut self, out: &mut Vec<u8>) -> bool {
        if self.is_binary() {
            self.put_binary_header(out);
            out.extend_from_slice(&(-1_i16).to_be_bytes());
        }
        self.is_binary()
    }

    fn put_binary_header(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_first, false) {
            out.extend_from_slice(SIGNATURE);
            out.extend_from_slice(&[0; 8]);
        }
    }
}

/// Appends a value of the text form.
fn put_text(value: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    let mut rest = value;
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'\\' || *byte == delimiter;
    while let Some(found) = rest.iter().position(is_special) {
        let (before, byte) = (&rest[..found], rest[found]);
        out.extend_from_slice(before);
        rest = &rest[found + 1..];
        let letter = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' => b'\\',
            byte if byte == delimiter => byte,
            // Other control characters stand as they are.
            byte => {
                out.push(byte);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
    out.extend_from_slice(rest);
}

/// Appends a value of CSV. `is_quoted`: in quotes in any case; `is_alone`: the row has no other.
fn put_csv(value: &[u8], format: &CopyFormat, (is_quoted, is_alone): (bool, bool), out: &mut Vec<u8>) {
    let (delimiter, quote) = (format.delimiter, format.quote);
    let needs_quotes = || {
        value == format.null.as_bytes()
            // It would end the data.
            || (is_alone && value == b"\\.")
            || memchr3(delimiter, quote, b'\n', value).is_some()
            || memchr::memchr(b'\r', value).is_some()
    };
    if !is_quoted && !needs_quotes() {
        out.extend_from_slice(value);
        return;
    }
    out.push(quote);
    let mut rest = value;
    while let Some(found) = memchr::memchr2(quote, format.escape, rest) {
        out.extend_from_slice(&rest[..found]);
        out.extend_from_slice(&[format.escape, rest[found]]);
        rest = &rest[found + 1..];
    }
    out.extend_from_slice(rest);
    out.push(quote);
}
