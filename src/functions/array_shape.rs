//! Arrays of more than one dimension: how long they are in each, their items in a row, parts of them, and what is none.
//! An array of two dimensions is an array of arrays, all of one length.

use crate::types::Value;
use crate::{Error, Result};

/// The length in a dimension, of those that there are.
pub(super) fn length(lengths: &[i32], dimension: i32) -> Option<i32> {
    let place = usize::try_from(dimension).ok()?.checked_sub(1)?;
    lengths.get(place).copied()
}

/// The items of an array's arrays, one behind the other.
pub(super) fn flat(items: Vec<Value>) -> Vec<Value> {
    let mut flattened = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Value::Array(items) => flattened.extend(flat(items)),
            item => flattened.push(item),
        }
    }
    flattened
}

/// Whether an array has no items, or is NULL.
pub(super) fn is_without_items(array: &Value) -> bool {
    match array {
        Value::Array(items) => items.is_empty(),
        value => *value == Value::Null,
    }
}

/// Errors: 2202E when the items are arrays that are not of one length.
pub(super) fn check_rectangular(items: &[Value], message: &str) -> Result<()> {
    let lengths = |item: &Value| match item {
        Value::Array(items) => Some(items.len()),
        _ => None,
    };
    let first = items.first().and_then(lengths);
    match items.iter().all(|item| lengths(item) == first) {
        true => Ok(()),
        false => Err(Error::DataException {
            state: "2202E",
            message: message.to_string(),
        }),
    }
}

/// The items of an array that is made of these, arrays themselves where it `holds_arrays`: one of arrays without items has none. Errors:
/// 2202E when they are arrays that are not of one length.
pub fn array_items(items: &[Value], holds_arrays: bool) -> Result<Vec<Value>> {
    if holds_arrays && items.iter().all(is_without_items) {
        return Ok(Vec::new());
    }
    check_rectangular(items, NOT_RECTANGULAR)?;
    Ok(items.to_vec())
}

/// What stands in the way of an array whose items are arrays of several lengths.
const NOT_RECTANGULAR: &str = "multidimensional arrays must have array expressions with matching dimensions";
/// Likewise of arrays that are put together.
pub(super) const NOT_JOINABLE: &str = "cannot concatenate incompatible arrays";

/// The items from one subscript to another in a dimension, counted from 0.
pub(super) fn slice(mut items: Vec<Value>, low: i32, high: i32, dimension: i32) -> Vec<Value> {
    if dimension > 0 {
        // Of an array without the dimension there is nothing.
        let inner = |item| match item {
            Value::Array(items) => Value::Array(slice(items, low, high, dimension - 1)),
            _ => Value::Array(Vec::new()),
        };
        let sliced: Vec<Value> = items.into_iter().map(inner).collect();
        let is_empty = |item: &Value| matches!(item, Value::Array(items) if items.is_empty());
        return match sliced.iter().any(is_empty) {
            true => Vec::new(),
            false => sliced,
        };
    }
    let place = |subscript: i32| usize::try_from(subscript).unwrap_or(0);
    items.truncate(place(high));
    let low = place(low.saturating_sub(1));
    items.split_off(low.min(items.len()))
}

/// Errors: as PostgreSQL's array_agg of arrays has them.
pub(super) fn nested(items: Vec<Value>) -> Result<Vec<Value>> {
    let refuse = |state, message: &str| {
        Err(Error::DataException {
            state,
            message: message.to_string(),
        })
    };
    for item in &items {
        match item {
            Value::Null => return refuse("22004", "cannot accumulate null arrays"),
            Value::Array(items) if items.is_empty() => {
                return refuse("2202E", "cannot accumulate empty arrays");
            }
            _ => {}
        }
    }
    check_rectangular(&items, "cannot accumulate arrays of different dimensionality")?;
    Ok(items)
}
