//! Reads clock times and zone offsets from their tokens: `04:05:06.789`, `+08:30`. Called by `datetime_input` and
//! `interval`.

use super::datetime_fault::Fault;
use super::spaces::is_space;

/// The largest zone offset, in hours.
const OFFSET_HOURS_MAX: i32 = 15;

/// A time of day as written.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micros: i64,
}

/// Reads `hh:mm`, `hh:mm:ss`, `hh:mm:ss.ffffff` and `mm:ss.ffffff`.
pub(super) fn read_clock(token: &str) -> Result<Clock, Fault> {
    let (whole, fraction) = token.split_at(token.find('.').unwrap_or(token.len()));
    let micros = read_fraction(fraction)?;
    let mut parts = whole.split(':');
    let mut next = || match parts.next() {
        None => Ok(None),
        Some("") => Ok(Some(0)), // PostgreSQL takes `04:05:` and `04::05`
        Some(digits) => digits
            .parse::<i64>()
            .ok()
            .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|value| *value <= i64::from(i32::MAX))
            .map(Some)
            .ok_or(Fault::FieldOverflow),
    };
    let (first, second, third, more) = (next()?, next()?, next()?, next()?);
    match (first, second, third, more) {
        (Some(minute), Some(second), None, None) if !fraction.is_empty() => Ok(Clock {
            hour: 0,
            minute,
            second,
            micros,
        }),
        (Some(hour), Some(minute), second, None) => Ok(Clock {
            hour,
            minute,
            second: second.unwrap_or(0),
            micros,
        }),
        _ => Err(Fault::Format),
    }
}

/// The microseconds of `.123456789`, rounded; of nothing: 0.
pub(super) fn read_fraction(fraction: &str) -> Result<i64, Fault> {
    let Some(digits) = fraction.strip_prefix('.') else {
        return Ok(0);
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::Format);
    }
    let kept = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
    let micros = kept.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    // PostgreSQL rounds half to even, through a double; a half needs nothing behind it.
    let rest = digits.get(6..).unwrap_or_default();
    let half = rest.starts_with('5') && rest[1..].bytes().all(|byte| byte == b'0');
    let up = if half {
        micros % 2 == 1
    } else {
        rest.as_bytes().first().is_some_and(|digit| *digit >= b'5')
    };
    Ok(micros + i64::from(up))
}

/// Seconds east of UTC of `+08`, `-0330`, `+08:30`, `+08:30:15`.
pub(crate) fn read_offset(token: &str) -> Result<i32, Fault> {
    let (negative, digits) = match token.as_bytes().first() {
        Some(b'-') => (true, &token[1..]),
        Some(b'+') => (false, &token[1..]),
        _ => return Err(Fault::Format),
    };
    let digits = digits.trim_start_matches(is_space);
    let number = |digits: &str| digits.parse::<i32>().map_err(|_| Fault::Format);
    // Nothing behind a colon counts as 0, as in `+10:`.
    let part = |digits: &str| if digits.is_empty() { Ok(0) } else { number(digits) };
    let mut parts = digits.split(':');
    let first = parts.next().unwrap_or_default();
    let (hours, minutes) = match parts.next() {
        Some(minutes) => (number(first)?, part(minutes)?),
        None if first.len() > 2 => {
            let (hours, minutes) = first.split_at(first.len() - 2);
            (number(hours)?, number(minutes)?)
        }
        None => (number(first)?, 0),
    };
    let seconds = parts.next().map_or(Ok(0), part)?;
    if parts.next().is_some() {
        return Err(Fault::Format);
    }
    if hours > OFFSET_HOURS_MAX || !(0..60).contains(&minutes) || !(0..60).contains(&seconds) {
        return Err(Fault::OffsetOverflow);
    }
    let offset = (hours * 60 + minutes) * 60 + seconds;
    Ok(if negative { -offset } else { offset })
}
