//! Functions and operators of timetz.

use super::argument::{Date, TimestampTz};
use super::datetime_field::{double, numeric, time_tz_field};
use super::datetime_make::{at_offset, at_time_zone};
use super::datetime_period::overlaps;
use super::{FunctionDef, T};
use crate::Result;
use crate::types::calendar::{MICROS_PER_SECOND, in_calendar, is_infinite, out_of_range};
use crate::types::{Interval, PackedKind, PackedValue, TimeTz, Value, timestamp_of_date};

const Z: T = T::Packed(PackedKind::TimeTz(None));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("+", &[Z, T::Interval], Z, |b| b.map2(shifted)),
    FunctionDef::new("+", &[T::Interval, Z], Z, |b| {
        b.map2(|step, time| shifted(time, step))
    }),
    FunctionDef::new("-", &[Z, T::Interval], Z, |b| {
        b.map2(|time: TimeTz, step: Interval| {
            let back = Interval {
                microseconds: step.microseconds.wrapping_neg(),
                ..step
            };
            shifted(time, back)
        })
    }),
    FunctionDef::new("+", &[T::Date, Z], T::TimestampTz, |b| b.map2(instant)),
    FunctionDef::new("+", &[Z, T::Date], T::TimestampTz, |b| {
        b.map2(|time, date| instant(date, time))
    }),
    FunctionDef::new("timestamptz", &[T::Date, Z], T::TimestampTz, |b| b.map2(instant)),
    FunctionDef::new("extract", &[T::Text, Z], T::Numeric, |b| {
        b.map2(|unit, time| numeric(unit, time_tz_field(unit, time)?))
    }),
    FunctionDef::new("date_part", &[T::Text, Z], T::Float8, |b| {
        b.map2(|unit, time| time_tz_field(unit, time).map(double))
    })
    .bounded(),
    FunctionDef::new("timezone", &[T::Text, Z], Z, |b| {
        b.map2(|zone, time: TimeTz| {
            // The zone's offset is that of today.
            let now = b.settings.now();
            let offset = (at_time_zone(zone, now, 1)? - now) / MICROS_PER_SECOND;
            shown_at(time, offset)
        })
    })
    .stable(),
    FunctionDef::new("timezone", &[T::Interval, Z], Z, |b| {
        b.map2(|zone: Interval, time: TimeTz| shown_at(time, at_offset(zone, 0, 1)? / MICROS_PER_SECOND))
    }),
    FunctionDef::new("overlaps", &[Z; 4], T::Bool, |b| b.map4(overlaps::<TimeTz>)).on_null(),
];

/// The same instant where clocks are so many seconds east of UTC.
fn shown_at(time: TimeTz, offset: i64) -> Result<Value> {
    let offset = i32::try_from(offset).map_err(|_| out_of_range("interval"))?;
    Ok(Value::Packed(PackedValue::time(time.at_offset(offset)?)))
}

fn shifted(time: TimeTz, by: Interval) -> Value {
    Value::Packed(PackedValue::time(time.shifted(by)))
}

fn instant(Date(days): Date, time: TimeTz) -> Result<TimestampTz> {
    let midnight = timestamp_of_date(days)?;
    if is_infinite(midnight) {
        return Ok(TimestampTz(midnight));
    }
    let utc = midnight.checked_add(time.utc());
    in_calendar(utc.ok_or_else(|| out_of_range("timestamp"))?).map(TimestampTz)
}
