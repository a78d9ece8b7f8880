//! Functions about the server that need nothing of the catalog.

use super::string::count;
use super::{FunctionDef, T};
use crate::types::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("version", &[], T::Text, |b| {
        b.map0(|| format!("PostgreSQL {}", crate::system::SERVER_VERSION))
    })
    .bounded(),
    FunctionDef::new("pg_typeof", &[T::Any], T::Text, |b| {
        b.map0(|| b.arguments[0].full_base_name())
    })
    .on_null(),
    FunctionDef::new("num_nulls", &[T::Any], T::Int4, |b| {
        b.map_values(|values| count(values.iter().filter(|value| **value == Value::Null).count()))
    })
    .variadic()
    .on_null(),
    FunctionDef::new("num_nonnulls", &[T::Any], T::Int4, |b| {
        b.map_values(|values| count(values.iter().filter(|value| **value != Value::Null).count()))
    })
    .variadic()
    .on_null(),
];
