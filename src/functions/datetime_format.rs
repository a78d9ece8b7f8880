//! `to_char` of dates and times, `to_date` and `to_timestamp` by a template.

use chrono::{Datelike, NaiveDate, Timelike};
use chrono_tz::Tz;

use super::argument::{Date, Timestamp, TimestampTz};
use super::{FunctionDef, T};
use crate::types::calendar::{
    DAYS_TO_EPOCH_CE, MICROS_PER_DAY, MICROS_PER_SECOND, civil, from_local, is_infinite, to_local,
};
use crate::types::{Interval, zone_abbreviation_at};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_char", &[T::Timestamp, T::Text], T::Text, |b| {
        b.map2(|Timestamp(time), template| to_char(time, 0, "", template))
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
        b.map2(|text, template| {
            let days = read(text, template)?.div_euclid(MICROS_PER_DAY);
            i32::try_from(days).map(Date).map_err(|_| out_of_range())
        })
    }),
    FunctionDef::new("to_timestamp", &[T::Text, T::Text], T::TimestampTz, |b| {
        b.map2(|text, template| from_local(read(text, template)?, b.settings.time_zone).map(TimestampTz))
    })
    .bounded(),
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];

/// Template patterns, longer ones before their prefixes.
const PATTERNS: &[&str] = &[
    "SSSSS", "SSSS", "YYYY", "IYYY", "Y,YYY", "MONTH", "Month", "month", "HH24", "HH12", "A.D.", "a.d.",
    "B.C.", "b.c.", "A.M.", "a.m.", "P.M.", "p.m.", "DAY", "Day", "day", "MON", "Mon", "mon", "DDD", "IDDD",
    "YYY", "IYY", "TZH", "TZM", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "HH", "MI", "SS", "MS", "US", "AM",
    "am", "PM", "pm", "AD", "ad", "BC", "bc", "YY", "IY", "MM", "DY", "Dy", "dy", "DD", "ID", "WW", "IW",
    "CC", "RM", "rm", "TZ", "tz", "OF", "Y", "I", "D", "W", "Q", "J",
];

fn out_of_range() -> Error {
    Error::DatetimeOverflow {
        message: "date out of range".to_string(),
    }
}

/// A piece of a template.
enum Piece {
    /// A pattern, with FM (no padding) and TH (an ordinal's suffix) as asked.
    Pattern {
        name: &'static str,
        fill: bool,
        suffix: Option<&'static str>,
    },
    /// Text as it stands.
    Literal(String),
}

fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (inside, after) = quoted.split_once('"').unwrap_or((quoted, ""));
            pieces.push(Piece::Literal(inside.to_string()));
            rest = after;
            continue;
        }
        let (fill, stripped) = match rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            Some(stripped) => (false, stripped),
            None => (true, rest),
        };
        if let Some(name) = pattern_at(stripped) {
            rest = &stripped[name.len()..];
            let suffix = ["TH", "th"].into_iter().find(|suffix| rest.starts_with(suffix));
            if let Some(suffix) = suffix {
                rest = &rest[suffix.len()..];
            }
            pieces.push(Piece::Pattern { name, fill, suffix });
            continue;
        }
        let mut characters = stripped.chars();
        match characters.next() {
            Some(character) => pieces.push(Piece::Literal(character.to_string())),
            None => break,
        }
        rest = characters.as_str();
    }
    pieces
}

/// The pattern that the text starts with; those of digits take any case.
fn pattern_at(text: &str) -> Option<&'static str> {
    PATTERNS.iter().copied().find(|pattern| {
        text.starts_with(pattern)
            || (text.is_char_boundary(pattern.len().min(text.len()))
                && digits_only(pattern)
                && text
                    .get(..pattern.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(pattern)))
    })
}

fn digits_only(pattern: &str) -> bool {
    matches!(
        pattern,
        "SSSSS"
            | "SSSS"
            | "YYYY"
            | "IYYY"
            | "Y,YYY"
            | "HH24"
            | "HH12"
            | "DDD"
            | "IDDD"
            | "YYY"
            | "IYY"
            | "HH"
            | "MI"
            | "SS"
            | "MS"
            | "US"
            | "YY"
            | "IY"
            | "MM"
            | "DD"
            | "ID"
            | "WW"
            | "IW"
            | "CC"
            | "Y"
            | "I"
            | "D"
            | "W"
            | "Q"
            | "J"
            | "FF1"
            | "FF2"
            | "FF3"
            | "FF4"
            | "FF5"
            | "FF6"
    )
}

fn ordinal(number: i64, suffix: &str) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    if suffix == "TH" {
        ending.to_uppercase()
    } else {
        ending.to_string()
    }
}

/// An instant by the clocks of a zone.
fn instant_to_char(TimestampTz(utc): TimestampTz, template: &str, zone: Tz) -> Result<Option<String>> {
    if is_infinite(utc) {
        return Ok(None);
    }
    let local = to_local(utc, zone)?;
    let name = zone_abbreviation_at(zone, utc);
    to_char(local, (local - utc) / MICROS_PER_SECOND, &name, template)
}

/// What clocks show that are so many seconds ahead of UTC, in a zone of this name.
fn to_char(local: i64, offset_seconds: i64, zone: &str, template: &str) -> Result<Option<String>> {
    if is_infinite(local) {
        return Ok(None);
    }
    let time = civil(local)?;
    let mut out = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => out.push_str(&text),
            Piece::Pattern { name, fill, suffix } => {
                let (text, number) = date_piece(name, &time, local, offset_seconds, zone, fill);
                out.push_str(&text);
                if let (Some(suffix), Some(number)) = (suffix, number) {
                    out.push_str(&ordinal(number, suffix));
                }
            }
        }
    }
    Ok(Some(out))
}

/// The text of one pattern, and its number where it is one: every name `PATTERNS` lists is a word, a number or a zone.
fn date_piece(
    name: &str,
    time: &chrono::NaiveDateTime,
    local: i64,
    offset_seconds: i64,
    zone: &str,
    fill: bool,
) -> (String, Option<i64>) {
    if let Some((word, width)) = word_piece(name, time) {
        return if fill {
            (format!("{word:<width$}"), None)
        } else {
            (word, None)
        };
    }
    if let Some((number, width)) = number_piece(name, time, local) {
        return if fill {
            (format!("{number:0width$}"), Some(number))
        } else {
            (number.to_string(), Some(number))
        };
    }
    let micros = local.rem_euclid(1_000_000);
    let year = shown_year(time);
    let (hours, minutes) = (offset_seconds.abs() / 3600, offset_seconds.abs() % 3600 / 60);
    match name {
        "Y,YYY" => (format!("{},{:03}", year / 1000, year % 1000), None),
        "MS" | "FF3" => (format!("{:03}", micros / 1_000), Some(micros / 1_000)),
        "US" | "FF6" => (format!("{micros:06}"), Some(micros)),
        "FF1" => (format!("{:01}", micros / 100_000), None),
        "FF2" => (format!("{:02}", micros / 10_000), None),
        "FF4" => (format!("{:04}", micros / 100), None),
        "FF5" => (format!("{:05}", micros / 10), None),
        "TZ" => (zone.to_uppercase(), None),
        "tz" => (zone.to_lowercase(), None),
        "TZH" => (format!("{}{hours:02}", sign(offset_seconds)), None),
        "TZM" => (format!("{minutes:02}"), None),
        _ if minutes == 0 => (format!("{}{hours:02}", sign(offset_seconds)), None),
        _ => (format!("{}{hours:02}:{minutes:02}", sign(offset_seconds)), None),
    }
}

/// The year without its era: 1 BC is year 0 of the calendar.
fn shown_year(time: &chrono::NaiveDateTime) -> i64 {
    let year = i64::from(time.year());
    if year > 0 { year } else { 1 - year }
}

/// The patterns that are words, with the width they are filled to.
fn word_piece(name: &str, time: &chrono::NaiveDateTime) -> Option<(String, usize)> {
    let month = MONTHS[usize::try_from(time.month0()).unwrap_or(0)];
    let roman = ROMAN[usize::try_from(time.month0()).unwrap_or(0)];
    let day = DAYS[usize::try_from(time.weekday().num_days_from_sunday()).unwrap_or(0)];
    let marker = |morning: &str, evening: &str| if time.hour() < 12 { morning } else { evening }.to_string();
    let era = |after: &str, before: &str| if time.year() > 0 { after } else { before }.to_string();
    Some(match name {
        "MONTH" => (month.to_uppercase(), 9),
        "Month" => (month.to_string(), 9),
        "month" => (month.to_lowercase(), 9),
        "MON" => (month[..3].to_uppercase(), 3),
        "Mon" => (month[..3].to_string(), 3),
        "mon" => (month[..3].to_lowercase(), 3),
        "DAY" => (day.to_uppercase(), 9),
        "Day" => (day.to_string(), 9),
        "day" => (day.to_lowercase(), 9),
        "DY" => (day[..3].to_uppercase(), 3),
        "Dy" => (day[..3].to_string(), 3),
        "dy" => (day[..3].to_lowercase(), 3),
        "RM" => (roman.to_string(), 4),
        "rm" => (roman.to_lowercase(), 4),
        "AM" | "PM" => (marker("AM", "PM"), 0),
        "am" | "pm" => (marker("am", "pm"), 0),
        "A.M." | "P.M." => (marker("A.M.", "P.M."), 0),
        "a.m." | "p.m." => (marker("a.m.", "p.m."), 0),
        "AD" | "BC" => (era("AD", "BC"), 0),
        "ad" | "bc" => (era("ad", "bc"), 0),
        "A.D." | "B.C." => (era("A.D.", "B.C."), 0),
        "a.d." | "b.c." => (era("a.d.", "b.c."), 0),
        _ => return None,
    })
}

/// The patterns that are numbers, with the digits they are filled to.
fn number_piece(name: &str, time: &chrono::NaiveDateTime, local: i64) -> Option<(i64, usize)> {
    let year = shown_year(time);
    let iso_year = i64::from(time.iso_week().year());
    let hour = i64::from(time.hour());
    let weekday = time.weekday();
    Some(match name {
        "SSSSS" | "SSSS" => (i64::from(time.num_seconds_from_midnight()), 1),
        "YYYY" => (year, 4),
        "YYY" => (year % 1000, 3),
        "YY" => (year % 100, 2),
        "Y" => (year % 10, 1),
        "IYYY" => (iso_year, 4),
        "IYY" => (iso_year % 1000, 3),
        "IY" => (iso_year % 100, 2),
        "I" => (iso_year % 10, 1),
        "HH24" => (hour, 2),
        "HH12" | "HH" => (if hour % 12 == 0 { 12 } else { hour % 12 }, 2),
        "MI" => (i64::from(time.minute()), 2),
        "SS" => (i64::from(time.second()), 2),
        "MM" => (i64::from(time.month()), 2),
        "DDD" => (i64::from(time.ordinal()), 3),
        "IDDD" => (
            i64::from(time.iso_week().week0()) * 7 + i64::from(weekday.number_from_monday()),
            3,
        ),
        "DD" => (i64::from(time.day()), 2),
        "D" => (i64::from(weekday.num_days_from_sunday()) + 1, 1),
        "ID" => (i64::from(weekday.number_from_monday()), 1),
        "WW" => (i64::from(time.ordinal0() / 7 + 1), 2),
        "IW" => (i64::from(time.iso_week().week()), 2),
        "W" => (i64::from(time.day0() / 7 + 1), 1),
        "CC" => ((year + 99) / 100, 2),
        "Q" => (i64::from(time.month0() / 3 + 1), 1),
        "J" => (local.div_euclid(MICROS_PER_DAY) + 2_440_588, 1),
        _ => return None,
    })
}

fn sign(number: i64) -> char {
    if number < 0 { '-' } else { '+' }
}

/// An interval's own hours and days, not a calendar's.
fn interval_to_char(interval: Interval, template: &str) -> String {
    let seconds = interval.microseconds / 1_000_000;
    let mut out = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => out.push_str(&text),
            Piece::Pattern { name, fill, .. } => {
                let (number, width) = match name {
                    "YYYY" => (i64::from(interval.months / 12), 4),
                    "MM" => (i64::from(interval.months % 12), 2),
                    "DD" => (i64::from(interval.days), 2),
                    "HH24" => (seconds / 3600, 2),
                    "HH12" | "HH" => (
                        if seconds / 3600 % 12 == 0 {
                            12
                        } else {
                            seconds / 3600 % 12
                        },
                        2,
                    ),
                    "MI" => (seconds / 60 % 60, 2),
                    "SS" => (seconds % 60, 2),
                    "MS" => (interval.microseconds % 1_000_000 / 1_000, 3),
                    "US" => (interval.microseconds % 1_000_000, 6),
                    other => {
                        out.push_str(other);
                        continue;
                    }
                };
                out.push_str(&if fill {
                    format!("{number:0width$}")
                } else {
                    number.to_string()
                });
            }
        }
    }
    out
}

/// What a text says by a template, as microseconds since 1970.
fn read(input: &str, template: &str) -> Result<i64> {
    let mut fields = Fields {
        month: 1,
        day: 1,
        ..Fields::default()
    };
    let mut rest = input.trim_start();
    for piece in pieces(template) {
        match piece {
            Piece::Literal(_) => {
                // A separator of the template skips one of the text, whichever it is.
                let mut characters = rest.chars();
                if characters
                    .next()
                    .is_some_and(|character| !character.is_alphanumeric())
                {
                    rest = characters.as_str();
                }
            }
            Piece::Pattern { name, .. } => {
                rest = rest.trim_start();
                rest = fields.take(name, rest, template)?;
            }
        }
    }
    fields.finish(input)
}

#[derive(Default)]
struct Fields {
    /// As it is written: of no year there is 0, which is 1 BC.
    year: Option<i32>,
    century: Option<i32>,
    month: u32,
    day: u32,
    day_of_year: Option<u32>,
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    before_christ: bool,
}

impl Fields {
    fn take<'t>(&mut self, name: &str, text: &'t str, template: &str) -> Result<&'t str> {
        let upper = name.to_uppercase();
        let names: Option<(&[&str], usize)> = match upper.as_str() {
            "MONTH" => Some((&MONTHS, usize::MAX)),
            "MON" => Some((&MONTHS, 3)),
            _ => None,
        };
        if let Some((names, length)) = names {
            for (index, name) in names.iter().enumerate() {
                let name = &name[..name.len().min(length)];
                if text
                    .get(..name.len())
                    .is_some_and(|head| head.eq_ignore_ascii_case(name))
                {
                    self.month = u32::try_from(index + 1).unwrap_or(1);
                    return Ok(&text[name.len()..]);
                }
            }
            return Err(bad_value(text, name));
        }
        match upper.as_str() {
            "AM" | "PM" | "A.M." | "P.M." => {
                self.afternoon = Some(text.to_uppercase().starts_with('P'));
                return Ok(text.get(upper.len()..).unwrap_or(""));
            }
            "AD" | "BC" | "A.D." | "B.C." => {
                self.before_christ = text.to_uppercase().starts_with('B');
                return Ok(text.get(upper.len()..).unwrap_or(""));
            }
            "DAY" | "DY" => return Ok(text.trim_start_matches(|character: char| character.is_alphabetic())),
            _ => {}
        }
        let width = match upper.as_str() {
            "YYYY" | "IYYY" => 4,
            "YYY" | "DDD" | "MS" => 3,
            "US" | "SSSSS" | "SSSS" => 6,
            "Y" | "D" | "Q" | "W" => 1,
            "J" => 7,
            "FF1" => 1,
            "FF3" => 3,
            "FF4" => 4,
            "FF5" => 5,
            "FF6" => 6,
            _ => 2,
        };
        let signed = text.starts_with('-') && width == 4;
        let body = if signed { &text[1..] } else { text };
        // A year followed by a separator takes all its digits.
        let width = if width == 4 && !template.contains("YYYYMM") {
            9
        } else {
            width
        };
        let digits = body.bytes().take_while(u8::is_ascii_digit).take(width).count();
        if digits == 0 {
            return Err(bad_value(text, name));
        }
        let number: i64 = body[..digits].parse().map_err(|_| out_of_range())?;
        self.set(&upper, if signed { -number } else { number }, digits)?;
        Ok(&body[digits..])
    }

    fn set(&mut self, name: &str, number: i64, digits: usize) -> Result<()> {
        let small = u32::try_from(number).map_err(|_| out_of_range());
        match name {
            "YYYY" | "IYYY" => self.year = Some(i32::try_from(number).map_err(|_| out_of_range())?),
            "CC" => self.century = Some(i32::try_from(number).map_err(|_| out_of_range())?),
            "YYY" | "YY" | "Y" => {
                let number = i32::try_from(number).map_err(|_| out_of_range())?;
                self.year = Some(if number < 70 {
                    number + 2000
                } else if number < 1000 {
                    number + 1900
                } else {
                    number
                });
            }
            "MM" => self.month = small?,
            "DD" => self.day = small?,
            "DDD" => self.day_of_year = Some(small?),
            "HH24" | "HH12" | "HH" => self.hour = number,
            "MI" => self.minute = number,
            "SS" => self.second = number,
            "MS" => self.micros = number * 10_i64.pow(3 - u32::try_from(digits.min(3)).unwrap_or(3)) * 1_000,
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                self.micros = number * 10_i64.pow(6 - u32::try_from(digits.min(6)).unwrap_or(6))
            }
            "SSSSS" | "SSSS" => {
                self.hour = number / 3600;
                self.minute = number / 60 % 60;
                self.second = number % 60;
            }
            _ => {}
        }
        Ok(())
    }

    /// The year of the calendar, in which 1 BC is 0; `None`: there is none.
    fn calendar_year(&self) -> Option<i32> {
        let signed = |number: i32| if self.before_christ { -number } else { number };
        match (self.year.map(signed), self.century.map(signed)) {
            (Some(year), _) if year < 0 => Some(year + 1),
            (Some(year), _) => Some(year),
            (None, Some(century)) => (century - i32::from(century >= 0))
                .checked_mul(100)?
                .checked_add(1),
            (None, None) => Some(0),
        }
    }

    fn finish(self, input: &str) -> Result<i64> {
        let overflow = || Error::DatetimeOverflow {
            message: format!("date/time field value out of range: \"{input}\""),
        };
        if self.day_of_year.is_some() && self.year.is_none() {
            return Err(Error::DataException {
                state: "22007",
                message: "cannot calculate day of year without year information".to_string(),
            });
        }
        let year = self.calendar_year().ok_or_else(overflow)?;
        let date = match self.day_of_year {
            Some(day) => NaiveDate::from_yo_opt(year, day),
            None => NaiveDate::from_ymd_opt(year, self.month, self.day),
        };
        let date = date.ok_or_else(overflow)?;
        let hour = match self.afternoon {
            Some(true) if self.hour < 12 => self.hour + 12,
            Some(false) if self.hour == 12 => 0,
            _ => self.hour,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return Err(overflow());
        }
        let days = i64::from(date.num_days_from_ce()) - DAYS_TO_EPOCH_CE;
        Ok(days * MICROS_PER_DAY + ((hour * 60 + self.minute) * 60 + self.second) * 1_000_000 + self.micros)
    }
}

fn bad_value(text: &str, pattern: &str) -> Error {
    let shown: String = text.chars().take(pattern.len().max(2)).collect();
    Error::DataException {
        state: "22007",
        message: format!("invalid value \"{shown}\" for \"{pattern}\""),
    }
}
