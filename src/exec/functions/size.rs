//! How long a value may be, and the values of one batch together: a function may make much of little, and an allocator that
//! fails ends the server. `BoundFunction` holds every result to both limits; a function whose result may be longer than a
//! few times its arguments asks before it makes it.

use crate::error::Limit;
use crate::types::Value;
use crate::{Error, Result};

/// The longest value that a function makes, in bytes (PostgreSQL's limit is a gigabyte; ours keeps a batch small).
pub(super) const VALUE_BYTES_MAX: usize = 64 << 20;
/// The results of a function for one batch of rows, in bytes; below the 2 GiB that Arrow's offsets reach.
const BATCH_BYTES_MAX: usize = 512 << 20;
/// What a value takes beside its text.
const VALUE_BYTES: usize = 16;

/// Errors: 54000 when a value of this length is too long.
pub(super) fn check_length(bytes: usize) -> Result<()> {
    match bytes <= VALUE_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: "requested length too large".to_string(),
            hint: format!("A function makes values of at most {} MB.", VALUE_BYTES_MAX >> 20),
        }),
    }
}

/// A text that is put together piece by piece.
#[derive(Debug, Default)]
pub(super) struct LimitedText(String);

impl LimitedText {
    /// Errors: 54000 when it would become too long.
    pub(super) fn push(&mut self, piece: &str) -> Result<()> {
        check_length(self.0.len().saturating_add(piece.len()))?;
        self.0.push_str(piece);
        Ok(())
    }

    /// So many blanks. Errors: as `push`.
    pub(super) fn push_blanks(&mut self, count: usize) -> Result<()> {
        check_length(self.0.len().saturating_add(count))?;
        self.0.extend(std::iter::repeat_n(' ', count));
        Ok(())
    }

    /// The pieces with a separator between them. Errors: as `push`.
    pub(super) fn joined(
        pieces: impl IntoIterator<Item = impl AsRef<str>>,
        separator: &str,
    ) -> Result<String> {
        let mut text = LimitedText::default();
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 {
                text.push(separator)?;
            }
            text.push(piece.as_ref())?;
        }
        Ok(text.finish())
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

/// The results of one batch so far.
#[derive(Debug, Default)]
pub(super) struct BatchBytes(usize);

impl BatchBytes {
    /// Errors: 54000 for a value that is too long, 53200 when there are too many bytes.
    pub(super) fn add(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Text(text) | Value::Unknown(text) => check_length(text.len())?,
            Value::Bytes(bytes) => check_length(bytes.len())?,
            // The batch bounds arrays.
            _ => {}
        }
        self.add_bytes(bytes_of(value))
    }

    /// Errors: 53200.
    pub(super) fn add_bytes(&mut self, bytes: usize) -> Result<()> {
        self.0 = self.0.saturating_add(bytes);
        match self.0 <= BATCH_BYTES_MAX {
            true => Ok(()),
            false => Err(Error::LimitExceeded {
                state: Limit::Memory,
                message: "out of memory".to_string(),
                hint: format!(
                    "The results of a function for one batch of rows take at most {} MB; ask for shorter values or fewer rows.",
                    BATCH_BYTES_MAX >> 20
                ),
            }),
        }
    }
}

fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Unknown(text) => VALUE_BYTES + text.len(),
        Value::Bytes(bytes) => VALUE_BYTES + bytes.len(),
        Value::Array(items) => VALUE_BYTES + items.iter().map(bytes_of).sum::<usize>(),
        _ => VALUE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_batches_are_bounded() {
        let long = "x".repeat(VALUE_BYTES_MAX / 2);
        assert_eq!(LimitedText::joined(["a", "b"], ", ").as_deref(), Ok("a, b"));
        let refused = LimitedText::joined([&long, &long], ",").unwrap_err();
        assert_eq!(refused.sqlstate(), "54000");
        let (mut batch, value) = (BatchBytes::default(), Value::Text(long));
        let added = (0..100).map(|_| batch.add(&value)).find_map(Result::err);
        assert_eq!(added.map(|error| error.sqlstate()), Some("53200"));
    }
}
