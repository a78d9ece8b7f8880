//! Dates and times made of parts: `make_date` and its like, `to_timestamp` of seconds, `timezone`.

use chrono::{Datelike, NaiveDate};

use super::calendar::{
    DAYS_TO_EPOCH_CE, MICROS_PER_DAY, MICROS_PER_SECOND, from_local, iso_offset, out_of_range, posix_offset,
    to_local,
};
use super::{Body, Call, mismatched_types};
use crate::types::{Interval, IntervalField, IntervalRange, SqlType, Value};
use crate::{Error, Result};

/// A time rounded to so many digits behind the second, as `timestamp(3)` and its like do: half goes away from zero.
pub const ROUND_FRACTION: Body = Body::Row(|arguments, _| round_fraction(&arguments[0], &arguments[1]));

/// See [`ROUND_FRACTION`].
pub fn round_fraction(value: &Value, digits: &Value) -> Result<Value> {
    let digits = u32::try_from(whole(digits)?.clamp(0, 6)).unwrap_or(6);
    let unit = 10_i64.pow(6 - digits);
    let rounded = |micros: i64| {
        if micros == i64::MIN || micros == i64::MAX {
            return micros;
        }
        let up = micros.unsigned_abs().saturating_add(unit.unsigned_abs() / 2);
        let whole = i64::try_from(up / unit.unsigned_abs() * unit.unsigned_abs()).unwrap_or(i64::MAX);
        if micros < 0 { -whole } else { whole }
    };
    Ok(match value {
        Value::Time(micros) => Value::Time(rounded(*micros)),
        Value::Timestamp(micros) => Value::Timestamp(rounded(*micros)),
        Value::TimestampTz(micros) => Value::TimestampTz(rounded(*micros)),
        Value::Interval(interval) => Value::Interval(Interval {
            microseconds: rounded(interval.microseconds),
            ..*interval
        }),
        other => other.clone(),
    })
}

/// An interval without what is smaller than a field, given as [`IntervalRange`]'s last.
pub const CUT_INTERVAL: Body = Body::Row(|arguments, _| {
    let field = match whole(&arguments[1])? {
        0 => IntervalField::Year,
        1 => IntervalField::Month,
        2 => IntervalField::Day,
        3 => IntervalField::Hour,
        4 => IntervalField::Minute,
        _ => IntervalField::Second,
    };
    cut_interval(&arguments[0], field)
});

/// See [`CUT_INTERVAL`].
pub fn cut_interval(value: &Value, last: IntervalField) -> Result<Value> {
    let Value::Interval(interval) = value else {
        return Ok(value.clone());
    };
    let range = IntervalRange {
        first: IntervalField::Year,
        last,
    };
    Ok(Value::Interval(range.cut(*interval)))
}

pub(super) fn whole(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(mismatched_types()),
    }
}

pub(super) fn date_of(arguments: &[Value]) -> Result<NaiveDate> {
    let (year, month, day) = (
        whole(&arguments[0])?,
        whole(&arguments[1])?,
        whole(&arguments[2])?,
    );
    // Negative years are BC.
    let civil_year = if year < 0 { year + 1 } else { year };
    let overflow = || Error::DatetimeOverflow {
        message: format!("date field value out of range: {year}-{month:02}-{day:02}"),
    };
    if year == 0 {
        return Err(overflow());
    }
    let (Ok(y), Ok(m), Ok(d)) = (
        i32::try_from(civil_year),
        u32::try_from(month),
        u32::try_from(day),
    ) else {
        return Err(overflow());
    };
    NaiveDate::from_ymd_opt(y, m, d).ok_or_else(overflow)
}

pub(super) fn make_date(arguments: &[Value], _: &Call) -> Result<Value> {
    let days = i64::from(date_of(arguments)?.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
    Ok(Value::Date(
        i32::try_from(days).map_err(|_| out_of_range("date"))?,
    ))
}

pub(super) fn clock_of(hour: &Value, minute: &Value, second: &Value) -> Result<i64> {
    let (hour, minute, Value::Float8(second)) = (whole(hour)?, whole(minute)?, second) else {
        return Err(mismatched_types());
    };
    let valid = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60.0).contains(second);
    #[expect(clippy::cast_possible_truncation, reason = "seconds are below 61")]
    let micros = (hour * 3600 + minute * 60) * MICROS_PER_SECOND + (second * 1e6).round() as i64;
    if !valid || micros > MICROS_PER_DAY {
        return Err(Error::DatetimeOverflow {
            message: format!("time field value out of range: {hour}:{minute:02}:{second}"),
        });
    }
    Ok(micros)
}

pub(super) fn make_time(arguments: &[Value], _: &Call) -> Result<Value> {
    clock_of(&arguments[0], &arguments[1], &arguments[2]).map(Value::Time)
}

pub(super) fn make_timestamp(arguments: &[Value], call: &Call) -> Result<Value> {
    let days = i64::from(date_of(arguments)?.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
    let local = days * MICROS_PER_DAY + clock_of(&arguments[3], &arguments[4], &arguments[5])?;
    if *call.returns == SqlType::Timestamp {
        return Ok(Value::Timestamp(local));
    }
    match arguments.get(6) {
        // An offset counts as ISO 8601 does here: east is positive.
        Some(Value::Text(name)) => match iso_offset(name) {
            Some(seconds) => local
                .checked_sub(seconds * MICROS_PER_SECOND)
                .map(Value::TimestampTz)
                .ok_or_else(|| out_of_range("timestamp")),
            None if name.starts_with(|first: char| first.is_ascii_digit()) => Err(Error::InvalidParameter {
                message: format!("invalid input syntax for type numeric time zone: \"{name}\""),
                hint: Some("Numeric time zones must have \"-\" or \"+\" as first character.".to_string()),
            }),
            None => at_offset(name, local, -1).map(Value::TimestampTz),
        },
        _ => from_local(local, call.settings.time_zone).map(Value::TimestampTz),
    }
}

pub(super) fn make_interval(arguments: &[Value], _: &Call) -> Result<Value> {
    let mut parts = [0_i64; 7];
    for (part, argument) in parts.iter_mut().zip(arguments) {
        *part = whole(argument)?;
    }
    let [years, months, weeks, days, hours, minutes, seconds] = parts;
    let narrow = |number: i64| i32::try_from(number).map_err(|_| out_of_range("interval"));
    Ok(Value::Interval(Interval {
        months: narrow(years * 12 + months)?,
        days: narrow(weeks * 7 + days)?,
        microseconds: (hours * 3600 + minutes * 60 + seconds) * MICROS_PER_SECOND,
    }))
}

pub(super) fn from_seconds(seconds: f64) -> Result<Value> {
    if seconds.is_infinite() {
        return Ok(Value::TimestampTz(if seconds > 0.0 {
            i64::MAX
        } else {
            i64::MIN
        }));
    }
    if seconds.is_nan() {
        return Err(Error::DatetimeOverflow {
            message: "timestamp cannot be NaN".to_string(),
        });
    }
    let micros = (seconds * 1e6).round_ties_even();
    if micros.abs() > 9.2e18 {
        return Err(Error::DatetimeOverflow {
            message: format!("timestamp out of range: \"{seconds}\""),
        });
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    Ok(Value::TimestampTz(micros as i64))
}

pub(super) fn at_time_zone(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Text(name) = &arguments[0] else {
        return Err(mismatched_types());
    };
    match arguments[1] {
        Value::Timestamp(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::TimestampTz(time)),
        Value::TimestampTz(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::Timestamp(time)),
        Value::Timestamp(local) => at_offset(name, local, -1).map(Value::TimestampTz),
        Value::TimestampTz(utc) => at_offset(name, utc, 1).map(Value::Timestamp),
        _ => Err(mismatched_types()),
    }
}

/// From UTC to the named zone's clocks (`direction` 1) or back (-1).
pub(super) fn at_offset(name: &str, time: i64, direction: i64) -> Result<i64> {
    let known = chrono_tz::TZ_VARIANTS
        .iter()
        .copied()
        .find(|zone| zone.name().eq_ignore_ascii_case(name));
    if let Some(zone) = known {
        return if direction > 0 {
            to_local(time, zone)
        } else {
            from_local(time, zone)
        };
    }
    let unknown = || Error::InvalidParameter {
        message: format!("time zone \"{name}\" not recognized"),
        hint: None,
    };
    let offset = posix_offset(name).ok_or_else(unknown)? * MICROS_PER_SECOND;
    time.checked_add(direction * offset)
        .ok_or_else(|| out_of_range("timestamp"))
}
