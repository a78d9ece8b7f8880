//! Bit strings: `bit(n)`, `bit varying(n)`. A value is its text, a `0` or `1` a bit: as text they are in PostgreSQL's order of bit strings, so
//! that they compare, and stand in keys and rows, as text does. A bit takes a byte for it.

use super::SqlType;
use crate::{Error, Result};

/// The most bits that a type may ask for; PostgreSQL's.
pub(super) const BITS_MAX: i64 = 83_886_080;

/// The bits that a text is: binary digits, behind a `b` or not, or hexadecimal ones behind an `x`. Errors: 22P02.
pub(super) fn parse(text: &str) -> Result<String> {
    match text.strip_prefix(['x', 'X']) {
        Some(digits) => of_hexadecimal(digits),
        None => {
            let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
            match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
                Some(other) => Err(invalid_digit(other, "binary")),
                None => Ok(digits.to_string()),
            }
        }
    }
}

/// The bits of hexadecimal digits, four each. Errors: 22P02.
fn of_hexadecimal(digits: &str) -> Result<String> {
    let mut bits = String::with_capacity(digits.len() * 4);
    for digit in digits.chars() {
        let value = digit
            .to_digit(16)
            .ok_or_else(|| invalid_digit(digit, "hexadecimal"))?;
        bits.extend(
            (0..4)
                .rev()
                .map(|place| if value >> place & 1 == 1 { '1' } else { '0' }),
        );
    }
    Ok(bits)
}

/// The bits, which a column of the type holds if they are as many as it says. Errors: 22026 of bit(n), 22001 of bit varying(n).
pub(super) fn fit(bits: String, ty: &SqlType) -> Result<String> {
    let count = bits.len() as u64;
    match ty {
        SqlType::Bit(Some(length)) if count != u64::from(*length) => Err(Error::DataException {
            state: "22026",
            message: format!("bit string length {count} does not match type bit({length})"),
        }),
        SqlType::VarBit(Some(length)) if count > u64::from(*length) => Err(Error::DataException {
            state: "22001",
            message: format!("bit string too long for type bit varying({length})"),
        }),
        _ => Ok(bits),
    }
}

/// As [`fit`], but cuts what is too much and fills up with zeros: an explicit cast.
pub(super) fn cut(mut bits: String, ty: &SqlType) -> String {
    match ty {
        SqlType::Bit(Some(length)) => {
            let length = *length as usize;
            bits.truncate(length);
            bits.extend(std::iter::repeat_n('0', length - bits.len()));
        }
        SqlType::VarBit(Some(length)) => bits.truncate(*length as usize),
        _ => {}
    }
    bits
}

/// The lowest bits of an integer of so many bits, as bit(n) has them: in front of more than it has stands its sign. `length`: `None` is one.
pub(crate) fn of_integer(number: i64, width: u32, length: Option<u32>) -> String {
    let bit = |place: u32| number >> place.min(width - 1) & 1 == 1;
    let places = (0..length.unwrap_or(1)).rev();
    places.map(|place| if bit(place) { '1' } else { '0' }).collect()
}

/// The integer, of so many bits, that the bits are. Errors: 22003 for more of them.
pub(crate) fn to_integer(bits: &str, width: u32) -> Result<i64> {
    let type_name = if width == 32 { "integer" } else { "bigint" };
    if bits.len() > width as usize {
        return Err(Error::NumericOutOfRange {
            message: format!("{type_name} out of range"),
            detail: None,
        });
    }
    let number = bits
        .bytes()
        .fold(0_u64, |number, bit| number << 1 | u64::from(bit == b'1'));
    Ok(match width {
        32 => i64::from(number as u32 as i32),
        _ => number as i64,
    })
}

/// Appends the binary form: how many bits, then these in whole bytes, the first bit the highest.
pub(super) fn put_binary(out: &mut Vec<u8>, bits: &[u8]) {
    out.extend_from_slice(&(bits.len() as u32).to_be_bytes());
    out.extend(bits.chunks(8).map(|bits| {
        let byte = bits.iter().fold(0_u8, |byte, bit| byte << 1 | (bit & 1));
        byte << (8 - bits.len())
    }));
}

/// Reads the binary form. Errors: 22P03; `None` where bytes are missing.
pub(super) fn from_binary(bytes: &[u8]) -> Option<Result<String>> {
    let (count, bytes) = bytes.split_first_chunk::<4>()?;
    let Ok(count) = usize::try_from(i32::from_be_bytes(*count)) else {
        return Some(Err(Error::DataException {
            state: "22P03",
            message: "invalid length in external bit string".to_string(),
        }));
    };
    let whole = bytes
        .get(..count.div_ceil(8))
        .filter(|whole| whole.len() == bytes.len())?;
    let bits = whole
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1));
    Some(Ok(bits
        .take(count)
        .map(|bit| if bit == 1 { '1' } else { '0' })
        .collect()))
}

fn invalid_digit(digit: char, kind: &str) -> Error {
    Error::DataException {
        state: "22P02",
        message: format!("\"{digit}\" is not a valid {kind} digit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_forms_are_read_as_they_are_written() {
        for bits in ["", "1", "0101", "11111111", "101010101", "0000000000000001"] {
            let mut bytes = Vec::new();
            put_binary(&mut bytes, bits.as_bytes());
            assert_eq!(bytes.len(), 4 + bits.len().div_ceil(8));
            assert_eq!(from_binary(&bytes).unwrap().unwrap(), bits);
            assert!(from_binary(&bytes[..bytes.len() - 1]).is_none());
        }
        assert!(from_binary(&[0, 0, 0, 9, 1]).is_none());
        assert!(from_binary(&[0, 0, 0, 1, 1, 1]).is_none());
        let refused = from_binary(&[0xFF; 5]).unwrap().unwrap_err();
        assert_eq!(refused.sqlstate(), "22P03");
    }

    #[test]
    fn integers_are_their_lowest_bits() {
        assert_eq!(of_integer(5, 32, Some(8)), "00000101");
        assert_eq!(of_integer(-2, 32, Some(40)), "1".repeat(39) + "0");
        assert_eq!(of_integer(44, 32, Some(3)), "100");
        assert_eq!(to_integer("101", 32).unwrap(), 5);
        assert_eq!(to_integer(&"1".repeat(32), 32).unwrap(), -1);
        assert_eq!(to_integer(&"1".repeat(32), 64).unwrap(), i64::from(u32::MAX));
        assert_eq!(to_integer(&"1".repeat(33), 32).unwrap_err().sqlstate(), "22003");
    }
}
