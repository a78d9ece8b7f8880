//! The text of intervals in each IntervalStyle. `Scalar` and `Value` call it; nobody else knows the styles.

use super::datetime::MICROS_PER_SECOND;
use super::datetime_output::{put_clock, put_fraction};
use super::{Interval, IntervalStyle, digits};

/// Appends an interval: `1 year 2 mons -3 days +04:05:06`, `P1Y2M-3DT4H5M6S`.
pub(super) fn put_interval(out: &mut Vec<u8>, interval: Interval, style: IntervalStyle) {
    match style {
        IntervalStyle::Postgres => put_postgres(out, interval),
        IntervalStyle::PostgresVerbose => put_verbose(out, Parts::of(interval)),
        IntervalStyle::SqlStandard => put_sql_standard(out, Parts::of(interval)),
        IntervalStyle::Iso8601 => put_iso(out, Parts::of(interval)),
    }
}

/// An interval in units of which each has its own sign.
#[derive(Clone, Copy)]
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Below a minute.
    micros: i64,
}

impl Parts {
    fn of(interval: Interval) -> Parts {
        let minutes = interval.microseconds / (60 * MICROS_PER_SECOND);
        Parts {
            years: i64::from(interval.months / 12),
            months: i64::from(interval.months % 12),
            days: i64::from(interval.days),
            hours: minutes / 60,
            minutes: minutes % 60,
            micros: interval.microseconds % (60 * MICROS_PER_SECOND),
        }
    }

    fn all(self) -> [i64; 6] {
        [
            self.years,
            self.months,
            self.days,
            self.hours,
            self.minutes,
            self.micros,
        ]
    }
}

fn put_postgres(out: &mut Vec<u8>, interval: Interval) {
    let start = out.len();
    let mut negative_before = false;
    let parts = [
        (interval.months / 12, "year"),
        (interval.months % 12, "mon"),
        (interval.days, "day"),
    ];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        if out.len() > start {
            out.push(b' ');
        }
        if negative_before && value > 0 {
            out.push(b'+');
        }
        digits::put_i64(out, i64::from(value));
        put_unit(out, unit, value != 1);
        negative_before = value < 0;
    }
    if interval.microseconds == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    match interval.microseconds < 0 {
        true => out.push(b'-'),
        false if negative_before => out.push(b'+'),
        false => {}
    }
    put_clock(out, interval.microseconds.unsigned_abs());
}

/// `@ 1 year -2 mons 3.5 secs ago`: the sign of the first part is that of `ago`, and the others are relative to it.
fn put_verbose(out: &mut Vec<u8>, parts: Parts) {
    out.push(b'@');
    let mut ago = None;
    let whole = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    for (value, unit) in whole.into_iter().filter(|(value, _)| *value != 0) {
        let shown = match *ago.get_or_insert(value < 0) {
            true => -value,
            false => value,
        };
        out.push(b' ');
        digits::put_i64(out, shown);
        put_unit(out, unit, shown != 1);
    }
    if parts.micros != 0 {
        let is_before = *ago.get_or_insert(parts.micros < 0);
        out.push(b' ');
        if is_before != (parts.micros < 0) {
            out.push(b'-');
        }
        put_seconds(out, parts.micros.unsigned_abs(), 1);
        put_unit(
            out,
            "sec",
            parts.micros.unsigned_abs() != MICROS_PER_SECOND as u64,
        );
    }
    match ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06`, and `+1-2 -3 +4:05:06` where the standard has no form.
fn put_sql_standard(out: &mut Vec<u8>, parts: Parts) {
    let is_negative = parts.all().iter().any(|part| *part < 0);
    let is_positive = parts.all().iter().any(|part| *part > 0);
    let has_months = parts.years != 0 || parts.months != 0;
    let has_days = parts.days != 0 || parts.hours != 0 || parts.minutes != 0 || parts.micros != 0;
    if !is_negative && !is_positive {
        return out.push(b'0');
    }
    let clock_sign = |parts: &Parts| parts.hours < 0 || parts.minutes < 0 || parts.micros < 0;
    let sign = |is_negative: bool| if is_negative { b'-' } else { b'+' };
    if is_negative && is_positive || has_months && has_days {
        out.push(sign(parts.years < 0 || parts.months < 0));
        put_years_and_months(out, parts);
        out.extend_from_slice(&[b' ', sign(parts.days < 0)]);
        digits::put_u64(out, parts.days.unsigned_abs());
        out.extend_from_slice(&[b' ', sign(clock_sign(&parts))]);
        return put_hours(out, parts);
    }
    if is_negative {
        out.push(b'-');
    }
    if has_months {
        return put_years_and_months(out, parts);
    }
    if parts.days != 0 {
        digits::put_u64(out, parts.days.unsigned_abs());
        out.push(b' ');
    }
    put_hours(out, parts);
}

fn put_years_and_months(out: &mut Vec<u8>, parts: Parts) {
    digits::put_u64(out, parts.years.unsigned_abs());
    out.push(b'-');
    digits::put_u64(out, parts.months.unsigned_abs());
}

/// `4:05:06.7`: hours as they are, the rest in two digits.
fn put_hours(out: &mut Vec<u8>, parts: Parts) {
    digits::put_u64(out, parts.hours.unsigned_abs());
    out.push(b':');
    digits::put_padded(out, parts.minutes.unsigned_abs(), 2);
    out.push(b':');
    put_seconds(out, parts.micros.unsigned_abs(), 2);
}

/// `P1Y2M-3DT4H5M6.7S`
fn put_iso(out: &mut Vec<u8>, parts: Parts) {
    if parts.all() == [0; 6] {
        return out.extend_from_slice(b"PT0S");
    }
    let put = |out: &mut Vec<u8>, value: i64, designator: u8| {
        if value != 0 {
            digits::put_i64(out, value);
            out.push(designator);
        }
    };
    out.push(b'P');
    put(out, parts.years, b'Y');
    put(out, parts.months, b'M');
    put(out, parts.days, b'D');
    if parts.hours != 0 || parts.minutes != 0 || parts.micros != 0 {
        out.push(b'T');
    }
    put(out, parts.hours, b'H');
    put(out, parts.minutes, b'M');
    if parts.micros != 0 {
        if parts.micros < 0 {
            out.push(b'-');
        }
        put_seconds(out, parts.micros.unsigned_abs(), 1);
        out.push(b'S');
    }
}

/// Appends seconds in at least `width` digits, and the microseconds without the zeros that end them.
fn put_seconds(out: &mut Vec<u8>, micros: u64, width: usize) {
    digits::put_padded(out, micros / 1_000_000, width);
    put_fraction(out, micros % 1_000_000);
}

fn put_unit(out: &mut Vec<u8>, unit: &str, is_plural: bool) {
    out.push(b' ');
    out.extend_from_slice(unit.as_bytes());
    if is_plural {
        out.push(b's');
    }
}
