//! `timetz`: a time of day with the offset of a zone. Values are in the order of the instants that they would be on one day; of one instant, the
//! one that is farther east comes first.

use std::cmp::Ordering;

use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::datetime_decoder::SessionClock;
use super::datetime_input::parse_time_tz;
use super::datetime_output::{put_clock, put_offset};
use super::{FormatSettings, Interval};
use crate::{Error, Result};

/// The farthest from UTC that a zone may be, in seconds: less than sixteen hours.
const OFFSET_MAX: i32 = 16 * 3_600 - 1;

/// A time of day as a zone's clocks show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeTz {
    /// Microseconds since midnight, 24:00 included.
    pub(crate) local: i64,
    /// Seconds east of UTC.
    pub(crate) offset: i32,
}

impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> Ordering {
        (self.utc(), -self.offset).cmp(&(other.utc(), -other.offset))
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl TimeTz {
    /// The first in their order, and the last.
    pub(super) const FIRST: TimeTz = TimeTz {
        local: 0,
        offset: OFFSET_MAX,
    };
    pub(super) const LAST: TimeTz = TimeTz {
        local: MICROS_PER_DAY,
        offset: -OFFSET_MAX,
    };

    /// Reads the text form. Errors: 22007, 22008, 22009.
    pub(super) fn parse(text: &str, settings: &FormatSettings) -> Result<TimeTz> {
        let clock = SessionClock {
            zone: settings.time_zone,
            now_us: settings.now_us,
        };
        let (local, offset) = parse_time_tz(text, clock, settings.date_style.order)?;
        Ok(TimeTz { local, offset })
    }

    /// What clocks at UTC show then; below 0 and above a day on the days before and after.
    pub(crate) fn utc(self) -> i64 {
        self.local - i64::from(self.offset) * MICROS_PER_SECOND
    }

    /// So much later, on whatever day.
    pub(crate) fn shifted(self, by: Interval) -> TimeTz {
        let moved = self.local.wrapping_add(by.microseconds % MICROS_PER_DAY);
        TimeTz {
            local: moved.rem_euclid(MICROS_PER_DAY),
            ..self
        }
    }

    /// The same instant as a zone of this offset shows it. Errors: 22009 for one that no zone has.
    pub(crate) fn at_offset(self, offset: i32) -> Result<TimeTz> {
        let local = self.utc() + i64::from(offset) * MICROS_PER_SECOND;
        TimeTz::new(local.rem_euclid(MICROS_PER_DAY), offset).ok_or_else(too_far)
    }

    /// The value of these bytes; `None`: they are none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<TimeTz> {
        let (utc, west) = bytes.split_first_chunk::<8>()?;
        let west: [u8; 4] = west.try_into().ok()?;
        let utc = (u64::from_be_bytes(*utc) ^ (1 << 63)).cast_signed();
        let offset = (u32::from_be_bytes(west) ^ (1 << 31))
            .cast_signed()
            .checked_neg()?;
        let local = utc.checked_add(i64::from(offset) * MICROS_PER_SECOND)?;
        TimeTz::new(local, offset)
    }

    /// Bytes that sort as the values do: the instant, then the seconds west of UTC.
    pub(super) fn to_bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&(self.utc().cast_unsigned() ^ (1 << 63)).to_be_bytes());
        bytes[8..].copy_from_slice(&((-self.offset).cast_unsigned() ^ (1 << 31)).to_be_bytes());
        bytes
    }

    fn new(local: i64, offset: i32) -> Option<TimeTz> {
        let is_one = (0..=MICROS_PER_DAY).contains(&local) && offset.abs() <= OFFSET_MAX;
        is_one.then_some(TimeTz { local, offset })
    }

    pub(super) fn put_text(self, out: &mut Vec<u8>) {
        put_clock(out, self.local.cast_unsigned());
        put_offset(out, self.offset);
    }

    /// Appends the binary form: the time, and seconds west of UTC.
    pub(super) fn put_binary(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.local.to_be_bytes());
        out.extend_from_slice(&(-self.offset).to_be_bytes());
    }

    /// Reads the binary form; `None`: it has another length. Errors: 22008, 22009.
    pub(super) fn from_binary(bytes: &[u8]) -> Option<Result<TimeTz>> {
        let (local, west) = bytes.split_first_chunk::<8>()?;
        let west = i32::from_be_bytes(west.try_into().ok()?);
        let local = i64::from_be_bytes(*local);
        if !(0..=MICROS_PER_DAY).contains(&local) {
            return Some(Err(Error::DatetimeOverflow {
                message: "time out of range".to_string(),
            }));
        }
        let time = west.checked_neg().and_then(|offset| TimeTz::new(local, offset));
        Some(time.ok_or_else(too_far))
    }
}

/// 22009, for an offset that no zone has.
fn too_far() -> Error {
    Error::DataException {
        state: "22009",
        message: "time zone displacement out of range".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_the_order_of_instants_then_from_east_to_west() {
        let time = |hour: i64, offset: i32| TimeTz {
            local: hour * 3_600 * MICROS_PER_SECOND,
            offset: offset * 3_600,
        };
        let ordered = [
            TimeTz::FIRST,
            time(0, 15),
            time(10, 2),
            time(8, 0),
            time(7, -1),
            time(24, 1),
            time(23, 0),
            TimeTz::LAST,
        ];
        for pair in ordered.windows(2) {
            assert!(pair[0].to_bytes() < pair[1].to_bytes(), "{pair:?}");
        }
        for time in ordered {
            assert_eq!(TimeTz::from_bytes(&time.to_bytes()), Some(time));
            let mut binary = Vec::new();
            time.put_binary(&mut binary);
            assert_eq!(TimeTz::from_binary(&binary).unwrap().unwrap(), time);
        }
        assert_eq!(TimeTz::from_bytes(&[0xFF; 12]), None);
        assert_eq!(TimeTz::from_bytes(&[0; 3]), None);
    }
}
