//! `Numeric`: PostgreSQL's numeric, up to 131,072 digits before the point and 16,383 behind it, NaN and ±Infinity; every
//! value keeps the digits behind the point that it shows (1.50 is equal to 1.5, but prints 1.50). `Value` holds it,
//! `plan` compares with it, functions and aggregates compute with it. Knows no columns.
//!
//! # How numerics travel
//!
//! - numeric(p,s) of at most 38 digits, none of them cut off before the point ([`NumericSize::is_fixed`]), is Arrow's
//!   Decimal128(p,s): all values of a column share one scale. Results whose scale is decided by the types alone (sums,
//!   differences, products) are such as long as 38 digits hold them.
//! - Every other numeric (bare, wider, of a negative scale, and all results whose scale the values decide: quotients,
//!   averages, roots, parameters …) is Arrow's Binary with the type in the field's metadata. Its bytes are those of
//!   `bytes`: first a part that compares as the numbers do and is the same for equal numbers, then the display scale.
//!   Rows store these very bytes.
//!
//! Bytes of equal numbers differ (in the scale), so whatever asks for equality or order asks it of the first part alone:
//! `functions::order_function` gives that key as it does for jsonb, intervals and arrays, and `query::same_rows`
//! shows the first value of a group. A comparison of a fixed with a variable numeric is one of their keys.

mod arithmetic;
mod bytes;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::num_traits::ToPrimitive;

use super::{NumericSize, floats};
use crate::{Error, Result};

pub use arithmetic::DISPLAY_SCALE_MAX;
pub(crate) use arithmetic::result_scale;
pub(super) use bytes::NUMERIC_NEGATIVE;
pub use bytes::{NumericBytes, numeric_key};

/// Digits before the point that a numeric has at most.
const WHOLE_DIGITS_MAX: u64 = 131_072;
/// Digits behind the point that a numeric shows at most.
const SCALE_MAX: u16 = 16_383;

/// A numeric constant. Equality, order and hash go by value, whatever the scale.
#[derive(Debug, Clone)]
pub enum Numeric {
    /// A number.
    Finite(Decimal),
    /// Below everything.
    NegativeInfinity,
    /// Above everything finite.
    Infinity,
    /// Equal to itself and above everything else, as in PostgreSQL.
    NaN,
}

/// A finite number: `unscaled × 10^-scale`, of which `scale` digits show behind the point.
#[derive(Debug, Clone)]
pub struct Decimal {
    unscaled: Unscaled,
    scale: u16,
}

/// All digits as one integer: on the heap only where 128 bits do not hold it.
#[derive(Debug, Clone)]
enum Unscaled {
    Small(i128),
    Big(Box<BigInt>),
}

/// 10^0 to 10^38.
const POWERS_OF_TEN: [i128; 39] = {
    let mut powers = [1; 39];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// `10^exponent`, when 128 bits hold it.
pub(crate) fn power_of_ten(exponent: u16) -> Option<i128> {
    POWERS_OF_TEN.get(usize::from(exponent)).copied()
}

fn big_power_of_ten(exponent: u32) -> BigInt {
    match POWERS_OF_TEN.get(exponent as usize) {
        Some(power) => BigInt::from(*power),
        None => BigInt::from(10).pow(exponent),
    }
}

impl Unscaled {
    fn of_big(big: BigInt) -> Unscaled {
        match big.to_i128() {
            Some(small) => Unscaled::Small(small),
            None => Unscaled::Big(Box::new(big)),
        }
    }

    fn to_big(&self) -> BigInt {
        match self {
            Unscaled::Small(small) => BigInt::from(*small),
            Unscaled::Big(big) => big.as_ref().clone(),
        }
    }

    fn sign(&self) -> Ordering {
        match self {
            Unscaled::Small(small) => small.cmp(&0),
            Unscaled::Big(big) => match big.sign() {
                Sign::Minus => Ordering::Less,
                Sign::NoSign => Ordering::Equal,
                Sign::Plus => Ordering::Greater,
            },
        }
    }
}

impl Decimal {
    /// Digits behind the point.
    pub fn scale(&self) -> u16 {
        self.scale
    }

    /// All digits as one integer.
    pub fn unscaled(&self) -> BigInt {
        self.unscaled.to_big()
    }

    /// How it compares with 0.
    pub fn sign(&self) -> Ordering {
        self.unscaled.sign()
    }

    /// How many digits the unscaled integer has, exactly; 0 for 0.
    fn digit_count(&self) -> u64 {
        match &self.unscaled {
            Unscaled::Small(0) => 0,
            Unscaled::Small(small) => u64::from(small.unsigned_abs().ilog10()) + 1,
            Unscaled::Big(big) => {
                // An estimate from the bits is one too few at most.
                let bits = big.bits() as f64 - 1.0;
                let count = (bits * std::f64::consts::LOG10_2) as u64;
                // Mostly its first bits tell.
                if (bits + 1.0) * std::f64::consts::LOG10_2 < (count + 1) as f64 - 1e-6 {
                    return count + 1;
                }
                match big.magnitude() >= big_power_of_ten(count as u32 + 1).magnitude() {
                    true => count + 2,
                    false => count + 1,
                }
            }
        }
    }

    /// The decimal position of the first digit that is not 0: 0 for ones, -1 for tenths. 0 is in the ones.
    pub(crate) fn position(&self) -> i64 {
        match self.digit_count() {
            0 => 0,
            count => count as i64 - 1 - i64::from(self.scale),
        }
    }
}

impl Numeric {
    /// `unscaled × 10^-scale`.
    pub fn from_i128(unscaled: i128, scale: u16) -> Numeric {
        Numeric::Finite(Decimal {
            unscaled: Unscaled::Small(unscaled),
            scale,
        })
    }

    /// `unscaled × 10^-scale`. Errors: 22003 for more digits before or behind the point than a numeric has.
    pub fn from_big(unscaled: BigInt, scale: u32) -> Result<Numeric> {
        let scale = u16::try_from(scale).ok().filter(|scale| *scale <= SCALE_MAX);
        let decimal = Decimal {
            unscaled: Unscaled::of_big(unscaled),
            scale: scale.ok_or_else(overflow)?,
        };
        decimal.checked().map(Numeric::Finite)
    }

    /// From an integer.
    pub fn from_i64(value: i64) -> Numeric {
        Numeric::from_i128(i128::from(value), 0)
    }

    /// Whether it is neither NaN nor infinite.
    pub fn is_finite(&self) -> bool {
        matches!(self, Numeric::Finite(_))
    }

    /// Digits behind the point; `None` for specials.
    pub fn scale(&self) -> Option<u16> {
        match self {
            Numeric::Finite(decimal) => Some(decimal.scale),
            _ => None,
        }
    }

    /// How it compares with 0; NaN stands above it.
    pub fn sign(&self) -> Ordering {
        match self {
            Numeric::Finite(decimal) => decimal.sign(),
            Numeric::NegativeInfinity => Ordering::Less,
            Numeric::Infinity | Numeric::NaN => Ordering::Greater,
        }
    }

    /// The integer that is the number times `10^scale`, rounded half away from zero; `None` when 128 bits do not hold it,
    /// and for specials.
    pub fn unscaled_at(&self, scale: u16) -> Option<i128> {
        match self {
            Numeric::Finite(decimal) if decimal.scale == scale => match decimal.unscaled {
                Unscaled::Small(small) => Some(small),
                Unscaled::Big(_) => None,
            },
            Numeric::Finite(decimal) => match decimal.at_scale(scale).unscaled {
                Unscaled::Small(small) => Some(small),
                Unscaled::Big(_) => None,
            },
            _ => None,
        }
    }

    /// The same when the number has no more digits behind the point than `scale`.
    pub fn exactly_at(&self, scale: u16) -> Option<i128> {
        let unscaled = self.unscaled_at(scale)?;
        (Numeric::from_i128(unscaled, scale) == *self).then_some(unscaled)
    }

    /// The largest integer not above it / smallest not below it, when it fits i128 (`None` for specials and beyond).
    pub fn floor(&self) -> Option<i128> {
        self.floored().unscaled_at(0)
    }

    /// See [`Numeric::floor`].
    pub fn ceil(&self) -> Option<i128> {
        self.negated().floor().map(|floor| -floor)
    }

    /// The nearest double; infinite beyond all doubles.
    pub fn to_f64(&self) -> f64 {
        match self {
            Numeric::NegativeInfinity => f64::NEG_INFINITY,
            Numeric::Infinity => f64::INFINITY,
            Numeric::NaN => f64::NAN,
            Numeric::Finite(decimal) => match decimal.unscaled {
                // A quotient of two doubles that are exact is rounded correctly.
                Unscaled::Small(exact) if exact.unsigned_abs() <= 1 << 53 && decimal.scale <= 22 => {
                    exact as f64 / 10_f64.powi(i32::from(decimal.scale))
                }
                // Otherwise only the reading of text is.
                _ => self.to_string().parse().unwrap_or(f64::NAN),
            },
        }
    }

    /// As PostgreSQL casts. Errors: 22003 for what is too large for a double, or too small.
    pub fn to_double(&self) -> Result<f64> {
        let double = self.to_f64();
        let is_lost = double.is_infinite() || double == 0.0 && self.sign().is_ne();
        match self.is_finite() && is_lost {
            true => floats::parse_f64(&self.to_string()),
            false => Ok(double),
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
            // Trailing zeros of the mantissa are the format's.
            _ => Numeric::parse(&text).map(|number| number.normalized()),
        }
    }

    /// The number as a column of this size, or of bare numeric, holds it: rounded to the column's scale. 22003 when it
    /// has too many digits before the point, or is an infinity that a size does not take.
    pub fn fit(self, size: Option<NumericSize>) -> Result<Numeric> {
        let Some(size) = size else {
            return Ok(self);
        };
        match self {
            Numeric::Finite(decimal) => {
                let kept = decimal.fit_scale(size.scale);
                match kept.is_below_power(i64::from(size.precision) - i64::from(size.scale)) {
                    true => Ok(Numeric::Finite(kept)),
                    false => Err(field_overflow(size)),
                }
            }
            Numeric::NaN if !size.is_fixed() => Ok(Numeric::NaN),
            special => Err(Error::NumericOutOfRange {
                message: "numeric field overflow".to_string(),
                detail: Some(format!(
                    "A field with precision {}, scale {} cannot hold {}.",
                    size.precision,
                    size.scale,
                    match special {
                        Numeric::NaN => "NaN",
                        _ => "an infinite value",
                    }
                )),
            }),
        }
    }

    /// Its place among the kinds of number: finite ones share one.
    fn rank(&self) -> u8 {
        match self {
            Numeric::NegativeInfinity => 0,
            Numeric::Finite(_) => 1,
            Numeric::Infinity => 2,
            Numeric::NaN => 3,
        }
    }
}

impl From<Decimal> for Numeric {
    fn from(decimal: Decimal) -> Numeric {
        Numeric::Finite(decimal)
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
        match (self, other) {
            (Numeric::Finite(left), Numeric::Finite(right)) => left.compare(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Decimal {
    fn compare(&self, other: &Decimal) -> Ordering {
        if let (Unscaled::Small(left), Unscaled::Small(right)) = (&self.unscaled, &other.unscaled) {
            if self.scale == other.scale {
                return left.cmp(right);
            }
            let widen = |unscaled: i128, by: u16| unscaled.checked_mul(power_of_ten(by)?);
            let left = widen(*left, other.scale.saturating_sub(self.scale));
            let right = widen(*right, self.scale.saturating_sub(other.scale));
            if let (Some(left), Some(right)) = (left, right) {
                return left.cmp(&right);
            }
        }
        let sign = self.sign();
        if sign != other.sign() || sign.is_eq() {
            return sign.cmp(&other.sign());
        }
        // The place of the first digit mostly decides, and saves making one as long as the other.
        let by_place = self.position().cmp(&other.position());
        match (by_place, sign) {
            (Ordering::Equal, _) => {
                let scale = self.scale.max(other.scale);
                self.unscaled_up_to(scale).cmp(&other.unscaled_up_to(scale))
            }
            (by_place, Ordering::Less) => by_place.reverse(),
            (by_place, _) => by_place,
        }
    }
}

impl Hash for Numeric {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut bytes = Vec::new();
        self.put_bytes(&mut bytes);
        numeric_key(&bytes).hash(state);
    }
}

impl std::fmt::Display for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = Vec::new();
        self.put_text(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

/// The error of a number with too many digits for its column.
pub(super) fn field_overflow(size: NumericSize) -> Error {
    let digits = i32::from(size.precision) - i32::from(size.scale);
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

/// The error of a number beyond all numerics.
pub(crate) fn overflow() -> Error {
    Error::NumericOutOfRange {
        message: "value overflows numeric format".to_string(),
        detail: None,
    }
}

#[cfg(test)]
mod tests;
