//! Arithmetic of numerics, with PostgreSQL's scales and its rules for NaN and infinities. Numbers of up to 38 digits are
//! computed in 128 bits as long as these hold the result.

use std::cmp::Ordering;

use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, Zero};

use super::{
    Decimal, Numeric, SCALE_MAX, Unscaled, WHOLE_DIGITS_MAX, big_power_of_ten, overflow, power_of_ten,
};
use crate::{Error, Result};

/// The most digits behind the point that PostgreSQL gives a result whose scale it chooses.
pub const DISPLAY_SCALE_MAX: u16 = 1_000;
/// Significant digits that such a result has at least.
const SIGNIFICANT_DIGITS_MIN: i64 = 16;
/// Decimal digits in one of PostgreSQL's, in whose count it estimates.
const DIGITS_OF_DIGIT: i64 = 4;

impl Decimal {
    fn zero(scale: u16) -> Decimal {
        Decimal {
            unscaled: Unscaled::Small(0),
            scale,
        }
    }

    /// Itself, unless it has more digits before the point than a numeric. Errors: 22003.
    pub(super) fn checked(self) -> Result<Decimal> {
        match self.unscaled {
            Unscaled::Small(_) => Ok(self),
            Unscaled::Big(_) if self.position() < WHOLE_DIGITS_MAX as i64 => Ok(self),
            Unscaled::Big(_) => Err(overflow()),
        }
    }

    /// Whether its magnitude is less than `10^digits`.
    pub(super) fn is_below_power(&self, digits: i64) -> bool {
        self.sign().is_eq() || self.position() < digits
    }

    /// The unscaled integer at a scale that is not smaller than its own.
    pub(super) fn unscaled_up_to(&self, scale: u16) -> BigInt {
        let by = scale.saturating_sub(self.scale);
        match by {
            0 => self.unscaled(),
            by => self.unscaled() * big_power_of_ten(u32::from(by)),
        }
    }

    /// The same value with `scale` digits behind the point, rounded half away from zero.
    pub(super) fn at_scale(&self, scale: u16) -> Decimal {
        self.rounded_at(i32::from(scale), true)
    }

    /// Rounded at a place that may stand before the point: no digit behind the point is shown then.
    pub(super) fn fit_scale(&self, scale: i16) -> Decimal {
        self.rounded_at(i32::from(scale), true)
    }

    /// `scale` digits behind the point (before it, when negative) are kept; `round`: else the others are cut off.
    fn rounded_at(&self, scale: i32, round: bool) -> Decimal {
        let drop = i64::from(self.scale) - i64::from(scale);
        let shown = u16::try_from(scale.max(0)).unwrap_or(SCALE_MAX);
        if drop <= 0 {
            return self.widened(shown);
        }
        if drop > i64::from(self.scale) + self.position() + 2 {
            // All its digits go, and the first does not round up.
            return Decimal::zero(shown);
        }
        let drop = u32::try_from(drop).unwrap_or(u32::MAX);
        // What stands before the point is filled up with zeros again.
        let fill = scale.min(0).unsigned_abs();
        if let Unscaled::Small(small) = self.unscaled {
            let power = u16::try_from(drop).ok().and_then(power_of_ten);
            let kept = power.map(|power| divide_small(small, power, round));
            let fill = u16::try_from(fill).ok().and_then(power_of_ten);
            if let Some(unscaled) = kept.zip(fill).and_then(|(kept, fill)| kept.checked_mul(fill)) {
                return Decimal {
                    unscaled: Unscaled::Small(unscaled),
                    scale: shown,
                };
            }
        }
        let kept = divide_big(&self.unscaled(), &big_power_of_ten(drop), round);
        Decimal {
            unscaled: Unscaled::of_big(kept * big_power_of_ten(fill)),
            scale: shown,
        }
    }

    fn widened(&self, scale: u16) -> Decimal {
        let by = scale.saturating_sub(self.scale);
        let small = match self.unscaled {
            Unscaled::Small(small) => power_of_ten(by).and_then(|power| small.checked_mul(power)),
            Unscaled::Big(_) => None,
        };
        let unscaled = match small {
            Some(small) => Unscaled::Small(small),
            None => Unscaled::of_big(self.unscaled_up_to(scale)),
        };
        Decimal { unscaled, scale }
    }

    /// The same value in as few digits behind the point as hold it.
    fn normalized(&self) -> Decimal {
        let mut scale = self.scale;
        let unscaled = match &self.unscaled {
            Unscaled::Small(0) => {
                scale = 0;
                Unscaled::Small(0)
            }
            Unscaled::Small(small) => {
                let mut small = *small;
                while scale > 0 && small % 10 == 0 {
                    small /= 10;
                    scale -= 1;
                }
                Unscaled::Small(small)
            }
            Unscaled::Big(big) => {
                let digits = big.magnitude().to_str_radix(10);
                let zeros = digits.bytes().rev().take_while(|digit| *digit == b'0').count();
                let drop = u16::try_from(zeros).unwrap_or(u16::MAX).min(scale);
                scale -= drop;
                Unscaled::of_big(big.as_ref() / big_power_of_ten(u32::from(drop)))
            }
        };
        Decimal { unscaled, scale }
    }

    fn negated(&self) -> Decimal {
        let unscaled = match &self.unscaled {
            Unscaled::Small(small) => match small.checked_neg() {
                Some(negated) => Unscaled::Small(negated),
                None => Unscaled::of_big(-BigInt::from(*small)),
            },
            Unscaled::Big(big) => Unscaled::of_big(-big.as_ref().clone()),
        };
        Decimal {
            unscaled,
            scale: self.scale,
        }
    }

    /// Both unscaled integers at the larger scale, when 128 bits hold them.
    fn aligned_small(&self, other: &Decimal) -> Option<(i128, i128, u16)> {
        let scale = self.scale.max(other.scale);
        let widen = |decimal: &Decimal| match decimal.unscaled {
            Unscaled::Small(small) => small.checked_mul(power_of_ten(scale - decimal.scale)?),
            Unscaled::Big(_) => None,
        };
        Some((widen(self)?, widen(other)?, scale))
    }

    fn aligned(&self, other: &Decimal) -> (BigInt, BigInt, u16) {
        let scale = self.scale.max(other.scale);
        (self.unscaled_up_to(scale), other.unscaled_up_to(scale), scale)
    }

    fn plus(&self, other: &Decimal) -> Result<Decimal> {
        if let Some((a, b, scale)) = self.aligned_small(other)
            && let Some(sum) = a.checked_add(b)
        {
            return Ok(Decimal {
                unscaled: Unscaled::Small(sum),
                scale,
            });
        }
        let (a, b, scale) = self.aligned(other);
        Decimal {
            unscaled: Unscaled::of_big(a + b),
            scale,
        }
        .checked()
    }

    fn times(&self, other: &Decimal) -> Result<Decimal> {
        let scale = self.scale + other.scale;
        let product = match (&self.unscaled, &other.unscaled) {
            (Unscaled::Small(a), Unscaled::Small(b)) => a.checked_mul(*b),
            _ => None,
        };
        let unscaled = match product {
            Some(product) => Unscaled::Small(product),
            None => Unscaled::of_big(self.unscaled() * other.unscaled()),
        };
        let product = Decimal { unscaled, scale };
        match scale > SCALE_MAX {
            true => product.at_scale(SCALE_MAX),
            false => product,
        }
        .checked()
    }

    /// The quotient with `scale` digits behind the point; `round`: the last of them rounded, not cut off.
    fn divided(&self, divisor: &Decimal, scale: u16, round: bool) -> Result<Decimal> {
        // x·10^-p / (y·10^-q) at a scale s is x·10^(s+q-p) / y.
        let shift = i32::from(scale) + i32::from(divisor.scale) - i32::from(self.scale);
        if let (Unscaled::Small(x), Unscaled::Small(y)) = (&self.unscaled, &divisor.unscaled) {
            let power = u16::try_from(shift.unsigned_abs()).ok().and_then(power_of_ten);
            let both = power.and_then(|power| match shift >= 0 {
                true => Some((x.checked_mul(power)?, *y)),
                false => Some((*x, y.checked_mul(power)?)),
            });
            if let Some((dividend, divisor)) = both
                && dividend != i128::MIN
            {
                return Ok(Decimal {
                    unscaled: Unscaled::Small(divide_small(dividend, divisor, round)),
                    scale,
                });
            }
        }
        let power = big_power_of_ten(shift.unsigned_abs());
        let (x, y) = (self.unscaled(), divisor.unscaled());
        let quotient = match shift >= 0 {
            true => divide_big(&(x * power), &y, round),
            false => divide_big(&x, &(y * power), round),
        };
        Decimal {
            unscaled: Unscaled::of_big(quotient),
            scale,
        }
        .checked()
    }

    /// Weight and value of the first base-10,000 digit, by which PostgreSQL estimates; zeros for 0.
    pub(crate) fn leading(&self) -> (i64, i64) {
        if self.sign().is_eq() {
            return (0, 0);
        }
        let position = self.position();
        let weight = position.div_euclid(DIGITS_OF_DIGIT);
        let first = self.rounded_whole(weight * DIGITS_OF_DIGIT);
        (weight, first)
    }

    /// The integer of the first digits down to `10^position`, of magnitude, cut; only a few digits may be above it.
    fn rounded_whole(&self, position: i64) -> i64 {
        let drop = position + i64::from(self.scale);
        let first = match &self.unscaled {
            Unscaled::Small(small) => {
                let power = u16::try_from(drop.unsigned_abs()).ok().and_then(power_of_ten);
                match (power, drop >= 0) {
                    (Some(power), true) => small.abs().checked_div(power),
                    (Some(power), false) => small.abs().checked_mul(power),
                    (None, _) => Some(0),
                }
            }
            Unscaled::Big(_) => None,
        };
        let first = first.map_or_else(
            || {
                let power = big_power_of_ten(u32::try_from(drop.unsigned_abs()).unwrap_or(0));
                let big = self.unscaled().abs();
                let first = if drop >= 0 { big / power } else { big * power };
                i64::try_from(first).ok()
            },
            |first| i64::try_from(first).ok(),
        );
        first.unwrap_or(0)
    }
}

impl Numeric {
    fn zero() -> Numeric {
        Numeric::from_i64(0)
    }

    /// The same value with `scale` digits behind the point, rounded half away from zero.
    pub fn rescale(&self, scale: u16) -> Numeric {
        match self {
            Numeric::Finite(decimal) => Numeric::Finite(decimal.at_scale(scale)),
            special => special.clone(),
        }
    }

    /// The same value in as few digits behind the point as hold it.
    pub fn normalized(&self) -> Numeric {
        match self {
            Numeric::Finite(decimal) => Numeric::Finite(decimal.normalized()),
            special => special.clone(),
        }
    }

    /// `-x`.
    pub fn negated(&self) -> Numeric {
        match self {
            Numeric::Finite(decimal) => Numeric::Finite(decimal.negated()),
            Numeric::Infinity => Numeric::NegativeInfinity,
            Numeric::NegativeInfinity => Numeric::Infinity,
            Numeric::NaN => Numeric::NaN,
        }
    }

    /// The magnitude.
    pub fn absolute(&self) -> Numeric {
        match self.sign() {
            Ordering::Less => self.negated(),
            _ => self.clone(),
        }
    }

    /// `a + b`, with the larger scale of the two. Errors: 22003.
    pub fn plus(&self, other: &Numeric) -> Result<Numeric> {
        use Numeric as N;
        Ok(match (self, other) {
            (N::Finite(a), N::Finite(b)) => N::Finite(a.plus(b)?),
            (N::NaN, _) | (_, N::NaN) => N::NaN,
            (N::Infinity, N::NegativeInfinity) | (N::NegativeInfinity, N::Infinity) => N::NaN,
            (N::Finite(_), special) | (special, _) => special.clone(),
        })
    }

    /// `a - b`, with the larger scale of the two. Errors: 22003.
    pub fn minus(&self, other: &Numeric) -> Result<Numeric> {
        self.plus(&other.negated())
    }

    /// `a * b`, with the sum of both scales. Errors: 22003.
    pub fn times(&self, other: &Numeric) -> Result<Numeric> {
        use Numeric as N;
        match (self, other) {
            (N::Finite(a), N::Finite(b)) => a.times(b).map(N::Finite),
            (N::NaN, _) | (_, N::NaN) => Ok(N::NaN),
            (a, b) => Ok(match (a.sign(), b.sign()) {
                (Ordering::Equal, _) | (_, Ordering::Equal) => N::NaN,
                (a, b) if a == b => N::Infinity,
                _ => N::NegativeInfinity,
            }),
        }
    }

    /// What a division gives without one, should one of the two be special. Errors: 22012.
    fn special_quotient(&self, divisor: &Numeric) -> Result<Option<Numeric>> {
        use Numeric as N;
        if divisor.sign().is_eq() && *self != N::NaN {
            return Err(Error::DivisionByZero);
        }
        Ok(match (self, divisor) {
            (N::Finite(_), N::Finite(_)) => None,
            (N::NaN, _) | (_, N::NaN) => Some(N::NaN),
            (N::Finite(_), _) => Some(N::zero()),
            (a, N::Finite(_)) => Some(match divisor.sign() {
                Ordering::Less => a.negated(),
                _ => a.clone(),
            }),
            _ => Some(N::NaN),
        })
    }

    /// `a / b` with the digits that PostgreSQL gives it. Errors: 22012, 22003.
    pub fn divided_by(&self, divisor: &Numeric) -> Result<Numeric> {
        self.divided_at(divisor, quotient_scale(self, divisor))
    }

    /// `a / b` with `scale` digits behind the point, rounded half away from zero. Errors: 22012, 22003.
    pub fn divided_at(&self, divisor: &Numeric, scale: u16) -> Result<Numeric> {
        match (self.special_quotient(divisor)?, self, divisor) {
            (Some(special), _, _) => Ok(special),
            (None, Numeric::Finite(a), Numeric::Finite(b)) => a.divided(b, scale, true).map(Numeric::Finite),
            _ => Ok(Numeric::NaN),
        }
    }

    /// How often `b` goes into `a`, as a whole number cut towards zero. Errors: 22012, 22003.
    pub fn whole_quotient(&self, divisor: &Numeric) -> Result<Numeric> {
        match (self.special_quotient(divisor)?, self, divisor) {
            (Some(special), _, _) => Ok(special),
            (None, Numeric::Finite(a), Numeric::Finite(b)) => a.divided(b, 0, false).map(Numeric::Finite),
            _ => Ok(Numeric::NaN),
        }
    }

    /// `a % b`, with the sign of `a`. Errors: 22012.
    pub fn modulo(&self, divisor: &Numeric) -> Result<Numeric> {
        use Numeric as N;
        let (N::Finite(a), N::Finite(b)) = (self, divisor) else {
            return match (self, divisor) {
                (N::NaN, _) | (_, N::NaN) => Ok(N::NaN),
                (N::Finite(_), _) => Ok(self.clone()),
                _ if divisor.sign().is_eq() => Err(Error::DivisionByZero),
                _ => Ok(N::NaN),
            };
        };
        if divisor.sign().is_eq() {
            return Err(Error::DivisionByZero);
        }
        if let Some((a, b, scale)) = a.aligned_small(b)
            && let Some(rest) = a.checked_rem(b)
        {
            return Ok(Numeric::from_i128(rest, scale));
        }
        let (a, b, scale) = a.aligned(b);
        Numeric::from_big(a % b, u32::from(scale))
    }

    /// The largest number that divides both into whole numbers; at the larger of their scales.
    pub fn common_divisor(&self, other: &Numeric) -> Result<Numeric> {
        let (Numeric::Finite(a), Numeric::Finite(b)) = (self, other) else {
            return Ok(Numeric::NaN);
        };
        let (mut a, mut b, scale) = a.aligned(b);
        while !b.is_zero() {
            let rest = a % &b;
            a = std::mem::replace(&mut b, rest);
        }
        Numeric::from_big(a.abs(), u32::from(scale))
    }

    /// The smallest number that both divide into whole numbers; 0 when one of them is. Errors: 22003.
    pub fn common_multiple(&self, other: &Numeric) -> Result<Numeric> {
        let (Numeric::Finite(a), Numeric::Finite(b)) = (self, other) else {
            return Ok(Numeric::NaN);
        };
        let (x, y, scale) = a.aligned(b);
        if x.is_zero() || y.is_zero() {
            return Ok(Numeric::from_i128(0, scale));
        }
        let Numeric::Finite(divisor) = self.common_divisor(other)? else {
            return Ok(Numeric::NaN);
        };
        let unscaled = (x / divisor.unscaled() * y).abs();
        Numeric::from_big(unscaled, u32::from(scale))
    }

    /// Rounded half away from zero to `scale` digits behind the point; negative scales round before the point.
    /// Errors: 22003.
    pub fn round(&self, scale: i32) -> Result<Numeric> {
        self.rounded_at(scale, true)
    }

    /// Cut to `scale` digits behind the point, towards zero; negative scales cut before the point.
    pub fn truncate(&self, scale: i32) -> Result<Numeric> {
        self.rounded_at(scale, false)
    }

    fn rounded_at(&self, scale: i32, round: bool) -> Result<Numeric> {
        match self {
            Numeric::Finite(decimal) => decimal.rounded_at(scale, round).checked().map(Numeric::Finite),
            special => Ok(special.clone()),
        }
    }

    /// The largest whole number not above it.
    pub fn floored(&self) -> Numeric {
        let Numeric::Finite(decimal) = self else {
            return self.clone();
        };
        let cut = decimal.rounded_at(0, false);
        if decimal.sign().is_lt() && cut.compare(decimal).is_gt() {
            let one = Decimal {
                unscaled: Unscaled::Small(-1),
                scale: 0,
            };
            return cut.plus(&one).unwrap_or(cut).into();
        }
        cut.into()
    }

    /// The smallest whole number not below it.
    pub fn ceiled(&self) -> Numeric {
        self.negated().floored().negated()
    }

    /// Whether no digit behind the point is other than 0; not so for specials.
    pub fn is_whole(&self) -> bool {
        matches!(self, Numeric::Finite(decimal) if decimal.rounded_at(0, false).compare(decimal).is_eq())
    }
}

/// The digits behind the point that PostgreSQL gives `a / b`: at least 16 significant ones.
fn quotient_scale(a: &Numeric, b: &Numeric) -> u16 {
    let (Numeric::Finite(a), Numeric::Finite(b)) = (a, b) else {
        return 0;
    };
    let ((weight_a, first_a), (weight_b, first_b)) = (a.leading(), b.leading());
    let weight = weight_a - weight_b - i64::from(first_a <= first_b);
    result_scale(weight * DIGITS_OF_DIGIT, &[a.scale, b.scale])
}

/// The digits behind the point of a result of about `10^weight` whose scale is for the values to decide: 16 significant
/// ones, and no fewer than the operands show.
pub(crate) fn result_scale(weight: i64, shown: &[u16]) -> u16 {
    let significant = SIGNIFICANT_DIGITS_MIN.saturating_sub(weight);
    let shown = shown.iter().map(|scale| i64::from(*scale)).max().unwrap_or(0);
    let scale = significant.max(shown).clamp(0, i64::from(DISPLAY_SCALE_MAX));
    u16::try_from(scale).unwrap_or(DISPLAY_SCALE_MAX)
}

/// Divides by what is not 0; half away from zero or towards it.
fn divide_small(dividend: i128, divisor: i128, round: bool) -> i128 {
    let (quotient, rest) = (
        dividend.wrapping_div(divisor),
        dividend.wrapping_rem(divisor).unsigned_abs(),
    );
    // `rest >= divisor - rest` is `2 × rest >= divisor` without overflow.
    if !round || rest < divisor.unsigned_abs() - rest {
        return quotient;
    }
    match (dividend < 0) == (divisor < 0) {
        true => quotient + 1,
        false => quotient - 1,
    }
}

/// See [`divide_small`].
fn divide_big(dividend: &BigInt, divisor: &BigInt, round: bool) -> BigInt {
    let quotient = dividend / divisor;
    if !round {
        return quotient;
    }
    let rest: BigInt = (dividend - &quotient * divisor).abs();
    if rest.clone() + rest < divisor.abs() {
        return quotient;
    }
    match dividend.is_negative() == divisor.is_negative() {
        true => quotient + 1,
        false => quotient - 1,
    }
}
