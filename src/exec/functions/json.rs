//! json and jsonb: taking apart, containment, changes. Values travel as text and are read where they are used.

use serde_json::Value as Json;

use super::json_order::same;
use super::json_piece::{Kind, Piece};
use super::{Call, FunctionDef, T};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("->", &[T::Json, T::Text], T::Json, |a, _| member(a, as_document)),
    FunctionDef::row("->", &[T::Json, T::Int4], T::Json, |a, _| member(a, as_document)),
    FunctionDef::row("->", &[T::Jsonb, T::Text], T::Jsonb, |a, _| {
        member(a, as_document)
    }),
    FunctionDef::row("->", &[T::Jsonb, T::Int4], T::Jsonb, |a, _| item(a, as_document)),
    FunctionDef::row("->>", &[T::Json, T::Text], T::Text, |a, _| {
        member(a, as_plain_text)
    }),
    FunctionDef::row("->>", &[T::Json, T::Int4], T::Text, |a, _| {
        member(a, as_plain_text)
    }),
    FunctionDef::row("->>", &[T::Jsonb, T::Text], T::Text, |a, _| {
        member(a, as_plain_text)
    }),
    FunctionDef::row("->>", &[T::Jsonb, T::Int4], T::Text, |a, _| {
        item(a, as_plain_text)
    }),
    FunctionDef::row("#>", &[T::Json, T::TextArray], T::Json, |a, _| {
        at_path(a, as_document)
    }),
    FunctionDef::row("#>", &[T::Jsonb, T::TextArray], T::Jsonb, |a, _| {
        at_path(a, as_document)
    }),
    FunctionDef::row("#>>", &[T::Json, T::TextArray], T::Text, |a, _| {
        at_path(a, as_plain_text)
    }),
    FunctionDef::row("#>>", &[T::Jsonb, T::TextArray], T::Text, |a, _| {
        at_path(a, as_plain_text)
    }),
    FunctionDef::row("json_extract_path", &[T::Json, T::Text], T::Json, |a, _| {
        at_path(a, as_document)
    })
    .variadic(),
    FunctionDef::row("jsonb_extract_path", &[T::Jsonb, T::Text], T::Jsonb, |a, _| {
        at_path(a, as_document)
    })
    .variadic(),
    FunctionDef::row("json_extract_path_text", &[T::Json, T::Text], T::Text, |a, _| {
        at_path(a, as_plain_text)
    })
    .variadic(),
    FunctionDef::row(
        "jsonb_extract_path_text",
        &[T::Jsonb, T::Text],
        T::Text,
        |a, _| at_path(a, as_plain_text),
    )
    .variadic(),
    FunctionDef::row("#-", &[T::Jsonb, T::TextArray], T::Jsonb, |a, call| {
        let mut json = read(&a[0])?;
        if !json.is_object() && !json.is_array() {
            return Err(refuse("cannot delete path in scalar".to_string()));
        }
        remove_at(&mut json, &path_of(&a[1..])?);
        write(&json, call)
    }),
    FunctionDef::row("?|", &[T::Jsonb, T::TextArray], T::Bool, |a, _| {
        let whole = piece(&a[0])?;
        Ok(Value::Bool(
            path_of(&a[1..])?.iter().any(|key| has_key(whole, key)),
        ))
    }),
    FunctionDef::row("?&", &[T::Jsonb, T::TextArray], T::Bool, |a, _| {
        let whole = piece(&a[0])?;
        Ok(Value::Bool(
            path_of(&a[1..])?.iter().all(|key| has_key(whole, key)),
        ))
    }),
    FunctionDef::row("json_typeof", &[T::Json], T::Text, type_of),
    FunctionDef::row("jsonb_typeof", &[T::Jsonb], T::Text, type_of),
    FunctionDef::row("json_array_length", &[T::Json], T::Int4, array_length),
    FunctionDef::row("jsonb_array_length", &[T::Jsonb], T::Int4, array_length),
    FunctionDef::rows("json_array_elements", &[T::Json], T::Json, |a, _| {
        elements(a, "call json_array_elements on", as_document)
    }),
    FunctionDef::rows("jsonb_array_elements", &[T::Jsonb], T::Jsonb, |a, _| {
        elements(a, "extract elements from", as_document)
    }),
    FunctionDef::rows("json_array_elements_text", &[T::Json], T::Text, |a, _| {
        elements(a, "call json_array_elements_text on", as_plain_text)
    }),
    FunctionDef::rows("jsonb_array_elements_text", &[T::Jsonb], T::Text, |a, _| {
        elements(a, "extract elements from", as_plain_text)
    }),
    FunctionDef::rows("json_object_keys", &[T::Json], T::Text, |a, _| {
        keys(a, "json_object_keys")
    }),
    FunctionDef::rows("jsonb_object_keys", &[T::Jsonb], T::Text, |a, _| {
        keys(a, "jsonb_object_keys")
    }),
    FunctionDef::row("@>", &[T::Jsonb, T::Jsonb], T::Bool, |a, _| {
        Ok(Value::Bool(contains_document(piece(&a[0])?, piece(&a[1])?)))
    }),
    FunctionDef::row("<@", &[T::Jsonb, T::Jsonb], T::Bool, |a, _| {
        Ok(Value::Bool(contains_document(piece(&a[1])?, piece(&a[0])?)))
    }),
    FunctionDef::row("?", &[T::Jsonb, T::Text], T::Bool, |a, _| {
        Ok(Value::Bool(has_key(piece(&a[0])?, text(&a[1])?)))
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
    FunctionDef::row("-", &[T::Jsonb, T::Text], T::Jsonb, remove_keys),
    FunctionDef::row("-", &[T::Jsonb, T::TextArray], T::Jsonb, remove_keys),
    FunctionDef::row("-", &[T::Jsonb, T::Int4], T::Jsonb, remove_item),
];

pub(super) fn text(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(Error::internal("a json function of other types")),
    }
}

fn piece(value: &Value) -> Result<Piece<'_>> {
    text(value).map(Piece::new)
}

/// Whether a text is a key of an object, an item of an array, or the string itself.
fn has_key(whole: Piece, key: &str) -> bool {
    let is_key = |piece: Piece| piece.kind() == Kind::String && piece.string().as_deref() == Some(key);
    match whole.kind() {
        Kind::Object => whole.member(key).is_some(),
        Kind::Array => whole.items().any(is_key),
        _ => is_key(whole),
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
pub(super) fn index_of(step: &str, length: usize) -> Option<usize> {
    let index: i64 = step.trim().parse().ok()?;
    match usize::try_from(index) {
        Ok(at) => Some(at),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

/// What a path leads to.
fn at_path(arguments: &[Value], show: fn(Piece) -> Value) -> Result<Value> {
    let has_null = matches!(&arguments[1], Value::Array(steps) if steps.contains(&Value::Null));
    let whole = piece(&arguments[0])?;
    let mut found = (!has_null).then_some(whole);
    for step in path_of(&arguments[1..])? {
        found = found.and_then(|inside| match inside.kind() {
            Kind::Object => inside.member(step),
            Kind::Array => inside.item(step.trim().parse().ok()?),
            _ => None,
        });
    }
    Ok(found.map_or(Value::Null, show))
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

pub(super) fn read(value: &Value) -> Result<Json> {
    let text = text(value)?;
    serde_json::from_str(text).map_err(|_| Error::InvalidText {
        type_name: "json".to_string(),
        value: text.to_string(),
    })
}

pub(super) fn write(json: &Json, call: &Call) -> Result<Value> {
    Value::parse(&json.to_string(), &SqlType::Jsonb, call.settings)
}

fn member(arguments: &[Value], show: fn(Piece) -> Value) -> Result<Value> {
    let whole = piece(&arguments[0])?;
    let found = match &arguments[1] {
        Value::Text(key) => whole.member(key),
        Value::Int(index) => whole.item(*index),
        _ => None,
    };
    Ok(found.map_or(Value::Null, show))
}

/// An item of jsonb, to which a scalar that is the whole document is an array of one.
fn item(arguments: &[Value], show: fn(Piece) -> Value) -> Result<Value> {
    let whole = piece(&arguments[0])?;
    match whole.kind() {
        Kind::Array | Kind::Object => member(arguments, show),
        _ if matches!(arguments[1], Value::Int(0 | -1)) => Ok(show(whole)),
        _ => Ok(Value::Null),
    }
}

fn as_document(piece: Piece) -> Value {
    Value::Text(piece.text().to_string())
}

/// A string without its quotes, SQL's NULL for null, anything else as it is written.
fn as_plain_text(piece: Piece) -> Value {
    match piece.kind() {
        Kind::Null => Value::Null,
        Kind::String => piece.string().map_or(Value::Null, Value::Text),
        _ => as_document(piece),
    }
}

fn type_of(arguments: &[Value], _: &Call) -> Result<Value> {
    let name = match piece(&arguments[0])?.kind() {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    };
    Ok(Value::Text(name.to_string()))
}

/// 22023 for a document that is of the wrong kind.
fn refuse(message: String) -> Error {
    Error::InvalidParameter { message, hint: None }
}

/// The array itself; 22023 for other kinds.
fn array<'a>(value: &'a Value, what: &str) -> Result<Piece<'a>> {
    let whole = piece(value)?;
    match whole.kind() {
        Kind::Array => Ok(whole),
        Kind::Object if what.starts_with("extract") => Err(refuse(format!("cannot {what} an object"))),
        Kind::Object => Err(refuse(format!("cannot {what} a non-array"))),
        _ => Err(refuse(format!("cannot {what} a scalar"))),
    }
}

fn array_length(arguments: &[Value], _: &Call) -> Result<Value> {
    let length = array(&arguments[0], "get array length of")?.items().count();
    Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
}

fn elements(arguments: &[Value], what: &str, show: fn(Piece) -> Value) -> Result<Value> {
    Ok(Value::Array(
        array(&arguments[0], what)?.items().map(show).collect(),
    ))
}

fn keys(arguments: &[Value], function: &str) -> Result<Value> {
    let whole = piece(&arguments[0])?;
    match whole.kind() {
        Kind::Object => Ok(Value::Array(
            whole.members().map(|(key, _)| Value::Text(key)).collect(),
        )),
        Kind::Array => Err(refuse(format!("cannot call {function} on an array"))),
        _ => Err(refuse(format!("cannot call {function} on a scalar"))),
    }
}

/// `a @> b`. Beside what [`contains`] says, an array contains a scalar that is one of its items.
fn contains_document(whole: Piece, part: Piece) -> bool {
    match (whole.kind(), part.kind()) {
        (Kind::Array, Kind::Array | Kind::Object) => contains(whole, part),
        (Kind::Array, _) => whole.items().any(|item| same(item, part)),
        _ => contains(whole, part),
    }
}

/// Every member or item of the part has its equal in the whole, or one that contains it.
fn contains(whole: Piece, part: Piece) -> bool {
    match (whole.kind(), part.kind()) {
        (Kind::Object, Kind::Object) => part
            .members()
            .all(|(key, value)| whole.member(&key).is_some_and(|found| contains(found, value))),
        (Kind::Array, Kind::Array) => part
            .items()
            .all(|value| whole.items().any(|found| contains(found, value))),
        _ => same(whole, part),
    }
}

/// `document - key`, `document - keys`.
fn remove_keys(arguments: &[Value], call: &Call) -> Result<Value> {
    let keys = path_of(&arguments[1..])?;
    let rest = match read(&arguments[0])? {
        Json::Object(mut members) => {
            members.retain(|name, _| !keys.contains(&name.as_str()));
            Json::Object(members)
        }
        Json::Array(items) => Json::Array(
            items
                .into_iter()
                .filter(|item| !item.as_str().is_some_and(|item| keys.contains(&item)))
                .collect(),
        ),
        _ => return Err(refuse("cannot delete from scalar".to_string())),
    };
    write(&rest, call)
}

/// `array - place`.
fn remove_item(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Int(place) = &arguments[1] else {
        return Err(Error::internal("a place that is no integer"));
    };
    match read(&arguments[0])? {
        Json::Array(mut items) => {
            let at = index_of(&place.to_string(), items.len()).filter(|at| *at < items.len());
            at.map(|at| items.remove(at));
            write(&Json::Array(items), call)
        }
        Json::Object(_) => Err(refuse(
            "cannot delete from object using integer index".to_string(),
        )),
        _ => Err(refuse("cannot delete from scalar".to_string())),
    }
}
