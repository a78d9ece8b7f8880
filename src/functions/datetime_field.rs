//! Fields of dates, times and intervals (`extract`, `date_part`).

use std::borrow::Cow;

use chrono::{Datelike, NaiveDateTime};

use super::argument::{Date, Time, Timestamp, TimestampTz};
use crate::types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, civil, is_infinite, to_local};
use crate::types::{Interval, Numeric, PackedKind, SqlType, TimeTz, Zone, timestamp_of_date};
use crate::{Error, Result};

/// A field of a date or time.
pub(super) enum Field {
    Whole(i64),
    /// Millionths.
    Micros(i128),
    /// A day, and the microseconds of it that have passed.
    Julian(i64, i64),
    Absent,
    Infinite(bool),
}

/// The ways to write a unit, each list led by the name that it has here.
const UNITS: &[&[&str]] = &[
    &[
        "microseconds",
        "microsecond",
        "us",
        "usec",
        "usecs",
        "usecond",
        "useconds",
    ],
    &[
        "milliseconds",
        "millisecond",
        "ms",
        "msec",
        "msecs",
        "msecond",
        "mseconds",
    ],
    &["second", "seconds", "s", "sec", "secs"],
    &["minute", "minutes", "m", "min", "mins"],
    &["hour", "hours", "h", "hr", "hrs"],
    &["day", "days", "d"],
    &["week", "weeks", "w"],
    &["month", "months", "mon", "mons"],
    &["quarter", "qtr"],
    &["year", "years", "y", "yr", "yrs"],
    &["decade", "decades", "dec", "decs"],
    &["century", "centuries", "c", "cent"],
    &["millennium", "millennia", "millenium", "mil", "mils"],
    &["dow"],
    &["isodow"],
    &["doy"],
    &["isoyear"],
    &["julian", "j", "jd"],
    &["epoch"],
    &["timezone"],
    &["timezone_hour", "timezone_h"],
    &["timezone_minute", "timezone_m"],
];

/// The name of a unit however it is written; what is none, in lower case.
pub(super) fn unit_of(written: &str) -> Cow<'static, str> {
    let is_written = |names: &&&[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(written));
    match UNITS.iter().find(is_written) {
        Some(names) => Cow::Borrowed(names[0]),
        None => Cow::Owned(written.to_lowercase()),
    }
}

pub(super) fn unknown_unit(unit: &str, ty: &SqlType) -> Error {
    Error::InvalidParameter {
        message: format!("unit \"{unit}\" not recognized for type {ty}"),
        hint: None,
    }
}

pub(super) fn unsupported_unit(unit: &str, ty: &SqlType) -> Error {
    Error::DataException {
        state: "0A000",
        message: format!("unit \"{unit}\" not supported for type {ty}"),
    }
}

/// A field as `extract` gives it: milliseconds show three digits, seconds and epochs six.
pub(super) fn numeric(unit: &str, field: Field) -> Result<Option<Numeric>> {
    Ok(Some(match field {
        Field::Whole(number) => Numeric::from_i64(number),
        Field::Micros(number) => {
            let number = Numeric::from_i128(number, 6);
            match unit_of(unit).as_ref() {
                "milliseconds" => number.rescale(3),
                _ => number,
            }
        }
        Field::Julian(day, rest) => {
            let share = Numeric::from_i64(rest).divided_by(&Numeric::from_i64(MICROS_PER_DAY))?;
            Numeric::from_i64(day).plus(&share)?
        }
        Field::Absent => return Ok(None),
        Field::Infinite(true) => Numeric::NegativeInfinity,
        Field::Infinite(false) => Numeric::Infinity,
    }))
}

/// A field as `date_part` gives it.
pub(super) fn double(field: Field) -> Option<f64> {
    match field {
        Field::Whole(number) => Some(number as f64),
        Field::Micros(number) => Some(number as f64 / 1e6),
        Field::Julian(day, rest) => Some(day as f64 + rest as f64 / MICROS_PER_DAY as f64),
        Field::Absent => None,
        Field::Infinite(true) => Some(f64::NEG_INFINITY),
        Field::Infinite(false) => Some(f64::INFINITY),
    }
}

/// A field of a date. Errors, as of the functions below: 22023 for what is no unit, 0A000 for one that the type has not.
pub(super) fn date_field(unit: &str, Date(days): Date) -> Result<Field> {
    let ty = &SqlType::Date;
    if matches!(days, i32::MIN | i32::MAX) {
        // The unit is checked on any date.
        date_field(unit, Date(0))?;
        return Ok(infinite(unit, days < 0));
    }
    match unit_of(unit).as_ref() {
        unit @ ("hour" | "minute" | "second" | "milliseconds" | "microseconds" | "timezone"
        | "timezone_hour" | "timezone_minute") => Err(unsupported_unit(unit, ty)),
        "epoch" => Ok(Field::Whole(i64::from(days) * 86_400)),
        "julian" => Ok(Field::Whole(i64::from(days) + 2_440_588)),
        unit => calendar_field(unit, civil(timestamp_of_date(days)?)?, ty),
    }
}

pub(super) fn timestamp_field(unit: &str, Timestamp(time): Timestamp) -> Result<Field> {
    instant_field(unit, time, time, &SqlType::Timestamp(None))
}

pub(super) fn timestamptz_field(unit: &str, TimestampTz(utc): TimestampTz, zone: Zone) -> Result<Field> {
    if is_infinite(utc) {
        timestamptz_field(unit, TimestampTz(0), zone)?;
        return Ok(infinite(unit, utc < 0));
    }
    let local = to_local(utc, zone)?;
    let offset = (local - utc) / MICROS_PER_SECOND;
    match unit_of(unit).as_ref() {
        "timezone" => Ok(Field::Whole(offset)),
        "timezone_hour" => Ok(Field::Whole(offset / 3600)),
        "timezone_minute" => Ok(Field::Whole(offset % 3600 / 60)),
        unit => instant_field(unit, local, utc, &SqlType::TimestampTz(None)),
    }
}

pub(super) fn time_field(unit: &str, Time(time): Time) -> Result<Field> {
    clock_field(&unit_of(unit), time, &SqlType::Time(None))
}

pub(super) fn time_tz_field(unit: &str, time: TimeTz) -> Result<Field> {
    let offset = i64::from(time.offset);
    match unit_of(unit).as_ref() {
        "timezone" => Ok(Field::Whole(offset)),
        "timezone_hour" => Ok(Field::Whole(offset / 3600)),
        "timezone_minute" => Ok(Field::Whole(offset % 3600 / 60)),
        "epoch" => Ok(Field::Micros(i128::from(time.utc()))),
        unit => clock_field(unit, time.local, &SqlType::Packed(PackedKind::TimeTz(None))),
    }
}

/// A field of an infinite date or time.
fn infinite(unit: &str, negative: bool) -> Field {
    match unit_of(unit).as_ref() {
        "year" | "epoch" | "century" | "decade" | "millennium" | "julian" | "isoyear" => {
            Field::Infinite(negative)
        }
        _ => Field::Absent,
    }
}

/// A field of a moment, which clocks show as `local`.
fn instant_field(unit: &str, local: i64, utc: i64, ty: &SqlType) -> Result<Field> {
    if is_infinite(local) {
        if !matches!(
            unit_of(unit).as_ref(),
            "timezone" | "timezone_hour" | "timezone_minute"
        ) {
            instant_field(unit, 0, 0, ty)?;
        }
        return Ok(infinite(unit, local < 0));
    }
    match unit_of(unit).as_ref() {
        "epoch" => Ok(Field::Micros(i128::from(utc))),
        "julian" => {
            let day = local.div_euclid(MICROS_PER_DAY) + 2_440_588;
            Ok(Field::Julian(day, local.rem_euclid(MICROS_PER_DAY)))
        }
        unit @ ("hour" | "minute" | "second" | "milliseconds" | "microseconds") => {
            clock_field(unit, local.rem_euclid(MICROS_PER_DAY), ty)
        }
        unit => calendar_field(unit, civil(local)?, ty),
    }
}

/// A field of a time of the day, by the unit's own name.
fn clock_field(unit: &str, time: i64, ty: &SqlType) -> Result<Field> {
    let minute_rest = time % (60 * MICROS_PER_SECOND);
    Ok(match unit {
        "hour" => Field::Whole(time / (3600 * MICROS_PER_SECOND)),
        "minute" => Field::Whole(time / (60 * MICROS_PER_SECOND) % 60),
        "second" => Field::Micros(i128::from(minute_rest)),
        "milliseconds" => Field::Micros(i128::from(minute_rest) * 1_000),
        "microseconds" => Field::Whole(minute_rest),
        "epoch" => Field::Micros(i128::from(time)),
        "day" | "month" | "year" | "week" | "quarter" | "decade" | "century" | "millennium" | "dow"
        | "isodow" | "doy" | "isoyear" | "julian" | "timezone" | "timezone_hour" | "timezone_minute" => {
            return Err(unsupported_unit(unit, ty));
        }
        _ => return Err(unknown_unit(unit, ty)),
    })
}

/// A field of a day, by the unit's own name.
fn calendar_field(unit: &str, date: NaiveDateTime, ty: &SqlType) -> Result<Field> {
    let year = i64::from(date.year());
    // There is no year 0: 1 BC comes before 1.
    let shown = if year > 0 { year } else { year - 1 };
    Ok(Field::Whole(match unit {
        "year" => shown,
        "month" => i64::from(date.month()),
        "day" => i64::from(date.day()),
        "quarter" => i64::from(date.month0() / 3 + 1),
        "week" => i64::from(date.iso_week().week()),
        "isoyear" => {
            let year = i64::from(date.iso_week().year());
            if year > 0 { year } else { year - 1 }
        }
        "dow" => i64::from(date.weekday().num_days_from_sunday()),
        "isodow" => i64::from(date.weekday().number_from_monday()),
        "doy" => i64::from(date.ordinal()),
        "decade" => year.div_euclid(10),
        "century" => {
            if year > 0 {
                (year + 99) / 100
            } else {
                -((99 - (year - 1)) / 100)
            }
        }
        "millennium" => {
            if year > 0 {
                (year + 999) / 1000
            } else {
                -((999 - (year - 1)) / 1000)
            }
        }
        "timezone" | "timezone_hour" | "timezone_minute" => return Err(unsupported_unit(unit, ty)),
        _ => return Err(unknown_unit(unit, ty)),
    }))
}

pub(super) fn interval_field(unit: &str, interval: Interval) -> Result<Field> {
    let ty = &SqlType::Interval(None);
    let unit = unit_of(unit);
    let unit = unit.as_ref();
    let years = i64::from(interval.months / 12);
    Ok(Field::Whole(match unit {
        "year" => years,
        "month" => i64::from(interval.months % 12),
        "quarter" => i64::from(interval.months % 12 / 3 + 1),
        "decade" => years / 10,
        "century" => years / 100,
        "millennium" => years / 1000,
        "day" => i64::from(interval.days),
        "hour" => interval.microseconds / (3600 * MICROS_PER_SECOND),
        "minute" | "second" | "milliseconds" | "microseconds" => {
            return clock_field(unit, interval.microseconds % (3600 * MICROS_PER_SECOND), ty);
        }
        "epoch" => return Ok(Field::Micros(interval.epoch())),
        "week" | "dow" | "isodow" | "doy" | "isoyear" | "julian" | "timezone" => {
            return Err(unsupported_unit(unit, ty));
        }
        _ => return Err(unknown_unit(unit, ty)),
    }))
}
