//! Moments as numbers: microseconds since 1970 to civil time and back, and into time zones. The date and time functions
//! count with it.

use chrono::{DateTime, Duration, NaiveDateTime, TimeZone};
use chrono_tz::Tz;

use crate::{Error, Result};

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
pub(super) const DAYS_TO_EPOCH_CE: i64 = 719_163;

/// A bug of ours: the table of functions and a function do not agree on its types.
pub(super) fn wrong() -> Error {
    Error::internal("a date function of other types")
}

/// 22008.
pub(super) fn out_of_range(what: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range"),
    }
}

/// The calendar date and clock time of microseconds since 1970.
pub(super) fn civil(micros: i64) -> Result<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros)
        .map(|time| time.naive_utc())
        .ok_or_else(|| out_of_range("timestamp"))
}

/// The other way round.
pub(super) fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

/// The beginning of a day as a timestamp. Errors: 22008 for days that timestamps do not reach.
pub(super) fn midnight(days: i32) -> Result<i64> {
    i64::from(days)
        .checked_mul(MICROS_PER_DAY)
        .ok_or_else(|| out_of_range("date"))
}

/// What the zone's clocks show at an instant.
pub(super) fn to_local(utc: i64, zone: Tz) -> Result<i64> {
    let instant = civil(utc)?;
    Ok(micros_of(zone.from_utc_datetime(&instant).naive_local()))
}

/// The instant at which the zone's clocks show this; a gap takes the offset before it, an overlap the later offset.
pub(super) fn from_local(local: i64, zone: Tz) -> Result<i64> {
    let clock = civil(local)?;
    match zone.from_local_datetime(&clock) {
        chrono::LocalResult::Single(time) => Ok(time.timestamp_micros()),
        chrono::LocalResult::Ambiguous(_, later) => Ok(later.timestamp_micros()),
        chrono::LocalResult::None => {
            let before = zone.from_local_datetime(&(clock - Duration::hours(3)));
            let offset = before.latest().map_or(0, |time| {
                use chrono::Offset;
                i64::from(time.offset().fix().local_minus_utc())
            });
            Ok(local - offset * MICROS_PER_SECOND)
        }
    }
}
