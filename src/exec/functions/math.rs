//! Numbers: rounding, roots, logarithms, trigonometry, bits, random.

use rand::Rng;

use super::arithmetic::{ArithmeticOp, numeric};
use super::{Call, FunctionDef, T, decimal, exponential, mismatched_types};
use crate::types::{Numeric, SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("abs", &[T::Int2], T::Int2, abs).bounded(),
    FunctionDef::row("abs", &[T::Int4], T::Int4, abs).bounded(),
    FunctionDef::row("abs", &[T::Int8], T::Int8, abs).bounded(),
    FunctionDef::row("abs", &[T::Float4], T::Float4, abs).bounded(),
    FunctionDef::row("abs", &[T::Float8], T::Float8, abs).bounded(),
    FunctionDef::row("abs", &[T::Numeric], T::Numeric, abs)
        .bounded()
        .computed(|types, _| types[0].clone()),
    FunctionDef::row("sign", &[T::Float8], T::Float8, sign).bounded(),
    FunctionDef::row("sign", &[T::Numeric], T::Numeric, sign)
        .bounded()
        .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row("ceil", &[T::Float8], T::Float8, |a, _| float(a, f64::ceil)).bounded(),
    FunctionDef::row("ceil", &[T::Numeric], T::Numeric, ceil)
        .bounded()
        .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row("ceiling", &[T::Float8], T::Float8, |a, _| float(a, f64::ceil)).bounded(),
    FunctionDef::row("ceiling", &[T::Numeric], T::Numeric, ceil)
        .bounded()
        .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row("floor", &[T::Float8], T::Float8, |a, _| float(a, f64::floor)).bounded(),
    FunctionDef::row("floor", &[T::Numeric], T::Numeric, |a, _| {
        Ok(Value::Numeric(decimal::floor(number(&a[0])?)?))
    })
    .bounded()
    .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row("round", &[T::Float8], T::Float8, |a, _| {
        float(a, f64::round_ties_even)
    })
    .bounded(),
    FunctionDef::row("round", &[T::Numeric], T::Numeric, round)
        .bounded()
        .computed(rounded_type),
    FunctionDef::row("round", &[T::Numeric, T::Int4], T::Numeric, round)
        .bounded()
        .computed(rounded_type),
    FunctionDef::row("trunc", &[T::Float8], T::Float8, |a, _| float(a, f64::trunc)).bounded(),
    FunctionDef::row("trunc", &[T::Numeric], T::Numeric, cut)
        .bounded()
        .computed(rounded_type),
    FunctionDef::row("trunc", &[T::Numeric, T::Int4], T::Numeric, cut)
        .bounded()
        .computed(rounded_type),
    FunctionDef::row("mod", &[T::Int2, T::Int2], T::Int2, modulo).bounded(),
    FunctionDef::row("mod", &[T::Int4, T::Int4], T::Int4, modulo).bounded(),
    FunctionDef::row("mod", &[T::Int8, T::Int8], T::Int8, modulo).bounded(),
    FunctionDef::row("mod", &[T::Numeric, T::Numeric], T::Numeric, modulo)
        .bounded()
        .computed(|types, _| super::arithmetic_result(ArithmeticOp::Modulo, &types[0], &types[1])),
    FunctionDef::row("div", &[T::Numeric, T::Numeric], T::Numeric, |a, _| {
        let quotient = numeric(ArithmeticOp::Divide, number(&a[0])?, number(&a[1])?, Some(38));
        Ok(Value::Numeric(decimal::truncate(&quotient?, 0)?))
    })
    .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row("gcd", &[T::Int4, T::Int4], T::Int4, gcd),
    FunctionDef::row("gcd", &[T::Int8, T::Int8], T::Int8, gcd),
    FunctionDef::row("lcm", &[T::Int4, T::Int4], T::Int4, lcm),
    FunctionDef::row("lcm", &[T::Int8, T::Int8], T::Int8, lcm),
    FunctionDef::row("gcd", &[T::Numeric, T::Numeric], T::Numeric, |a, _| {
        decimal::common_divisor(number(&a[0])?, number(&a[1])?).map(Value::Numeric)
    })
    .computed(|types, _| super::arithmetic_result(ArithmeticOp::Modulo, &types[0], &types[1])),
    FunctionDef::row("lcm", &[T::Numeric, T::Numeric], T::Numeric, |a, _| {
        decimal::common_multiple(number(&a[0])?, number(&a[1])?).map(Value::Numeric)
    })
    .computed(|types, _| super::arithmetic_result(ArithmeticOp::Modulo, &types[0], &types[1])),
    FunctionDef::row("sqrt", &[T::Float8], T::Float8, sqrt),
    FunctionDef::row("sqrt", &[T::Numeric], T::Numeric, sqrt_numeric)
        .computed(|_, literals| of_one(literals, sqrt_numeric_of, 15)),
    FunctionDef::row("cbrt", &[T::Float8], T::Float8, |a, _| float(a, f64::cbrt)),
    FunctionDef::row("exp", &[T::Float8], T::Float8, |a, _| {
        checked(double(&a[0])?, f64::exp)
    }),
    FunctionDef::row("exp", &[T::Numeric], T::Numeric, exp_numeric).computed(|_, literals| {
        exponential::type_of(literal(literals, 0).map(exponential::exp), SqlType::Numeric(None))
    }),
    FunctionDef::row("ln", &[T::Float8], T::Float8, |a, _| {
        logarithm(double(&a[0])?, f64::ln)
    }),
    FunctionDef::row("ln", &[T::Numeric], T::Numeric, ln_numeric)
        .computed(|_, literals| of_one(literals, ln_of, 16)),
    FunctionDef::row("log", &[T::Float8], T::Float8, |a, _| {
        logarithm(double(&a[0])?, f64::log10)
    }),
    FunctionDef::row("log", &[T::Numeric], T::Numeric, log_numeric)
        .computed(|_, literals| of_one(literals, log_of, 16)),
    FunctionDef::row("log10", &[T::Float8], T::Float8, |a, _| {
        logarithm(double(&a[0])?, f64::log10)
    }),
    FunctionDef::row("log10", &[T::Numeric], T::Numeric, log_numeric)
        .computed(|_, literals| of_one(literals, log_of, 16)),
    FunctionDef::row("log", &[T::Numeric, T::Numeric], T::Numeric, |a, call| {
        let (base, number) = (with_own_digits(a, call, 0)?, with_own_digits(a, call, 1)?);
        log_to(&base, &number).map(Value::Numeric)
    })
    .computed(|_, literals| of_two(literals, log_to)),
    FunctionDef::row("power", &[T::Float8, T::Float8], T::Float8, power),
    FunctionDef::row("power", &[T::Numeric, T::Numeric], T::Numeric, power_numeric)
        .computed(|_, literals| of_two(literals, power_of)),
    FunctionDef::row("pow", &[T::Float8, T::Float8], T::Float8, power),
    FunctionDef::row("pow", &[T::Numeric, T::Numeric], T::Numeric, power_numeric)
        .computed(|_, literals| of_two(literals, power_of)),
    FunctionDef::row("^", &[T::Float8, T::Float8], T::Float8, power),
    FunctionDef::row("^", &[T::Numeric, T::Numeric], T::Numeric, power_numeric)
        .computed(|_, literals| of_two(literals, power_of)),
    FunctionDef::row("pi", &[], T::Float8, |_, _| {
        Ok(Value::Float8(std::f64::consts::PI))
    }),
    FunctionDef::row("degrees", &[T::Float8], T::Float8, |a, _| {
        float(a, f64::to_degrees)
    }),
    FunctionDef::row("radians", &[T::Float8], T::Float8, |a, _| {
        float(a, f64::to_radians)
    }),
    FunctionDef::row("sin", &[T::Float8], T::Float8, |a, _| float(a, f64::sin)),
    FunctionDef::row("cos", &[T::Float8], T::Float8, |a, _| float(a, f64::cos)),
    FunctionDef::row("tan", &[T::Float8], T::Float8, |a, _| float(a, f64::tan)),
    FunctionDef::row("cot", &[T::Float8], T::Float8, |a, _| float(a, |x| 1.0 / x.tan())),
    FunctionDef::row("asin", &[T::Float8], T::Float8, |a, _| within_one(a, f64::asin)),
    FunctionDef::row("acos", &[T::Float8], T::Float8, |a, _| within_one(a, f64::acos)),
    FunctionDef::row("atan", &[T::Float8], T::Float8, |a, _| float(a, f64::atan)),
    FunctionDef::row("atan2", &[T::Float8, T::Float8], T::Float8, |a, _| {
        Ok(Value::Float8(double(&a[0])?.atan2(double(&a[1])?)))
    }),
    FunctionDef::row("sinh", &[T::Float8], T::Float8, |a, _| float(a, f64::sinh)),
    FunctionDef::row("cosh", &[T::Float8], T::Float8, |a, _| float(a, f64::cosh)),
    FunctionDef::row("tanh", &[T::Float8], T::Float8, |a, _| float(a, f64::tanh)),
    FunctionDef::row("asinh", &[T::Float8], T::Float8, |a, _| float(a, f64::asinh)),
    FunctionDef::row("acosh", &[T::Float8], T::Float8, |a, _| float(a, f64::acosh)),
    FunctionDef::row("atanh", &[T::Float8], T::Float8, |a, _| float(a, f64::atanh)),
    FunctionDef::row("sind", &[T::Float8], T::Float8, |a, _| float(a, sin_degrees)),
    FunctionDef::row("cosd", &[T::Float8], T::Float8, |a, _| {
        float(a, |x| sin_degrees(x + 90.0))
    }),
    FunctionDef::row("tand", &[T::Float8], T::Float8, |a, _| {
        float(a, |x| sin_degrees(x) / sin_degrees(x + 90.0))
    }),
    FunctionDef::row("cotd", &[T::Float8], T::Float8, |a, _| {
        float(a, |x| sin_degrees(x + 90.0) / sin_degrees(x))
    }),
    FunctionDef::row("asind", &[T::Float8], T::Float8, |a, _| {
        within_one(a, |x| snapped(x.asin().to_degrees()))
    }),
    FunctionDef::row("acosd", &[T::Float8], T::Float8, |a, _| {
        within_one(a, |x| snapped(x.acos().to_degrees()))
    }),
    FunctionDef::row("atand", &[T::Float8], T::Float8, |a, _| {
        float(a, |x| snapped(x.atan().to_degrees()))
    }),
    FunctionDef::row("atan2d", &[T::Float8, T::Float8], T::Float8, |a, _| {
        Ok(Value::Float8(snapped(
            double(&a[0])?.atan2(double(&a[1])?).to_degrees(),
        )))
    }),
    FunctionDef::row("&", &[T::Int4, T::Int4], T::Int4, |a, _| bits(a, |x, y| x & y)),
    FunctionDef::row("&", &[T::Int8, T::Int8], T::Int8, |a, _| bits(a, |x, y| x & y)),
    FunctionDef::row("|", &[T::Int4, T::Int4], T::Int4, |a, _| bits(a, |x, y| x | y)),
    FunctionDef::row("|", &[T::Int8, T::Int8], T::Int8, |a, _| bits(a, |x, y| x | y)),
    FunctionDef::row("#", &[T::Int4, T::Int4], T::Int4, |a, _| bits(a, |x, y| x ^ y)),
    FunctionDef::row("#", &[T::Int8, T::Int8], T::Int8, |a, _| bits(a, |x, y| x ^ y)),
    FunctionDef::row("~", &[T::Int4], T::Int4, |a, _| Ok(Value::Int(!integer(&a[0])?))),
    FunctionDef::row("~", &[T::Int8], T::Int8, |a, _| Ok(Value::Int(!integer(&a[0])?))),
    FunctionDef::row("<<", &[T::Int4, T::Int4], T::Int4, shift),
    FunctionDef::row("<<", &[T::Int8, T::Int4], T::Int8, shift),
    FunctionDef::row(">>", &[T::Int4, T::Int4], T::Int4, |a, _| {
        Ok(Value::Int(integer(&a[0])? >> (integer(&a[1])? & 31)))
    }),
    FunctionDef::row(">>", &[T::Int8, T::Int4], T::Int8, |a, _| {
        Ok(Value::Int(integer(&a[0])? >> (integer(&a[1])? & 63)))
    }),
    FunctionDef::row("random", &[], T::Float8, |_, _| {
        Ok(Value::Float8(rand::rng().random()))
    })
    .bounded()
    .volatile(),
    FunctionDef::row("scale", &[T::Numeric], T::Int4, |a, _| match number(&a[0])? {
        Numeric::Finite { scale, .. } => Ok(Value::Int(i64::from(*scale))),
        _ => Ok(Value::Null),
    }),
    FunctionDef::row("trim_scale", &[T::Numeric], T::Numeric, |a, _| Ok(a[0].clone()))
        .computed(|_, _| SqlType::Numeric(None)),
    FunctionDef::row("factorial", &[T::Int8], T::Numeric, factorial)
        .computed(|_, _| SqlType::numeric_of_scale(0)),
    FunctionDef::row(
        "width_bucket",
        &[T::Float8, T::Float8, T::Float8, T::Int4],
        T::Int4,
        width_bucket,
    ),
];

fn out_of_range(message: &str) -> Error {
    Error::NumericOutOfRange {
        message: message.to_string(),
        detail: None,
    }
}

fn number(value: &Value) -> Result<&Numeric> {
    match value {
        Value::Numeric(number) => Ok(number),
        _ => Err(mismatched_types()),
    }
}

fn double(value: &Value) -> Result<f64> {
    match value {
        Value::Float8(number) => Ok(*number),
        _ => Err(mismatched_types()),
    }
}

fn integer(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(mismatched_types()),
    }
}

fn float(arguments: &[Value], compute: impl Fn(f64) -> f64) -> Result<Value> {
    Ok(Value::Float8(compute(double(&arguments[0])?)))
}

/// Infinite results of finite arguments are errors.
fn checked(argument: f64, compute: impl Fn(f64) -> f64) -> Result<Value> {
    let result = compute(argument);
    if result.is_infinite() && argument.is_finite() {
        return Err(out_of_range("value out of range: overflow"));
    }
    Ok(Value::Float8(result))
}

fn abs(arguments: &[Value], call: &Call) -> Result<Value> {
    Ok(match &arguments[0] {
        Value::Int(number) => Value::Int(
            number
                .checked_abs()
                .ok_or_else(|| out_of_range(&format!("{} out of range", call.returns)))?,
        ),
        Value::Float4(number) => Value::Float4(number.abs()),
        Value::Float8(number) => Value::Float8(number.abs()),
        Value::Numeric(number) if *number < Numeric::from_i64(0) => Value::Numeric(decimal::negate(number)),
        other => other.clone(),
    })
}

fn sign(arguments: &[Value], _: &Call) -> Result<Value> {
    let order = |order: std::cmp::Ordering| match order {
        std::cmp::Ordering::Less => -1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => 1,
    };
    Ok(match &arguments[0] {
        Value::Float8(number) if *number == 0.0 => Value::Float8(0.0),
        Value::Float8(number) => Value::Float8(number.signum()),
        other => Value::Numeric(Numeric::from_i64(order(
            number(other)?.cmp(&Numeric::from_i64(0)),
        ))),
    })
}

fn ceil(arguments: &[Value], _: &Call) -> Result<Value> {
    let floor = decimal::floor(&decimal::negate(number(&arguments[0])?))?;
    Ok(Value::Numeric(decimal::negate(&floor)))
}

/// `round(x, n)` shows n digits when n is a constant, else as many as its argument.
fn rounded_type(types: &[SqlType], literals: &[Option<Value>]) -> SqlType {
    match (literals.get(1), types.first()) {
        (None, _) => SqlType::numeric_of_scale(0),
        (Some(Some(Value::Int(digits))), _) => {
            SqlType::numeric_of_scale(u8::try_from((*digits).clamp(0, 30)).unwrap_or(0))
        }
        (_, Some(ty)) => match ty {
            SqlType::Numeric(Some(size)) => SqlType::numeric_of_scale(size.scale),
            other => other.clone(),
        },
        _ => SqlType::Numeric(None),
    }
}

fn digits(arguments: &[Value]) -> Result<i32> {
    match arguments.get(1) {
        None => Ok(0),
        Some(digits) => Ok(i32::try_from(integer(digits)?.clamp(-2_000, 2_000)).unwrap_or(0)),
    }
}

fn round(arguments: &[Value], _: &Call) -> Result<Value> {
    Ok(Value::Numeric(decimal::round(
        number(&arguments[0])?,
        digits(arguments)?,
    )?))
}

fn cut(arguments: &[Value], _: &Call) -> Result<Value> {
    Ok(Value::Numeric(decimal::truncate(
        number(&arguments[0])?,
        digits(arguments)?,
    )?))
}

fn modulo(arguments: &[Value], _: &Call) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Int(_), Value::Int(0)) => Err(Error::DivisionByZero),
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(a.wrapping_rem(*b))),
        (a, b) => Ok(Value::Numeric(decimal::modulo(number(a)?, number(b)?)?)),
    }
}

fn common_divisor(a: i64, b: i64) -> u64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn gcd(arguments: &[Value], call: &Call) -> Result<Value> {
    let divisor = common_divisor(integer(&arguments[0])?, integer(&arguments[1])?);
    let overflow = || out_of_range(&format!("{} out of range", call.returns));
    Ok(Value::Int(i64::try_from(divisor).map_err(|_| overflow())?))
}

fn lcm(arguments: &[Value], call: &Call) -> Result<Value> {
    let (a, b) = (integer(&arguments[0])?, integer(&arguments[1])?);
    if a == 0 || b == 0 {
        return Ok(Value::Int(0));
    }
    let multiple = (a.unsigned_abs() / common_divisor(a, b)).checked_mul(b.unsigned_abs());
    let multiple = multiple.and_then(|multiple| i64::try_from(multiple).ok());
    Ok(Value::Int(multiple.ok_or_else(|| {
        out_of_range(&format!("{} out of range", call.returns))
    })?))
}

fn sqrt(arguments: &[Value], _: &Call) -> Result<Value> {
    let number = double(&arguments[0])?;
    if number < 0.0 {
        return Err(negative_root());
    }
    Ok(Value::Float8(number.sqrt()))
}

fn negative_root() -> Error {
    Error::DataException {
        state: "2201F",
        message: "cannot take square root of a negative number".to_string(),
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
fn of_one(literals: &[Option<Value>], compute: fn(&Numeric) -> Result<Numeric>, scale: u8) -> SqlType {
    exponential::type_of(
        literal(literals, 0).map(compute),
        SqlType::numeric_of_scale(scale),
    )
}

/// The type of a function of two numbers, likewise.
fn of_two(literals: &[Option<Value>], compute: fn(&Numeric, &Numeric) -> Result<Numeric>) -> SqlType {
    let both = literal(literals, 0).zip(literal(literals, 1));
    exponential::type_of(both.map(|(a, b)| compute(a, b)), SqlType::numeric_of_scale(16))
}

fn sqrt_numeric_of(square: &Numeric) -> Result<Numeric> {
    if *square < Numeric::from_i64(0) {
        return Err(negative_root());
    }
    exponential::sqrt(square)
}

/// A numeric argument with the digits it has: a bare one comes with all the places of its column.
fn with_own_digits(arguments: &[Value], call: &Call, at: usize) -> Result<Numeric> {
    let number = number(&arguments[at])?;
    Ok(match call.arguments[at] {
        SqlType::Numeric(None) => number.normalized(),
        _ => *number,
    })
}

fn sqrt_numeric(arguments: &[Value], call: &Call) -> Result<Value> {
    sqrt_numeric_of(&with_own_digits(arguments, call, 0)?).map(Value::Numeric)
}

fn exp_numeric(arguments: &[Value], call: &Call) -> Result<Value> {
    exponential::exp(&with_own_digits(arguments, call, 0)?).map(Value::Numeric)
}

fn logarithm(argument: f64, compute: impl Fn(f64) -> f64) -> Result<Value> {
    let message = if argument == 0.0 {
        "cannot take logarithm of zero"
    } else if argument < 0.0 {
        "cannot take logarithm of a negative number"
    } else {
        return Ok(Value::Float8(compute(argument)));
    };
    Err(Error::DataException {
        state: "2201E",
        message: message.to_string(),
    })
}

/// Refuses what has no logarithm.
fn check_positive(number: &Numeric) -> Result<()> {
    logarithm(number.to_f64(), f64::ln).map(drop)
}

fn ln_of(number: &Numeric) -> Result<Numeric> {
    check_positive(number)?;
    exponential::ln(number)
}

fn ln_numeric(arguments: &[Value], call: &Call) -> Result<Value> {
    ln_of(&with_own_digits(arguments, call, 0)?).map(Value::Numeric)
}

fn log_of(number: &Numeric) -> Result<Numeric> {
    log_to(&Numeric::from_i64(10), number)
}

fn log_to(base: &Numeric, number: &Numeric) -> Result<Numeric> {
    check_positive(base)?;
    check_positive(number)?;
    exponential::log(base, number)
}

fn log_numeric(arguments: &[Value], call: &Call) -> Result<Value> {
    log_of(&with_own_digits(arguments, call, 0)?).map(Value::Numeric)
}

fn power_fault(message: &str) -> Error {
    Error::DataException {
        state: "2201F",
        message: message.to_string(),
    }
}

fn power(arguments: &[Value], _: &Call) -> Result<Value> {
    let (base, exponent) = (double(&arguments[0])?, double(&arguments[1])?);
    if base == 0.0 && exponent < 0.0 {
        return Err(power_fault("zero raised to a negative power is undefined"));
    }
    if base < 0.0 && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(power_fault(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    let result = base.powf(exponent);
    if result.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(out_of_range("value out of range: overflow"));
    }
    if result == 0.0 && base != 0.0 && base.is_finite() && exponent.is_finite() {
        return Err(out_of_range("value out of range: underflow"));
    }
    Ok(Value::Float8(result))
}

fn power_of(base: &Numeric, exponent: &Numeric) -> Result<Numeric> {
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

fn power_numeric(arguments: &[Value], call: &Call) -> Result<Value> {
    let (base, exponent) = (
        with_own_digits(arguments, call, 0)?,
        with_own_digits(arguments, call, 1)?,
    );
    power_of(&base, &exponent).map(Value::Numeric)
}

fn within_one(arguments: &[Value], compute: impl Fn(f64) -> f64) -> Result<Value> {
    let argument = double(&arguments[0])?;
    if !(-1.0..=1.0).contains(&argument) && !argument.is_nan() {
        return Err(out_of_range("input is out of range"));
    }
    Ok(Value::Float8(compute(argument)))
}

/// The sine of an angle in degrees, exact where it is a simple number.
fn sin_degrees(angle: f64) -> f64 {
    let reduced = angle.rem_euclid(360.0);
    if reduced % 180.0 == 0.0 {
        0.0
    } else if reduced == 90.0 {
        1.0
    } else if reduced == 270.0 {
        -1.0
    } else if reduced == 30.0 || reduced == 150.0 {
        0.5
    } else if reduced == 210.0 || reduced == 330.0 {
        -0.5
    } else {
        reduced.to_radians().sin()
    }
}

/// An angle that rounding left a hair off a multiple of 15 degrees.
fn snapped(angle: f64) -> f64 {
    let near = (angle / 15.0).round() * 15.0;
    if (angle - near).abs() < 1e-12 { near } else { angle }
}

fn bits(arguments: &[Value], compute: impl Fn(i64, i64) -> i64) -> Result<Value> {
    Ok(Value::Int(compute(
        integer(&arguments[0])?,
        integer(&arguments[1])?,
    )))
}

fn shift(arguments: &[Value], call: &Call) -> Result<Value> {
    let (number, by) = (integer(&arguments[0])?, integer(&arguments[1])?);
    Ok(Value::Int(match call.returns {
        SqlType::Int4 => {
            let narrow = i32::try_from(number).map_err(|_| mismatched_types())?;
            i64::from(narrow.wrapping_shl(u32::try_from(by & 31).unwrap_or(0)))
        }
        _ => number.wrapping_shl(u32::try_from(by & 63).unwrap_or(0)),
    }))
}

fn factorial(arguments: &[Value], _: &Call) -> Result<Value> {
    let count = integer(&arguments[0])?;
    if count < 0 {
        return Err(out_of_range("factorial of a negative number is undefined"));
    }
    let mut result = Numeric::from_i64(1);
    for factor in 2..=count {
        result = decimal::multiply(&result, &Numeric::from_i64(factor))?;
    }
    Ok(Value::Numeric(result))
}

fn width_bucket(arguments: &[Value], _: &Call) -> Result<Value> {
    let (operand, low, high) = (
        double(&arguments[0])?,
        double(&arguments[1])?,
        double(&arguments[2])?,
    );
    let count = integer(&arguments[3])?;
    let refuse = |message: &str| {
        Err(Error::DataException {
            state: "2201G",
            message: message.to_string(),
        })
    };
    if count <= 0 {
        return refuse("count must be greater than zero");
    }
    if low == high {
        return refuse("lower bound cannot equal upper bound");
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of buckets is small")]
    let position = (operand - low) / (high - low) * count as f64;
    if position < 0.0 {
        return Ok(Value::Int(0));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "the comparison bounds it by the count"
    )]
    Ok(Value::Int(if position >= count as f64 {
        count + 1
    } else {
        position as i64 + 1
    }))
}
