//! The forms of data that COPY reads and writes, PostgreSQL's byte for byte: text, CSV, binary. Bytes to fields and values to
//! bytes; called by `sql::copy` and `wire`. Knows columns by their number alone, and no tables, plans or messages.
//!
//! ```text
//! pieces of data ─► Decoder ─► Record: the fields of one row          values of one row ─► RowEncoder ─► one row's bytes
//!                     │ LineReader, then text_fields or csv_fields; or binary
//! ```
//!
//! - Where data is cut into pieces changes nothing.
//! - No data makes a decoder panic: what is not of the form is 22P04, what is not UTF-8 is 22021.
//! - A decoder holds what was read since its last `release`, and of what follows the row that is not whole yet, which has a limit.

mod binary;
mod csv_fields;
mod decoder;
mod encoder;
mod format;
mod line;
mod record;
mod text_fields;

pub use decoder::{Decoder, Progress};
pub use encoder::RowEncoder;
pub use format::{CopyForm, CopyFormat, CopyHeader, ForcedColumns};
pub use record::{FieldValue, Record};

use crate::Error;

/// 22P04.
fn bad(message: impl Into<String>) -> Error {
    Error::BadCopyData {
        message: message.into(),
        hint: None,
    }
}

#[cfg(test)]
mod tests;
