//! What the tokens of a date mean: each fills one or more parts of it, as PostgreSQL's `DecodeDateTime` fills them. Called by `datetime_input`.

use super::DateOrder;
use super::calendar::FIRST_DAY;
use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, days_from_civil, days_in_month};
use super::datetime_clock::{Clock, read_clock, read_fraction, read_offset};
use super::datetime_fault::Fault;
use super::datetime_tokens::{Shape, tokens};
use super::datetime_words::{Word, keyword};
use super::zone::Zone;
use super::zone_abbreviations::abbreviated_zone;

/// What a session's clocks show.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionClock {
    /// TimeZone, of texts without a zone.
    pub(super) zone: Zone,
    /// See `FormatSettings::now_us`.
    pub(super) now_us: Option<i64>,
}

/// The zone of a name; one that POSIX means begins with a letter.
fn zone_called(name: &str) -> Option<Zone> {
    let has_letters = name.starts_with(|c: char| c.is_ascii_alphabetic());
    Zone::of_name(name).filter(|zone| matches!(zone, Zone::Named(_)) || has_letters)
}

/// The days since 1970-01-01 on which a timestamp falls.
pub(super) fn day_of(micros: i64) -> i64 {
    micros.div_euclid(MICROS_PER_DAY)
}

/// What the text says.
pub(super) enum Read {
    Infinity,
    NegativeInfinity,
    Epoch,
    Moment {
        days: i64,
        clock: i64,
        zone: Option<Zone>,
    },
}

/// Half of the day.
#[derive(Clone, Copy, PartialEq)]
enum Meridian {
    Am,
    Pm,
}

/// What the next number means, after a word that says so.
#[derive(Clone, Copy, PartialEq)]
enum Announced {
    Time,
    Julian,
}

/// The parts of a date, filled token by token.
struct Decoder {
    session: SessionClock,
    order: DateOrder,
    time_only: bool,
    /// The next token may be a whole date.
    may_be_date: bool,
    year: Option<i32>,
    month: Option<i32>,
    day: Option<i32>,
    day_of_year: Option<i32>,
    /// The date as days, when a word or a Julian day gave it.
    days: Option<i64>,
    clock: Option<Clock>,
    zone: Option<Zone>,
    meridian: Option<Meridian>,
    before_christ: Option<bool>,
    weekday: bool,
    month_in_words: bool,
    /// The year was written in one or two digits.
    short_year: bool,
    announced: Option<Announced>,
}

/// Reads the text; of a time alone, its day is today.
pub(super) fn decode(
    text: &str,
    (clock, order): (SessionClock, DateOrder),
    time_only: bool,
) -> Result<Read, Fault> {
    let lower = text.to_ascii_lowercase();
    let tokens = tokens(&lower)?;
    if let [(Shape::Word | Shape::SignedWord, word)] = tokens.as_slice() {
        match *word {
            "infinity" => return Ok(Read::Infinity),
            "-infinity" => return Ok(Read::NegativeInfinity),
            "epoch" => return Ok(Read::Epoch),
            _ => {}
        }
    }
    let mut decoder = Decoder::new(clock, order, time_only);
    let shape_at = |at: usize| tokens.get(at).map(|(shape, _)| *shape);
    for (i, (shape, token)) in tokens.iter().enumerate() {
        // Before a time alone a date may stand, where what follows tells that it is one.
        decoder.may_be_date = !time_only
            || i == 0
                && tokens.len() > 1
                && (shape_at(1) == Some(Shape::Time) || shape_at(tokens.len() - 1) == Some(Shape::Date));
        decoder.take(*shape, token, shape_at(i + 1))?;
    }
    decoder.finish()
}

impl Decoder {
    fn new(session: SessionClock, order: DateOrder, time_only: bool) -> Decoder {
        Decoder {
            session,
            order,
            time_only,
            may_be_date: !time_only,
            year: None,
            month: None,
            day: None,
            day_of_year: None,
            days: None,
            clock: None,
            zone: None,
            meridian: None,
            before_christ: None,
            weekday: false,
            month_in_words: false,
            short_year: false,
            announced: None,
        }
    }

    fn has_date(&self) -> bool {
        self.days.is_some()
            || (self.year.is_some()
                && (self.month.is_some() && self.day.is_some() || self.day_of_year.is_some()))
    }

    fn take(&mut self, shape: Shape, token: &str, next: Option<Shape>) -> Result<(), Fault> {
        match shape {
            Shape::Date => self.take_date(token),
            Shape::Time => {
                if self
                    .announced
                    .take()
                    .is_some_and(|announced| announced != Announced::Time)
                {
                    return Err(Fault::Format);
                }
                self.set_clock(read_clock(token)?)
            }
            Shape::Offset => {
                let offset = read_offset(token)?;
                set(&mut self.zone, Zone::Offset(offset))
            }
            Shape::Number => self.take_number(token),
            Shape::Word | Shape::SignedWord => self.take_word(token, next),
        }
    }

    fn take_date(&mut self, token: &str) -> Result<(), Fault> {
        let is_digital = token.starts_with(|c: char| c.is_ascii_digit());
        let announced = self.announced.take();
        if announced == Some(Announced::Julian) {
            // A day with a zone: j2452271-08.
            let (day, offset) = token.split_at(token.find('-').ok_or(Fault::Format)?);
            set(&mut self.zone, Zone::Offset(read_offset(offset)?))?;
            return self.julian(day);
        }
        let knows_day = self.month.is_some() && self.day.is_some();
        let wants_date = announced.is_none() && !self.has_date() && !knows_day;
        if wants_date && self.may_be_date {
            return self.read_date(token);
        }
        if is_digital {
            if self.clock.is_some() {
                return Err(Fault::Format);
            }
            // hhmmss-zz
            let (clock, offset) = token
                .find('-')
                .map(|dash| token.split_at(dash))
                .ok_or(Fault::Format)?;
            set(&mut self.zone, Zone::Offset(read_offset(offset)?))?;
            return self.run_together(clock, true);
        }
        let zone = zone_called(token).ok_or_else(|| Fault::UnknownZone(token.to_string()))?;
        set(&mut self.zone, zone)
    }

    /// A whole date in one token: words first, so that the numbers are known for what they are.
    fn read_date(&mut self, token: &str) -> Result<(), Fault> {
        let parts = || token.split(|c: char| !c.is_ascii_alphanumeric());
        for part in parts().filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic())) {
            match keyword(part) {
                Some(Word::Month(month)) => {
                    set(&mut self.month, month)?;
                    self.month_in_words = true;
                }
                _ => return Err(Fault::Format),
            }
        }
        if !token.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            return Err(Fault::Format);
        }
        for part in parts().filter(|part| part.starts_with(|c: char| c.is_ascii_digit())) {
            self.number_in_date(part)?;
        }
        if self.has_date() {
            Ok(())
        } else {
            Err(Fault::Format)
        }
    }

    fn take_number(&mut self, token: &str) -> Result<(), Fault> {
        match self.announced.take() {
            Some(Announced::Julian) => return self.julian(token),
            Some(Announced::Time) => return self.run_together(token, true),
            None => {}
        }
        if self.time_only {
            return self.run_together(token, true);
        }
        let whole = token.split('.').next().unwrap_or_default();
        let has_point = whole.len() < token.len();
        let any_date =
            self.year.is_some() || self.month.is_some() || self.day.is_some() || self.days.is_some();
        if has_point && !any_date {
            self.read_date(token)
        } else if (has_point && whole.len() > 2)
            || (token.len() >= 6 && (!self.has_date() || self.clock.is_none()))
        {
            self.run_together(token, self.has_date())
        } else {
            self.number_in_date(token)
        }
    }

    /// A Julian day, perhaps with a part of it.
    fn julian(&mut self, token: &str) -> Result<(), Fault> {
        if self.has_date() {
            return Err(Fault::Format);
        }
        let day: f64 = token.parse().map_err(|_| Fault::Format)?;
        if !(0.0..=2_147_483_647.0).contains(&day) {
            return Err(Fault::FieldOverflow);
        }
        self.days = Some(day.floor() as i64 + FIRST_DAY);
        if day.fract() == 0.0 {
            return Ok(());
        }
        self.set_clock(Clock {
            hour: 0,
            minute: 0,
            second: 0,
            micros: (day.fract() * MICROS_PER_DAY as f64).round() as i64,
        })
    }

    /// A number whose meaning follows from what is known: the parts in the order of DateStyle, unless it is too long for
    /// that.
    fn number_in_date(&mut self, token: &str) -> Result<(), Fault> {
        if token.contains('.') || self.has_date() {
            return self.run_together(token, self.has_date());
        }
        let value: i32 = token.parse().map_err(|_| Fault::FieldOverflow)?;
        let long = token.len() >= 3;
        if token.len() == 3 && self.year.is_some() && self.month.is_none() && (1..=366).contains(&value) {
            return set(&mut self.day_of_year, value);
        }
        match (self.year.is_some(), self.month.is_some(), self.day.is_some()) {
            (false, false, false) if long || self.order == DateOrder::Ymd => self.set_year(token, value),
            (false, false, false) if self.order == DateOrder::Dmy => set(&mut self.day, value),
            (false, false, false) => set(&mut self.month, value),
            (true, false, _) | (false, false, true) => set(&mut self.month, value),
            (false, true, false) if self.month_in_words && (long || self.order == DateOrder::Ymd) => {
                self.set_year(token, value)
            }
            (false, true, false) => set(&mut self.day, value),
            (true, true, false) if self.month_in_words && long && self.short_year => {
                // What was taken for the year is the day: 08-Jan-1999.
                self.day = self.year.take();
                self.short_year = false;
                self.set_year(token, value)
            }
            (true, true, false) => set(&mut self.day, value),
            (false, true, true) => self.set_year(token, value),
            (true, true, true) => self.run_together(token, true),
        }
    }

    fn set_year(&mut self, token: &str, value: i32) -> Result<(), Fault> {
        self.short_year = token.len() <= 2;
        set(&mut self.year, value)
    }

    /// A date or time without separators: `19990108`, `040506.789`, `0405`.
    fn run_together(&mut self, token: &str, date_known: bool) -> Result<(), Fault> {
        let (whole, fraction) = token.split_at(token.find('.').unwrap_or(token.len()));
        if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Fault::Format);
        }
        let number = |digits: &str| digits.parse::<i32>().map_err(|_| Fault::FieldOverflow);
        if fraction.is_empty() && !date_known && whole.len() >= 6 {
            let (rest, day) = whole.split_at(whole.len() - 2);
            let (year, month) = rest.split_at(rest.len() - 2);
            self.short_year = year.len() == 2;
            set(&mut self.day, number(day)?)?;
            set(&mut self.month, number(month)?)?;
            return set(&mut self.year, number(year)?);
        }
        let part = |at: usize| {
            whole
                .get(at..at + 2)
                .map_or(Ok(0), |digits| number(digits).map(i64::from))
        };
        match whole.len() {
            4 | 6 => self.set_clock(Clock {
                hour: part(0)?,
                minute: part(2)?,
                second: part(4)?,
                micros: read_fraction(fraction)?,
            }),
            _ => Err(Fault::Format),
        }
    }

    fn set_clock(&mut self, clock: Clock) -> Result<(), Fault> {
        set(&mut self.clock, clock)
    }

    fn take_word(&mut self, token: &str, next: Option<Shape>) -> Result<(), Fault> {
        if let Some(zone) = abbreviated_zone(token) {
            return set(&mut self.zone, zone);
        }
        let Some(word) = keyword(token) else {
            let zone = zone_called(token).ok_or(Fault::Format)?;
            return set(&mut self.zone, zone);
        };
        match word {
            Word::Month(month) => {
                // A number before it was taken for the month, and is the day: 8 January 1999.
                if self.month.is_some() && !self.month_in_words && self.day.is_none() {
                    self.day = self.month.take();
                }
                self.month_in_words = true;
                set(&mut self.month, month)
            }
            // A time of day takes no day by a word.
            Word::DayFromToday(_) | Word::Weekday if self.time_only => Err(Fault::Format),
            Word::Weekday => set_flag(&mut self.weekday),
            Word::Am => set(&mut self.meridian, Meridian::Am),
            Word::Pm => set(&mut self.meridian, Meridian::Pm),
            Word::AnnoDomini => set(&mut self.before_christ, false),
            Word::BeforeChrist => set(&mut self.before_christ, true),
            Word::IsoTime => {
                let follows = matches!(next, Some(Shape::Number | Shape::Time | Shape::Date));
                if (!self.has_date() && !self.time_only) || !follows {
                    return Err(Fault::Format);
                }
                self.announced = Some(Announced::Time);
                Ok(())
            }
            Word::Julian => {
                self.announced = Some(Announced::Julian);
                Ok(())
            }
            Word::Ignored => Ok(()),
            Word::Daylight => match &mut self.zone {
                Some(Zone::Offset(offset)) => {
                    *offset += 3_600;
                    Ok(())
                }
                _ => Err(Fault::Format),
            },
            Word::Now => self.take_now(),
            Word::DayFromToday(days) => {
                let today = self.now().div_euclid(MICROS_PER_DAY);
                self.set_days(today + days)
            }
            Word::Midnight => {
                set(&mut self.zone, Zone::Offset(0))?;
                self.set_clock(Clock {
                    hour: 0,
                    minute: 0,
                    second: 0,
                    micros: 0,
                })
            }
            Word::Reserved => Err(Fault::Format),
        }
    }

    fn take_now(&mut self) -> Result<(), Fault> {
        let now = self.now();
        self.set_days(now.div_euclid(MICROS_PER_DAY))?;
        let micros = now.rem_euclid(MICROS_PER_DAY);
        set(&mut self.zone, self.session.zone)?;
        self.set_clock(Clock {
            hour: 0,
            minute: 0,
            second: 0,
            micros,
        })
    }

    fn set_days(&mut self, days: i64) -> Result<(), Fault> {
        if self.has_date() {
            Err(Fault::Format)
        } else {
            set(&mut self.days, days)
        }
    }

    /// What the session's clocks show now, in microseconds.
    fn now(&self) -> i64 {
        let now = self.session.now_us;
        let utc = now.unwrap_or_else(|| chrono::Utc::now().timestamp_micros());
        utc + i64::from(self.session.zone.offset_at(utc)) * MICROS_PER_SECOND
    }

    fn finish(self) -> Result<Read, Fault> {
        if self.announced.is_some() {
            return Err(Fault::Format);
        }
        let clock = self.clock_of_day()?;
        if self.time_only {
            let clock = clock.ok_or(Fault::Format)?;
            let has_day = self.has_date() || self.month.is_some() && self.day.is_some();
            if self.zone.is_some_and(|zone| !has_day && !zone.is_fixed()) {
                return Err(Fault::Format);
            }
            let days = match has_day {
                true => self.days_of_date()?,
                false => day_of(self.now()),
            };
            return Ok(Read::Moment {
                days,
                clock,
                zone: self.zone,
            });
        }
        let days = self.days_of_date()?;
        Ok(Read::Moment {
            days,
            clock: clock.unwrap_or(0),
            zone: self.zone,
        })
    }

    fn clock_of_day(&self) -> Result<Option<i64>, Fault> {
        let Some(mut clock) = self.clock else {
            return Ok(None);
        };
        match self.meridian {
            Some(_) if clock.hour > 12 => return Err(Fault::FieldOverflow),
            Some(Meridian::Am) if clock.hour == 12 => clock.hour = 0,
            Some(Meridian::Pm) if clock.hour != 12 => clock.hour += 12,
            _ => {}
        }
        let total = ((clock.hour * 60 + clock.minute) * 60 + clock.second) * MICROS_PER_SECOND + clock.micros;
        let valid = clock.hour <= 24 && clock.minute < 60 && clock.second <= 60 && total <= MICROS_PER_DAY;
        if valid {
            Ok(Some(total))
        } else {
            Err(Fault::FieldOverflow)
        }
    }

    fn days_of_date(&self) -> Result<i64, Fault> {
        if let Some(days) = self.days {
            return Ok(days);
        }
        // Parts that no date has are told before parts that are missing.
        let (month, day) = (part_of_date(self.month, 12)?, part_of_date(self.day, 31)?);
        if !self.has_date() {
            return Err(Fault::Format);
        }
        let year = self.full_year()?;
        if let Some(day) = self.day_of_year {
            return Ok(days_from_civil(year, 1, 1) + i64::from(day) - 1);
        }
        let (month, day) = (month.unwrap_or(0), day.unwrap_or(0));
        if day > days_in_month(year, month) {
            return Err(Fault::FieldOverflow);
        }
        Ok(days_from_civil(year, month, day))
    }

    /// The year as astronomers count: 1 BC is 0.
    fn full_year(&self) -> Result<i64, Fault> {
        let year = i64::from(self.year.unwrap_or(0));
        match self.before_christ {
            Some(true) if year > 0 => Ok(1 - year),
            Some(true) => Err(Fault::FieldOverflow),
            _ if self.short_year && year < 70 => Ok(year + 2000),
            _ if self.short_year && year < 100 => Ok(year + 1900),
            _ if year > 0 => Ok(year),
            _ => Err(Fault::FieldOverflow),
        }
    }
}

/// A month or day, from 1 to `most`, where it is known.
fn part_of_date(part: Option<i32>, most: u32) -> Result<Option<u32>, Fault> {
    let in_range = |part: i32| u32::try_from(part).ok().filter(|part| (1..=most).contains(part));
    part.map(|part| in_range(part).ok_or(Fault::MonthDayOverflow))
        .transpose()
}

/// Fills a part; a part filled twice is an error.
fn set<T>(part: &mut Option<T>, value: T) -> Result<(), Fault> {
    if part.is_some() {
        return Err(Fault::Format);
    }
    *part = Some(value);
    Ok(())
}

fn set_flag(flag: &mut bool) -> Result<(), Fault> {
    if std::mem::replace(flag, true) {
        Err(Fault::Format)
    } else {
        Ok(())
    }
}
