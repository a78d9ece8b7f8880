//! Numerics: rounding, whole quotients, roots, exponentials, logarithms, powers. The types of their results have the
//! digits that PostgreSQL shows.

use super::arithmetic::{ArithmeticOp, arithmetic_result};
use super::float::out_of_range;
use super::{FunctionDef, T, exponential};
use crate::types::{FIXED_PRECISION_MAX, Numeric, SqlType, Value, numeric_overflow};
use crate::{Error, Result};

/// The largest number whose factorial PostgreSQL computes.
const FACTORIAL_MAX: i64 = 32_177;

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
        b.map1(|number: Numeric| number.floored())
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("round", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| number.round(0))
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("round", &[T::Numeric, T::Int4], T::Numeric, |b| {
        b.map2(|number: Numeric, digits| number.round(within_scales(digits)))
    })
    .bounded()
    .computed(rounded_type),
    FunctionDef::new("trunc", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| number.truncate(0))
    })
    .bounded()
    .computed(whole),
    FunctionDef::new("trunc", &[T::Numeric, T::Int4], T::Numeric, |b| {
        b.map2(|number: Numeric, digits| number.truncate(within_scales(digits)))
    })
    .bounded()
    .computed(rounded_type),
    FunctionDef::new("mod", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| a.modulo(&b))
    })
    .bounded()
    .computed(larger_scale),
    FunctionDef::new("div", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| a.whole_quotient(&b))
    }),
    FunctionDef::new("gcd", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| a.common_divisor(&b))
    }),
    FunctionDef::new("lcm", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|a: Numeric, b: Numeric| a.common_multiple(&b))
    }),
    FunctionDef::new("sqrt", &[T::Numeric], T::Numeric, |b| {
        b.map1(|square| exponential::sqrt(&square))
    }),
    FunctionDef::new("exp", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number| exponential::exp(&number))
    }),
    FunctionDef::new("ln", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number| exponential::ln(&number))
    }),
    FunctionDef::new("log", &[T::Numeric], T::Numeric, |b| b.map1(log10)),
    FunctionDef::new("log10", &[T::Numeric], T::Numeric, |b| b.map1(log10)),
    FunctionDef::new("log", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|base, number| exponential::log(&base, &number))
    }),
    FunctionDef::new("power", &[T::Numeric, T::Numeric], T::Numeric, |b| b.map2(power)),
    FunctionDef::new("pow", &[T::Numeric, T::Numeric], T::Numeric, |b| b.map2(power)),
    FunctionDef::new("^", &[T::Numeric, T::Numeric], T::Numeric, |b| b.map2(power)),
    FunctionDef::new("scale", &[T::Numeric], T::Int4, |b| b.map1(scale)),
    FunctionDef::new("min_scale", &[T::Numeric], T::Int4, |b| {
        b.map1(|number: Numeric| scale(number.normalized()))
    }),
    FunctionDef::new("trim_scale", &[T::Numeric], T::Numeric, |b| {
        b.map1(|number: Numeric| number.normalized())
    }),
    FunctionDef::rows("generate_series", &[T::Numeric, T::Numeric], T::Numeric, |b| {
        b.map2(|start, end| series(start, end, Numeric::from_i64(1)))
    }),
    FunctionDef::rows(
        "generate_series",
        &[T::Numeric, T::Numeric, T::Numeric],
        T::Numeric,
        |b| b.map3(series),
    ),
    FunctionDef::new("factorial", &[T::Int8], T::Numeric, |b| b.map1(factorial)),
];

/// The type of whole numbers near an argument: one of fixed size has room for them.
fn whole(types: &[SqlType], _: &[Option<Value>]) -> SqlType {
    match types[0].fixed_size() {
        Some(_) => SqlType::numeric_of_scale(0),
        None => SqlType::Numeric(None),
    }
}

/// The type of what has as many digits behind the point as the argument that has more.
fn larger_scale(types: &[SqlType], _: &[Option<Value>]) -> SqlType {
    arithmetic_result(ArithmeticOp::Modulo, &types[0], &types[1])
}

/// `round(x, n)` shows n digits: of a fixed size when n is a constant and there is room.
fn rounded_type(types: &[SqlType], literals: &[Option<Value>]) -> SqlType {
    let (Some(Some(Value::Int(digits))), Some(size)) = (literals.get(1), types[0].fixed_size()) else {
        return SqlType::Numeric(None);
    };
    let shown = u16::try_from(*digits.max(&0)).unwrap_or(u16::MAX);
    let whole = size.precision - size.shown_scale() + 1;
    // Before the point, it rounds to more digits than there are.
    let room = FIXED_PRECISION_MAX.saturating_sub(whole);
    match shown <= room && *digits > -i64::from(FIXED_PRECISION_MAX) {
        true => SqlType::numeric_of_scale(shown),
        false => SqlType::Numeric(None),
    }
}

/// No numeric has more digits on either side of the point: as many digits as PostgreSQL's may have.
fn within_scales(digits: i32) -> i32 {
    digits.clamp(-131_074, 16_383)
}

fn abs(number: Numeric) -> Numeric {
    number.absolute()
}

fn sign(number: Numeric) -> Numeric {
    match number {
        Numeric::NaN => Numeric::NaN,
        number => Numeric::from_i64(number.sign() as i64),
    }
}

fn ceil(number: Numeric) -> Numeric {
    number.ceiled()
}

fn log10(number: Numeric) -> Result<Numeric> {
    exponential::log(&Numeric::from_i64(10), &number)
}

fn power(base: Numeric, exponent: Numeric) -> Result<Numeric> {
    exponential::power(&base, &exponent)
}

fn scale(number: Numeric) -> Option<i32> {
    number.scale().map(i32::from)
}

/// Errors: 22023 for a bound that is none, and a step of 0.
fn series(start: Numeric, end: Numeric, step: Numeric) -> Result<Vec<Numeric>> {
    let fault = |message: String| Error::InvalidParameter { message, hint: None };
    for (what, number) in [
        ("start value", &start),
        ("stop value", &end),
        ("step size", &step),
    ] {
        match number {
            Numeric::Finite(_) => {}
            Numeric::NaN => return Err(fault(format!("{what} cannot be NaN"))),
            _ => return Err(fault(format!("{what} cannot be infinity"))),
        }
    }
    if step.sign().is_eq() {
        return Err(fault("step size cannot equal zero".to_string()));
    }
    let upward = step.sign().is_gt();
    let (mut numbers, mut next) = (Vec::new(), start);
    while if upward { next <= end } else { next >= end } {
        if numbers.len() >= super::SET_ROWS_MAX {
            return Err(super::too_many_rows());
        }
        let after = next.plus(&step)?;
        numbers.push(std::mem::replace(&mut next, after));
    }
    Ok(numbers)
}

fn factorial(count: i64) -> Result<Numeric> {
    if count < 0 {
        return Err(out_of_range("factorial of a negative number is undefined"));
    }
    if count > FACTORIAL_MAX {
        return Err(numeric_overflow());
    }
    (2..=count).try_fold(Numeric::from_i64(1), |product, factor| {
        product.times(&Numeric::from_i64(factor))
    })
}
