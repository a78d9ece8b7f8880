//! Functions and operators of bit strings, which come as their text: a `0` or `1` a bit (`types::bits`).

use super::{Batch, FunctionDef, T};
use crate::types::Value;
use crate::{Error, Result};

const B: T = T::Bit;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("&", &[B, B], B, |b| {
        b.map2(|x, y| both("AND", x, y, |x, y| x & y))
    })
    .bounded(),
    FunctionDef::new("|", &[B, B], B, |b| b.map2(|x, y| both("OR", x, y, |x, y| x | y))).bounded(),
    FunctionDef::new("#", &[B, B], B, |b| {
        b.map2(|x, y| both("XOR", x, y, |x, y| x ^ y))
    })
    .bounded(),
    FunctionDef::new("~", &[B], B, |b| {
        b.map1(|bits: &str| bits.bytes().map(|bit| digit(bit == b'0')).collect::<String>())
    })
    .bounded(),
    FunctionDef::new("<<", &[B, T::Int4], B, |b| {
        b.map2(|bits: &str, by: i32| shifted(bits, i64::from(by)))
    })
    .bounded(),
    FunctionDef::new(">>", &[B, T::Int4], B, |b| {
        b.map2(|bits: &str, by: i32| shifted(bits, -i64::from(by)))
    })
    .bounded(),
    FunctionDef::new("||", &[T::VarBit, T::VarBit], T::VarBit, |b| {
        b.map2(|left: &str, right: &str| [left, right].concat())
    }),
    FunctionDef::new("length", &[B], T::Int4, |b| b.map1(count)).bounded(),
    FunctionDef::new("bit_length", &[B], T::Int4, |b| b.map1(count)).bounded(),
    FunctionDef::new("octet_length", &[B], T::Int4, |b| {
        b.map1(|bits: &str| count_of(bits.len().div_ceil(8)))
    })
    .bounded(),
    FunctionDef::new("bit_count", &[B], T::Int8, |b| {
        b.map1(|bits: &str| i64::from(count_of(bits.bytes().filter(|bit| *bit == b'1').count())))
    })
    .bounded(),
    FunctionDef::new("get_bit", &[B, T::Int4], T::Int4, |b| b.map2(bit)).bounded(),
    FunctionDef::new("set_bit", &[B, T::Int4, T::Int4], B, |b| b.map3(with_bit)).bounded(),
    FunctionDef::new("position", &[B, B], T::Int4, |b| b.map2(position)).bounded(),
    FunctionDef::new("substring", &[B, T::Int4], B, |b| {
        b.map2(|bits, from| part(bits, from, None))
    })
    .bounded(),
    FunctionDef::new("substring", &[B, T::Int4, T::Int4], B, |b| {
        b.map3(|bits, from, length| part(bits, from, Some(length)))
    })
    .bounded(),
    FunctionDef::new("overlay", &[B, B, T::Int4], B, |b| {
        b.map3(|bits, new: &str, from| overlaid(bits, new, from, count(new)))
    }),
    FunctionDef::new("overlay", &[B, B, T::Int4, T::Int4], B, |b| {
        b.map_values(|values| match values {
            [
                Value::Text(bits),
                Value::Text(new),
                Value::Int(from),
                Value::Int(length),
            ] => {
                let [from, length] = [from, length].map(|number| i32::try_from(*number).unwrap_or(i32::MAX));
                overlaid(bits, new, from, length).map(Value::Text)
            }
            _ => Err(super::mismatched_types()),
        })
    }),
    // What bit_and, bit_or and bit_xor make of what they have gathered.
    FunctionDef::new("bit_list_and", &[T::AnyArray], T::AnyElement, |b| {
        list(b, "AND", |x, y| x & y)
    }),
    FunctionDef::new("bit_list_or", &[T::AnyArray], T::AnyElement, |b| {
        list(b, "OR", |x, y| x | y)
    }),
    FunctionDef::new("bit_list_xor", &[T::AnyArray], T::AnyElement, |b| {
        list(b, "XOR", |x, y| x ^ y)
    }),
];

fn digit(is_set: bool) -> char {
    if is_set { '1' } else { '0' }
}

fn count_of(bits: usize) -> i32 {
    i32::try_from(bits).unwrap_or(i32::MAX)
}

fn count(bits: &str) -> i32 {
    count_of(bits.len())
}

/// Bit by bit. Errors: 22026 for strings of different lengths.
fn both(name: &str, left: &str, right: &str, of: fn(bool, bool) -> bool) -> Result<String> {
    if left.len() != right.len() {
        return Err(Error::DataException {
            state: "22026",
            message: format!("cannot {name} bit strings of different sizes"),
        });
    }
    let pairs = left.bytes().zip(right.bytes());
    Ok(pairs.map(|(x, y)| digit(of(x == b'1', y == b'1'))).collect())
}

/// To the left by so many places, to the right by fewer than none; the length stays.
fn shifted(bits: &str, by: i64) -> String {
    let places = usize::try_from(by.unsigned_abs())
        .unwrap_or(usize::MAX)
        .min(bits.len());
    let zeros = "0".repeat(places);
    match by >= 0 {
        true => [&bits[places..], &zeros].concat(),
        false => [&zeros, &bits[..bits.len() - places]].concat(),
    }
}

/// Errors: 2202E.
fn place_of(bits: &str, index: i32) -> Result<usize> {
    let at = usize::try_from(index).ok().filter(|at| *at < bits.len());
    at.ok_or_else(|| Error::DataException {
        state: "2202E",
        message: format!("bit index {index} out of valid range (0..{})", count(bits) - 1),
    })
}

fn bit(bits: &str, index: i32) -> Result<i32> {
    Ok(i32::from(bits.as_bytes()[place_of(bits, index)?] == b'1'))
}

fn with_bit(bits: &str, index: i32, new: i32) -> Result<String> {
    let at = place_of(bits, index)?;
    if !matches!(new, 0 | 1) {
        return Err(Error::InvalidParameter {
            message: "new bit must be 0 or 1".to_string(),
            hint: None,
        });
    }
    let mut changed = bits.to_string();
    changed.replace_range(at..=at, if new == 1 { "1" } else { "0" });
    Ok(changed)
}

/// The place, from 1 on, where a part of the bits begins; 0: it is none, or there are no bits.
fn position(bits: &str, wanted: &str) -> i32 {
    match bits.find(wanted) {
        Some(at) if !bits.is_empty() => count_of(at).saturating_add(1),
        _ => 0,
    }
}

/// The bits from a place on, from 1 up, so many or all. Errors: 22011.
fn part(bits: &str, from: i32, length: Option<i32>) -> Result<String> {
    let from = i64::from(from);
    let end = match length.map(i64::from) {
        Some(length) if length < 0 => {
            return Err(Error::DataException {
                state: "22011",
                message: "negative substring length not allowed".to_string(),
            });
        }
        Some(length) => from + length,
        None => i64::MAX,
    };
    let place = |at: i64| {
        usize::try_from((at - 1).max(0))
            .unwrap_or(usize::MAX)
            .min(bits.len())
    };
    let (start, end) = (place(from), place(end));
    Ok(bits.get(start..end).unwrap_or_default().to_string())
}

/// The bits with others in the place of so many, from a place on. Errors: 22011, 22003.
fn overlaid(bits: &str, new: &str, from: i32, length: i32) -> Result<String> {
    if from <= 0 {
        return Err(Error::DataException {
            state: "22011",
            message: "negative substring length not allowed".to_string(),
        });
    }
    let behind = from.checked_add(length).ok_or_else(|| Error::NumericOutOfRange {
        message: "integer out of range".to_string(),
        detail: None,
    })?;
    Ok([&part(bits, 1, Some(from - 1))?, new, &part(bits, behind, None)?].concat())
}

/// All bit strings of an array together; NULL for none.
fn list(batch: &Batch, name: &'static str, of: fn(bool, bool) -> bool) -> Result<arrow::array::ArrayRef> {
    batch.map_values(|values| {
        let [Value::Array(items)] = values else {
            return Err(super::mismatched_types());
        };
        let mut all: Option<String> = None;
        for item in items {
            if let Value::Text(bits) = item {
                all = Some(match all {
                    Some(known) => both(name, &known, bits, of)?,
                    None => bits.clone(),
                });
            }
        }
        Ok(all.map_or(Value::Null, Value::Text))
    })
}
