//! Constants in records: as texts, whatever they are of.

use std::sync::Arc;

use crate::types::{EnumValue, FormatSettings, RecordField, RecordType, SqlType, Value};
use crate::{Error, Result};

/// Constants are written in UTC, whatever the session's zone.
fn constant_settings() -> FormatSettings {
    FormatSettings::default()
}

/// The text form of a constant, of an enum the number of its position, which stays when the label is renamed; `None` for NULL.
pub(super) fn constant_text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        value => Some(with_positions(value.clone()).to_text(&constant_settings())),
    }
}

/// Reads [`constant_text`] back.
pub(super) fn constant_value(text: Option<String>, ty: &SqlType) -> Result<Value> {
    let Some(text) = text else {
        return Ok(Value::Null);
    };
    let read = Value::parse(&text, &carrier(ty), &constant_settings());
    let read = read.map_err(|error| corrupt(format!("constant \"{text}\" of type {ty}: {error}")))?;
    Ok(of_positions(read, ty))
}

/// What a constant is stored as one of.
fn carrier(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Array(item) => item.map(carrier),
        SqlType::Enum(_) => SqlType::Int8,
        SqlType::Record(row) => {
            let fields = row.fields.iter().map(|field| RecordField {
                ty: carrier(&field.ty),
                ..field.clone()
            });
            SqlType::Record(Arc::new(RecordType {
                fields: fields.collect(),
                ..RecordType::clone(row)
            }))
        }
        ty => ty.clone(),
    }
}

fn with_positions(value: Value) -> Value {
    match value {
        Value::Array(array) => Value::Array(array.map(with_positions)),
        Value::Record(values) => Value::Record(values.into_iter().map(with_positions).collect()),
        Value::Enum(value) => Value::Int(value.position),
        value => value,
    }
}

fn of_positions(value: Value, ty: &SqlType) -> Value {
    match (value, ty) {
        (Value::Array(array), SqlType::Array(item)) => {
            Value::Array(array.map(|value| of_positions(value, item)))
        }
        (Value::Record(values), SqlType::Record(row)) => {
            let columns = values.into_iter().zip(&row.fields);
            Value::Record(
                columns
                    .map(|(value, field)| of_positions(value, &field.ty))
                    .collect(),
            )
        }
        (Value::Int(position), SqlType::Enum(labels)) => Value::Enum(EnumValue {
            ty: Arc::clone(labels),
            position,
        }),
        (value, _) => value,
    }
}

/// What a record does not say as it should.
pub(super) fn corrupt(reason: String) -> Error {
    Error::Corrupt {
        what: "catalog record".to_string(),
        reason,
    }
}
