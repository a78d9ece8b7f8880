//! Dates and times read by a template: `to_date`, `to_timestamp`, and `.datetime()` of jsonpath, which is strict. Texts are read
//! as PostgreSQL reads them: blanks are skipped, a separator of the template matches any one, a field of digits takes as many as stand
//! before what is no digit, unless the template's next piece is one of digits, too.

use super::datetime_template::{
    Calendar, DAYS, Field, Kind, MONTHS, Part, Piece, ROMAN, is_separator, is_space, pieces,
};
use crate::types::calendar::MICROS_PER_SECOND;
use crate::{Error, Result};

/// What a text says by a template.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// The year, in which 1 BC is 0.
    pub(super) year: i32,
    pub(super) month: i32,
    pub(super) day: i32,
    /// Microseconds of the day.
    pub(super) time: i64,
    /// Digits behind the second that the template asks for.
    pub(super) digits: Option<usize>,
    /// Seconds east of UTC.
    pub(super) offset: Option<i64>,
    /// What the template has fields of.
    pub(super) has_date: bool,
    pub(super) has_time: bool,
    pub(super) has_zone: bool,
}

impl Reading {
    /// The days since 1970-01-01; a day that its month does not have is one of the next.
    pub(super) fn days(&self) -> i64 {
        days_of(self.year.into(), self.month.into(), self.day.into())
    }
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of days since 1970-01-01.
fn date_of(days: i64) -> (i32, i32, i32) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let small = |number: i64| i32::try_from(number).unwrap_or(i32::MAX);
    (small(year), small(month), small(day))
}

fn invalid(message: impl Into<String>) -> Error {
    Error::DataException {
        state: "22007",
        message: message.into(),
    }
}

fn advised(message: String, hint: &str) -> Error {
    Error::Advised {
        error: Box::new(invalid(message)),
        hint: hint.to_string(),
    }
}

const FIXED_WIDTH_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

/// Reads a text by a template. Errors: 22007, 22008, 22009, 0A000.
pub(super) fn read(text: &str, template: &str, is_strict: bool) -> Result<Reading> {
    let pieces = pieces(template, is_strict)?;
    let mut reader = Reader {
        rest: text,
        is_fixed: is_strict,
        skipped: 0,
        before: None,
        values: Values::default(),
    };
    reader.read(&pieces, is_strict)?;
    let mut reading = reader.values.finish(text)?;
    for piece in &pieces {
        if let Piece::Field(field) = piece {
            match field.pattern.kind.part() {
                Part::Date => reading.has_date = true,
                Part::Time => reading.has_time = true,
                Part::Zone => reading.has_zone = true,
                Part::Nothing => {}
            }
        }
    }
    Ok(reading)
}

struct Reader<'t> {
    rest: &'t str,
    /// FX, or strict: what is read is as long as the template says.
    is_fixed: bool,
    /// Characters that were skipped and that the template does not have.
    skipped: i32,
    /// The character before the rest.
    before: Option<char>,
    values: Values,
}

impl<'t> Reader<'t> {
    fn first(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn skip(&mut self) {
        let mut characters = self.rest.chars();
        if let Some(character) = characters.next() {
            self.before = Some(character);
            self.rest = characters.as_str();
        }
    }

    fn skip_blanks(&mut self) {
        while self.first().is_some_and(is_space) {
            self.skip();
            self.skipped += 1;
        }
    }

    fn read(&mut self, pieces: &[Piece], is_strict: bool) -> Result<()> {
        let mut at = 0;
        while at < pieces.len() && !self.rest.is_empty() {
            let piece = pieces[at];
            let is_field = matches!(piece, Piece::Field(_));
            let is_fx = matches!(piece, Piece::Field(field) if field.pattern.kind == Kind::Fixed);
            if !self.is_fixed && !is_fx && (is_field || at == 0) {
                self.skip_blanks();
            }
            match piece {
                Piece::Space(wanted) | Piece::Separator(wanted) => self.separator(wanted, is_strict)?,
                Piece::Character(wanted) => self.character(wanted, is_strict)?,
                Piece::Field(field) => {
                    self.values.of_calendar(field.pattern.calendar)?;
                    self.field(field, &pieces[at + 1..])?;
                    if !self.is_fixed {
                        self.skipped = 0;
                        self.skip_blanks();
                    }
                }
            }
            at += 1;
        }
        if is_strict {
            if at < pieces.len() {
                return Err(invalid("input string is too short for datetime format"));
            }
            self.rest = self.rest.trim_start_matches(is_space);
            if !self.rest.is_empty() {
                return Err(invalid(
                    "trailing characters remain in input string after datetime format",
                ));
            }
        }
        Ok(())
    }

    fn separator(&mut self, wanted: char, is_strict: bool) -> Result<()> {
        if is_strict {
            if self.first() != Some(wanted) {
                return Err(invalid(format!("unmatched format separator \"{wanted}\"")));
            }
            self.skip();
        } else if self.is_fixed {
            self.skip();
        } else {
            self.skipped -= 1;
            if self
                .first()
                .is_some_and(|first| is_space(first) || is_separator(first))
            {
                self.skip();
                self.skipped += 1;
            }
        }
        Ok(())
    }

    fn character(&mut self, wanted: char, is_strict: bool) -> Result<()> {
        if is_strict && self.first() != Some(wanted) {
            return Err(invalid(format!("unmatched format character \"{wanted}\"")));
        }
        match !self.is_fixed && self.skipped > 0 {
            true => self.skipped -= 1,
            false => self.skip(),
        }
        Ok(())
    }

    fn field(&mut self, field: Field, next: &[Piece]) -> Result<()> {
        let name = field.pattern.name;
        let points = |long: [&'static str; 2], short: [&'static str; 2]| match name.contains('.') {
            true => long,
            false => short,
        };
        match field.pattern.kind {
            Kind::Fixed => self.is_fixed = true,
            Kind::Meridiem => {
                let place = self.word(name, &points(["A.M.", "P.M."], ["AM", "PM"]))?;
                set(&mut self.values.afternoon, place, name)?;
                self.values.is_12_hours = true;
            }
            Kind::Era => {
                let place = self.word(name, &points(["A.D.", "B.C."], ["AD", "BC"]))?;
                set(&mut self.values.before_christ, place, name)?;
            }
            Kind::MonthName => {
                let place = self.word(name, &MONTHS)?;
                set(&mut self.values.month, place + 1, name)?;
            }
            Kind::MonthAbbreviation => {
                let place = self.word(name, &MONTHS.map(|month| &month[..3]))?;
                set(&mut self.values.month, place + 1, name)?;
            }
            Kind::DayName => {
                let place = self.word(name, &DAYS)?;
                set(&mut self.values.weekday, place, name)?;
                self.values.weekday += 1;
            }
            Kind::DayAbbreviation => {
                let place = self.word(name, &DAYS.map(|day| &day[..3]))?;
                set(&mut self.values.weekday, place, name)?;
                self.values.weekday += 1;
            }
            Kind::Roman => {
                let mut numerals = ROMAN;
                // Longer ones before their beginnings.
                numerals.reverse();
                let place = self.word(name, &numerals)?;
                set(&mut self.values.month, 12 - place, name)?;
            }
            Kind::ZoneName | Kind::Offset => {
                return Err(Error::DataException {
                    state: "0A000",
                    message: format!("formatting field \"{name}\" is only supported in to_char"),
                });
            }
            Kind::YearWithComma => self.year_with_comma(name)?,
            Kind::ZoneHour => {
                let sign = match self.first() {
                    Some('-') => -1,
                    Some('+' | ' ') => 1,
                    _ if self.skipped > 0 && self.before == Some('-') => -1,
                    _ => 0,
                };
                if matches!(self.first(), Some('+' | '-' | ' ')) {
                    self.skip();
                }
                self.values.zone_sign = if sign < 0 { -1 } else { 1 };
                let (number, _) = self.number(field, next, 2)?;
                set(&mut self.values.zone_hour, number, name)?;
            }
            _ => return self.number_field(field, next),
        }
        self.skip_ordinal(field);
        Ok(())
    }

    fn skip_ordinal(&mut self, field: Field) {
        let is_counted = field.pattern.is_digits || field.pattern.kind == Kind::YearWithComma;
        if field.ordinal.is_some() && is_counted {
            self.skip();
            self.skip();
        }
    }

    /// A field of digits.
    fn number_field(&mut self, field: Field, next: &[Piece]) -> Result<()> {
        let kind = field.pattern.kind;
        let name = field.pattern.name;
        let most = match kind {
            Kind::Hour12 | Kind::Hour24 | Kind::ZoneMinute => 2,
            Kind::Milliseconds | Kind::IsoDayOfYear => 3,
            Kind::Fraction(digits) => digits,
            Kind::Microseconds => 6,
            Kind::IsoDayOfWeek => 1,
            _ => name.len(),
        };
        let (number, length) = self.number(field, next, most)?;
        let values = &mut self.values;
        let scaled = |number: i32, digits: usize| {
            let missing = u32::try_from(digits.saturating_sub(length)).unwrap_or(0);
            number.saturating_mul(10_i32.saturating_pow(missing))
        };
        match kind {
            Kind::Hour12 | Kind::Hour24 => {
                set(&mut values.hour, number, name)?;
                values.is_12_hours |= kind == Kind::Hour12;
            }
            Kind::Minute => set(&mut values.minute, number, name)?,
            Kind::Second => set(&mut values.second, number, name)?,
            Kind::SecondOfDay => set(&mut values.second_of_day, number, name)?,
            Kind::Milliseconds => {
                set(&mut values.milliseconds, number, name)?;
                values.milliseconds = scaled(number, 3);
            }
            Kind::Microseconds | Kind::Fraction(_) => {
                if let Kind::Fraction(digits) = kind {
                    values.digits = Some(digits);
                }
                set(&mut values.microseconds, number, name)?;
                values.microseconds = scaled(number, 6);
            }
            Kind::ZoneMinute => {
                if values.zone_sign == 0 {
                    values.zone_sign = 1;
                }
                set(&mut values.zone_minute, number, name)?;
            }
            Kind::Month => set(&mut values.month, number, name)?,
            Kind::DayOfYear | Kind::IsoDayOfYear => set(&mut values.day_of_year, number, name)?,
            Kind::DayOfMonth => set(&mut values.day, number, name)?,
            Kind::DayOfWeek => set(&mut values.weekday, number, name)?,
            Kind::IsoDayOfWeek => {
                set(&mut values.weekday, number, name)?;
                // From Sunday, as the others.
                values.weekday = if number >= 7 { 1 } else { number + 1 };
            }
            Kind::Week | Kind::IsoWeek => set(&mut values.week, number, name)?,
            Kind::WeekOfMonth => set(&mut values.week_of_month, number, name)?,
            Kind::Century => set(&mut values.century, number, name)?,
            Kind::Julian => set(&mut values.julian, number, name)?,
            Kind::Year(digits) | Kind::IsoYear(digits) => {
                set(&mut values.year, number, name)?;
                if digits < 4 && length < 4 {
                    values.year = near_2020(number);
                }
                values.year_digits = digits;
            }
            // A quarter says no date.
            _ => {}
        }
        self.skip_ordinal(field);
        Ok(())
    }

    fn year_with_comma(&mut self, name: &str) -> Result<()> {
        let wrong = || invalid("invalid input string for \"Y,YYY\"");
        let (thousands, rest) = self.rest.split_once(',').ok_or_else(wrong)?;
        let thousands: i32 = thousands
            .trim_start_matches(is_space)
            .parse()
            .map_err(|_| wrong())?;
        let digits = rest.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let years: i32 = rest[..digits].parse().map_err(|_| wrong())?;
        let year = thousands
            .checked_mul(1000)
            .and_then(|year| year.checked_add(years));
        let year = year.ok_or_else(|| out_of_range(name))?;
        set(&mut self.values.year, year, name)?;
        self.values.year_digits = 4;
        self.before = rest[..digits].chars().last();
        self.rest = &rest[digits..];
        Ok(())
    }

    /// The place of the word that the text begins with. Errors: 22007.
    fn word(&mut self, name: &str, words: &[&str]) -> Result<i32> {
        let begins = |word: &&str| {
            self.rest
                .get(..word.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(word))
        };
        match words.iter().position(begins) {
            Some(place) => {
                let (taken, rest) = self.rest.split_at(words[place].len());
                self.before = taken.chars().last();
                self.rest = rest;
                i32::try_from(place).map_err(|_| out_of_range(name))
            }
            None => {
                let shown = self.rest.split(is_space).next().unwrap_or_default();
                Err(invalid(format!("invalid value \"{shown}\" for \"{name}\"")))
            }
        }
    }

    /// A number, and how many characters were read, blanks before it included. Errors: 22007, 22008.
    fn number(&mut self, field: Field, next: &[Piece], most: usize) -> Result<(i32, usize)> {
        let name = field.pattern.name;
        let begin = self.rest;
        let text = begin.trim_start_matches(is_space);
        let is_free = field.is_fill_mode || field.ordinal.is_some() || ends_with_letters(next);
        // As strtol reads: blanks, a sign, digits.
        let end = |text: &str| {
            let signs = usize::from(text.starts_with(['+', '-']));
            match text[signs..].bytes().take_while(u8::is_ascii_digit).count() {
                0 => 0,
                digits => signs + digits,
            }
        };
        let copied = {
            // As many bytes as the field has, whole characters of them.
            let mut length = most.min(text.len());
            while !text.is_char_boundary(length) {
                length -= 1;
            }
            &text[..length]
        };
        let taken = match is_free {
            true => end(text),
            false => {
                if text.len() < most {
                    let message = format!("source string too short for \"{name}\" formatting field");
                    return Err(advised(message, FIXED_WIDTH_HINT));
                }
                match end(copied) {
                    taken if taken > 0 && taken < most => {
                        let message = format!("invalid value \"{copied}\" for \"{name}\"");
                        return Err(advised(message, FIXED_WIDTH_HINT));
                    }
                    taken => taken,
                }
            }
        };
        if taken == 0 {
            return Err(invalid(format!("invalid value \"{copied}\" for \"{name}\"")));
        }
        let number = text[..taken].parse().map_err(|_| out_of_range(name))?;
        self.before = text[..taken].chars().last();
        self.rest = &text[taken..];
        Ok((number, begin.len() - self.rest.len()))
    }
}

/// Whether the template goes on with what is no digit.
fn ends_with_letters(next: &[Piece]) -> bool {
    match next.first() {
        None => true,
        Some(Piece::Field(field)) => !field.pattern.is_digits,
        Some(Piece::Character(c) | Piece::Space(c) | Piece::Separator(c)) => !c.is_ascii_digit(),
    }
}

fn out_of_range(name: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("value for \"{name}\" in source string is out of range"),
    }
}

/// Errors: 22007 where another value stands already; 0 is none.
fn set(value: &mut i32, number: i32, name: &str) -> Result<()> {
    if *value != 0 && *value != number {
        return Err(invalid(format!(
            "conflicting values for \"{name}\" field in formatting string"
        )));
    }
    *value = number;
    Ok(())
}

/// The year nearest to 2020 that ends with these digits.
fn near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// What was read; 0 is what was not.
#[derive(Debug, Clone, Copy, Default)]
struct Values {
    calendar: Option<Calendar>,
    year: i32,
    year_digits: usize,
    century: i32,
    before_christ: i32,
    month: i32,
    day: i32,
    /// From Sunday, which is 1.
    weekday: i32,
    day_of_year: i32,
    week: i32,
    week_of_month: i32,
    julian: i32,
    hour: i32,
    minute: i32,
    second: i32,
    second_of_day: i32,
    milliseconds: i32,
    microseconds: i32,
    afternoon: i32,
    is_12_hours: bool,
    digits: Option<usize>,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
}

impl Values {
    /// Errors: 22007 for fields of both calendars.
    fn of_calendar(&mut self, calendar: Calendar) -> Result<()> {
        match (self.calendar, calendar) {
            (_, Calendar::Any) => Ok(()),
            (Some(known), other) if known != other => Err(advised(
                "invalid combination of date conventions".to_string(),
                "Do not mix Gregorian and ISO week date conventions in a formatting template.",
            )),
            _ => {
                self.calendar = Some(calendar);
                Ok(())
            }
        }
    }

    fn finish(mut self, text: &str) -> Result<Reading> {
        let overflow = || Error::DatetimeOverflow {
            message: format!("date/time field value out of range: \"{text}\""),
        };
        let mut reading = Reading {
            month: 1,
            day: 1,
            digits: self.digits,
            ..Reading::default()
        };
        let (hour, minute, second) = self.clock()?;
        let has_year = self.read_year(&mut reading);
        self.read_date(&mut reading, has_year)
            .and_then(|valid| if valid { Ok(()) } else { Err(overflow()) })?;
        let micros = i64::from(self.milliseconds) * 1_000 + i64::from(self.microseconds);
        let is_clock = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..MICROS_PER_SECOND).contains(&micros);
        if !is_clock {
            return Err(overflow());
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        reading.time = seconds * MICROS_PER_SECOND + micros;
        if self.zone_sign != 0 {
            if !(0..=15).contains(&self.zone_hour) || !(0..60).contains(&self.zone_minute) {
                return Err(Error::DataException {
                    state: "22009",
                    message: format!("time zone displacement out of range: \"{text}\""),
                });
            }
            let seconds = (self.zone_hour * 60 + self.zone_minute) * 60;
            reading.offset = Some(i64::from(self.zone_sign * seconds));
        }
        Ok(reading)
    }

    /// Errors: 22007 for an hour that no clock of twelve shows.
    fn clock(&self) -> Result<(i32, i32, i32)> {
        let of_day = self.second_of_day;
        let chosen = |value: i32, other: i32| if value != 0 { value } else { other };
        let second = chosen(self.second, of_day % 60);
        let minute = chosen(self.minute, of_day / 60 % 60);
        let mut hour = chosen(self.hour, of_day / 3600);
        if self.is_12_hours {
            if !(1..=12).contains(&hour) {
                return Err(advised(
                    format!("hour \"{hour}\" is invalid for the 12-hour clock"),
                    "Use the 24-hour clock, or give an hour between 1 and 12.",
                ));
            }
            hour = match (self.afternoon != 0, hour) {
                (true, 12) => 12,
                (true, hour) => hour + 12,
                (false, 12) => 0,
                (false, hour) => hour,
            };
        }
        Ok((hour, minute, second))
    }

    /// The year by its digits and century; whether there is one.
    fn read_year(&mut self, reading: &mut Reading) -> bool {
        let is_bc = self.before_christ != 0;
        if is_bc {
            self.century = -self.century;
        }
        reading.year = match (self.year, self.century) {
            (0, 0) => return false,
            (0, century @ 1..) => (century - 1).saturating_mul(100).saturating_add(1),
            (0, century) => century.saturating_mul(100).saturating_add(1),
            (year, century) if century != 0 && self.year_digits <= 2 => match (year % 100, century > 0) {
                (0, true) => century.saturating_mul(100),
                (0, false) => century.saturating_mul(100).saturating_add(1),
                (year, true) => (century - 1).saturating_mul(100).saturating_add(year),
                (year, false) => (century + 1).saturating_mul(100).saturating_sub(year - 1),
            },
            (year, _) => {
                let year = if is_bc { -year } else { year };
                if year < 0 { year + 1 } else { year }
            }
        };
        true
    }

    /// Month and day, and the year where a week or a Julian day says it. `false`: there is no such date.
    /// Errors: 22007 for a day of no year.
    fn read_date(&mut self, reading: &mut Reading, has_year: bool) -> Result<bool> {
        let is_iso = self.calendar == Some(Calendar::IsoWeek);
        let (mut has_date, mut has_month, mut has_day) = (false, false, false);
        let mut set_days = |reading: &mut Reading, days: i64| {
            (reading.year, reading.month, reading.day) = date_of(days);
            has_date = true;
        };
        if self.julian != 0 {
            set_days(
                reading,
                i64::from(self.julian) - super::datetime_to_char::EPOCH_JULIAN,
            );
        }
        // The Monday of the ISO year's first week.
        let first_monday = |year: i32| {
            let fourth = days_of(year.into(), 1, 4);
            // 1970-01-01 was a Thursday.
            fourth - (fourth + 3).rem_euclid(7)
        };
        if self.week != 0 {
            match is_iso {
                true => {
                    let weekday = match self.weekday {
                        0 => 0,
                        // Sunday ends the week.
                        1 => 6,
                        weekday => i64::from(weekday) - 2,
                    };
                    let days = first_monday(reading.year) + (i64::from(self.week) - 1) * 7 + weekday;
                    set_days(reading, days);
                }
                false => self.day_of_year = (self.week.saturating_sub(1)).saturating_mul(7).saturating_add(1),
            }
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month.saturating_sub(1))
                .saturating_mul(7)
                .saturating_add(1);
        }
        if self.day != 0 {
            reading.day = self.day;
            has_day = true;
        }
        if self.month != 0 {
            reading.month = self.month;
            has_month = true;
        }
        if self.day_of_year != 0 && (reading.month <= 1 || reading.day <= 1) {
            if reading.year == 0 && self.before_christ == 0 {
                return Err(invalid("cannot calculate day of year without year information"));
            }
            if is_iso {
                set_days(
                    reading,
                    first_monday(reading.year) - 1 + i64::from(self.day_of_year),
                );
            } else {
                self.read_day_of_year(reading);
                (has_month, has_day) = (true, true);
            }
        }
        let (has_month, has_day) = (has_month || has_date, has_day || has_date);
        let is_whole = has_month && has_day && (has_year || has_date);
        let last = days_of_month(reading.year, reading.month);
        Ok((!has_month || (1..=12).contains(&reading.month))
            && (!has_day || (1..=31).contains(&reading.day))
            && (!is_whole || reading.day <= last))
    }

    /// What of month and day was not read, from the day of the year.
    fn read_day_of_year(&self, reading: &mut Reading) {
        let (mut month, mut before) = (1, 0);
        while month <= 12 && self.day_of_year > before + days_of_month(reading.year, month) {
            before += days_of_month(reading.year, month);
            month += 1;
        }
        if reading.month <= 1 {
            reading.month = month;
        }
        if reading.day <= 1 {
            reading.day = self.day_of_year - before;
        }
    }
}

fn days_of_month(year: i32, month: i32) -> i32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}
