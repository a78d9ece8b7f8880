//! `Zone`: what clocks show, beside UTC: of the time zone database, or so far from Greenwich always. As a session's TimeZone, as AT TIME
//! ZONE and dates name it. Called by whatever reads, prints or computes with `timestamptz`.

use chrono::{Offset, TimeZone};
use chrono_tz::Tz;

use super::datetime::{MICROS_PER_SECOND, chrono_time};

/// Offsets that POSIX writes are below this, in hours: a week.
const HOURS_LIMIT: i64 = 168;

/// The letters of an abbreviation that are kept.
const ABBREVIATION_BYTES: usize = 15;

/// Seconds of an hour, a minute and a second, and below which number each has to be.
const UNITS: [(i64, i64); 3] = [(3_600, HOURS_LIMIT), (60, 60), (1, 61)];

/// See the module's description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Of the database.
    Named(Tz),
    /// Seconds east of UTC, without a name.
    Offset(i32),
    /// Written as POSIX does, with an abbreviation.
    Posix(PosixZone),
}

/// `UTC+3`, `<+05:30>-05:30`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PosixZone {
    /// Seconds east of UTC.
    offset: i32,
    /// ASCII, then zeros.
    abbreviation: [u8; ABBREVIATION_BYTES],
}

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Named(Tz::UTC);

    /// The zone with this name, in any case: one of the database (`America/New_York`, `utc`) or one that POSIX means by it (`UTC+3` and
    /// `+03:00` are west of Greenwich, `<+03>-3` is east). `None`: there is none, or it has summer time by rules that are written out.
    pub fn of_name(name: &str) -> Option<Zone> {
        zone_named(name).map(Zone::Named).or_else(|| posix(name))
    }

    /// Seconds east of UTC at an instant (µs since 1970 UTC).
    #[inline]
    pub(crate) fn offset_at(self, utc: i64) -> i32 {
        match self {
            Zone::Named(Tz::UTC) => 0,
            Zone::Named(zone) => {
                let offset = zone.offset_from_utc_datetime(&chrono_time(utc));
                offset.fix().local_minus_utc()
            }
            Zone::Offset(offset) | Zone::Posix(PosixZone { offset, .. }) => offset,
        }
    }

    /// Seconds east of UTC for a time that the clocks show (µs since 1970, as if UTC). As PostgreSQL decides: a time
    /// that comes twice is the later one, a time that a change of clocks leaves out is read with the offset before it.
    pub(crate) fn offset_of_local(self, local: i64) -> i32 {
        let zone = match self {
            Zone::Named(Tz::UTC) => return 0,
            Zone::Named(zone) => zone,
            Zone::Offset(offset) | Zone::Posix(PosixZone { offset, .. }) => return offset,
        };
        let time = chrono_time(local);
        if let Some(offset) = zone.offset_from_local_datetime(&time).latest() {
            return offset.fix().local_minus_utc();
        }
        // In a gap: the clocks' offset some hours before. Gaps last a day at most (Samoa left out a whole one).
        [1, 3, 25]
            .into_iter()
            .filter_map(|hours| time.checked_sub_signed(chrono::TimeDelta::hours(hours)))
            .find_map(|before| zone.offset_from_local_datetime(&before).latest())
            .map_or(0, |offset| offset.fix().local_minus_utc())
    }

    /// The instant (µs since 1970 UTC) at which the clocks show this; infinities stay. `None` beyond what timestamps hold.
    pub(crate) fn local_to_utc(self, local: i64) -> Option<i64> {
        if matches!(local, i64::MIN | i64::MAX) {
            return Some(local);
        }
        local.checked_sub(i64::from(self.offset_of_local(local)) * MICROS_PER_SECOND)
    }

    /// What the clocks show at an instant; infinities stay. `None` beyond what timestamps hold.
    pub(crate) fn utc_to_local(self, utc: i64) -> Option<i64> {
        if matches!(utc, i64::MIN | i64::MAX) {
            return Some(utc);
        }
        utc.checked_add(i64::from(self.offset_at(utc)) * MICROS_PER_SECOND)
    }

    /// The abbreviation at an instant: `CET`, `EDT`, `+0530`.
    pub(crate) fn abbreviation_at(self, utc: i64) -> String {
        match self {
            Zone::Named(zone) => zone.offset_from_utc_datetime(&chrono_time(utc)).to_string(),
            Zone::Offset(_) => String::new(),
            Zone::Posix(posix) => {
                let letters = posix.abbreviation.iter().take_while(|byte| **byte != 0);
                letters.map(|byte| char::from(*byte)).collect()
            }
        }
    }

    /// Whether it has had one offset only: a time of no day has it, too.
    pub(super) fn is_fixed(self) -> bool {
        let Zone::Named(zone) = self else { return true };
        let name = zone.name();
        name.starts_with("Etc/") || ["UTC", "GMT", "UCT", "Zulu", "Universal", "Greenwich"].contains(&name)
    }
}

/// The zone of the database with this name, in any case.
pub(crate) fn zone_named(name: &str) -> Option<Tz> {
    name.parse().ok().or_else(|| {
        chrono_tz::TZ_VARIANTS
            .iter()
            .find(|zone| zone.name().eq_ignore_ascii_case(name))
            .copied()
    })
}

/// An abbreviation, which may be none or stand between `<` and `>`, and an offset that counts west.
fn posix(text: &str) -> Option<Zone> {
    let (abbreviation, offset) = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?,
        None => {
            let letters = |c: char| !c.is_ascii_digit() && !matches!(c, ',' | '-' | '+');
            text.split_at(text.find(|c| !letters(c))?)
        }
    };
    let offset = -posix_offset(offset)?;
    let mut kept = [0; ABBREVIATION_BYTES];
    for (kept, letter) in kept.iter_mut().zip(abbreviation.bytes()) {
        *kept = letter.is_ascii().then(|| letter.to_ascii_uppercase())?;
    }
    Some(Zone::Posix(PosixZone {
        offset: i32::try_from(offset).ok()?,
        abbreviation: kept,
    }))
}

/// Seconds of `3`, `+3`, `-02:30` or `+01:02:03`.
fn posix_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts: Vec<&str> = digits.split(':').collect();
    if parts.len() > UNITS.len() {
        return None;
    }
    let mut seconds = 0;
    for (part, (unit, limit)) in parts.into_iter().zip(UNITS) {
        let number = part
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| part.parse::<i64>());
        seconds += number?.ok().filter(|number| *number < limit)? * unit;
    }
    Some(sign * seconds)
}

/// What a zone so far east of UTC is called as a setting: `<+05:30>-05:30`. `None`: a week or more.
pub(crate) fn name_of_offset(east: i64) -> Option<String> {
    let seconds = east.unsigned_abs();
    let digits = match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (hours, ..) if hours >= HOURS_LIMIT as u64 => return None,
        (hours, 0, 0) => format!("{hours:02}"),
        (hours, minutes, 0) => format!("{hours:02}:{minutes:02}"),
        (hours, minutes, seconds) => format!("{hours:02}:{minutes:02}:{seconds:02}"),
    };
    let (shown, counted) = if east < 0 { ('-', '+') } else { ('+', '-') };
    Some(format!("<{shown}{digits}>{counted}{digits}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_found_by_name() {
        assert_eq!(zone_named("america/new_york"), Some(Tz::America__New_York));
        assert_eq!(Zone::of_name("UTC"), Some(Zone::UTC));
        for (name, offset, abbreviation) in [
            ("UTC+3", -10_800, "UTC"),
            ("gmt-05:30", 19_800, "GMT"),
            ("+05:30", -19_800, ""),
            ("5", -18_000, ""),
            ("<+0530>-05:30:15", 19_815, "+0530"),
            ("ABC-167:59", 604_740, "ABC"),
        ] {
            let zone = Zone::of_name(name).unwrap();
            assert_eq!(
                (zone.offset_at(0), zone.offset_of_local(0)),
                (offset, offset),
                "{name}"
            );
            assert_eq!(zone.abbreviation_at(0), abbreviation, "{name}");
            assert!(zone.is_fixed());
        }
        for name in [
            "",
            "Foo/Bar",
            "+168",
            "+05:60",
            "<x-3",
            "EST5EDT4,M3.2.0",
            "+5x",
            "1:2:3:4",
            "FOO5BAR",
            "ÄÖ5",
        ] {
            assert_eq!(Zone::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn offsets_are_zones_by_name() {
        for (east, name) in [
            (0, "<+00>-00"),
            (-1_800, "<-00:30>+00:30"),
            (5_436, "<+01:30:36>-01:30:36"),
            (601_200, "<+167>-167"),
        ] {
            assert_eq!(name_of_offset(east).as_deref(), Some(name));
            assert_eq!(i64::from(Zone::of_name(name).unwrap().offset_at(0)), east);
        }
        for east in [-HOURS_LIMIT * 3_600, HOURS_LIMIT * 3_600, i64::MIN, i64::MAX] {
            assert_eq!(name_of_offset(east), None);
        }
    }
}
