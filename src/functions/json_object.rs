//! json and jsonb objects a member at a time (`json_each`), made of texts (`json_object`), and without their nulls.

use std::borrow::Cow;

use super::array_shape::subscript_error;
use super::json::{document, refuse};
use super::{Batch, FunctionDef, T};
use crate::types::json_piece::{Kind, Piece, quoted};
use crate::types::{ArrayValue, Dimension, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // The columns of json_each and its kin, which `catalog_array` puts together.
    FunctionDef::new("json_each_keys", &[T::Json], T::Text, |b| {
        b.map1(|whole| keys(whole, None))
    })
    .array(T::Text),
    FunctionDef::new("json_each_values", &[T::Json], T::Json, |b| {
        b.map1(|whole| values(whole, None))
    })
    .array(T::Json),
    FunctionDef::new("json_each_texts", &[T::Json], T::Text, |b| {
        b.map1(|whole| texts(whole, None))
    })
    .array(T::Text),
    FunctionDef::new("jsonb_each_keys", &[T::Jsonb], T::Text, |b| {
        b.map1(|whole| keys(whole, Some("jsonb_each")))
    })
    .array(T::Text),
    FunctionDef::new("jsonb_each_values", &[T::Jsonb], T::Jsonb, |b| {
        b.map1(|whole| values(whole, Some("jsonb_each")))
    })
    .array(T::Jsonb),
    FunctionDef::new("jsonb_each_text_keys", &[T::Jsonb], T::Text, |b| {
        b.map1(|whole| keys(whole, Some("jsonb_each_text")))
    })
    .array(T::Text),
    FunctionDef::new("jsonb_each_texts", &[T::Jsonb], T::Text, |b| {
        b.map1(|whole| texts(whole, Some("jsonb_each_text")))
    })
    .array(T::Text),
    FunctionDef::new("json_object", &[T::TextArray], T::Json, of_pairs),
    FunctionDef::new("jsonb_object", &[T::TextArray], T::Jsonb, of_pairs),
    FunctionDef::new("json_object", &[T::TextArray, T::TextArray], T::Json, of_lists),
    FunctionDef::new("jsonb_object", &[T::TextArray, T::TextArray], T::Jsonb, of_lists),
    FunctionDef::new("json_strip_nulls", &[T::Json], T::Json, without_nulls),
    FunctionDef::new("jsonb_strip_nulls", &[T::Jsonb], T::Jsonb, without_nulls),
];

/// The members of an object; 22023 for other kinds, in the words of the `function` of jsonb or those of json.
fn members<'t>(whole: Piece<'t>, function: Option<&str>) -> Result<Vec<(String, Piece<'t>)>> {
    match (whole.kind(), function) {
        (Kind::Object, _) => Ok(whole.members().collect()),
        (_, Some(function)) => Err(refuse(format!("cannot call {function} on a non-object"))),
        (Kind::Array, None) => Err(refuse("cannot deconstruct an array as an object")),
        (_, None) => Err(refuse("cannot deconstruct a scalar")),
    }
}

fn keys(whole: Piece, function: Option<&str>) -> Result<Vec<String>> {
    let members = members(whole, function)?;
    Ok(members.into_iter().map(|(key, _)| key).collect())
}

fn values<'t>(whole: Piece<'t>, function: Option<&str>) -> Result<Vec<Piece<'t>>> {
    let members = members(whole, function)?;
    Ok(members.into_iter().map(|(_, value)| value).collect())
}

fn texts<'t>(whole: Piece<'t>, function: Option<&str>) -> Result<Vec<Option<Cow<'t, str>>>> {
    let members = members(whole, function)?;
    Ok(members.into_iter().map(|(_, value)| value.plain_text()).collect())
}

/// An object of keys and values in turn.
fn of_pairs(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    batch.map1(|array: ArrayValue| {
        let wrong = match array.dimensions().as_slice() {
            [] | [_] if array.len().is_multiple_of(2) => None,
            [] | [_] => Some("array must have even number of elements"),
            [_, Dimension { length: 2, .. }] => None,
            [_, _] => Some("array must have two columns"),
            _ => Some("wrong number of array subscripts"),
        };
        if let Some(message) = wrong {
            return Err(subscript_error(message));
        }
        let pairs = array.chunks_exact(2);
        object(pairs.map(|pair| (text_of(&pair[0]), text_of(&pair[1]))), batch)
    })
}

/// An object of a list of keys and one of their values.
fn of_lists(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    batch.map2(|keys: ArrayValue, values: ArrayValue| {
        // An array without items has no dimension.
        let [of_keys, of_values] = [&keys, &values].map(|array| array.dimensions().len());
        if of_keys > 1 || of_keys != of_values {
            return Err(subscript_error("wrong number of array subscripts"));
        }
        if keys.len() != values.len() {
            return Err(subscript_error("mismatched array dimensions"));
        }
        object(keys.iter().map(text_of).zip(values.iter().map(text_of)), batch)
    })
}

/// The text, unless it is NULL.
fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn object<'t>(
    members: impl Iterator<Item = (Option<&'t str>, Option<&'t str>)>,
    batch: &Batch,
) -> Result<String> {
    let mut texts = Vec::new();
    for (key, value) in members {
        let key = key.ok_or_else(|| Error::DataException {
            state: "22004",
            message: "null value not allowed for object key".to_string(),
        })?;
        let value = value.map_or_else(|| "null".to_string(), |value| quoted(value.to_string()));
        texts.push(format!("{} : {value}", quoted(key.to_string())));
    }
    document(&format!("{{{}}}", texts.join(", ")), batch)
}

fn without_nulls(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    let counts = |member: Piece<'_>| member.kind() != Kind::Null;
    let as_written = |value: Piece<'_>| Ok(value.text().to_string());
    batch.map1(|whole: Piece| document(&whole.rebuilt(&counts, &as_written)?, batch))
}
