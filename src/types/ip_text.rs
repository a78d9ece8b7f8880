//! The text of inet and cidr, as PostgreSQL reads it: octets that are left out, hexadecimal numbers, the classes of networks without a mask.

use super::ip_address::IpAddress;
use crate::{Error, Result};

/// The DETAIL of a cidr that is no network.
pub(super) const BITS_BEHIND_MASK: &str = "Value has bits set to right of mask.";

/// Errors: 22P02.
pub(super) fn parse_inet(text: &str) -> Result<IpAddress> {
    let read = match text.contains(':') {
        true => read_v6(text.as_bytes()),
        false => read_inet_v4(text.as_bytes()),
    };
    read.ok_or_else(|| invalid(text, "inet"))
}

/// Errors: 22P02.
pub(super) fn parse_cidr(text: &str) -> Result<IpAddress> {
    let read = match text.contains(':') {
        true => read_v6(text.as_bytes()),
        false => read_cidr_v4(text.as_bytes()),
    };
    let address = read.ok_or_else(|| invalid(text, "cidr"))?;
    match address.is_network() {
        true => Ok(address),
        false => Err(Error::RefusedValue {
            state: "22P02",
            message: format!("invalid cidr value: \"{text}\""),
            detail: Some(BITS_BEHIND_MASK.into()),
            hint: None,
        }),
    }
}

fn invalid(text: &str, type_name: &str) -> Error {
    Error::InvalidText {
        type_name: type_name.to_string(),
        value: text.to_string(),
    }
}

/// The number that the digits in front are, and what follows them; `None`: there are none, or it is greater than `most`.
fn read_number(text: &[u8], most: u32) -> Option<(u32, &[u8])> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(count);
    let number = digits.iter().try_fold(0_u32, |number, digit| {
        let number = number * 10 + u32::from(digit - b'0');
        (number <= most).then_some(number)
    })?;
    (count > 0).then_some((number, rest))
}

/// The mask behind the address, of which nothing is left; `None`: something else stands there.
#[expect(clippy::option_option, reason = "the mask may be left out")]
fn read_mask(rest: &[u8]) -> Option<Option<u8>> {
    match rest {
        [] => Some(None),
        [b'/', digits @ ..] => match read_number(digits, 32)? {
            (bits, []) => Some(Some(bits as u8)),
            _ => None,
        },
        _ => None,
    }
}

fn of_octets_v4(octets: &[u8], bits: u8) -> Option<IpAddress> {
    let mut whole = [0; 4];
    whole.get_mut(..octets.len())?.copy_from_slice(octets);
    IpAddress::new(&whole, bits)
}

/// One to four octets, as many as the mask needs; all four where there is none. A point may stand behind the last.
fn read_inet_v4(text: &[u8]) -> Option<IpAddress> {
    let (mut octets, mut rest) = (Vec::new(), text);
    while rest.first().is_some_and(u8::is_ascii_digit) {
        let (octet, after) = read_number(rest, 255)?;
        octets.push(octet as u8);
        rest = match after {
            [b'.', after @ ..] => after,
            [] | [b'/', ..] => {
                rest = after;
                break;
            }
            _ => return None,
        };
    }
    let mask = read_mask(rest)?;
    let bits = match mask {
        Some(bits) => bits,
        None if octets.len() == 4 => 32,
        None => return None,
    };
    let has_octets = !octets.is_empty() && usize::from(bits) / 8 <= octets.len();
    of_octets_v4(&octets, bits).filter(|_| has_octets)
}

/// One to four octets, or hexadecimal digits; without a mask that of the network's class, or of the octets that there are.
fn read_cidr_v4(text: &[u8]) -> Option<IpAddress> {
    let (octets, rest) = match text {
        [b'0', b'x' | b'X', digits @ ..] if digits.first().is_some_and(u8::is_ascii_hexdigit) => {
            read_hexadecimal(digits)
        }
        _ => read_decimal(text)?,
    };
    let bits = match read_mask(rest)? {
        Some(bits) => bits,
        None => {
            let first = *octets.first()?;
            let of_octets = u8::try_from(octets.len() * 8).ok()?;
            match class_bits(first).max(of_octets) {
                8 if first == 224 => 4,
                bits => bits,
            }
        }
    };
    of_octets_v4(&octets, bits)
}

/// Two digits an octet; an odd one is the upper half of its.
fn read_hexadecimal(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (digits, rest) = text.split_at(count);
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    let octets = digits
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | pair.get(1).map_or(0, |low| digit(*low)));
    (octets.collect(), rest)
}

fn read_decimal(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut octets, mut rest) = (Vec::new(), text);
    loop {
        let (octet, after) = read_number(rest, 255)?;
        octets.push(octet as u8);
        match after {
            [b'.', after @ ..] => rest = after,
            [] | [b'/', ..] => return Some((octets, after)),
            _ => return None,
        }
    }
}

/// The mask of a network's class, by its first octet.
fn class_bits(first: u8) -> u8 {
    match first {
        240.. => 32,
        224..=239 => 8,
        192..=223 => 24,
        128..=191 => 16,
        _ => 8,
    }
}

/// Groups of up to four hexadecimal digits, one run of zeros left out, the last two as an IPv4 address or not.
fn read_v6(text: &[u8]) -> Option<IpAddress> {
    let mut octets: Vec<u8> = Vec::with_capacity(16);
    let mut left_out = None;
    let mut bits = 128;
    let mut rest = match text {
        [b':', b':', ..] => &text[1..],
        [b':', ..] => return None,
        _ => text,
    };
    loop {
        let count = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, after) = rest.split_at(count);
        match after {
            // An IPv4 address ends all.
            [b'.', ..] => {
                bits = read_embedded(rest, &mut octets)?.unwrap_or(bits);
                break;
            }
            [b':', after @ ..] => {
                match digits {
                    [] if left_out.is_some() => return None,
                    [] => left_out = Some(octets.len()),
                    _ if after.is_empty() => return None,
                    _ => put_group(&mut octets, digits)?,
                }
                rest = after;
            }
            [] | [b'/', ..] => {
                if !digits.is_empty() {
                    put_group(&mut octets, digits)?;
                }
                if let [_, mask @ ..] = after {
                    bits = read_mask_v6(mask)?;
                }
                break;
            }
            _ => return None,
        }
    }
    if let Some(at) = left_out {
        let missing = 16_usize
            .checked_sub(octets.len())
            .filter(|missing| *missing > 0)?;
        octets.splice(at..at, std::iter::repeat_n(0, missing));
    }
    IpAddress::new(&octets, bits).filter(IpAddress::is_v6)
}

/// `None`: more than four digits, or more groups than there are.
fn put_group(octets: &mut Vec<u8>, digits: &[u8]) -> Option<()> {
    let digits = std::str::from_utf8(digits).ok()?;
    let group = u16::from_str_radix(digits, 16).ok();
    let group = group.filter(|_| digits.len() <= 4 && octets.len() <= 14)?;
    octets.extend_from_slice(&group.to_be_bytes());
    Some(())
}

/// Digits without zeros in front of them, up to 128.
fn read_mask_v6(digits: &[u8]) -> Option<u8> {
    let is_short = digits.len() == 1 || digits.first() != Some(&b'0');
    match read_number(digits, 128)? {
        (bits, []) if is_short => Some(bits as u8),
        _ => None,
    }
}

/// The octets of an IPv4 address that ends one of IPv6, and the mask behind it, if there is one. As in PostgreSQL those left out are zeros.
#[expect(clippy::option_option, reason = "the mask may be left out")]
fn read_embedded(text: &[u8], octets: &mut Vec<u8>) -> Option<Option<u8>> {
    let (end, mut rest) = (octets.len() + 4, text);
    loop {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (octet, after) = match count {
            0 => (0, rest),
            _ => read_number(rest, 255)?,
        };
        if count > 1 && rest[0] == b'0' || octets.len() == end {
            return None;
        }
        octets.push(octet as u8);
        let mask = match after {
            [b'.', after @ ..] => {
                rest = after;
                continue;
            }
            [] if count > 0 => None,
            [b'/', mask @ ..] => Some(read_mask_v6(mask)?),
            _ => return None,
        };
        octets.resize(end, 0);
        return Some(mask);
    }
}
