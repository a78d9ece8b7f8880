//! Results as RowDescription and DataRow messages, written by hand into the output buffer: lengths are patched in place
//! and nothing is allocated a row.

use super::client_encoding::{Recoded, recode_row};
use super::output::Output;
use crate::Result;
use crate::scan::{OutputColumn, Rows, StoredRows};
use crate::table::RowFormatter;
use crate::types::{CharacterEncoding, ColumnEncoder, FormatSettings, WireFormat};

/// Appends a RowDescription: `T`, the length of the message, the number of columns, then for each its name, table,
/// attribute, type, size, modifier and format. `formats`: that of each column; text where it says nothing.
pub(super) fn put_row_description(columns: &[OutputColumn], formats: &[WireFormat], output: &mut Output) {
    let encoding = output.encoding();
    let buffer = output.buffer();
    buffer.push(b'T');
    let start = buffer.len();
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&(columns.len() as u16).to_be_bytes());
    for (index, column) in columns.iter().enumerate() {
        // A name ends with a zero byte, so that it can hold none.
        match encoding.is_own() {
            true => buffer.extend(column.name.bytes().filter(|byte| *byte != 0)),
            false => buffer.extend(
                encoding
                    .encode_lossy(&column.name)
                    .into_iter()
                    .filter(|byte| *byte != 0),
            ),
        }
        buffer.push(0);
        buffer.extend_from_slice(&column.table_oid.to_be_bytes());
        buffer.extend_from_slice(&column.attribute.to_be_bytes());
        buffer.extend_from_slice(&column.ty.oid().to_be_bytes());
        buffer.extend_from_slice(&column.ty.length().to_be_bytes());
        buffer.extend_from_slice(&column.shown_type().modifier().to_be_bytes());
        let is_binary = formats.get(index) == Some(&WireFormat::Binary);
        buffer.extend_from_slice(&u16::from(is_binary).to_be_bytes());
    }
    put_length(start, buffer);
}

/// Fills in the length of the message whose length stands at `start`.
fn put_length(start: usize, buffer: &mut [u8]) {
    let length = (buffer.len() - start) as i32; // a message of 2 GiB is above every limit
    buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Encodes the rows of one piece of a result.
#[derive(Debug)]
pub(super) struct RowsEncoder {
    source: Source,
    columns: usize,
    rows: usize,
    next: usize,
    /// What of each field is recoded, for a client of another encoding; else empty.
    recoded: Vec<Recoded>,
}

/// Bytes of the message of a row before its fields: its kind, its length and their number.
const BEFORE_FIELDS: usize = 1 + 4 + 2;

/// Where the rows come from.
#[derive(Debug)]
enum Source {
    Columns(Vec<ColumnEncoder>),
    Stored(StoredRows, Box<RowFormatter>),
}

impl RowsEncoder {
    /// For a piece of these columns and a client of `encoding`, the one of the output that the rows go to. `formats`:
    /// that of each column; text where it says nothing.
    pub(super) fn new(
        columns: &[OutputColumn],
        piece: Rows,
        formats: &[WireFormat],
        settings: &FormatSettings,
        encoding: CharacterEncoding,
    ) -> Result<RowsEncoder> {
        let (rows, count) = (piece.num_rows(), columns.len());
        let recoded = match encoding.is_own() {
            true => Vec::new(),
            false => recoded_fields(columns, formats),
        };
        let source = match piece {
            Rows::Stored(stored) => {
                let formatter = Box::new(stored.formatter(columns, formats, settings)?);
                Source::Stored(stored, formatter)
            }
            Rows::Columns(batch) => {
                let encoder = |(index, (column, array))| {
                    let column: &OutputColumn = column;
                    ColumnEncoder::new(&column.ty, array, format_of(formats, index), settings)
                };
                let pairs = columns.iter().zip(batch.columns()).enumerate();
                Source::Columns(pairs.map(encoder).collect::<Result<_>>()?)
            }
        };
        Ok(RowsEncoder {
            source,
            columns: count,
            rows,
            next: 0,
            recoded,
        })
    }

    /// Appends rows until the output is full or the piece is at its end; whether rows are left. Errors: `Corrupt`; then
    /// the output holds whole messages.
    pub(super) fn encode(&mut self, output: &mut Output) -> Result<bool> {
        while self.next < self.rows && !output.is_full() {
            let encoding = output.encoding();
            let buffer = output.buffer();
            let start = buffer.len();
            let encoded = self.encode_row(buffer).and_then(|()| match encoding.is_own() {
                true => Ok(()),
                false => recode_row(buffer, start, encoding, &self.recoded),
            });
            if let Err(error) = encoded {
                buffer.truncate(start);
                return Err(error);
            }
            self.next += 1;
        }
        Ok(self.next < self.rows)
    }

    /// The only field of the next row: its length (−1: NULL) and its bytes; `None` behind the last row.
    pub(super) fn encode_only_field(&mut self, encoding: CharacterEncoding) -> Result<Option<Vec<u8>>> {
        if self.next >= self.rows {
            return Ok(None);
        }
        let mut row = Vec::new();
        self.encode_row(&mut row)?;
        if !encoding.is_own() {
            recode_row(&mut row, 0, encoding, &self.recoded)?;
        }
        self.next += 1;
        Ok(Some(row.split_off(BEFORE_FIELDS)))
    }

    /// `D`, the length of the message, the number of fields, then each field: its length (−1: NULL) and its bytes.
    fn encode_row(&mut self, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.push(b'D');
        let start = buffer.len();
        buffer.extend_from_slice(&[0; 4]);
        buffer.extend_from_slice(&(self.columns as u16).to_be_bytes());
        match &mut self.source {
            Source::Columns(columns) => {
                for column in columns {
                    column.encode_field(self.next, buffer);
                }
            }
            Source::Stored(rows, formatter) => {
                formatter.put_row(rows.entry(self.next), buffer)?;
            }
        }
        put_length(start, buffer);
        Ok(())
    }
}

/// What of each field is written in the client's encoding.
fn recoded_fields(columns: &[OutputColumn], formats: &[WireFormat]) -> Vec<Recoded> {
    let columns = columns.iter().enumerate();
    let recoded =
        |(index, column): (usize, &OutputColumn)| Recoded::of(&column.ty, format_of(formats, index));
    columns.map(recoded).collect()
}

/// The format of a column; text where nothing is said.
fn format_of(formats: &[WireFormat], index: usize) -> WireFormat {
    formats.get(index).copied().unwrap_or(WireFormat::Text)
}
