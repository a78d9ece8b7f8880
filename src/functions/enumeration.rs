//! Functions of enum types: their first and last values, and those between two.

use std::sync::Arc;

use super::{Batch, FunctionDef, T};
use crate::types::{EnumType, EnumValue, SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("enum_first", &[T::AnyEnum], T::AnyEnum, |b| {
        let ty = enum_of(b)?;
        let first = ty.labels.first().map(|label| label.position);
        b.map1(|_: Value| end(&ty, first))
    })
    .on_null(),
    FunctionDef::new("enum_last", &[T::AnyEnum], T::AnyEnum, |b| {
        let ty = enum_of(b)?;
        let last = ty.labels.last().map(|label| label.position);
        b.map1(|_: Value| end(&ty, last))
    })
    .on_null(),
    FunctionDef::new("enum_range", &[T::AnyEnum], T::AnyEnum, |b| {
        let ty = enum_of(b)?;
        b.map1(|_: Value| between(&ty, None, None))
    })
    .array(T::AnyEnum)
    .on_null(),
    FunctionDef::new("enum_range", &[T::AnyEnum, T::AnyEnum], T::AnyEnum, |b| {
        let ty = enum_of(b)?;
        b.map2(|from: Value, to: Value| between(&ty, position(&from), position(&to)))
    })
    .array(T::AnyEnum)
    .on_null(),
];

/// The enum that a call's arguments are of.
fn enum_of(batch: &Batch) -> Result<Arc<EnumType>> {
    match batch.arguments.first() {
        Some(SqlType::Enum(ty)) => Ok(Arc::clone(ty)),
        _ => Err(super::mismatched_types()),
    }
}

fn position(value: &Value) -> Option<i64> {
    match value {
        Value::Enum(value) => Some(value.position),
        _ => None,
    }
}

/// The first or last value of the type. Errors: 55000 where it has none.
fn end(ty: &Arc<EnumType>, position: Option<i64>) -> Result<Value> {
    let position = position.ok_or_else(|| Error::DataException {
        state: "55000",
        message: format!("enum {} contains no values", ty.quoted_name()),
    })?;
    Ok(value(ty, position))
}

fn value(ty: &Arc<EnumType>, position: i64) -> Value {
    let ty = Arc::clone(ty);
    Value::Enum(EnumValue { ty, position })
}

fn between(ty: &Arc<EnumType>, from: Option<i64>, to: Option<i64>) -> Vec<Value> {
    ty.range(from, to).map(|position| value(ty, position)).collect()
}
