//! Dates, times and intervals: their operators, `extract`, `date_trunc`, `age`, `make_*`, time zones.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::calendar::{
    MICROS_PER_DAY, MICROS_PER_SECOND, civil, from_local, is_infinite, micros_of, midnight, out_of_range,
    to_local,
};
use super::datetime_field::{date_part, extract, extract_type, truncate};
use super::datetime_make::{at_time_zone, from_seconds, make_date, make_interval, make_time, make_timestamp};
use super::{Batch, Body, Call, FunctionDef, T, mismatched_types};
use crate::exec::cell::{array_of, value_at};
use crate::types::{Interval, Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

/// An interval as one number, for comparisons: a month counts 30 days, a day 24 hours.
pub(super) const INTERVAL_ORDER: Body = Body::Batch(interval_order);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("+", &[T::Date, T::Int4], T::Date, |arguments, _| {
        shift_date(&arguments[0], &arguments[1], 1)
    }),
    FunctionDef::row("+", &[T::Int4, T::Date], T::Date, |arguments, _| {
        shift_date(&arguments[1], &arguments[0], 1)
    }),
    FunctionDef::row("-", &[T::Date, T::Int4], T::Date, |arguments, _| {
        shift_date(&arguments[0], &arguments[1], -1)
    }),
    FunctionDef::row("-", &[T::Date, T::Date], T::Int4, |arguments, _| {
        match (&arguments[0], &arguments[1]) {
            (Value::Date(a), Value::Date(b)) => {
                match [a, b].iter().any(|days| matches!(**days, i32::MIN | i32::MAX)) {
                    true => Err(Error::DatetimeOverflow {
                        message: "cannot subtract infinite dates".to_string(),
                    }),
                    false => Ok(Value::Int(i64::from(*a) - i64::from(*b))),
                }
            }
            _ => Err(mismatched_types()),
        }
    }),
    FunctionDef::row("+", &[T::Date, T::Interval], T::Timestamp, |arguments, call| {
        add(arguments, call, 1)
    }),
    FunctionDef::row("+", &[T::Interval, T::Date], T::Timestamp, |arguments, call| {
        add_swapped(arguments, call)
    }),
    FunctionDef::row("-", &[T::Date, T::Interval], T::Timestamp, |arguments, call| {
        add(arguments, call, -1)
    }),
    FunctionDef::row("+", &[T::Date, T::Time], T::Timestamp, |arguments, _| {
        match (&arguments[0], &arguments[1]) {
            (Value::Date(days), Value::Time(time)) => match midnight(*days)? {
                infinite if is_infinite(infinite) => Ok(Value::Timestamp(infinite)),
                day => day
                    .checked_add(*time)
                    .map(Value::Timestamp)
                    .ok_or_else(|| out_of_range("timestamp")),
            },
            _ => Err(mismatched_types()),
        }
    }),
    FunctionDef::row(
        "+",
        &[T::Timestamp, T::Interval],
        T::Timestamp,
        |arguments, call| add(arguments, call, 1),
    ),
    FunctionDef::row("+", &[T::Interval, T::Timestamp], T::Timestamp, add_swapped),
    FunctionDef::row(
        "-",
        &[T::Timestamp, T::Interval],
        T::Timestamp,
        |arguments, call| add(arguments, call, -1),
    ),
    FunctionDef::row(
        "+",
        &[T::TimestampTz, T::Interval],
        T::TimestampTz,
        |arguments, call| add(arguments, call, 1),
    ),
    FunctionDef::row("+", &[T::Interval, T::TimestampTz], T::TimestampTz, add_swapped),
    FunctionDef::row(
        "-",
        &[T::TimestampTz, T::Interval],
        T::TimestampTz,
        |arguments, call| add(arguments, call, -1),
    ),
    FunctionDef::row("+", &[T::Time, T::Interval], T::Time, |arguments, call| {
        add(arguments, call, 1)
    }),
    FunctionDef::row("+", &[T::Interval, T::Time], T::Time, |arguments, call| {
        add_swapped(arguments, call)
    }),
    FunctionDef::row("-", &[T::Time, T::Interval], T::Time, |arguments, call| {
        add(arguments, call, -1)
    }),
    FunctionDef::row("-", &[T::Time, T::Time], T::Interval, difference),
    FunctionDef::row("-", &[T::Timestamp, T::Timestamp], T::Interval, difference),
    FunctionDef::row("-", &[T::TimestampTz, T::TimestampTz], T::Interval, difference),
    FunctionDef::row("+", &[T::Interval, T::Interval], T::Interval, |arguments, _| {
        let (a, b) = (interval(&arguments[0])?, interval(&arguments[1])?);
        sum(a, b).map(Value::Interval)
    }),
    FunctionDef::row("-", &[T::Interval, T::Interval], T::Interval, |arguments, _| {
        let (a, b) = (interval(&arguments[0])?, interval(&arguments[1])?);
        sum(a, negate_interval(b)?).map(Value::Interval)
    }),
    FunctionDef::row("*", &[T::Interval, T::Float8], T::Interval, |arguments, _| {
        scale(&arguments[0], &arguments[1])
    }),
    FunctionDef::row("*", &[T::Float8, T::Interval], T::Interval, |arguments, _| {
        scale(&arguments[1], &arguments[0])
    }),
    FunctionDef::row(
        "/",
        &[T::Interval, T::Float8],
        T::Interval,
        |arguments, _| match arguments[1] {
            Value::Float8(0.0) => Err(Error::DivisionByZero),
            Value::Float8(divisor) => scale(&arguments[0], &Value::Float8(1.0 / divisor)),
            _ => Err(mismatched_types()),
        },
    ),
    FunctionDef::row("extract", &[T::Text, T::Timestamp], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::TimestampTz], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Date], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Time], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Interval], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("date_part", &[T::Text, T::Timestamp], T::Float8, date_part).bounded(),
    FunctionDef::row("date_part", &[T::Text, T::TimestampTz], T::Float8, date_part).bounded(),
    FunctionDef::row("date_part", &[T::Text, T::Date], T::Float8, date_part).bounded(),
    FunctionDef::row("date_part", &[T::Text, T::Time], T::Float8, date_part).bounded(),
    FunctionDef::row("date_part", &[T::Text, T::Interval], T::Float8, date_part).bounded(),
    FunctionDef::row("date_trunc", &[T::Text, T::Timestamp], T::Timestamp, truncate).bounded(),
    FunctionDef::row("date_trunc", &[T::Text, T::TimestampTz], T::TimestampTz, truncate).bounded(),
    FunctionDef::row("date_trunc", &[T::Text, T::Interval], T::Interval, truncate).bounded(),
    FunctionDef::row("age", &[T::Timestamp, T::Timestamp], T::Interval, age),
    FunctionDef::row("age", &[T::TimestampTz, T::TimestampTz], T::Interval, age),
    FunctionDef::row("make_date", &[T::Int4, T::Int4, T::Int4], T::Date, make_date),
    FunctionDef::row("make_time", &[T::Int4, T::Int4, T::Float8], T::Time, make_time),
    FunctionDef::row(
        "make_timestamp",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8],
        T::Timestamp,
        make_timestamp,
    ),
    FunctionDef::row(
        "make_timestamptz",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8],
        T::TimestampTz,
        make_timestamp,
    ),
    FunctionDef::row(
        "make_timestamptz",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8, T::Text],
        T::TimestampTz,
        make_timestamp,
    ),
    FunctionDef::row("make_interval", &[T::Int4], T::Interval, make_interval).variadic(),
    FunctionDef::row(
        "to_timestamp",
        &[T::Float8],
        T::TimestampTz,
        |arguments, _| match arguments[0] {
            Value::Float8(seconds) => from_seconds(seconds),
            _ => Err(mismatched_types()),
        },
    )
    .bounded(),
    FunctionDef::row("timezone", &[T::Text, T::Timestamp], T::TimestampTz, at_time_zone),
    FunctionDef::row("timezone", &[T::Text, T::TimestampTz], T::Timestamp, at_time_zone),
    FunctionDef::row("isfinite", &[T::Date], T::Bool, finite),
    FunctionDef::row("isfinite", &[T::Timestamp], T::Bool, finite),
    FunctionDef::row("isfinite", &[T::TimestampTz], T::Bool, finite),
    FunctionDef::row("isfinite", &[T::Interval], T::Bool, finite),
    FunctionDef::row("justify_hours", &[T::Interval], T::Interval, |arguments, _| {
        let given = interval(&arguments[0])?;
        let days = given.microseconds / MICROS_PER_DAY;
        Ok(Value::Interval(Interval {
            days: given.days + i32::try_from(days).map_err(|_| out_of_range("interval"))?,
            microseconds: given.microseconds % MICROS_PER_DAY,
            ..given
        }))
    }),
    FunctionDef::row("justify_days", &[T::Interval], T::Interval, |arguments, _| {
        let given = interval(&arguments[0])?;
        Ok(Value::Interval(Interval {
            months: given.months + given.days / 30,
            days: given.days % 30,
            ..given
        }))
    }),
    FunctionDef::row("clock_timestamp", &[], T::TimestampTz, |_, _| {
        Ok(Value::TimestampTz(chrono::Utc::now().timestamp_micros()))
    })
    .bounded()
    .volatile(),
    FunctionDef::row("timeofday", &[], T::Text, |_, _| {
        Ok(Value::Text(
            chrono::Utc::now()
                .format("%a %b %d %H:%M:%S%.6f %Y UTC")
                .to_string(),
        ))
    })
    .volatile(),
];

fn interval(value: &Value) -> Result<Interval> {
    match value {
        Value::Interval(interval) => Ok(*interval),
        _ => Err(mismatched_types()),
    }
}

/// The type of [`INTERVAL_ORDER`]'s result.
pub(super) fn interval_order_type() -> SqlType {
    SqlType::Numeric(Some(NumericSize {
        precision: 38,
        scale: 0,
    }))
}

fn interval_order(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    let mut spans = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        spans.push(match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Interval(interval) => Value::Numeric(Numeric::Finite {
                unscaled: arrow::datatypes::i256::from_i128(interval.span()),
                scale: 0,
            }),
            other => other,
        });
    }
    array_of(&spans, batch.returns)
}

/// `-i`.
pub(super) fn negate_interval(interval: Interval) -> Result<Interval> {
    let negated = || {
        Some(Interval {
            months: interval.months.checked_neg()?,
            days: interval.days.checked_neg()?,
            microseconds: interval.microseconds.checked_neg()?,
        })
    };
    negated().ok_or_else(|| out_of_range("interval"))
}

fn sum(a: Interval, b: Interval) -> Result<Interval> {
    let added = || {
        Some(Interval {
            months: a.months.checked_add(b.months)?,
            days: a.days.checked_add(b.days)?,
            microseconds: a.microseconds.checked_add(b.microseconds)?,
        })
    };
    added().ok_or_else(|| out_of_range("interval"))
}

/// Fractions of months become days, fractions of days time, as PostgreSQL's `interval_mul`.
fn scale(value: &Value, factor: &Value) -> Result<Value> {
    let (given, Value::Float8(factor)) = (interval(value)?, factor) else {
        return Err(mismatched_types());
    };
    let months = f64::from(given.months) * factor;
    let days = f64::from(given.days) * factor;
    let month_days = (months - months.trunc()) * 30.0;
    let whole_days = days.trunc() + month_days.trunc();
    let seconds_rest = ((days - days.trunc()) + (month_days - month_days.trunc())) * 86_400.0;
    #[expect(
        clippy::cast_precision_loss,
        reason = "PostgreSQL multiplies intervals as doubles too"
    )]
    let microseconds = given.microseconds as f64 * factor + (seconds_rest * 1e6).round();
    if !months.is_finite()
        || months.abs() > f64::from(i32::MAX)
        || whole_days.abs() > f64::from(i32::MAX)
        || microseconds.abs() > 9.2e18
    {
        return Err(out_of_range("interval"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "the ranges were checked")]
    let scaled = Interval {
        months: months.trunc() as i32,
        days: whole_days as i32,
        microseconds: microseconds.round() as i64,
    };
    Ok(Value::Interval(scaled))
}

fn shift_date(date: &Value, days: &Value, sign: i64) -> Result<Value> {
    let (Value::Date(date), Value::Int(days)) = (date, days) else {
        return Err(mismatched_types());
    };
    if matches!(*date, i32::MIN | i32::MAX) {
        return Ok(Value::Date(*date));
    }
    let shifted = i64::from(*date) + sign * days;
    // PostgreSQL's calendar reaches from 4713 BC to 5874897 AD.
    if !(-2_440_588..2_145_042_906).contains(&shifted) {
        return Err(out_of_range("date"));
    }
    Ok(Value::Date(
        i32::try_from(shifted).map_err(|_| out_of_range("date"))?,
    ))
}

fn add_swapped(arguments: &[Value], call: &Call) -> Result<Value> {
    add(&[arguments[1].clone(), arguments[0].clone()], call, 1)
}

/// A date or time plus or minus an interval: months keep the day of the month (or its last), days keep the clock time
/// in the session's zone.
fn add(arguments: &[Value], call: &Call, sign: i32) -> Result<Value> {
    let mut step = interval(&arguments[1])?;
    if sign < 0 {
        step = negate_interval(step)?;
    }
    match arguments[0] {
        Value::Time(time) => Ok(Value::Time(
            (time + step.microseconds % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY),
        )),
        Value::Date(days) => shift(midnight(days)?, step).map(Value::Timestamp),
        Value::Timestamp(time) => shift(time, step).map(Value::Timestamp),
        Value::TimestampTz(time) if is_infinite(time) => Ok(Value::TimestampTz(time)),
        Value::TimestampTz(time) => {
            let zone = call.settings.time_zone;
            let mut at = time;
            if step.months != 0 || step.days != 0 {
                let local = to_local(at, zone)?;
                at = from_local(
                    shift(
                        local,
                        Interval {
                            microseconds: 0,
                            ..step
                        },
                    )?,
                    zone,
                )?;
            }
            at.checked_add(step.microseconds)
                .map(Value::TimestampTz)
                .ok_or_else(|| out_of_range("timestamp"))
        }
        _ => Err(mismatched_types()),
    }
}

/// A time that much later; an infinite one stays.
fn shift(time: i64, step: Interval) -> Result<i64> {
    if is_infinite(time) {
        return Ok(time);
    }
    let mut at = time;
    if step.months != 0 {
        let local = civil(at)?;
        let months = i64::from(local.year()) * 12 + i64::from(local.month0()) + i64::from(step.months);
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        let (year, month) = (
            i32::try_from(year).map_err(|_| out_of_range("timestamp"))?,
            u32::try_from(month).unwrap_or(1),
        );
        let day = local.day().min(days_in_month(year, month));
        let date = NaiveDate::from_ymd_opt(year, month, day).ok_or_else(|| out_of_range("timestamp"))?;
        at = micros_of(date.and_time(local.time()));
    }
    i64::from(step.days)
        .checked_mul(MICROS_PER_DAY)
        .and_then(|days| at.checked_add(days))
        .and_then(|at| at.checked_add(step.microseconds))
        .ok_or_else(|| out_of_range("timestamp"))
}

fn days_in_month(year: i32, month: u32) -> u32 {
    let next = if month == 12 {
        NaiveDate::from_ymd_opt(year + 1, 1, 1)
    } else {
        NaiveDate::from_ymd_opt(year, month + 1, 1)
    };
    next.and_then(|next| next.pred_opt())
        .map_or(28, |last| last.day())
}

/// `a - b` of two times or timestamps: days and time.
fn difference(arguments: &[Value], _: &Call) -> Result<Value> {
    let micros = match (&arguments[0], &arguments[1]) {
        (Value::Time(a), Value::Time(b)) => {
            return Ok(Value::Interval(Interval {
                months: 0,
                days: 0,
                microseconds: a - b,
            }));
        }
        (Value::Timestamp(a), Value::Timestamp(b)) | (Value::TimestampTz(a), Value::TimestampTz(b)) => {
            if matches!(*a, i64::MIN | i64::MAX) || matches!(*b, i64::MIN | i64::MAX) {
                return Err(Error::DatetimeOverflow {
                    message: "cannot subtract infinite timestamps".to_string(),
                });
            }
            a.checked_sub(*b).ok_or_else(|| out_of_range("interval"))?
        }
        _ => return Err(mismatched_types()),
    };
    let days = i32::try_from(micros / MICROS_PER_DAY).map_err(|_| out_of_range("interval"))?;
    Ok(Value::Interval(Interval {
        months: 0,
        days,
        microseconds: micros % MICROS_PER_DAY,
    }))
}

/// `age(a, b)`: years, months and days by the calendar.
fn age(arguments: &[Value], call: &Call) -> Result<Value> {
    let (a, b) = match (&arguments[0], &arguments[1]) {
        (Value::Timestamp(a), Value::Timestamp(b)) => (*a, *b),
        (Value::TimestampTz(a), Value::TimestampTz(b)) => (
            to_local(*a, call.settings.time_zone)?,
            to_local(*b, call.settings.time_zone)?,
        ),
        _ => return Err(mismatched_types()),
    };
    let (later, earlier, sign) = if a >= b {
        (civil(a)?, civil(b)?, 1)
    } else {
        (civil(b)?, civil(a)?, -1)
    };
    let mut months = (later.year() - earlier.year()) * 12 + month_of(&later) - month_of(&earlier);
    let mut days = i64::from(later.day()) - i64::from(earlier.day());
    let clock = |time: &NaiveDateTime| {
        i64::from(time.num_seconds_from_midnight()) * MICROS_PER_SECOND + i64::from(time.nanosecond() / 1_000)
    };
    let mut micros = clock(&later) - clock(&earlier);
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    if days < 0 {
        // The days of the month of the earlier date, as PostgreSQL borrows.
        days += i64::from(days_in_month(earlier.year(), earlier.month()));
        months -= 1;
    }
    let age = Interval {
        months,
        days: i32::try_from(days).unwrap_or(0),
        microseconds: micros,
    };
    Ok(Value::Interval(if sign < 0 {
        negate_interval(age)?
    } else {
        age
    }))
}

fn month_of(time: &NaiveDateTime) -> i32 {
    i32::try_from(time.month()).unwrap_or(1)
}

fn finite(arguments: &[Value], _: &Call) -> Result<Value> {
    Ok(Value::Bool(!matches!(
        arguments[0],
        Value::Date(i32::MIN | i32::MAX)
            | Value::Timestamp(i64::MIN | i64::MAX)
            | Value::TimestampTz(i64::MIN | i64::MAX)
    )))
}

/// `generate_series` of timestamps.
pub(super) fn series(arguments: &[Value], call: &Call) -> Result<Value> {
    let step = interval(&arguments[2])?;
    if step.span() == 0 {
        return Err(Error::InvalidParameter {
            message: "step size cannot equal zero".to_string(),
            hint: None,
        });
    }
    let forward = step.span() > 0;
    let time = |value: &Value| match value {
        Value::Timestamp(time) | Value::TimestampTz(time) => Ok(*time),
        _ => Err(mismatched_types()),
    };
    let end = time(&arguments[1])?;
    let mut at = arguments[0].clone();
    let mut items = Vec::new();
    while (forward && time(&at)? <= end) || (!forward && time(&at)? >= end) {
        if items.len() >= 1_000_000 {
            return Err(super::too_many_rows());
        }
        items.push(at.clone());
        at = add(&[at, arguments[2].clone()], call, 1)?;
    }
    Ok(Value::Array(items))
}
