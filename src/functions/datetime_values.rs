//! What a template's fields say together: the date and the time of `to_date`, `to_timestamp` and `.datetime()`. `datetime_from_char` reads the
//! fields.

use std::borrow::Cow;

use super::datetime_template::Calendar;
use super::datetime_to_char::EPOCH_JULIAN;
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

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::DataException {
        state: "22007",
        message: message.into(),
    }
}

/// The same, and why.
pub(super) fn invalid_as(
    message: String,
    detail: impl Into<Cow<'static, str>>,
    hint: Option<&'static str>,
) -> Error {
    Error::RefusedValue {
        state: "22007",
        message,
        detail: Some(detail.into()),
        hint,
    }
}

pub(super) fn advised(message: String, hint: &str) -> Error {
    Error::Advised {
        error: Box::new(invalid(message)),
        hint: hint.to_string(),
    }
}

/// What was read; 0 is what was not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Values {
    pub(super) calendar: Option<Calendar>,
    pub(super) year: i32,
    pub(super) year_digits: usize,
    pub(super) century: i32,
    pub(super) before_christ: i32,
    pub(super) month: i32,
    pub(super) day: i32,
    /// From Sunday, which is 1.
    pub(super) weekday: i32,
    pub(super) day_of_year: i32,
    pub(super) week: i32,
    pub(super) week_of_month: i32,
    pub(super) julian: i32,
    pub(super) hour: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) second_of_day: i32,
    pub(super) milliseconds: i32,
    pub(super) microseconds: i32,
    pub(super) afternoon: i32,
    pub(super) is_12_hours: bool,
    pub(super) digits: Option<usize>,
    pub(super) zone_sign: i32,
    pub(super) zone_hour: i32,
    pub(super) zone_minute: i32,
}

impl Values {
    /// Errors: 22007 for fields of both calendars.
    pub(super) fn of_calendar(&mut self, calendar: Calendar) -> Result<()> {
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

    pub(super) fn finish(mut self, text: &str) -> Result<Reading> {
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
            set_days(reading, i64::from(self.julian) - EPOCH_JULIAN);
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
