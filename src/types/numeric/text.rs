//! Numerics as PostgreSQL reads them from text.

use bigdecimal::num_bigint::BigInt;

use super::{Numeric, SCALE_MAX, WHOLE_DIGITS_MAX, overflow};
use crate::types::spaces::is_space;
use crate::{Error, Result};

/// Digits of an integer that 128 bits always hold.
const SMALL_DIGITS: usize = 38;
/// PostgreSQL takes no exponents from here on.
const EXPONENT_END: i64 = i32::MAX as i64 / 2;

impl Numeric {
    /// Reads `12.50`, `-1e20`, `NaN`, `Infinity` as PostgreSQL does (blanks around allowed, `_` not), with the digits
    /// behind the point that are written. Errors: 22P02 when it is no number, 22003 for too many digits.
    pub fn parse(text: &str) -> Result<Numeric> {
        Numeric::read(text, None)
    }

    /// As [`Numeric::parse`], but rounds to `scale` digits behind the point (before it, when negative), however many are
    /// written.
    pub fn parse_rounded(text: &str, scale: i16) -> Result<Numeric> {
        Numeric::read(text, Some(scale))
    }

    fn read(text: &str, scale: Option<i16>) -> Result<Numeric> {
        let trimmed = text.trim_matches(is_space);
        if let Some(special) = special(trimmed) {
            return Ok(special);
        }
        let written = Written::scan(trimmed).ok_or_else(|| Error::InvalidText {
            type_name: "numeric".to_string(),
            value: text.to_string(),
        })?;
        match scale {
            None => written.exact(),
            Some(scale) => written.rounded(scale),
        }
    }
}

fn special(text: &str) -> Option<Numeric> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("nan") {
        Some(Numeric::NaN)
    } else if is("inf") || is("infinity") || is("+inf") || is("+infinity") {
        Some(Numeric::Infinity)
    } else if is("-inf") || is("-infinity") {
        Some(Numeric::NegativeInfinity)
    } else {
        None
    }
}

/// A decimal number as it is written: `-12.50e3`.
struct Written<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Written<'a> {
    fn scan(text: &'a str) -> Option<Written<'a>> {
        let (negative, rest) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let (integer, rest) = split_digits(rest);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest),
            rest => (&rest[..0], rest),
        };
        if integer.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => scan_exponent(rest)?,
            _ => return None,
        };
        Some(Written {
            negative,
            integer,
            fraction,
            exponent,
        })
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        let leading = self.leading_zeros();
        self.integer.iter().chain(self.fraction).copied().skip(leading)
    }

    fn leading_zeros(&self) -> usize {
        let digits = self.integer.iter().chain(self.fraction);
        digits.take_while(|digit| **digit == b'0').count()
    }

    /// Digits from the first that counts to the last that is written.
    fn digit_count(&self) -> usize {
        self.integer.len() + self.fraction.len() - self.leading_zeros()
    }

    /// The number with all digits that are written.
    fn exact(&self) -> Result<Numeric> {
        let scale = self.fraction.len() as i64 - self.exponent;
        let (scale, zeros) = (scale.max(0), (-scale).max(0));
        if self.digit_count() == 0 {
            return Numeric::from_big(BigInt::default(), u32::try_from(scale).map_err(|_| overflow())?);
        }
        if zeros > WHOLE_DIGITS_MAX as i64 || scale > i64::from(SCALE_MAX) {
            return Err(overflow());
        }
        let digits = self.digits().chain((0..zeros).map(|_| b'0'));
        self.of_digits(digits, self.digit_count() + zeros as usize, scale as u32)
    }

    /// The number with the digits down to a place, and the next for rounding.
    fn rounded(&self, scale: i16) -> Result<Numeric> {
        // Where the digit after the last that is kept stands, counted from the first written.
        let point = self.integer.len() as i64 + self.exponent - self.leading_zeros() as i64;
        let taken = point + i64::from(scale) + 1;
        let Ok(taken) = usize::try_from(taken) else {
            return Ok(Numeric::from_i128(0, u16::try_from(scale).unwrap_or(0)));
        };
        if self.digit_count() == 0 {
            return Ok(Numeric::from_i128(0, u16::try_from(scale).unwrap_or(0)));
        }
        if taken as u64 > WHOLE_DIGITS_MAX + u64::from(SCALE_MAX) {
            return Err(overflow());
        }
        let digits = self.digits().chain(std::iter::repeat(b'0')).take(taken);
        let shown = i32::from(scale) + 1;
        let number = match u32::try_from(shown) {
            Ok(shown) => self.of_digits(digits, taken, shown)?,
            Err(_) => {
                let zeros = shown.unsigned_abs() as usize;
                self.of_digits(digits.chain((0..zeros).map(|_| b'0')), taken + zeros, 0)?
            }
        };
        number.round(i32::from(scale))
    }

    fn of_digits(&self, digits: impl Iterator<Item = u8>, count: usize, scale: u32) -> Result<Numeric> {
        if count <= SMALL_DIGITS {
            let magnitude = digits.fold(0_i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
            let unscaled = if self.negative { -magnitude } else { magnitude };
            return match u16::try_from(scale) {
                Ok(scale) if scale <= SCALE_MAX => Ok(Numeric::from_i128(unscaled, scale)),
                _ => Err(overflow()),
            };
        }
        let digits: Vec<u8> = digits.collect();
        let magnitude = BigInt::parse_bytes(&digits, 10).ok_or_else(overflow)?;
        Numeric::from_big(if self.negative { -magnitude } else { magnitude }, scale)
    }
}

fn split_digits(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(bytes.len());
    bytes.split_at(end)
}

fn scan_exponent(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0_i64, |sum, digit| {
        (sum * 10 + i64::from(digit - b'0')).min(EXPONENT_END)
    });
    (size < EXPONENT_END).then_some(if negative { -size } else { size })
}
