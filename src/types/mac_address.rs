//! `MacAddress`: six or eight bytes, as macaddr and macaddr8 have them: their texts, and one as the other.

use super::spaces::is_space;
use crate::{Error, Result};

/// An address of six bytes, or of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MacAddress {
    /// macaddr.
    Six([u8; 6]),
    /// macaddr8.
    Eight([u8; 8]),
}

impl MacAddress {
    /// `None` of another number of bytes.
    pub(super) fn from_octets(octets: &[u8]) -> Option<MacAddress> {
        match octets.len() {
            6 => octets.try_into().ok().map(MacAddress::Six),
            8 => octets.try_into().ok().map(MacAddress::Eight),
            _ => None,
        }
    }

    /// Its bytes.
    pub(crate) fn octets(&self) -> &[u8] {
        match self {
            MacAddress::Six(octets) => octets,
            MacAddress::Eight(octets) => octets,
        }
    }

    /// With other bytes.
    pub(crate) fn with_octets(self, octet: impl Fn(usize, u8) -> u8) -> MacAddress {
        let mut changed = self;
        let octets: &mut [u8] = match &mut changed {
            MacAddress::Six(octets) => octets,
            MacAddress::Eight(octets) => octets,
        };
        for (at, own) in octets.iter_mut().enumerate() {
            *own = octet(at, *own);
        }
        changed
    }

    /// As eight bytes: FF and FE stand between the halves.
    pub(super) fn widened(self) -> MacAddress {
        match self {
            MacAddress::Six([a, b, c, d, e, f]) => MacAddress::Eight([a, b, c, 0xFF, 0xFE, d, e, f]),
            eight @ MacAddress::Eight(_) => eight,
        }
    }

    /// As six bytes. Errors: 22003 where other bytes than FF and FE stand between the halves.
    pub(super) fn narrowed(self) -> Result<MacAddress> {
        match self {
            six @ MacAddress::Six(_) => Ok(six),
            MacAddress::Eight([a, b, c, 0xFF, 0xFE, d, e, f]) => Ok(MacAddress::Six([a, b, c, d, e, f])),
            MacAddress::Eight(_) => Err(Error::RefusedValue {
                state: "22003",
                message: "macaddr8 data out of range to convert to macaddr".to_string(),
                detail: None,
                hint: Some(
                    "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
                ),
            }),
        }
    }
}

/// Appends the bytes, two digits each, colons between.
pub(super) fn put_text(out: &mut Vec<u8>, octets: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for (at, octet) in octets.iter().enumerate() {
        if at > 0 {
            out.push(b':');
        }
        out.extend_from_slice(&[HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
    }
}

/// The forms of a macaddr: the digits of an octet at most, and what stands behind each of the first five.
const FORMS: [(usize, [&str; 5]); 7] = [
    (usize::MAX, [":", ":", ":", ":", ":"]),
    (usize::MAX, ["-", "-", "-", "-", "-"]),
    (2, ["", "", ":", "", ""]),
    (2, ["", "", "-", "", ""]),
    (2, ["", ".", "", ".", ""]),
    (2, ["", "-", "", "-", ""]),
    (2, ["", "", "", "", ""]),
];

/// Errors: 22P02; 22003 for an octet above 255.
pub(super) fn parse_macaddr(text: &str) -> Result<MacAddress> {
    let read = FORMS
        .iter()
        .find_map(|(digits, between)| read_form(text, *digits, between));
    let numbers = read.ok_or_else(|| invalid(text, "macaddr"))?;
    let mut octets = [0; 6];
    for (octet, number) in octets.iter_mut().zip(numbers) {
        *octet = u8::try_from(number).map_err(|_| Error::DataException {
            state: "22003",
            message: format!("invalid octet value in \"macaddr\" value: \"{text}\""),
        })?;
    }
    Ok(MacAddress::Six(octets))
}

/// Six numbers with these words between them, as `sscanf` reads them, and only spaces behind.
fn read_form(text: &str, digits_max: usize, between: &[&str; 5]) -> Option<[u32; 6]> {
    let (mut numbers, mut rest) = ([0; 6], text);
    for (at, number) in numbers.iter_mut().enumerate() {
        (*number, rest) = read_hexadecimal(rest, digits_max)?;
        if let Some(word) = between.get(at) {
            rest = rest.strip_prefix(word)?;
        }
    }
    rest.trim_start_matches(is_space).is_empty().then_some(numbers)
}

/// `%x` of `sscanf`: spaces, a sign and `0x` may stand in front; these two count as digits.
fn read_hexadecimal(text: &str, digits_max: usize) -> Option<(u32, &str)> {
    let text = text.trim_start_matches(is_space);
    let bytes = text.as_bytes();
    let digit = |at: usize| {
        let byte = bytes.get(at).filter(|_| at < digits_max)?;
        char::from(*byte).to_digit(16)
    };
    let mut at = 0;
    let is_negative = bytes.first() == Some(&b'-');
    if matches!(bytes.first(), Some(b'-' | b'+')) {
        at += 1;
    }
    if bytes.get(at) == Some(&b'0')
        && matches!(bytes.get(at + 1), Some(b'x' | b'X'))
        && digit(at + 2).is_some()
    {
        at += 2;
    }
    let (start, mut number) = (at, 0_u64);
    while let Some(digit) = digit(at) {
        number = number.saturating_mul(16).saturating_add(u64::from(digit));
        at += 1;
    }
    if at == start {
        return None;
    }
    let number = if is_negative {
        number.wrapping_neg()
    } else {
        number
    };
    Some((number as u32, &text[at..]))
}

/// Pairs of digits, six of them or eight; the same of `:`, `-` and `.` behind each, or nothing. Errors: 22P02.
pub(super) fn parse_macaddr8(text: &str) -> Result<MacAddress> {
    let fail = || invalid(text, "macaddr8");
    let (mut octets, mut spacer) = (Vec::with_capacity(8), None);
    let mut rest = text.trim_start_matches(is_space).as_bytes();
    // What is one byte alone behind the last pair is not looked at, as in PostgreSQL.
    while let [high, low, after @ ..] = rest {
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let (high, low) = digit(*high).zip(digit(*low)).ok_or_else(fail)?;
        if octets.len() == 8 {
            return Err(fail());
        }
        octets.push((high << 4 | low) as u8);
        rest = after;
        if let [found @ (b':' | b'-' | b'.'), after @ ..] = rest {
            if *spacer.get_or_insert(*found) != *found {
                return Err(fail());
            }
            rest = after;
        }
        let ends =
            matches!(octets.len(), 6 | 8) && rest.first().is_some_and(|byte| is_space(char::from(*byte)));
        if ends {
            rest = rest.trim_ascii_start();
            if !rest.is_empty() {
                return Err(fail());
            }
        }
    }
    let address = MacAddress::from_octets(&octets).ok_or_else(fail)?;
    Ok(address.widened())
}

fn invalid(text: &str, type_name: &str) -> Error {
    Error::InvalidText {
        type_name: type_name.to_string(),
        value: text.to_string(),
    }
}
