//! Places in a log, `16/B374D848`: numbers of 64 bits, carried as the signed integers that are in the same order. Called by the inputs and
//! outputs of values, and by the functions over them.

use crate::{Error, Result};

/// What turns an unsigned number into the signed one of the same order.
const SIGN: u64 = 1 << 63;

/// The place of a number.
pub(crate) fn of_number(number: u64) -> i64 {
    (number ^ SIGN) as i64
}

/// The number of a place.
pub(crate) fn number(place: i64) -> u64 {
    place as u64 ^ SIGN
}

/// The place that a text names. Errors: 22P02.
pub(super) fn parse(text: &str) -> Result<i64> {
    let part = |digits: &str| {
        let is_hex = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_hex && digits.len() <= 8 {
            true => u64::from_str_radix(digits, 16).ok(),
            false => None,
        }
    };
    let read = || {
        let (high, low) = text.split_once('/')?;
        Some(part(high)? << 32 | part(low)?)
    };
    read().map(of_number).ok_or_else(|| Error::InvalidText {
        type_name: "pg_lsn".to_string(),
        value: text.to_string(),
    })
}

/// A place as text.
pub(crate) fn text(place: i64) -> String {
    let number = number(place);
    format!("{:X}/{:X}", number >> 32, number & u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_order_of_their_numbers() {
        let texts = ["0/0", "0/9", "0/10", "9/FFFFFFFF", "A/0", "FFFFFFFF/FFFFFFFF"];
        let places: Vec<i64> = texts.iter().map(|text| parse(text).unwrap()).collect();
        assert!(places.is_sorted());
        assert_eq!(places.iter().map(|place| text(*place)).collect::<Vec<_>>(), texts);
        for wrong in ["", "1", "/", "1/", "1/G", "123456789/0", " 1/0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
