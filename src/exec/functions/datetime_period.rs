//! Periods of time: `date_bin`, which cuts time into bins of one length, and `OVERLAPS`.

use super::calendar::{MICROS_PER_DAY, is_infinite, out_of_range};
use super::{Call, FunctionDef, T, mismatched_types};
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row(
        "date_bin",
        &[T::Interval, T::Timestamp, T::Timestamp],
        T::Timestamp,
        bin,
    ),
    FunctionDef::row(
        "date_bin",
        &[T::Interval, T::TimestampTz, T::TimestampTz],
        T::TimestampTz,
        bin,
    ),
    FunctionDef::row("overlaps", &[T::Time; 4], T::Bool, overlaps).on_null(),
    FunctionDef::row("overlaps", &[T::Timestamp; 4], T::Bool, overlaps).on_null(),
    FunctionDef::row("overlaps", &[T::TimestampTz; 4], T::Bool, overlaps).on_null(),
];

/// `date_bin(length, moment, origin)`: the start of the moment's bin.
fn bin(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Interval(length) = &arguments[0] else {
        return Err(mismatched_types());
    };
    let (Some(moment), Some(origin)) = (micros(&arguments[1])?, micros(&arguments[2])?) else {
        return Err(mismatched_types());
    };
    if is_infinite(moment) {
        return Ok(arguments[1].clone());
    }
    if is_infinite(origin) {
        return Err(out_of_range("origin"));
    }
    if length.months != 0 {
        return Err(Error::DataException {
            state: "0A000",
            message: "timestamps cannot be binned into intervals containing months or years".to_string(),
        });
    }
    let length = i64::from(length.days)
        .checked_mul(MICROS_PER_DAY)
        .and_then(|days| days.checked_add(length.microseconds))
        .ok_or_else(|| out_of_range("interval"))?;
    if length <= 0 {
        return Err(Error::DatetimeOverflow {
            message: "stride must be greater than zero".to_string(),
        });
    }
    let since = moment
        .checked_sub(origin)
        .ok_or_else(|| out_of_range("interval"))?;
    let start = moment
        .checked_sub(since.rem_euclid(length))
        .ok_or_else(|| out_of_range("timestamp"))?;
    Ok(match arguments[1] {
        Value::TimestampTz(_) => Value::TimestampTz(start),
        _ => Value::Timestamp(start),
    })
}

/// `(start, end) OVERLAPS (start, end)`: each from its earlier end on, up to but without the later one. An end that is
/// NULL leaves open how long the period is.
fn overlaps(arguments: &[Value], _: &Call) -> Result<Value> {
    let ends = arguments.iter().map(micros).collect::<Result<Vec<_>>>()?;
    let (Some((start, end)), Some((other_start, other_end))) =
        (period(ends[0], ends[1]), period(ends[2], ends[3]))
    else {
        return Ok(Value::Null);
    };
    if start == other_start {
        let both = end.is_some() && other_end.is_some();
        return Ok(if both { Value::Bool(true) } else { Value::Null });
    }
    // Does the later one start before the earlier one ends?
    let (later, earlier_end, later_end) = match start > other_start {
        true => (start, other_end, end),
        false => (other_start, end, other_end),
    };
    Ok(match (earlier_end, later_end) {
        (None, _) => Value::Null,
        (Some(earlier_end), _) if later < earlier_end => Value::Bool(true),
        (Some(_), None) => Value::Null,
        (Some(_), Some(_)) => Value::Bool(false),
    })
}

/// The earlier and the later of two ends, where only the later may be missing.
fn period(one: Option<i64>, other: Option<i64>) -> Option<(i64, Option<i64>)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.min(other), Some(one.max(other)))),
        (Some(only), None) | (None, Some(only)) => Some((only, None)),
        (None, None) => None,
    }
}

/// A moment as a number; `None` for NULL.
fn micros(value: &Value) -> Result<Option<i64>> {
    match value {
        Value::Null => Ok(None),
        Value::Time(micros) | Value::Timestamp(micros) | Value::TimestampTz(micros) => Ok(Some(*micros)),
        _ => Err(mismatched_types()),
    }
}
