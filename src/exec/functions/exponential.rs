//! Roots, exponentials, logarithms and powers of numerics, to the digits that PostgreSQL gives them. Computed on big
//! decimals with digits to spare, and rounded once.

use std::str::FromStr;

use bigdecimal::{BigDecimal, Context, RoundingMode, Signed, ToPrimitive, Zero};

use super::decimal::leading;
use crate::types::{Numeric, SqlType, Value};
use crate::{Error, Result};

/// PostgreSQL's NUMERIC_MIN_SIG_DIGITS: what a result has at least.
const DIGITS_MIN: i64 = 16;
/// Digits computed beyond those that are shown.
const DIGITS_TO_SPARE: i64 = 12;
/// Digits behind the point that a numeric carries here; PostgreSQL shows up to 1,000.
const SCALE_MAX: i64 = 38;
/// Digits before the point that a numeric carries here.
const WEIGHT_MAX: f64 = 38.0;
/// Decimal digits in one of PostgreSQL's.
const DIGITS_OF_DIGIT: i64 = 4;

fn overflow() -> Error {
    Error::NumericOutOfRange {
        message: "value overflows numeric format".to_string(),
        detail: None,
    }
}

fn big(number: &Numeric) -> Result<BigDecimal> {
    BigDecimal::from_str(&number.to_string()).map_err(|_| overflow())
}

fn scale_of(number: &Numeric) -> i64 {
    match number {
        Numeric::Finite { scale, .. } => i64::from(*scale),
        _ => 0,
    }
}

/// The number rounded half away from zero to `scale` digits behind the point, as far as we carry them.
fn rounded(number: &BigDecimal, scale: i64) -> Result<Numeric> {
    let scale = scale.clamp(0, SCALE_MAX);
    Numeric::parse(
        &number
            .with_scale_round(scale, RoundingMode::HalfUp)
            .to_plain_string(),
    )
}

/// The significant digits to compute with for a result of about `10^weight`.
fn context(scale: i64, weight: i64) -> Context {
    let digits = (scale.min(SCALE_MAX) + weight.max(0) + DIGITS_TO_SPARE).max(DIGITS_MIN + DIGITS_TO_SPARE);
    Context::default()
        .with_precision(std::num::NonZeroU64::new(digits.unsigned_abs()).unwrap_or(std::num::NonZeroU64::MIN))
}

/// The square root of a number that is not negative.
pub(super) fn sqrt(number: &Numeric) -> Result<Numeric> {
    let (weight, _) = leading(number);
    let root_weight = (i64::from(weight) + 1) * DIGITS_OF_DIGIT / 2 - 1;
    let scale = (DIGITS_MIN - root_weight).max(scale_of(number));
    let root = big(number)?.sqrt_with_context(&context(scale, root_weight));
    rounded(&root.ok_or_else(overflow)?, scale)
}

/// `e` to the power of a number.
pub(super) fn exp(number: &Numeric) -> Result<Numeric> {
    let weight = number.to_f64() * std::f64::consts::LOG10_E;
    let scale = (DIGITS_MIN - cut(weight)).max(scale_of(number));
    if weight < -(SCALE_MAX as f64) - 1.0 {
        return rounded(&BigDecimal::zero(), scale);
    }
    if weight > WEIGHT_MAX {
        return Err(overflow());
    }
    rounded(&exp_of(&big(number)?, &context(scale, cut(weight))), scale)
}

/// The natural logarithm of a positive number.
pub(super) fn ln(number: &Numeric) -> Result<Numeric> {
    let scale = (DIGITS_MIN - ln_weight(number)).max(scale_of(number));
    rounded(&ln_of(&big(number)?, &context(scale, 2))?, scale)
}

/// The logarithm of a positive number to a positive base other than 1.
pub(super) fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
    let weight = ln_weight(number) - ln_weight(base);
    let scale = (DIGITS_MIN - weight).max(scale_of(base)).max(scale_of(number));
    // A base next to 1 makes the quotient large.
    let context = context(scale, 2 + weight.abs() + ln_weight(base).abs());
    let divisor = ln_of(&big(base)?, &context)?;
    if divisor.is_zero() {
        return Err(Error::DivisionByZero);
    }
    rounded(&(ln_of(&big(number)?, &context)? / divisor), scale)
}

/// A power; the caller has refused those that are undefined.
pub(super) fn power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    let value = big(base)?;
    let whole = exponent.floor().filter(|floor| Some(*floor) == exponent.ceil());
    if value.is_zero() {
        let one = exponent.to_f64() == 0.0;
        return rounded(&BigDecimal::from(i32::from(one)), DIGITS_MIN);
    }
    // log10 of the result, near enough for its digits.
    let rough = context(DIGITS_MIN, 2);
    let exact_ln = ln_of(&value.abs(), &rough)?;
    let weight = (exact_ln * big(exponent)?).to_f64().unwrap_or(f64::MAX) * std::f64::consts::LOG10_E;
    let scale = match whole.and_then(|whole| i32::try_from(whole).ok()) {
        Some(_) => DIGITS_MIN.max(scale_of(base)),
        None => (DIGITS_MIN - cut(weight))
            .max(scale_of(base))
            .max(scale_of(exponent)),
    };
    if weight > WEIGHT_MAX {
        return Err(overflow());
    }
    if weight < -(SCALE_MAX as f64) - 1.0 {
        return rounded(&BigDecimal::zero(), scale);
    }
    // A large exponent multiplies what is wrong in the logarithm.
    let lost = exponent.to_f64().abs().log10().max(0.0);
    let context = context(scale, cut(weight) + cut(lost) + 2);
    let magnitude = exp_of(&(ln_of(&value.abs(), &context)? * big(exponent)?), &context);
    let is_odd = whole.is_some_and(|whole| whole % 2 != 0);
    let result = if value.is_negative() && is_odd {
        -magnitude
    } else {
        magnitude
    };
    rounded(&result, scale)
}

/// The type that holds a result with the digits it has; that of the operator over columns when it is not known yet.
pub(super) fn type_of(result: Option<Result<Numeric>>, over_columns: SqlType) -> SqlType {
    let Some(Ok(number @ Numeric::Finite { scale, .. })) = result else {
        return over_columns;
    };
    let sized = SqlType::numeric_of_scale(scale);
    match super::super::value_array::scalar_of(&Value::Numeric(number), &sized) {
        Ok(_) => sized,
        Err(_) => SqlType::Numeric(None),
    }
}

/// Towards zero, as C casts.
fn cut(number: f64) -> i64 {
    number.clamp(-2_000.0, 2_000.0) as i64
}

/// About the decimal weight of a number's logarithm (PostgreSQL's estimate_ln_dweight).
fn ln_weight(number: &Numeric) -> i64 {
    let value = number.to_f64();
    if (0.9..=1.1).contains(&value) {
        let Ok(rest) = super::decimal::add(number, &Numeric::from_i64(-1)) else {
            return 0;
        };
        let (weight, first) = leading(&rest);
        return match first {
            0 => 0,
            first => i64::from(weight) * DIGITS_OF_DIGIT + cut(f64::from(first).log10()),
        };
    }
    cut(value.ln().abs().log10())
}

/// `e^x`: the series for a small part of the exponent, squared as often as it was halved.
fn exp_of(exponent: &BigDecimal, context: &Context) -> BigDecimal {
    let halvings = exponent.to_f64().map_or(0, |size| {
        if size.abs() > 0.01 {
            (size.abs() * 100.0).log2().ceil() as u32
        } else {
            0
        }
    });
    // Each squaring doubles the error.
    let digits = context.precision().get() + u64::from(halvings) / 3 + 2;
    let small = (exponent / BigDecimal::from(1_u64 << halvings.min(63))).with_prec(digits);
    let mut sum = BigDecimal::from(1);
    let mut term = BigDecimal::from(1);
    let limit = BigDecimal::new(1.into(), digits as i64 + 1);
    for place in 1_i32.. {
        term = (&term * &small / BigDecimal::from(place)).with_prec(digits);
        if term.abs() < limit {
            break;
        }
        sum += &term;
    }
    for _ in 0..halvings {
        sum = sum.square().with_prec(digits);
    }
    sum
}

/// The logarithm of a positive number: roots bring its mantissa near 1, where `2·atanh((m-1)/(m+1))` converges fast.
fn ln_of(number: &BigDecimal, context: &Context) -> Result<BigDecimal> {
    let exponent = number.order_of_magnitude();
    let (digits, scale) = number.as_bigint_and_scale();
    let mantissa = BigDecimal::new(digits.into_owned(), scale + exponent);
    // A number near 1 is its own mantissa, from either side.
    let near_one = number.to_f64().is_some_and(|value| (0.5..2.0).contains(&value));
    if near_one {
        return ln_near_one(number, context);
    }
    let tens = ln_near_one(&BigDecimal::from(10), context)? * BigDecimal::from(exponent);
    Ok(ln_near_one(&mantissa, context)? + tens)
}

fn ln_near_one(number: &BigDecimal, context: &Context) -> Result<BigDecimal> {
    let digits = context.precision().get() + 6;
    let fine = context.clone().with_prec(digits).ok_or_else(overflow)?;
    let one = BigDecimal::from(1);
    let mut root = number.clone();
    let mut doublings = 0_u32;
    while root.to_f64().is_some_and(|value| (value - 1.0).abs() > 0.2) {
        root = root.sqrt_with_context(&fine).ok_or_else(overflow)?;
        doublings += 1;
    }
    let ratio = ((&root - &one) / (&root + &one)).with_prec(digits);
    let square = ratio.square().with_prec(digits);
    let mut power = ratio.clone();
    let mut sum = ratio.clone();
    let limit = BigDecimal::new(1.into(), digits as i64 + 1) * ratio.abs();
    for odd in (3_i32..).step_by(2) {
        power = (&power * &square).with_prec(digits);
        let term = (&power / BigDecimal::from(odd)).with_prec(digits);
        if term.abs() <= limit {
            break;
        }
        sum += term;
    }
    Ok((sum * BigDecimal::from(2_u64 << doublings)).with_prec(digits))
}
