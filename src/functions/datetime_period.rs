//! Periods of time: `date_bin`, which cuts time into bins of one length, and `OVERLAPS`.

use super::argument::{Time, Timestamp, TimestampTz};
use super::{FunctionDef, T};
use crate::types::Interval;
use crate::types::calendar::{MICROS_PER_DAY, in_calendar, is_infinite, out_of_range};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "date_bin",
        &[T::Interval, T::Timestamp, T::Timestamp],
        T::Timestamp,
        |b| b.map3(|length, Timestamp(moment), Timestamp(origin)| bin(length, moment, origin).map(Timestamp)),
    ),
    FunctionDef::new(
        "date_bin",
        &[T::Interval, T::TimestampTz, T::TimestampTz],
        T::TimestampTz,
        |b| {
            b.map3(|length, TimestampTz(moment), TimestampTz(origin)| {
                bin(length, moment, origin).map(TimestampTz)
            })
        },
    ),
    FunctionDef::new("overlaps", &[T::Time; 4], T::Bool, |b| b.map4(overlaps::<Time>)).on_null(),
    FunctionDef::new("overlaps", &[T::Timestamp; 4], T::Bool, |b| {
        b.map4(overlaps::<Timestamp>)
    })
    .on_null(),
    FunctionDef::new("overlaps", &[T::TimestampTz; 4], T::Bool, |b| {
        b.map4(overlaps::<TimestampTz>)
    })
    .on_null(),
];

/// `date_bin(length, moment, origin)`: the start of the moment's bin.
fn bin(length: Interval, moment: i64, origin: i64) -> Result<i64> {
    if is_infinite(moment) {
        return Ok(moment);
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
    let start = moment.checked_sub(since.rem_euclid(length));
    in_calendar(start.ok_or_else(|| out_of_range("timestamp"))?)
}

/// `(start, end) OVERLAPS (start, end)`: each from its earlier end on, up to but without the later one. An end that is
/// NULL leaves open how long the period is.
pub(super) fn overlaps<M: Copy + Ord>(
    start: Option<M>,
    end: Option<M>,
    other_start: Option<M>,
    other_end: Option<M>,
) -> Option<bool> {
    let ((start, end), (other_start, other_end)) = (period(start, end)?, period(other_start, other_end)?);
    if start == other_start {
        return (end.is_some() && other_end.is_some()).then_some(true);
    }
    // Does the later one start before the earlier one ends?
    let (later, earlier_end, later_end) = match start > other_start {
        true => (start, other_end?, end),
        false => (other_start, end?, other_end),
    };
    match later < earlier_end {
        true => Some(true),
        false => later_end.map(|_| false),
    }
}

/// The earlier and the later of two ends, where only the later may be missing.
fn period<M: Copy + Ord>(one: Option<M>, other: Option<M>) -> Option<(M, Option<M>)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.min(other), Some(one.max(other)))),
        (Some(only), None) | (None, Some(only)) => Some((only, None)),
        (None, None) => None,
    }
}
