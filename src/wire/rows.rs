//! Rows as DataRow messages, written by hand into the output buffer: lengths are patched in place and nothing is
//! allocated a row.

use arrow::array::RecordBatch;

use crate::exec::OutputColumn;
use crate::types::{ColumnEncoder, FormatSettings};

/// Encodes the rows of one batch.
pub(super) struct BatchEncoder<'a> {
    columns: Vec<ColumnEncoder<'a>>,
    rows: usize,
    next: usize,
}

impl<'a> BatchEncoder<'a> {
    /// For a batch of these columns. `binary`: for each column, whether it goes in binary.
    pub(super) fn new(
        columns: &[OutputColumn],
        batch: &'a RecordBatch,
        binary: &[bool],
        format: &FormatSettings,
    ) -> BatchEncoder<'a> {
        let encoder = |(index, (column, array))| {
            let column: &OutputColumn = column;
            ColumnEncoder::new(&column.ty, array, binary.get(index).copied().unwrap_or(false), format)
        };
        let columns = columns.iter().zip(batch.columns()).enumerate().map(encoder).collect();
        BatchEncoder { columns, rows: batch.num_rows(), next: 0 }
    }

    /// Appends rows until the buffer has `full_bytes` or the batch is at its end; whether rows are left.
    pub(super) fn encode(&mut self, buffer: &mut Vec<u8>, full_bytes: usize) -> bool {
        while self.next < self.rows && buffer.len() < full_bytes {
            encode_row(&self.columns, self.next, buffer);
            self.next += 1;
        }
        self.next < self.rows
    }
}

/// `D`, the length of the message, the number of fields, then each field: its length (−1: NULL) and its bytes.
fn encode_row(columns: &[ColumnEncoder<'_>], row: usize, buffer: &mut Vec<u8>) {
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
