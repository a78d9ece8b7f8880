//! Moments of the past as values say them: a time stamp, an interval before now, nanoseconds since 1970, or a text of one of these.
//! Called by `past` for constants as they are bound, and by `plan` for what only a run tells.

use crate::catalog::{Moment, WantedVersions};
use crate::error::StatementFault;
use crate::tree::Expr;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// Words of time stamps that mean another each day.
const PASSING_WORDS: [&str; 4] = ["today", "tomorrow", "yesterday", "now"];

/// What of a table's versions is read, and the moments of it that only a run tells.
#[derive(Debug, Clone)]
pub(super) struct Past {
    /// What is read.
    pub(super) wanted: WantedVersions,
    /// `Moment::Open` counts them.
    pub(super) open: Vec<Expr>,
}

/// The moment that a value says. Errors: 22007 for a text that is none, 22023 for NULL, 22008 for one that is too far away, 42804.
pub(super) fn moment_of(value: &Value, settings: &FormatSettings) -> Result<Moment> {
    match value {
        Value::Unknown(text) | Value::Text(text) => moment_of_text(text, settings),
        Value::Interval(interval) => before_now(-interval.epoch()),
        Value::TimestampTz(moment) => Ok(Moment::At(*moment)),
        // As CockroachDB has it: nanoseconds since 1970.
        Value::Int(nanos) => Ok(Moment::At(nanos.div_euclid(1000))),
        Value::Null => Err(Error::InvalidParameter {
            message: "a moment of the past must not be null".to_string(),
            hint: Some("Name a moment that is past, or an interval before now: '-10m'.".to_string()),
        }),
        _ => Err(mistyped(&value.natural_type())),
    }
}

/// So long before now. Errors: 22008.
pub(super) fn before_now(micros: i128) -> Result<Moment> {
    i64::try_from(micros)
        .map(Moment::Before)
        .map_err(|_| Error::InvalidStatement {
            state: StatementFault::DatetimeOverflow,
            message: "interval out of range".to_string(),
            hint: None,
        })
}

/// Whether a text means another moment on another day, so that only a run tells it.
pub(super) fn is_passing(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    text != "now" && PASSING_WORDS.iter().any(|word| text.contains(word))
}

/// 42804.
pub(super) fn mistyped(ty: &SqlType) -> Error {
    Error::DatatypeMismatch {
        message: format!(
            "a moment of the past must be of type timestamp with time zone or interval, not type {}",
            ty.base_name()
        ),
        hint: Some("Write a time stamp, or an interval before now as in '-10m'.".to_string()),
    }
}

/// A time stamp, or an interval before now.
fn moment_of_text(text: &str, settings: &FormatSettings) -> Result<Moment> {
    let trimmed = text.trim();
    if trimmed.eq_ignore_ascii_case("now") {
        return Ok(Moment::Before(0));
    }
    if trimmed.starts_with('-')
        && let Ok(Value::Interval(interval)) = Value::parse(trimmed, &SqlType::Interval(None), settings)
    {
        return before_now(-interval.epoch());
    }
    match Value::parse(trimmed, &SqlType::TimestampTz(None), settings)? {
        Value::TimestampTz(moment) => Ok(Moment::At(moment)),
        value => Err(mistyped(&value.natural_type())),
    }
}
