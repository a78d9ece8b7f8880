//! Whole numbers of each width: remainders, common divisors, bits.

use super::{FunctionDef, T};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("abs", &[T::Int2], T::Int2, |b| b.map1(abs::<i16>)).bounded(),
    FunctionDef::new("abs", &[T::Int4], T::Int4, |b| b.map1(abs::<i32>)).bounded(),
    FunctionDef::new("abs", &[T::Int8], T::Int8, |b| b.map1(abs::<i64>)).bounded(),
    FunctionDef::new("mod", &[T::Int2, T::Int2], T::Int2, |b| b.map2(modulo::<i16>)).bounded(),
    FunctionDef::new("mod", &[T::Int4, T::Int4], T::Int4, |b| b.map2(modulo::<i32>)).bounded(),
    FunctionDef::new("mod", &[T::Int8, T::Int8], T::Int8, |b| b.map2(modulo::<i64>)).bounded(),
    FunctionDef::new("gcd", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(common_divisor::<i32>)
    }),
    FunctionDef::new("gcd", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(common_divisor::<i64>)
    }),
    FunctionDef::new("lcm", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(common_multiple::<i32>)
    }),
    FunctionDef::new("lcm", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(common_multiple::<i64>)
    }),
    FunctionDef::new("&", &[T::Int2, T::Int2], T::Int2, |b| {
        b.map2(|x: i16, y: i16| x & y)
    }),
    FunctionDef::new("&", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|x: i32, y: i32| x & y)
    }),
    FunctionDef::new("&", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(|x: i64, y: i64| x & y)
    }),
    FunctionDef::new("|", &[T::Int2, T::Int2], T::Int2, |b| {
        b.map2(|x: i16, y: i16| x | y)
    }),
    FunctionDef::new("|", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|x: i32, y: i32| x | y)
    }),
    FunctionDef::new("|", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(|x: i64, y: i64| x | y)
    }),
    FunctionDef::new("#", &[T::Int2, T::Int2], T::Int2, |b| {
        b.map2(|x: i16, y: i16| x ^ y)
    }),
    FunctionDef::new("#", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|x: i32, y: i32| x ^ y)
    }),
    FunctionDef::new("#", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(|x: i64, y: i64| x ^ y)
    }),
    FunctionDef::new("~", &[T::Int2], T::Int2, |b| b.map1(|x: i16| !x)),
    FunctionDef::new("~", &[T::Int4], T::Int4, |b| b.map1(|x: i32| !x)),
    FunctionDef::new("~", &[T::Int8], T::Int8, |b| b.map1(|x: i64| !x)),
    FunctionDef::new("<<", &[T::Int2, T::Int4], T::Int2, |b| {
        b.map2(|number: i16, by: i32| (i32::from(number) << (by & 31)) as i16)
    }),
    FunctionDef::new("<<", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|number: i32, by: i32| number << (by & 31))
    }),
    FunctionDef::new("<<", &[T::Int8, T::Int4], T::Int8, |b| {
        b.map2(|number: i64, by: i32| number << (by & 63))
    }),
    FunctionDef::new(">>", &[T::Int2, T::Int4], T::Int2, |b| {
        b.map2(|number: i16, by: i32| (i32::from(number) >> (by & 31)) as i16)
    }),
    FunctionDef::new(">>", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|number: i32, by: i32| number >> (by & 31))
    }),
    FunctionDef::new(">>", &[T::Int8, T::Int4], T::Int8, |b| {
        b.map2(|number: i64, by: i32| number >> (by & 63))
    }),
];

/// A type of whole numbers.
trait Integer: Copy + Into<i64> + TryFrom<i64> {
    /// As SQL calls it.
    const NAME: &'static str;
}

impl Integer for i16 {
    const NAME: &'static str = "smallint";
}

impl Integer for i32 {
    const NAME: &'static str = "integer";
}

impl Integer for i64 {
    const NAME: &'static str = "bigint";
}

/// Errors: 22003 for a number that the type does not hold, or for none.
fn narrow<N: Integer>(number: Option<i64>) -> Result<N> {
    let narrow = number.and_then(|number| N::try_from(number).ok());
    narrow.ok_or_else(|| Error::NumericOutOfRange {
        message: format!("{} out of range", N::NAME),
        detail: None,
    })
}

fn abs<N: Integer>(number: N) -> Result<N> {
    narrow(number.into().checked_abs())
}

fn modulo<N: Integer>(a: N, b: N) -> Result<N> {
    match b.into() {
        0 => Err(Error::DivisionByZero),
        b => narrow(Some(a.into().wrapping_rem(b))),
    }
}

fn divisor_of(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn common_divisor<N: Integer>(a: N, b: N) -> Result<N> {
    let divisor = divisor_of(a.into().unsigned_abs(), b.into().unsigned_abs());
    narrow(i64::try_from(divisor).ok())
}

fn common_multiple<N: Integer>(a: N, b: N) -> Result<N> {
    let (a, b) = (a.into().unsigned_abs(), b.into().unsigned_abs());
    let multiple = match divisor_of(a, b) {
        0 => Some(0),
        divisor => (a / divisor).checked_mul(b),
    };
    narrow(multiple.and_then(|multiple| i64::try_from(multiple).ok()))
}
