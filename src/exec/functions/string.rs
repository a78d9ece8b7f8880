//! Text and bytea: case, length, parts, padding, encoding, hashing, formatting.

use super::size::{LimitedText, check_length};
use super::text_argument::{bytes, count, integer, shown, text};
use super::text_encoding::{decode, encode, format_text, hex};
use super::{Call, FunctionDef, T, mismatched_types};
use crate::exec::pg_catalog::quoting;
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("lower", &[T::Text], T::Text, |a, _| {
        Ok(Value::Text(text(&a[0])?.chars().map(lowercase_of).collect()))
    })
    .bounded(),
    FunctionDef::row("upper", &[T::Text], T::Text, |a, _| {
        Ok(Value::Text(text(&a[0])?.chars().map(uppercase_of).collect()))
    })
    .bounded(),
    FunctionDef::row("initcap", &[T::Text], T::Text, initcap).bounded(),
    FunctionDef::row("length", &[T::Text], T::Int4, |a, _| {
        count(text(&a[0])?.chars().count())
    })
    .bounded(),
    FunctionDef::row("length", &[T::Bytea], T::Int4, |a, _| count(bytes(&a[0])?.len())).bounded(),
    FunctionDef::row("char_length", &[T::Text], T::Int4, |a, _| {
        count(text(&a[0])?.chars().count())
    })
    .bounded(),
    FunctionDef::row("character_length", &[T::Text], T::Int4, |a, _| {
        count(text(&a[0])?.chars().count())
    })
    .bounded(),
    FunctionDef::row("octet_length", &[T::Text], T::Int4, |a, _| {
        count(text(&a[0])?.len())
    })
    .bounded(),
    FunctionDef::row("octet_length", &[T::Bytea], T::Int4, |a, _| {
        count(bytes(&a[0])?.len())
    })
    .bounded(),
    FunctionDef::row("bit_length", &[T::Text], T::Int4, |a, _| {
        count(text(&a[0])?.len() * 8)
    })
    .bounded(),
    FunctionDef::row("bit_length", &[T::Bytea], T::Int4, |a, _| {
        count(bytes(&a[0])?.len() * 8)
    })
    .bounded(),
    FunctionDef::row("substring", &[T::Text, T::Int4], T::Text, substring).bounded(),
    FunctionDef::row("substring", &[T::Text, T::Int4, T::Int4], T::Text, substring).bounded(),
    FunctionDef::row("substring", &[T::Bytea, T::Int4], T::Bytea, substring).bounded(),
    FunctionDef::row("substring", &[T::Bytea, T::Int4, T::Int4], T::Bytea, substring).bounded(),
    FunctionDef::row("substr", &[T::Text, T::Int4], T::Text, substring).bounded(),
    FunctionDef::row("substr", &[T::Text, T::Int4, T::Int4], T::Text, substring).bounded(),
    FunctionDef::row("substr", &[T::Bytea, T::Int4], T::Bytea, substring).bounded(),
    FunctionDef::row("substr", &[T::Bytea, T::Int4, T::Int4], T::Bytea, substring).bounded(),
    FunctionDef::row("left", &[T::Text, T::Int4], T::Text, left).bounded(),
    FunctionDef::row("right", &[T::Text, T::Int4], T::Text, right).bounded(),
    FunctionDef::row("btrim", &[T::Text], T::Text, |a, _| trim(a, true, true)).bounded(),
    FunctionDef::row("btrim", &[T::Text, T::Text], T::Text, |a, _| trim(a, true, true)).bounded(),
    FunctionDef::row("ltrim", &[T::Text], T::Text, |a, _| trim(a, true, false)).bounded(),
    FunctionDef::row("ltrim", &[T::Text, T::Text], T::Text, |a, _| trim(a, true, false)).bounded(),
    FunctionDef::row("rtrim", &[T::Text], T::Text, |a, _| trim(a, false, true)).bounded(),
    FunctionDef::row("rtrim", &[T::Text, T::Text], T::Text, |a, _| trim(a, false, true)).bounded(),
    FunctionDef::row("trim", &[T::Text], T::Text, |a, _| trim(a, true, true)).bounded(),
    FunctionDef::row("trim", &[T::Text, T::Text], T::Text, |a, _| trim(a, true, true)).bounded(),
    FunctionDef::row("lpad", &[T::Text, T::Int4], T::Text, |a, call| pad(a, true, call)),
    FunctionDef::row("lpad", &[T::Text, T::Int4, T::Text], T::Text, |a, call| {
        pad(a, true, call)
    }),
    FunctionDef::row("rpad", &[T::Text, T::Int4], T::Text, |a, call| {
        pad(a, false, call)
    }),
    FunctionDef::row("rpad", &[T::Text, T::Int4, T::Text], T::Text, |a, call| {
        pad(a, false, call)
    }),
    FunctionDef::row("repeat", &[T::Text, T::Int4], T::Text, repeat),
    FunctionDef::row("reverse", &[T::Text], T::Text, |a, _| {
        Ok(Value::Text(text(&a[0])?.chars().rev().collect()))
    }),
    FunctionDef::row("replace", &[T::Text, T::Text, T::Text], T::Text, |a, call| {
        let (whole, from) = (text(&a[0])?, text(&a[1])?);
        if from.is_empty() {
            return Ok(a[0].clone());
        }
        LimitedText::joined(whole.split(from), text(&a[2])?, call.result_limits()).map(Value::Text)
    }),
    FunctionDef::row("translate", &[T::Text, T::Text, T::Text], T::Text, translate),
    FunctionDef::row("overlay", &[T::Text, T::Text, T::Int4], T::Text, overlay),
    FunctionDef::row("overlay", &[T::Text, T::Text, T::Int4, T::Int4], T::Text, overlay),
    FunctionDef::row("position", &[T::Text, T::Text], T::Int4, position).bounded(),
    FunctionDef::row("strpos", &[T::Text, T::Text], T::Int4, position).bounded(),
    FunctionDef::row("split_part", &[T::Text, T::Text, T::Int4], T::Text, split_part).bounded(),
    FunctionDef::row("starts_with", &[T::Text, T::Text], T::Bool, |a, _| {
        Ok(Value::Bool(text(&a[0])?.starts_with(text(&a[1])?)))
    })
    .bounded(),
    FunctionDef::row("ascii", &[T::Text], T::Int4, |a, _| {
        Ok(Value::Int(
            text(&a[0])?
                .chars()
                .next()
                .map_or(0, |first| i64::from(u32::from(first))),
        ))
    }),
    FunctionDef::row("chr", &[T::Int4], T::Text, chr),
    FunctionDef::row("concat", &[T::Any], T::Text, concat)
        .bounded()
        .variadic()
        .on_null(),
    FunctionDef::row("concat_ws", &[T::Text, T::Any], T::Text, concat_ws)
        .bounded()
        .variadic()
        .on_null(),
    FunctionDef::row("quote_ident", &[T::Text], T::Text, quote_ident),
    FunctionDef::row("quote_literal", &[T::Text], T::Text, |a, _| {
        Ok(Value::Text(quoting::quote_literal(text(&a[0])?)))
    }),
    FunctionDef::row("quote_nullable", &[T::Text], T::Text, |a, _| match &a[0] {
        Value::Null => Ok(Value::Text("NULL".to_string())),
        other => Ok(Value::Text(quoting::quote_literal(text(other)?))),
    })
    .on_null(),
    FunctionDef::row("format", &[T::Text], T::Text, format_text).on_null(),
    FunctionDef::row("format", &[T::Text, T::Any], T::Text, format_text)
        .variadic()
        .on_null(),
    FunctionDef::row("md5", &[T::Text], T::Text, |a, _| {
        Ok(Value::Text(super::digest::md5_hex(text(&a[0])?.as_bytes())))
    })
    .bounded(),
    FunctionDef::row("md5", &[T::Bytea], T::Text, |a, _| {
        Ok(Value::Text(super::digest::md5_hex(bytes(&a[0])?)))
    })
    .bounded(),
    FunctionDef::row("sha256", &[T::Bytea], T::Bytea, |a, _| {
        Ok(Value::Bytes(super::digest::sha256(bytes(&a[0])?).to_vec()))
    }),
    FunctionDef::row("to_hex", &[T::Int4], T::Text, |a, _| {
        Ok(Value::Text(format!("{:x}", narrow_bits(&a[0])?)))
    }),
    FunctionDef::row("to_hex", &[T::Int8], T::Text, |a, _| match a[0] {
        Value::Int(number) => Ok(Value::Text(format!("{number:x}"))),
        _ => Err(mismatched_types()),
    }),
    FunctionDef::row("encode", &[T::Bytea, T::Text], T::Text, encode),
    FunctionDef::row("decode", &[T::Text, T::Text], T::Bytea, decode),
    FunctionDef::row("convert_to", &[T::Text, T::Text], T::Bytea, |a, _| {
        Ok(Value::Bytes(text(&a[0])?.as_bytes().to_vec()))
    }),
    FunctionDef::row(
        "convert_from",
        &[T::Bytea, T::Text],
        T::Text,
        |a, _| match String::from_utf8(bytes(&a[0])?.to_vec()) {
            Ok(text) => Ok(Value::Text(text)),
            Err(_) => Err(Error::InvalidUtf8 {
                bytes: "0x".to_string() + &hex(bytes(&a[0])?),
            }),
        },
    ),
    FunctionDef::row("gen_random_uuid", &[], T::Uuid, |_, _| {
        let mut bytes: [u8; 16] = rand::random();
        bytes[6] = (bytes[6] & 0x0F) | 0x40;
        bytes[8] = (bytes[8] & 0x3F) | 0x80;
        Ok(Value::Uuid(bytes))
    })
    .bounded()
    .volatile(),
];

fn narrow_bits(value: &Value) -> Result<i32> {
    i32::try_from(integer(value)?).map_err(|_| mismatched_types())
}

/// A character in upper case; one that has no single such character stays, as in PostgreSQL.
fn uppercase_of(character: char) -> char {
    let mut mapped = character.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

/// See [`uppercase_of`].
fn lowercase_of(character: char) -> char {
    let mut mapped = character.to_lowercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => character,
    }
}

fn initcap(arguments: &[Value], _: &Call) -> Result<Value> {
    let mut out = String::new();
    let mut inside = false;
    for character in text(&arguments[0])?.chars() {
        if inside {
            out.push(lowercase_of(character));
        } else {
            out.push(uppercase_of(character));
        }
        inside = character.is_alphanumeric();
    }
    Ok(Value::Text(out))
}

fn substring(arguments: &[Value], _: &Call) -> Result<Value> {
    let start = integer(&arguments[1])?;
    let end = match arguments.get(2) {
        None => i64::MAX,
        Some(length) => {
            let length = integer(length)?;
            if length < 0 {
                return Err(Error::DataException {
                    state: "22011",
                    message: "negative substring length not allowed".to_string(),
                });
            }
            start.saturating_add(length)
        }
    };
    let skip = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(end.saturating_sub(start.max(1)).max(0)).unwrap_or(usize::MAX);
    match &arguments[0] {
        Value::Bytes(bytes) => Ok(Value::Bytes(
            bytes.iter().skip(skip).take(take).copied().collect(),
        )),
        other => Ok(Value::Text(text(other)?.chars().skip(skip).take(take).collect())),
    }
}

fn left(arguments: &[Value], _: &Call) -> Result<Value> {
    let (text, count) = (text(&arguments[0])?, integer(&arguments[1])?);
    let take = match usize::try_from(count) {
        Ok(take) => take,
        Err(_) => text
            .chars()
            .count()
            .saturating_sub(usize::try_from(-count).unwrap_or(usize::MAX)),
    };
    Ok(Value::Text(text.chars().take(take).collect()))
}

fn right(arguments: &[Value], _: &Call) -> Result<Value> {
    let (text, count) = (text(&arguments[0])?, integer(&arguments[1])?);
    let length = text.chars().count();
    let skip = match usize::try_from(count) {
        Ok(take) => length.saturating_sub(take),
        Err(_) => usize::try_from(-count).unwrap_or(usize::MAX),
    };
    Ok(Value::Text(text.chars().skip(skip).collect()))
}

fn trim(arguments: &[Value], start: bool, end: bool) -> Result<Value> {
    let characters: Vec<char> = match arguments.get(1) {
        Some(characters) => text(characters)?.chars().collect(),
        None => vec![' '],
    };
    let mut trimmed = text(&arguments[0])?;
    if start {
        trimmed = trimmed.trim_start_matches(characters.as_slice());
    }
    if end {
        trimmed = trimmed.trim_end_matches(characters.as_slice());
    }
    Ok(Value::Text(trimmed.to_string()))
}

fn pad(arguments: &[Value], before: bool, call: &Call) -> Result<Value> {
    let (given, length) = (
        text(&arguments[0])?,
        usize::try_from(integer(&arguments[1])?).unwrap_or(0),
    );
    // A character takes four bytes at most.
    check_length(length.saturating_mul(4), call.result_limits())?;
    let fill: Vec<char> = match arguments.get(2) {
        Some(fill) => text(fill)?.chars().collect(),
        None => vec![' '],
    };
    let present = given.chars().count();
    if present >= length || fill.is_empty() {
        return Ok(Value::Text(given.chars().take(length).collect()));
    }
    let padding: String = fill.iter().cycle().take(length - present).collect();
    Ok(Value::Text(if before {
        padding + given
    } else {
        given.to_string() + &padding
    }))
}

fn repeat(arguments: &[Value], call: &Call) -> Result<Value> {
    let (text, times) = (
        text(&arguments[0])?,
        usize::try_from(integer(&arguments[1])?).unwrap_or(0),
    );
    check_length(text.len().saturating_mul(times), call.result_limits())?;
    Ok(Value::Text(text.repeat(times)))
}

fn translate(arguments: &[Value], _: &Call) -> Result<Value> {
    let from: Vec<char> = text(&arguments[1])?.chars().collect();
    let to: Vec<char> = text(&arguments[2])?.chars().collect();
    let translated = text(&arguments[0])?.chars().filter_map(|character| {
        match from.iter().position(|other| *other == character) {
            Some(at) => to.get(at).copied(),
            None => Some(character),
        }
    });
    Ok(Value::Text(translated.collect()))
}

fn overlay(arguments: &[Value], _: &Call) -> Result<Value> {
    let (whole, part) = (text(&arguments[0])?, text(&arguments[1])?);
    let start = integer(&arguments[2])?;
    if start < 1 {
        return Err(Error::DataException {
            state: "22011",
            message: "negative substring length not allowed".to_string(),
        });
    }
    let length = match arguments.get(3) {
        Some(length) => integer(length)?,
        None => i64::try_from(part.chars().count()).unwrap_or(i64::MAX),
    };
    let skip = usize::try_from(start - 1).unwrap_or(usize::MAX);
    let after = usize::try_from((start - 1).saturating_add(length).max(0)).unwrap_or(usize::MAX);
    let head: String = whole.chars().take(skip).collect();
    let tail: String = whole.chars().skip(after).collect();
    Ok(Value::Text(head + part + &tail))
}

fn position(arguments: &[Value], _: &Call) -> Result<Value> {
    let (whole, part) = (text(&arguments[0])?, text(&arguments[1])?);
    match whole.find(part) {
        Some(at) => count(whole[..at].chars().count() + 1),
        None => Ok(Value::Int(0)),
    }
}

fn split_part(arguments: &[Value], _: &Call) -> Result<Value> {
    let (whole, separator, field) = (
        text(&arguments[0])?,
        text(&arguments[1])?,
        integer(&arguments[2])?,
    );
    if field == 0 {
        return Err(Error::InvalidParameter {
            message: "field position must not be zero".to_string(),
            hint: None,
        });
    }
    let parts: Vec<&str> = if separator.is_empty() {
        vec![whole]
    } else {
        whole.split(separator).collect()
    };
    let at = match usize::try_from(field) {
        Ok(field) => Some(field - 1),
        Err(_) => parts
            .len()
            .checked_sub(usize::try_from(-field).unwrap_or(usize::MAX)),
    };
    Ok(Value::Text(
        at.and_then(|at| parts.get(at))
            .copied()
            .unwrap_or_default()
            .to_string(),
    ))
}

fn chr(arguments: &[Value], _: &Call) -> Result<Value> {
    let refuse = |message: String| {
        Err(Error::DataException {
            state: "54000",
            message,
        })
    };
    let number = integer(&arguments[0])?;
    match u32::try_from(number).ok().and_then(char::from_u32) {
        Some('\0') => refuse("null character not permitted".to_string()),
        Some(character) => Ok(Value::Text(character.to_string())),
        None => refuse(format!("requested character not valid for encoding: {number}")),
    }
}

fn concat(arguments: &[Value], call: &Call) -> Result<Value> {
    let parts = arguments
        .iter()
        .zip(call.arguments)
        .filter(|(value, _)| **value != Value::Null);
    let parts = parts.map(|(value, ty)| shown(value, ty, call));
    LimitedText::joined(parts, "", call.result_limits()).map(Value::Text)
}

fn concat_ws(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Text(separator) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let parts = arguments[1..]
        .iter()
        .zip(&call.arguments[1..])
        .filter(|(value, _)| **value != Value::Null)
        .map(|(value, ty)| shown(value, ty, call));
    LimitedText::joined(parts, separator, call.result_limits()).map(Value::Text)
}

fn quote_ident(arguments: &[Value], _: &Call) -> Result<Value> {
    Ok(Value::Text(quoting::quote_ident(text(&arguments[0])?)))
}
