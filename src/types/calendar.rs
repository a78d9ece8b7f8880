//! Moments as numbers: microseconds since 1970 to civil time and back, and into time zones. The date and time functions
//! count with it.

use chrono::{DateTime, NaiveDateTime};

use crate::types::Zone;
use crate::{Error, Result};

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
pub(crate) const DAYS_TO_EPOCH_CE: i64 = 719_163;
/// The first date that PostgreSQL has, 4714-11-24 BC, where Julian days begin, in days since 1970.
pub(crate) const FIRST_DAY: i64 = -2_440_588;

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
    match micros >= FIRST_DAY * MICROS_PER_DAY {
        true => Ok(micros),
        false => Err(out_of_range("timestamp")),
    }
}

/// Whether a timestamp is `infinity` or `-infinity`.
pub(crate) fn is_infinite(micros: i64) -> bool {
    matches!(micros, i64::MIN | i64::MAX)
}

/// What the zone's clocks show at an instant.
pub(crate) fn to_local(utc: i64, zone: Zone) -> Result<i64> {
    zone.utc_to_local(utc).ok_or_else(|| out_of_range("timestamp"))
}

/// The instant at which the zone's clocks show this.
pub(crate) fn from_local(local: i64, zone: Zone) -> Result<i64> {
    zone.local_to_utc(local).ok_or_else(|| out_of_range("timestamp"))
}
