//! What functions of text and bytes take: their arguments as Rust values.

use super::{Call, mismatched_types};
use crate::Result;
use crate::types::{SqlType, Value};

pub(super) fn text(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(mismatched_types()),
    }
}

pub(super) fn bytes(value: &Value) -> Result<&[u8]> {
    match value {
        Value::Bytes(bytes) => Ok(bytes),
        _ => Err(mismatched_types()),
    }
}

pub(super) fn integer(value: &Value) -> Result<i64> {
    match value {
        Value::Int(number) => Ok(*number),
        _ => Err(mismatched_types()),
    }
}

pub(super) fn count(length: usize) -> Result<Value> {
    i64::try_from(length)
        .map(Value::Int)
        .map_err(|_| mismatched_types())
}

/// The text that an output function gives (booleans as t and f, char(n) with its padding).
pub(super) fn shown(value: &Value, ty: &SqlType, call: &Call) -> String {
    match value {
        Value::Bool(_) => value.to_text(call.settings),
        Value::Text(text) => text.clone(),
        other => super::cast::text_of(other, ty, call.settings),
    }
}
