//! `to_char` of numbers and `to_number`, by templates.

use super::number_from_char::to_number;
use super::number_to_char::{Number, to_char};
use super::{FunctionDef, T};
use crate::types::{Numeric, SqlType};

/// Digits of a double, and of a real, that count.
const DOUBLE_DIGITS: usize = 15;
const REAL_DIGITS: usize = 6;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_char", &[T::Int4, T::Text], T::Text, |b| {
        b.map2(|number, template: &str| to_char(Number::Integer(number), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Int8, T::Text], T::Text, |b| {
        b.map2(|number, template: &str| to_char(Number::Numeric(&Numeric::from_i64(number)), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Numeric, T::Text], T::Text, |b| {
        b.map2(|number: Numeric, template: &str| to_char(Number::Numeric(&number), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Float4, T::Text], T::Text, |b| {
        b.map2(|number: f32, template: &str| to_char(Number::Double(number.into(), REAL_DIGITS), template))
    })
    .bounded(),
    FunctionDef::new("to_char", &[T::Float8, T::Text], T::Text, |b| {
        b.map2(|number, template: &str| to_char(Number::Double(number, DOUBLE_DIGITS), template))
    })
    .bounded(),
    FunctionDef::new("to_number", &[T::Text, T::Text], T::Numeric, |b| {
        b.map2(|text: &str, template: &str| to_number(text, template))
    })
    .computed(|_, _| SqlType::Numeric(None)),
];
