//! Moments as numbers: microseconds since 1970 to civil time and back, and into time zones. The date and time functions
//! count with it.

use chrono::{DateTime, NaiveDateTime};
use chrono_tz::Tz;

use crate::types::{local_to_utc, utc_to_local};
use crate::{Error, Result};

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
pub(crate) const DAYS_TO_EPOCH_CE: i64 = 719_163;

/// 22008.
pub(crate) fn out_of_range(what: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range"),
    }
}

/// The calendar date and clock time of microseconds since 1970.
pub(crate) fn civil(micros: i64) -> Result<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros)
        .map(|time| time.naive_utc())
        .ok_or_else(|| out_of_range("timestamp"))
}

/// The other way round.
pub(crate) fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

/// Errors: 22008 for a timestamp before PostgreSQL's first, 4714-11-24 BC.
pub(crate) fn in_calendar(micros: i64) -> Result<i64> {
    match micros >= -210_866_803_200_000_000 {
        true => Ok(micros),
        false => Err(out_of_range("timestamp")),
    }
}

/// Whether a timestamp is `infinity` or `-infinity`.
pub(crate) fn is_infinite(micros: i64) -> bool {
    matches!(micros, i64::MIN | i64::MAX)
}

/// What the zone's clocks show at an instant.
pub(crate) fn to_local(utc: i64, zone: Tz) -> Result<i64> {
    utc_to_local(zone, utc).ok_or_else(|| out_of_range("timestamp"))
}

/// The instant at which the zone's clocks show this.
pub(crate) fn from_local(local: i64, zone: Tz) -> Result<i64> {
    local_to_utc(zone, local).ok_or_else(|| out_of_range("timestamp"))
}

/// Seconds east of UTC of a zone written as POSIX does: `UTC+3` and `+03:00` are west of Greenwich, `<+03>-3` is east.
pub(crate) fn posix_offset(text: &str) -> Option<i64> {
    let offset = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    iso_offset(offset).map(|seconds| -seconds)
}

/// Seconds east of UTC of `+3`, `-02:30` or `+01:02:03`.
fn iso_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+')?),
    };
    let mut seconds = 0;
    let mut unit = 3600;
    for part in digits.split(':') {
        let is_number = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || unit == 0 {
            return None;
        }
        seconds += part.parse::<i64>().ok()? * unit;
        unit /= 60;
    }
    (seconds < 168 * 3600).then_some(sign * seconds)
}
