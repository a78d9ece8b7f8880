//! Dates and times: their operators, `extract`, `date_trunc`, `age`, `make_*`, time zones.

use chrono::{Datelike, NaiveDate, NaiveDateTime, Timelike};

use super::argument::{Date, Time, Timestamp, TimestampTz};
use super::datetime_field::{
    date_field, double, interval_field, numeric, time_field, timestamp_field, timestamptz_field,
};
use super::datetime_make::{
    at_offset, at_time_zone, from_seconds, local_of_parts, make_date, make_interval, make_time, utc_of_parts,
};
use super::datetime_trunc::{truncate_interval, truncate_local, truncate_utc};
use super::interval::negate_interval;
use super::{FunctionDef, Parameter, SET_ROWS_MAX, T, too_many_rows};
use crate::types::calendar::{
    MICROS_PER_DAY, MICROS_PER_SECOND, civil, from_local, in_calendar, is_infinite, micros_of, out_of_range,
    to_local,
};
use crate::types::{Interval, Zone, timestamp_of_date};
use crate::{Error, Result};

/// The parts of a timestamp.
const MOMENT: &[Parameter] = &[
    ("year", None),
    ("month", None),
    ("mday", None),
    ("hour", None),
    ("min", None),
    ("sec", None),
];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("+", &[T::Date, T::Int4], T::Date, |b| {
        b.map2(|date, days: i32| shifted_date(date, i64::from(days)))
    }),
    FunctionDef::new("+", &[T::Int4, T::Date], T::Date, |b| {
        b.map2(|days: i32, date| shifted_date(date, i64::from(days)))
    }),
    FunctionDef::new("-", &[T::Date, T::Int4], T::Date, |b| {
        b.map2(|date, days: i32| shifted_date(date, -i64::from(days)))
    }),
    FunctionDef::new("-", &[T::Date, T::Date], T::Int4, |b| b.map2(days_between)),
    FunctionDef::new("+", &[T::Date, T::Time], T::Timestamp, |b| b.map2(at_clock)),
    FunctionDef::new("timestamp", &[T::Date, T::Time], T::Timestamp, |b| {
        b.map2(at_clock)
    }),
    FunctionDef::new("timestamptz", &[T::Date, T::Time], T::TimestampTz, |b| {
        b.map2(|date, time| {
            let Timestamp(local) = at_clock(date, time)?;
            from_local(local, b.settings.time_zone).map(TimestampTz)
        })
    })
    .stable(),
    FunctionDef::new("+", &[T::Time, T::Date], T::Timestamp, |b| {
        b.map2(|time, date| at_clock(date, time))
    }),
    FunctionDef::new("+", &[T::Date, T::Interval], T::Timestamp, |b| {
        b.map2(|date, step| from_date(date, Ok(step)))
    }),
    FunctionDef::new("+", &[T::Interval, T::Date], T::Timestamp, |b| {
        b.map2(|step, date| from_date(date, Ok(step)))
    }),
    FunctionDef::new("-", &[T::Date, T::Interval], T::Timestamp, |b| {
        b.map2(|date, step| from_date(date, negate_interval(step)))
    }),
    FunctionDef::new("+", &[T::Timestamp, T::Interval], T::Timestamp, |b| {
        b.map2(|time, step| from_timestamp(time, Ok(step)))
    }),
    FunctionDef::new("+", &[T::Interval, T::Timestamp], T::Timestamp, |b| {
        b.map2(|step, time| from_timestamp(time, Ok(step)))
    }),
    FunctionDef::new("-", &[T::Timestamp, T::Interval], T::Timestamp, |b| {
        b.map2(|time, step| from_timestamp(time, negate_interval(step)))
    }),
    FunctionDef::new("+", &[T::TimestampTz, T::Interval], T::TimestampTz, |b| {
        b.map2(|time, step| from_instant(time, Ok(step), b.settings.time_zone))
    }),
    FunctionDef::new("+", &[T::Interval, T::TimestampTz], T::TimestampTz, |b| {
        b.map2(|step, time| from_instant(time, Ok(step), b.settings.time_zone))
    }),
    FunctionDef::new("-", &[T::TimestampTz, T::Interval], T::TimestampTz, |b| {
        b.map2(|time, step| from_instant(time, negate_interval(step), b.settings.time_zone))
    }),
    FunctionDef::new("+", &[T::Time, T::Interval], T::Time, |b| {
        b.map2(|time, step: Interval| from_time(time, step.microseconds % MICROS_PER_DAY))
    }),
    FunctionDef::new("+", &[T::Interval, T::Time], T::Time, |b| {
        b.map2(|step: Interval, time| from_time(time, step.microseconds % MICROS_PER_DAY))
    }),
    FunctionDef::new("-", &[T::Time, T::Interval], T::Time, |b| {
        b.map2(|time, step: Interval| from_time(time, -(step.microseconds % MICROS_PER_DAY)))
    }),
    FunctionDef::new("-", &[T::Time, T::Time], T::Interval, |b| {
        b.map2(|Time(a), Time(b)| Interval {
            microseconds: a - b,
            ..Interval::default()
        })
    }),
    FunctionDef::new("-", &[T::Timestamp, T::Timestamp], T::Interval, |b| {
        b.map2(|Timestamp(a), Timestamp(b)| time_between(a, b))
    }),
    FunctionDef::new("-", &[T::TimestampTz, T::TimestampTz], T::Interval, |b| {
        b.map2(|TimestampTz(a), TimestampTz(b)| time_between(a, b))
    }),
    FunctionDef::new("extract", &[T::Text, T::Timestamp], T::Numeric, |b| {
        b.map2(|unit, time| numeric(unit, timestamp_field(unit, time)?))
    }),
    FunctionDef::new("extract", &[T::Text, T::TimestampTz], T::Numeric, |b| {
        b.map2(|unit, time| numeric(unit, timestamptz_field(unit, time, b.settings.time_zone)?))
    }),
    FunctionDef::new("extract", &[T::Text, T::Date], T::Numeric, |b| {
        b.map2(|unit, date| numeric(unit, date_field(unit, date)?))
    }),
    FunctionDef::new("extract", &[T::Text, T::Time], T::Numeric, |b| {
        b.map2(|unit, time| numeric(unit, time_field(unit, time)?))
    }),
    FunctionDef::new("extract", &[T::Text, T::Interval], T::Numeric, |b| {
        b.map2(|unit, interval| numeric(unit, interval_field(unit, interval)?))
    }),
    FunctionDef::new("date_part", &[T::Text, T::Timestamp], T::Float8, |b| {
        b.map2(|unit, time| timestamp_field(unit, time).map(double))
    })
    .bounded(),
    FunctionDef::new("date_part", &[T::Text, T::TimestampTz], T::Float8, |b| {
        b.map2(|unit, time| timestamptz_field(unit, time, b.settings.time_zone).map(double))
    })
    .bounded(),
    // Unlike `extract` it takes a date as its midnight.
    FunctionDef::new("date_part", &[T::Text, T::Date], T::Float8, |b| {
        b.map2(|unit, Date(days)| timestamp_field(unit, Timestamp(timestamp_of_date(days)?)).map(double))
    })
    .bounded(),
    FunctionDef::new("date_part", &[T::Text, T::Time], T::Float8, |b| {
        b.map2(|unit, time| time_field(unit, time).map(double))
    })
    .bounded(),
    FunctionDef::new("date_part", &[T::Text, T::Interval], T::Float8, |b| {
        b.map2(|unit, interval| interval_field(unit, interval).map(double))
    })
    .bounded(),
    FunctionDef::new("date_trunc", &[T::Text, T::Timestamp], T::Timestamp, |b| {
        b.map2(truncate_local)
    })
    .bounded(),
    FunctionDef::new("date_trunc", &[T::Text, T::TimestampTz], T::TimestampTz, |b| {
        let zone = b.settings.time_zone;
        b.map2(|unit, time| {
            truncate_utc(
                unit,
                time,
                |utc| to_local(utc, zone),
                |local| from_local(local, zone),
            )
        })
    })
    .bounded(),
    FunctionDef::new(
        "date_trunc",
        &[T::Text, T::TimestampTz, T::Text],
        T::TimestampTz,
        |b| {
            b.map3(|unit, time, zone| {
                truncate_utc(
                    unit,
                    time,
                    |utc| at_time_zone(zone, utc, 1),
                    |local| at_time_zone(zone, local, -1),
                )
            })
        },
    )
    .bounded(),
    FunctionDef::new("date_trunc", &[T::Text, T::Interval], T::Interval, |b| {
        b.map2(truncate_interval)
    })
    .bounded(),
    FunctionDef::new("age", &[T::Timestamp, T::Timestamp], T::Interval, |b| {
        b.map2(|Timestamp(a), Timestamp(b)| age(a, b))
    }),
    FunctionDef::new("age", &[T::TimestampTz, T::TimestampTz], T::Interval, |b| {
        let zone = b.settings.time_zone;
        b.map2(|TimestampTz(a), TimestampTz(b)| age(to_local(a, zone)?, to_local(b, zone)?))
    }),
    FunctionDef::new("make_date", &[T::Int4, T::Int4, T::Int4], T::Date, |b| {
        b.map3(make_date)
    })
    .parameters(&[("year", None), ("month", None), ("day", None)]),
    FunctionDef::new("make_time", &[T::Int4, T::Int4, T::Float8], T::Time, |b| {
        b.map3(make_time)
    })
    .parameters(&[("hour", None), ("min", None), ("sec", None)]),
    FunctionDef::new(
        "make_timestamp",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8],
        T::Timestamp,
        |b| b.map_values(|parts| local_of_parts(parts).map(Timestamp)),
    )
    .parameters(MOMENT),
    FunctionDef::new(
        "make_timestamptz",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8],
        T::TimestampTz,
        |b| b.map_values(|parts| from_local(local_of_parts(parts)?, b.settings.time_zone).map(TimestampTz)),
    )
    .parameters(MOMENT),
    FunctionDef::new(
        "make_timestamptz",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8, T::Text],
        T::TimestampTz,
        |b| b.map_values(|parts| utc_of_parts(parts).map(TimestampTz)),
    )
    .parameters(&[
        ("year", None),
        ("month", None),
        ("mday", None),
        ("hour", None),
        ("min", None),
        ("sec", None),
        ("timezone", None),
    ]),
    FunctionDef::new("make_interval", &[], T::Interval, |b| b.map_values(make_interval)),
    FunctionDef::new("make_interval", &[T::Int4; 1], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new("make_interval", &[T::Int4; 2], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new("make_interval", &[T::Int4; 3], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new("make_interval", &[T::Int4; 4], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new("make_interval", &[T::Int4; 5], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new("make_interval", &[T::Int4; 6], T::Interval, |b| {
        b.map_values(make_interval)
    }),
    FunctionDef::new(
        "make_interval",
        &[T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Int4, T::Float8],
        T::Interval,
        |b| b.map_values(make_interval),
    )
    .parameters(&[
        ("years", Some("0")),
        ("months", Some("0")),
        ("weeks", Some("0")),
        ("days", Some("0")),
        ("hours", Some("0")),
        ("mins", Some("0")),
        ("secs", Some("0.0")),
    ]),
    FunctionDef::new("to_timestamp", &[T::Float8], T::TimestampTz, |b| {
        b.map1(from_seconds)
    })
    .bounded(),
    FunctionDef::new("timezone", &[T::Text, T::Timestamp], T::TimestampTz, |b| {
        b.map2(|zone, Timestamp(local)| at_time_zone(zone, local, -1).map(TimestampTz))
    }),
    FunctionDef::new("timezone", &[T::Text, T::TimestampTz], T::Timestamp, |b| {
        b.map2(|zone, TimestampTz(utc)| at_time_zone(zone, utc, 1).map(Timestamp))
    }),
    FunctionDef::new("timezone", &[T::Interval, T::Timestamp], T::TimestampTz, |b| {
        b.map2(|zone, Timestamp(local)| at_offset(zone, local, -1).map(TimestampTz))
    }),
    FunctionDef::new("timezone", &[T::Interval, T::TimestampTz], T::Timestamp, |b| {
        b.map2(|zone, TimestampTz(utc)| at_offset(zone, utc, 1).map(Timestamp))
    }),
    FunctionDef::new("isfinite", &[T::Date], T::Bool, |b| {
        b.map1(|Date(days)| !matches!(days, i32::MIN | i32::MAX))
    }),
    FunctionDef::new("isfinite", &[T::Timestamp], T::Bool, |b| {
        b.map1(|Timestamp(time)| !is_infinite(time))
    }),
    FunctionDef::new("isfinite", &[T::TimestampTz], T::Bool, |b| {
        b.map1(|TimestampTz(time)| !is_infinite(time))
    }),
    FunctionDef::new("clock_timestamp", &[], T::TimestampTz, |b| {
        b.map0(|| TimestampTz(chrono::Utc::now().timestamp_micros()))
    })
    .bounded()
    .volatile(),
    FunctionDef::new("timeofday", &[], T::Text, |b| {
        b.map0(|| {
            let now = chrono::Utc::now().format("%a %b %d %H:%M:%S%.6f %Y UTC");
            now.to_string()
        })
    })
    .volatile(),
    FunctionDef::rows(
        "generate_series",
        &[T::Timestamp, T::Timestamp, T::Interval],
        T::Timestamp,
        |b| {
            b.map3(|Timestamp(start), Timestamp(end), step| {
                let next = |time| shift(time, step);
                series(start, end, step, next)
                    .map(|times| times.into_iter().map(Timestamp).collect::<Vec<_>>())
            })
        },
    ),
    FunctionDef::rows(
        "generate_series",
        &[T::TimestampTz, T::TimestampTz, T::Interval],
        T::TimestampTz,
        |b| {
            b.map3(|TimestampTz(start), TimestampTz(end), step| {
                let next = |time| shift_instant(time, step, b.settings.time_zone);
                series(start, end, step, next)
                    .map(|times| times.into_iter().map(TimestampTz).collect::<Vec<_>>())
            })
        },
    ),
];

fn shifted_date(Date(date): Date, days: i64) -> Result<Date> {
    if matches!(date, i32::MIN | i32::MAX) {
        return Ok(Date(date));
    }
    let shifted = i64::from(date) + days;
    // PostgreSQL's calendar reaches from 4713 BC to 5874897 AD.
    if !(-2_440_588..2_145_042_906).contains(&shifted) {
        return Err(out_of_range("date"));
    }
    i32::try_from(shifted).map(Date).map_err(|_| out_of_range("date"))
}

/// `a - b` of dates.
fn days_between(Date(a): Date, Date(b): Date) -> Result<i32> {
    if [a, b].iter().any(|days| matches!(*days, i32::MIN | i32::MAX)) {
        return Err(Error::DatetimeOverflow {
            message: "cannot subtract infinite dates".to_string(),
        });
    }
    a.checked_sub(b).ok_or_else(|| out_of_range("date"))
}

/// A time of a day.
fn at_clock(Date(days): Date, Time(time): Time) -> Result<Timestamp> {
    let day = timestamp_of_date(days)?;
    match is_infinite(day) {
        true => Ok(Timestamp(day)),
        false => day
            .checked_add(time)
            .map(Timestamp)
            .ok_or_else(|| out_of_range("timestamp")),
    }
}

fn from_date(Date(days): Date, step: Result<Interval>) -> Result<Timestamp> {
    shift(timestamp_of_date(days)?, step?).map(Timestamp)
}

fn from_timestamp(Timestamp(time): Timestamp, step: Result<Interval>) -> Result<Timestamp> {
    shift(time, step?).map(Timestamp)
}

fn from_instant(TimestampTz(time): TimestampTz, step: Result<Interval>, zone: Zone) -> Result<TimestampTz> {
    shift_instant(time, step?, zone).map(TimestampTz)
}

/// The clock goes round.
fn from_time(Time(time): Time, microseconds: i64) -> Time {
    Time((time + microseconds).rem_euclid(MICROS_PER_DAY))
}

/// An instant that much later: months keep the day of the month (or its last), days keep the clock time in the zone.
fn shift_instant(utc: i64, step: Interval, zone: Zone) -> Result<i64> {
    if is_infinite(utc) {
        return Ok(utc);
    }
    let days = Interval {
        microseconds: 0,
        ..step
    };
    let day = match days == Interval::default() {
        true => utc,
        false => from_local(shift(to_local(utc, zone)?, days)?, zone)?,
    };
    day.checked_add(step.microseconds)
        .ok_or_else(|| out_of_range("timestamp"))
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
        .and_then(in_calendar)
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

/// `a - b` of two timestamps: days and time.
fn time_between(a: i64, b: i64) -> Result<Interval> {
    if is_infinite(a) || is_infinite(b) {
        return Err(Error::DatetimeOverflow {
            message: "cannot subtract infinite timestamps".to_string(),
        });
    }
    let micros = a.checked_sub(b).ok_or_else(|| out_of_range("interval"))?;
    Ok(Interval {
        months: 0,
        days: i32::try_from(micros / MICROS_PER_DAY).map_err(|_| out_of_range("interval"))?,
        microseconds: micros % MICROS_PER_DAY,
    })
}

/// `age(a, b)` of what clocks show: years, months and days by the calendar.
fn age(a: i64, b: i64) -> Result<Interval> {
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
    match sign < 0 {
        true => negate_interval(age),
        false => Ok(age),
    }
}

fn month_of(time: &NaiveDateTime) -> i32 {
    i32::try_from(time.month()).unwrap_or(1)
}

/// The times from a start to an end, each a step behind the one before. Errors: 22023 for a step of no length.
fn series(start: i64, end: i64, step: Interval, next: impl Fn(i64) -> Result<i64>) -> Result<Vec<i64>> {
    let direction = step.span().signum();
    if direction == 0 {
        return Err(Error::InvalidParameter {
            message: "step size cannot equal zero".to_string(),
            hint: None,
        });
    }
    let (mut times, mut time) = (Vec::new(), start);
    while (direction > 0 && time <= end) || (direction < 0 && time >= end) {
        if times.len() >= SET_ROWS_MAX {
            return Err(too_many_rows());
        }
        times.push(time);
        time = next(time)?;
    }
    Ok(times)
}
