//! json and jsonb made of SQL values. json inside json stays as it was written.

use serde_json::Value as Json;

use super::{Call, FunctionDef, T};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("to_json", &[T::Any], T::Json, to_json),
    FunctionDef::row("to_jsonb", &[T::Any], T::Jsonb, to_json),
    FunctionDef::row("array_to_json", &[T::AnyArray], T::Json, to_json),
    FunctionDef::row("json_build_object", &[], T::Json, build_object),
    FunctionDef::row("json_build_object", &[T::Any], T::Json, build_object)
        .variadic()
        .on_null(),
    FunctionDef::row("jsonb_build_object", &[], T::Jsonb, build_object),
    FunctionDef::row("jsonb_build_object", &[T::Any], T::Jsonb, build_object)
        .variadic()
        .on_null(),
    FunctionDef::row("json_object_of", &[T::Any, T::Any], T::Json, object_of),
    FunctionDef::row("jsonb_object_of", &[T::Any, T::Any], T::Jsonb, object_of),
    FunctionDef::row("json_build_array", &[], T::Json, build_array),
    FunctionDef::row("json_build_array", &[T::Any], T::Json, build_array)
        .variadic()
        .on_null(),
    FunctionDef::row("jsonb_build_array", &[], T::Jsonb, build_array),
    FunctionDef::row("jsonb_build_array", &[T::Any], T::Jsonb, build_array)
        .variadic()
        .on_null(),
    FunctionDef::row("json_list_of", &[T::AnyArray], T::Json, list_of),
    FunctionDef::row("jsonb_list_of", &[T::AnyArray], T::Jsonb, list_of),
];

/// A value as JSON text.
fn json_text(value: &Value, ty: &SqlType, call: &Call) -> Result<String> {
    Ok(match value {
        Value::Null => "null".to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Int(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = super::cast::text_of(value, ty, call.settings);
            // NaN and the infinities are no numbers of JSON.
            if text.ends_with(|last: char| last.is_ascii_digit()) {
                text
            } else {
                quoted(text)
            }
        }
        Value::Array(items) => array_text(items, &super::super::cell::element_type(ty), call, ",")?,
        Value::Text(text) if matches!(ty, SqlType::Json | SqlType::Jsonb) => text.clone(),
        Value::Timestamp(_) => quoted(value.to_text(call.settings).replacen(' ', "T", 1)),
        Value::TimestampTz(_) => {
            let mut text = value.to_text(call.settings).replacen(' ', "T", 1);
            // ISO 8601 writes the minutes of the zone too.
            if text
                .rfind(['+', '-'])
                .is_some_and(|sign| sign > 10 && text.len() == sign + 3)
            {
                text.push_str(":00");
            }
            quoted(text)
        }
        other => quoted(super::text_output::shown(other, ty, call.settings)),
    })
}

fn quoted(text: String) -> String {
    Json::String(text).to_string()
}

fn array_text(items: &[Value], item_type: &SqlType, call: &Call, separator: &str) -> Result<String> {
    let items = items.iter().map(|item| json_text(item, item_type, call));
    Ok(format!(
        "[{}]",
        items.collect::<Result<Vec<_>>>()?.join(separator)
    ))
}

/// The text as the result's type keeps it.
fn document(text: &str, call: &Call) -> Result<Value> {
    Value::parse(text, call.returns, call.settings)
}

fn to_json(arguments: &[Value], call: &Call) -> Result<Value> {
    document(&json_text(&arguments[0], &call.arguments[0], call)?, call)
}

/// The array that json_agg gives: a blank behind each comma.
fn list_of(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Array(items) = &arguments[0] else {
        return Err(Error::internal("a json list of no array"));
    };
    let item_type = super::super::cell::element_type(&call.arguments[0]);
    document(&array_text(items, &item_type, call, ", ")?, call)
}

fn build_object(arguments: &[Value], call: &Call) -> Result<Value> {
    if !arguments.len().is_multiple_of(2) {
        return Err(Error::InvalidParameter {
            message: "argument list must have even number of elements".to_string(),
            hint: Some("The arguments must consist of alternating keys and values.".to_string()),
        });
    }
    let mut members = Vec::with_capacity(arguments.len() / 2);
    for (pair, types) in arguments.chunks_exact(2).zip(call.arguments.chunks_exact(2)) {
        if pair[0] == Value::Null {
            return Err(Error::InvalidParameter {
                message: "argument 1: key must not be null".to_string(),
                hint: None,
            });
        }
        let key = super::cast::text_of(&pair[0], &types[0], call.settings);
        members.push(format!(
            "{} : {}",
            quoted(key),
            json_text(&pair[1], &types[1], call)?
        ));
    }
    let json = format!("{{{}}}", members.join(", "));
    document(&json, call)
}

/// The object of an array of keys and one of their values.
fn object_of(arguments: &[Value], call: &Call) -> Result<Value> {
    let (Value::Array(keys), Value::Array(values)) = (&arguments[0], &arguments[1]) else {
        return Err(Error::internal("a json object of no arrays"));
    };
    let [key_type, value_type] = [0, 1].map(|at| super::super::cell::element_type(&call.arguments[at]));
    let mut members = Vec::with_capacity(keys.len());
    for (key, value) in keys.iter().zip(values) {
        if *key == Value::Null {
            return Err(Error::InvalidParameter {
                message: "field name must not be null".to_string(),
                hint: None,
            });
        }
        let key = super::cast::text_of(key, &key_type, call.settings);
        members.push(format!(
            "{} : {}",
            quoted(key),
            json_text(value, &value_type, call)?
        ));
    }
    document(&format!("{{ {} }}", members.join(", ")), call)
}

fn build_array(arguments: &[Value], call: &Call) -> Result<Value> {
    let mut items = Vec::with_capacity(arguments.len());
    for (argument, ty) in arguments.iter().zip(call.arguments) {
        items.push(json_text(argument, ty, call)?);
    }
    document(&format!("[{}]", items.join(", ")), call)
}
