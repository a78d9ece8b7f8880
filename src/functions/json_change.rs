//! jsonb with something put at a path or taken from there (`jsonb_set`, `jsonb_insert`, `#-`), and jsonb over many lines
//! (`jsonb_pretty`).

use serde_json::Value as Json;

use super::argument::Texts;
use super::array_shape::subscript_error;
use super::json::{document, index_of, read, refuse};
use super::size::LimitedText;
use super::{Batch, FunctionDef, T};
use crate::types::json_piece::Piece;
use crate::types::{ResultLimits, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("jsonb_set", &[T::Jsonb, T::TextArray, T::Jsonb], T::Jsonb, |b| {
        b.map3(|whole, path, value| changed(whole, path, read(value)?, Change::ReplaceOrAdd, b))
    }),
    FunctionDef::new(
        "jsonb_set",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool],
        T::Jsonb,
        |b| {
            b.map4(|whole, path, value, adds| {
                let change = if adds {
                    Change::ReplaceOrAdd
                } else {
                    Change::Replace
                };
                changed(whole, path, read(value)?, change, b)
            })
        },
    )
    .parameters(&[
        ("jsonb_in", None),
        ("path", None),
        ("replacement", None),
        ("create_if_missing", Some("true")),
    ]),
    FunctionDef::new(
        "jsonb_set_lax",
        &[T::Jsonb, T::TextArray, T::Jsonb],
        T::Jsonb,
        set_lax,
    )
    .on_null(),
    FunctionDef::new(
        "jsonb_set_lax",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool],
        T::Jsonb,
        set_lax,
    )
    .on_null(),
    FunctionDef::new(
        "jsonb_set_lax",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool, T::Text],
        T::Jsonb,
        set_lax,
    )
    .on_null()
    .parameters(&[
        ("jsonb_in", None),
        ("path", None),
        ("replacement", None),
        ("create_if_missing", Some("true")),
        ("null_value_treatment", Some("use_json_null")),
    ]),
    FunctionDef::new(
        "jsonb_insert",
        &[T::Jsonb, T::TextArray, T::Jsonb],
        T::Jsonb,
        |b| b.map3(|whole, path, value| changed(whole, path, read(value)?, Change::Before, b)),
    ),
    FunctionDef::new(
        "jsonb_insert",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool],
        T::Jsonb,
        |b| {
            b.map4(|whole, path, value, behind| {
                let change = if behind { Change::After } else { Change::Before };
                changed(whole, path, read(value)?, change, b)
            })
        },
    )
    .parameters(&[
        ("jsonb_in", None),
        ("path", None),
        ("replacement", None),
        ("insert_after", Some("false")),
    ]),
    FunctionDef::new("#-", &[T::Jsonb, T::TextArray], T::Jsonb, |b| {
        b.map2(|whole, path| changed(whole, path, Json::Null, Change::Remove, b))
    }),
    FunctionDef::new("jsonb_pretty", &[T::Jsonb], T::Text, |b| {
        b.map1(|text| pretty(text, b.limits()))
    }),
];

/// What is done at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// In the place of what is there.
    Replace,
    /// Likewise, and where nothing is.
    ReplaceOrAdd,
    /// Before what is there.
    Before,
    /// Behind it.
    After,
    /// It is taken away; there is no value.
    Remove,
}

/// `jsonb_set_lax`: a value that is NULL becomes null, or what the last argument says.
fn set_lax(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    batch.map_values(|values| {
        let [document, path, value, rest @ ..] = values else {
            return Ok(None);
        };
        let (Value::Text(document), Value::Array(path)) = (document, path) else {
            return Ok(None);
        };
        if path.dimensions().len() > 1 {
            return Err(subscript_error("wrong number of array subscripts"));
        }
        let adds = match rest.first() {
            Some(Value::Null) => return Ok(None),
            Some(Value::Bool(adds)) => *adds,
            _ => true,
        };
        let treatment = match rest.get(1) {
            None => "use_json_null",
            Some(Value::Text(treatment)) => treatment,
            Some(_) => return Err(unknown_treatment()),
        };
        let path: Vec<Option<&str>> = path
            .iter()
            .map(|step| match step {
                Value::Text(step) => Some(step.as_str()),
                _ => None,
            })
            .collect();
        let put = if adds { Change::ReplaceOrAdd } else { Change::Replace };
        let (value, change) = match (value, treatment) {
            (Value::Text(value), _) => (read(Piece::new(value))?, put),
            (_, "use_json_null") => (Json::Null, put),
            (_, "delete_key") => (Json::Null, Change::Remove),
            (_, "return_target") => return Ok(Some(document.clone())),
            (_, "raise_exception") => {
                return Err(Error::Advised {
                    error: Box::new(Error::DataException {
                        state: "22004",
                        message: "JSON value must not be null".to_string(),
                    }),
                    hint: "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed."
                        .to_string(),
                });
            }
            _ => return Err(unknown_treatment()),
        };
        changed(Piece::new(document), Texts(path), value, change, batch).map(Some)
    })
}

fn unknown_treatment() -> Error {
    refuse(
        "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"",
    )
}

/// The document with a change at the end of a path.
fn changed(
    whole: Piece,
    Texts(path): Texts<'_>,
    value: Json,
    change: Change,
    batch: &Batch,
) -> Result<String> {
    let mut json = read(whole)?;
    if !json.is_object() && !json.is_array() {
        return Err(refuse(match change {
            Change::Remove => "cannot delete path in scalar",
            _ => "cannot set path in scalar",
        }));
    }
    let is_empty = match &json {
        Json::Object(members) => members.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    // In an empty document nothing is taken away or replaced, whatever the path says.
    if !is_empty || !matches!(change, Change::Remove | Change::Replace) {
        put(&mut json, &path, 1, value, change)?;
    }
    document(&json.to_string(), batch)
}

/// Changes what the path leads to, of which `position` counts the steps; what it does not lead to stays as it is.
/// Errors: 22004 for a NULL that the path leads to.
fn put(
    document: &mut Json,
    path: &[Option<&str>],
    position: usize,
    value: Json,
    change: Change,
) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        return Ok(());
    };
    let step = step.ok_or_else(|| Error::DataException {
        state: "22004",
        message: format!("path element at position {position} is null"),
    })?;
    match document {
        Json::Object(members) => match (members.get_mut(step), rest) {
            (Some(member), [_, ..]) => return put(member, rest, position + 1, value, change),
            (Some(_), []) if matches!(change, Change::Before | Change::After) => {
                return Err(Error::InvalidParameter {
                    message: "cannot replace existing key".to_string(),
                    hint: Some("Try using the function jsonb_set to replace key value.".to_string()),
                });
            }
            (Some(_), []) if change == Change::Remove => drop(members.shift_remove(step)),
            (Some(member), []) => *member = value,
            (None, []) if !matches!(change, Change::Replace | Change::Remove) => {
                members.insert(step.to_string(), value);
            }
            (None, _) => {}
        },
        Json::Array(items) => return put_item(items, (step, rest), position, value, change),
        _ => {}
    }
    Ok(())
}

/// Likewise in an array: behind its end is its end, before its start its start.
fn put_item(
    items: &mut Vec<Json>,
    (step, rest): (&str, &[Option<&str>]),
    position: usize,
    value: Json,
    change: Change,
) -> Result<()> {
    let index: i32 = step.trim().parse().map_err(|_| Error::DataException {
        state: "22P02",
        message: format!("path element at position {position} is not an integer: \"{step}\""),
    })?;
    let at = index_of(index.into(), items.len());
    let found = at.filter(|at| *at < items.len());
    match (found, rest) {
        (Some(found), [_, ..]) => return put(&mut items[found], rest, position + 1, value, change),
        (None, [_, ..]) => {}
        (Some(found), []) => match change {
            Change::Replace | Change::ReplaceOrAdd => items[found] = value,
            Change::Before => items.insert(found, value),
            Change::After => items.insert(found + 1, value),
            Change::Remove => drop(items.remove(found)),
        },
        (None, []) if matches!(change, Change::Replace | Change::Remove) => {}
        (None, []) if at.is_some() => items.push(value),
        (None, []) => items.insert(0, value),
    }
    Ok(())
}

/// The document with each member and item on a line of its own.
fn pretty(text: &str, limits: ResultLimits) -> Result<String> {
    let mut out = LimitedText::new(limits);
    let (mut depth, mut in_string, mut escaped, mut opened) = (0, false, false, false);
    let new_line = |out: &mut LimitedText, depth: usize| {
        out.push("\n")?;
        out.push_blanks(4 * depth)
    };
    // jsonb's text has one blank behind each colon and comma outside strings, and no other.
    for character in text.chars() {
        let closes = !in_string && matches!(character, '}' | ']');
        if closes {
            depth -= 1;
        }
        if closes || opened {
            new_line(&mut out, depth)?;
        }
        opened = !in_string && matches!(character, '{' | '[');
        if opened {
            depth += 1;
        }
        match character {
            ' ' if !in_string && out.ends_with(',') => new_line(&mut out, depth)?,
            _ => out.push(character.encode_utf8(&mut [0; 4]))?,
        }
        in_string ^= character == '"' && !escaped;
        escaped = in_string && character == '\\' && !escaped;
    }
    Ok(out.finish())
}
