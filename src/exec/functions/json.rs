//! json and jsonb: building, taking apart, containment. Values travel as text and are read where they are used.

use serde_json::Value as Json;

use super::{Call, FunctionDef, T};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("to_json", &[T::Any], T::Json, |a, call| {
        write(&json_of(&a[0], &call.arguments[0], call)?, call)
    }),
    FunctionDef::row("to_jsonb", &[T::Any], T::Jsonb, |a, call| {
        write(&json_of(&a[0], &call.arguments[0], call)?, call)
    }),
    FunctionDef::row("array_to_json", &[T::AnyArray], T::Json, |a, call| {
        write(&json_of(&a[0], &call.arguments[0], call)?, call)
    }),
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
    FunctionDef::row("->", &[T::Json, T::Text], T::Json, |a, call| {
        member(a, call, false)
    }),
    FunctionDef::row("->", &[T::Json, T::Int4], T::Json, |a, call| {
        member(a, call, false)
    }),
    FunctionDef::row("->", &[T::Jsonb, T::Text], T::Jsonb, |a, call| {
        member(a, call, false)
    }),
    FunctionDef::row("->", &[T::Jsonb, T::Int4], T::Jsonb, |a, call| {
        member(a, call, false)
    }),
    FunctionDef::row("->>", &[T::Json, T::Text], T::Text, |a, call| {
        member(a, call, true)
    }),
    FunctionDef::row("->>", &[T::Json, T::Int4], T::Text, |a, call| {
        member(a, call, true)
    }),
    FunctionDef::row("->>", &[T::Jsonb, T::Text], T::Text, |a, call| {
        member(a, call, true)
    }),
    FunctionDef::row("->>", &[T::Jsonb, T::Int4], T::Text, |a, call| {
        member(a, call, true)
    }),
    FunctionDef::row("#>", &[T::Json, T::TextArray], T::Json, |a, call| {
        at_path(a, call, false)
    }),
    FunctionDef::row("#>", &[T::Jsonb, T::TextArray], T::Jsonb, |a, call| {
        at_path(a, call, false)
    }),
    FunctionDef::row("#>>", &[T::Json, T::TextArray], T::Text, |a, call| {
        at_path(a, call, true)
    }),
    FunctionDef::row("#>>", &[T::Jsonb, T::TextArray], T::Text, |a, call| {
        at_path(a, call, true)
    }),
    FunctionDef::row("json_extract_path", &[T::Json, T::Text], T::Json, |a, call| {
        at_path(a, call, false)
    })
    .variadic(),
    FunctionDef::row("jsonb_extract_path", &[T::Jsonb, T::Text], T::Jsonb, |a, call| {
        at_path(a, call, false)
    })
    .variadic(),
    FunctionDef::row(
        "json_extract_path_text",
        &[T::Json, T::Text],
        T::Text,
        |a, call| at_path(a, call, true),
    )
    .variadic(),
    FunctionDef::row(
        "jsonb_extract_path_text",
        &[T::Jsonb, T::Text],
        T::Text,
        |a, call| at_path(a, call, true),
    )
    .variadic(),
    FunctionDef::row("#-", &[T::Jsonb, T::TextArray], T::Jsonb, |a, call| {
        let mut json = read(&a[0])?;
        remove_at(&mut json, &path_of(&a[1..])?);
        write(&json, call)
    }),
    FunctionDef::row("?|", &[T::Jsonb, T::TextArray], T::Bool, |a, _| {
        let json = read(&a[0])?;
        Ok(Value::Bool(
            path_of(&a[1..])?.iter().any(|key| has_key(&json, key)),
        ))
    }),
    FunctionDef::row("?&", &[T::Jsonb, T::TextArray], T::Bool, |a, _| {
        let json = read(&a[0])?;
        Ok(Value::Bool(
            path_of(&a[1..])?.iter().all(|key| has_key(&json, key)),
        ))
    }),
    FunctionDef::row("json_typeof", &[T::Json], T::Text, type_of),
    FunctionDef::row("jsonb_typeof", &[T::Jsonb], T::Text, type_of),
    FunctionDef::row("json_array_length", &[T::Json], T::Int4, array_length),
    FunctionDef::row("jsonb_array_length", &[T::Jsonb], T::Int4, array_length),
    FunctionDef::rows("json_array_elements", &[T::Json], T::Json, |a, call| {
        elements(a, call, false)
    }),
    FunctionDef::rows("jsonb_array_elements", &[T::Jsonb], T::Jsonb, |a, call| {
        elements(a, call, false)
    }),
    FunctionDef::rows("json_array_elements_text", &[T::Json], T::Text, |a, call| {
        elements(a, call, true)
    }),
    FunctionDef::rows("jsonb_array_elements_text", &[T::Jsonb], T::Text, |a, call| {
        elements(a, call, true)
    }),
    FunctionDef::rows("json_object_keys", &[T::Json], T::Text, keys),
    FunctionDef::rows("jsonb_object_keys", &[T::Jsonb], T::Text, keys),
    FunctionDef::row("@>", &[T::Jsonb, T::Jsonb], T::Bool, |a, _| {
        Ok(Value::Bool(contains(&read(&a[0])?, &read(&a[1])?)))
    }),
    FunctionDef::row("<@", &[T::Jsonb, T::Jsonb], T::Bool, |a, _| {
        Ok(Value::Bool(contains(&read(&a[1])?, &read(&a[0])?)))
    }),
    FunctionDef::row("?", &[T::Jsonb, T::Text], T::Bool, |a, _| {
        Ok(Value::Bool(has_key(&read(&a[0])?, text(&a[1])?)))
    }),
    FunctionDef::row("||", &[T::Jsonb, T::Jsonb], T::Jsonb, |a, call| {
        let joined = match (read(&a[0])?, read(&a[1])?) {
            (Json::Object(mut left), Json::Object(right)) => {
                left.extend(right);
                Json::Object(left)
            }
            (Json::Array(mut left), Json::Array(right)) => {
                left.extend(right);
                Json::Array(left)
            }
            (Json::Array(mut left), right) => {
                left.push(right);
                Json::Array(left)
            }
            (left, Json::Array(right)) => Json::Array(std::iter::once(left).chain(right).collect()),
            (left, right) => Json::Array(vec![left, right]),
        };
        write(&joined, call)
    }),
    FunctionDef::row("-", &[T::Jsonb, T::Text], T::Jsonb, |a, call| {
        let key = text(&a[1])?;
        let rest = match read(&a[0])? {
            Json::Object(mut members) => {
                members.shift_remove(key);
                Json::Object(members)
            }
            Json::Array(items) => Json::Array(
                items
                    .into_iter()
                    .filter(|item| item.as_str() != Some(key))
                    .collect(),
            ),
            other => other,
        };
        write(&rest, call)
    }),
];

fn text(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(Error::internal("a json function of other types")),
    }
}

/// Whether a text is a key of an object, an item of an array, or the string itself.
fn has_key(json: &Json, key: &str) -> bool {
    match json {
        Json::Object(members) => members.contains_key(key),
        Json::Array(items) => items.iter().any(|item| item.as_str() == Some(key)),
        Json::String(string) => string == key,
        _ => false,
    }
}

/// The steps of a path: one array of texts, or texts. NULLs lead nowhere and are left out.
fn path_of(arguments: &[Value]) -> Result<Vec<&str>> {
    let steps = match arguments {
        [Value::Array(steps)] => steps.as_slice(),
        steps => steps,
    };
    steps
        .iter()
        .filter(|step| **step != Value::Null)
        .map(text)
        .collect()
}

/// The place in an array that a step names; negative ones count from the end.
fn index_of(step: &str, length: usize) -> Option<usize> {
    let index: i64 = step.trim().parse().ok()?;
    match usize::try_from(index) {
        Ok(at) => Some(at),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// What a path leads to, as JSON or as text.
fn at_path(arguments: &[Value], call: &Call, as_text: bool) -> Result<Value> {
    let has_null = matches!(&arguments[1], Value::Array(steps) if steps.contains(&Value::Null));
    let json = read(&arguments[0])?;
    let mut found = (!has_null).then_some(&json);
    for step in path_of(&arguments[1..])? {
        found = match found {
            Some(Json::Object(members)) => members.get(step),
            Some(Json::Array(items)) => index_of(step, items.len()).and_then(|at| items.get(at)),
            _ => None,
        };
    }
    match found {
        None => Ok(Value::Null),
        Some(found) if as_text => Ok(as_plain_text(found)),
        Some(found) => write(found, call),
    }
}

fn remove_at(json: &mut Json, path: &[&str]) {
    match (path, json) {
        ([last], Json::Object(members)) => {
            members.shift_remove(*last);
        }
        ([last], Json::Array(items)) => {
            if let Some(at) = index_of(last, items.len()).filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        ([step, rest @ ..], Json::Object(members)) => {
            if let Some(inner) = members.get_mut(*step) {
                remove_at(inner, rest);
            }
        }
        ([step, rest @ ..], Json::Array(items)) => {
            let at = index_of(step, items.len());
            if let Some(inner) = at.and_then(|at| items.get_mut(at)) {
                remove_at(inner, rest);
            }
        }
        _ => {}
    }
}

fn read(value: &Value) -> Result<Json> {
    let text = text(value)?;
    serde_json::from_str(text).map_err(|_| Error::InvalidText {
        type_name: "json".to_string(),
        value: text.to_string(),
    })
}

fn write(json: &Json, call: &Call) -> Result<Value> {
    write_as(json, call.returns, call)
}

/// As PostgreSQL prints it: jsonb normalized; json as it is.
fn write_as(json: &Json, ty: &SqlType, call: &Call) -> Result<Value> {
    Value::parse(
        &json.to_string(),
        if *ty == SqlType::Jsonb { ty } else { &SqlType::Json },
        call.settings,
    )
}

fn json_of(value: &Value, ty: &SqlType, call: &Call) -> Result<Json> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(flag) => Json::Bool(*flag),
        Value::Int(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) => {
            let text = super::cast::text_of(value, ty, call.settings);
            serde_json::from_str(&text).unwrap_or(Json::String(text))
        }
        Value::Array(items) => {
            let item_type = super::super::cell::element_type(ty);
            Json::Array(
                items
                    .iter()
                    .map(|item| json_of(item, &item_type, call))
                    .collect::<Result<_>>()?,
            )
        }
        Value::Text(_) if matches!(ty, SqlType::Json | SqlType::Jsonb) => read(value)?,
        Value::Timestamp(_) => Json::String(value.to_text(call.settings).replacen(' ', "T", 1)),
        Value::TimestampTz(_) => {
            let mut text = value.to_text(call.settings).replacen(' ', "T", 1);
            // ISO 8601 writes the minutes of the zone too.
            if text
                .rfind(['+', '-'])
                .is_some_and(|sign| sign > 10 && text.len() == sign + 3)
            {
                text.push_str(":00");
            }
            Json::String(text)
        }
        other => Json::String(super::cast::text_of(other, ty, call.settings)),
    })
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
            Json::String(key),
            json_of(&pair[1], &types[1], call)?
        ));
    }
    let json = format!("{{{}}}", members.join(", "));
    Value::parse(&json, call.returns, call.settings)
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
            Json::String(key),
            json_of(value, &value_type, call)?
        ));
    }
    Value::parse(
        &format!("{{ {} }}", members.join(", ")),
        call.returns,
        call.settings,
    )
}

fn build_array(arguments: &[Value], call: &Call) -> Result<Value> {
    let mut items = Vec::with_capacity(arguments.len());
    for (argument, ty) in arguments.iter().zip(call.arguments) {
        items.push(json_of(argument, ty, call)?.to_string());
    }
    Value::parse(&format!("[{}]", items.join(", ")), call.returns, call.settings)
}

fn member(arguments: &[Value], call: &Call, as_text: bool) -> Result<Value> {
    let json = read(&arguments[0])?;
    let found = match &arguments[1] {
        Value::Text(key) => match &json {
            Json::Object(members) => members.get(key),
            _ => None,
        },
        Value::Int(index) => match &json {
            Json::Array(items) => {
                let at = usize::try_from(*index).ok();
                at.or_else(|| items.len().checked_sub(usize::try_from(-index).ok()?))
                    .and_then(|at| items.get(at))
            }
            _ => None,
        },
        _ => None,
    };
    match found {
        None => Ok(Value::Null),
        Some(found) if as_text => Ok(as_plain_text(found)),
        Some(found) => write(found, call),
    }
}

fn as_plain_text(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::String(string) => Value::Text(string.clone()),
        other => Value::Text(other.to_string()),
    }
}

fn type_of(arguments: &[Value], _: &Call) -> Result<Value> {
    let name = match read(&arguments[0])? {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    Ok(Value::Text(name.to_string()))
}

fn items_of(value: &Value, what: &str) -> Result<Vec<Json>> {
    match read(value)? {
        Json::Array(items) => Ok(items),
        Json::Object(_) => Err(Error::InvalidParameter {
            message: format!("cannot {what} a non-array"),
            hint: None,
        }),
        _ => Err(Error::InvalidParameter {
            message: format!("cannot {what} a scalar"),
            hint: None,
        }),
    }
}

fn array_length(arguments: &[Value], _: &Call) -> Result<Value> {
    let length = items_of(&arguments[0], "get array length of")?.len();
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn elements(arguments: &[Value], call: &Call, as_text: bool) -> Result<Value> {
    let items = items_of(&arguments[0], "extract elements from")?;
    let item_type = super::super::cell::element_type(call.returns);
    let values = items.iter().map(|item| {
        if as_text {
            Ok(as_plain_text(item))
        } else {
            write_as(item, &item_type, call)
        }
    });
    Ok(Value::Array(values.collect::<Result<_>>()?))
}

fn keys(arguments: &[Value], _: &Call) -> Result<Value> {
    match read(&arguments[0])? {
        Json::Object(members) => Ok(Value::Array(
            members.keys().map(|key| Value::Text(key.clone())).collect(),
        )),
        Json::Array(_) => Err(Error::InvalidParameter {
            message: "cannot call json_object_keys on an array".to_string(),
            hint: None,
        }),
        _ => Err(Error::InvalidParameter {
            message: "cannot call json_object_keys on a scalar".to_string(),
            hint: None,
        }),
    }
}

/// `a @> b`.
fn contains(whole: &Json, part: &Json) -> bool {
    match (whole, part) {
        (Json::Object(whole), Json::Object(part)) => part
            .iter()
            .all(|(key, value)| whole.get(key).is_some_and(|found| contains(found, value))),
        (Json::Array(whole), Json::Array(part)) => part
            .iter()
            .all(|value| whole.iter().any(|found| contains(found, value))),
        (Json::Array(whole), scalar) => whole.contains(scalar),
        (a, b) => a == b,
    }
}
