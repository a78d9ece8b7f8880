//! `Numeric`: an exact decimal constant, as wide as SQL text can write one that we store or compare with.
//! `Value` holds it; `plan` compares and rounds with it. Knows no columns.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use arrow::datatypes::i256;

use super::sql_type::{BARE_NUMERIC_SCALE, NUMERIC_PRECISION_MAX};
use super::{NumericSize, digits};
use crate::{Error, Result};

/// A numeric constant: up to 76 digits, or one of PostgreSQL's three special values (which no column stores). Equality,
/// order and hash go by value, whatever the scale.
#[derive(Debug, Clone, Copy)]
pub enum Numeric {
    /// `unscaled × 10^-scale`.
    Finite {
        /// All digits as one integer.
        unscaled: i256,
        /// How many of them stand behind the point.
        scale: u8,
    },
    /// Below everything.
    NegativeInfinity,
    /// Above everything finite.
    Infinity,
    /// Equal to itself and above everything else, as in PostgreSQL.
    NaN,
}

/// The most digits, and the most of them behind the point.
const DIGITS_MAX: usize = 76;
/// The digits that one u128 takes in while reading.
const CHUNK_DIGITS: usize = 38;
/// Exponents beyond it make any number overflow or vanish.
const EXPONENT_MAX: i64 = 1_000_000;

static POWERS_OF_TEN: LazyLock<[i256; DIGITS_MAX + 1]> = LazyLock::new(|| {
    let mut powers = [i256::ONE; DIGITS_MAX + 1];
    for i in 1..powers.len() {
        powers[i] = powers[i - 1].wrapping_mul(i256::from_i128(10));
    }
    powers
});

impl Numeric {
    /// Reads `12.5`, `-1e20`, `NaN`, `Infinity` as PostgreSQL does (blanks around allowed, `_` not).
    /// Errors: 22P02 when it is no number, 22003 above 76 digits.
    pub fn parse(text: &str) -> Result<Numeric> {
        Numeric::read(text, None)
    }

    /// As [`Numeric::parse`], but rounds to `scale` digits behind the point, however many are written.
    pub fn parse_rounded(text: &str, scale: u8) -> Result<Numeric> {
        Numeric::read(text, Some(scale))
    }

    fn read(text: &str, scale: Option<u8>) -> Result<Numeric> {
        let trimmed = text.trim_matches(is_space);
        if let Some(special) = special(trimmed) {
            return Ok(special);
        }
        let written = Written::scan(trimmed).ok_or_else(|| Error::InvalidText {
            type_name: "numeric".to_string(),
            value: text.to_string(),
        })?;
        let scale = match scale {
            Some(scale) => scale,
            None => written.scale().ok_or_else(overflow)?,
        };
        let unscaled = written.scaled_to(scale).ok_or_else(overflow)?;
        Ok(Numeric::Finite { unscaled, scale })
    }

    /// From an integer.
    pub fn from_i64(value: i64) -> Numeric {
        Numeric::Finite {
            unscaled: i256::from(value),
            scale: 0,
        }
    }

    /// The same value with `scale` digits behind the point, rounded half away from zero. 22003 when it does not fit.
    pub fn rescale(&self, scale: u8) -> Result<Numeric> {
        let Numeric::Finite {
            unscaled,
            scale: from,
        } = *self
        else {
            return Ok(*self);
        };
        let unscaled = if scale >= from {
            power_of_ten(scale - from)
                .and_then(|power| unscaled.checked_mul(power))
                .ok_or_else(overflow)?
        } else {
            // More digits than any number has: it rounds to zero.
            power_of_ten(from - scale).map_or(i256::ZERO, |power| divide_rounding(unscaled, power))
        };
        Ok(Numeric::Finite { unscaled, scale })
    }

    /// The same value in as few digits behind the point as hold it.
    pub fn normalized(&self) -> Numeric {
        let Numeric::Finite {
            mut unscaled,
            mut scale,
        } = *self
        else {
            return *self;
        };
        let ten = i256::from_i128(10);
        while scale > 0 && unscaled.wrapping_rem(ten) == i256::ZERO {
            unscaled = unscaled.wrapping_div(ten);
            scale -= 1;
        }
        Numeric::Finite { unscaled, scale }
    }

    /// The largest integer not above it / smallest not below it, when it fits i128 (`None` for specials and beyond).
    pub fn floor(&self) -> Option<i128> {
        let (integer, fraction) = self.parts()?;
        let step = if fraction.is_negative() {
            i256::MINUS_ONE
        } else {
            i256::ZERO
        };
        integer.wrapping_add(step).to_i128()
    }

    /// See [`Numeric::floor`].
    pub fn ceil(&self) -> Option<i128> {
        let (integer, fraction) = self.parts()?;
        let step = if fraction > i256::ZERO {
            i256::ONE
        } else {
            i256::ZERO
        };
        integer.wrapping_add(step).to_i128()
    }

    /// The nearest double, as PostgreSQL casts.
    pub fn to_f64(&self) -> f64 {
        match self {
            Numeric::NegativeInfinity => f64::NEG_INFINITY,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NaN => f64::NAN,
            Numeric::Finite { unscaled, scale } => match unscaled.to_i128() {
                // A quotient of two doubles that are exact is rounded correctly.
                Some(exact) if exact.unsigned_abs() <= 1 << 53 && *scale <= 22 => {
                    exact as f64 / 10_f64.powi(i32::from(*scale))
                }
                // Otherwise only the reading of text is; at most 76 digits never overflow.
                _ => self.to_string().parse().unwrap_or(f64::NAN),
            },
        }
    }

    /// The exact decimal of a finite double as PostgreSQL's float8→numeric cast gives it (15 significant digits).
    pub fn from_f64(value: f64) -> Result<Numeric> {
        Numeric::from_float_text(value, format!("{value:.14e}"))
    }

    /// As [`Numeric::from_f64`], with the 6 significant digits of PostgreSQL's float4→numeric cast.
    pub fn from_f32(value: f32) -> Result<Numeric> {
        Numeric::from_float_text(f64::from(value), format!("{value:.5e}"))
    }

    fn from_float_text(value: f64, text: String) -> Result<Numeric> {
        match value {
            f64::INFINITY => Ok(Numeric::Infinity),
            f64::NEG_INFINITY => Ok(Numeric::NegativeInfinity),
            value if value.is_nan() => Ok(Numeric::NaN),
            // Trailing zeros of the mantissa are the format's; a number too small for our scale rounds.
            _ => match Numeric::parse(&text) {
                Ok(number) => Ok(number.normalized()),
                Err(_) if value.abs() < 1.0 => {
                    Numeric::parse_rounded(&text, DIGITS_MAX as u8).map(|n| n.normalized())
                }
                Err(error) => Err(error),
            },
        }
    }

    /// The number as a column of numeric(p,s), or of bare numeric, holds it: rounded to the column's scale. 22003 when it
    /// has too many digits before the point, or is no number.
    pub fn fit(&self, size: Option<NumericSize>) -> Result<Numeric> {
        match size {
            Some(size) if !self.is_finite() => Err(Error::NumericOutOfRange {
                message: "numeric field overflow".to_string(),
                detail: Some(format!(
                    "A field with precision {}, scale {} cannot hold {}.",
                    size.precision,
                    size.scale,
                    if *self == Numeric::NaN {
                        "NaN"
                    } else {
                        "an infinite value"
                    }
                )),
            }),
            Some(size) => self
                .rescale(size.scale)
                .ok()
                .filter(|number| number.is_below_power(size.precision - size.scale))
                .ok_or_else(|| field_overflow(size)),
            None => {
                let kept = self.normalized();
                let kept = match kept {
                    Numeric::Finite { scale, .. } if scale > BARE_NUMERIC_SCALE.unsigned_abs() => {
                        kept.rescale(BARE_NUMERIC_SCALE.unsigned_abs())?.normalized()
                    }
                    kept => kept,
                };
                if kept.is_below_power(NUMERIC_PRECISION_MAX) {
                    Ok(kept)
                } else {
                    Err(overflow())
                }
            }
        }
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Finite { .. })
    }

    /// Whether at most this many digits stand before the point; not so for specials.
    pub(super) fn is_below_power(&self, digits: u8) -> bool {
        match (self.parts(), power_of_ten(digits)) {
            (Some((integer, _)), Some(power)) => integer.wrapping_abs() < power && integer != i256::MIN,
            _ => false,
        }
    }

    /// Integer part and what is left (scaled), both with the sign of the number.
    fn parts(&self) -> Option<(i256, i256)> {
        match *self {
            Numeric::Finite { unscaled, scale } => match power_of_ten(scale) {
                Some(power) => Some((unscaled.wrapping_div(power), unscaled.wrapping_rem(power))),
                None => Some((i256::ZERO, unscaled)),
            },
            Numeric::NegativeInfinity | Numeric::Infinity | Numeric::NaN => None,
        }
    }

    /// Its place among the kinds of number: finite ones share one.
    fn rank(&self) -> u8 {
        match self {
            Numeric::NegativeInfinity => 0,
            Numeric::Finite { .. } => 1,
            Numeric::Infinity => 2,
            Numeric::NaN => 3,
        }
    }
}

impl PartialEq for Numeric {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Numeric {}

impl PartialOrd for Numeric {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Numeric {
    /// By value, whatever the scale; NaN above Infinity.
    fn cmp(&self, other: &Self) -> Ordering {
        let (
            Numeric::Finite {
                unscaled: left,
                scale: left_scale,
            },
            Numeric::Finite {
                unscaled: right,
                scale: right_scale,
            },
        ) = (self, other)
        else {
            return self.rank().cmp(&other.rank());
        };
        if left_scale == right_scale {
            return left.cmp(right);
        }
        // Integer parts first; fractions have at most as many digits as the larger scale, so widening them cannot overflow.
        let (Some((left_integer, left)), Some((right_integer, right))) = (self.parts(), other.parts()) else {
            return self.rank().cmp(&other.rank());
        };
        let widened =
            |fraction: i256, by: u8| power_of_ten(by).map_or(fraction, |power| fraction.wrapping_mul(power));
        left_integer.cmp(&right_integer).then_with(|| {
            widened(left, right_scale.saturating_sub(*left_scale))
                .cmp(&widened(right, left_scale.saturating_sub(*right_scale)))
        })
    }
}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        if let Numeric::Finite { unscaled, scale } = self.normalized() {
            (unscaled, scale).hash(state);
        }
    }
}

impl std::fmt::Display for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Numeric::Finite { unscaled, scale } => {
                let mut out = Vec::with_capacity(DIGITS_MAX + 3);
                digits::put_decimal256(&mut out, *unscaled, *scale);
                f.write_str(&String::from_utf8_lossy(&out))
            }
            Numeric::NegativeInfinity => f.write_str("-Infinity"),
            Numeric::Infinity => f.write_str("Infinity"),
            Numeric::NaN => f.write_str("NaN"),
        }
    }
}

/// PostgreSQL's `isspace`.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

/// `10^exponent`, when it has at most 77 digits.
pub(crate) fn power_of_ten(exponent: u8) -> Option<i256> {
    POWERS_OF_TEN.get(usize::from(exponent)).copied()
}

/// The error of a number with too many digits for its column.
pub(super) fn field_overflow(size: NumericSize) -> Error {
    let digits = size.precision - size.scale;
    let limit = if digits == 0 {
        "1".to_string()
    } else {
        format!("10^{digits}")
    };
    Error::NumericOutOfRange {
        message: "numeric field overflow".to_string(),
        detail: Some(format!(
            "A field with precision {}, scale {} must round to an absolute value less than {limit}.",
            size.precision, size.scale
        )),
    }
}

fn overflow() -> Error {
    Error::NumericOutOfRange {
        message: "value overflows numeric format".to_string(),
        detail: None,
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

/// Divides, rounding half away from zero.
fn divide_rounding(value: i256, divisor: i256) -> i256 {
    let quotient = value.wrapping_div(divisor);
    let rest = value.wrapping_rem(divisor).wrapping_abs();
    // `rest >= divisor - rest` is `2 × rest >= divisor` without overflow.
    if rest < divisor.wrapping_sub(rest) {
        quotient
    } else if value.is_negative() {
        quotient.wrapping_sub(i256::ONE)
    } else {
        quotient.wrapping_add(i256::ONE)
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

    /// Digits behind the point that hold it exactly; as many as are written, unless they are zeros beyond our limit.
    fn scale(&self) -> Option<u8> {
        let needed = |fraction: usize| (fraction as i64 - self.exponent).max(0);
        let written = needed(self.fraction.len());
        if written <= DIGITS_MAX as i64 {
            return u8::try_from(written).ok();
        }
        let zeros = self
            .integer
            .iter()
            .chain(self.fraction)
            .rev()
            .take_while(|digit| **digit == b'0')
            .count();
        let exact = if zeros == self.integer.len() + self.fraction.len() {
            0
        } else {
            (written - zeros as i64).max(0)
        };
        (exact <= DIGITS_MAX as i64)
            .then_some(u8::try_from(exact).ok())
            .flatten()
    }

    /// The number times `10^scale`, rounded half away from zero; `None` above 76 digits.
    fn scaled_to(&self, scale: u8) -> Option<i256> {
        let digits = || self.integer.iter().chain(self.fraction).map(|digit| digit - b'0');
        let leading_zeros = digits().take_while(|digit| *digit == 0).count();
        let written = self.integer.len() + self.fraction.len() - leading_zeros;
        if written == 0 {
            return Some(i256::ZERO);
        }
        // How many digits, from the first that counts, stand before the rounded place.
        let kept = (self.integer.len() as i64 - leading_zeros as i64) + self.exponent + i64::from(scale);
        let Ok(kept) = usize::try_from(kept) else {
            return Some(i256::ZERO);
        };
        if kept > DIGITS_MAX {
            return None;
        }
        let padded = || digits().skip(leading_zeros).chain(std::iter::repeat(0));
        let mut value = i256::ZERO;
        let mut start = 0;
        while start < kept {
            let count = (kept - start).min(CHUNK_DIGITS);
            let chunk = padded()
                .skip(start)
                .take(count)
                .fold(0_i128, |sum, digit| sum * 10 + i128::from(digit));
            let shift = power_of_ten(count as u8)?;
            value = value.wrapping_mul(shift).wrapping_add(i256::from_i128(chunk));
            start += count;
        }
        if padded().nth(kept)? >= 5 {
            value = value.wrapping_add(i256::ONE);
        }
        Some(if self.negative {
            value.wrapping_neg()
        } else {
            value
        })
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
        (sum * 10 + i64::from(digit - b'0')).min(EXPONENT_MAX)
    });
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Numeric {
        Numeric::parse(text).unwrap()
    }

    #[test]
    fn reads_and_prints_as_written() {
        let cases = [
            ("0", "0"),
            ("-0", "0"),
            ("  12.50 ", "12.50"),
            ("1e20", "100000000000000000000"),
            ("-1E-5", "-0.00001"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1.5e1", "15"),
            ("1.25e1", "12.5"),
            ("007", "7"),
            ("nan", "NaN"),
            ("-inf", "-Infinity"),
            ("+Infinity", "Infinity"),
            ("0e100000", "0"),
            (
                "12345678901234567890123456789012345678.12345678901234567890123456789012345678",
                "12345678901234567890123456789012345678.12345678901234567890123456789012345678",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(number(text).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_number_or_too_wide() {
        for text in [
            "", " ", "-", ".", "1_000", "1e", "1e+", "0x10", "1 2", "1.2.3", "--1", "e5", "infinit",
        ] {
            let error = Numeric::parse(text).unwrap_err();
            assert_eq!(error.sqlstate(), "22P02", "{text}");
            assert_eq!(
                error.to_string(),
                format!("invalid input syntax for type numeric: \"{text}\"")
            );
        }
        assert_eq!(Numeric::parse("1e76").unwrap_err().sqlstate(), "22003");
        assert_eq!(Numeric::parse("1e-77").unwrap_err().sqlstate(), "22003");
        assert_eq!(Numeric::parse(&"9".repeat(77)).unwrap_err().sqlstate(), "22003");
        assert!(Numeric::parse(&"9".repeat(76)).is_ok());
    }

    #[test]
    fn rounds_half_away_from_zero() {
        let cases = [
            ("0.005", 2, "0.01"),
            ("-0.005", 2, "-0.01"),
            ("0.0049", 2, "0.00"),
            ("2.5", 0, "3"),
            ("9.99", 1, "10.0"),
        ];
        for (text, scale, expected) in cases {
            assert_eq!(number(text).rescale(scale).unwrap().to_string(), expected);
            assert_eq!(Numeric::parse_rounded(text, scale).unwrap().to_string(), expected);
        }
        assert_eq!(
            Numeric::parse_rounded("1e-400", 38).unwrap(),
            Numeric::from_i64(0)
        );
        assert_eq!(number("1e70").rescale(10).unwrap_err().sqlstate(), "22003");
    }

    #[test]
    fn compares_by_value() {
        let rising = [
            "-Infinity",
            "-1e75",
            "-1.5",
            "-1.49",
            "-0.1",
            "0.0",
            "1e-76",
            "0.1",
            "1",
            "1.01",
            "1e75",
            "Infinity",
            "NaN",
        ];
        for (i, left) in rising.iter().enumerate() {
            for (j, right) in rising.iter().enumerate() {
                assert_eq!(number(left).cmp(&number(right)), i.cmp(&j), "{left} {right}");
            }
        }
        assert_eq!(number("1.0"), number("1.00"));
    }

    #[test]
    fn floors_and_ceilings() {
        let cases = [
            ("1.5", 1, 2),
            ("-1.5", -2, -1),
            ("3.000", 3, 3),
            ("-0.001", -1, 0),
            ("0.001", 0, 1),
        ];
        for (text, floor, ceil) in cases {
            assert_eq!(
                (number(text).floor(), number(text).ceil()),
                (Some(floor), Some(ceil)),
                "{text}"
            );
        }
        assert_eq!(number("1e40").floor(), None);
        assert_eq!(Numeric::NaN.ceil(), None);
    }

    #[test]
    fn doubles_both_ways() {
        assert_eq!(number("0.1").to_f64(), 0.1);
        assert_eq!(number("9007199254740993").to_f64(), 9007199254740992.0);
        assert!(Numeric::NaN.to_f64().is_nan());
        let cases = [
            (0.1 + 0.2, "0.3"),
            (1e20, "100000000000000000000"),
            (-2.5, "-2.5"),
            (
                1e-70,
                "0.0000000000000000000000000000000000000000000000000000000000000000000001",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(Numeric::from_f64(value).unwrap().to_string(), expected);
        }
        assert_eq!(Numeric::from_f32(16777216.0).unwrap().to_string(), "16777200");
        assert_eq!(Numeric::from_f64(1e300).unwrap_err().sqlstate(), "22003");
        assert_eq!(Numeric::from_f64(1e-300).unwrap(), Numeric::from_i64(0));
    }
}
