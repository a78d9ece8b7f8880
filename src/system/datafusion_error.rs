//! DataFusion's errors into ours and back: an `Error` travels through DataFusion as an external error and comes out
//! unchanged, however deeply it was wrapped; DataFusion's own errors take PostgreSQL's SQLSTATE where they have one.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use datafusion_common::DataFusionError;
use datafusion_execution::SendableRecordBatchStream;
use futures::StreamExt;
use futures::stream::{self, BoxStream, CatchUnwind};

use crate::error::Limit;
use crate::store::out_of_server_memory;
use crate::{Error, Result};

/// How DataFusion's error begins when the server has no memory left, not the statement.
pub(crate) const SERVER_EXHAUSTED: &str = "all statements together";

/// What DataFusion says when temporary files are as large as they may be; Arrow's writer makes an error of its own of it.
const TEMPORARY_FILES_EXCEEDED: &str = "max_temp_directory_size";

/// What it says so to those who write such files themselves.
const TEMPORARY_FILES_LIMIT: &str = "exceeded the allowable limit";

/// Carries one of our errors through DataFusion.
pub fn to_datafusion(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// What a DataFusion error means to the client.
pub fn from_datafusion(error: DataFusionError) -> Error {
    read_datafusion(&error)
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> DataFusionError {
        to_datafusion(error)
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Error {
        from_datafusion(error)
    }
}

/// The rows of a plan, with errors of ours; a panic in it is the statement's error alone. An error is the end: operators are not asked
/// again after theirs, when what they keep is half done.
pub fn batches_of(rows: SendableRecordBatchStream) -> BoxStream<'static, Result<RecordBatch>> {
    let rows = AssertUnwindSafe(rows).catch_unwind();
    let next = |mut rows: CatchUnwind<AssertUnwindSafe<SendableRecordBatchStream>>| async move {
        match rows.next().await {
            Some(Ok(batch)) => Ok(Some((batch.map_err(from_datafusion)?, rows))),
            Some(Err(panic)) => Err(from_panic(&*panic)),
            None => Ok(None),
        }
    };
    stream::try_unfold(rows, next).boxed()
}

fn read_datafusion(error: &DataFusionError) -> Error {
    match error {
        DataFusionError::External(inner) => read_external(inner.as_ref()),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => read_datafusion(inner),
        DataFusionError::Shared(inner) => read_datafusion(inner),
        DataFusionError::Collection(errors) => match errors.first() {
            Some(first) => read_datafusion(first),
            None => Error::internal("an error without a cause"),
        },
        DataFusionError::ArrowError(inner, _) => from_arrow(inner),
        DataFusionError::ResourcesExhausted(message) => out_of_memory(message),
        DataFusionError::NotImplemented(message) => Error::unsupported(first_line(message), None),
        DataFusionError::IoError(inner) => Error::Io {
            action: "could not write a temporary file".to_string(),
            reason: inner.to_string(),
        },
        DataFusionError::Execution(message) => read_execution(message),
        DataFusionError::Plan(message) => read_plan(message),
        DataFusionError::Internal(message) if message.contains("async functions") => Error::unsupported(
            "a function that waits in this place",
            Some("Call it in the select list of a query."),
        ),
        other => Error::internal(first_line(&other.to_string()).to_string()),
    }
}

/// What the error of a write to a temporary file means to the client: 53100 where there is no room, or the files are as large as they
/// may be, else 58030.
pub(crate) fn from_temporary_file(error: &std::io::Error) -> Error {
    let text = error.to_string();
    if text.contains(TEMPORARY_FILES_LIMIT) {
        return out_of_memory(TEMPORARY_FILES_EXCEEDED);
    }
    if error.kind() == std::io::ErrorKind::StorageFull {
        return Error::DiskFull {
            free_bytes: 0,
            reserve_bytes: 0,
        };
    }
    Error::Io {
        action: "could not write a temporary file".to_string(),
        reason: text,
    }
}

/// What an Arrow kernel's error means to the client.
pub fn from_arrow(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) => read_external(inner.as_ref()),
        ArrowError::DivideByZero => Error::DivisionByZero,
        ArrowError::OffsetOverflowError(_) => batch_too_large(),
        ArrowError::ArithmeticOverflow(_) => Error::NumericOutOfRange {
            message: "value out of range".to_string(),
            detail: None,
        },
        other => {
            let text = other.to_string();
            match text.contains(TEMPORARY_FILES_EXCEEDED) {
                true => out_of_memory(&text),
                false => Error::internal(first_line(&text).to_string()),
            }
        }
    }
}

fn read_external(inner: &(dyn std::error::Error + Send + Sync + 'static)) -> Error {
    if let Some(ours) = inner.downcast_ref::<Error>() {
        return ours.clone();
    }
    if let Some(datafusion) = inner.downcast_ref::<DataFusionError>() {
        return read_datafusion(datafusion);
    }
    if let Some(arrow) = inner.downcast_ref::<ArrowError>() {
        return from_arrow(arrow);
    }
    Error::internal(first_line(&inner.to_string()).to_string())
}

/// Messages of planning that concern what a parameter was given.
fn read_plan(message: &str) -> Error {
    let negative = |state, clause| Error::DataException {
        state,
        message: format!("{clause} must not be negative"),
    };
    if message.starts_with("LIMIT must be >=") {
        return negative("2201W", "LIMIT");
    }
    if message.starts_with("OFFSET must be >=") {
        return negative("2201X", "OFFSET");
    }
    Error::internal(first_line(message).to_string())
}

/// Messages of operators that raise errors PostgreSQL has a state for.
fn read_execution(message: &str) -> Error {
    if message.contains("more than one row") || message.contains("returned more than") {
        return Error::CardinalityViolation;
    }
    if message.contains("verflow") {
        return Error::NumericOutOfRange {
            message: "value out of range".to_string(),
            detail: None,
        };
    }
    Error::internal(first_line(message).to_string())
}

fn out_of_memory(message: &str) -> Error {
    if message.contains("disk") || message.contains(TEMPORARY_FILES_EXCEEDED) {
        return Error::LimitExceeded {
            state: Limit::Disk,
            message: "temporary file size exceeds its limit".to_string(),
            hint: "Raise temp_file_limit if it is set, select fewer rows or columns, or add a condition on the key.".to_string(),
        };
    }
    match message.contains(SERVER_EXHAUSTED) {
        true => out_of_server_memory(),
        false => query_memory_exceeded(),
    }
}

/// What a panic in a plan means to the client: that of a batch whose texts are beyond Arrow's offsets is no bug of ours.
pub fn from_panic(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    match text.is_some_and(|text| text.contains("offset overflow")) {
        true => batch_too_large(),
        false => Error::internal("the query engine failed; the server's log says where"),
    }
}

/// 53200: the rows that are computed at once are more than 2 GiB of text.
fn batch_too_large() -> Error {
    Error::LimitExceeded {
        state: Limit::Memory,
        message: "out of memory".to_string(),
        hint:
            "Rows that are computed at once take more than 2 GiB: ask for shorter values, or for fewer rows."
                .to_string(),
    }
}

/// 53200: what a statement holds in memory is more than it may.
pub(crate) fn query_memory_exceeded() -> Error {
    Error::LimitExceeded {
        state: Limit::Memory,
        message: "out of memory".to_string(),
        hint: "Raise keyspan.query_memory_bytes_max, or select fewer rows, columns or groups.".to_string(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_errors_survive_every_wrapping() {
        let ours = Error::DivisionByZero;
        let wrapped = DataFusionError::Context(
            "while planning".to_string(),
            Box::new(DataFusionError::Shared(std::sync::Arc::new(
                DataFusionError::ArrowError(
                    Box::new(ArrowError::ExternalError(Box::new(to_datafusion(ours.clone())))),
                    None,
                ),
            ))),
        );
        assert_eq!(from_datafusion(wrapped), ours);
    }

    #[test]
    fn a_batch_beyond_arrows_offsets_is_53200() {
        let caught = |lengths: Vec<usize>| {
            std::panic::catch_unwind(|| arrow::buffer::OffsetBuffer::<i32>::from_lengths(lengths))
                .map_err(|panic| from_panic(&*panic).sqlstate())
                .err()
        };
        assert_eq!(caught(vec![1 << 30, 1 << 30]), Some("53200"));
        assert_eq!(caught(vec![1, 2]), None);
        assert_eq!(from_panic(&"other").sqlstate(), "XX000");
        let error = ArrowError::OffsetOverflowError(1 << 31);
        assert_eq!(from_arrow(&error).sqlstate(), "53200");
    }

    #[test]
    fn exhausted_memory_is_53200() {
        let error = from_datafusion(DataFusionError::ResourcesExhausted("sort".to_string()));
        assert_eq!(error.sqlstate(), "53200");
        assert!(
            error
                .hint()
                .expect("it has a hint")
                .contains("keyspan.query_memory_bytes_max")
        );
    }
}
