//! Templates of dates and times (`'YYYY-MM-DD'`), cut into pieces as PostgreSQL cuts them. `datetime_to_char` prints by them,
//! `datetime_from_char` reads by them.

use crate::{Error, Result};

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Field(Field),
    /// A character that stands for itself.
    Character(char),
    /// A blank outside of quotes.
    Space(char),
    /// Another character outside of quotes that is neither letter nor digit.
    Separator(char),
}

/// A field, and what is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) pattern: &'static Pattern,
    /// FM: without padding.
    pub(super) is_fill_mode: bool,
    /// TM: a name in the language of the session, which is not padded.
    pub(super) is_translated: bool,
    /// TH or th: with an ordinal's ending.
    pub(super) ordinal: Option<Case>,
}

/// How an ordinal's ending is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
}

/// Which calendar a field belongs to: those of both do not mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calendar {
    Any,
    Gregorian,
    IsoWeek,
}

/// What a field is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Date,
    Time,
    Zone,
    Nothing,
}

/// A row of [`PATTERNS`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// As it is written.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Whether what is read for it is digits.
    pub(super) is_digits: bool,
    pub(super) calendar: Calendar,
}

/// What a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A.D., with or without points.
    Era,
    /// A.M., with or without points.
    Meridiem,
    Century,
    DayName,
    DayAbbreviation,
    DayOfYear,
    DayOfMonth,
    DayOfWeek,
    /// So many digits behind the second.
    Fraction(usize),
    /// FX: what is read is as long as the template says.
    Fixed,
    Hour24,
    Hour12,
    IsoDayOfYear,
    IsoDayOfWeek,
    IsoWeek,
    /// The last so many digits of the year.
    IsoYear(usize),
    Julian,
    Minute,
    Month,
    MonthName,
    MonthAbbreviation,
    Milliseconds,
    Offset,
    Quarter,
    Roman,
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    ZoneName,
    Microseconds,
    Week,
    WeekOfMonth,
    /// Y,YYY.
    YearWithComma,
    /// The last so many digits of the year.
    Year(usize),
}

impl Kind {
    pub(super) fn part(self) -> Part {
        match self {
            Kind::Meridiem
            | Kind::Fraction(_)
            | Kind::Hour24
            | Kind::Hour12
            | Kind::Minute
            | Kind::Milliseconds
            | Kind::SecondOfDay
            | Kind::Second
            | Kind::Microseconds => Part::Time,
            Kind::Offset | Kind::ZoneHour | Kind::ZoneMinute | Kind::ZoneName => Part::Zone,
            Kind::Fixed => Part::Nothing,
            _ => Part::Date,
        }
    }
}

const fn digits(name: &'static str, kind: Kind) -> Pattern {
    Pattern {
        name,
        kind,
        is_digits: true,
        calendar: Calendar::Any,
    }
}

const fn letters(name: &'static str, kind: Kind) -> Pattern {
    Pattern {
        is_digits: false,
        ..digits(name, kind)
    }
}

const fn gregorian(pattern: Pattern) -> Pattern {
    Pattern {
        calendar: Calendar::Gregorian,
        ..pattern
    }
}

const fn iso(pattern: Pattern) -> Pattern {
    Pattern {
        calendar: Calendar::IsoWeek,
        ..pattern
    }
}

/// Every pattern, longer ones before their beginnings. Those of letters say by their case how the name is written.
static PATTERNS: &[Pattern] = &[
    letters("A.D.", Kind::Era),
    letters("A.M.", Kind::Meridiem),
    letters("AD", Kind::Era),
    letters("AM", Kind::Meridiem),
    letters("B.C.", Kind::Era),
    letters("BC", Kind::Era),
    digits("CC", Kind::Century),
    letters("DAY", Kind::DayName),
    gregorian(digits("DDD", Kind::DayOfYear)),
    gregorian(digits("DD", Kind::DayOfMonth)),
    letters("DY", Kind::DayAbbreviation),
    letters("Day", Kind::DayName),
    letters("Dy", Kind::DayAbbreviation),
    gregorian(digits("D", Kind::DayOfWeek)),
    digits("FF1", Kind::Fraction(1)),
    digits("FF2", Kind::Fraction(2)),
    digits("FF3", Kind::Fraction(3)),
    digits("FF4", Kind::Fraction(4)),
    digits("FF5", Kind::Fraction(5)),
    digits("FF6", Kind::Fraction(6)),
    letters("FX", Kind::Fixed),
    digits("HH24", Kind::Hour24),
    digits("HH12", Kind::Hour12),
    digits("HH", Kind::Hour12),
    iso(digits("IDDD", Kind::IsoDayOfYear)),
    iso(digits("ID", Kind::IsoDayOfWeek)),
    iso(digits("IW", Kind::IsoWeek)),
    iso(digits("IYYY", Kind::IsoYear(4))),
    iso(digits("IYY", Kind::IsoYear(3))),
    iso(digits("IY", Kind::IsoYear(2))),
    iso(digits("I", Kind::IsoYear(1))),
    digits("J", Kind::Julian),
    digits("MI", Kind::Minute),
    gregorian(digits("MM", Kind::Month)),
    gregorian(letters("MONTH", Kind::MonthName)),
    gregorian(letters("MON", Kind::MonthAbbreviation)),
    digits("MS", Kind::Milliseconds),
    gregorian(letters("Month", Kind::MonthName)),
    gregorian(letters("Mon", Kind::MonthAbbreviation)),
    letters("OF", Kind::Offset),
    letters("P.M.", Kind::Meridiem),
    letters("PM", Kind::Meridiem),
    digits("Q", Kind::Quarter),
    gregorian(letters("RM", Kind::Roman)),
    digits("SSSSS", Kind::SecondOfDay),
    digits("SSSS", Kind::SecondOfDay),
    digits("SS", Kind::Second),
    letters("TZH", Kind::ZoneHour),
    digits("TZM", Kind::ZoneMinute),
    letters("TZ", Kind::ZoneName),
    digits("US", Kind::Microseconds),
    gregorian(digits("WW", Kind::Week)),
    gregorian(digits("W", Kind::WeekOfMonth)),
    gregorian(digits("Y,YYY", Kind::YearWithComma)),
    gregorian(digits("YYYY", Kind::Year(4))),
    gregorian(digits("YYY", Kind::Year(3))),
    gregorian(digits("YY", Kind::Year(2))),
    gregorian(digits("Y", Kind::Year(1))),
    letters("a.d.", Kind::Era),
    letters("a.m.", Kind::Meridiem),
    letters("ad", Kind::Era),
    letters("am", Kind::Meridiem),
    letters("b.c.", Kind::Era),
    letters("bc", Kind::Era),
    letters("day", Kind::DayName),
    letters("dy", Kind::DayAbbreviation),
    gregorian(letters("month", Kind::MonthName)),
    gregorian(letters("mon", Kind::MonthAbbreviation)),
    letters("p.m.", Kind::Meridiem),
    letters("pm", Kind::Meridiem),
    gregorian(letters("rm", Kind::Roman)),
    letters("tz", Kind::ZoneName),
];

/// Patterns that are the same in lower case, by that.
const SAME_IN_LOWER_CASE: &[&str] = &[
    "cc", "ddd", "dd", "d", "ff1", "ff2", "ff3", "ff4", "ff5", "ff6", "fx", "hh24", "hh12", "hh", "iddd",
    "id", "iw", "iyyy", "iyy", "iy", "i", "j", "mi", "mm", "ms", "of", "q", "sssss", "ssss", "ss", "tzh",
    "tzm", "us", "ww", "w", "y,yyy", "yyyy", "yyy", "yy", "y",
];

/// The pattern that a text begins with, the longest.
fn pattern_at(text: &str) -> Option<&'static Pattern> {
    let exact = PATTERNS.iter().filter(|pattern| text.starts_with(pattern.name));
    let lower = SAME_IN_LOWER_CASE.iter().filter(|name| text.starts_with(**name));
    let lower = lower.filter_map(|name| {
        PATTERNS
            .iter()
            .find(|pattern| pattern.name.eq_ignore_ascii_case(name))
    });
    exact.chain(lower).max_by_key(|pattern| pattern.name.len())
}

/// The pieces of a template. A strict one, of a jsonpath, has few separators. Errors: 22007 for others.
pub(super) fn pieces(template: &str, is_strict: bool) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while !rest.is_empty() {
        let prefix = ["FM", "fm", "TM", "tm"]
            .into_iter()
            .find(|prefix| rest.starts_with(prefix));
        rest = &rest[prefix.map_or(0, str::len)..];
        if let Some(pattern) = pattern_at(rest) {
            rest = &rest[pattern.name.len()..];
            let (ordinal, length) = match rest.as_bytes() {
                [b'T', b'H', ..] => (Some(Case::Upper), 2),
                [b't', b'h', ..] => (Some(Case::Lower), 2),
                [b'S', b'P', ..] => (None, 2),
                _ => (None, 0),
            };
            rest = &rest[length..];
            pieces.push(Piece::Field(Field {
                pattern,
                is_fill_mode: prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("FM")),
                is_translated: prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case("TM")),
                ordinal,
            }));
            continue;
        }
        let Some(first) = rest.chars().next() else { break };
        if first == '"' {
            rest = quoted(&rest[1..], |character| pieces.push(Piece::Character(character)));
            continue;
        }
        if is_strict {
            pieces.push(match first {
                ' ' => Piece::Space(' '),
                '-' | '.' | '/' | ',' | '\'' | ':' | ';' => Piece::Separator(first),
                _ => {
                    return Err(Error::DataException {
                        state: "22007",
                        message: format!("invalid datetime format separator: \"{first}\""),
                    });
                }
            });
            rest = &rest[first.len_utf8()..];
            continue;
        }
        // A backslash outside of quotes is one, but before a quote.
        rest = rest
            .strip_prefix('\\')
            .filter(|rest| rest.starts_with('"'))
            .unwrap_or(rest);
        let Some(first) = rest.chars().next() else { break };
        rest = &rest[first.len_utf8()..];
        pieces.push(match first {
            first if is_separator(first) => Piece::Separator(first),
            first if is_space(first) => Piece::Space(first),
            first => Piece::Character(first),
        });
    }
    Ok(pieces)
}

/// Calls for each character of a quoted text, behind its first quote; answers what stands behind its end.
pub(super) fn quoted(text: &str, mut each: impl FnMut(char)) -> &str {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            '"' => return characters.as_str(),
            '\\' => characters.next().unwrap_or('\\'),
            character => character,
        };
        each(character);
    }
    ""
}

/// Whether it is ASCII, seen, and neither letter nor digit.
pub(super) fn is_separator(character: char) -> bool {
    character.is_ascii_graphic() && !character.is_ascii_alphanumeric()
}

/// What C calls a blank.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

pub(super) const MONTHS: [&str; 12] = [
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
/// From Sunday.
pub(super) const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
/// From January.
pub(super) const ROMAN: [&str; 12] = [
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII",
];
