//! Key fields of values that are made of others: documents, arrays, ranges, rows. The bytes compare as PostgreSQL compares the
//! values, and equal values have the same: of `{1.0}` and `{1.00}` it is not told which one it was, so that the value itself stands
//! under the key. Fields hold them escaped; comparisons take them as they are ([`sort_key`]).
//!
//! ```text
//! jsonb       see types::json_key
//! array       the field of each element, NULL behind all others; 00; of arrays of arrays, the length of each dimension, u32 BE
//! range       00 empty; or 01, the lower bound, the upper bound
//!   lower     00 none; or 01, its field, 00 in the range or 01 not
//!   upper     02 none; or 01, its field, 00 not in the range or 01 in it
//! multirange  each range; 00 … but an empty range is in none
//! row         the field of each column, NULL behind all others
//! ```
//!
//! Each is of one piece: none is a beginning of another one of its type, since no field begins with 00 and the others say how long they are.

use super::{KeyField, decode_value, encode_value};
use crate::types::text_search::{TsQuery, TsVector};
use crate::types::{MultirangeValue, RangeBound, RangeKind, RangeValue, SqlType, Value, json_key};

/// Ends the elements of an array and the ranges of a multirange; below the first byte of either.
const END: u8 = 0;

/// The bytes that a value of a nested type compares by with others of the type.
pub fn sort_key(value: &Value, ty: &SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, value, ty);
    out
}

/// A value of the type whose bytes these are; of equal ones the plainest. `None`: they are those of none.
pub fn value_of(bytes: &[u8], ty: &SqlType) -> Option<Value> {
    let mut rest = bytes;
    let value = match ty {
        SqlType::Jsonb => return json_key::document(bytes).map(Value::Text),
        SqlType::Array(_) => take_array(&mut rest, ty)?,
        SqlType::Range(kind) => Value::Range(take_range(&mut rest, *kind)?),
        SqlType::Multirange(kind) => {
            let mut ranges = Vec::new();
            while *rest.first()? != END {
                ranges.push(take_range(&mut rest, *kind)?);
            }
            rest = &rest[1..];
            Value::Multirange(MultirangeValue { kind: *kind, ranges })
        }
        SqlType::Record(row) => {
            let values = row.fields.iter().map(|field| take_field(&mut rest, &field.ty));
            Value::Record(values.collect::<Option<_>>()?)
        }
        _ => return None,
    };
    rest.is_empty().then_some(value)
}

/// Appends the bytes of a value that is not NULL.
pub(super) fn put(out: &mut Vec<u8>, value: &Value, ty: &SqlType) {
    match (value, ty) {
        (Value::Array(_), _) => {
            put_elements(out, value, &ascending(leaf_of(ty)));
            out.push(END);
            if ty.dimensions() > 1 {
                put_dimensions(out, value, ty.dimensions());
            }
        }
        (Value::Range(range), _) => put_range(out, range),
        (Value::Multirange(multirange), _) => {
            multirange.ranges.iter().for_each(|range| put_range(out, range));
            out.push(END);
        }
        (Value::Record(values), SqlType::Record(row)) => {
            for (value, field) in values.iter().zip(&row.fields) {
                encode_value(out, value, &ascending(&field.ty));
            }
        }
        (Value::Text(document), SqlType::Jsonb) => json_key::put_key(out, document),
        (Value::Text(vector), SqlType::TsVector) => {
            out.extend(
                TsVector::parse(vector)
                    .map(|vector| vector.order_key())
                    .unwrap_or_default(),
            );
        }
        (Value::Text(query), SqlType::TsQuery) => {
            out.extend(
                TsQuery::parse(query)
                    .map(|query| query.order_key())
                    .unwrap_or_default(),
            );
        }
        (value, ty) => unreachable!("{value:?} is no value of the nested type {ty}"),
    }
}

fn ascending(ty: &SqlType) -> KeyField {
    KeyField::ascending(ty.clone())
}

/// What stands in an array, or a vector, when all its dimensions are gone through.
fn leaf_of(ty: &SqlType) -> &SqlType {
    match ty.item_type() {
        Some(item) => leaf_of(item),
        None => ty,
    }
}

/// The elements of all dimensions, those of the last one next to each other.
fn put_elements(out: &mut Vec<u8>, value: &Value, leaf: &KeyField) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| put_elements(out, item, leaf)),
        value => encode_value(out, value, leaf),
    }
}

/// How long each dimension is. Arrays are as long in each place.
fn put_dimensions(out: &mut Vec<u8>, value: &Value, dimensions: usize) {
    let mut inside = Some(value);
    for _ in 0..dimensions {
        let items: &[Value] = match inside {
            Some(Value::Array(items)) => items,
            _ => &[],
        };
        out.extend_from_slice(&(items.len() as u32).to_be_bytes());
        inside = items.first();
    }
}

fn put_range(out: &mut Vec<u8>, range: &RangeValue) {
    let Some((lower, upper)) = range.bounds.as_deref() else {
        return out.push(0);
    };
    out.push(1);
    put_bound(out, lower, range.kind, 0, !lower.inclusive);
    put_bound(out, upper, range.kind, 2, upper.inclusive);
}

/// A bound; `none` stands for none, and `is_beyond` tells whether it comes behind one of the same value that is not so.
fn put_bound(out: &mut Vec<u8>, bound: &RangeBound, kind: RangeKind, none: u8, is_beyond: bool) {
    match &bound.value {
        None => out.push(none),
        Some(value) => {
            out.push(1);
            encode_value(out, value, &ascending(&kind.bound_type()));
            out.push(u8::from(is_beyond));
        }
    }
}

fn take_field(rest: &mut &[u8], ty: &SqlType) -> Option<Value> {
    let (value, length) = decode_value(rest, &ascending(ty)).ok()?;
    *rest = rest.get(length..)?;
    Some(value)
}

fn take_array(rest: &mut &[u8], ty: &SqlType) -> Option<Value> {
    let leaf = leaf_of(ty);
    let mut leaves = Vec::new();
    while *rest.first()? != END {
        leaves.push(take_field(rest, leaf)?);
    }
    *rest = &rest[1..];
    if ty.dimensions() == 1 {
        return Some(Value::Array(leaves));
    }
    let mut lengths = Vec::with_capacity(ty.dimensions());
    for _ in 0..ty.dimensions() {
        let (length, after) = rest.split_first_chunk::<4>()?;
        lengths.push(u32::from_be_bytes(*length) as usize);
        *rest = after;
    }
    let is_whole = lengths
        .iter()
        .try_fold(1_usize, |all, length| all.checked_mul(*length))
        == Some(leaves.len());
    is_whole.then(|| in_dimensions(leaves, &lengths[1..]))
}

/// The leaves as arrays of these lengths within one another, all within one array.
fn in_dimensions(leaves: Vec<Value>, lengths: &[usize]) -> Value {
    let mut items = leaves;
    for length in lengths.iter().rev() {
        items = items
            .chunks((*length).max(1))
            .map(|chunk| Value::Array(chunk.to_vec()))
            .collect();
    }
    Value::Array(items)
}

fn take_range(rest: &mut &[u8], kind: RangeKind) -> Option<RangeValue> {
    let (head, after) = rest.split_first()?;
    *rest = after;
    let bounds = match head {
        0 => None,
        1 => {
            let (lower, is_behind) = take_bound(rest, kind, 0)?;
            let (upper, is_in) = take_bound(rest, kind, 2)?;
            let bound = |value: Option<Value>, inclusive: bool| RangeBound {
                inclusive: inclusive && value.is_some(),
                value,
            };
            Some(Box::new((bound(lower, !is_behind), bound(upper, is_in))))
        }
        _ => return None,
    };
    Some(RangeValue { kind, bounds })
}

/// The value of a bound, and whether it comes behind one of the same value that does not.
fn take_bound(rest: &mut &[u8], kind: RangeKind, none: u8) -> Option<(Option<Value>, bool)> {
    let (head, after) = rest.split_first()?;
    *rest = after;
    match *head {
        1 => {
            let value = take_field(rest, &kind.bound_type())?;
            let (is_beyond, after) = rest.split_first()?;
            *rest = after;
            Some((Some(value), *is_beyond == 1))
        }
        head => (head == none).then_some((None, false)),
    }
}
