//! Arrays: construction, subscripts, quantified comparisons, and the functions over them.

use super::size::LimitedText;
use super::{Body, Call, FunctionDef, T};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// `ARRAY[…]`.
pub const MAKE_ARRAY: Body = Body::Row(|arguments, _| Ok(Value::Array(arguments.to_vec())));
/// `a[i]`.
pub const SUBSCRIPT: Body = Body::Row(subscript);
/// `a[i:j]`.
pub const SLICE: Body = Body::Row(slice);
/// The numbers 1 … of an array's items, for WITH ORDINALITY.
pub const ORDINALITY: Body = Body::Row(|arguments, _| {
    let items = items(&arguments[0])?;
    Ok(Value::Array((1..=int_of(items.len())).map(Value::Int).collect()))
});

/// Texts of an array joined, NULLs left out; NULL when nothing is left. A separator of NULL separates by nothing.
pub const JOIN_TEXTS: Body = Body::Row(|arguments, call| {
    let present = match &arguments[0] {
        Value::Array(items) => items.iter().any(|item| *item != Value::Null),
        _ => false,
    };
    if present && arguments[1] == Value::Null {
        let arguments = [arguments[0].clone(), Value::Text(String::new())];
        to_text(&arguments, call)
    } else if present {
        to_text(arguments, call)
    } else {
        Ok(Value::Null)
    }
});

/// The name of `x = ANY (array)`, which becomes an IN list once the array is known.
pub const ANY_EQUAL_NAME: &str = "any_equal";

/// `x op ANY (array)` or `x op ALL (array)`.
pub fn quantified(symbol: &str, all: bool) -> Option<(&'static str, Body)> {
    Some(match (symbol, all) {
        ("=", false) => (
            ANY_EQUAL_NAME,
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_eq())),
        ),
        ("<>", false) => (
            "any_not_equal",
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_ne())),
        ),
        ("<", false) => (
            "any_less",
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_lt())),
        ),
        ("<=", false) => (
            "any_less_equal",
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_le())),
        ),
        (">", false) => (
            "any_greater",
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_gt())),
        ),
        (">=", false) => (
            "any_greater_equal",
            Body::Row(|arguments, call| any(arguments, call, |order| order.is_ge())),
        ),
        ("=", true) => (
            "all_equal",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_eq())),
        ),
        ("<>", true) => (
            "all_not_equal",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_ne())),
        ),
        ("<", true) => (
            "all_less",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_lt())),
        ),
        ("<=", true) => (
            "all_less_equal",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_le())),
        ),
        (">", true) => (
            "all_greater",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_gt())),
        ),
        (">=", true) => (
            "all_greater_equal",
            Body::Row(|arguments, call| all_of(arguments, call, |order| order.is_ge())),
        ),
        _ => return None,
    })
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::rows("unnest", &[T::AnyArray], T::AnyElement, |arguments, _| {
        Ok(arguments[0].clone())
    }),
    FunctionDef::rows("generate_series", &[T::Int4, T::Int4], T::Int4, series),
    FunctionDef::rows("generate_series", &[T::Int4, T::Int4, T::Int4], T::Int4, series),
    FunctionDef::rows("generate_series", &[T::Int8, T::Int8], T::Int8, series),
    FunctionDef::rows("generate_series", &[T::Int8, T::Int8, T::Int8], T::Int8, series),
    FunctionDef::rows(
        "generate_series",
        &[T::Timestamp, T::Timestamp, T::Interval],
        T::Timestamp,
        super::datetime::series,
    ),
    FunctionDef::rows(
        "generate_series",
        &[T::TimestampTz, T::TimestampTz, T::Interval],
        T::TimestampTz,
        super::datetime::series,
    ),
    FunctionDef::rows(
        "generate_subscripts",
        &[T::AnyArray, T::Int4],
        T::Int4,
        |arguments, _| {
            let length = if arguments[1] == Value::Int(1) {
                items(&arguments[0])?.len()
            } else {
                0
            };
            Ok(Value::Array((1..=int_of(length)).map(Value::Int).collect()))
        },
    ),
    FunctionDef::row("array_length", &[T::AnyArray, T::Int4], T::Int4, length).bounded(),
    FunctionDef::row("array_upper", &[T::AnyArray, T::Int4], T::Int4, length),
    FunctionDef::row(
        "array_lower",
        &[T::AnyArray, T::Int4],
        T::Int4,
        |arguments, call| {
            Ok(match length(arguments, call)? {
                Value::Int(_) => Value::Int(1),
                other => other,
            })
        },
    ),
    FunctionDef::row("array_ndims", &[T::AnyArray], T::Int4, |arguments, _| {
        Ok(if items(&arguments[0])?.is_empty() {
            Value::Null
        } else {
            Value::Int(1)
        })
    }),
    FunctionDef::row("trim_array", &[T::AnyArray, T::Int4], T::AnyArray, trim),
    FunctionDef::row("cardinality", &[T::AnyArray], T::Int4, |arguments, _| {
        Ok(Value::Int(int_of(items(&arguments[0])?.len())))
    })
    .bounded(),
    FunctionDef::row(
        "array_append",
        &[T::AnyArray, T::AnyElement],
        T::AnyArray,
        |arguments, _| join(&arguments[0], std::slice::from_ref(&arguments[1])),
    )
    .on_null(),
    FunctionDef::row(
        "array_prepend",
        &[T::AnyElement, T::AnyArray],
        T::AnyArray,
        prepend,
    )
    .on_null(),
    FunctionDef::row("array_cat", &[T::AnyArray, T::AnyArray], T::AnyArray, concatenate).on_null(),
    FunctionDef::row("||", &[T::AnyArray, T::AnyArray], T::AnyArray, concatenate).on_null(),
    FunctionDef::row(
        "||",
        &[T::AnyArray, T::AnyElement],
        T::AnyArray,
        |arguments, _| join(&arguments[0], std::slice::from_ref(&arguments[1])),
    )
    .on_null(),
    FunctionDef::row("||", &[T::AnyElement, T::AnyArray], T::AnyArray, prepend).on_null(),
    FunctionDef::row(
        "||",
        &[T::Bytea, T::Bytea],
        T::Bytea,
        |arguments, _| match arguments {
            [Value::Bytes(a), Value::Bytes(b)] => Ok(Value::Bytes([a.as_slice(), b.as_slice()].concat())),
            _ => Err(Error::internal("|| of no bytea")),
        },
    ),
    FunctionDef::row("array_position", &[T::AnyArray, T::AnyElement], T::Int4, position).on_null(),
    FunctionDef::row(
        "array_position",
        &[T::AnyArray, T::AnyElement, T::Int4],
        T::Int4,
        position,
    )
    .on_null(),
    FunctionDef::row(
        "array_positions",
        &[T::AnyArray, T::AnyElement],
        T::Int4,
        positions,
    )
    .array(T::Int4)
    .on_null(),
    FunctionDef::row("array_remove", &[T::AnyArray, T::AnyElement], T::AnyArray, remove).on_null(),
    FunctionDef::row(
        "array_replace",
        &[T::AnyArray, T::AnyElement, T::AnyElement],
        T::AnyArray,
        replace,
    )
    .on_null(),
    FunctionDef::row("array_to_string", &[T::AnyArray, T::Text], T::Text, to_text),
    FunctionDef::row(
        "array_to_string",
        &[T::AnyArray, T::Text, T::Text],
        T::Text,
        to_text,
    )
    .on_null(),
    FunctionDef::row("string_to_array", &[T::Text, T::Text], T::Text, split)
        .array(T::Text)
        .on_null(),
    FunctionDef::row("string_to_array", &[T::Text, T::Text, T::Text], T::Text, split)
        .array(T::Text)
        .on_null(),
    FunctionDef::row("@>", &[T::AnyArray, T::AnyArray], T::Bool, |arguments, _| {
        contains(&arguments[0], &arguments[1])
    }),
    FunctionDef::row("<@", &[T::AnyArray, T::AnyArray], T::Bool, |arguments, _| {
        contains(&arguments[1], &arguments[0])
    }),
    FunctionDef::row("&&", &[T::AnyArray, T::AnyArray], T::Bool, |arguments, _| {
        let other = items(&arguments[1])?;
        Ok(Value::Bool(
            items(&arguments[0])?
                .iter()
                .any(|item| *item != Value::Null && other.contains(item)),
        ))
    }),
];

fn items(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(Error::internal(format!("no array: {other:?}"))),
    }
}

/// The array without so many of its last items.
fn trim(arguments: &[Value], _: &Call) -> Result<Value> {
    let items = items(&arguments[0])?;
    let kept = match &arguments[1] {
        Value::Int(dropped) => usize::try_from(*dropped)
            .ok()
            .and_then(|dropped| items.len().checked_sub(dropped)),
        _ => None,
    };
    let kept = kept.ok_or_else(|| Error::DataException {
        state: "2202E",
        message: format!("number of elements to trim must be between 0 and {}", items.len()),
    })?;
    Ok(Value::Array(items[..kept].to_vec()))
}

fn int_of(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn subscript(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Int(index) = arguments[1] else {
        return Err(Error::internal("a subscript that is no integer"));
    };
    let at = usize::try_from(index - 1).ok();
    Ok(at
        .and_then(|at| items(&arguments[0]).ok()?.get(at).cloned())
        .unwrap_or(Value::Null))
}

fn slice(arguments: &[Value], _: &Call) -> Result<Value> {
    if arguments[0] == Value::Null {
        return Ok(Value::Null);
    }
    let items = items(&arguments[0])?;
    let low = match arguments[1] {
        Value::Int(low) => usize::try_from(low - 1).unwrap_or(0),
        _ => 0,
    };
    let high = match arguments[2] {
        Value::Int(high) => usize::try_from(high).unwrap_or(0).min(items.len()),
        _ => items.len(),
    };
    Ok(Value::Array(items.get(low..high).unwrap_or_default().to_vec()))
}

fn series(arguments: &[Value], _: &Call) -> Result<Value> {
    let (Value::Int(start), Value::Int(end)) = (&arguments[0], &arguments[1]) else {
        return Err(Error::internal("generate_series of no integers"));
    };
    let step = match arguments.get(2) {
        Some(Value::Int(step)) => *step,
        _ => 1,
    };
    if step == 0 {
        return Err(Error::InvalidParameter {
            message: "step size cannot equal zero".to_string(),
            hint: None,
        });
    }
    let mut numbers = Vec::new();
    let mut at = *start;
    while (step > 0 && at <= *end) || (step < 0 && at >= *end) {
        if numbers.len() >= super::SET_ROWS_MAX {
            return Err(super::too_many_rows());
        }
        numbers.push(Value::Int(at));
        match at.checked_add(step) {
            Some(next) => at = next,
            None => break,
        }
    }
    Ok(Value::Array(numbers))
}

fn length(arguments: &[Value], _: &Call) -> Result<Value> {
    let length = items(&arguments[0])?.len();
    Ok(if length == 0 || arguments[1] != Value::Int(1) {
        Value::Null
    } else {
        Value::Int(int_of(length))
    })
}

fn join(array: &Value, more: &[Value]) -> Result<Value> {
    let mut all = match array {
        Value::Null => Vec::new(),
        array => items(array)?.to_vec(),
    };
    all.extend_from_slice(more);
    Ok(Value::Array(all))
}

fn prepend(arguments: &[Value], _: &Call) -> Result<Value> {
    let mut all = vec![arguments[0].clone()];
    if arguments[1] != Value::Null {
        all.extend_from_slice(items(&arguments[1])?);
    }
    Ok(Value::Array(all))
}

fn concatenate(arguments: &[Value], _: &Call) -> Result<Value> {
    match (&arguments[0], &arguments[1]) {
        (Value::Null, other) | (other, Value::Null) => Ok(other.clone()),
        (a, b) => join(a, items(b)?),
    }
}

/// Whether an item is the one looked for: NULL is one too here.
fn is_same(item: &Value, wanted: &Value, call: &Call) -> Result<bool> {
    Ok(match order(item, wanted, &call.arguments[1])? {
        Some(order) => order.is_eq(),
        None => *item == Value::Null && *wanted == Value::Null,
    })
}

/// Where the wanted item stands first, counted from 1, at or behind a place.
fn position(arguments: &[Value], call: &Call) -> Result<Value> {
    let from = match arguments.get(2) {
        None => 1,
        Some(Value::Int(from)) => *from,
        Some(_) => {
            return Err(Error::DataException {
                state: "22004",
                message: "initial position must not be null".to_string(),
            });
        }
    };
    let Value::Array(items) = &arguments[0] else {
        return Ok(Value::Null);
    };
    for (place, item) in (1..).zip(items) {
        if place >= from && is_same(item, &arguments[1], call)? {
            return Ok(Value::Int(place));
        }
    }
    Ok(Value::Null)
}

fn positions(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Array(items) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let mut places = Vec::new();
    for (place, item) in (1..).zip(items) {
        if is_same(item, &arguments[1], call)? {
            places.push(Value::Int(place));
        }
    }
    Ok(Value::Array(places))
}

fn remove(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Array(items) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if !is_same(item, &arguments[1], call)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::Array(kept))
}

fn replace(arguments: &[Value], call: &Call) -> Result<Value> {
    let Value::Array(items) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let mut replaced = Vec::with_capacity(items.len());
    for item in items {
        let found = is_same(item, &arguments[1], call)?;
        replaced.push(if found { &arguments[2] } else { item }.clone());
    }
    Ok(Value::Array(replaced))
}

/// A text cut at each separator, or into its characters when that is NULL; parts equal to the third argument are NULL.
fn split(arguments: &[Value], _: &Call) -> Result<Value> {
    let Value::Text(text) = &arguments[0] else {
        return Ok(Value::Null);
    };
    let parts: Vec<String> = match &arguments[1] {
        _ if text.is_empty() => Vec::new(),
        Value::Text(separator) if separator.is_empty() => vec![text.clone()],
        Value::Text(separator) => text.split(separator.as_str()).map(str::to_string).collect(),
        _ => text.chars().map(String::from).collect(),
    };
    let null = arguments.get(2);
    let item = |part: String| match null {
        Some(Value::Text(null)) if *null == part => Value::Null,
        _ => Value::Text(part),
    };
    Ok(Value::Array(parts.into_iter().map(item).collect()))
}

fn contains(whole: &Value, part: &Value) -> Result<Value> {
    let whole = items(whole)?;
    Ok(Value::Bool(
        items(part)?
            .iter()
            .all(|item| *item != Value::Null && whole.contains(item)),
    ))
}

fn to_text(arguments: &[Value], call: &Call) -> Result<Value> {
    let (Value::Array(_), Value::Text(separator)) = (&arguments[0], &arguments[1]) else {
        return Ok(Value::Null);
    };
    let item_type = super::super::cell::element_type(&call.arguments[0]);
    let parts = items(&arguments[0])?
        .iter()
        .filter_map(|item| match (item, arguments.get(2)) {
            (Value::Null, Some(Value::Text(null))) => Some(null.clone()),
            (Value::Null, _) => None,
            (item, _) => Some(super::text_output::shown(item, &item_type, call.settings)),
        });
    LimitedText::joined(parts, separator, call.result_limits()).map(Value::Text)
}

/// Whether some item compares so: NULL when only a NULL might.
fn any(arguments: &[Value], call: &Call, test: impl Fn(std::cmp::Ordering) -> bool) -> Result<Value> {
    let (operand, Value::Array(items)) = (&arguments[0], &arguments[1]) else {
        return Ok(Value::Null);
    };
    let mut unknown = false;
    for item in items {
        match order(operand, item, &call.arguments[0])? {
            Some(order) if test(order) => return Ok(Value::Bool(true)),
            Some(_) => {}
            None => unknown = true,
        }
    }
    Ok(if unknown { Value::Null } else { Value::Bool(false) })
}

fn all_of(arguments: &[Value], call: &Call, test: impl Fn(std::cmp::Ordering) -> bool) -> Result<Value> {
    match any(arguments, call, |order| !test(order))? {
        Value::Bool(found) => Ok(Value::Bool(!found)),
        other => Ok(other),
    }
}

/// The order of two values of one type (or of two arrays, or array items, of it); `None` when either is NULL.
pub(super) fn order(a: &Value, b: &Value, ty: &SqlType) -> Result<Option<std::cmp::Ordering>> {
    Ok(Some(match (a, b) {
        (Value::Null, _) | (_, Value::Null) => return Ok(None),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float4(a), Value::Float4(b)) => {
            super::compare::order_f32(*a).total_cmp(&super::compare::order_f32(*b))
        }
        (Value::Float8(a), Value::Float8(b)) => {
            super::compare::order_f64(*a).total_cmp(&super::compare::order_f64(*b))
        }
        (Value::Numeric(a), Value::Numeric(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => match ty {
            SqlType::Jsonb => super::json_order::compare(a, b),
            SqlType::Char(_) => a.trim_end_matches(' ').cmp(b.trim_end_matches(' ')),
            SqlType::Array(item) => return order(&Value::Text(a.clone()), &Value::Text(b.clone()), item),
            _ => a.cmp(b),
        },
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.span().cmp(&b.span()),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                match order(a, b, ty)? {
                    Some(std::cmp::Ordering::Equal) => {}
                    other => return Ok(other),
                }
            }
            a.len().cmp(&b.len())
        }
        (a, b) => return Err(Error::internal(format!("no order of {a:?} and {b:?}"))),
    }))
}
