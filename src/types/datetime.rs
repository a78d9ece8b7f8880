//! The calendar. Days and microseconds count from 1970-01-01, before it too (proleptic Gregorian calendar).
//! Reading text stands in `datetime_input`, printing in `datetime_output`; intervals in `interval`.

use chrono::{DateTime, NaiveDateTime};

pub(super) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(super) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Microseconds from 1970-01-01 to 2000-01-01, where PostgreSQL's binary timestamps begin.
pub(super) const EPOCH_MICROS: i64 = 10_957 * MICROS_PER_DAY;
/// Days from 1970-01-01 to 2000-01-01.
pub(super) const EPOCH_DAYS: i32 = 10_957;
/// Days in which the Gregorian calendar repeats itself: 400 years.
const DAYS_PER_CYCLE: i64 = 146_097;
/// 2100-01-01: from here on zones are asked about a like year.
const TABLES_END: i64 = 47_482;
const LIKE_YEARS: std::ops::Range<i64> = 2_062..2_090;

/// The days since 1970-01-01 of a date; the year 0 is 1 BC.
pub(super) fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    // Years begin in March, so that the leap day ends them (Hinnant's algorithm).
    let year = if month <= 2 { year - 1 } else { year };
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let month_from_march = (i64::from(month) + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    cycle * DAYS_PER_CYCLE + day_of_cycle - 719_468
}

/// The inverse of [`days_from_civil`].
#[inline]
pub(super) fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let cycle = days.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = days.rem_euclid(DAYS_PER_CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    } as u32;
    let year = year_of_cycle + cycle * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// How many days the month has.
pub(super) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The time as chrono knows it. Zone tables end, with the rules for summer time, in 2100, and chrono itself after 262,000
/// years; a later time is asked about in a year of the tables that has the same calendar.
pub(super) fn chrono_time(micros: i64) -> NaiveDateTime {
    let days = micros.div_euclid(MICROS_PER_DAY);
    let shift = if days >= TABLES_END {
        days_from_like_year(days)
    } else {
        0
    };
    DateTime::from_timestamp_micros(micros - shift * MICROS_PER_DAY)
        .unwrap_or(DateTime::UNIX_EPOCH)
        .naive_utc()
}

/// How many days lie between a day's year and the year of the tables that has the same calendar. Within 28 years without
/// a century every calendar occurs.
fn days_from_like_year(days: i64) -> i64 {
    let (year, _, _) = civil_from_days(days);
    let start = days_from_civil(year, 1, 1);
    let is_alike = |like: &i64| {
        let distance = start - days_from_civil(*like, 1, 1);
        distance % 7 == 0 && days_in_month(year, 2) == days_in_month(*like, 2)
    };
    LIKE_YEARS
        .into_iter()
        .find(is_alike)
        .map_or(0, |like| start - days_from_civil(like, 1, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_counts_both_ways() {
        for (date, days) in [
            ((1970, 1, 1), 0),
            ((2000, 2, 29), 11_016),
            ((1, 1, 1), -719_162),
            ((0, 12, 31), -719_163),
            ((-4713, 11, 24), -2_440_588),
        ] {
            assert_eq!(days_from_civil(date.0, date.1, date.2), days);
            assert_eq!(civil_from_days(days), date);
        }
        for days in (-3_000_000..3_000_000).step_by(997) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!(day <= days_in_month(year, month));
        }
    }
}
