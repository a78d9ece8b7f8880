//! Key fields of values that are made of others: documents, arrays, ranges, rows. The bytes compare as PostgreSQL compares the
//! values, and equal values have the same: of `{1.0}` and `{1.00}` it is not told which one it was, so that the value itself stands
//! under the key. Fields hold them escaped; comparisons take them as they are ([`sort_key`]).
//!
//! ```text
//! jsonb       see types::json_key
//! array       the field of each element, NULL behind all others; then its shape
//!   shape     00, of an array that counts from 1 in the dimensions that its column was declared with: of several, the length of each,
//!             u32 BE; or 01, the number of dimensions (a byte), their lengths, u32 BE, and their first subscripts, i32 BE plus 2^31
//! range       00 empty; or 01, the lower bound, the upper bound
//!   lower     00 none; or 01, its field, 00 in the range or 01 not
//!   upper     02 none; or 01, its field, 00 not in the range or 01 in it
//! multirange  each range; 00 … but an empty range is in none
//! row         the field of each column, NULL behind all others
//! ```
//!
//! What is compared and not stored is written as of a column that was declared with one dimension. One order differs from PostgreSQL's: of
//! arrays with the same elements, those of the declared dimensions that count from 1 come before all others, also before those of fewer
//! dimensions or that count from less.
//!
//! Each is of one piece: none is a beginning of another one of its type, since no field begins with 00 and the others say how long they are.

use super::{KeyField, decode_value, encode_value};
use crate::types::text_search::{TsQuery, TsVector};
use crate::types::{
    ArrayValue, Dimension, MultirangeValue, RangeBound, RangeKind, RangeValue, SqlType, Value, element_count,
    element_type, json_key,
};

/// Ends the elements of an array and the ranges of a multirange; below the first byte of either.
const END: u8 = 0;
/// Ends the elements of an array behind which its own shape stands.
const SHAPED: u8 = 1;
/// What a first subscript is written plus, so that it is no less than 0.
const SIGN: u32 = 1 << 31;

/// The bytes that a value of a nested type compares by with others of the type.
pub fn sort_key(value: &Value, ty: &SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        Value::Array(array) => put_array(&mut out, array, ty, 1),
        value => put(&mut out, value, ty),
    }
    out
}

/// A value of the type of which [`sort_key`] gives these bytes; of equal ones the plainest. `None`: they are those of none.
pub fn value_of_sort_key(bytes: &[u8], ty: &SqlType) -> Option<Value> {
    read(bytes, ty, 1)
}

/// A value of the type whose bytes these are in a key; of equal ones the plainest. `None`: they are those of none.
pub(super) fn value_of(bytes: &[u8], ty: &SqlType) -> Option<Value> {
    read(bytes, ty, ty.declared_dimensions())
}

/// `declared`: the dimensions of an array that stand behind its elements without more.
fn read(bytes: &[u8], ty: &SqlType, declared: usize) -> Option<Value> {
    let mut rest = bytes;
    let value = match ty {
        SqlType::Jsonb => return json_key::document(bytes).map(Value::Text),
        SqlType::Array(item) => Value::Array(take_array(&mut rest, item, declared)?),
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
        (Value::Array(array), ty) => put_array(out, array, ty, ty.declared_dimensions()),
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

/// An array, or a vector: its elements and its shape.
fn put_array(out: &mut Vec<u8>, array: &ArrayValue, ty: &SqlType, declared: usize) {
    let element = ascending(element_type(ty));
    array.iter().for_each(|item| encode_value(out, item, &element));
    let dimensions = array.dimensions();
    let is_as_declared =
        dimensions.len() == declared && dimensions.iter().all(|dimension| dimension.lower == 1);
    let put_length =
        |out: &mut Vec<u8>, length: i32| out.extend_from_slice(&length.cast_unsigned().to_be_bytes());
    if array.is_empty() || is_as_declared || declared == 0 {
        out.push(END);
        if declared > 1 {
            (0..declared).for_each(|at| put_length(out, dimensions.get(at).map_or(0, |at| at.length)));
        }
        return;
    }
    out.extend_from_slice(&[SHAPED, dimensions.len() as u8]); // six at most
    dimensions
        .iter()
        .for_each(|dimension| put_length(out, dimension.length));
    for dimension in &dimensions {
        out.extend_from_slice(&(dimension.lower.cast_unsigned() ^ SIGN).to_be_bytes());
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

fn take_array(rest: &mut &[u8], element: &SqlType, declared: usize) -> Option<ArrayValue> {
    let mut items = Vec::new();
    while *rest.first()? > SHAPED {
        items.push(take_field(rest, element)?);
    }
    let (end, after) = rest.split_first()?;
    *rest = after;
    if *end == END && declared < 2 {
        return Some(items.into());
    }
    let count = match *end {
        END => declared,
        _ => {
            let (count, after) = rest.split_first()?;
            *rest = after;
            usize::from(*count)
        }
    };
    let lengths = (0..count)
        .map(|_| take_word(rest))
        .collect::<Option<Vec<u32>>>()?;
    let dimension = |length: u32| {
        let lower = match *end {
            END => 1,
            _ => (take_word(rest)? ^ SIGN).cast_signed(),
        };
        let length = i32::try_from(length).ok()?;
        Some(Dimension { length, lower })
    };
    let dimensions = lengths.into_iter().map(dimension).collect::<Option<Vec<_>>>()?;
    let is_whole = element_count(&dimensions) == Some(items.len());
    is_whole.then(|| ArrayValue::shaped(items, &dimensions))
}

fn take_word(rest: &mut &[u8]) -> Option<u32> {
    let (word, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    Some(u32::from_be_bytes(*word))
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
