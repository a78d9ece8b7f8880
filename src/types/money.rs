//! Amounts of money: cents as an integer, read and printed as PostgreSQL does where `lc_monetary` is C, `-$1,234.56`. Called by the
//! inputs and outputs of values; what is computed of amounts stands in `functions`.

use crate::{Error, Result};

/// Digits behind the point.
const DIGITS: u32 = 2;
/// Cents of a dollar.
pub(crate) const CENTS: i64 = 100;

/// The cents of a text: `$`, commas, a sign before or behind, parentheses for a negative amount; more digits behind the point are rounded,
/// half away from zero. Errors: 22P02, 22003.
pub(super) fn parse(text: &str) -> Result<i64> {
    let invalid = || Error::InvalidText {
        type_name: "money".to_string(),
        value: text.to_string(),
    };
    let overflow = || Error::NumericOutOfRange {
        message: format!("value \"{text}\" is out of range for type money"),
        detail: None,
    };
    let (is_negative, rest) = sign_before(text);
    let (below_zero, rest) = digits(rest).ok_or_else(overflow)?;
    let mut is_negative = is_negative;
    for byte in rest.bytes() {
        match byte {
            b'-' => is_negative = true,
            b')' | b'+' | b'$' => {}
            byte if is_space(byte) => {}
            _ => return Err(invalid()),
        }
    }
    match is_negative {
        true => Ok(below_zero),
        false => below_zero.checked_neg().ok_or_else(overflow),
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn spaces_skipped(text: &str) -> &str {
    text.trim_start_matches(|character: char| u8::try_from(character).is_ok_and(is_space))
}

/// Whether the sign before the digits makes the amount negative, and the digits.
fn sign_before(text: &str) -> (bool, &str) {
    let dollar_skipped = |text| {
        let text = spaces_skipped(text);
        spaces_skipped(text.strip_prefix('$').unwrap_or(text))
    };
    let text = dollar_skipped(text);
    let (is_negative, text) = match text.strip_prefix(['-', '(']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    (is_negative, dollar_skipped(text))
}

/// The digits as cents below zero, of which there is one more than above, and what stands behind them. `None`: too many.
fn digits(text: &str) -> Option<(i64, &str)> {
    let (mut cents, mut behind_point) = (0_i64, None);
    let mut at = 0;
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(at) {
        match (byte, behind_point) {
            (b'0'..=b'9', Some(DIGITS..)) => break,
            (digit @ b'0'..=b'9', _) => {
                cents = cents.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))?;
                behind_point = behind_point.map(|count| count + 1);
            }
            (b'.', None) => behind_point = Some(0),
            (b',', _) => {}
            _ => break,
        }
        at += 1;
    }
    if matches!(bytes.get(at), Some(b'5'..=b'9')) {
        cents = cents.checked_sub(1)?;
    }
    for _ in behind_point.unwrap_or(0)..DIGITS {
        cents = cents.checked_mul(10)?;
    }
    let rest = text[at..].trim_start_matches(|character: char| character.is_ascii_digit());
    Some((cents, rest))
}

/// Appends an amount.
pub(super) fn put(out: &mut Vec<u8>, cents: i64) {
    if cents < 0 {
        out.push(b'-');
    }
    out.push(b'$');
    let cents = cents.unsigned_abs();
    let dollars = (cents / CENTS.unsigned_abs()).to_string();
    for (at, digit) in dollars.bytes().enumerate() {
        if at > 0 && (dollars.len() - at).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    out.extend_from_slice(format!(".{:02}", cents % CENTS.unsigned_abs()).as_bytes());
}

const SMALL: [&str; 28] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
    "thirty",
    "forty",
    "fifty",
    "sixty",
    "seventy",
    "eighty",
    "ninety",
];

/// The names of the thousands from the greatest on, as PostgreSQL puts them behind a number.
const THOUSANDS: [&str; 6] = [
    " quadrillion ",
    " trillion ",
    " billion ",
    " million ",
    " thousand ",
    "",
];

/// An amount in words: `One thousand two hundred thirty four dollars and fifty six cents`.
pub(crate) fn words(cents: i64) -> String {
    let whole = cents.unsigned_abs();
    let (dollars, rest) = (whole / CENTS.unsigned_abs(), whole % CENTS.unsigned_abs());
    let mut text = String::new();
    let mut divisor = 1_000_u64.pow(5);
    for name in THOUSANDS {
        let group = dollars / divisor % 1_000;
        if group > 0 {
            text.push_str(&group_words(group));
            text.push_str(name);
        }
        divisor /= 1_000;
    }
    if text.is_empty() {
        text.push_str("zero");
    }
    text.push_str(if dollars == 1 {
        " dollar and "
    } else {
        " dollars and "
    });
    text.push_str(&group_words(rest));
    text.push_str(if rest == 1 { " cent" } else { " cents" });
    if cents < 0 {
        text.insert_str(0, "minus ");
    }
    text[..1].make_ascii_uppercase();
    text
}

/// A number below a thousand in words.
fn group_words(number: u64) -> String {
    let small = |number: u64| SMALL[usize::try_from(number).unwrap_or_default()];
    let ten = |number: u64| small(18 + number / 10);
    let (hundreds, rest) = (number / 100, number % 100);
    let below_hundred = match rest {
        ..20 => small(rest).to_string(),
        _ if rest % 10 == 0 => ten(rest).to_string(),
        _ => format!("{} {}", ten(rest), small(rest % 10)),
    };
    match (hundreds, rest) {
        (0, _) => below_hundred,
        (_, 0) => format!("{} hundred", small(hundreds)),
        (_, 20..) => format!("{} hundred {below_hundred}", small(hundreds)),
        (_, _) => format!("{} hundred and {below_hundred}", small(hundreds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(cents: i64) -> String {
        let mut out = Vec::new();
        put(&mut out, cents);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, cents) in [
            ("$1,234.56", 123_456),
            ("-$1", -100),
            ("($5.5)", -550),
            ("1,2,3", 12_300),
            ("  $ 7 ", 700),
            ("7-", -700),
            ("$-7", -700),
            ("-$ 7", -700),
            (".5", 50),
            ("1.005", 101),
            ("1.0049", 100),
            ("-1.235", -124),
            ("(1", -100),
            ("", 0),
            ("$", 0),
            ("92233720368547758.07", i64::MAX),
            ("-92233720368547758.08", i64::MIN),
        ] {
            assert_eq!(parse(text).unwrap(), cents, "{text}");
        }
        for (text, state) in [
            ("abc", "22P02"),
            ("1 2", "22P02"),
            ("1.2.3", "22P02"),
            ("--1", "22P02"),
            ("1e5", "22P02"),
            ("92233720368547758.08", "22003"),
            ("92233720368547758.075", "22003"),
            ("12345678901234567890", "22003"),
        ] {
            assert_eq!(parse(text).unwrap_err().sqlstate(), state, "{text}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again() {
        for cents in [0, 1, -1, 99, 100, -100_000, 123_456_789, i64::MAX, i64::MIN] {
            assert_eq!(parse(&printed(cents)).unwrap(), cents);
        }
        assert_eq!(printed(i64::MIN), "-$92,233,720,368,547,758.08");
        assert_eq!(printed(100_000), "$1,000.00");
    }

    #[test]
    fn amounts_in_words() {
        for (cents, text) in [
            (-100, "Minus one dollar and zero cents"),
            (1, "Zero dollars and one cent"),
            (100_000_000, "One million  dollars and zero cents"),
            (11_001, "One hundred and ten dollars and one cent"),
            (11_100, "One hundred and eleven dollars and zero cents"),
            (12_000, "One hundred twenty dollars and zero cents"),
            (10_500, "One hundred and five dollars and zero cents"),
        ] {
            assert_eq!(words(cents), text);
        }
    }
}
