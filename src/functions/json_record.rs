//! The columns of `json_to_recordset` and its kin: of each row of a document the member of a name, as text, as a document, or as an array.

use super::json::refuse;
use super::json_piece::{Kind, Piece};
use super::{FunctionDef, T};
use crate::error::Raised;
use crate::types::{FormatSettings, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // Document, name of the column, name of the function.
    FunctionDef::new("record_texts", &[T::Json, T::Text, T::Text], T::Text, |b| {
        b.map3(|whole, column: &str, function: &str| {
            let rows = records(whole, function)?.into_iter();
            let texts = rows.map(|row| row.member(column).and_then(Piece::plain_text));
            Ok::<_, Error>(texts.collect::<Vec<_>>())
        })
    })
    .array(T::Text),
    FunctionDef::new("record_values", &[T::Json, T::Text, T::Text], T::Json, |b| {
        b.map3(|whole, column: &str, function: &str| {
            let rows = records(whole, function)?.into_iter();
            Ok::<_, Error>(rows.map(|row| row.member(column)).collect::<Vec<_>>())
        })
    })
    .array(T::Json),
    FunctionDef::new("record_arrays", &[T::Json, T::Text, T::Text], T::Text, |b| {
        b.map3(|whole, column: &str, function: &str| arrays(whole, (column, function), plain))
    })
    .array(T::Text),
    FunctionDef::new("record_json_arrays", &[T::Json, T::Text, T::Text], T::Text, |b| {
        b.map3(|whole, column: &str, function: &str| arrays(whole, (column, function), written))
    })
    .array(T::Text),
];

/// The objects that a function makes rows of; 22023 where there are others.
fn records<'t>(whole: Piece<'t>, function: &str) -> Result<Vec<Piece<'t>>> {
    let is_set = function.ends_with("set");
    match whole.kind() {
        Kind::Object if !is_set => Ok(vec![whole]),
        Kind::Array if is_set => whole
            .items()
            .map(|row| match row.kind() {
                Kind::Object => Ok(row),
                _ => Err(refuse(format!(
                    "argument of {function} must be an array of objects"
                ))),
            })
            .collect(),
        Kind::Object => Err(refuse(format!("cannot call {function} on an object"))),
        Kind::Array => Err(refuse(format!("cannot call {function} on an array"))),
        _ => Err(refuse(format!("cannot call {function} on a scalar"))),
    }
}

/// The member of each row as the text of an array: an array's items are its elements, a string is such a text itself. Errors: 22P02 for
/// other kinds.
fn arrays(
    whole: Piece,
    (column, function): (&str, &str),
    element: fn(Piece) -> Value,
) -> Result<Vec<Option<String>>> {
    let rows = records(whole, function)?.into_iter();
    let arrays = rows.map(|row| {
        let Some(member) = row.member(column) else {
            return Ok(None);
        };
        match member.kind() {
            Kind::Null => Ok(None),
            Kind::String => Ok(member.string()),
            Kind::Array => Ok(Some(array(member, element).to_text(&FormatSettings::default()))),
            _ => Err(Error::from(Raised {
                hint: Some(format!("See the value of key \"{column}\".")),
                ..Raised::new("22P02", "expected JSON array")
            })),
        }
    });
    arrays.collect()
}

fn array(piece: Piece, element: fn(Piece) -> Value) -> Value {
    let items = piece.items().map(|item| match item.kind() {
        Kind::Array => array(item, element),
        Kind::Null => Value::Null,
        _ => element(item),
    });
    Value::Array(items.collect())
}

fn plain(piece: Piece) -> Value {
    piece
        .plain_text()
        .map_or(Value::Null, |text| Value::Text(text.into_owned()))
}

/// As it stands in the document, for elements that are documents.
fn written(piece: Piece) -> Value {
    Value::Text(piece.text().to_string())
}
