//! json and jsonb: taking apart, containment, changes. Values travel as text and are read where they are used.

use arrow::array::ArrayRef;
use std::borrow::Cow;

use serde_json::Value as Json;

use super::argument::Texts;
use super::{Batch, FunctionDef, T, mismatched_types};
use crate::types::Value;
use crate::types::json_key::same;
use crate::types::json_piece::{Kind, Piece};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("->", &[T::Json, T::Text], T::Json, |b| b.map2(Piece::member)),
    FunctionDef::new("->", &[T::Json, T::Int4], T::Json, |b| b.map2(item)),
    FunctionDef::new("->", &[T::Jsonb, T::Text], T::Jsonb, |b| b.map2(Piece::member)),
    FunctionDef::new("->", &[T::Jsonb, T::Int4], T::Jsonb, |b| b.map2(item_or_scalar)),
    FunctionDef::new("->>", &[T::Json, T::Text], T::Text, |b| b.map2(member_text)),
    FunctionDef::new("->>", &[T::Json, T::Int4], T::Text, |b| {
        b.map2(|whole, index| item(whole, index).and_then(Piece::plain_text))
    }),
    FunctionDef::new("->>", &[T::Jsonb, T::Text], T::Text, |b| b.map2(member_text)),
    FunctionDef::new("->>", &[T::Jsonb, T::Int4], T::Text, |b| {
        b.map2(|whole, index| item_or_scalar(whole, index).and_then(Piece::plain_text))
    }),
    FunctionDef::new("#>", &[T::Json, T::TextArray], T::Json, |b| b.map2(at_path)),
    FunctionDef::new("#>", &[T::Jsonb, T::TextArray], T::Jsonb, |b| b.map2(at_path)),
    FunctionDef::new("#>>", &[T::Json, T::TextArray], T::Text, |b| b.map2(text_at_path)),
    FunctionDef::new("#>>", &[T::Jsonb, T::TextArray], T::Text, |b| {
        b.map2(text_at_path)
    }),
    FunctionDef::new("json_extract_path", &[T::Json, T::Text], T::Json, |b| {
        b.map_rest(at_path)
    })
    .variadic(),
    FunctionDef::new("jsonb_extract_path", &[T::Jsonb, T::Text], T::Jsonb, |b| {
        b.map_rest(at_path)
    })
    .variadic(),
    FunctionDef::new("json_extract_path_text", &[T::Json, T::Text], T::Text, |b| {
        b.map_rest(text_at_path)
    })
    .variadic(),
    FunctionDef::new("jsonb_extract_path_text", &[T::Jsonb, T::Text], T::Text, |b| {
        b.map_rest(text_at_path)
    })
    .variadic(),
    FunctionDef::new("?", &[T::Jsonb, T::Text], T::Bool, |b| b.map2(has_key)),
    FunctionDef::new("?|", &[T::Jsonb, T::TextArray], T::Bool, has_any_key),
    FunctionDef::new("?&", &[T::Jsonb, T::TextArray], T::Bool, has_all_keys),
    // The operators by the names that PostgreSQL knows them by: for drivers in which `?` is a parameter.
    FunctionDef::new("jsonb_exists", &[T::Jsonb, T::Text], T::Bool, |b| b.map2(has_key)),
    FunctionDef::new(
        "jsonb_exists_any",
        &[T::Jsonb, T::TextArray],
        T::Bool,
        has_any_key,
    ),
    FunctionDef::new(
        "jsonb_exists_all",
        &[T::Jsonb, T::TextArray],
        T::Bool,
        has_all_keys,
    ),
    FunctionDef::new("jsonb_contains", &[T::Jsonb, T::Jsonb], T::Bool, |b| {
        b.map2(contains_document)
    }),
    FunctionDef::new("jsonb_contained", &[T::Jsonb, T::Jsonb], T::Bool, |b| {
        b.map2(|part, whole| contains_document(whole, part))
    }),
    FunctionDef::new("json_typeof", &[T::Json], T::Text, |b| {
        b.map1(|text: &str| type_of(Piece::new(text)))
    }),
    FunctionDef::new("jsonb_typeof", &[T::Jsonb], T::Text, |b| b.map1(type_of)),
    FunctionDef::new("json_array_length", &[T::Json], T::Int4, |b| {
        b.map1(|text: &str| array_length(Piece::new(text)))
    }),
    FunctionDef::new("jsonb_array_length", &[T::Jsonb], T::Int4, |b| {
        b.map1(array_length)
    }),
    FunctionDef::rows("json_array_elements", &[T::Json], T::Json, |b| {
        b.map1(|whole| elements(whole, "call json_array_elements on"))
    }),
    FunctionDef::rows("jsonb_array_elements", &[T::Jsonb], T::Jsonb, |b| {
        b.map1(|whole| elements(whole, "extract elements from"))
    }),
    FunctionDef::rows("json_array_elements_text", &[T::Json], T::Text, |b| {
        b.map1(|whole| element_texts(whole, "call json_array_elements_text on"))
    }),
    FunctionDef::rows("jsonb_array_elements_text", &[T::Jsonb], T::Text, |b| {
        b.map1(|whole| element_texts(whole, "extract elements from"))
    }),
    FunctionDef::rows("json_object_keys", &[T::Json], T::Text, |b| {
        b.map1(|whole| keys(whole, "json_object_keys"))
    }),
    FunctionDef::rows("jsonb_object_keys", &[T::Jsonb], T::Text, |b| {
        b.map1(|whole| keys(whole, "jsonb_object_keys"))
    }),
    FunctionDef::new("@>", &[T::Jsonb, T::Jsonb], T::Bool, |b| {
        b.map2(contains_document)
    }),
    FunctionDef::new("<@", &[T::Jsonb, T::Jsonb], T::Bool, |b| {
        b.map2(|part, whole| contains_document(whole, part))
    }),
    FunctionDef::new("||", &[T::Jsonb, T::Jsonb], T::Jsonb, |b| {
        b.map2(|left, right| document(&joined(read(left)?, read(right)?).to_string(), b))
    }),
    FunctionDef::new("-", &[T::Jsonb, T::Text], T::Jsonb, |b| {
        b.map2(|whole, key: &str| document(&without_keys(whole, &[Some(key)])?.to_string(), b))
    }),
    FunctionDef::new("-", &[T::Jsonb, T::TextArray], T::Jsonb, |b| {
        b.map2(|whole, Texts(keys)| document(&without_keys(whole, &keys)?.to_string(), b))
    }),
    FunctionDef::new("-", &[T::Jsonb, T::Int4], T::Jsonb, |b| {
        b.map2(|whole, place| document(&without_item(whole, place)?.to_string(), b))
    }),
];

fn has_any_key(b: &Batch) -> Result<ArrayRef> {
    b.map2(|whole, keys: Vec<Option<&str>>| keys.into_iter().flatten().any(|key| has_key(whole, key)))
}

fn has_all_keys(b: &Batch) -> Result<ArrayRef> {
    b.map2(|whole, keys: Vec<Option<&str>>| keys.into_iter().flatten().all(|key| has_key(whole, key)))
}

/// The text of a document as the result's type keeps it.
pub(super) fn document(text: &str, batch: &Batch) -> Result<String> {
    match Value::parse(text, batch.returns, batch.settings)? {
        Value::Text(text) => Ok(text),
        _ => Err(mismatched_types()),
    }
}

/// A document taken apart, to be changed.
pub(super) fn read(document: Piece) -> Result<Json> {
    serde_json::from_str(document.text()).map_err(|_| Error::InvalidText {
        type_name: "json".to_string(),
        value: document.text().to_string(),
    })
}

/// 22023 for a document that is of the wrong kind.
pub(super) fn refuse(message: impl Into<String>) -> Error {
    Error::InvalidParameter {
        message: message.into(),
        hint: None,
    }
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

/// The place in an array that a step names; negative ones count from the end.
pub(super) fn index_of(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(at) => Some(at),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn member_text<'t>(whole: Piece<'t>, key: &str) -> Option<Cow<'t, str>> {
    whole.member(key).and_then(Piece::plain_text)
}

fn item(whole: Piece<'_>, index: i32) -> Option<Piece<'_>> {
    whole.item(index.into())
}

/// An item of jsonb, to which a scalar that is the whole document is an array of one.
fn item_or_scalar(whole: Piece<'_>, index: i32) -> Option<Piece<'_>> {
    match whole.kind() {
        Kind::Array | Kind::Object => item(whole, index),
        _ => Some(whole).filter(|_| matches!(index, 0 | -1)),
    }
}

/// What a path leads to. A step that is NULL leads nowhere.
fn at_path<'t>(whole: Piece<'t>, steps: Vec<Option<&str>>) -> Option<Piece<'t>> {
    steps
        .into_iter()
        .try_fold(whole, |inside, step| match inside.kind() {
            Kind::Object => inside.member(step?),
            Kind::Array => inside.item(step?.trim().parse().ok()?),
            _ => None,
        })
}

fn text_at_path<'t>(whole: Piece<'t>, steps: Vec<Option<&str>>) -> Option<Cow<'t, str>> {
    at_path(whole, steps).and_then(Piece::plain_text)
}

fn type_of(piece: Piece) -> &'static str {
    match piece.kind() {
        Kind::Null => "null",
        Kind::Boolean => "boolean",
        Kind::Number => "number",
        Kind::String => "string",
        Kind::Array => "array",
        Kind::Object => "object",
    }
}

/// The items of an array; 22023 for other kinds.
fn elements<'t>(whole: Piece<'t>, what: &str) -> Result<Vec<Piece<'t>>> {
    match whole.kind() {
        Kind::Array => Ok(whole.items().collect()),
        Kind::Object if what.starts_with("extract") => Err(refuse(format!("cannot {what} an object"))),
        Kind::Object => Err(refuse(format!("cannot {what} a non-array"))),
        _ => Err(refuse(format!("cannot {what} a scalar"))),
    }
}

fn element_texts<'t>(whole: Piece<'t>, what: &str) -> Result<Vec<Option<Cow<'t, str>>>> {
    let items = elements(whole, what)?;
    Ok(items.into_iter().map(Piece::plain_text).collect())
}

fn array_length(whole: Piece) -> Result<i32> {
    let length = elements(whole, "get array length of")?.len();
    Ok(i32::try_from(length).unwrap_or(i32::MAX))
}

fn keys(whole: Piece, function: &str) -> Result<Vec<String>> {
    match whole.kind() {
        Kind::Object => Ok(whole.members().map(|(key, _)| key).collect()),
        Kind::Array => Err(refuse(format!("cannot call {function} on an array"))),
        _ => Err(refuse(format!("cannot call {function} on a scalar"))),
    }
}

/// Members or items of both; what is no array beside one is an item.
fn joined(left: Json, right: Json) -> Json {
    match (left, right) {
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
fn without_keys(whole: Piece, keys: &[Option<&str>]) -> Result<Json> {
    match read(whole)? {
        Json::Object(mut members) => {
            members.retain(|name, _| !keys.contains(&Some(name)));
            Ok(Json::Object(members))
        }
        Json::Array(mut items) => {
            items.retain(|item| !item.as_str().is_some_and(|item| keys.contains(&Some(item))));
            Ok(Json::Array(items))
        }
        _ => Err(refuse("cannot delete from scalar")),
    }
}

/// `array - place`.
fn without_item(whole: Piece, place: i32) -> Result<Json> {
    match read(whole)? {
        Json::Array(mut items) => {
            let at = index_of(place.into(), items.len()).filter(|at| *at < items.len());
            at.map(|at| items.remove(at));
            Ok(Json::Array(items))
        }
        Json::Object(_) => Err(refuse("cannot delete from object using integer index")),
        _ => Err(refuse("cannot delete from scalar")),
    }
}
