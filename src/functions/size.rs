//! How long a value may be, and the values of one batch together (`ResultLimits`): a function may make much of little, and
//! an allocator that fails ends the server. `BoundFunction` holds every result to both limits; a function whose result may
//! be longer than a few times its arguments asks before it makes it. Whatever is large is refused, too, when the process has no
//! memory for it: functions of many statements run at the same time.

use std::cell::RefCell;

use crate::error::Limit;
use crate::store::{ACCOUNT_BYTES_SMALL, ProcessBytes, out_of_server_memory};
use crate::types::{ResultLimits, Value};
use crate::{Error, Result};

/// What a value takes beside its text.
const VALUE_BYTES: usize = 16;

/// Called before a value of this length is made. Errors: 54000 when it is too long, 53200 when the process has no memory for it.
pub(super) fn check_length(bytes: usize, limits: ResultLimits) -> Result<()> {
    check_limit(bytes, limits)?;
    check_process(bytes)
}

/// A value stands twice in memory: by itself, and among the results.
const COPIES: usize = 2;

thread_local! {
    /// What the call of a function on this thread was promised of the process's memory.
    static PROMISED: RefCell<ProcessBytes> = RefCell::default();
}

/// Runs a call of a function. When it has ended, its results are the process's like anything else.
pub(super) fn within_memory<T>(call: impl FnOnce() -> T) -> T {
    let result = call();
    drop(PROMISED.take());
    result
}

/// Errors: 53200 when the process has no memory for so many bytes more.
fn check_process(bytes: usize) -> Result<()> {
    let take = || PROMISED.with_borrow_mut(|promised| promised.take(bytes.saturating_mul(COPIES)));
    match bytes < ACCOUNT_BYTES_SMALL || take() {
        true => Ok(()),
        false => Err(out_of_server_memory()),
    }
}

/// Errors: 54000 when a value of this length is too long.
pub(super) fn check_limit(bytes: usize, limits: ResultLimits) -> Result<()> {
    match bytes <= limits.value_bytes_max {
        true => Ok(()),
        false => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: "requested length too large".to_string(),
            hint: format!(
                "A function makes values of at most {} bytes: keyspan.function_value_bytes_max.",
                limits.value_bytes_max
            ),
        }),
    }
}

/// A text that is put together piece by piece.
#[derive(Debug)]
pub(super) struct LimitedText {
    text: String,
    limits: ResultLimits,
}

impl LimitedText {
    pub(super) fn new(limits: ResultLimits) -> LimitedText {
        let text = String::new();
        LimitedText { text, limits }
    }

    /// Errors: 54000 when it would become too long, 53200 when there is no memory for it.
    pub(super) fn push(&mut self, piece: &str) -> Result<()> {
        self.reserve(piece.len())?;
        self.text.push_str(piece);
        Ok(())
    }

    pub(super) fn ends_with(&self, end: char) -> bool {
        self.text.ends_with(end)
    }

    /// Makes room for so many bytes more. Errors: as `push`.
    pub(super) fn reserve(&mut self, bytes: usize) -> Result<()> {
        let length = self.text.len().saturating_add(bytes);
        check_limit(length, self.limits)?;
        if length > self.text.capacity() {
            // Twice as much each time, so that it moves seldom; both stand in memory while it does.
            let doubled = (2 * self.text.capacity()).min(self.limits.value_bytes_max);
            let capacity = length.max(doubled);
            check_process(capacity)?;
            self.text.reserve_exact(capacity - self.text.len());
        }
        Ok(())
    }

    /// So many blanks. Errors: as `push`.
    pub(super) fn push_blanks(&mut self, count: usize) -> Result<()> {
        self.reserve(count)?;
        self.text.extend(std::iter::repeat_n(' ', count));
        Ok(())
    }

    /// The pieces with a separator between them. Errors: as `push`.
    pub(super) fn joined(
        pieces: impl IntoIterator<Item = impl AsRef<str>>,
        separator: &str,
        limits: ResultLimits,
    ) -> Result<String> {
        let mut text = LimitedText::new(limits);
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 {
                text.push(separator)?;
            }
            text.push(piece.as_ref())?;
        }
        Ok(text.finish())
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The results of one batch so far.
#[derive(Debug)]
pub(super) struct BatchBytes {
    bytes: usize,
    /// Of these, so many the process was not asked for.
    unasked: usize,
    limits: ResultLimits,
}

impl BatchBytes {
    pub(super) fn new(limits: ResultLimits) -> BatchBytes {
        BatchBytes {
            bytes: 0,
            unasked: 0,
            limits,
        }
    }

    /// Errors: 54000 for a value that is too long, 53200 when there are too many bytes.
    pub(super) fn add(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Text(text) | Value::Unknown(text) => check_limit(text.len(), self.limits)?,
            Value::Bytes(bytes) => check_limit(bytes.len(), self.limits)?,
            // The batch bounds arrays.
            _ => {}
        }
        self.add_bytes(bytes_of(value))
    }

    /// So many values, whatever they hold beside. Errors: 53200.
    pub(super) fn add_values(&mut self, count: usize) -> Result<()> {
        self.add_bytes(count.saturating_mul(VALUE_BYTES))
    }

    /// Errors: 53200.
    pub(super) fn add_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.unasked = self.unasked.saturating_add(bytes);
        match self.bytes <= self.limits.batch_bytes_max {
            true if self.unasked < ACCOUNT_BYTES_SMALL => Ok(()),
            true => check_process(std::mem::take(&mut self.unasked)),
            false => Err(Error::LimitExceeded {
                state: Limit::Memory,
                message: "out of memory".to_string(),
                hint: format!(
                    "The results of a function for one batch of rows take at most {} bytes (keyspan.function_batch_bytes_max); ask for shorter values or fewer rows.",
                    self.limits.batch_bytes_max
                ),
            }),
        }
    }
}

/// What a copy of a value takes.
pub(super) fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Text(text) | Value::Unknown(text) => VALUE_BYTES + text.len(),
        Value::Bytes(bytes) => VALUE_BYTES + bytes.len(),
        Value::Packed(address) => VALUE_BYTES + address.bytes().len(),
        Value::Array(items) => VALUE_BYTES + items.iter().map(bytes_of).sum::<usize>(),
        Value::Record(items) => VALUE_BYTES + items.iter().map(bytes_of).sum::<usize>(),
        _ => VALUE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_batches_are_bounded() {
        let limits = ResultLimits {
            value_bytes_max: 1_000,
            batch_bytes_max: 10_000,
        };
        let long = "x".repeat(500);
        assert_eq!(
            LimitedText::joined(["a", "b"], ", ", limits).as_deref(),
            Ok("a, b")
        );
        let refused = LimitedText::joined([&long, &long], ",", limits).unwrap_err();
        assert_eq!(refused.sqlstate(), "54000");
        let (mut batch, value) = (BatchBytes::new(limits), Value::Text(long));
        let added = (0..100).map(|_| batch.add(&value)).find_map(Result::err);
        assert_eq!(added.map(|error| error.sqlstate()), Some("53200"));
    }
}
