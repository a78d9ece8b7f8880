//! Dates, times and intervals: their operators, `extract`, `date_trunc`, `age`, `make_*`, time zones.

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::Tz;

use super::{Batch, Body, Call, FunctionDef, T};
use crate::exec::cell::{array_of, value_at};
use crate::types::{Interval, Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
const DAYS_TO_EPOCH_CE: i64 = 719_163;

/// An interval as one number, for comparisons: a month counts 30 days, a day 24 hours.
pub const INTERVAL_ORDER: Body = Body::Batch(interval_order);

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
            (Value::Date(a), Value::Date(b)) => Ok(Value::Int(i64::from(*a) - i64::from(*b))),
            _ => Err(wrong()),
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
            (Value::Date(days), Value::Time(time)) => {
                Ok(Value::Timestamp(i64::from(*days) * MICROS_PER_DAY + time))
            }
            _ => Err(wrong()),
        }
    }),
    FunctionDef::row(
        "+",
        &[T::Timestamp, T::Interval],
        T::Timestamp,
        |arguments, call| add(arguments, call, 1),
    ),
    FunctionDef::row(
        "+",
        &[T::Interval, T::Timestamp],
        T::Timestamp,
        |arguments, call| add_swapped(arguments, call),
    ),
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
    FunctionDef::row(
        "+",
        &[T::Interval, T::TimestampTz],
        T::TimestampTz,
        |arguments, call| add_swapped(arguments, call),
    ),
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
            _ => Err(wrong()),
        },
    ),
    FunctionDef::row("extract", &[T::Text, T::Timestamp], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::TimestampTz], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Date], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Time], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("extract", &[T::Text, T::Interval], T::Numeric, extract).computed(extract_type),
    FunctionDef::row("date_part", &[T::Text, T::Timestamp], T::Float8, date_part),
    FunctionDef::row("date_part", &[T::Text, T::TimestampTz], T::Float8, date_part),
    FunctionDef::row("date_part", &[T::Text, T::Date], T::Float8, date_part),
    FunctionDef::row("date_part", &[T::Text, T::Time], T::Float8, date_part),
    FunctionDef::row("date_part", &[T::Text, T::Interval], T::Float8, date_part),
    FunctionDef::row("date_trunc", &[T::Text, T::Timestamp], T::Timestamp, truncate),
    FunctionDef::row("date_trunc", &[T::Text, T::TimestampTz], T::TimestampTz, truncate),
    FunctionDef::row("date_trunc", &[T::Text, T::Interval], T::Interval, truncate),
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
            _ => Err(wrong()),
        },
    ),
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

fn wrong() -> Error {
    Error::internal("a date function of other types")
}

fn out_of_range(what: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range"),
    }
}

fn interval(value: &Value) -> Result<Interval> {
    match value {
        Value::Interval(interval) => Ok(*interval),
        _ => Err(wrong()),
    }
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
        return Err(wrong());
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
        return Err(wrong());
    };
    if matches!(*date, i32::MIN | i32::MAX) {
        return Ok(Value::Date(*date));
    }
    let shifted = i64::from(*date) + sign * days;
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
        Value::Date(days) => Ok(Value::Timestamp(shift(i64::from(days) * MICROS_PER_DAY, step)?)),
        Value::Timestamp(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::Timestamp(time)),
        Value::Timestamp(time) => Ok(Value::Timestamp(shift(time, step)?)),
        Value::TimestampTz(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::TimestampTz(time)),
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
        _ => Err(wrong()),
    }
}

fn shift(time: i64, step: Interval) -> Result<i64> {
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
    let days = i64::from(step.days) * MICROS_PER_DAY;
    at.checked_add(days)
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

/// The calendar date and clock time of microseconds since 1970.
pub(super) fn civil(micros: i64) -> Result<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros)
        .map(|time| time.naive_utc())
        .ok_or_else(|| out_of_range("timestamp"))
}

fn micros_of(time: NaiveDateTime) -> i64 {
    time.and_utc().timestamp_micros()
}

/// What the zone's clocks show at an instant.
pub(super) fn to_local(utc: i64, zone: Tz) -> Result<i64> {
    let instant = civil(utc)?;
    Ok(micros_of(zone.from_utc_datetime(&instant).naive_local()))
}

/// The instant at which the zone's clocks show this; a gap takes the offset before it, an overlap the later offset.
fn from_local(local: i64, zone: Tz) -> Result<i64> {
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
        _ => return Err(wrong()),
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
        _ => return Err(wrong()),
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

fn unit_of(value: &Value) -> Result<String> {
    match value {
        Value::Text(unit) => {
            let unit = unit.trim().to_lowercase();
            Ok(match unit.as_str() {
                "years" | "y" => "year".to_string(),
                "months" | "mon" | "mons" => "month".to_string(),
                "days" | "d" => "day".to_string(),
                "hours" | "h" => "hour".to_string(),
                "minutes" | "min" | "mins" | "m" => "minute".to_string(),
                "seconds" | "sec" | "secs" | "s" => "second".to_string(),
                "weeks" | "w" => "week".to_string(),
                "millisecond" | "ms" | "msec" => "milliseconds".to_string(),
                "microsecond" | "us" | "usec" => "microseconds".to_string(),
                "decades" => "decade".to_string(),
                "centuries" => "century".to_string(),
                "millenium" | "millennia" => "millennium".to_string(),
                _ => unit,
            })
        }
        _ => Err(wrong()),
    }
}

fn unknown_unit(unit: &str, ty: &SqlType) -> Error {
    Error::InvalidParameter {
        message: format!("unit \"{unit}\" not recognized for type {ty}"),
        hint: None,
    }
}

fn unsupported_unit(unit: &str, ty: &SqlType) -> Error {
    Error::DataException {
        state: "0A000",
        message: format!("unit \"{unit}\" not supported for type {ty}"),
    }
}

/// Seconds, milliseconds and epoch have fractions; other fields are whole.
fn extract_type(types: &[SqlType], literals: &[Option<Value>]) -> SqlType {
    let scale = match literals.first() {
        Some(Some(unit)) => match unit_of(unit).unwrap_or_default().as_str() {
            "second" | "epoch" if types.get(1) == Some(&SqlType::Date) => 0,
            "second" | "epoch" => 6,
            "milliseconds" => 3,
            "julian" if types.get(1) != Some(&SqlType::Date) => 20,
            _ => 0,
        },
        _ => 6,
    };
    SqlType::Numeric(Some(NumericSize { precision: 38, scale }))
}

fn extract(arguments: &[Value], call: &Call) -> Result<Value> {
    let unit = unit_of(&arguments[0])?;
    let micros = field_micros(&unit, &arguments[1], &call.arguments[1], call.settings.time_zone)?;
    let scaled = |value: i128, scale: u8| {
        Value::Numeric(Numeric::Finite {
            unscaled: arrow::datatypes::i256::from_i128(value),
            scale,
        })
    };
    Ok(match micros {
        Field::Whole(number) => scaled(i128::from(number), 0),
        Field::Micros(number) => scaled(number, 6),
        Field::Absent => Value::Null,
        Field::Infinite(_) => Value::Null,
    })
}

fn date_part(arguments: &[Value], call: &Call) -> Result<Value> {
    let unit = unit_of(&arguments[0])?;
    let field = field_micros(&unit, &arguments[1], &call.arguments[1], call.settings.time_zone)?;
    #[expect(clippy::cast_precision_loss, reason = "date_part gives doubles")]
    Ok(match field {
        Field::Whole(number) => Value::Float8(number as f64),
        Field::Micros(number) => Value::Float8(number as f64 / 1e6),
        Field::Absent => Value::Null,
        Field::Infinite(negative) => Value::Float8(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }),
    })
}

/// A field of a date or time.
enum Field {
    Whole(i64),
    /// Millionths.
    Micros(i128),
    Absent,
    Infinite(bool),
}

fn field_micros(unit: &str, value: &Value, ty: &SqlType, zone: Tz) -> Result<Field> {
    match value {
        Value::Interval(interval) => interval_field(unit, *interval, ty),
        Value::Time(time) => time_field(unit, *time, ty),
        Value::Date(days) => {
            if matches!(*days, i32::MIN | i32::MAX) {
                return Ok(infinite(unit, *days < 0));
            }
            match unit {
                "hour" | "minute" | "second" | "milliseconds" | "microseconds" | "timezone"
                | "timezone_hour" | "timezone_minute" => Err(unsupported_unit(unit, ty)),
                "epoch" => Ok(Field::Whole(i64::from(*days) * 86_400)),
                "julian" => Ok(Field::Whole(i64::from(*days) + 2_440_588)),
                _ => date_field(unit, civil(i64::from(*days) * MICROS_PER_DAY)?, ty),
            }
        }
        Value::Timestamp(time) => instant_field(unit, *time, *time, 0, ty),
        Value::TimestampTz(utc) if matches!(*utc, i64::MIN | i64::MAX) => Ok(infinite(unit, *utc < 0)),
        Value::TimestampTz(utc) => {
            let local = to_local(*utc, zone)?;
            let offset = (local - utc) / MICROS_PER_SECOND;
            match unit {
                "timezone" => Ok(Field::Whole(offset)),
                "timezone_hour" => Ok(Field::Whole(offset / 3600)),
                "timezone_minute" => Ok(Field::Whole(offset % 3600 / 60)),
                _ => instant_field(unit, local, *utc, offset, ty),
            }
        }
        _ => Err(wrong()),
    }
}

fn infinite(unit: &str, negative: bool) -> Field {
    match unit {
        "year" | "epoch" | "century" | "decade" | "millennium" | "julian" | "isoyear" => {
            Field::Infinite(negative)
        }
        _ => Field::Absent,
    }
}

fn instant_field(unit: &str, local: i64, utc: i64, _offset: i64, ty: &SqlType) -> Result<Field> {
    if matches!(local, i64::MIN | i64::MAX) {
        return Ok(infinite(unit, local < 0));
    }
    match unit {
        "epoch" => Ok(Field::Micros(i128::from(utc))),
        "julian" => {
            let day = local.div_euclid(MICROS_PER_DAY) + 2_440_588;
            let rest = i128::from(local.rem_euclid(MICROS_PER_DAY)) * 1_000_000 / i128::from(MICROS_PER_DAY);
            Ok(Field::Micros(i128::from(day) * 1_000_000 + rest))
        }
        "hour" | "minute" | "second" | "milliseconds" | "microseconds" => {
            time_field(unit, local.rem_euclid(MICROS_PER_DAY), ty)
        }
        _ => date_field(unit, civil(local)?, ty),
    }
}

fn time_field(unit: &str, time: i64, ty: &SqlType) -> Result<Field> {
    let minute_rest = time % (60 * MICROS_PER_SECOND);
    Ok(match unit {
        "hour" => Field::Whole(time / (3600 * MICROS_PER_SECOND)),
        "minute" => Field::Whole(time / (60 * MICROS_PER_SECOND) % 60),
        "second" => Field::Micros(i128::from(minute_rest)),
        "milliseconds" => Field::Micros(i128::from(minute_rest) * 1_000),
        "microseconds" => Field::Whole(minute_rest),
        "epoch" => Field::Micros(i128::from(time)),
        "day" | "month" | "year" | "week" | "quarter" | "decade" | "century" | "millennium" | "dow"
        | "isodow" | "doy" | "isoyear" | "julian" | "timezone" => return Err(unsupported_unit(unit, ty)),
        _ => return Err(unknown_unit(unit, ty)),
    })
}

fn date_field(unit: &str, date: NaiveDateTime, ty: &SqlType) -> Result<Field> {
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

fn interval_field(unit: &str, interval: Interval, ty: &SqlType) -> Result<Field> {
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
            return time_field(unit, interval.microseconds % (3600 * MICROS_PER_SECOND), ty);
        }
        "epoch" => {
            // A year counts 365.25 days, a month of the rest 30.
            let days = i128::from(years) * 36_525 * 864_000_000;
            let months = i128::from(interval.months % 12) * 30 * i128::from(MICROS_PER_DAY);
            let rest =
                i128::from(interval.days) * i128::from(MICROS_PER_DAY) + i128::from(interval.microseconds);
            return Ok(Field::Micros(days + months + rest));
        }
        "week" | "dow" | "isodow" | "doy" | "isoyear" | "julian" | "timezone" => {
            return Err(unsupported_unit(unit, ty));
        }
        _ => return Err(unknown_unit(unit, ty)),
    }))
}

fn truncate(arguments: &[Value], call: &Call) -> Result<Value> {
    let unit = unit_of(&arguments[0])?;
    let ty = &call.arguments[1];
    match arguments[1] {
        Value::Timestamp(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::Timestamp(time)),
        Value::Timestamp(time) => truncate_civil(&unit, time, ty).map(Value::Timestamp),
        Value::TimestampTz(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::TimestampTz(time)),
        Value::TimestampTz(time) => {
            let zone = call.settings.time_zone;
            let local = truncate_civil(&unit, to_local(time, zone)?, ty)?;
            from_local(local, zone).map(Value::TimestampTz)
        }
        Value::Interval(interval) => truncate_interval(&unit, interval, ty).map(Value::Interval),
        _ => Err(wrong()),
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
        "timezone" | "dow" | "doy" | "epoch" | "isodow" | "isoyear" | "julian" => {
            Err(unsupported_unit(unit, ty))
        }
        _ => Err(unknown_unit(unit, ty)),
    }
}

fn truncate_interval(unit: &str, interval: Interval, ty: &SqlType) -> Result<Interval> {
    let months = |step: i32| Interval {
        months: interval.months - interval.months % step,
        days: 0,
        microseconds: 0,
    };
    let micros = |step: i64| Interval {
        microseconds: interval.microseconds - interval.microseconds % step,
        ..interval
    };
    Ok(match unit {
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
        "week" => return Err(unsupported_unit(unit, ty)),
        _ => return Err(unknown_unit(unit, ty)),
    })
}

fn whole(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(wrong()),
    }
}

fn date_of(arguments: &[Value]) -> Result<NaiveDate> {
    let (year, month, day) = (
        whole(&arguments[0])?,
        whole(&arguments[1])?,
        whole(&arguments[2])?,
    );
    // Negative years are BC.
    let civil_year = if year < 0 { year + 1 } else { year };
    let wrong = || Error::DatetimeOverflow {
        message: format!("date field value out of range: {year}-{month:02}-{day:02}"),
    };
    if year == 0 {
        return Err(wrong());
    }
    let (Ok(y), Ok(m), Ok(d)) = (
        i32::try_from(civil_year),
        u32::try_from(month),
        u32::try_from(day),
    ) else {
        return Err(wrong());
    };
    NaiveDate::from_ymd_opt(y, m, d).ok_or_else(wrong)
}

fn make_date(arguments: &[Value], _: &Call) -> Result<Value> {
    let days = i64::from(date_of(arguments)?.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
    Ok(Value::Date(
        i32::try_from(days).map_err(|_| out_of_range("date"))?,
    ))
}

fn clock_of(hour: &Value, minute: &Value, second: &Value) -> Result<i64> {
    let (hour, minute, Value::Float8(second)) = (whole(hour)?, whole(minute)?, second) else {
        return Err(wrong());
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

fn make_time(arguments: &[Value], _: &Call) -> Result<Value> {
    clock_of(&arguments[0], &arguments[1], &arguments[2]).map(Value::Time)
}

fn make_timestamp(arguments: &[Value], call: &Call) -> Result<Value> {
    let days = i64::from(date_of(arguments)?.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
    let local = days * MICROS_PER_DAY + clock_of(&arguments[3], &arguments[4], &arguments[5])?;
    if *call.returns == SqlType::Timestamp {
        return Ok(Value::Timestamp(local));
    }
    match arguments.get(6) {
        Some(Value::Text(name)) => at_offset(name, local, -1).map(Value::TimestampTz),
        _ => from_local(local, call.settings.time_zone).map(Value::TimestampTz),
    }
}

fn make_interval(arguments: &[Value], _: &Call) -> Result<Value> {
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

fn from_seconds(seconds: f64) -> Result<Value> {
    if seconds.is_infinite() {
        return Ok(Value::TimestampTz(if seconds > 0.0 {
            i64::MAX
        } else {
            i64::MIN
        }));
    }
    let micros = (seconds * 1e6).round_ties_even();
    if micros.is_nan() || micros.abs() > 9.2e18 {
        return Err(Error::DatetimeOverflow {
            message: format!("timestamp out of range: \"{seconds}\""),
        });
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
    Ok(Value::TimestampTz(micros as i64))
}

fn at_time_zone(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Text(name) = &arguments[0] else {
        return Err(wrong());
    };
    match arguments[1] {
        Value::Timestamp(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::TimestampTz(time)),
        Value::TimestampTz(time) if matches!(time, i64::MIN | i64::MAX) => Ok(Value::Timestamp(time)),
        Value::Timestamp(local) => at_offset(name, local, -1).map(Value::TimestampTz),
        Value::TimestampTz(utc) => at_offset(name, utc, 1).map(Value::Timestamp),
        _ => Err(wrong()),
    }
}

/// From UTC to the named zone's clocks (`direction` 1) or back (-1).
fn at_offset(name: &str, time: i64, direction: i64) -> Result<i64> {
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
    // A POSIX offset counts west of Greenwich as positive; an ISO one in text with a sign does as well here.
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let (sign, digits) = match (digits.strip_prefix('-'), digits.strip_prefix('+')) {
        (Some(digits), _) => (1, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return Err(unknown()),
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (Ok(hours), Ok(minutes)) = (hours.parse::<i64>(), minutes.parse::<i64>()) else {
        return Err(unknown());
    };
    let offset = sign * (hours * 3600 + minutes * 60) * MICROS_PER_SECOND;
    time.checked_add(direction * offset)
        .ok_or_else(|| out_of_range("timestamp"))
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
        _ => Err(wrong()),
    };
    let end = time(&arguments[1])?;
    let mut at = arguments[0].clone();
    let mut items = Vec::new();
    while (forward && time(&at)? <= end) || (!forward && time(&at)? >= end) {
        if items.len() >= 1_000_000 {
            return Err(super::array::too_many_rows());
        }
        items.push(at.clone());
        at = add(&[at, arguments[2].clone()], call, 1)?;
    }
    Ok(Value::Array(items))
}
