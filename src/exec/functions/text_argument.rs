//! What functions of text and bytes take: their arguments as Rust values.

use super::mismatched_types;
use crate::Result;
use crate::types::Value;

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
