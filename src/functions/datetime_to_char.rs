//! Dates, times and intervals printed by a template.

use chrono::{Datelike, NaiveDateTime, Timelike};

use super::argument::{Timestamp, TimestampTz};
use super::datetime_template::{Case, DAYS, Field, Kind, MONTHS, Part, Piece, ROMAN, pieces};
use crate::types::calendar::{DAYS_TO_EPOCH_CE, MICROS_PER_SECOND, civil, is_infinite, to_local};
use crate::types::{Interval, Zone};
use crate::{Error, Result};

/// 1970-01-01 as a Julian day.
pub(super) const EPOCH_JULIAN: i64 = 2_440_588;

/// A moment or a span, taken apart.
struct Fields {
    /// Of a span the years that it has; of a moment the year in which 1 BC is 0.
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    day_of_year: i64,
    /// From Sunday; of a span nothing.
    weekday: usize,
    iso: (i64, i64, i64),
    julian: i64,
    /// Seconds east of UTC, and the zone's name.
    zone: (i64, String),
    is_interval: bool,
}

/// A timestamp by a template; NULL for infinities and without a template.
pub(super) fn timestamp_to_char(Timestamp(time): Timestamp, template: &str) -> Result<Option<String>> {
    moment_to_char(time, (0, String::new()), template)
}

/// An instant by the clocks of a zone.
pub(super) fn instant_to_char(
    TimestampTz(utc): TimestampTz,
    template: &str,
    zone: Zone,
) -> Result<Option<String>> {
    if is_infinite(utc) {
        return Ok(None);
    }
    let local = to_local(utc, zone)?;
    let offset = (local - utc) / MICROS_PER_SECOND;
    moment_to_char(local, (offset, zone.abbreviation_at(utc)), template)
}

fn moment_to_char(time: i64, zone: (i64, String), template: &str) -> Result<Option<String>> {
    if is_infinite(time) || template.is_empty() {
        return Ok(None);
    }
    let civil: NaiveDateTime = civil(time)?;
    let iso = civil.iso_week();
    let year = i64::from(iso.year());
    let fields = Fields {
        year: i64::from(civil.year()),
        month: i64::from(civil.month()),
        day: i64::from(civil.day()),
        hour: i64::from(civil.hour()),
        minute: i64::from(civil.minute()),
        second: i64::from(civil.second()),
        micros: time.rem_euclid(MICROS_PER_SECOND),
        day_of_year: i64::from(civil.ordinal()),
        weekday: civil.weekday().num_days_from_sunday() as usize,
        iso: (
            year,
            i64::from(iso.week()),
            i64::from(iso.week0()) * 7 + i64::from(civil.weekday().number_from_monday()),
        ),
        julian: i64::from(civil.num_days_from_ce()) - DAYS_TO_EPOCH_CE + EPOCH_JULIAN,
        zone,
        is_interval: false,
    };
    fields.print(template).map(Some)
}

/// An interval by a template. Errors: 22007 for fields that only a date has.
pub(super) fn interval_to_char(interval: Interval, template: &str) -> Result<Option<String>> {
    if template.is_empty() {
        return Ok(None);
    }
    let (year, month) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let day = i64::from(interval.days);
    let seconds = interval.microseconds / MICROS_PER_SECOND;
    let fields = Fields {
        year,
        month,
        day,
        hour: seconds / 3600,
        minute: seconds / 60 % 60,
        second: seconds % 60,
        micros: interval.microseconds % MICROS_PER_SECOND,
        day_of_year: (year * 12 + month) * 30 + day,
        weekday: 0,
        iso: iso_of_span(year, month, day),
        julian: julian_of_span(year, month, day),
        zone: (0, String::new()),
        is_interval: true,
    };
    fields.print(template).map(Some)
}

/// The Julian day of PostgreSQL's formula, which takes what is no date, too.
fn julian_of_span(year: i64, month: i64, day: i64) -> i64 {
    let (month, year) = match month > 2 {
        true => (month + 1, year + 4800),
        false => (month + 13, year + 4799),
    };
    let century = year / 100;
    year * 365 - 32167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
}

/// ISO year, week and day of the year of what a span would be as a date.
fn iso_of_span(year: i64, month: i64, day: i64) -> (i64, i64, i64) {
    let julian = julian_of_span(year, month, day);
    // The days since the Monday of the week that holds January 4.
    let since = |year: i64| {
        let fourth = julian_of_span(year, 1, 4);
        julian - (fourth - fourth.rem_euclid(7))
    };
    let (iso_year, days) = match (since(year), since(year + 1)) {
        (_, days @ 0..) => (year + 1, days),
        (days @ 0.., _) => (year, days),
        _ => (year - 1, since(year - 1)),
    };
    (iso_year, days / 7 + 1, days + 1)
}

impl Fields {
    fn print(&self, template: &str) -> Result<String> {
        let mut out = String::new();
        for piece in pieces(template, false)? {
            match piece {
                Piece::Character(c) | Piece::Space(c) | Piece::Separator(c) => out.push(c),
                Piece::Field(field) => out.push_str(&self.field(field)?),
            }
        }
        Ok(out)
    }

    /// Errors: 22007 for a span that is asked for a part of the calendar.
    fn field(&self, field: Field) -> Result<String> {
        let kind = field.pattern.kind;
        let of_calendar = matches!(
            kind,
            Kind::Era
                | Kind::MonthName
                | Kind::MonthAbbreviation
                | Kind::DayName
                | Kind::DayAbbreviation
                | Kind::DayOfWeek
                | Kind::IsoDayOfWeek
        );
        if self.is_interval && (of_calendar || kind.part() == Part::Zone) {
            return Err(Error::Advised {
                error: Box::new(Error::DataException {
                    state: "22007",
                    message: "invalid format specification for an interval value".to_string(),
                }),
                hint: "Intervals are not tied to specific calendar dates.".to_string(),
            });
        }
        Ok(self.name(field).unwrap_or_else(|| self.number(field)))
    }

    /// A field that is a word.
    fn name(&self, field: Field) -> Option<String> {
        let written = field.pattern.name;
        // As the pattern is written: AM, Am or am.
        let cased = |name: &str| match written.as_bytes() {
            [b'a'..=b'z', ..] => name.to_lowercase(),
            [_, b'a'..=b'z', ..] => name.to_string(),
            _ => name.to_uppercase(),
        };
        let padded = |name: String, width: usize| match field.is_fill_mode {
            true => name,
            false => format!("{name:width$}"),
        };
        let padded_name = |name: String| match field.is_translated {
            true => name,
            false => padded(name, 9),
        };
        let month = usize::try_from(self.month - 1)
            .ok()
            .and_then(|month| MONTHS.get(month).copied())
            .unwrap_or_default();
        let day = DAYS[self.weekday % 7];
        let either = |is_second: bool, first: &str, second: &str| {
            let letters = if is_second { second } else { first };
            match written.contains('.') {
                true => cased(&letters.chars().flat_map(|c| [c, '.']).collect::<String>()),
                false => cased(letters),
            }
        };
        Some(match field.pattern.kind {
            Kind::Meridiem => either(self.hour % 24 >= 12, "AM", "PM"),
            Kind::Era => either(self.year <= 0, "AD", "BC"),
            Kind::MonthName => padded_name(cased(month)),
            Kind::MonthAbbreviation => cased(month.get(..3).unwrap_or_default()),
            Kind::DayName => padded_name(cased(day)),
            Kind::DayAbbreviation => cased(&day[..3]),
            Kind::ZoneName => cased(&self.zone.1),
            Kind::Roman => match self.roman() {
                Some(numeral) => padded(cased(numeral), 4),
                None => String::new(),
            },
            Kind::Fixed => String::new(),
            Kind::ZoneHour => {
                let (sign, seconds) = self.offset();
                format!("{sign}{:02}", seconds / 3600)
            }
            Kind::ZoneMinute => format!("{:02}", self.offset().1 % 3600 / 60),
            Kind::Offset => {
                let (sign, seconds) = self.offset();
                let width = if field.is_fill_mode { 0 } else { 2 };
                let minutes = match seconds % 3600 {
                    0 => String::new(),
                    rest => format!(":{:02}", rest / 60),
                };
                format!("{sign}{:0width$}{minutes}", seconds / 3600)
            }
            _ => return None,
        })
    }

    fn offset(&self) -> (char, u64) {
        (
            if self.zone.0 < 0 { '-' } else { '+' },
            self.zone.0.unsigned_abs(),
        )
    }

    /// The month as a Roman numeral; a span that has no month has none.
    fn roman(&self) -> Option<&'static str> {
        let month = match self.month {
            0 if self.year == 0 => return None,
            0 if self.year > 0 => 12,
            0 => 1,
            month @ ..0 => 13 + month,
            month => month,
        };
        let place = usize::try_from(month - 1).ok()?;
        ROMAN.get(place).copied()
    }

    /// A field that is a number.
    fn number(&self, field: Field) -> String {
        // A year BC is told by its era.
        let shown = |year: i64| match year <= 0 && !self.is_interval {
            true => 1 - year,
            false => year,
        };
        let (number, width) = match field.pattern.kind {
            Kind::Hour24 => (self.hour, signed(2, self.hour)),
            Kind::Hour12 => {
                let hour = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
                (hour, signed(2, self.hour))
            }
            Kind::Minute => (self.minute, signed(2, self.minute)),
            Kind::Second => (self.second, signed(2, self.second)),
            Kind::Milliseconds => (self.micros / 1_000, 3),
            Kind::Microseconds => (self.micros, 6),
            Kind::Fraction(digits) => {
                let unit = 10_i64.pow(6 - u32::try_from(digits.min(6)).unwrap_or(6));
                (self.micros / unit, digits)
            }
            Kind::SecondOfDay => (self.hour * 3600 + self.minute * 60 + self.second, 0),
            Kind::Month => (self.month, signed(2, self.month)),
            Kind::DayOfYear => (self.day_of_year, 3),
            Kind::IsoDayOfYear => (self.iso.2, 3),
            Kind::DayOfMonth => (self.day, 2),
            Kind::DayOfWeek => (self.weekday as i64 + 1, 0),
            Kind::IsoDayOfWeek => (if self.weekday == 0 { 7 } else { self.weekday as i64 }, 0),
            Kind::Week => ((self.day_of_year - 1) / 7 + 1, 2),
            Kind::IsoWeek => (self.iso.1, 2),
            Kind::WeekOfMonth => ((self.day - 1) / 7 + 1, 0),
            Kind::Quarter if self.month == 0 => return String::new(),
            Kind::Quarter => ((self.month - 1) / 3 + 1, 0),
            Kind::Julian => (self.julian, 0),
            Kind::Century => {
                let century = match self.year {
                    year if self.is_interval => year / 100,
                    year @ 1.. => (year - 1) / 100 + 1,
                    year => year / 100 - 1,
                };
                let width = if (-99..=99).contains(&century) {
                    signed(2, century)
                } else {
                    0
                };
                (century, width)
            }
            Kind::YearWithComma => {
                let year = shown(self.year);
                let thousands = year / 1000;
                return ordinal(
                    format!("{thousands},{:03}", year - thousands * 1000),
                    field.ordinal,
                );
            }
            Kind::Year(digits) => last_digits(shown(self.year), digits),
            // As wide as the year itself is.
            Kind::IsoYear(digits) => {
                let (_, width) = last_digits(shown(self.year), digits);
                (last_digits(shown(self.iso.0), digits).0, width)
            }
            // Those that are words.
            _ => return String::new(),
        };
        let fixed = matches!(
            field.pattern.kind,
            Kind::Milliseconds | Kind::Microseconds | Kind::Fraction(_)
        );
        let width = if field.is_fill_mode && !fixed { 0 } else { width };
        ordinal(format!("{number:0width$}"), field.ordinal)
    }
}

/// A width, and one more for a sign.
fn signed(width: usize, number: i64) -> usize {
    width + usize::from(number < 0)
}

/// The last so many digits of a year, and how wide they are.
fn last_digits(year: i64, digits: usize) -> (i64, usize) {
    match digits {
        4 => (year, signed(4, year)),
        1 => (year % 10, 1),
        digits => {
            let unit = 10_i64.pow(u32::try_from(digits).unwrap_or(3));
            (year % unit, signed(digits, year))
        }
    }
}

/// The number with the ending of its ordinal, where one is asked for.
pub(super) fn ordinal(number: String, case: Option<Case>) -> String {
    let Some(case) = case else { return number };
    let digits = number.as_bytes();
    let is_teen = digits.len() > 1 && digits[digits.len() - 2] == b'1';
    let ending = match digits.last() {
        Some(b'1') if !is_teen => "st",
        Some(b'2') if !is_teen => "nd",
        Some(b'3') if !is_teen => "rd",
        _ => "th",
    };
    match case {
        Case::Upper => number + &ending.to_uppercase(),
        Case::Lower => number + ending,
    }
}
