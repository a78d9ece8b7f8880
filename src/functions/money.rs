//! What is computed of amounts of money: sums, products and quotients, and an amount in words. An amount is an integer of cents.

use super::{FunctionDef, T};
use crate::types::money;
use crate::{Error, Result};

/// The operators of two amounts, and of an amount and a number. Where a number is of another type the first that it becomes is taken, as
/// integers become bigint.
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("+", &[T::Money, T::Money], T::Money, |b| {
        b.map2(|a: i64, b: i64| in_range(a.checked_add(b)))
    })
    .bounded(),
    FunctionDef::new("-", &[T::Money, T::Money], T::Money, |b| {
        b.map2(|a: i64, b: i64| in_range(a.checked_sub(b)))
    })
    .bounded(),
    FunctionDef::new("*", &[T::Money, T::Int8], T::Money, |b| b.map2(times)).bounded(),
    FunctionDef::new("*", &[T::Int8, T::Money], T::Money, |b| b.map2(times)).bounded(),
    FunctionDef::new("*", &[T::Money, T::Float8], T::Money, |b| {
        b.map2(|cents: i64, number: f64| rounded(as_float(cents) * number))
    })
    .bounded(),
    FunctionDef::new("*", &[T::Float8, T::Money], T::Money, |b| {
        b.map2(|number: f64, cents: i64| rounded(as_float(cents) * number))
    })
    .bounded(),
    FunctionDef::new("/", &[T::Money, T::Int8], T::Money, |b| {
        b.map2(|cents: i64, number: i64| match number {
            0 => Err(Error::DivisionByZero),
            number => in_range(cents.checked_div(number)),
        })
    })
    .bounded(),
    FunctionDef::new("/", &[T::Money, T::Float8], T::Money, |b| {
        b.map2(|cents: i64, number: f64| match number {
            0.0 => Err(Error::DivisionByZero),
            number => rounded(as_float(cents) / number),
        })
    })
    .bounded(),
    FunctionDef::new("/", &[T::Money, T::Money], T::Float8, |b| {
        b.map2(|cents: i64, by: i64| match by {
            0 => Err(Error::DivisionByZero),
            by => Ok(as_float(cents) / as_float(by)),
        })
    })
    .bounded(),
    FunctionDef::new("cash_words", &[T::Money], T::Text, |b| b.map1(money::words)).bounded(),
    FunctionDef::new("cash_cmp", &[T::Money, T::Money], T::Int4, |b| {
        b.map2(|a: i64, b: i64| a.cmp(&b) as i32)
    })
    .bounded(),
    FunctionDef::new("cashlarger", &[T::Money, T::Money], T::Money, |b| {
        b.map2(|a: i64, b: i64| a.max(b))
    })
    .bounded(),
    FunctionDef::new("cashsmaller", &[T::Money, T::Money], T::Money, |b| {
        b.map2(|a: i64, b: i64| a.min(b))
    })
    .bounded(),
];

fn times(a: i64, b: i64) -> Result<i64> {
    in_range(a.checked_mul(b))
}

#[expect(clippy::cast_precision_loss, reason = "as PostgreSQL computes it")]
fn as_float(cents: i64) -> f64 {
    cents as f64
}

/// Errors: 22003.
fn in_range(cents: Option<i64>) -> Result<i64> {
    cents.ok_or_else(|| Error::NumericOutOfRange {
        message: "money out of range".to_string(),
        detail: None,
    })
}

/// The nearest cent, half to even. Errors: 22003 beyond what there is, and for NaN.
fn rounded(cents: f64) -> Result<i64> {
    in_range(crate::types::integer_of_float(cents, "money").ok())
}
