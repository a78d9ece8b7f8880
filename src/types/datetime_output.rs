//! The text of dates and times in each DateStyle. `Scalar`, `Value` and whatever prints values call it; nobody else knows
//! the styles.

use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days};
use super::zone::Zone;
use super::{DateForm, DateOrder, DateStyle, digits};

const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
/// From 1970-01-01 on.
const WEEKDAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];

/// Appends a date: `2024-02-29`, `29.02.2024`, `0044-03-15 BC`, `infinity`.
pub(super) fn put_date(out: &mut Vec<u8>, days: i32, style: DateStyle) {
    match days {
        i32::MIN => out.extend_from_slice(b"-infinity"),
        i32::MAX => out.extend_from_slice(b"infinity"),
        days => {
            let day = Day::of(i64::from(days));
            day.put(out, style);
            day.put_era(out);
        }
    }
}

/// Appends a time of day: `04:05:06.789`, `24:00:00`.
pub(super) fn put_time(out: &mut Vec<u8>, micros: i64) {
    put_clock(out, micros.unsigned_abs());
}

/// Appends a timestamp: `2024-02-29 04:05:06.789`, `Thu Feb 29 04:05:06.789 2024`.
pub(super) fn put_timestamp(out: &mut Vec<u8>, micros: i64, style: DateStyle) {
    if !put_infinity(out, micros) {
        let day = Day::of(micros.div_euclid(MICROS_PER_DAY));
        day.put_with_clock(out, micros.rem_euclid(MICROS_PER_DAY), style);
        day.put_era(out);
    }
}

/// Appends a timestamp with time zone as the zone's clocks show it: `2024-02-29 04:05:06.789+08`,
/// `Thu Feb 29 04:05:06.789 2024 CET`.
pub(super) fn put_timestamptz(out: &mut Vec<u8>, utc: i64, zone: Zone, style: DateStyle) {
    if put_infinity(out, utc) {
        return;
    }
    let offset = zone.offset_at(utc);
    // Days first: the local time of the last instants lies beyond i64 microseconds.
    let clock = utc.rem_euclid(MICROS_PER_DAY) + i64::from(offset) * MICROS_PER_SECOND;
    let day = Day::of(utc.div_euclid(MICROS_PER_DAY) + clock.div_euclid(MICROS_PER_DAY));
    day.put_with_clock(out, clock.rem_euclid(MICROS_PER_DAY), style);
    match style.form {
        DateForm::Iso => put_offset(out, offset),
        DateForm::Postgres | DateForm::Sql | DateForm::German => {
            out.push(b' ');
            out.extend_from_slice(zone.abbreviation_at(utc).as_bytes());
        }
    }
    day.put_era(out);
}

fn put_infinity(out: &mut Vec<u8>, micros: i64) -> bool {
    match micros {
        i64::MIN => out.extend_from_slice(b"-infinity"),
        i64::MAX => out.extend_from_slice(b"infinity"),
        _ => return false,
    }
    true
}

/// A day of the calendar.
struct Day {
    days: i64,
    /// As it is shown: 1 for 1 BC.
    year: u64,
    month: u32,
    day: u32,
    before_christ: bool,
}

impl Day {
    #[inline]
    fn of(days: i64) -> Day {
        let (year, month, day) = civil_from_days(days);
        let before_christ = year <= 0;
        let shown = if before_christ { 1 - year } else { year };
        Day {
            days,
            year: shown.unsigned_abs(),
            month,
            day,
            before_christ,
        }
    }

    /// Appends year, month and day.
    #[inline]
    fn put(&self, out: &mut Vec<u8>, style: DateStyle) {
        let (month, day) = (u64::from(self.month), u64::from(self.day));
        if style.form == DateForm::Iso {
            return put_joined(out, [(self.year, 4), (month, 2), (day, 2)], b'-');
        }
        let between = match style.form {
            DateForm::Iso | DateForm::Postgres => b'-',
            DateForm::Sql => b'/',
            DateForm::German => b'.',
        };
        let day_first = style.form == DateForm::German || style.order == DateOrder::Dmy;
        let (first, second) = if day_first { (day, month) } else { (month, day) };
        put_joined(out, [(first, 2), (second, 2), (self.year, 4)], between);
    }

    #[inline]
    fn put_with_clock(&self, out: &mut Vec<u8>, clock: i64, style: DateStyle) {
        let clock = clock.unsigned_abs();
        if style.form != DateForm::Postgres {
            self.put(out, style);
            out.push(b' ');
            return put_clock(out, clock);
        }
        let weekday = WEEKDAYS[self.days.rem_euclid(7) as usize];
        let month = MONTHS[self.month as usize - 1];
        out.extend_from_slice(weekday);
        out.push(b' ');
        if style.order == DateOrder::Dmy {
            digits::put_padded(out, u64::from(self.day), 2);
            out.push(b' ');
            out.extend_from_slice(month);
        } else {
            out.extend_from_slice(month);
            out.push(b' ');
            digits::put_padded(out, u64::from(self.day), 2);
        }
        out.push(b' ');
        put_clock(out, clock);
        out.push(b' ');
        digits::put_padded(out, self.year, 4);
    }

    fn put_era(&self, out: &mut Vec<u8>) {
        if self.before_christ {
            out.extend_from_slice(b" BC");
        }
    }
}

/// Appends numbers of these widths with a character between them.
#[inline]
fn put_joined(out: &mut Vec<u8>, [first, second, third]: [(u64, usize); 3], between: u8) {
    digits::put_padded(out, first.0, first.1);
    out.push(between);
    digits::put_padded(out, second.0, second.1);
    out.push(between);
    digits::put_padded(out, third.0, third.1);
}

/// Appends `HH:MM:SS`, and the microseconds without the zeros that end them.
#[inline]
pub(super) fn put_clock(out: &mut Vec<u8>, micros: u64) {
    let seconds = micros / 1_000_000;
    digits::put_padded(out, seconds / 3_600, 2);
    out.push(b':');
    digits::put_padded(out, seconds / 60 % 60, 2);
    out.push(b':');
    digits::put_padded(out, seconds % 60, 2);
    put_fraction(out, micros % 1_000_000);
}

/// Appends microseconds behind a point, without the zeros that end them; nothing for 0.
#[inline]
pub(super) fn put_fraction(out: &mut Vec<u8>, mut fraction: u64) {
    if fraction > 0 {
        let mut width = 6;
        while fraction.is_multiple_of(10) {
            fraction /= 10;
            width -= 1;
        }
        out.push(b'.');
        digits::put_padded(out, fraction, width);
    }
}

/// Appends `+08`, `-03:30`, `-04:56:02`.
pub(super) fn put_offset(out: &mut Vec<u8>, offset: i32) {
    out.push(if offset < 0 { b'-' } else { b'+' });
    let seconds = u64::from(offset.unsigned_abs());
    digits::put_padded(out, seconds / 3_600, 2);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    if minutes != 0 || seconds != 0 {
        out.push(b':');
        digits::put_padded(out, minutes, 2);
    }
    if seconds != 0 {
        out.push(b':');
        digits::put_padded(out, seconds, 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_instants_print() {
        for zone in ["UTC", "Asia/Tokyo", "America/New_York", "<x>-167"] {
            let zone = Zone::of_name(zone).unwrap();
            for utc in [i64::MAX - 1, i64::MIN + 1] {
                let mut out = Vec::new();
                put_timestamptz(&mut out, utc, zone, DateStyle::default());
                assert!(out.len() > 20);
            }
        }
    }
}
