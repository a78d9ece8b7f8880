//! Dates and times of a path: what `.datetime()` reads of a string, how two of them compare, and how they print.

use std::cmp::Ordering;

use super::datetime_format::rounded;
use super::datetime_from_char::read;
use super::datetime_values::Reading;
use crate::types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, from_local, to_local};
use crate::types::{FormatSettings, Value, Zone};
use crate::{Error, Result};

/// A date, a time or both. Microseconds, and seconds east of UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// Days since 1970-01-01.
    Date(i64),
    Time(i64),
    /// A time of the clocks of a zone, and its offset.
    TimeTz(i64, i64),
    Timestamp(i64),
    /// Since 1970 UTC, and the offset that it was written with.
    TimestampTz(i64, i64),
}

/// What a string without a template is read by, one after another.
const TEMPLATES: &[&str] = &[
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

impl Moment {
    /// Reads a string by a template, or by the first of ISO 8601's that it has the form of. Errors: 22007, 22031.
    pub(super) fn read(text: &str, template: Option<&str>, _: Zone) -> Result<Moment> {
        if let Some(template) = template {
            return Moment::of(&read(text, template, true)?);
        }
        let found = TEMPLATES
            .iter()
            .find_map(|template| Moment::of(&read(text, template, true).ok()?).ok());
        found.ok_or_else(|| Error::Advised {
            error: Box::new(Error::DataException {
                state: "22031",
                message: format!("datetime format is not recognized: \"{text}\""),
            }),
            hint: "Use a datetime template argument to specify the input data format.".to_string(),
        })
    }

    fn of(reading: &Reading) -> Result<Moment> {
        let invalid = |message: &str| Error::DataException {
            state: "22007",
            message: message.to_string(),
        };
        let local = || {
            reading
                .days()
                .checked_mul(MICROS_PER_DAY)
                .and_then(|day| day.checked_add(reading.time))
                .ok_or_else(|| crate::types::calendar::out_of_range("timestamp"))
        };
        let offset = |ty: &str| {
            let missing = format!("missing time zone in input string for type {ty}");
            reading.offset.ok_or_else(|| invalid(&missing))
        };
        match (reading.has_date, reading.has_time, reading.has_zone) {
            (true, true, true) => {
                let offset = offset("timestamptz")?;
                let utc = local()? - offset * MICROS_PER_SECOND;
                Ok(Moment::TimestampTz(rounded(utc, reading.digits), offset))
            }
            (true, true, false) => Ok(Moment::Timestamp(rounded(local()?, reading.digits))),
            (true, false, true) => Err(invalid("datetime format is zoned but not timed")),
            (true, false, false) => Ok(Moment::Date(reading.days())),
            (false, true, true) => Ok(Moment::TimeTz(
                rounded(reading.time, reading.digits),
                offset("timetz")?,
            )),
            (false, true, false) => Ok(Moment::Time(rounded(reading.time, reading.digits))),
            (false, false, _) => Err(invalid("datetime format is not dated and not timed")),
        }
    }

    pub(super) fn type_name(self) -> &'static str {
        match self {
            Moment::Date(_) => "date",
            Moment::Time(_) => "time without time zone",
            Moment::TimeTz(..) => "time with time zone",
            Moment::Timestamp(_) => "timestamp without time zone",
            Moment::TimestampTz(..) => "timestamp with time zone",
        }
    }

    /// As a string of JSON.
    pub(super) fn to_text(self) -> String {
        let settings = FormatSettings::default();
        let printed = |value: Value| value.to_text(&settings);
        let zoned = |clock: String, offset: i64| {
            let sign = if offset < 0 { '-' } else { '+' };
            let offset = offset.unsigned_abs();
            format!("{clock}{sign}{:02}:{:02}", offset / 3600, offset / 60 % 60)
        };
        let iso = |local: i64| printed(Value::Timestamp(local)).replacen(' ', "T", 1);
        match self {
            Moment::Date(days) => printed(Value::Date(i32::try_from(days).unwrap_or(i32::MAX))),
            Moment::Time(time) => printed(Value::Time(time)),
            Moment::TimeTz(time, offset) => zoned(printed(Value::Time(time)), offset),
            Moment::Timestamp(local) => iso(local),
            Moment::TimestampTz(utc, offset) => {
                zoned(iso(utc.saturating_add(offset * MICROS_PER_SECOND)), offset)
            }
        }
    }

    /// How two compare; `None`: a time and a date do not. Errors: 0A000 where only one has a zone, and none is to be used.
    pub(super) fn compared(self, other: &Moment, uses_zone: bool, zone: Zone) -> Result<Option<Ordering>> {
        use Moment as M;
        let refuse = |from: &str, to: &str| Error::Advised {
            error: Box::new(Error::DataException {
                state: "0A000",
                message: format!("cannot convert value from {from} to {to} without time zone usage"),
            }),
            hint: "Use *_tz() function for time zone support.".to_string(),
        };
        let instant = |moment: Moment, from: &str| {
            if !uses_zone {
                return Err(refuse(from, "timestamptz"));
            }
            match moment {
                M::Date(days) => from_local(days.saturating_mul(MICROS_PER_DAY), zone),
                M::Timestamp(local) => from_local(local, zone),
                other => Ok(other.as_number()),
            }
        };
        Ok(Some(match (self, *other) {
            (M::Date(a), M::Date(b)) | (M::Time(a), M::Time(b)) | (M::Timestamp(a), M::Timestamp(b)) => {
                a.cmp(&b)
            }
            (M::TimestampTz(a, _), M::TimestampTz(b, _)) => a.cmp(&b),
            (M::Date(a), M::Timestamp(b)) => a.saturating_mul(MICROS_PER_DAY).cmp(&b),
            (M::Timestamp(a), M::Date(b)) => a.cmp(&b.saturating_mul(MICROS_PER_DAY)),
            (M::Date(_), M::TimestampTz(b, _)) => instant(self, "date")?.cmp(&b),
            (M::Timestamp(_), M::TimestampTz(b, _)) => instant(self, "timestamp")?.cmp(&b),
            (M::TimestampTz(a, _), M::Date(_)) => a.cmp(&instant(*other, "date")?),
            (M::TimestampTz(a, _), M::Timestamp(_)) => a.cmp(&instant(*other, "timestamp")?),
            (M::TimeTz(..), M::TimeTz(..)) => self.time_order().cmp(&other.time_order()),
            (M::Time(time), M::TimeTz(..)) | (M::TimeTz(..), M::Time(time)) => {
                if !uses_zone {
                    return Err(refuse("time", "timetz"));
                }
                let zoned = M::TimeTz(time, offset_today(zone));
                match matches!(self, M::Time(_)) {
                    true => zoned.time_order().cmp(&other.time_order()),
                    false => self.time_order().cmp(&zoned.time_order()),
                }
            }
            _ => return Ok(None),
        }))
    }

    fn as_number(self) -> i64 {
        match self {
            Moment::Date(number)
            | Moment::Time(number)
            | Moment::TimeTz(number, _)
            | Moment::Timestamp(number)
            | Moment::TimestampTz(number, _) => number,
        }
    }

    /// By the instant, then by the zone, those in the east first.
    fn time_order(self) -> (i64, i64) {
        match self {
            Moment::TimeTz(time, offset) => (time - offset * MICROS_PER_SECOND, -offset),
            other => (other.as_number(), 0),
        }
    }
}

/// How far a zone is east of UTC now, in seconds.
fn offset_today(zone: Zone) -> i64 {
    let now = chrono::Utc::now().timestamp_micros();
    to_local(now, zone).map_or(0, |local| (local - now) / MICROS_PER_SECOND)
}
