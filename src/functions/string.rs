//! Text and bytea: case, length, parts, padding, hashing, quoting.

use std::borrow::Cow;

use md5::{Digest, Md5};
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::argument::Uuid;
use super::cast::{output_text, text_of};
use super::size::{LimitedText, check_length};
use super::text_encoding::{decode, encode, hex};
use super::{Batch, FunctionDef, T, mismatched_types};
use crate::parse::quoting;
use crate::types::letter_case::{lowercase, lowercase_of, uppercase, uppercase_of};
use crate::types::{ResultLimits, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("lower", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| lowercase(text).into_owned())
    })
    .bounded(),
    FunctionDef::new("upper", &[T::Text], T::Text, |b| b.map1(uppercase)).bounded(),
    FunctionDef::new("initcap", &[T::Text], T::Text, |b| b.map1(initcap)).bounded(),
    FunctionDef::new("length", &[T::Text], T::Int4, |b| b.map1(characters)).bounded(),
    FunctionDef::new("length", &[T::Bytea], T::Int4, |b| b.map1(octets)).bounded(),
    FunctionDef::new("char_length", &[T::Text], T::Int4, |b| b.map1(characters)).bounded(),
    FunctionDef::new("character_length", &[T::Text], T::Int4, |b| b.map1(characters)).bounded(),
    FunctionDef::new("octet_length", &[T::Text], T::Int4, |b| {
        b.map1(|text: &str| count(text.len()))
    })
    .bounded(),
    FunctionDef::new("octet_length", &[T::Bytea], T::Int4, |b| b.map1(octets)).bounded(),
    FunctionDef::new("bit_length", &[T::Text], T::Int4, |b| {
        b.map1(|text: &str| count(text.len() * 8))
    })
    .bounded(),
    FunctionDef::new("bit_length", &[T::Bytea], T::Int4, |b| {
        b.map1(|bytes: &[u8]| count(bytes.len() * 8))
    })
    .bounded(),
    FunctionDef::new("substring", &[T::Text, T::Int4], T::Text, |b| b.map2(text_from)).bounded(),
    FunctionDef::new("substring", &[T::Text, T::Int4, T::Int4], T::Text, |b| {
        b.map3(text_part)
    })
    .bounded(),
    FunctionDef::new("substring", &[T::Bytea, T::Int4], T::Bytea, |b| {
        b.map2(bytes_from)
    })
    .bounded(),
    FunctionDef::new("substring", &[T::Bytea, T::Int4, T::Int4], T::Bytea, |b| {
        b.map3(bytes_part)
    })
    .bounded(),
    FunctionDef::new("substr", &[T::Text, T::Int4], T::Text, |b| b.map2(text_from)).bounded(),
    FunctionDef::new("substr", &[T::Text, T::Int4, T::Int4], T::Text, |b| {
        b.map3(text_part)
    })
    .bounded(),
    FunctionDef::new("substr", &[T::Bytea, T::Int4], T::Bytea, |b| b.map2(bytes_from)).bounded(),
    FunctionDef::new("substr", &[T::Bytea, T::Int4, T::Int4], T::Bytea, |b| {
        b.map3(bytes_part)
    })
    .bounded(),
    FunctionDef::new("left", &[T::Text, T::Int4], T::Text, |b| b.map2(left)).bounded(),
    FunctionDef::new("right", &[T::Text, T::Int4], T::Text, |b| b.map2(right)).bounded(),
    FunctionDef::new("btrim", &[T::Text], T::Text, |b| {
        b.map1(|text| trimmed(text, " "))
    })
    .bounded(),
    FunctionDef::new("btrim", &[T::Text, T::Text], T::Text, |b| b.map2(trimmed)).bounded(),
    FunctionDef::new("ltrim", &[T::Text], T::Text, |b| {
        b.map1(|text| trimmed_start(text, " "))
    })
    .bounded(),
    FunctionDef::new("ltrim", &[T::Text, T::Text], T::Text, |b| b.map2(trimmed_start)).bounded(),
    FunctionDef::new("rtrim", &[T::Text], T::Text, |b| {
        b.map1(|text| trimmed_end(text, " "))
    })
    .bounded(),
    FunctionDef::new("rtrim", &[T::Text, T::Text], T::Text, |b| b.map2(trimmed_end)).bounded(),
    FunctionDef::new("trim", &[T::Text], T::Text, |b| b.map1(|text| trimmed(text, " "))).bounded(),
    FunctionDef::new("trim", &[T::Text, T::Text], T::Text, |b| b.map2(trimmed)).bounded(),
    FunctionDef::new("lpad", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(|text, length| padded_before(text, length, " ", b.limits()))
    }),
    FunctionDef::new("lpad", &[T::Text, T::Int4, T::Text], T::Text, |b| {
        b.map3(|text, length, fill| padded_before(text, length, fill, b.limits()))
    }),
    FunctionDef::new("rpad", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(|text, length| padded_behind(text, length, " ", b.limits()))
    }),
    FunctionDef::new("rpad", &[T::Text, T::Int4, T::Text], T::Text, |b| {
        b.map3(|text, length, fill| padded_behind(text, length, fill, b.limits()))
    }),
    FunctionDef::new("repeat", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(|text, times| repeated(text, times, b.limits()))
    }),
    FunctionDef::new("reverse", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| text.chars().rev().collect::<String>())
    }),
    FunctionDef::new("replace", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(|text, from, to| replaced(text, from, to, b.limits()))
    }),
    FunctionDef::new("translate", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(translated)
    }),
    FunctionDef::new("overlay", &[T::Text, T::Text, T::Int4], T::Text, |b| {
        b.map3(|text, part: &str, start| overlaid(text, part, start, characters(part)?))
    }),
    FunctionDef::new("overlay", &[T::Text, T::Text, T::Int4, T::Int4], T::Text, |b| {
        b.map4(overlaid)
    }),
    FunctionDef::new("overlay", &[T::Bytea, T::Bytea, T::Int4], T::Bytea, |b| {
        b.map3(|bytes, part: &[u8], start| overlaid_bytes(bytes, part, start, octets(part)?))
    }),
    FunctionDef::new(
        "overlay",
        &[T::Bytea, T::Bytea, T::Int4, T::Int4],
        T::Bytea,
        |b| b.map4(overlaid_bytes),
    ),
    FunctionDef::new("position", &[T::Text, T::Text], T::Int4, |b| b.map2(position)).bounded(),
    FunctionDef::new("position", &[T::Bytea, T::Bytea], T::Int4, |b| {
        b.map2(byte_position)
    })
    .bounded(),
    FunctionDef::new("strpos", &[T::Text, T::Text], T::Int4, |b| b.map2(position)).bounded(),
    FunctionDef::new("split_part", &[T::Text, T::Text, T::Int4], T::Text, |b| {
        b.map3(split_part)
    })
    .bounded(),
    FunctionDef::new("starts_with", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text: &str, start: &str| text.starts_with(start))
    })
    .bounded(),
    FunctionDef::new("ascii", &[T::Text], T::Int4, |b| b.map1(code_point)),
    FunctionDef::new("chr", &[T::Int4], T::Text, |b| b.map1(character)),
    FunctionDef::new("concat", &[T::Any], T::Text, |b| {
        b.map_values(|values| concatenated("", values, b.arguments, b))
    })
    .bounded()
    .variadic()
    .on_null(),
    FunctionDef::new("concat_ws", &[T::Text, T::Any], T::Text, |b| {
        b.map_values(|values| match values {
            [Value::Text(separator), parts @ ..] => {
                concatenated(separator, parts, &b.arguments[1..], b).map(Some)
            }
            _ => Ok(None),
        })
    })
    .bounded()
    .variadic()
    .on_null(),
    FunctionDef::new("quote_ident", &[T::Text], T::Text, |b| {
        b.map1(quoting::quote_ident)
    }),
    FunctionDef::new("quote_literal", &[T::Text], T::Text, |b| {
        b.map1(quoting::quote_literal)
    }),
    FunctionDef::new("quote_literal", &[T::Any], T::Text, |b| {
        b.map_values(|values| quoting::quote_literal(&text_of(&values[0], &b.arguments[0], b.settings)))
    }),
    FunctionDef::new("quote_nullable", &[T::Any], T::Text, |b| {
        b.map_values(|values| match &values[0] {
            Value::Null => "NULL".to_string(),
            value => quoting::quote_literal(&text_of(value, &b.arguments[0], b.settings)),
        })
    })
    .on_null(),
    FunctionDef::new("quote_nullable", &[T::Text], T::Text, |b| {
        b.map1(|text: Option<&str>| text.map_or_else(|| "NULL".to_string(), quoting::quote_literal))
    })
    .on_null(),
    FunctionDef::new("md5", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| hex(&Md5::digest(text)))
    })
    .bounded(),
    FunctionDef::new("md5", &[T::Bytea], T::Text, |b| {
        b.map1(|bytes: &[u8]| hex(&Md5::digest(bytes)))
    })
    .bounded(),
    FunctionDef::new("sha224", &[T::Bytea], T::Bytea, |b| {
        b.map1(|bytes: &[u8]| Sha224::digest(bytes).to_vec())
    }),
    FunctionDef::new("sha384", &[T::Bytea], T::Bytea, |b| {
        b.map1(|bytes: &[u8]| Sha384::digest(bytes).to_vec())
    }),
    FunctionDef::new("sha512", &[T::Bytea], T::Bytea, |b| {
        b.map1(|bytes: &[u8]| Sha512::digest(bytes).to_vec())
    }),
    FunctionDef::new("sha256", &[T::Bytea], T::Bytea, |b| {
        b.map1(|bytes: &[u8]| Sha256::digest(bytes).to_vec())
    }),
    FunctionDef::new("to_hex", &[T::Int4], T::Text, |b| {
        b.map1(|number: i32| format!("{number:x}"))
    }),
    FunctionDef::new("to_hex", &[T::Int8], T::Text, |b| {
        b.map1(|number: i64| format!("{number:x}"))
    }),
    FunctionDef::new("encode", &[T::Bytea, T::Text], T::Text, |b| b.map2(encode)),
    FunctionDef::new("decode", &[T::Text, T::Text], T::Bytea, |b| b.map2(decode)),
    FunctionDef::new("gen_random_uuid", &[], T::Uuid, |b| b.map0(random_uuid))
        .bounded()
        .volatile(),
];

/// A length as SQL's integer.
pub(super) fn count(length: usize) -> Result<i32> {
    i32::try_from(length).map_err(|_| mismatched_types())
}

fn characters(text: &str) -> Result<i32> {
    count(text.chars().count())
}

fn octets(bytes: &[u8]) -> Result<i32> {
    count(bytes.len())
}

fn initcap(text: &str) -> String {
    let mut inside = false;
    let capitals = text.chars().map(|character| {
        let shown = match inside {
            true => lowercase_of(character),
            false => uppercase_of(character),
        };
        inside = character.is_alphanumeric();
        shown
    });
    capitals.collect()
}

/// Where a part that starts at the `start`th place (from 1) starts and how long it is at most, in places.
fn places(start: i32, length: Option<i32>) -> Result<(usize, usize)> {
    let (start, end) = match length {
        None => (i64::from(start), i64::MAX),
        Some(..0) => {
            return Err(Error::DataException {
                state: "22011",
                message: "negative substring length not allowed".to_string(),
            });
        }
        Some(length) => (i64::from(start), i64::from(start) + i64::from(length)),
    };
    let skip = usize::try_from(start.max(1) - 1).unwrap_or(usize::MAX);
    let take = usize::try_from(end.saturating_sub(start.max(1))).unwrap_or(0);
    Ok((skip, take))
}

/// Where the character after `count` others starts.
fn offset_of(text: &str, count: usize) -> usize {
    match text.is_ascii() {
        true => count.min(text.len()),
        false => text.char_indices().nth(count).map_or(text.len(), |(at, _)| at),
    }
}

fn slice_text(text: &str, (skip, take): (usize, usize)) -> &str {
    let rest = &text[offset_of(text, skip)..];
    &rest[..offset_of(rest, take)]
}

fn slice_bytes(bytes: &[u8], (skip, take): (usize, usize)) -> &[u8] {
    let rest = &bytes[skip.min(bytes.len())..];
    &rest[..take.min(rest.len())]
}

fn text_from(text: &str, start: i32) -> Result<&str> {
    Ok(slice_text(text, places(start, None)?))
}

fn text_part(text: &str, start: i32, length: i32) -> Result<&str> {
    Ok(slice_text(text, places(start, Some(length))?))
}

fn bytes_from(bytes: &[u8], start: i32) -> Result<&[u8]> {
    Ok(slice_bytes(bytes, places(start, None)?))
}

fn bytes_part(bytes: &[u8], start: i32, length: i32) -> Result<&[u8]> {
    Ok(slice_bytes(bytes, places(start, Some(length))?))
}

/// So many characters, or all but so many of the other end for a negative count.
fn first_characters(text: &str, count: i32) -> usize {
    match usize::try_from(count) {
        Ok(count) => offset_of(text, count),
        Err(_) => {
            let all = text.chars().count();
            offset_of(text, all.saturating_sub(count.unsigned_abs() as usize))
        }
    }
}

fn left(text: &str, count: i32) -> &str {
    &text[..first_characters(text, count)]
}

fn right(text: &str, count: i32) -> &str {
    match usize::try_from(count) {
        Ok(count) => {
            let all = text.chars().count();
            &text[offset_of(text, all.saturating_sub(count))..]
        }
        // The least integer has no opposite: PostgreSQL skips as many, which is none.
        Err(_) => &text[offset_of(text, usize::try_from(count.wrapping_neg()).unwrap_or(0))..],
    }
}

/// The place of the first byte of a part, counted from 1; 0 where it does not come.
fn byte_position(bytes: &[u8], part: &[u8]) -> Result<i32> {
    let found = match part {
        [] => Some(0),
        part => bytes.windows(part.len()).position(|window| window == part),
    };
    found.map_or(Ok(0), |at| count(at + 1))
}

fn trimmed<'a>(text: &'a str, characters: &str) -> &'a str {
    trimmed_end(trimmed_start(text, characters), characters)
}

fn trimmed_start<'a>(text: &'a str, characters: &str) -> &'a str {
    text.trim_start_matches(|character| characters.contains(character))
}

fn trimmed_end<'a>(text: &'a str, characters: &str) -> &'a str {
    text.trim_end_matches(|character| characters.contains(character))
}

/// The text, cut to a length in characters, and what it lacks of that length.
fn padding<'a>(text: &'a str, length: i32, fill: &str, limits: ResultLimits) -> Result<(&'a str, String)> {
    let mut length = usize::try_from(length).unwrap_or(0);
    if fill.is_empty() {
        length = length.min(text.chars().count());
    }
    // A character takes four bytes at most.
    check_length(length.saturating_mul(4), limits)?;
    let missing = length.saturating_sub(text.chars().count());
    let text = &text[..offset_of(text, length)];
    Ok((text, fill.chars().cycle().take(missing).collect()))
}

fn padded_before(text: &str, length: i32, fill: &str, limits: ResultLimits) -> Result<String> {
    let (text, padding) = padding(text, length, fill, limits)?;
    Ok(padding + text)
}

fn padded_behind(text: &str, length: i32, fill: &str, limits: ResultLimits) -> Result<String> {
    let (text, padding) = padding(text, length, fill, limits)?;
    Ok(text.to_string() + &padding)
}

fn repeated(text: &str, times: i32, limits: ResultLimits) -> Result<String> {
    let times = usize::try_from(times).unwrap_or(0);
    check_length(text.len().saturating_mul(times), limits)?;
    Ok(text.repeat(times))
}

fn replaced<'a>(text: &'a str, from: &str, to: &str, limits: ResultLimits) -> Result<Cow<'a, str>> {
    match from.is_empty() {
        true => Ok(Cow::Borrowed(text)),
        false => LimitedText::joined(text.split(from), to, limits).map(Cow::Owned),
    }
}

pub(super) fn translated(text: &str, from: &str, to: &str) -> String {
    let translated =
        text.chars().filter_map(
            |character| match from.chars().position(|other| other == character) {
                Some(at) => to.chars().nth(at),
                None => Some(character),
            },
        );
    translated.collect()
}

/// What stands before and behind the part that is laid over: `start` places from 1, so many places of it. Errors: 22011, 22003.
fn overlay_places(start: i32, length: i32) -> Result<(usize, usize)> {
    if start < 1 {
        return Err(Error::DataException {
            state: "22011",
            message: "negative substring length not allowed".to_string(),
        });
    }
    let behind = start
        .checked_add(length)
        .ok_or_else(|| Error::NumericOutOfRange {
            message: "integer out of range".to_string(),
            detail: None,
        })?;
    // Behind a start before the first place is all there is.
    let before = usize::try_from(start - 1).unwrap_or(0);
    Ok((before, usize::try_from(behind.max(1) - 1).unwrap_or(0)))
}

fn overlaid(text: &str, part: &str, start: i32, length: i32) -> Result<String> {
    let (before, behind) = overlay_places(start, length)?;
    Ok([
        &text[..offset_of(text, before)],
        part,
        &text[offset_of(text, behind)..],
    ]
    .concat())
}

fn overlaid_bytes(bytes: &[u8], part: &[u8], start: i32, length: i32) -> Result<Vec<u8>> {
    let (before, behind) = overlay_places(start, length)?;
    let end = bytes.len();
    Ok([&bytes[..before.min(end)], part, &bytes[behind.min(end)..]].concat())
}

pub(super) fn position(text: &str, part: &str) -> Result<i32> {
    match text.find(part) {
        Some(at) => characters(&text[..at]).map(|before| before + 1),
        None => Ok(0),
    }
}

fn split_part<'a>(text: &'a str, separator: &str, field: i32) -> Result<&'a str> {
    let skipped = field.unsigned_abs() as usize;
    let part = match (field, separator) {
        (0, _) => {
            return Err(Error::InvalidParameter {
                message: "field position must not be zero".to_string(),
                hint: None,
            });
        }
        (1 | -1, "") => Some(text),
        (_, "") => None,
        (1.., _) => text.split(separator).nth(skipped - 1),
        // Separators that overlap are found from the start.
        _ => {
            let parts: Vec<&str> = text.split(separator).collect();
            parts
                .len()
                .checked_sub(skipped)
                .and_then(|at| parts.get(at))
                .copied()
        }
    };
    Ok(part.unwrap_or_default())
}

fn code_point(text: &str) -> Result<i32> {
    let first = text.chars().next().map_or(0, u32::from);
    i32::try_from(first).map_err(|_| mismatched_types())
}

fn character(code: i32) -> Result<String> {
    let refuse = |message: String| {
        Err(Error::DataException {
            state: "54000",
            message,
        })
    };
    if code < 0 {
        return Err(Error::InvalidParameter {
            message: "character number must be positive".to_string(),
            hint: None,
        });
    }
    match u32::try_from(code).ok().and_then(char::from_u32) {
        None if code > 0x10_FFFF => refuse(format!("requested character too large for encoding: {code}")),
        Some('\0') => refuse("null character not permitted".to_string()),
        Some(character) => Ok(character.to_string()),
        None => refuse(format!("requested character not valid for encoding: {code}")),
    }
}

/// The values that are not NULL as texts, a separator between them.
fn concatenated(
    separator: &str,
    values: &[Value],
    types: &[crate::types::SqlType],
    batch: &Batch,
) -> Result<String> {
    let present = values
        .iter()
        .zip(types)
        .filter(|(value, _)| **value != Value::Null);
    let parts = present.map(|(value, ty)| output_text(value, ty, batch.settings));
    LimitedText::joined(parts, separator, batch.limits())
}

/// A uuid of version 4.
fn random_uuid() -> Uuid {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    Uuid(bytes)
}
