//! Roots, exponentials, logarithms and powers of numerics, to the digits that PostgreSQL gives them: its scales, its rules
//! for NaN and infinities. Computed in integers that count a power of ten, with digits to spare, and rounded once.

use std::cmp::Ordering;

use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{Signed, ToPrimitive, Zero};

use super::float::{logarithm, negative_root, power_fault};
use crate::types::{Decimal, Numeric, numeric_overflow, result_scale};
use crate::{Error, Result};

/// Digits computed beyond those that are shown.
const DIGITS_TO_SPARE: i64 = 12;
/// Decimal digits in one of PostgreSQL's.
const DIGITS_OF_DIGIT: i64 = 4;
/// Beyond it PostgreSQL calls an exponential too large, or 0.
const EXPONENT_MAX: f64 = 6_000.0;
/// PostgreSQL's NUMERIC_MIN_SIG_DIGITS.
const SIGNIFICANT_DIGITS_MIN: u16 = 16;
/// Its NUMERIC_MAX_RESULT_SCALE, to which it holds an estimated weight.
const WEIGHT_MAX: f64 = 2_000.0;
/// Decimal digits of the largest power that is computed at all.
const POWER_DIGITS_MAX: f64 = 393_204.0;

fn power_of_ten(exponent: i64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent.max(0)).unwrap_or(0))
}

/// Towards zero, as C casts.
fn cut(number: f64) -> i64 {
    number as i64
}

fn one() -> Numeric {
    Numeric::from_i64(1)
}

/// The number as an integer that counts `10^-digits`; what is beyond is cut off.
fn fixed(number: &Decimal, digits: i64) -> BigInt {
    let by = digits - i64::from(number.scale());
    match by >= 0 {
        true => number.unscaled() * power_of_ten(by),
        false => number.unscaled() / power_of_ten(-by),
    }
}

/// What an integer that counts `10^-digits` is, rounded to `scale`. Errors: 22003.
fn rounded(number: BigInt, digits: i64, scale: u16) -> Result<Numeric> {
    let digits = u32::try_from(digits).map_err(|_| numeric_overflow())?;
    Numeric::from_big(number, digits)?.round(i32::from(scale))
}

/// The square root. Errors: 2201F of a negative number.
pub(super) fn sqrt(number: &Numeric) -> Result<Numeric> {
    let decimal = match number {
        Numeric::Finite(decimal) if decimal.sign().is_ge() => decimal,
        Numeric::Finite(_) | Numeric::NegativeInfinity => return Err(negative_root()),
        special => return Ok(special.clone()),
    };
    let (weight, _) = decimal.leading();
    let scale = result_scale((weight + 1) * DIGITS_OF_DIGIT / 2 - 1, &[decimal.scale()]);
    root_of(decimal, scale)
}

/// The square root of what is not negative, with `scale` digits behind the point. Errors: 22003.
pub fn square_root_at(number: &Numeric, scale: u16) -> Result<Numeric> {
    match number {
        Numeric::Finite(decimal) => root_of(decimal, scale),
        special => Ok(special.clone()),
    }
}

fn root_of(number: &Decimal, scale: u16) -> Result<Numeric> {
    let digits = i64::from(scale) + 1;
    rounded(fixed(number, digits * 2).sqrt(), digits, scale)
}

/// `e` to the power of a number. Errors: 22003.
pub(super) fn exp(number: &Numeric) -> Result<Numeric> {
    match number {
        Numeric::Finite(decimal) => {
            let weight = number.to_f64() * std::f64::consts::LOG10_E;
            let scale = result_scale(cut(weight.clamp(-WEIGHT_MAX, WEIGHT_MAX)), &[decimal.scale()]);
            let before = cut(weight.clamp(0.0, EXPONENT_MAX));
            let digits = before + i64::from(scale) + DIGITS_TO_SPARE;
            exp_at(&fixed(decimal, digits), digits, number.to_f64(), scale)
        }
        Numeric::NegativeInfinity => Ok(Numeric::from_i64(0)),
        special => Ok(special.clone()),
    }
}

/// The natural logarithm. Errors: 2201E of what is not positive.
pub(super) fn ln(number: &Numeric) -> Result<Numeric> {
    check_positive(number)?;
    match number {
        Numeric::Finite(decimal) => {
            let scale = result_scale(ln_weight(decimal), &[decimal.scale()]);
            let digits = i64::from(scale) + DIGITS_TO_SPARE;
            rounded(ln_of(decimal, digits), digits, scale)
        }
        special => Ok(special.clone()),
    }
}

/// The logarithm to a base. Errors: 2201E of what is not positive, 22012 to the base 1.
pub(super) fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
    if *base == Numeric::NaN || *number == Numeric::NaN {
        return Ok(Numeric::NaN);
    }
    if !base.is_finite() || !number.is_finite() {
        // A negative number is worse than 0.
        for wanted in [Ordering::Less, Ordering::Equal] {
            for operand in [base, number] {
                if operand.sign() == wanted {
                    check_positive(operand)?;
                }
            }
        }
    }
    check_positive(base)?;
    check_positive(number)?;
    let (Numeric::Finite(base), Numeric::Finite(number)) = (base, number) else {
        return Ok(match (base, number) {
            (Numeric::Finite(_), _) => Numeric::Infinity,
            (_, Numeric::Finite(_)) => Numeric::from_i64(0),
            _ => Numeric::NaN,
        });
    };
    let (base_weight, number_weight) = (ln_weight(base), ln_weight(number));
    let scale = result_scale(number_weight - base_weight, &[base.scale(), number.scale()]);
    // A base next to 1 makes the quotient large.
    let digits = i64::from(scale) + 2 * base_weight.abs() + number_weight.abs() + DIGITS_TO_SPARE;
    let divisor = ln_of(base, digits);
    if divisor.is_zero() {
        return Err(Error::DivisionByZero);
    }
    rounded(
        ln_of(number, digits) * power_of_ten(digits) / divisor,
        digits,
        scale,
    )
}

/// Refuses what has no logarithm.
fn check_positive(number: &Numeric) -> Result<()> {
    let sign = match number.sign() {
        Ordering::Less => -1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0,
    };
    logarithm(sign, f64::ln).map(drop)
}

/// A power. Errors: 2201F for one that is undefined, 22003.
pub(super) fn power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    let is_zero = |number: &Numeric| number.sign().is_eq();
    match (base, exponent) {
        (Numeric::NaN, exponent) if is_zero(exponent) => return Ok(one()),
        (base, Numeric::NaN) if *base == one() => return Ok(one()),
        (Numeric::NaN, _) | (_, Numeric::NaN) => return Ok(Numeric::NaN),
        _ => {}
    }
    if is_zero(base) && exponent.sign().is_lt() {
        return Err(power_fault("zero raised to a negative power is undefined"));
    }
    let is_whole = exponent.is_whole() || !exponent.is_finite();
    if base.sign().is_lt() && !is_whole {
        return Err(power_fault(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let (Numeric::Finite(finite_base), Numeric::Finite(finite_exponent)) = (base, exponent) else {
        return Ok(infinite_power(base, exponent));
    };
    let small = exponent.exactly_at(0).and_then(|whole| i32::try_from(whole).ok());
    match small {
        Some(exponent) => whole_power(base, finite_base, exponent),
        None => real_power(finite_base, finite_exponent, is_odd(exponent)),
    }
}

fn is_odd(number: &Numeric) -> bool {
    let two = Numeric::from_i64(2);
    number.is_whole() && number.modulo(&two).is_ok_and(|rest| rest.sign().is_ne())
}

/// As POSIX's pow has it, one of the two being infinite.
fn infinite_power(base: &Numeric, exponent: &Numeric) -> Numeric {
    let zero = || Numeric::from_i64(0);
    let upward = exponent.sign().is_gt();
    if *base == one() || exponent.sign().is_eq() {
        return one();
    }
    if base.sign().is_eq() {
        return zero();
    }
    if !exponent.is_finite() {
        let magnitude = base.absolute();
        return match magnitude.cmp(&one()) {
            Ordering::Equal => one(),
            above if above.is_gt() == upward => Numeric::Infinity,
            _ => zero(),
        };
    }
    match (upward, base.sign().is_lt() && is_odd(exponent)) {
        (false, _) => zero(),
        (true, true) => Numeric::NegativeInfinity,
        (true, false) => Numeric::Infinity,
    }
}

/// A power whose exponent is a small whole number, by multiplication.
fn whole_power(base: &Numeric, decimal: &Decimal, exponent: i32) -> Result<Numeric> {
    let scale = result_scale(0, &[SIGNIFICANT_DIGITS_MIN, decimal.scale()]);
    match exponent {
        0 => return Ok(one().rescale(scale)),
        1 => return base.round(i32::from(scale)),
        -1 => return one().divided_at(base, scale),
        2 => return base.times(base)?.round(i32::from(scale)),
        _ => {}
    }
    if decimal.sign().is_eq() {
        return Ok(Numeric::from_i128(0, scale));
    }
    // The first digits of the base as a fraction of ten, and where they stand.
    let position = decimal.position();
    let mantissa = fixed(decimal, 15 - position).to_f64().unwrap_or(1.0).abs();
    let weight = f64::from(exponent) * (mantissa.log10() - 15.0 + position as f64);
    if weight > POWER_DIGITS_MAX {
        return Err(numeric_overflow());
    }
    if weight + 1.0 < -f64::from(scale) {
        return Ok(Numeric::from_i128(0, scale));
    }
    let kept = 1 + i64::from(scale) + cut(weight) + cut(f64::from(exponent).abs().ln()) + 8;
    let kept = kept.max(i64::from(SIGNIFICANT_DIGITS_MIN) + 8);
    let (mantissa, scaled_by) = repeated_product(decimal, exponent.unsigned_abs(), kept);
    // The power is mantissa × 10^-scaled_by.
    let digits = i64::from(scale) + 2;
    let number = match exponent < 0 {
        true => power_of_ten(digits + scaled_by.max(0)) / (mantissa * power_of_ten(-scaled_by)),
        false => shifted(mantissa, digits - scaled_by),
    };
    rounded(number, digits, scale)
}

fn shifted(number: BigInt, by: i64) -> BigInt {
    match by >= 0 {
        true => number * power_of_ten(by),
        false => number / power_of_ten(-by),
    }
}

/// A power as an integer and the power of ten by which it is too large; so many digits of it are right.
fn repeated_product(base: &Decimal, exponent: u32, digits: i64) -> (BigInt, i64) {
    let shorten = |(number, scale): (BigInt, i64)| {
        let count = (number.bits() as f64 * std::f64::consts::LOG10_2) as i64;
        let drop = (count - digits - 2).max(0);
        match drop {
            0 => (number, scale),
            drop => (number / power_of_ten(drop), scale - drop),
        }
    };
    let mut square = shorten((base.unscaled(), i64::from(base.scale())));
    let mut product = (BigInt::from(1), 0);
    let mut bits = exponent;
    while bits > 0 {
        if bits & 1 == 1 {
            product = shorten((product.0 * &square.0, product.1 + square.1));
        }
        bits >>= 1;
        if bits > 0 {
            square = shorten((&square.0 * &square.0, square.1 * 2));
        }
    }
    product
}

/// A power by way of the logarithm.
fn real_power(base: &Decimal, exponent: &Decimal, is_odd: bool) -> Result<Numeric> {
    if base.sign().is_eq() {
        return Ok(Numeric::from_i128(0, SIGNIFICANT_DIGITS_MIN));
    }
    let is_negative = base.sign().is_lt() && is_odd;
    let Numeric::Finite(magnitude) = Numeric::from(base.clone()).absolute() else {
        return Ok(Numeric::NaN);
    };
    let ln_weight = ln_weight(&magnitude);
    let product = |digits: i64| {
        // As many digits more as the exponent takes from the logarithm.
        let more = exponent.position().max(0) + 1;
        let ln = ln_of(&magnitude, digits + more);
        ln * exponent.unscaled() / power_of_ten(i64::from(exponent.scale()) + more)
    };
    let rough_digits = (8 - ln_weight).max(0) + DIGITS_TO_SPARE;
    let rough = Numeric::from_big(product(rough_digits), rough_digits as u32)?.to_f64();
    if rough.abs() > EXPONENT_MAX * 1.003_333 {
        return match rough > 0.0 {
            true => Err(numeric_overflow()),
            false => Ok(Numeric::from_i128(0, crate::types::DISPLAY_SCALE_MAX)),
        };
    }
    let weight = cut(rough * std::f64::consts::LOG10_E);
    let scale = result_scale(weight, &[base.scale(), exponent.scale()]);
    let digits = i64::from(scale).max(weight + i64::from(scale)) + DIGITS_TO_SPARE;
    let power = exp_at(&product(digits), digits, rough, scale)?;
    Ok(if is_negative { power.negated() } else { power })
}

/// About the decimal weight of a number's logarithm (PostgreSQL's estimate_ln_dweight).
fn ln_weight(number: &Decimal) -> i64 {
    let value = Numeric::from(number.clone()).to_f64();
    if (0.9..=1.1).contains(&value) {
        let rest = Numeric::from(number.clone()).minus(&one());
        return match rest {
            Ok(Numeric::Finite(rest)) if rest.sign().is_ne() => {
                let (weight, first) = rest.leading();
                weight * DIGITS_OF_DIGIT + cut((first as f64).log10())
            }
            _ => 0,
        };
    }
    let position = number.position();
    let first = fixed(number, 15 - position).to_f64().unwrap_or(1.0);
    let ln = first.ln() + (position as f64 - 15.0) * std::f64::consts::LN_10;
    cut(ln.abs().log10())
}

/// `e^x` of an `x` that counts `10^-digits` and is about `size`. Errors: 22003.
fn exp_at(exponent: &BigInt, digits: i64, size: f64, scale: u16) -> Result<Numeric> {
    if size.abs() >= EXPONENT_MAX {
        return match size > 0.0 {
            true => Err(numeric_overflow()),
            false => Ok(Numeric::from_i128(0, scale)),
        };
    }
    let power = exp_of(&exponent.abs(), digits);
    match exponent.is_negative() {
        true => rounded(power_of_ten(digits * 2) / power, digits, scale),
        false => rounded(power, digits, scale),
    }
}

/// `e^x` of what is not negative, both counting `10^-digits`: the series for a small part of the exponent, squared as often
/// as it was halved. As many digits are right as the argument has, not as it counts.
fn exp_of(exponent: &BigInt, digits: i64) -> BigInt {
    let size = (exponent / power_of_ten((digits - 3).max(0)))
        .to_f64()
        .unwrap_or(0.0);
    let halvings = if size >= 1.0 {
        size.log2().ceil() as u32 + 4
    } else {
        4
    };
    // Each squaring doubles the error.
    let more = i64::from(halvings) / 3 + 3;
    let unit = power_of_ten(digits + more);
    let small = (exponent * power_of_ten(more)) >> halvings;
    let (mut sum, mut term) = (&unit + &small, small.clone());
    let mut place = 2_u32;
    while !term.is_zero() {
        term = &term * &small / &unit / place;
        sum += &term;
        place += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &unit;
    }
    sum / power_of_ten(more)
}

/// The logarithm of a positive number, counting `10^-digits`: its mantissa's and that of its power of ten.
fn ln_of(number: &Decimal, digits: i64) -> BigInt {
    let more = digits + 8;
    let value = Numeric::from(number.clone()).to_f64();
    let ln = if (0.5..2.0).contains(&value) {
        ln_near_one(&fixed(number, more), more)
    } else {
        let position = number.position();
        let mantissa = fixed(number, more - position);
        let tens = ln_near_one(&(power_of_ten(more) * 10), more) * position;
        ln_near_one(&mantissa, more) + tens
    };
    ln / power_of_ten(8)
}

/// The logarithm of a number of 0.5 to 10: roots bring it near 1, where `2·atanh((x-1)/(x+1))` converges fast.
fn ln_near_one(number: &BigInt, digits: i64) -> BigInt {
    let unit = power_of_ten(digits);
    let mut root = number.clone();
    let mut doublings = 0_u32;
    while (&root - &unit).abs() * 20 > unit {
        root = (root * &unit).sqrt();
        doublings += 1;
    }
    let ratio = (&root - &unit) * &unit / (&root + &unit);
    let square = &ratio * &ratio / &unit;
    let (mut sum, mut power) = (ratio.clone(), ratio);
    let mut odd = 3_u32;
    loop {
        power = &power * &square / &unit;
        let term = &power / odd;
        if term.is_zero() {
            break;
        }
        sum += term;
        odd += 2;
    }
    sum << (doublings + 1)
}
