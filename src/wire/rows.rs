//! Rows as DataRow messages, written by hand into the output buffer: lengths are patched in place and nothing is
//! allocated a row.

use arrow::array::RecordBatch;

use super::output::Output;
use crate::exec::OutputColumn;
use crate::types::{ColumnEncoder, FormatSettings};

/// Appends rows of a batch from the row at `from` on, until the buffer is full or the batch is at its end; answers the
/// row to go on with. `binary`: for each column, whether it goes in binary.
pub(super) fn encode_rows(
    columns: &[OutputColumn],
    batch: &RecordBatch,
    from: usize,
    binary: &[bool],
    format: &FormatSettings,
    buffer: &mut Vec<u8>,
) -> usize {
    let encoder = |(index, (column, array))| {
        let column: &OutputColumn = column;
        ColumnEncoder::new(&column.ty, array, binary.get(index).copied().unwrap_or(false), format)
    };
    let encoders: Vec<_> = columns.iter().zip(batch.columns()).enumerate().map(encoder).collect();
    let mut row = from;
    while row < batch.num_rows() && buffer.len() < Output::FULL_BYTES {
        encode_row(&encoders, row, buffer);
        row += 1;
    }
    row
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
