//! Dates and times made of parts: `make_date` and its like, `to_timestamp` of seconds, `timezone`.

use chrono::{Datelike, NaiveDate};

use super::argument::{Date, Time, TimestampTz};
use super::mismatched_types;
use crate::types::calendar::{
    DAYS_TO_EPOCH_CE, FIRST_DAY, MICROS_PER_DAY, MICROS_PER_SECOND, from_local, in_calendar, is_infinite,
    out_of_range, to_local,
};
use crate::types::{DatetimeFault, FormatSettings, Interval, Value, Zone, abbreviated_zone, read_offset};
use crate::{Error, Result};

/// Days since 1970 of a date. Errors: 22008 for one that no calendar has.
fn days_of(year: i32, month: i32, day: i32) -> Result<i32> {
    // Negative years are BC.
    let civil_year = match year {
        // It stays what it is, as in PostgreSQL.
        i32::MIN => year,
        year if year < 0 => year + 1,
        year => year,
    };
    let (month_of_year, day_of_month) = (u32::try_from(month).unwrap_or(0), u32::try_from(day).unwrap_or(0));
    let date = NaiveDate::from_ymd_opt(civil_year, month_of_year, day_of_month).filter(|_| year != 0);
    let date = date.ok_or_else(|| Error::DatetimeOverflow {
        message: format!("date field value out of range: {civil_year}-{month:02}-{day:02}"),
    })?;
    let days = i64::from(date.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
    i32::try_from(days).map_err(|_| out_of_range("date"))
}

pub(super) fn make_date(year: i32, month: i32, day: i32) -> Result<Date> {
    let days = days_of(year, month, day)?;
    match i64::from(days) >= FIRST_DAY {
        true => Ok(Date(days)),
        false => Err(Error::DatetimeOverflow {
            message: format!("date out of range: {}-{month:02}-{day:02}", year + 1),
        }),
    }
}

pub(super) fn make_time(hour: i32, minute: i32, second: f64) -> Result<Time> {
    clock_of(hour, minute, second).map(Time)
}

/// Microseconds of the day. Errors: 22008 for a time that no clock shows.
fn clock_of(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(&second);
    let micros = || {
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60;
        seconds * MICROS_PER_SECOND + (second * 1e6).round() as i64
    };
    match valid.then(micros).filter(|micros| *micros <= MICROS_PER_DAY) {
        Some(micros) => Ok(micros),
        None => Err(Error::DatetimeOverflow {
            message: format!("time field value out of range: {hour}:{minute:02}:{second:02}"),
        }),
    }
}

fn narrow(number: i64) -> Result<i32> {
    i32::try_from(number).map_err(|_| mismatched_types())
}

/// What clocks show at a year, month, day, hour, minute and second.
pub(super) fn local_of_parts(parts: &[Value]) -> Result<i64> {
    let &[
        Value::Int(year),
        Value::Int(month),
        Value::Int(day),
        Value::Int(hour),
        Value::Int(minute),
        Value::Float8(second),
        ..,
    ] = parts
    else {
        return Err(mismatched_types());
    };
    let days = days_of(narrow(year)?, narrow(month)?, narrow(day)?)?;
    let clock = clock_of(narrow(hour)?, narrow(minute)?, second)?;
    let local = in_calendar(i64::from(days) * MICROS_PER_DAY + clock);
    local.map_err(|_| Error::DatetimeOverflow {
        message: format!("timestamp out of range: {year}-{month:02}-{day:02} {hour}:{minute:02}:{second:02}"),
    })
}

/// The instant at which the clocks of the zone behind the parts show them.
pub(super) fn utc_of_parts(parts: &[Value]) -> Result<i64> {
    let local = local_of_parts(parts)?;
    let Some(Value::Text(zone)) = parts.last() else {
        return Err(mismatched_types());
    };
    match read_offset(zone) {
        // An offset counts as ISO 8601 does here: east is positive.
        Ok(seconds) => local
            .checked_sub(i64::from(seconds) * MICROS_PER_SECOND)
            .ok_or_else(|| out_of_range("timestamp"))
            .and_then(in_calendar),
        Err(DatetimeFault::OffsetOverflow) => Err(Error::InvalidParameter {
            message: format!("numeric time zone \"{zone}\" out of range"),
            hint: None,
        }),
        Err(_) if zone.starts_with(|first: char| first.is_ascii_digit()) => Err(Error::InvalidParameter {
            message: format!("invalid input syntax for type numeric time zone: \"{zone}\""),
            hint: Some("Numeric time zones must have \"-\" or \"+\" as first character.".to_string()),
        }),
        Err(_) => at_time_zone(zone, local, -1),
    }
}

/// An interval of so many years, months, weeks, days, hours, minutes and seconds; the last ones may be left out.
pub(super) fn make_interval(parts: &[Value]) -> Result<Interval> {
    let whole = |place: usize| match parts.get(place) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    };
    let seconds = match parts.get(6) {
        Some(Value::Float8(seconds)) => (seconds * 1e6).round_ties_even(),
        _ => 0.0,
    };
    let overflow = || out_of_range("interval");
    if seconds.is_nan() || seconds.abs() > 9.2e18 {
        return Err(overflow());
    }
    let clock = (whole(4) * 3600 + whole(5) * 60) * MICROS_PER_SECOND;
    Ok(Interval {
        months: i32::try_from(whole(0) * 12 + whole(1)).map_err(|_| overflow())?,
        days: i32::try_from(whole(2) * 7 + whole(3)).map_err(|_| overflow())?,
        microseconds: clock.checked_add(seconds as i64).ok_or_else(overflow)?,
    })
}

pub(super) fn from_seconds(seconds: f64) -> Result<TimestampTz> {
    if seconds.is_infinite() {
        return Ok(TimestampTz(if seconds > 0.0 { i64::MAX } else { i64::MIN }));
    }
    if seconds.is_nan() {
        return Err(Error::DatetimeOverflow {
            message: "timestamp cannot be NaN".to_string(),
        });
    }
    let micros = (seconds * 1e6).round_ties_even();
    match micros.abs() > 9.2e18 {
        true => Err(Error::DatetimeOverflow {
            message: format!("timestamp out of range: \"{seconds}\""),
        }),
        false => in_calendar(micros as i64).map(TimestampTz),
    }
}

/// From UTC to the named zone's clocks (`direction` 1) or back (-1).
pub(super) fn at_time_zone(name: &str, time: i64, direction: i64) -> Result<i64> {
    if is_infinite(time) {
        return Ok(time);
    }
    let zone = abbreviated_zone(&name.to_ascii_lowercase()).or_else(|| Zone::of_name(name));
    let unknown = || Error::InvalidParameter {
        message: format!("time zone \"{name}\" not recognized"),
        hint: None,
    };
    let zone = zone.ok_or_else(unknown)?;
    let moved = match direction > 0 {
        true => to_local(time, zone),
        false => from_local(time, zone),
    };
    moved.and_then(in_calendar)
}

/// Likewise, by an interval east of UTC. Errors: 22023 for one of days or months.
pub(super) fn at_offset(zone: Interval, time: i64, direction: i64) -> Result<i64> {
    if is_infinite(time) {
        return Ok(time);
    }
    if zone.months != 0 || zone.days != 0 {
        let shown = Value::Interval(zone).to_text(&FormatSettings::default());
        return Err(Error::InvalidParameter {
            message: format!("interval time zone \"{shown}\" must not include months or days"),
            hint: None,
        });
    }
    // Whole seconds count.
    let offset = zone.microseconds / MICROS_PER_SECOND;
    time.checked_add(direction * offset * MICROS_PER_SECOND)
        .ok_or_else(|| out_of_range("timestamp"))
        .and_then(in_calendar)
}
