//! Functions about the server that need nothing of the catalog.

use super::{FunctionDef, T};
use crate::types::Value;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("version", &[], T::Text, |_, _| {
        Ok(Value::Text(format!("PostgreSQL {}", crate::exec::SERVER_VERSION)))
    })
    .bounded(),
    FunctionDef::row("pg_typeof", &[T::Any], T::Text, |_, call| {
        Ok(Value::Text(call.arguments[0].full_base_name()))
    })
    .on_null(),
    FunctionDef::row("num_nulls", &[T::Any], T::Int4, |arguments, _| {
        let nulls = arguments
            .iter()
            .filter(|argument| **argument == Value::Null)
            .count();
        Ok(Value::Int(i64::try_from(nulls).unwrap_or(i64::MAX)))
    })
    .variadic()
    .on_null(),
    FunctionDef::row("num_nonnulls", &[T::Any], T::Int4, |arguments, _| {
        let values = arguments
            .iter()
            .filter(|argument| **argument != Value::Null)
            .count();
        Ok(Value::Int(i64::try_from(values).unwrap_or(i64::MAX)))
    })
    .variadic()
    .on_null(),
];
