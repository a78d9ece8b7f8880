//! Doubles: rounding, roots, exponentials, logarithms, powers, random ones.

use super::{FunctionDef, T};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("abs", &[T::Float4], T::Float4, |b| b.map1(f32::abs)).bounded(),
    FunctionDef::new("abs", &[T::Float8], T::Float8, |b| b.map1(f64::abs)).bounded(),
    FunctionDef::new("sign", &[T::Float8], T::Float8, |b| b.map1(sign)).bounded(),
    FunctionDef::new("ceil", &[T::Float8], T::Float8, |b| b.map1(f64::ceil)).bounded(),
    FunctionDef::new("ceiling", &[T::Float8], T::Float8, |b| b.map1(f64::ceil)).bounded(),
    FunctionDef::new("floor", &[T::Float8], T::Float8, |b| b.map1(f64::floor)).bounded(),
    FunctionDef::new("round", &[T::Float8], T::Float8, |b| b.map1(f64::round_ties_even)).bounded(),
    FunctionDef::new("trunc", &[T::Float8], T::Float8, |b| b.map1(f64::trunc)).bounded(),
    FunctionDef::new("sqrt", &[T::Float8], T::Float8, |b| b.map1(square_root)),
    FunctionDef::new("cbrt", &[T::Float8], T::Float8, |b| b.map1(f64::cbrt)),
    FunctionDef::new("exp", &[T::Float8], T::Float8, |b| b.map1(exp)),
    FunctionDef::new("ln", &[T::Float8], T::Float8, |b| {
        b.map1(|number| logarithm(number, f64::ln))
    }),
    FunctionDef::new("log", &[T::Float8], T::Float8, |b| {
        b.map1(|number| logarithm(number, f64::log10))
    }),
    FunctionDef::new("log10", &[T::Float8], T::Float8, |b| {
        b.map1(|number| logarithm(number, f64::log10))
    }),
    FunctionDef::new("power", &[T::Float8, T::Float8], T::Float8, |b| b.map2(power)),
    FunctionDef::new("pow", &[T::Float8, T::Float8], T::Float8, |b| b.map2(power)),
    FunctionDef::new("^", &[T::Float8, T::Float8], T::Float8, |b| b.map2(power)),
    FunctionDef::new("pi", &[], T::Float8, |b| b.map0(|| std::f64::consts::PI)),
    FunctionDef::catalog("random", &[], T::Float8, |b, catalog| {
        b.map0(|| catalog.statement().session.random.next())
    })
    .bounded()
    .volatile(),
    FunctionDef::catalog("setseed", &[T::Float8], T::VOID, |b, catalog| {
        b.map1(|seed: f64| {
            let allowed = -1.0..=1.0;
            if !allowed.contains(&seed) {
                return Err(Error::InvalidParameter {
                    message: format!("setseed parameter {} is out of allowed range [-1,1]", seed),
                    hint: None,
                });
            }
            catalog.statement().session.random.seed(seed);
            Ok(String::new())
        })
    })
    .volatile(),
];

/// 22003.
pub(super) fn out_of_range(message: &str) -> Error {
    Error::NumericOutOfRange {
        message: message.to_string(),
        detail: None,
    }
}

/// What finite operands gave. Errors: 22003 when it is infinite, or zero where zero cannot be.
pub(super) fn checked(result: f64, may_be_zero: bool) -> Result<f64> {
    match result {
        f64::INFINITY | f64::NEG_INFINITY => Err(out_of_range("value out of range: overflow")),
        0.0 if !may_be_zero => Err(out_of_range("value out of range: underflow")),
        result => Ok(result),
    }
}

fn sign(number: f64) -> f64 {
    match number == 0.0 || number.is_nan() {
        true => 0.0,
        false => number.signum(),
    }
}

/// 2201F for a root that is not real.
pub(super) fn negative_root() -> Error {
    power_fault("cannot take square root of a negative number")
}

/// 2201F.
pub(super) fn power_fault(message: &str) -> Error {
    Error::DataException {
        state: "2201F",
        message: message.to_string(),
    }
}

fn square_root(number: f64) -> Result<f64> {
    match number < 0.0 {
        true => Err(negative_root()),
        false => Ok(number.sqrt()),
    }
}

fn exp(number: f64) -> Result<f64> {
    match number.is_infinite() {
        true => Ok(number.exp()),
        false => checked(number.exp(), false),
    }
}

/// A logarithm. Errors: 2201E for numbers that have none.
pub(super) fn logarithm(number: f64, compute: impl Fn(f64) -> f64) -> Result<f64> {
    let message = if number == 0.0 {
        "cannot take logarithm of zero"
    } else if number < 0.0 {
        "cannot take logarithm of a negative number"
    } else {
        return Ok(compute(number));
    };
    Err(Error::DataException {
        state: "2201E",
        message: message.to_string(),
    })
}

fn power(base: f64, exponent: f64) -> Result<f64> {
    if base == 0.0 && exponent < 0.0 {
        return Err(power_fault("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(power_fault(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let result = base.powf(exponent);
    match base.is_finite() && exponent.is_finite() {
        true => checked(result, base == 0.0),
        false => Ok(result),
    }
}
