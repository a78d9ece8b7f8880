//! Rows as DataRow messages, written by hand into the output buffer: lengths are patched in place and nothing is
//! allocated a row.

use arrow::array::RecordBatch;

use super::output::Output;
use crate::Result;
use crate::exec::OutputColumn;
use crate::types::{ColumnEncoder, FormatSettings, WireFormat};

/// Encodes the rows of one batch.
#[derive(Debug)]
pub(super) struct BatchEncoder {
    columns: Vec<ColumnEncoder>,
    rows: usize,
    next: usize,
}

impl BatchEncoder {
    /// For a batch of these columns. `formats`: that of each column; text where it says nothing.
    pub(super) fn new(
        columns: &[OutputColumn],
        batch: &RecordBatch,
        formats: &[WireFormat],
        settings: &FormatSettings,
    ) -> Result<BatchEncoder> {
        let encoder = |(index, (column, array))| {
            let column: &OutputColumn = column;
            let format = formats.get(index).copied().unwrap_or(WireFormat::Text);
            ColumnEncoder::new(&column.ty, array, format, settings)
        };
        let columns = columns
            .iter()
            .zip(batch.columns())
            .enumerate()
            .map(encoder)
            .collect::<Result<_>>()?;
        Ok(BatchEncoder {
            columns,
            rows: batch.num_rows(),
            next: 0,
        })
    }

    /// Appends rows until the buffer is full or the batch is at its end; whether rows are left.
    pub(super) fn encode(&mut self, buffer: &mut Vec<u8>) -> bool {
        while self.next < self.rows && buffer.len() < Output::FULL_BYTES {
            encode_row(&self.columns, self.next, buffer);
            self.next += 1;
        }
        self.next < self.rows
    }
}

/// `D`, the length of the message, the number of fields, then each field: its length (−1: NULL) and its bytes.
fn encode_row(columns: &[ColumnEncoder], row: usize, buffer: &mut Vec<u8>) {
    buffer.push(b'D');
    let start = buffer.len();
    buffer.extend_from_slice(&[0; 4]);
    buffer.extend_from_slice(&(columns.len() as u16).to_be_bytes());
    for column in columns {
        let field = buffer.len();
        buffer.extend_from_slice(&(-1i32).to_be_bytes());
        if column.encode(row, buffer) {
            let length = (buffer.len() - field - 4) as i32;
            buffer[field..field + 4].copy_from_slice(&length.to_be_bytes());
        } else {
            buffer.truncate(field + 4);
        }
    }
    let length = (buffer.len() - start) as i32;
    buffer[start..start + 4].copy_from_slice(&length.to_be_bytes());
}
