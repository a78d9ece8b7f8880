//! Reads dates, times and timestamps from text as PostgreSQL does, by the order of DateStyle: ISO 8601 with or without `T`,
//! `20240229`, `2/29/2024`, `29-Feb-2024`, `February 29, 2024 4:05 PM`, `44-03-15 BC`, day of the year, Julian days,
//! `infinity`, `epoch`, `now`, `today`; zones as offsets, names and abbreviations. Called by `Value::parse`.
//!
//! Text is first cut into tokens by shape alone, then each token fills one or more parts of a date; a part filled
//! twice is an error. Both steps follow PostgreSQL's `ParseDateTime` and `DecodeDateTime`, whose quirks are kept:
//! a number may mean a year, a month, a day or a run-together time, by its length and by what is already known.

use super::DateOrder;
use super::calendar::FIRST_DAY;
use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::datetime_decoder::{Read, SessionClock, decode};
use super::datetime_fault::Fault;
use crate::{Error, Result};

/// 5874897-12-31, the last date.
const DAYS_MAX: i64 = 2_145_042_905;

/// Reads a date. Errors: 22007, 22008, 22009, 22023.
pub(super) fn parse_date(text: &str, clock: SessionClock, order: DateOrder) -> Result<i32> {
    let read = decode(text, (clock, order), false).map_err(|fault| fault.error(text, "date"))?;
    let days = match read {
        Read::Infinity => return Ok(i32::MAX),
        Read::NegativeInfinity => return Ok(i32::MIN),
        Read::Epoch => 0,
        Read::Moment { days, .. } => days,
    };
    if !(FIRST_DAY..=DAYS_MAX).contains(&days) {
        return Err(out_of_range("date", text));
    }
    i32::try_from(days).map_err(|_| out_of_range("date", text))
}

/// Reads a timestamp; a zone in the text is read and ignored, as in PostgreSQL. Errors: as [`parse_date`].
pub(super) fn parse_timestamp(text: &str, clock: SessionClock, order: DateOrder) -> Result<i64> {
    let read = decode(text, (clock, order), false).map_err(|fault| fault.error(text, "timestamp"))?;
    match read {
        Read::Infinity => Ok(i64::MAX),
        Read::NegativeInfinity => Ok(i64::MIN),
        Read::Epoch => Ok(0),
        Read::Moment { days, clock, .. } => {
            micros(days, clock).ok_or_else(|| out_of_range("timestamp", text))
        }
    }
}

/// Reads a timestamp with time zone; that of the session is for text without one. Errors: as [`parse_date`].
pub(super) fn parse_timestamptz(text: &str, session: SessionClock, order: DateOrder) -> Result<i64> {
    let read = decode(text, (session, order), false)
        .map_err(|fault| fault.error(text, "timestamp with time zone"))?;
    match read {
        Read::Infinity => Ok(i64::MAX),
        Read::NegativeInfinity => Ok(i64::MIN),
        Read::Epoch => Ok(0),
        Read::Moment {
            days,
            clock,
            zone: written,
        } => {
            // Only the instant must be in range: near the ends the local time may lie beyond.
            let local = days
                .checked_mul(MICROS_PER_DAY)
                .and_then(|day| day.checked_add(clock));
            let local = local.ok_or_else(|| out_of_range("timestamp", text))?;
            let offset = written.unwrap_or(session.zone).offset_of_local(local);
            local
                .checked_sub(i64::from(offset) * MICROS_PER_SECOND)
                .filter(|utc| (FIRST_DAY * MICROS_PER_DAY..i64::MAX).contains(utc))
                .ok_or_else(|| out_of_range("timestamp", text))
        }
    }
}

/// Reads a time of day, 24:00:00 included. Errors: as [`parse_date`].
pub(super) fn parse_time(text: &str, clock: SessionClock, order: DateOrder) -> Result<i64> {
    match decode(text, (clock, order), true).map_err(|fault| fault.error(text, "time"))? {
        Read::Moment { clock, .. } => Ok(clock),
        Read::Infinity | Read::NegativeInfinity | Read::Epoch => Err(Fault::Format.error(text, "time")),
    }
}

/// Reads a time of day and seconds east of UTC; a zone that changes its offset needs the day, the session's has that of today. Errors: as
/// [`parse_date`].
pub(super) fn parse_time_tz(text: &str, session: SessionClock, order: DateOrder) -> Result<(i64, i32)> {
    let name = "time with time zone";
    match decode(text, (session, order), true).map_err(|fault| fault.error(text, name))? {
        Read::Moment { days, clock, zone } => {
            let local = days * MICROS_PER_DAY + clock;
            Ok((clock, zone.unwrap_or(session.zone).offset_of_local(local)))
        }
        Read::Infinity | Read::NegativeInfinity | Read::Epoch => Err(Fault::Format.error(text, name)),
    }
}

/// Microseconds of a local time, when a timestamp can hold them.
pub(super) fn micros(days: i64, clock: i64) -> Option<i64> {
    days.checked_mul(MICROS_PER_DAY)?
        .checked_add(clock)
        .filter(|micros| (FIRST_DAY * MICROS_PER_DAY..i64::MAX).contains(micros))
}

fn out_of_range(what: &str, text: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range: \"{text}\""),
    }
}
