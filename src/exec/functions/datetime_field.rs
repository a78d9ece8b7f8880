//! Fields of dates, times and intervals (`extract`, `date_part`), and truncation to them (`date_trunc`).

use chrono::{Datelike, NaiveDate, NaiveDateTime};
use chrono_tz::Tz;

use super::calendar::{
    DAYS_TO_EPOCH_CE, MICROS_PER_DAY, MICROS_PER_SECOND, civil, from_local, is_infinite, midnight,
    out_of_range, to_local,
};
use super::{Call, mismatched_types};
use crate::types::{Interval, Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

/// A field of a date or time.
pub(super) enum Field {
    Whole(i64),
    /// Millionths.
    Micros(i128),
    Absent,
    Infinite(bool),
}

pub(super) fn unit_of(value: &Value) -> Result<String> {
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
        _ => Err(mismatched_types()),
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

/// Seconds, milliseconds and epoch have fractions; other fields are whole.
pub(super) fn extract_type(types: &[SqlType], literals: &[Option<Value>]) -> SqlType {
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

pub(super) fn extract(arguments: &[Value], call: &Call) -> Result<Value> {
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
        Field::Infinite(_) => {
            return Err(Error::NumericOutOfRange {
                message: "value overflows numeric format".to_string(),
                detail: Some("NaN and infinity are not stored in numeric values here.".to_string()),
            });
        }
    })
}

pub(super) fn date_part(arguments: &[Value], call: &Call) -> Result<Value> {
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

pub(super) fn field_micros(unit: &str, value: &Value, ty: &SqlType, zone: Tz) -> Result<Field> {
    match value {
        Value::Interval(interval) => interval_field(unit, *interval, ty),
        Value::Time(time) => time_field(unit, *time, ty),
        Value::Date(days) => {
            if matches!(*days, i32::MIN | i32::MAX) {
                // The unit is checked on any date.
                field_micros(unit, &Value::Date(0), ty, zone)?;
                return Ok(infinite(unit, *days < 0));
            }
            match unit {
                "hour" | "minute" | "second" | "milliseconds" | "microseconds" | "timezone"
                | "timezone_hour" | "timezone_minute" => Err(unsupported_unit(unit, ty)),
                "epoch" => Ok(Field::Whole(i64::from(*days) * 86_400)),
                "julian" => Ok(Field::Whole(i64::from(*days) + 2_440_588)),
                _ => date_field(unit, civil(midnight(*days)?)?, ty),
            }
        }
        Value::Timestamp(time) => instant_field(unit, *time, *time, ty),
        Value::TimestampTz(utc) if is_infinite(*utc) => {
            field_micros(unit, &Value::TimestampTz(0), ty, zone)?;
            Ok(infinite(unit, *utc < 0))
        }
        Value::TimestampTz(utc) => {
            let local = to_local(*utc, zone)?;
            let offset = (local - utc) / MICROS_PER_SECOND;
            match unit {
                "timezone" => Ok(Field::Whole(offset)),
                "timezone_hour" => Ok(Field::Whole(offset / 3600)),
                "timezone_minute" => Ok(Field::Whole(offset % 3600 / 60)),
                _ => instant_field(unit, local, *utc, ty),
            }
        }
        _ => Err(mismatched_types()),
    }
}

pub(super) fn infinite(unit: &str, negative: bool) -> Field {
    match unit {
        "year" | "epoch" | "century" | "decade" | "millennium" | "julian" | "isoyear" => {
            Field::Infinite(negative)
        }
        _ => Field::Absent,
    }
}

pub(super) fn instant_field(unit: &str, local: i64, utc: i64, ty: &SqlType) -> Result<Field> {
    if is_infinite(local) {
        instant_field(unit, 0, 0, ty)?;
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

pub(super) fn time_field(unit: &str, time: i64, ty: &SqlType) -> Result<Field> {
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

pub(super) fn date_field(unit: &str, date: NaiveDateTime, ty: &SqlType) -> Result<Field> {
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

pub(super) fn interval_field(unit: &str, interval: Interval, ty: &SqlType) -> Result<Field> {
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

pub(super) fn truncate(arguments: &[Value], call: &Call) -> Result<Value> {
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
        _ => Err(mismatched_types()),
    }
}

pub(super) fn truncate_civil(unit: &str, time: i64, ty: &SqlType) -> Result<i64> {
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

pub(super) fn truncate_interval(unit: &str, interval: Interval, ty: &SqlType) -> Result<Interval> {
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
