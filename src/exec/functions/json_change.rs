//! jsonb with something put at a path (`jsonb_set`, `jsonb_insert`), and jsonb over many lines (`jsonb_pretty`).

use serde_json::Value as Json;

use super::json::{index_of, read, text, write};
use super::size::LimitedText;
use super::{Call, FunctionDef, T};
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("jsonb_set", &[T::Jsonb, T::TextArray, T::Jsonb], T::Jsonb, set),
    FunctionDef::row(
        "jsonb_set",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool],
        T::Jsonb,
        set,
    ),
    FunctionDef::row(
        "jsonb_insert",
        &[T::Jsonb, T::TextArray, T::Jsonb],
        T::Jsonb,
        insert,
    ),
    FunctionDef::row(
        "jsonb_insert",
        &[T::Jsonb, T::TextArray, T::Jsonb, T::Bool],
        T::Jsonb,
        insert,
    ),
    FunctionDef::row("jsonb_pretty", &[T::Jsonb], T::Text, pretty),
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
}

/// `jsonb_set(document, path, value [, add])`.
fn set(arguments: &[Value], call: &Call) -> Result<Value> {
    match arguments.get(3) {
        Some(Value::Bool(false)) => change(arguments, Change::Replace, call),
        _ => change(arguments, Change::ReplaceOrAdd, call),
    }
}

/// `jsonb_insert(document, path, value [, after])`.
fn insert(arguments: &[Value], call: &Call) -> Result<Value> {
    match arguments.get(3) {
        Some(Value::Bool(true)) => change(arguments, Change::After, call),
        _ => change(arguments, Change::Before, call),
    }
}

fn change(arguments: &[Value], change: Change, call: &Call) -> Result<Value> {
    let mut document = read(&arguments[0])?;
    if !document.is_object() && !document.is_array() {
        return Err(Error::InvalidParameter {
            message: "cannot set path in scalar".to_string(),
            hint: None,
        });
    }
    let Value::Array(steps) = &arguments[1] else {
        return Err(Error::internal("a path that is no array"));
    };
    let mut path = Vec::with_capacity(steps.len());
    for (at, step) in (1..).zip(steps) {
        if *step == Value::Null {
            return Err(Error::DataException {
                state: "22004",
                message: format!("path element at position {at} is null"),
            });
        }
        path.push(text(step)?);
    }
    put(&mut document, &path, 1, read(&arguments[2])?, change)?;
    write(&document, call)
}

/// Changes what the path leads to, of which `position` counts the steps; what it does not lead to stays as it is.
fn put(document: &mut Json, path: &[&str], position: usize, value: Json, change: Change) -> Result<()> {
    let Some((step, rest)) = path.split_first() else {
        return Ok(());
    };
    match document {
        Json::Object(members) => match (members.get_mut(*step), rest) {
            (Some(member), [_, ..]) => return put(member, rest, position + 1, value, change),
            (Some(_), []) if matches!(change, Change::Before | Change::After) => {
                return Err(Error::InvalidParameter {
                    message: "cannot replace existing key".to_string(),
                    hint: Some("Try using the function jsonb_set to replace key value.".to_string()),
                });
            }
            (Some(member), []) => *member = value,
            (None, []) if change != Change::Replace => drop(members.insert(step.to_string(), value)),
            (None, _) => {}
        },
        Json::Array(items) => return put_item(items, path, position, value, change),
        _ => {}
    }
    Ok(())
}

/// Likewise in an array: behind its end is its end, before its start its start.
fn put_item(
    items: &mut Vec<Json>,
    path: &[&str],
    position: usize,
    value: Json,
    change: Change,
) -> Result<()> {
    let (step, rest) = (path[0], &path[1..]);
    if step.trim().parse::<i32>().is_err() {
        return Err(Error::DataException {
            state: "22P02",
            message: format!("path element at position {position} is not an integer: \"{step}\""),
        });
    }
    let at = index_of(step, items.len());
    let found = at.filter(|at| *at < items.len());
    match (found, rest) {
        (Some(found), [_, ..]) => return put(&mut items[found], rest, position + 1, value, change),
        (None, [_, ..]) => {}
        (Some(found), []) => match change {
            Change::Replace | Change::ReplaceOrAdd => items[found] = value,
            Change::Before => items.insert(found, value),
            Change::After => items.insert(found + 1, value),
        },
        (None, []) if change == Change::Replace => {}
        (None, []) if at.is_some() => items.push(value),
        (None, []) => items.insert(0, value),
    }
    Ok(())
}

/// The document with each member and item on a line of its own.
fn pretty(arguments: &[Value], call: &Call) -> Result<Value> {
    let mut out = LimitedText::new(call.result_limits());
    let (mut depth, mut in_string, mut escaped, mut opened) = (0, false, false, false);
    let new_line = |out: &mut LimitedText, depth: usize| {
        out.push("\n")?;
        out.push_blanks(4 * depth)
    };
    // jsonb's text has one blank behind each colon and comma outside strings, and no other.
    for character in text(&arguments[0])?.chars() {
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
    Ok(Value::Text(out.finish()))
}
