//! Numerics: rounding, whole quotients, roots, exponentials, logarithms, powers. The types of their results have the
//! digits that PostgreSQL shows.

use super::argument::OwnDigits;
use super::arithmetic::{ArithmeticOp, arithmetic_result};
use super::float::{logarithm, negative_root, out_of_range, power_fault};
use super::{FunctionDef, T, decimal, exponential};
use crate::Result;
use crate::types::{Numeric, SqlType, Value};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("abs", &[T::Numeric], T::Numeric, |b| b.map1(abs))
        .bounded()
        .computed(|types, _| types[0].clone()),
    FunctionDef::new("sign", &[T::Numeric], T::Numeric, |b| b.map1(sign))
        .bounded()
        .computed(whole),
    FunctionDef::new("ceil", &[T::Numeric], T::Numeric, |b| b.map1(ceil))
        .bounded()
        .computed(whole),
    FunctionDef::new("ceiling", &[T::Numeric], T::Numeric, |b| b.map1(ceil))
        .bounded()
        .computed(whole),
    FunctionDef::new("floor", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| decimal::floor(&number))
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("round", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| decimal::round(&number, 0))
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("round", &[T::Numeric, T::Int4], T::Numeric, |b| {
        b.map2(|number: Numeric, digits| decimal::round(&number, within_scales(digits)))
    })
    .bounded()
    .computed(rounded_type),
    FunctionDef::new("trunc", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| decimal::truncate(&number, 0))
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("trunc", &[T::Numeric, T::Int4], T::Numeric, |b| {
        b.map2(|number: Numeric, digits| decimal::truncate(&number, within_scales(digits)))
    })
    .bounded()
    .computed(rounded_type),
    FunctionDef::new("mod", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| decimal::modulo(&a, &b))
    })
    .bounded()
    .computed(larger_scale),
    FunctionDef::new("div", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| decimal::whole_quotient(&a, &b))
    })
    .computed(whole),
    FunctionDef::new("gcd", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| decimal::common_divisor(&a, &b))
    })
    .computed(larger_scale),
    FunctionDef::new("lcm", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| decimal::common_multiple(&a, &b))
    })
    .computed(larger_scale),
    FunctionDef::new("sqrt", &[T::Numeric], T::Numeric, |b| {
        b.map1(|OwnDigits(square)| square_root(&square))
    })
    .computed(|_, literals| of_one(literals, square_root, SqlType::numeric_of_scale(15))),
    FunctionDef::new("exp", &[T::Numeric], T::Numeric, |b| {
        b.map1(|OwnDigits(number)| exponential::exp(&number))
    })
    .computed(|_, literals| of_one(literals, exponential::exp, SqlType::Numeric(None))),
    FunctionDef::new("ln", &[T::Numeric], T::Numeric, |b| {
        b.map1(|OwnDigits(number)| ln(&number))
    })
    .computed(|_, literals| of_one(literals, ln, SqlType::numeric_of_scale(16))),
    FunctionDef::new("log", &[T::Numeric], T::Numeric, |b| {
        b.map1(|OwnDigits(number)| log10(&number))
    })
    .computed(|_, literals| of_one(literals, log10, SqlType::numeric_of_scale(16))),
    FunctionDef::new("log10", &[T::Numeric], T::Numeric, |b| {
        b.map1(|OwnDigits(number)| log10(&number))
    })
    .computed(|_, literals| of_one(literals, log10, SqlType::numeric_of_scale(16))),
    FunctionDef::new("log", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|OwnDigits(base), OwnDigits(number)| log(&base, &number))
    })
    .computed(|_, literals| of_two(literals, log)),
    FunctionDef::new("power", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|OwnDigits(base), OwnDigits(exponent)| power(&base, &exponent))
    })
    .computed(|_, literals| of_two(literals, power)),
    FunctionDef::new("pow", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|OwnDigits(base), OwnDigits(exponent)| power(&base, &exponent))
    })
    .computed(|_, literals| of_two(literals, power)),
    FunctionDef::new("^", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|OwnDigits(base), OwnDigits(exponent)| power(&base, &exponent))
    })
    .computed(|_, literals| of_two(literals, power)),
    FunctionDef::new("scale", &[T::Numeric], T::Int4, |b| {
        b.map1(|OwnDigits(number)| scale(number))
    }),
    FunctionDef::new("min_scale", &[T::Numeric], T::Int4, |b| {
        b.map1(|number: Numeric| scale(number.normalized()))
    }),
    FunctionDef::new("trim_scale", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| number.normalized())
    })
    .computed(|_, _| SqlType::Numeric(None)),
    FunctionDef::new("factorial", &[T::Int8], T::Numeric, |b| b.map1(factorial)).computed(whole),
];

/// The type of whole numbers.
fn whole(_: &[SqlType], _: &[Option<Value>]) -> SqlType {
    SqlType::numeric_of_scale(0)
}

/// The type of what has as many digits behind the point as the argument that has more.
fn larger_scale(types: &[SqlType], _: &[Option<Value>]) -> SqlType {
    arithmetic_result(ArithmeticOp::Modulo, &types[0], &types[1])
}

/// `round(x, n)` shows n digits when n is a constant, else as many as its argument.
fn rounded_type(types: &[SqlType], literals: &[Option<Value>]) -> SqlType {
    match (literals.get(1), &types[0]) {
        (Some(Some(Value::Int(digits))), _) => {
            SqlType::numeric_of_scale(u8::try_from((*digits).clamp(0, 30)).unwrap_or(0))
        }
        (_, SqlType::Numeric(Some(size))) => SqlType::numeric_of_scale(size.scale),
        _ => SqlType::Numeric(None),
    }
}

/// An argument that is a constant.
fn literal(literals: &[Option<Value>], at: usize) -> Option<&Numeric> {
    match literals.get(at) {
        Some(Some(Value::Numeric(number))) => Some(number),
        _ => None,
    }
}

/// The type of a function of one number: with the digits of its result when that is known.
fn of_one(
    literals: &[Option<Value>],
    compute: fn(&Numeric) -> Result<Numeric>,
    over_columns: SqlType,
) -> SqlType {
    exponential::type_of(literal(literals, 0).map(compute), over_columns)
}

/// The type of a function of two numbers, likewise.
fn of_two(literals: &[Option<Value>], compute: fn(&Numeric, &Numeric) -> Result<Numeric>) -> SqlType {
    let both = literal(literals, 0).zip(literal(literals, 1));
    exponential::type_of(both.map(|(a, b)| compute(a, b)), SqlType::numeric_of_scale(16))
}

/// No numeric has more digits on either side of the point.
fn within_scales(digits: i32) -> i32 {
    digits.clamp(-2_000, 2_000)
}

fn abs(number: Numeric) -> Numeric {
    match number < Numeric::from_i64(0) {
        true => decimal::negate(&number),
        false => number,
    }
}

fn sign(number: Numeric) -> Numeric {
    Numeric::from_i64(number.cmp(&Numeric::from_i64(0)) as i64)
}

fn ceil(number: Numeric) -> Result<Numeric> {
    decimal::floor(&decimal::negate(&number)).map(|floor| decimal::negate(&floor))
}

fn square_root(square: &Numeric) -> Result<Numeric> {
    match *square < Numeric::from_i64(0) {
        true => Err(negative_root()),
        false => exponential::sqrt(square),
    }
}

/// Refuses what has no logarithm.
fn check_positive(number: &Numeric) -> Result<()> {
    logarithm(number.to_f64(), f64::ln).map(drop)
}

fn ln(number: &Numeric) -> Result<Numeric> {
    check_positive(number)?;
    exponential::ln(number)
}

fn log10(number: &Numeric) -> Result<Numeric> {
    log(&Numeric::from_i64(10), number)
}

fn log(base: &Numeric, number: &Numeric) -> Result<Numeric> {
    check_positive(base)?;
    check_positive(number)?;
    exponential::log(base, number)
}

fn power(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    let zero = Numeric::from_i64(0);
    if *base == zero && *exponent < zero {
        return Err(power_fault("zero raised to a negative power is undefined"));
    }
    if *base < zero && exponent.floor() != exponent.ceil() {
        return Err(power_fault(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    exponential::power(base, exponent)
}

fn scale(number: Numeric) -> Option<i32> {
    match number {
        Numeric::Finite { scale, .. } => Some(i32::from(scale)),
        _ => None,
    }
}

fn factorial(count: i64) -> Result<Numeric> {
    if count < 0 {
        return Err(out_of_range("factorial of a negative number is undefined"));
    }
    (2..=count).try_fold(Numeric::from_i64(1), |product, factor| {
        decimal::multiply(&product, &Numeric::from_i64(factor))
    })
}
