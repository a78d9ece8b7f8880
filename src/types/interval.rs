//! Intervals: read as PostgreSQL reads them (`1 day 2 hours`, `1-2`, `01:02:03`, `P1DT2H`, `3 weeks ago`). Called by
//! `Value::parse`; printing stands in `interval_output`.

use arrow::datatypes::IntervalMonthDayNano;

use super::IntervalStyle;
use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::datetime_clock::{Clock, read_clock};
use super::datetime_fault::Fault;
use super::datetime_tokens::{Shape, tokens};
use super::spaces::is_space;
use crate::{Error, Result};

const MICROS_PER_HOUR: i64 = 3_600 * MICROS_PER_SECOND;
const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// The most microseconds that Arrow's nanoseconds hold: 292 years.
pub(super) const MICROS_MAX: i64 = i64::MAX / 1_000;

/// A SQL interval: months, days and microseconds do not convert into one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub microseconds: i64,
}

/// Arrow's interval as PostgreSQL counts it.
impl From<IntervalMonthDayNano> for Interval {
    #[inline]
    fn from(interval: IntervalMonthDayNano) -> Interval {
        Interval {
            months: interval.months,
            days: interval.days,
            microseconds: interval.nanoseconds / 1_000,
        }
    }
}

impl Interval {
    /// As Arrow holds it; `None` for more hours than its nanoseconds hold.
    #[inline]
    pub fn to_arrow(self) -> Option<IntervalMonthDayNano> {
        let nanoseconds = self.microseconds.checked_mul(1_000)?;
        Some(IntervalMonthDayNano::new(self.months, self.days, nanoseconds))
    }

    /// Reads the text form, of which `written` stands in the statement; by the SQL standard's style a sign in front of all counts for all.
    /// Errors: 22007, 22015.
    pub(super) fn parse(text: &str, written: &str, style: IntervalStyle) -> Result<Interval> {
        let trimmed = text.trim_matches(is_space);
        let read = if trimmed.starts_with('P') {
            read_iso(trimmed)
        } else {
            read_units(trimmed, style)
        };
        read.map_err(|fault| match fault {
            Fault::Format => fault.error(written, "interval"),
            _ => Error::DataException {
                state: "22015",
                message: format!("interval field value out of range: \"{written}\""),
            },
        })
    }

    /// Microseconds in all as EXTRACT(EPOCH) counts them: a year has 365.25 days, a month of the rest 30.
    pub fn epoch(&self) -> i128 {
        let years = i128::from(self.months / 12) * 36_525 * i128::from(MICROS_PER_DAY) / 100;
        let days = i128::from(self.months % 12) * 30 + i128::from(self.days);
        years + days * i128::from(MICROS_PER_DAY) + i128::from(self.microseconds)
    }

    /// Microseconds in all, with days of 24 hours and months of 30 days: what PostgreSQL compares intervals by.
    pub fn span(&self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * i128::from(MICROS_PER_DAY) + i128::from(self.microseconds)
    }

    /// One of that many microseconds, in days and what is left of one, or in months if the days are too many. `None`: there is none.
    pub fn of_span(span: i128) -> Option<Interval> {
        let days = span / i128::from(MICROS_PER_DAY);
        let microseconds = i64::try_from(span % i128::from(MICROS_PER_DAY)).ok()?;
        let months = match i32::try_from(days) {
            Ok(_) => 0,
            Err(_) => (days / 30).clamp(i128::from(i32::MIN), i128::from(i32::MAX)),
        };
        Some(Interval {
            months: i32::try_from(months).ok()?,
            days: i32::try_from(days - months * 30).ok()?,
            microseconds,
        })
    }
}

/// A unit of time in an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

impl Unit {
    /// Of a word, of which ten letters count.
    fn named(word: &str) -> Option<Unit> {
        Some(match word.get(..10).unwrap_or(word) {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
            "d" | "day" | "days" => Unit::Day,
            "w" | "week" | "weeks" => Unit::Week,
            "mon" | "mons" | "month" | "months" => Unit::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
            "dec" | "decs" | "decade" | "decades" => Unit::Decade,
            "c" | "cent" | "century" | "centuries" => Unit::Century,
            "mil" | "mils" | "millennium" | "millennia" => Unit::Millennium,
            _ => return None,
        })
    }
}

/// Sums up the parts; refuses a unit given twice.
#[derive(Default)]
struct Sum {
    months: i64,
    days: i64,
    micros: i64,
    seen: u32,
}

impl Sum {
    fn mark(&mut self, unit: Unit) -> Result<(), Fault> {
        let bit = 1 << unit as u32;
        if self.seen & bit != 0 {
            return Err(Fault::Format);
        }
        self.seen |= bit;
        Ok(())
    }

    fn add(&mut self, unit: Unit, whole: i64, fraction: f64) -> Result<(), Fault> {
        match unit {
            Unit::Microsecond => self.add_micros(whole, fraction, 1),
            Unit::Millisecond => self.add_micros(whole, fraction, 1_000),
            Unit::Second => self.add_micros(whole, fraction, MICROS_PER_SECOND),
            Unit::Minute => self.add_micros(whole, fraction, MICROS_PER_MINUTE),
            Unit::Hour => self.add_micros(whole, fraction, MICROS_PER_HOUR),
            Unit::Day => self.add_days(whole, fraction, 1),
            Unit::Week => self.add_days(whole, fraction, 7),
            Unit::Month => {
                self.months = checked_sum(self.months, whole, 1)?;
                self.add_days(0, fraction, 30)
            }
            Unit::Year => self.add_years(whole, fraction, 1),
            Unit::Decade => self.add_years(whole, fraction, 10),
            Unit::Century => self.add_years(whole, fraction, 100),
            Unit::Millennium => self.add_years(whole, fraction, 1_000),
        }
    }

    fn add_micros(&mut self, whole: i64, fraction: f64, scale: i64) -> Result<(), Fault> {
        self.micros = checked_sum(self.micros, whole, scale)?;
        self.micros = checked_sum(self.micros, (fraction * scale as f64).round_ties_even() as i64, 1)?;
        Ok(())
    }

    fn add_days(&mut self, whole: i64, fraction: f64, scale: i64) -> Result<(), Fault> {
        self.days = checked_sum(self.days, whole, scale)?;
        let more = fraction * scale as f64;
        self.days = checked_sum(self.days, more.trunc() as i64, 1)?;
        self.add_micros(0, more.fract(), MICROS_PER_DAY)
    }

    fn add_years(&mut self, whole: i64, fraction: f64, scale: i64) -> Result<(), Fault> {
        self.months = checked_sum(self.months, whole, scale * 12)?;
        self.months = checked_sum(
            self.months,
            (fraction * (scale * 12) as f64).round_ties_even() as i64,
            1,
        )?;
        Ok(())
    }

    fn add_clock(&mut self, clock: Clock, negative: bool) -> Result<(), Fault> {
        for unit in [
            Unit::Hour,
            Unit::Minute,
            Unit::Second,
            Unit::Millisecond,
            Unit::Microsecond,
        ] {
            self.mark(unit)?;
        }
        if clock.minute >= 60 || clock.second > 60 {
            return Err(Fault::FieldOverflow);
        }
        let minutes = checked_sum(clock.minute, clock.hour, 60)?;
        let micros = checked_sum(
            clock.micros,
            checked_sum(clock.second, minutes, 60)?,
            MICROS_PER_SECOND,
        )?;
        self.micros = checked_sum(self.micros, micros, if negative { -1 } else { 1 })?;
        Ok(())
    }

    fn finish(self, ago: bool) -> Result<Interval, Fault> {
        if self.seen == 0 {
            return Err(Fault::Format);
        }
        let sign = if ago { -1 } else { 1 };
        let narrow = |value: i64| i32::try_from(value * sign).map_err(|_| Fault::FieldOverflow);
        if self.micros.checked_abs().is_none_or(|micros| micros > MICROS_MAX) {
            return Err(Fault::FieldOverflow);
        }
        let in_range = |value: i64| value.unsigned_abs() <= 1 << 31;
        if !in_range(self.months) || !in_range(self.days) {
            return Err(Fault::FieldOverflow);
        }
        Ok(Interval {
            months: narrow(self.months)?,
            days: narrow(self.days)?,
            microseconds: self.micros * sign,
        })
    }
}

fn checked_sum(sum: i64, value: i64, scale: i64) -> Result<i64, Fault> {
    value
        .checked_mul(scale)
        .and_then(|value| sum.checked_add(value))
        .ok_or(Fault::FieldOverflow)
}

/// Numbers and units, read from the end, because a unit follows its number; the number before a time counts days.
fn read_units(text: &str, style: IntervalStyle) -> Result<Interval, Fault> {
    let lower = text.to_ascii_lowercase();
    let tokens = tokens(&lower)?;
    let is_signed = |(_, token): &(Shape, &str)| token.starts_with(['-', '+']);
    let all_negative = style == IntervalStyle::SqlStandard
        && matches!(tokens.as_slice(), [(_, first), others @ ..] if first.starts_with('-') && !others.iter().any(is_signed));
    let mut sum = Sum::default();
    let mut unit = None;
    let mut ago = false;
    for (shape, token) in tokens.iter().rev() {
        match shape {
            Shape::Time => {
                sum.add_clock(read_clock(token)?, all_negative)?;
                unit = Some(Unit::Day);
            }
            Shape::Offset if token.contains(':') => {
                let clock = read_clock(token[1..].trim_start_matches(is_space))?;
                sum.add_clock(clock, token.starts_with('-'))?;
                unit = Some(Unit::Day);
            }
            Shape::Offset | Shape::Number | Shape::Date => {
                let mut number = token.replace(is_space, "");
                if all_negative && !number.starts_with('-') {
                    number.insert(0, '-');
                }
                if let Some(months) = read_years_and_months(&number)? {
                    sum.mark(Unit::Month)?;
                    sum.months = checked_sum(sum.months, months, 1)?;
                    unit = Some(Unit::Month);
                } else {
                    let unit = unit.unwrap_or(Unit::Second);
                    let (whole, fraction) = read_number(&number)?;
                    sum.mark(unit)?;
                    if unit == Unit::Second && fraction != 0.0 {
                        sum.mark(Unit::Millisecond)?;
                        sum.mark(Unit::Microsecond)?;
                    }
                    sum.add(unit, whole, fraction)?;
                }
            }
            Shape::Word if *token == "ago" => ago = true,
            Shape::Word => unit = Some(Unit::named(token).ok_or(Fault::Format)?),
            Shape::SignedWord => return Err(Fault::Format),
        }
    }
    sum.finish(ago)
}

/// `1-2`, a year and two months, in months.
fn read_years_and_months(token: &str) -> Result<Option<i64>, Fault> {
    let unsigned = token.trim_start_matches(['+', '-']);
    let Some((years, months)) = unsigned.split_once('-') else {
        return Ok(None);
    };
    let number = |digits: &str| digits.parse::<i64>().map_err(|_| Fault::Format);
    // Too many months are told before what stands behind them is.
    let (months, rest) = months.split_at(months.bytes().take_while(u8::is_ascii_digit).count());
    let (years, months) = (number(years)?, number(months)?);
    if !(0..12).contains(&months) || years > i64::from(i32::MAX) {
        return Err(Fault::FieldOverflow);
    }
    if !rest.is_empty() {
        return Err(Fault::Format);
    }
    let months = years * 12 + months;
    Ok(Some(if token.starts_with('-') { -months } else { months }))
}

/// A number and its fraction, both with its sign.
fn read_number(token: &str) -> Result<(i64, f64), Fault> {
    let negative = token.starts_with('-');
    let unsigned = token.trim_start_matches(['+', '-']);
    let (whole, fraction) = unsigned.split_at(unsigned.find('.').unwrap_or(unsigned.len()));
    if !whole
        .bytes()
        .chain(fraction.bytes().skip(1))
        .all(|byte| byte.is_ascii_digit())
    {
        return Err(Fault::Format);
    }
    let whole: i64 = if whole.is_empty() {
        0
    } else {
        whole.parse().map_err(|_| Fault::FieldOverflow)?
    };
    let fraction: f64 = if fraction.len() > 1 {
        fraction.parse().map_err(|_| Fault::Format)?
    } else {
        0.0
    };
    Ok(if negative {
        (-whole, -fraction)
    } else {
        (whole, fraction)
    })
}

/// ISO 8601 with designators, `P1Y2M3DT4H5M6.5S`, and its alternative form, `P0001-02-03T04:05:06`.
fn read_iso(text: &str) -> Result<Interval, Fault> {
    let body = text.strip_prefix('P').filter(|body| !body.is_empty());
    let body = body.ok_or(Fault::Format)?;
    let (date, time) = body.split_once('T').unwrap_or((body, ""));
    if body == "T" {
        return Ok(Interval::default());
    }
    let mut sum = Sum::default();
    let dashed;
    let date = match date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()) {
        true => {
            dashed = format!("{}-{}-{}", &date[..4], &date[4..6], &date[6..]);
            &dashed
        }
        false => date,
    };
    if date.bytes().any(|byte| byte.is_ascii_digit()) && !date.ends_with(|c: char| c.is_ascii_alphabetic()) {
        let mut rest = Some(date);
        for unit in [Unit::Year, Unit::Month, Unit::Day] {
            let Some((part, behind)) = rest.map(cut_at_dash) else {
                break;
            };
            if part.trim_start_matches(['+', '-']).is_empty() {
                return Err(Fault::Format);
            }
            let (whole, fraction) = read_number(part)?;
            sum.mark(unit)?;
            sum.add(unit, whole, fraction)?;
            rest = behind;
        }
        if rest.is_some() {
            return Err(Fault::Format);
        }
    } else {
        read_designators(
            &mut sum,
            date,
            &[
                ('Y', Unit::Year),
                ('M', Unit::Month),
                ('W', Unit::Week),
                ('D', Unit::Day),
            ],
        )?;
    }
    if time.ends_with(|c: char| c.is_ascii_digit()) {
        read_clock_of_iso(&mut sum, time)?;
    } else {
        read_designators(
            &mut sum,
            time,
            &[('H', Unit::Hour), ('M', Unit::Minute), ('S', Unit::Second)],
        )?;
    }
    sum.finish(false)
}

/// A number, which may have a sign, and what stands behind the dash after it.
fn cut_at_dash(text: &str) -> (&str, Option<&str>) {
    let dash = text.match_indices('-').map(|(at, _)| at).find(|at| *at > 0);
    match dash {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// The clock of the alternative form: `04:05:06`, `040506`, or hours alone.
fn read_clock_of_iso(sum: &mut Sum, time: &str) -> Result<(), Fault> {
    let is_digits = time.bytes().all(|byte| byte.is_ascii_digit());
    if is_digits && time.len() == 6 {
        let clock = format!("{}:{}:{}", &time[..2], &time[2..4], &time[4..]);
        return sum.add_clock(read_clock(&clock)?, false);
    }
    if time.contains(':') {
        return sum.add_clock(read_clock(time)?, false);
    }
    let (hours, fraction) = read_number(time)?;
    sum.mark(Unit::Hour)?;
    sum.add(Unit::Hour, hours, fraction)
}

fn read_designators(sum: &mut Sum, text: &str, units: &[(char, Unit)]) -> Result<(), Fault> {
    let mut rest = text;
    while let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        let designator = rest[end..].chars().next().unwrap_or_default();
        let (_, unit) = units
            .iter()
            .find(|(letter, _)| *letter == designator)
            .ok_or(Fault::Format)?;
        if matches!(rest[..end].trim_start_matches(['+', '-']), "" | ".") {
            return Err(Fault::Format);
        }
        let (whole, fraction) = read_number(&rest[..end])?;
        sum.mark(*unit)?;
        sum.add(*unit, whole, fraction)?;
        rest = &rest[end + 1..];
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(Fault::Format)
    }
}
