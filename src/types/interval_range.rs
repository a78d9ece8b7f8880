//! The fields that `interval year to month` and its like keep: what numbers without a unit count in them, and what is cut
//! off. Knows no SQL text but the constant itself.

use super::{Interval, datetime::MICROS_PER_SECOND};

const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;

/// A field of an interval, the largest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IntervalField {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// From one field to another that is not larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IntervalRange {
    /// The largest.
    pub first: IntervalField,
    /// The smallest.
    pub last: IntervalField,
}

impl IntervalRange {
    /// Every range that SQL has a name for.
    const ALL: [(IntervalField, IntervalField); 13] = {
        use IntervalField::{Day, Hour, Minute, Month, Second, Year};
        [
            (Year, Year),
            (Month, Month),
            (Day, Day),
            (Hour, Hour),
            (Minute, Minute),
            (Second, Second),
            (Year, Month),
            (Day, Hour),
            (Day, Minute),
            (Day, Second),
            (Hour, Minute),
            (Hour, Second),
            (Minute, Second),
        ]
    };

    fn all() -> impl Iterator<Item = IntervalRange> {
        IntervalRange::ALL
            .into_iter()
            .map(|(first, last)| IntervalRange { first, last })
    }

    /// As SQL writes it: `day to second`, `year`.
    pub fn name(self) -> String {
        match self.first == self.last {
            true => self.last.name().to_string(),
            false => format!("{} to {}", self.first.name(), self.last.name()),
        }
    }

    /// Reads [`IntervalRange::name`].
    pub fn from_name(name: &str) -> Option<IntervalRange> {
        IntervalRange::all().find(|range| range.name() == name)
    }

    /// The fields as bits of PostgreSQL's type modifier.
    pub(super) fn bits(self) -> i32 {
        use IntervalField::{Day, Hour, Minute, Month, Second, Year};
        [
            (Month, 1),
            (Year, 2),
            (Day, 3),
            (Hour, 10),
            (Minute, 11),
            (Second, 12),
        ]
        .into_iter()
        .filter(|(field, _)| (self.first..=self.last).contains(field))
        .fold(0, |bits, (_, bit)| bits | 1 << bit)
    }

    /// Reads [`IntervalRange::bits`].
    pub(super) fn from_bits(bits: i32) -> Option<IntervalRange> {
        IntervalRange::all().find(|range| range.bits() == bits)
    }

    /// The text with its units written out: a number alone at the end counts the last field, `3:04` of minutes to seconds
    /// has no hours, and a number before hours counts days.
    pub fn with_units(self, text: &str) -> String {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        let is_number = |word: &String| word.parse().is_ok_and(f64::is_finite);
        let Some(last) = words.pop() else {
            return text.to_string();
        };
        let (last, is_of_day) = match last {
            number if is_number(&number) => {
                let of_day = self.last == IntervalField::Hour;
                (format!("{number} {}", self.last.name()), of_day)
            }
            clock if self.counts_minutes() && clock.matches(':').count() == 1 => {
                let (sign, clock) = match clock.strip_prefix('-') {
                    Some(clock) => ("-", clock),
                    None => ("", clock.strip_prefix('+').unwrap_or(&clock)),
                };
                (format!("{sign}0:{clock}"), true)
            }
            other => (other, false),
        };
        if is_of_day && let Some(days) = words.last_mut().filter(|word| is_number(word)) {
            days.push_str(" day");
        }
        words.push(last);
        words.join(" ")
    }

    /// Whether `3:04` is minutes and seconds, as of these fields alone.
    fn counts_minutes(self) -> bool {
        (self.first, self.last) == (IntervalField::Minute, IntervalField::Second)
    }

    /// The interval without what is smaller than the last field.
    pub fn cut(self, interval: Interval) -> Interval {
        let micros = interval.microseconds;
        let (months, days, microseconds) = match self.last {
            IntervalField::Year => (interval.months / 12 * 12, 0, 0),
            IntervalField::Month => (interval.months, 0, 0),
            IntervalField::Day => (interval.months, interval.days, 0),
            IntervalField::Hour => (interval.months, interval.days, micros - micros % MICROS_PER_HOUR),
            IntervalField::Minute => (
                interval.months,
                interval.days,
                micros - micros % MICROS_PER_MINUTE,
            ),
            IntervalField::Second => (interval.months, interval.days, micros),
        };
        Interval {
            months,
            days,
            microseconds,
        }
    }
}

impl IntervalField {
    fn name(self) -> &'static str {
        match self {
            IntervalField::Year => "year",
            IntervalField::Month => "month",
            IntervalField::Day => "day",
            IntervalField::Hour => "hour",
            IntervalField::Minute => "minute",
            IntervalField::Second => "second",
        }
    }
}
