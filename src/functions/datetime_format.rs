//! `to_char` of dates and times, `to_date` and `to_timestamp` by a template.

use super::argument::{Date, TimestampTz};
use super::datetime_from_char::read;
use super::datetime_to_char::{instant_to_char, interval_to_char, timestamp_to_char};
use super::{FunctionDef, T};
use crate::types::Zone;
use crate::types::calendar::{FIRST_DAY, MICROS_PER_DAY, MICROS_PER_SECOND, from_local, out_of_range};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_char", &[T::Timestamp, T::Text], T::Text, |b| {
        b.map2(timestamp_to_char)
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::TimestampTz, T::Text], T::Text, |b| {
        b.map2(|time, template| instant_to_char(time, template, b.settings.time_zone))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Interval, T::Text], T::Text, |b| {
        b.map2(interval_to_char)
    })
    .bounded(),
    FunctionDef::new("to_date", &[T::Text, T::Text], T::Date, |b| {
        b.map2(|text: &str, template: &str| date(text, template))
    }),
    FunctionDef::new("to_timestamp", &[T::Text, T::Text], T::TimestampTz, |b| {
        b.map2(|text: &str, template: &str| instant(text, template, b.settings.time_zone))
    })
    .bounded(),
];

/// The last, 5874897-12-31.
const LAST_DAY: i64 = 2_145_042_541;

fn date(text: &str, template: &str) -> Result<Date> {
    let days = read(text, template, false)?.days();
    let days = Some(days).filter(|days| (FIRST_DAY..=LAST_DAY).contains(days));
    let days = days.and_then(|days| i32::try_from(days).ok());
    days.map(Date).ok_or_else(|| Error::DatetimeOverflow {
        message: format!("date out of range: \"{text}\""),
    })
}

fn instant(text: &str, template: &str, zone: Zone) -> Result<TimestampTz> {
    let reading = read(text, template, false)?;
    let overflow = || out_of_range("timestamp");
    let local = reading
        .days()
        .checked_mul(MICROS_PER_DAY)
        .and_then(|day| day.checked_add(reading.time))
        .ok_or_else(overflow)?;
    let utc = match reading.offset {
        Some(seconds) => local
            .checked_sub(seconds * MICROS_PER_SECOND)
            .ok_or_else(overflow)?,
        None => from_local(local, zone)?,
    };
    crate::types::calendar::in_calendar(utc).map(|utc| TimestampTz(rounded(utc, reading.digits)))
}

/// A time with so many digits behind the second.
pub(super) fn rounded(time: i64, digits: Option<usize>) -> i64 {
    let Some(digits) = digits else { return time };
    let unit = 10_i64.pow(6 - u32::try_from(digits.min(6)).unwrap_or(6));
    let half = unit / 2;
    match time >= 0 {
        true => (time.saturating_add(half)) / unit * unit,
        false => -((time.saturating_neg().saturating_add(half)) / unit * unit),
    }
}
