//! Intervals: their arithmetic, their order, and the carrying of hours to days and of days to months.

use super::{Body, FunctionDef, T, mismatched_types};
use crate::types::calendar::{MICROS_PER_DAY, out_of_range};
use crate::types::{Interval, Numeric, SqlType, Value};
use crate::{Error, Result};

/// The name of [`INTERVAL_ORDER`].
pub(super) const INTERVAL_ORDER_NAME: &str = "interval_order";
/// An interval as one number, for comparisons: a month counts 30 days, a day 24 hours.
pub(super) const INTERVAL_ORDER: Body = Body::Batch(|b| b.map1(span));

/// Intervals as bytes that are in their order, with the interval itself at the end: so an extremum tells which interval it is; and the
/// intervals of those.
pub const INTERVAL_WITH_KEY: Body = Body::Batch(|b| b.map1(with_key));
/// See [`INTERVAL_WITH_KEY`].
pub const INTERVAL_OF_KEY: Body = Body::Batch(|b| b.map1(of_key));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("+", &[T::Interval, T::Interval], T::Interval, |b| b.map2(sum)),
    FunctionDef::new("-", &[T::Interval, T::Interval], T::Interval, |b| {
        b.map2(|left, right| sum(left, negate_interval(right)?))
    }),
    FunctionDef::new("*", &[T::Interval, T::Float8], T::Interval, |b| {
        b.map2(|interval, factor: f64| scaled(interval, |part| part * factor))
    }),
    FunctionDef::new("*", &[T::Float8, T::Interval], T::Interval, |b| {
        b.map2(|factor: f64, interval| scaled(interval, |part| part * factor))
    }),
    FunctionDef::new("/", &[T::Interval, T::Float8], T::Interval, |b| {
        b.map2(|interval, divisor: f64| match divisor == 0.0 {
            true => Err(Error::DivisionByZero),
            false => scaled(interval, |part| part / divisor),
        })
    }),
    // What sums of intervals are put together from.
    FunctionDef::new("interval_months", &[T::Interval], T::Int8, |b| {
        b.map1(|interval: Interval| i64::from(interval.months))
    }),
    FunctionDef::new("interval_days", &[T::Interval], T::Int8, |b| {
        b.map1(|interval: Interval| i64::from(interval.days))
    }),
    FunctionDef::new("interval_microseconds", &[T::Interval], T::Int8, |b| {
        b.map1(|interval: Interval| interval.microseconds)
    }),
    FunctionDef::new(
        "interval_of_parts",
        &[T::Numeric, T::Numeric, T::Numeric],
        T::Interval,
        |b| b.map3(of_parts),
    ),
    FunctionDef::new(
        "interval_average_of_parts",
        &[T::Numeric, T::Numeric, T::Numeric, T::Int8],
        T::Interval,
        |b| b.map_values(average_of_parts),
    ),
    FunctionDef::new("isfinite", &[T::Interval], T::Bool, |b| {
        b.map1(|_: Interval| true)
    }),
    FunctionDef::new("justify_hours", &[T::Interval], T::Interval, |b| {
        b.map1(justify_hours)
    }),
    FunctionDef::new("justify_days", &[T::Interval], T::Interval, |b| {
        b.map1(justify_days)
    }),
    FunctionDef::new("justify_interval", &[T::Interval], T::Interval, |b| {
        b.map1(justify_interval)
    }),
];

/// The interval of so many months, days and microseconds. 22008 beyond its range.
fn of_parts(months: Numeric, days: Numeric, microseconds: Numeric) -> Result<Interval> {
    let parts = || {
        Some(Interval {
            months: months.unscaled_at(0)?.try_into().ok()?,
            days: days.unscaled_at(0)?.try_into().ok()?,
            microseconds: microseconds.unscaled_at(0)?.try_into().ok()?,
        })
    };
    parts().ok_or_else(|| out_of_range("interval"))
}

/// The sums of months, days and microseconds, divided by how many there are: the sum alone may be more than is kept of an interval.
fn average_of_parts(parts: &[Value]) -> Result<Interval> {
    let [
        Value::Numeric(months),
        Value::Numeric(days),
        Value::Numeric(microseconds),
        Value::Int(count),
    ] = parts
    else {
        return Err(mismatched_types());
    };
    let sum = of_parts(months.clone(), days.clone(), microseconds.clone())?;
    scaled(sum, |part| part / *count as f64)
}

/// The type of [`INTERVAL_ORDER`]'s result.
pub(super) fn interval_order_type() -> SqlType {
    SqlType::numeric_of_scale(0)
}

fn with_key(interval: Interval) -> Vec<u8> {
    // Bytes of numbers below zero come first when the sign is turned.
    let order = interval.span() ^ i128::MIN;
    let mut key = order.to_be_bytes().to_vec();
    key.extend(interval.months.to_be_bytes());
    key.extend(interval.days.to_be_bytes());
    key.extend(interval.microseconds.to_be_bytes());
    key
}

fn of_key(key: &[u8]) -> Result<Interval> {
    let parts = || {
        let (_, rest) = key.split_first_chunk::<16>()?;
        let (months, rest) = rest.split_first_chunk()?;
        let (days, rest) = rest.split_first_chunk()?;
        Some(Interval {
            months: i32::from_be_bytes(*months),
            days: i32::from_be_bytes(*days),
            microseconds: i64::from_be_bytes(rest.try_into().ok()?),
        })
    };
    parts().ok_or_else(|| Error::internal("bytes that are no interval behind its key"))
}

fn span(interval: Interval) -> Numeric {
    Numeric::from_i128(interval.span(), 0)
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

/// Each part multiplied or divided by a number: fractions of months become days, fractions of days time, as
/// PostgreSQL's `interval_mul` and `interval_div` have it.
fn scaled(interval: Interval, scale: impl Fn(f64) -> f64) -> Result<Interval> {
    let overflow = || out_of_range("interval");
    let whole = |number: f64| match number.abs() <= f64::from(i32::MAX) {
        true => Ok(number as i32),
        false => Err(overflow()),
    };
    let to_micros = |number: f64| (number * 1e6).round_ties_even() / 1e6;
    let (months, days) = (scale(f64::from(interval.months)), scale(f64::from(interval.days)));
    let whole_days = whole(days)?;
    let month_days = to_micros((months - f64::from(whole(months)?)) * 30.0);
    let seconds = to_micros((days - f64::from(whole_days) + month_days.fract()) * 86_400.0);
    let carried = seconds / 86_400.0;
    let days = whole_days.checked_add(whole(month_days)?);
    let days = days
        .and_then(|days| days.checked_add(carried as i32))
        .ok_or_else(overflow)?;
    let seconds = seconds - carried.trunc() * 86_400.0;
    let microseconds = (scale(interval.microseconds as f64) + seconds * 1e6).round_ties_even();
    // Neither NaN nor what no i64 holds.
    match microseconds.abs() < 9.223_372_036_854_775e18 {
        true => Ok(Interval {
            months: whole(months)?,
            days,
            microseconds: microseconds as i64,
        }),
        false => Err(overflow()),
    }
}

/// The sum of intervals, or their average; NULL of none. Errors: 22008.
pub(super) fn sum_of(intervals: &[Interval], is_average: bool) -> Result<Option<Interval>> {
    let Some((first, rest)) = intervals.split_first() else {
        return Ok(None);
    };
    let total = rest.iter().try_fold(*first, |total, next| sum(total, *next))?;
    match is_average {
        true => scaled(total, |part| part / intervals.len() as f64).map(Some),
        false => Ok(Some(total)),
    }
}

/// The interval that lies so far between two, from 0 to 1.
pub(super) fn between(first: Interval, second: Interval, share: f64) -> Result<Interval> {
    let distance = sum(second, negate_interval(first)?)?;
    sum(first, scaled(distance, |part| part * share)?)
}

/// 24 hours are a day; days and hours then have one sign.
fn justify_hours(interval: Interval) -> Result<Interval> {
    let (mut days, mut microseconds) = (
        i64::from(interval.days) + interval.microseconds / MICROS_PER_DAY,
        interval.microseconds % MICROS_PER_DAY,
    );
    match (days.signum(), microseconds.signum()) {
        (1, -1) => (days, microseconds) = (days - 1, microseconds + MICROS_PER_DAY),
        (-1, 1) => (days, microseconds) = (days + 1, microseconds - MICROS_PER_DAY),
        _ => {}
    }
    Ok(Interval {
        months: interval.months,
        days: i32::try_from(days).map_err(|_| out_of_range("interval"))?,
        microseconds,
    })
}

/// 30 days are a month; months and days then have one sign.
fn justify_days(interval: Interval) -> Result<Interval> {
    let (mut months, mut days) = (
        i64::from(interval.months) + i64::from(interval.days / 30),
        interval.days % 30,
    );
    match (months.signum(), days.signum()) {
        (1, -1) => (months, days) = (months - 1, days + 30),
        (-1, 1) => (months, days) = (months + 1, days - 30),
        _ => {}
    }
    Ok(Interval {
        months: i32::try_from(months).map_err(|_| out_of_range("interval"))?,
        days,
        microseconds: interval.microseconds,
    })
}

/// Both; months, days and hours then have one sign.
fn justify_interval(interval: Interval) -> Result<Interval> {
    let all_days = i64::from(interval.days) + interval.microseconds / MICROS_PER_DAY;
    let mut months = i64::from(interval.months) + all_days / 30;
    let (mut days, mut microseconds) = (all_days % 30, interval.microseconds % MICROS_PER_DAY);
    let below = match days {
        0 => microseconds.signum(),
        days => days.signum(),
    };
    match (months.signum(), below) {
        (1, -1) => (months, days) = (months - 1, days + 30),
        (-1, 1) => (months, days) = (months + 1, days - 30),
        _ => {}
    }
    match (days.signum(), microseconds.signum()) {
        (1, -1) => (days, microseconds) = (days - 1, microseconds + MICROS_PER_DAY),
        (-1, 1) => (days, microseconds) = (days + 1, microseconds - MICROS_PER_DAY),
        _ => {}
    }
    Ok(Interval {
        months: i32::try_from(months).map_err(|_| out_of_range("interval"))?,
        days: i32::try_from(days).map_err(|_| out_of_range("interval"))?,
        microseconds,
    })
}
