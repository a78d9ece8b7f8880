//! What functions of text and bytes take: their arguments as Rust values.

use super::Call;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A function was called with other types than it was planned for: a bug in us.
pub(super) fn wrong() -> Error {
    Error::internal("a text function of other types")
}

pub(super) fn text(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong()),
    }
}

pub(super) fn bytes(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(wrong()),
    }
}

pub(super) fn integer(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(wrong()),
    }
}

pub(super) fn count(length: usize) -> Result<Value> {
    i64::try_from(length).map(Value::Int).map_err(|_| wrong())
}

/// The text that an output function gives (booleans as t and f, char(n) with its padding).
pub(super) fn shown(value: &Value, ty: &SqlType, call: &Call) -> String {
    match value {
        Value::Bool(_) => value.to_text(call.settings),
        Value::Text(text) => text.clone(),
        other => super::cast::text_of(other, ty, call.settings),
    }
}
