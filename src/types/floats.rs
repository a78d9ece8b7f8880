//! Text of real and double precision as PostgreSQL prints and reads it: the shortest digits that read back, laid out
//! with an exponent outside `1e-4 .. 1e15` (1e6 for real). Knows nothing of columns.

use std::fmt::Write;

use super::digits;
use super::spaces::is_space;
use crate::{Error, Result};

/// The decimal exponent from which double precision / real print in scientific notation.
const FLOAT8_FIXED_DIGITS: i32 = 15;
const FLOAT4_FIXED_DIGITS: i32 = 6;
/// Below this decimal exponent both do.
const FIXED_EXPONENT_MIN: i32 = -4;

/// Appends a double precision. `extra_digits`: see [`FormatSettings::extra_float_digits`](super::FormatSettings).
#[inline]
pub(super) fn put_f64(out: &mut Vec<u8>, value: f64, extra_digits: i8) {
    if extra_digits <= 0 {
        put_rounded(out, value, FLOAT8_FIXED_DIGITS + i32::from(extra_digits));
    } else if value.trunc() == value && value.abs() < 1e15 {
        put_whole(out, value as i64, value.is_sign_negative());
    } else if !put_special(out, value) {
        put_shortest(out, Shortest::of_f64(value), FLOAT8_FIXED_DIGITS);
    }
}

/// Appends a real.
#[inline]
pub(super) fn put_f32(out: &mut Vec<u8>, value: f32, extra_digits: i8) {
    if extra_digits <= 0 {
        put_rounded(
            out,
            f64::from(value),
            FLOAT4_FIXED_DIGITS + i32::from(extra_digits),
        );
    } else if value.trunc() == value && value.abs() < 1e6 {
        put_whole(out, value as i64, value.is_sign_negative());
    } else if !put_special(out, f64::from(value)) {
        put_shortest(out, Shortest::of_f32(value), FLOAT4_FIXED_DIGITS);
    }
}

/// Appends a number rounded to so many digits, one at least.
fn put_rounded(out: &mut Vec<u8>, value: f64, digits: i32) {
    let digits = digits.max(1);
    if !put_special(out, value) {
        let behind_first = usize::try_from(digits - 1).unwrap_or(0);
        put_shortest(
            out,
            Shortest::read(format_args!("{value:.behind_first$e}")),
            digits,
        );
    }
}

/// Reads a double precision. Errors: 22P02, 22003.
pub(super) fn parse_f64(text: &str) -> Result<f64> {
    let value = parse(text, "double precision", |value: f64| {
        (value.is_infinite(), value == 0.0)
    })?;
    // Equal values are told apart by their bits here and there: there is one NaN.
    Ok(if value.is_nan() { f64::NAN } else { value })
}

/// Reads a real. Errors: 22P02, 22003.
pub(super) fn parse_f32(text: &str) -> Result<f32> {
    let value = parse(text, "real", |value: f32| (value.is_infinite(), value == 0.0))?;
    Ok(if value.is_nan() { f32::NAN } else { value })
}

fn parse<F: std::str::FromStr + Copy>(
    text: &str,
    type_name: &str,
    extreme: impl Fn(F) -> (bool, bool),
) -> Result<F> {
    let trimmed = text.trim_matches(is_space);
    let value: F = trimmed.parse().map_err(|_| Error::InvalidText {
        type_name: type_name.to_string(),
        value: text.to_string(),
    })?;
    let (infinite, zero) = extreme(value);
    let mantissa = trimmed.split(['e', 'E']).next().unwrap_or_default();
    let has_digits = |wanted: fn(u8) -> bool| mantissa.bytes().any(wanted);
    // Infinity and zero are what numbers beyond the type read as; written out they are welcome.
    if (infinite && has_digits(|byte| byte.is_ascii_digit()))
        || (zero && has_digits(|byte| matches!(byte, b'1'..=b'9')))
    {
        return Err(Error::NumericOutOfRange {
            message: format!("\"{trimmed}\" is out of range for type {type_name}"),
            detail: None,
        });
    }
    Ok(value)
}

#[inline]
fn put_whole(out: &mut Vec<u8>, value: i64, negative: bool) {
    if value == 0 && negative {
        out.push(b'-');
    }
    digits::put_i64(out, value);
}

fn put_special(out: &mut Vec<u8>, value: f64) -> bool {
    let text: &[u8] = if value.is_nan() {
        b"NaN"
    } else if value == f64::INFINITY {
        b"Infinity"
    } else if value == f64::NEG_INFINITY {
        b"-Infinity"
    } else {
        return false;
    };
    out.extend_from_slice(text);
    true
}

/// Text of one number on the stack.
struct Scratch {
    bytes: [u8; 40],
    length: usize,
}

impl Write for Scratch {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The shortest decimal that reads back as a number: sign, digits without a point, exponent of the first digit.
struct Shortest {
    negative: bool,
    digits: [u8; 20],
    count: usize,
    exponent: i32,
}

impl Shortest {
    fn of_f64(value: f64) -> Shortest {
        let mut shortest = Shortest::read(format_args!("{value:e}"));
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, power) = match (bits >> 52) & 0x7FF {
            0 => (fraction, -1074),
            biased => (fraction | (1 << 52), biased as i32 - 1075),
        };
        if !shortest.is_halfway(mantissa, power) {
            shortest.round_to_even(mantissa, power);
            return shortest;
        }
        (shortest.count..17)
            .map(|digits| Shortest::read(format_args!("{value:.digits$e}")))
            .find(|longer| !longer.is_halfway(mantissa, power) && longer.text().parse() == Ok(value))
            .unwrap_or(shortest)
    }

    fn of_f32(value: f32) -> Shortest {
        let mut shortest = Shortest::read(format_args!("{value:e}"));
        let bits = value.to_bits();
        let fraction = u64::from(bits & ((1 << 23) - 1));
        let (mantissa, power) = match (bits >> 23) & 0xFF {
            0 => (fraction, -149),
            biased => (fraction | (1 << 23), biased as i32 - 150),
        };
        if !shortest.is_halfway(mantissa, power) {
            shortest.round_to_even(mantissa, power);
            return shortest;
        }
        (shortest.count..9)
            .map(|digits| Shortest::read(format_args!("{value:.digits$e}")))
            .find(|longer| !longer.is_halfway(mantissa, power) && longer.text().parse() == Ok(value))
            .unwrap_or(shortest)
    }

    /// Reads what `{:e}` prints: `-1.25e-7`.
    fn read(formatted: std::fmt::Arguments<'_>) -> Shortest {
        let mut scratch = Scratch {
            bytes: [0; 40],
            length: 0,
        };
        scratch
            .write_fmt(formatted)
            .expect("17 digits and an exponent fit into 40 bytes");
        let mut shortest = Shortest {
            negative: false,
            digits: [0; 20],
            count: 0,
            exponent: 0,
        };
        let mut bytes = scratch.bytes[..scratch.length].iter();
        for byte in bytes.by_ref() {
            match byte {
                b'-' => shortest.negative = true,
                b'0'..=b'9' => {
                    shortest.digits[shortest.count] = *byte;
                    shortest.count += 1;
                }
                b'e' => break,
                _ => {}
            }
        }
        let mut negative = false;
        for byte in bytes {
            match byte {
                b'-' => negative = true,
                digit => shortest.exponent = shortest.exponent * 10 + i32::from(digit - b'0'),
            }
        }
        if negative {
            shortest.exponent = -shortest.exponent;
        }
        while shortest.count > 1 && shortest.digits[shortest.count - 1] == b'0' {
            shortest.count -= 1;
        }
        shortest
    }

    /// Whether it stands exactly between `mantissa × 2^power` and a neighbour: a decimal that only readers which round
    /// half to even read back. PostgreSQL prints one more digit then (1e23 is 9.999999999999999e+22).
    fn is_halfway(&self, mantissa: u64, power: i32) -> bool {
        let Some((odd, twos)) = odd_and_twos(self.decimal(), self.last_place()) else {
            return false;
        };
        let doubled = u128::from(mantissa) * 2;
        twos == power - 1 && (odd == doubled + 1 || odd == doubled.saturating_sub(1))
    }

    /// Of two shortest decimals that stand equally near to `mantissa × 2^power`, the even one, as PostgreSQL prints it;
    /// Rust rounds up.
    fn round_to_even(&mut self, mantissa: u64, power: i32) {
        if self.digits[self.count - 1].is_multiple_of(2) {
            return;
        }
        let below = self.decimal() * 2 - 1; // twice the middle between it and the even one below
        if mantissa != 0 && odd_and_twos(below, self.last_place()) == odd_and_twos_of(mantissa, power + 1) {
            self.digits[self.count - 1] -= 1;
        }
    }

    /// The digits as one integer.
    fn decimal(&self) -> u128 {
        self.digits[..self.count]
            .iter()
            .fold(0, |sum, digit| sum * 10 + u128::from(digit - b'0'))
    }

    /// The power of ten of the last digit.
    fn last_place(&self) -> i32 {
        self.exponent - (self.count as i32 - 1)
    }

    fn text(&self) -> String {
        let mut out = Vec::with_capacity(32);
        self.put_scientific(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    fn put_scientific(&self, out: &mut Vec<u8>) {
        if self.negative {
            out.push(b'-');
        }
        out.push(self.digits[0]);
        if self.count > 1 {
            out.push(b'.');
            out.extend_from_slice(&self.digits[1..self.count]);
        }
        out.push(b'e');
        out.push(if self.exponent < 0 { b'-' } else { b'+' });
        digits::put_padded(out, u64::from(self.exponent.unsigned_abs()), 2);
    }
}

/// `decimal × 10^ten_power` as an odd number times a power of two. `None` when it is none, or when its odd part has more
/// than the 54 bits with which it could stand for or beside a double.
fn odd_and_twos(decimal: u128, ten_power: i32) -> Option<(u128, i32)> {
    let fives = 5_u128.pow(ten_power.unsigned_abs().min(26));
    let whole = match ten_power {
        0..=25 => decimal.checked_mul(fives)?,
        -25..0 if decimal.is_multiple_of(fives) => decimal / fives,
        _ => return None,
    };
    let twos = whole.trailing_zeros() as i32;
    (whole != 0).then_some((whole >> twos, ten_power + twos))
}

/// `mantissa × 2^power` likewise.
fn odd_and_twos_of(mantissa: u64, power: i32) -> Option<(u128, i32)> {
    let twos = mantissa.trailing_zeros();
    (mantissa != 0).then(|| (u128::from(mantissa >> twos), power + twos as i32))
}

fn put_shortest(out: &mut Vec<u8>, shortest: Shortest, fixed_digits: i32) {
    if shortest.exponent < FIXED_EXPONENT_MIN || shortest.exponent >= fixed_digits {
        return shortest.put_scientific(out);
    }
    if shortest.negative {
        out.push(b'-');
    }
    let digits = &shortest.digits[..shortest.count];
    match usize::try_from(shortest.exponent) {
        Err(_) => {
            out.extend_from_slice(b"0.");
            out.extend(std::iter::repeat_n(
                b'0',
                shortest.exponent.unsigned_abs() as usize - 1,
            ));
            out.extend_from_slice(digits);
        }
        Ok(exponent) if exponent + 1 >= digits.len() => {
            out.extend_from_slice(digits);
            out.extend(std::iter::repeat_n(b'0', exponent + 1 - digits.len()));
        }
        Ok(exponent) => {
            out.extend_from_slice(&digits[..=exponent]);
            out.push(b'.');
            out.extend_from_slice(&digits[exponent + 1..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_print_as_postgresql_prints_them() {
        let cases: &[(f64, &str)] = &[
            (0.0, "0"),
            (-0.0, "-0"),
            (1.5, "1.5"),
            (-1.1, "-1.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e15, "1e+15"),
            (1e14, "100000000000000"),
            (123456789012345.6, "123456789012345.6"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000123, "0.000123"),
            (1e308, "1e+308"),
            (1e22, "1e+22"),
            (1e23, "9.999999999999999e+22"),
            (5e-324, "5e-324"),
            (9007199254740992.0, "9.007199254740992e+15"),
            (1152921504606846976.0, "1.152921504606847e+18"),
            (1.7976931348623157e308, "1.7976931348623157e+308"),
            (9.5367431640625e-07, "9.5367431640625e-07"),
            (2.9802322387695312e-08, "2.9802322387695312e-08"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            put_f64(&mut out, *value, 1);
            assert_eq!(String::from_utf8(out).unwrap(), *expected);
        }
    }

    #[test]
    fn reals_print_as_postgresql_prints_them() {
        let cases: &[(f32, &str)] = &[
            (16777216.0, "1.6777216e+07"),
            (999999.0, "999999"),
            (100000.0, "100000"),
            (1000000.0, "1e+06"),
            (8388608.0, "8.388608e+06"),
            (4.35, "4.35"),
            (1e-45, "1e-45"),
            (1.1754944e-38, "1.1754944e-38"),
            (3.4028235e38, "3.4028235e+38"),
            (0.1, "0.1"),
            (9430877.0 / 4.0, "2.3577192e+06"),
            (1.0 / 4096.0, "0.00024414062"),
            (9430879.0 / 4.0, "2.3577198e+06"),
        ];
        for (value, expected) in cases {
            let mut out = Vec::new();
            put_f32(&mut out, *value, 1);
            assert_eq!(String::from_utf8(out).unwrap(), *expected);
        }
    }

    #[test]
    fn reads_what_postgresql_reads() {
        for (text, value) in [
            (" 1.5 ", 1.5),
            ("1e308", 1e308),
            (".5", 0.5),
            ("5.", 5.0),
            ("+1", 1.0),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_f64(text).unwrap(), value);
        }
        assert!(parse_f64("nan").unwrap().is_nan());
        assert_eq!(parse_f64("0e5").unwrap(), 0.0);
        for text in ["1e400", "-1e400", "1e-400"] {
            let error = parse_f64(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("\"{text}\" is out of range for type double precision")
            );
        }
        assert_eq!(parse_f32("1e39").unwrap_err().sqlstate(), "22003");
        for text in ["", "abc", "1 2", "1e"] {
            let error = parse_f64(text).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("invalid input syntax for type double precision: \"{text}\"")
            );
        }
    }
}
