//! Dates, times and intervals cut to a unit (`date_trunc`).

use chrono::{Datelike, NaiveDate};

use super::argument::{Timestamp, TimestampTz};
use super::datetime_field::{unit_of, unknown_unit, unsupported_unit};
use crate::Result;
use crate::types::calendar::{
    DAYS_TO_EPOCH_CE, MICROS_PER_DAY, MICROS_PER_SECOND, civil, in_calendar, is_infinite, out_of_range,
};
use crate::types::{Interval, SqlType};

/// Errors, as of the functions below: 22023 for what is no unit, 0A000 for one that nothing is cut to.
pub(super) fn truncate_local(unit: &str, Timestamp(time): Timestamp) -> Result<Timestamp> {
    match is_infinite(time) {
        true => Ok(Timestamp(time)),
        false => truncate_civil(&unit_of(unit), time, &SqlType::Timestamp(None))
            .and_then(in_calendar)
            .map(Timestamp),
    }
}

/// By the clocks of a zone, which `to_local` and `to_utc` know.
pub(super) fn truncate_utc(
    unit: &str,
    TimestampTz(time): TimestampTz,
    to_local: impl Fn(i64) -> Result<i64>,
    to_utc: impl Fn(i64) -> Result<i64>,
) -> Result<TimestampTz> {
    match is_infinite(time) {
        true => Ok(TimestampTz(time)),
        false => {
            let (unit, local) = (unit_of(unit), to_local(time)?);
            let truncated = truncate_civil(&unit, local, &SqlType::TimestampTz(None))?;
            // Within a day the clocks stay as far from UTC as they are: of an hour that comes twice it is the same one.
            match unit.as_ref() {
                "hour" | "minute" | "second" | "milliseconds" | "microseconds" => {
                    in_calendar(time - (local - truncated)).map(TimestampTz)
                }
                _ => to_utc(truncated).and_then(in_calendar).map(TimestampTz),
            }
        }
    }
}

fn truncate_civil(unit: &str, time: i64, ty: &SqlType) -> Result<i64> {
    let to_multiple = |step: i64| Ok(time - time.rem_euclid(step));
    let date = civil(time)?;
    let first_of = |year: i64, month: u32| -> Result<i64> {
        let year = i32::try_from(year).map_err(|_| out_of_range("timestamp"))?;
        let first = NaiveDate::from_ymd_opt(year, month, 1).ok_or_else(|| out_of_range("timestamp"))?;
        Ok((i64::from(first.num_days_from_ce()) - DAYS_TO_EPOCH_CE) * MICROS_PER_DAY)
    };
    let year = i64::from(date.year());
    match unit {
        "microseconds" => Ok(time),
        "milliseconds" => to_multiple(1_000),
        "second" => to_multiple(MICROS_PER_SECOND),
        "minute" => to_multiple(60 * MICROS_PER_SECOND),
        "hour" => to_multiple(3600 * MICROS_PER_SECOND),
        "day" => to_multiple(MICROS_PER_DAY),
        "week" => {
            let back = i64::from(date.weekday().num_days_from_monday());
            Ok(time - time.rem_euclid(MICROS_PER_DAY) - back * MICROS_PER_DAY)
        }
        "month" => first_of(year, date.month()),
        "quarter" => first_of(year, date.month0() / 3 * 3 + 1),
        "year" => first_of(year, 1),
        "decade" => first_of(year.div_euclid(10) * 10, 1),
        "century" => first_of((year - 1).div_euclid(100) * 100 + 1, 1),
        "millennium" => first_of((year - 1).div_euclid(1000) * 1000 + 1, 1),
        "timezone" | "timezone_hour" | "timezone_minute" => Err(unsupported_unit(unit, ty)),
        _ => Err(unknown_unit(unit, ty)),
    }
}

pub(super) fn truncate_interval(unit: &str, interval: Interval) -> Result<Interval> {
    let ty = &SqlType::Interval(None);
    let unit = unit_of(unit);
    let months = |step: i32| Interval {
        months: interval.months - interval.months % step,
        days: 0,
        microseconds: 0,
    };
    let micros = |step: i64| Interval {
        microseconds: interval.microseconds - interval.microseconds % step,
        ..interval
    };
    Ok(match unit.as_ref() {
        "millennium" => months(12_000),
        "century" => months(1_200),
        "decade" => months(120),
        "year" => months(12),
        "quarter" => months(3),
        "month" => months(1),
        "day" => Interval {
            microseconds: 0,
            ..interval
        },
        "hour" => micros(3600 * MICROS_PER_SECOND),
        "minute" => micros(60 * MICROS_PER_SECOND),
        "second" => micros(MICROS_PER_SECOND),
        "milliseconds" => micros(1_000),
        "microseconds" => interval,
        "week" | "timezone" | "timezone_hour" | "timezone_minute" => {
            return Err(unsupported_unit(&unit, ty));
        }
        _ => return Err(unknown_unit(&unit, ty)),
    })
}
