//! An array with a part replaced: what `SET a[2] = x` and `SET a[1:2] = y` make of a column's value. Arrays count from 1 here,
//! so that what would make one that does not is refused.

use super::{Body, SET_ROWS_MAX};
use crate::types::Value;
use crate::{Error, Result};

/// The array, the value, and for each dimension how it is given (1: a slice, 2: without its lower, 4: without its upper limit),
/// the lower limit, and the upper limit or subscript.
pub const ASSIGN_PART: Body = Body::Batch(|b| b.map_values(assigned));

const LOW_OPEN: i64 = 2;
const HIGH_OPEN: i64 = 4;

fn assigned(arguments: &[Value]) -> Result<Option<Vec<Value>>> {
    let [array, value, parts @ ..] = arguments else {
        return Err(Error::internal("an assignment without a value"));
    };
    let items = match array {
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let is_slice = parts
        .chunks(3)
        .any(|part| !matches!(part.first(), Some(Value::Int(0))));
    if is_slice {
        return match value {
            // A NULL replaces nothing.
            Value::Null => Ok(matches!(array, Value::Array(_)).then_some(items)),
            value => with_slice(items, parts, value).map(Some),
        };
    }
    let subscripts = parts.chunks(3).map(|part| subscript(part.get(2)));
    let subscripts: Vec<i64> = subscripts.collect::<Result<_>>()?;
    with_item(items, &subscripts, value).map(Some)
}

fn subscript(value: Option<&Value>) -> Result<i64> {
    match value {
        Some(Value::Int(subscript)) => Ok(*subscript),
        _ => Err(Error::DataException {
            state: "22004",
            message: "array subscript in assignment must not be null".to_string(),
        }),
    }
}

fn with_item(mut items: Vec<Value>, subscripts: &[i64], value: &Value) -> Result<Vec<Value>> {
    let wrong = |message: &str| {
        Err(Error::DataException {
            state: "2202E",
            message: message.to_string(),
        })
    };
    let Some((subscript, inner)) = subscripts.split_first() else {
        return wrong("wrong number of array subscripts");
    };
    let place = subscript - 1;
    if items.is_empty() {
        if place != 0 {
            return Err(not_from_one(*subscript));
        }
        return Ok(vec![match inner {
            [] => value.clone(),
            inner => Value::Array(with_item(Vec::new(), inner, value)?),
        }]);
    }
    let is_nested = matches!(items.first(), Some(Value::Array(_)));
    if is_nested == inner.is_empty() {
        return wrong("wrong number of array subscripts");
    }
    match usize::try_from(place) {
        Err(_) if is_nested => return wrong("array subscript out of range"),
        Err(_) => return Err(not_from_one(*subscript)),
        Ok(place) if place >= items.len() && is_nested => return wrong("array subscript out of range"),
        Ok(place) if place >= SET_ROWS_MAX => return Err(too_long()),
        Ok(place) => {
            if place >= items.len() {
                items.resize(place + 1, Value::Null);
            }
            let old = std::mem::replace(&mut items[place], Value::Null);
            items[place] = match old {
                Value::Array(old) if is_nested => Value::Array(with_item(old, inner, value)?),
                _ => value.clone(),
            };
        }
    }
    Ok(items)
}

fn with_slice(mut items: Vec<Value>, parts: &[Value], value: &Value) -> Result<Vec<Value>> {
    let wrong = |message: &str| {
        Err(Error::DataException {
            state: "2202E",
            message: message.to_string(),
        })
    };
    let (Value::Array(source), [Value::Int(form), low, high]) = (value, parts) else {
        return Err(Error::internal("a slice that is none"));
    };
    // A subscript beside slices stands for all items up to it.
    let is_open = |limit: i64| form & limit != 0;
    if items.is_empty() && (is_open(LOW_OPEN) || is_open(HIGH_OPEN)) {
        return wrong("array slice subscript must provide both boundaries");
    }
    let low = match is_open(LOW_OPEN) {
        true => 1,
        false => subscript(Some(low))?,
    };
    let high = match is_open(HIGH_OPEN) {
        true => items.len() as i64,
        false => subscript(Some(high))?,
    };
    if low > high {
        return wrong("upper bound cannot be less than lower bound");
    }
    if low < 1 || items.is_empty() && low > 1 {
        return Err(not_from_one(low));
    }
    let (first, count) = (low as usize - 1, (high - low + 1) as usize);
    if first.saturating_add(count) > SET_ROWS_MAX {
        return Err(too_long());
    }
    if source.len() < count {
        return wrong("source array too small");
    }
    if items.len() < first + count {
        items.resize(first + count, Value::Null);
    }
    items[first..first + count].clone_from_slice(&source[..count]);
    Ok(items)
}

fn not_from_one(subscript: i64) -> Error {
    Error::unsupported(
        format!("an array whose first subscript is {subscript}"),
        Some("Arrays count from 1 here: assign to subscript 1 first."),
    )
}

fn too_long() -> Error {
    Error::LimitExceeded {
        state: crate::error::Limit::Program,
        message: format!("array size exceeds the maximum allowed ({SET_ROWS_MAX})"),
        hint: "Assign to a lower subscript.".to_string(),
    }
}
