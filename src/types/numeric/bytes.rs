//! Numerics as bytes: the form in which variable ones travel in Arrow arrays and stand in rows, and PostgreSQL's binary
//! form. Both are made of base-10,000 digits whose groups of four decimals never reach over the point.
//!
//! ```text
//! +------+------------+-------------------+------------+---------------------+
//! | head | weight     | digits            | terminator | display scale       |
//! | u8   | u16 BE,    | n × u16 BE, none  | u8, if     | u8; from 255 on     |
//! |      | some heads | is 0 at the end   | digits     | u16 BE, then FF     |
//! +------+------------+-------------------+------------+---------------------+
//! |<-------------------- key -------------------------->|
//!
//! head  60       -Infinity
//!       65 … 7E  negative: 7E - class of the weight
//!       7F       0
//!       80 … 99  positive: 80 + class of the weight
//!       A0       Infinity
//!       B0       NaN
//! ```
//!
//! The weight is the power of 10,000 of the first digit. Class 0 stands for weights below -8 and class 25 for those above
//! 15, the weight (plus 8000 hex) follows; 1 … 24 are the weights between. A digit is written plus 0100 hex, so that the
//! terminator 00 stands below all. Of a negative number, weight, digits and terminator are complemented.
//!
//! 1. Keys compare as the numbers do, byte by byte, and keys of equal numbers are the same.
//! 2. No key is a prefix of another, so whole values compare as the numbers do, too, and then by scale.
//! 3. No value begins with a byte below 60: the form in which rows held bare numerics before (`codec`) begins with the
//!    scale, 0 to 38.

use bigdecimal::num_bigint::{BigInt, BigUint};

use super::{Decimal, Numeric, SCALE_MAX, Unscaled, big_power_of_ten, power_of_ten};
use crate::Result;
use crate::types::digits;

/// Signs of PostgreSQL's binary form.
pub(in crate::types) const NUMERIC_NEGATIVE: u16 = 0x4000;
const NUMERIC_NAN: u16 = 0xC000;
const NUMERIC_INFINITY: u16 = 0xD000;
const NUMERIC_NEGATIVE_INFINITY: u16 = 0xF000;
const HEAD_NEGATIVE_INFINITY: u8 = 0x60;
const HEAD_NEGATIVE: u8 = 0x7E;
const HEAD_ZERO: u8 = 0x7F;
const HEAD_POSITIVE: u8 = 0x80;
const HEAD_INFINITY: u8 = 0xA0;
const HEAD_NAN: u8 = 0xB0;
/// The class of weights that are too small for one of their own, and of those too large.
const CLASS_LOW: u8 = 0;
const CLASS_HIGH: u8 = 25;
/// The weight of class 1.
const WEIGHT_FIRST: i32 = -8;
const WEIGHT_BIAS: i32 = 0x8000;
const DIGIT_BIAS: u16 = 0x0100;
const TERMINATOR: u8 = 0;
/// The last byte of a display scale that one byte does not hold.
const LONG_SCALE: u8 = 0xFF;
/// What PostgreSQL sends as the display scale of an infinity.
const INFINITY_SCALE: u16 = 0x20;
const BASE: u128 = 10_000;
/// Digits of a number whose unscaled integer 128 bits hold, a group at each end begun.
const SMALL_GROUPS: usize = 11;

/// A numeric in its byte form, borrowed.
#[derive(Debug, Clone, Copy)]
pub struct NumericBytes<'a> {
    kind: Kind,
    /// The power of 10,000 of the first digit.
    weight: i32,
    /// The digits as they are written.
    digits: &'a [u8],
    scale: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NegativeInfinity,
    Negative,
    Zero,
    Positive,
    Infinity,
    NaN,
}

/// The part that equal numbers share, and by which they compare.
#[inline]
pub fn numeric_key(bytes: &[u8]) -> &[u8] {
    let suffix = match bytes.last() {
        Some(&LONG_SCALE) => 3,
        _ => 1,
    };
    &bytes[..bytes.len().saturating_sub(suffix)]
}

impl<'a> NumericBytes<'a> {
    /// `None`: not in this form.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Option<NumericBytes<'a>> {
        let (key, scale) = match bytes {
            [key @ .., high, low, LONG_SCALE] => (key, u16::from_be_bytes([*high, *low])),
            [key @ .., scale] => (key, u16::from(*scale)),
            [] => return None,
        };
        let (head, rest) = key.split_first()?;
        let (kind, class) = match *head {
            HEAD_NEGATIVE_INFINITY => (Kind::NegativeInfinity, None),
            HEAD_ZERO => (Kind::Zero, None),
            HEAD_INFINITY => (Kind::Infinity, None),
            HEAD_NAN => (Kind::NaN, None),
            head @ HEAD_POSITIVE..HEAD_INFINITY => (Kind::Positive, Some(head - HEAD_POSITIVE)),
            head @ HEAD_NEGATIVE_INFINITY..=HEAD_NEGATIVE => (Kind::Negative, Some(HEAD_NEGATIVE - head)),
            _ => return None,
        };
        let Some(class) = class else {
            return rest.is_empty().then_some(NumericBytes {
                kind,
                weight: 0,
                digits: &[],
                scale,
            });
        };
        let flip = if kind == Kind::Negative { 0xFF } else { 0 };
        let (weight, rest) = match class {
            CLASS_LOW | CLASS_HIGH => {
                let (bytes, rest) = rest.split_first_chunk::<2>()?;
                let weight = u16::from_be_bytes([bytes[0] ^ flip, bytes[1] ^ flip]);
                (i32::from(weight) - WEIGHT_BIAS, rest)
            }
            class if class < CLASS_HIGH => (i32::from(class) - 1 + WEIGHT_FIRST, rest),
            _ => return None,
        };
        let (terminator, digits) = rest.split_last()?;
        let is_whole = digits.len() % 2 == 0 && !digits.is_empty() && *terminator == TERMINATOR ^ flip;
        let read = NumericBytes {
            kind,
            weight,
            digits,
            scale,
        };
        (is_whole && scale <= SCALE_MAX && (0..read.count()).all(|i| u128::from(read.digit(i)) < BASE))
            .then_some(read)
    }

    /// How many base-10,000 digits there are.
    #[inline]
    fn count(&self) -> usize {
        self.digits.len() / 2
    }

    /// One of them; 0 behind the last.
    #[inline]
    fn digit(&self, i: usize) -> u16 {
        let Some(pair) = self.digits.get(i * 2..i * 2 + 2) else {
            return 0;
        };
        let flip = if self.kind == Kind::Negative { 0xFF } else { 0 };
        u16::from_be_bytes([pair[0] ^ flip, pair[1] ^ flip]).wrapping_sub(DIGIT_BIAS)
    }

    /// The digit of a power of 10,000.
    #[inline]
    fn digit_of(&self, power: i32) -> u16 {
        usize::try_from(self.weight - power).map_or(0, |i| self.digit(i))
    }

    fn special_text(&self) -> Option<&'static [u8]> {
        match self.kind {
            Kind::NegativeInfinity => Some(b"-Infinity"),
            Kind::Infinity => Some(b"Infinity"),
            Kind::NaN => Some(b"NaN"),
            Kind::Negative | Kind::Zero | Kind::Positive => None,
        }
    }

    /// Appends the text, as PostgreSQL prints it.
    pub fn put_text(&self, out: &mut Vec<u8>) {
        if let Some(text) = self.special_text() {
            return out.extend_from_slice(text);
        }
        if self.kind == Kind::Negative {
            out.push(b'-');
        }
        digits::put_u64(out, u64::from(self.digit_of(self.weight.max(0))));
        for power in (0..self.weight).rev() {
            digits::put_padded(out, u64::from(self.digit_of(power)), 4);
        }
        if self.scale == 0 {
            return;
        }
        out.push(b'.');
        let end = out.len() + usize::from(self.scale);
        let mut power = -1;
        while out.len() < end {
            digits::put_padded(out, u64::from(self.digit_of(power)), 4);
            power -= 1;
        }
        out.truncate(end);
    }

    /// Appends PostgreSQL's binary form.
    pub fn put_binary(&self, out: &mut Vec<u8>) {
        let (sign, weight) = match self.kind {
            Kind::NegativeInfinity => (NUMERIC_NEGATIVE_INFINITY, 0),
            Kind::Infinity => (NUMERIC_INFINITY, 0),
            Kind::NaN => (NUMERIC_NAN, 0),
            Kind::Negative => (NUMERIC_NEGATIVE, self.weight),
            Kind::Zero | Kind::Positive => (0, self.weight),
        };
        out.extend_from_slice(&(self.count() as u16).to_be_bytes());
        out.extend_from_slice(&(weight as i16).to_be_bytes());
        let scale = match self.kind {
            Kind::Infinity | Kind::NegativeInfinity => INFINITY_SCALE,
            _ => self.scale,
        };
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&scale.to_be_bytes());
        for i in 0..self.count() {
            out.extend_from_slice(&self.digit(i).to_be_bytes());
        }
    }

    /// The number.
    pub fn number(&self) -> Numeric {
        match self.kind {
            Kind::NegativeInfinity => Numeric::NegativeInfinity,
            Kind::Infinity => Numeric::Infinity,
            Kind::NaN => Numeric::NaN,
            Kind::Zero => Numeric::from_i128(0, self.scale),
            Kind::Negative | Kind::Positive => {
                let digits = (0..self.count()).map(|i| self.digit(i));
                let unscaled = of_digits(digits, self.count(), self.weight, self.scale);
                Numeric::Finite(Decimal {
                    unscaled: if self.kind == Kind::Negative {
                        minus(unscaled)
                    } else {
                        unscaled
                    },
                    scale: self.scale,
                })
            }
        }
    }
}

fn minus(unscaled: Unscaled) -> Unscaled {
    match unscaled {
        Unscaled::Small(small) => Unscaled::Small(-small),
        Unscaled::Big(big) => Unscaled::of_big(-*big),
    }
}

/// The unscaled integer of base-10,000 digits at a scale; what is beyond the scale is cut off.
fn of_digits(digits: impl Iterator<Item = u16>, count: usize, weight: i32, scale: u16) -> Unscaled {
    let shift = (weight - count as i32 + 1) * 4 + i32::from(scale);
    let power = u16::try_from(shift.unsigned_abs()).ok().and_then(power_of_ten);
    if count <= 9 {
        let whole = digits.fold(0_i128, |sum, digit| sum * BASE as i128 + i128::from(digit));
        let small = power.and_then(|power| match shift >= 0 {
            true => whole.checked_mul(power),
            false => Some(whole / power),
        });
        return match small {
            Some(small) => Unscaled::Small(small),
            None => Unscaled::of_big(shifted(BigInt::from(whole), shift)),
        };
    }
    let mut pairs = Vec::with_capacity(count * 2);
    digits.for_each(|digit| pairs.extend_from_slice(&[(digit / 100) as u8, (digit % 100) as u8]));
    let whole = BigUint::from_radix_be(&pairs, 100).unwrap_or_default();
    Unscaled::of_big(shifted(BigInt::from(whole), shift))
}

fn shifted(whole: BigInt, shift: i32) -> BigInt {
    let power = big_power_of_ten(shift.unsigned_abs());
    match shift >= 0 {
        true => whole * power,
        false => whole / power,
    }
}

impl Numeric {
    /// Reads what [`Numeric::put_bytes`] writes. `None`: damaged.
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Option<Numeric> {
        NumericBytes::read(bytes).map(|read| read.number())
    }

    /// The number of a key, in as few digits behind the point as hold it. `None`: damaged.
    pub fn from_key(key: &[u8]) -> Option<Numeric> {
        let mut cell = key.to_vec();
        cell.push(0);
        let read = NumericBytes::read(&cell)?;
        let behind = (read.count() as i32 - 1 - read.weight).max(0) * 4;
        let scale = u16::try_from(behind).ok()?;
        Some(NumericBytes { scale, ..read }.number().normalized())
    }

    /// `unscaled × 10^-scale`, of a little-endian integer in two's complement. `None`: too many digits.
    pub(crate) fn from_le_bytes(unscaled: &[u8], scale: u8) -> Option<Numeric> {
        Numeric::from_big(BigInt::from_signed_bytes_le(unscaled), u32::from(scale)).ok()
    }

    /// Appends the byte form.
    pub fn put_bytes(&self, out: &mut Vec<u8>) {
        let decimal = match self {
            Numeric::NegativeInfinity => return out.extend_from_slice(&[HEAD_NEGATIVE_INFINITY, 0]),
            Numeric::Infinity => return out.extend_from_slice(&[HEAD_INFINITY, 0]),
            Numeric::NaN => return out.extend_from_slice(&[HEAD_NAN, 0]),
            Numeric::Finite(decimal) => decimal,
        };
        let is_negative = decimal.sign().is_lt();
        if decimal.sign().is_eq() {
            out.push(HEAD_ZERO);
        } else {
            decimal.with_digits(|digits, lowest| put_key(out, is_negative, digits, lowest));
        }
        match u8::try_from(decimal.scale) {
            Ok(scale) if scale != LONG_SCALE => out.push(scale),
            _ => {
                out.extend_from_slice(&decimal.scale.to_be_bytes());
                out.push(LONG_SCALE);
            }
        }
    }

    /// Appends the text, as PostgreSQL prints it.
    pub(crate) fn put_text(&self, out: &mut Vec<u8>) {
        if let Numeric::Finite(Decimal {
            unscaled: Unscaled::Small(small),
            scale: scale @ 0..=38,
        }) = self
        {
            return digits::put_decimal128(out, *small, *scale as u8);
        }
        let mut bytes = Vec::new();
        self.put_bytes(&mut bytes);
        if let Some(read) = NumericBytes::read(&bytes) {
            read.put_text(out);
        }
    }

    /// Reads PostgreSQL's binary form: the count of base-10,000 digits, the weight of the first, sign, display scale, then
    /// the digits. `None`: damaged. Errors: 22003.
    pub fn from_binary(bytes: &[u8]) -> Option<Result<Numeric>> {
        let (header, digits) = bytes.split_first_chunk::<8>()?;
        let word = |i: usize| u16::from_be_bytes([header[i * 2], header[i * 2 + 1]]);
        let (count, weight, sign, scale) =
            (usize::from(word(0)), i32::from(word(1) as i16), word(2), word(3));
        match sign {
            NUMERIC_NAN => return Some(Ok(Numeric::NaN)),
            NUMERIC_INFINITY => return Some(Ok(Numeric::Infinity)),
            NUMERIC_NEGATIVE_INFINITY => return Some(Ok(Numeric::NegativeInfinity)),
            0 | NUMERIC_NEGATIVE => {}
            _ => return None,
        }
        let groups = digits
            .chunks_exact(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
        let is_whole = digits.len() == count * 2 && scale <= SCALE_MAX;
        if !is_whole || groups.clone().any(|group| u128::from(group) >= BASE) {
            return None;
        }
        let unscaled = of_digits(groups, count, weight, scale);
        let unscaled = if sign == NUMERIC_NEGATIVE {
            minus(unscaled)
        } else {
            unscaled
        };
        Some(Decimal { unscaled, scale }.checked().map(Numeric::Finite))
    }
}

/// Appends the key of a number that is not 0. `digits`: lowest first; `lowest`: the power of 10,000 of that.
fn put_key(out: &mut Vec<u8>, is_negative: bool, digits: &[u16], lowest: i32) {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let filled = digits
        .iter()
        .rposition(|digit| *digit != 0)
        .map_or(0, |last| last + 1);
    let weight = lowest + filled as i32 - 1;
    let class = match weight - WEIGHT_FIRST + 1 {
        ..=0 => CLASS_LOW,
        class @ 1..=24 => class as u8,
        _ => CLASS_HIGH,
    };
    let flip = if is_negative { 0xFF } else { 0 };
    out.push(match is_negative {
        true => HEAD_NEGATIVE - class,
        false => HEAD_POSITIVE + class,
    });
    let start = out.len();
    if matches!(class, CLASS_LOW | CLASS_HIGH) {
        out.extend_from_slice(&((weight + WEIGHT_BIAS) as u16).to_be_bytes());
    }
    for digit in digits[zeros.min(filled)..filled].iter().rev() {
        out.extend_from_slice(&(digit + DIGIT_BIAS).to_be_bytes());
    }
    out.push(TERMINATOR);
    out[start..].iter_mut().for_each(|byte| *byte ^= flip);
}

impl Decimal {
    /// Hands the base-10,000 digits of the magnitude to `take`, lowest first (zeros may stand at both ends), and the power of
    /// the lowest.
    fn with_digits<R>(&self, take: impl FnOnce(&[u16], i32) -> R) -> R {
        // Digits behind the point that begin a group of four.
        let begun = u32::from(self.scale % 4);
        let lowest = -i32::from(self.scale.div_ceil(4));
        match &self.unscaled {
            Unscaled::Small(small) => {
                let mut digits = [0; SMALL_GROUPS];
                let mut rest = small.unsigned_abs();
                let mut count = 0;
                if begun > 0 {
                    let power = 10_u128.pow(begun);
                    digits[0] = (rest % power) as u16 * 10_u16.pow(4 - begun);
                    rest /= power;
                    count = 1;
                }
                // Division of 64 bits is much the cheaper.
                while rest > u128::from(u64::MAX) {
                    digits[count] = (rest % BASE) as u16;
                    rest /= BASE;
                    count += 1;
                }
                let mut rest = rest as u64;
                while rest > 0 {
                    digits[count] = (rest % BASE as u64) as u16;
                    rest /= BASE as u64;
                    count += 1;
                }
                take(&digits[..count], lowest)
            }
            Unscaled::Big(big) => {
                let filled = match begun {
                    0 => big.magnitude().clone(),
                    begun => big.magnitude() * 10_u32.pow(4 - begun),
                };
                let pairs = filled.to_radix_le(100);
                let digits: Vec<u16> = pairs
                    .chunks(2)
                    .map(|pair| u16::from(pair[0]) + pair.get(1).map_or(0, |high| u16::from(*high) * 100))
                    .collect();
                take(&digits, lowest)
            }
        }
    }
}
