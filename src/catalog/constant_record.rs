//! Constants in records: as texts, whatever they are of.

use std::sync::Arc;

use crate::types::{CatalogType, EnumValue, FormatSettings, RecordField, RecordType, SqlType, Value};
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

/// What a constant is stored as one of: a value does not know what it is of, and its text is that of the number or the array that it is.
fn carrier(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Array(item) => item.map(carrier),
        SqlType::Enum(_) => SqlType::Int8,
        SqlType::Int2Vector => SqlType::array(SqlType::Int2),
        SqlType::Catalog(CatalogType::OidVector) => SqlType::array(SqlType::Oid),
        SqlType::Catalog(_) if ty.arrow_type() == SqlType::Int8.arrow_type() => SqlType::Int8,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TYPES;

    /// Texts one of which every type reads that a constant may be of.
    const TEXTS: [&str; 22] = [
        "t",
        "7",
        "1.5",
        "2024-02-29",
        "12:34:56",
        "12:34:56+02",
        "1 day",
        "{}",
        "[1,5)",
        "{[1,3)}",
        "a & b",
        "0/7",
        "(0,7)",
        "1 2",
        "1:5:2,3",
        "$.a",
        "10.0.0.1",
        "08:00:2b:01:02:03",
        "08:00:2b:01:02:03:04:05",
        "101",
        "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "abc",
    ];

    #[test]
    fn constants_of_every_type_are_read_back() {
        let settings = constant_settings();
        let mut read = 0;
        let rows = TYPES.iter().filter(|row| row.array_oid != 0);
        for ty in rows.map(|row| &row.ty) {
            // Arrays of what is an array itself are nobody's.
            let is_vector = matches!(ty, SqlType::Int2Vector | SqlType::Catalog(CatalogType::OidVector));
            let array = (!is_vector).then(|| SqlType::array(ty.clone()));
            for ty in [Some(ty.clone()), array].into_iter().flatten() {
                let texts = TEXTS
                    .iter()
                    .flat_map(|text| [(*text).to_string(), format!("{{\"{text}\",NULL}}")]);
                let values = texts.filter_map(|text| Value::parse(&text, &ty, &settings).ok());
                for value in values.filter(|value| !matches!(value, Value::Unknown(_))) {
                    let stored = constant_text(&value);
                    assert_eq!(constant_value(stored, &ty).unwrap(), value, "{ty}");
                    read += 1;
                }
            }
        }
        assert!(read > 300, "{read}");
    }
}
