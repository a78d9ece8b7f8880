//! `UPDATE … SET document['a'][0] = value`: what lacks on the way is made, as PostgreSQL makes it, and gaps in arrays are filled
//! with null. Called for the assignment by `query::array_assignment`.

use serde_json::{Map, Value as Json};

use super::json::document;
use super::{FunctionDef, T};
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // A document, the path in it, the value there; NULL is null.
    FunctionDef::new(
        "jsonb_assign",
        &[T::Jsonb, T::TextArray, T::Jsonb],
        T::Jsonb,
        |b| b.map_values(|arguments| document(&assigned(arguments)?.to_string(), b)),
    )
    .on_null(),
];

/// The most items that one assignment fills an array up with.
const FILLED_MAX: usize = 1 << 20;

fn assigned(arguments: &[Value]) -> Result<Json> {
    let [whole, path, value] = arguments else {
        return Err(super::mismatched_types());
    };
    let Value::Array(path) = path else {
        return Ok(read(whole)?.unwrap_or(Json::Null));
    };
    let path = path.iter().map(|step| match step {
        Value::Text(step) => Ok(step.as_str()),
        _ => Err(Error::DataException {
            state: "22004",
            message: "jsonb subscript in assignment must not be null".to_string(),
        }),
    });
    let path: Vec<&str> = path.collect::<Result<_>>()?;
    let value = read(value)?.unwrap_or(Json::Null);
    match read(whole)? {
        Some(mut json) => {
            put(&mut json, &path, 1, value)?;
            Ok(json)
        }
        None => made(&path, value),
    }
}

fn read(value: &Value) -> Result<Option<Json>> {
    match value {
        Value::Null => Ok(None),
        Value::Text(text) => {
            let json = serde_json::from_str(text);
            json.map(Some).map_err(|error| Error::internal(error.to_string()))
        }
        _ => Err(super::mismatched_types()),
    }
}

/// What holds a value at the end of a path, and nothing else: arrays for numbers, objects for names.
fn made(path: &[&str], value: Json) -> Result<Json> {
    let Some((step, rest)) = path.split_first() else {
        return Ok(value);
    };
    let inner = made(rest, value)?;
    Ok(match step.parse::<usize>() {
        Ok(index) => {
            let mut items = Vec::new();
            fill(&mut items, index)?;
            items.push(inner);
            Json::Array(items)
        }
        Err(_) => Json::Object(Map::from_iter([((*step).to_string(), inner)])),
    })
}

/// Errors: 54000.
fn fill(items: &mut Vec<Json>, length: usize) -> Result<()> {
    if length.saturating_sub(items.len()) > FILLED_MAX {
        return Err(Error::LimitExceeded {
            state: crate::error::Limit::Program,
            message: format!("an assignment fills an array with more than {FILLED_MAX} items"),
            hint: "Assign to a place nearer to its end.".to_string(),
        });
    }
    items.resize(length.max(items.len()), Json::Null);
    Ok(())
}

/// Puts the value at the end of the path, of which `position` counts the steps. Errors: 22023, 22P02.
fn put(json: &mut Json, path: &[&str], position: usize, value: Json) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        *json = value;
        return Ok(());
    };
    match json {
        Json::Object(members) => match members.get_mut(*step) {
            Some(member) => put(member, rest, position + 1, value),
            None => {
                members.insert((*step).to_string(), made(rest, value)?);
                Ok(())
            }
        },
        Json::Array(items) => {
            let index: i32 = step.trim().parse().map_err(|_| Error::DataException {
                state: "22P02",
                message: format!("path element at position {position} is not an integer: \"{step}\""),
            })?;
            let from_end = || items.len().checked_sub(index.unsigned_abs() as usize);
            let at = match index {
                0.. => usize::try_from(index).ok(),
                _ => from_end(),
            };
            let at = at.ok_or_else(|| Error::InvalidParameter {
                message: format!("path element at position {position} is out of range: {index}"),
                hint: None,
            })?;
            match items.get_mut(at) {
                Some(item) => put(item, rest, position + 1, value),
                None => {
                    fill(items, at)?;
                    items.push(made(rest, value)?);
                    Ok(())
                }
            }
        }
        _ => Err(Error::InvalidParameter {
            message: "cannot replace existing key".to_string(),
            hint: None,
        }),
    }
}
