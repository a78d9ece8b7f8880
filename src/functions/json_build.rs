//! json and jsonb made of SQL values. json inside json stays as it was written.

use arrow::array::ArrayRef;

use super::cast::{output_text, text_of};
use super::json::document;
use super::{Batch, FunctionDef, T, mismatched_types};
use crate::types::json_piece::quoted;
use crate::types::{ArrayValue, DateStyle, FormatSettings, SqlType, Value, element_type};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("to_json", &[T::Any], T::Json, of_value),
    FunctionDef::new("to_jsonb", &[T::Any], T::Jsonb, of_value),
    FunctionDef::new("row_to_json", &[T::AnyRecord], T::Json, of_value),
    FunctionDef::new("array_to_json", &[T::AnyArray], T::Json, of_value),
    FunctionDef::new("array_to_json", &[T::AnyArray, T::Bool], T::Json, array_in_lines),
    FunctionDef::new("row_to_json", &[T::AnyRecord, T::Bool], T::Json, row_in_lines),
    FunctionDef::new("json_build_object", &[], T::Json, build_object),
    FunctionDef::new("json_build_object", &[T::Any], T::Json, build_object)
        .variadic()
        .on_null(),
    FunctionDef::new("json_object_of", &[T::Any, T::Any], T::Json, object_of),
    FunctionDef::new("json_build_array", &[], T::Json, build_array),
    FunctionDef::new("json_build_array", &[T::Any], T::Json, build_array)
        .variadic()
        .on_null(),
    FunctionDef::new("json_list_of", &[T::AnyArray], T::Json, list_of),
    FunctionDef::new("jsonb_build_object", &[], T::Jsonb, build_object),
    FunctionDef::new("jsonb_build_object", &[T::Any], T::Jsonb, build_object)
        .variadic()
        .on_null(),
    FunctionDef::new("jsonb_object_of", &[T::Any, T::Any], T::Jsonb, object_of),
    FunctionDef::new("jsonb_build_array", &[], T::Jsonb, build_array),
    FunctionDef::new("jsonb_build_array", &[T::Any], T::Jsonb, build_array)
        .variadic()
        .on_null(),
    FunctionDef::new("jsonb_list_of", &[T::AnyArray], T::Jsonb, list_of),
];

/// A value as JSON text.
fn json_text(value: &Value, ty: &SqlType, settings: &FormatSettings) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = text_of(value, ty, settings);
            // NaN and the infinities are no numbers of JSON, and to it an oid is a name.
            if text.ends_with(|last: char| last.is_ascii_digit()) && ty.is_number() {
                text
            } else {
                quoted(text)
            }
        }
        Value::Array(array) => array_text(array, element_type(ty), settings, ","),
        Value::Record(values) => row_text(values, ty, settings, ","),
        Value::Text(text) if matches!(ty, SqlType::Json | SqlType::Jsonb) => text.clone(),
        Value::Date(_) => quoted(value.to_text(&iso(settings))),
        Value::Timestamp(_) => quoted(value.to_text(&iso(settings)).replacen(' ', "T", 1)),
        Value::TimestampTz(_) => {
            let mut text = value.to_text(&iso(settings)).replacen(' ', "T", 1);
            let end = text.strip_suffix(" BC").map_or(text.len(), str::len);
            // ISO 8601 writes the minutes of the zone too.
            if text
                .rfind(['+', '-'])
                .is_some_and(|sign| sign > 10 && end == sign + 3)
            {
                text.insert_str(end, ":00");
            }
            quoted(text)
        }
        other => quoted(output_text(other, ty, settings)),
    }
}

/// JSON holds dates and times as ISO 8601 writes them, whatever DateStyle says.
fn iso(settings: &FormatSettings) -> FormatSettings {
    FormatSettings {
        date_style: DateStyle::default(),
        ..settings.clone()
    }
}

/// An array as arrays within one another, as its dimensions have it; `separator`: between the parts of the outermost.
fn array_text(array: &ArrayValue, item_type: &SqlType, settings: &FormatSettings, separator: &str) -> String {
    let dimensions = array.dimensions();
    let Some((_, inner)) = dimensions.split_first() else {
        return "[]".to_string();
    };
    let mut parts: Vec<String> = array
        .iter()
        .map(|item| json_text(item, item_type, settings))
        .collect();
    for dimension in inner.iter().rev() {
        let rows = parts.chunks(usize::try_from(dimension.length).unwrap_or(1).max(1));
        parts = rows.map(|row| format!("[{}]", row.join(","))).collect();
    }
    format!("[{}]", parts.join(separator))
}

fn of_value(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| document_of_value(arguments, batch))
}

fn document_of_value(arguments: &[Value], batch: &Batch) -> Result<String> {
    document(
        &json_text(&arguments[0], &batch.arguments[0], batch.settings),
        batch,
    )
}

/// An array with each item on a line of its own, where that is asked for.
fn array_in_lines(batch: &Batch) -> Result<ArrayRef> {
    let item_type = element_type(&batch.arguments[0]);
    batch.map2(|array: ArrayValue, in_lines: bool| {
        array_text(&array, item_type, batch.settings, separator(in_lines))
    })
}

/// A row, likewise.
fn row_in_lines(batch: &Batch) -> Result<ArrayRef> {
    let ty = &batch.arguments[0];
    batch.map2(|row: Value, in_lines: bool| match row {
        Value::Record(values) => Some(row_text(&values, ty, batch.settings, separator(in_lines))),
        _ => None,
    })
}

/// A row as an object of its columns.
fn row_text(values: &[Value], ty: &SqlType, settings: &FormatSettings, separator: &str) -> String {
    let fields = ty.record_type().map_or(&[][..], |ty| &ty.fields);
    let members = fields.iter().zip(values).map(|(field, value)| {
        let name = quoted(field.name.clone());
        format!("{name}:{}", json_text(value, &field.ty, settings))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(separator))
}

fn separator(in_lines: bool) -> &'static str {
    if in_lines { ",\n " } else { "," }
}

/// The array that json_agg gives: a blank behind each comma, and each array or row on a line of its own.
fn list_of(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| list_of_items(arguments, batch))
}

fn list_of_items(arguments: &[Value], batch: &Batch) -> Result<String> {
    let Value::Array(items) = &arguments[0] else {
        return Err(mismatched_types());
    };
    let item_type = element_type(&batch.arguments[0]);
    let in_lines = matches!(item_type, SqlType::Array(_) | SqlType::Record(_));
    let mut text = String::from("[");
    for (at, item) in items.iter().enumerate() {
        text.push_str(match *item != Value::Null && in_lines {
            _ if at == 0 => "",
            true => ", \n ",
            false => ", ",
        });
        text.push_str(&json_text(item, item_type, batch.settings));
    }
    text.push(']');
    document(&text, batch)
}

/// The arguments are keys and values in turn.
fn build_object(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| object_of_pairs(arguments, batch))
}

fn object_of_pairs(arguments: &[Value], batch: &Batch) -> Result<String> {
    let of_json = *batch.returns == SqlType::Json;
    if !arguments.len().is_multiple_of(2) {
        let function = if of_json {
            "json_build_object"
        } else {
            "jsonb_build_object"
        };
        return Err(Error::InvalidParameter {
            message: "argument list must have even number of elements".to_string(),
            hint: Some(format!(
                "The arguments of {function}() must consist of alternating keys and values."
            )),
        });
    }
    let mut members = Vec::with_capacity(arguments.len() / 2);
    let types = batch.arguments.chunks_exact(2);
    for (place, (pair, types)) in (1..).step_by(2).zip(arguments.chunks_exact(2).zip(types)) {
        if pair[0] == Value::Null {
            return Err(match of_json {
                true => Error::InvalidParameter {
                    message: format!("argument {place} cannot be null"),
                    hint: Some("Object keys should be text.".to_string()),
                },
                false => Error::InvalidParameter {
                    message: format!("argument {place}: key must not be null"),
                    hint: None,
                },
            });
        }
        check_key(&types[0])?;
        members.push(member((&pair[0], &types[0]), (&pair[1], &types[1]), batch));
    }
    document(&format!("{{{}}}", members.join(", ")), batch)
}

/// Errors: 22023 for what is no key.
fn check_key(ty: &SqlType) -> Result<()> {
    match ty {
        SqlType::Array(_) | SqlType::Record(_) | SqlType::Json | SqlType::Jsonb => {
            Err(Error::InvalidParameter {
                message: "key value must be scalar, not array, composite, or json".to_string(),
                hint: None,
            })
        }
        _ => Ok(()),
    }
}

/// A key and its value.
fn member(key: (&Value, &SqlType), value: (&Value, &SqlType), batch: &Batch) -> String {
    // As the value would be, a string.
    let key = match json_text(key.0, key.1, batch.settings) {
        text if text.starts_with('"') => text,
        text => quoted(text),
    };
    format!("{key} : {}", json_text(value.0, value.1, batch.settings))
}

/// The object of an array of keys and one of their values.
fn object_of(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| object_of_arrays(arguments, batch))
}

fn object_of_arrays(arguments: &[Value], batch: &Batch) -> Result<String> {
    let [Value::Array(keys), Value::Array(values)] = arguments else {
        let [keys, values] = [0, 1].map(|at| batch.arguments[at].name());
        return Err(Error::undefined_function(format!(
            "json_object_of({keys}, {values})"
        )));
    };
    if keys.contains(&Value::Null) {
        return Err(Error::InvalidParameter {
            message: "field name must not be null".to_string(),
            hint: None,
        });
    }
    let [key_type, value_type] = [0, 1].map(|at| element_type(&batch.arguments[at]));
    check_key(key_type)?;
    let members = keys.iter().zip(values);
    let members = members.map(|(key, value)| member((key, key_type), (value, value_type), batch));
    document(
        &format!("{{ {} }}", members.collect::<Vec<_>>().join(", ")),
        batch,
    )
}

fn build_array(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|arguments| array_of_values(arguments, batch))
}

fn array_of_values(arguments: &[Value], batch: &Batch) -> Result<String> {
    let items = arguments.iter().zip(batch.arguments);
    let items = items.map(|(item, ty)| json_text(item, ty, batch.settings));
    document(&format!("[{}]", items.collect::<Vec<_>>().join(", ")), batch)
}
