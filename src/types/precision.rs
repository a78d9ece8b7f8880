//! Digits behind the second and fields of an interval: what `timestamp(p)`, `timestamptz(p)`, `time(p)` and
//! `interval …(p)` keep of a value. Asked wherever text, bytes or another value becomes one of such a type.

use super::datetime::EPOCH_MICROS;
use super::sql_type::SECOND_DIGITS_MAX;
use super::{Interval, PackedKind, PackedValue, SqlType, TimeTz, Value};
use crate::{Error, Result};

/// The value as the type keeps it: rounded, half away from 2000-01-01 or from zero, and without the fields that it has
/// not. A value of a type without modifiers stays. Errors: 22008 for one that is rounded out of the range.
pub(super) fn fit(value: Value, ty: &SqlType) -> Result<Value> {
    Ok(match (value, ty) {
        (Value::Time(micros), SqlType::Time(Some(digits))) => {
            Value::Time(rounded(micros, *digits).ok_or_else(|| out_of_range("time"))?)
        }
        (Value::Timestamp(micros), SqlType::Timestamp(Some(digits))) => {
            Value::Timestamp(rounded_instant(micros, *digits)?)
        }
        (Value::TimestampTz(micros), SqlType::TimestampTz(Some(digits))) => {
            Value::TimestampTz(rounded_instant(micros, *digits)?)
        }
        (Value::Packed(packed), SqlType::Packed(PackedKind::TimeTz(Some(digits)))) => {
            match packed.time_tz() {
                Some(time) => {
                    let local = rounded(time.local, *digits).ok_or_else(|| out_of_range("time"))?;
                    Value::Packed(PackedValue::time(TimeTz { local, ..time }))
                }
                None => Value::Packed(packed),
            }
        }
        (Value::Interval(interval), SqlType::Interval(Some(size))) => {
            let cut = size.fields.map_or(interval, |fields| fields.cut(interval));
            let digits = size.digits.unwrap_or(SECOND_DIGITS_MAX);
            let microseconds = rounded(cut.microseconds, digits).ok_or_else(|| out_of_range("interval"))?;
            Value::Interval(Interval { microseconds, ..cut })
        }
        (value, _) => value,
    })
}

/// Whether a type of times keeps every value of another as it is.
pub(crate) fn keeps_all(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Time(from), SqlType::Time(to))
        | (SqlType::Timestamp(from), SqlType::Timestamp(to))
        | (SqlType::TimestampTz(from), SqlType::TimestampTz(to))
        | (SqlType::Packed(PackedKind::TimeTz(from)), SqlType::Packed(PackedKind::TimeTz(to))) => {
            to.unwrap_or(SECOND_DIGITS_MAX) >= from.unwrap_or(SECOND_DIGITS_MAX)
        }
        (SqlType::Interval(from), SqlType::Interval(to)) => to.is_none() || from == to,
        _ => false,
    }
}

/// Microseconds with so many digits behind the second; half goes away from zero.
fn rounded(micros: i64, digits: u8) -> Option<i64> {
    let unit = 10_i64.pow(u32::from(SECOND_DIGITS_MAX.saturating_sub(digits)));
    let half = unit / 2 * micros.signum();
    micros.checked_add(half).map(|up| up / unit * unit)
}

/// As [`rounded`], counted from PostgreSQL's epoch; infinity stays.
fn rounded_instant(micros: i64, digits: u8) -> Result<i64> {
    if matches!(micros, i64::MIN | i64::MAX) {
        return Ok(micros);
    }
    let since_epoch = micros
        .checked_sub(EPOCH_MICROS)
        .and_then(|since| rounded(since, digits));
    since_epoch
        .and_then(|since| since.checked_add(EPOCH_MICROS))
        .filter(|micros| *micros != i64::MAX)
        .ok_or_else(|| out_of_range("timestamp"))
}

fn out_of_range(what: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::FormatSettings;

    fn read(text: &str, ty: &str) -> String {
        let settings = FormatSettings::default();
        let ty = SqlType::from_formatted(ty).unwrap().unwrap();
        Value::parse(text, &ty, &settings).unwrap().to_text(&settings)
    }

    #[test]
    fn halves_go_away_from_2000_and_from_zero() {
        for (text, ty, expected) in [
            (
                "1999-12-31 23:59:59.5",
                "timestamp(0) without time zone",
                "1999-12-31 23:59:59",
            ),
            (
                "2000-01-01 00:00:00.5",
                "timestamp(0) without time zone",
                "2000-01-01 00:00:01",
            ),
            (
                "2024-12-31 23:59:59.999999",
                "timestamp(3) without time zone",
                "2025-01-01 00:00:00",
            ),
            ("infinity", "timestamp(0) without time zone", "infinity"),
            ("-infinity", "timestamp(0) with time zone", "-infinity"),
            ("23:59:59.5", "time(0) without time zone", "24:00:00"),
            ("12:34:56.789+02", "time(1) with time zone", "12:34:56.8+02"),
            ("23:59:59.9-08", "time(0) with time zone", "24:00:00-08"),
            ("-1.6 seconds", "interval(0)", "-00:00:02"),
            ("1.25 seconds", "interval second(1)", "00:00:01.3"),
            ("15", "interval month", "1 year 3 mons"),
            ("15 months 3 days", "interval year", "1 year"),
            ("3:04", "interval minute to second", "00:03:04"),
            ("3:04", "interval minute", "03:04:00"),
        ] {
            assert_eq!(read(text, ty), expected, "{text} as {ty}");
        }
    }
}
