//! Dates and times read by a template: `to_date`, `to_timestamp`, and `.datetime()` of jsonpath, which is strict. Texts are read
//! as PostgreSQL reads them: blanks are skipped, a separator of the template matches any one, a field of digits takes as many as stand
//! before what is no digit, unless the template's next piece is one of digits, too.

use super::datetime_template::{
    DAYS, Field, Kind, MONTHS, Part, Piece, ROMAN, is_separator, is_space, pieces,
};
use super::datetime_values::{Reading, Values, invalid, invalid_as};
use crate::{Error, Result};

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
                let detail = "The given value did not match any of the allowed values for this field.";
                Err(invalid_as(
                    format!("invalid value \"{shown}\" for \"{name}\""),
                    detail,
                    None,
                ))
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
                    let detail = format!(
                        "Field requires {most} characters, but only {} remain.",
                        text.len()
                    );
                    return Err(invalid_as(message, detail, Some(FIXED_WIDTH_HINT)));
                }
                match end(copied) {
                    taken if taken > 0 && taken < most => {
                        let message = format!("invalid value \"{copied}\" for \"{name}\"");
                        let detail =
                            format!("Field requires {most} characters, but only {taken} could be parsed.");
                        return Err(invalid_as(message, detail, Some(FIXED_WIDTH_HINT)));
                    }
                    taken => taken,
                }
            }
        };
        if taken == 0 {
            let message = format!("invalid value \"{copied}\" for \"{name}\"");
            return Err(invalid_as(message, "Value must be an integer.", None));
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
    Error::RefusedValue {
        state: "22008",
        message: format!("value for \"{name}\" in source string is out of range"),
        detail: Some(format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX).into()),
        hint: None,
    }
}

/// Errors: 22007 where another value stands already; 0 is none.
fn set(value: &mut i32, number: i32, name: &str) -> Result<()> {
    if *value != 0 && *value != number {
        return Err(invalid_as(
            format!("conflicting values for \"{name}\" field in formatting string"),
            "This value contradicts a previous setting for the same field type.",
            None,
        ));
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
