//! What aggregates make of the values that were gathered in an array: each of them once, the least or the greatest, the
//! most frequent.

use std::cmp::Ordering;

use super::array::{is_same, order};
use super::interval::sum_of;
use super::{Batch, Body};
use crate::Result;
use crate::types::{ArrayValue, Interval, SqlType, Value, element_type};

/// The first of arrays, a column each and sorted together, without the items whose row equals the one before.
pub const UNREPEATED: Body = Body::Batch(|b| b.map_values(|columns| unrepeated(columns, b.arguments)));

/// The least item that is not NULL, of equal ones the last.
pub const LEAST_ITEM: Body = Body::Batch(|b| extreme(b, Ordering::is_le));
/// The greatest item that is not NULL, of equal ones the last.
pub const GREATEST_ITEM: Body = Body::Batch(|b| extreme(b, Ordering::is_ge));

/// The sum of the intervals of an array, and their average; NULLs do not count.
pub const INTERVAL_SUM: Body = Body::Batch(|b| intervals(b, false));
/// See `INTERVAL_SUM`.
pub const INTERVAL_AVERAGE: Body = Body::Batch(|b| intervals(b, true));

fn intervals(batch: &Batch, is_average: bool) -> Result<arrow::array::ArrayRef> {
    batch.map1(|items: Vec<Option<Interval>>| {
        let present: Vec<Interval> = items.into_iter().flatten().collect();
        sum_of(&present, is_average)
    })
}

/// The item of a sorted array that comes most often, the first of such; NULLs do not count.
pub const MODE: Body = Body::Batch(|b| {
    let ty = element_type(&b.arguments[0]);
    b.map1(|items: Vec<Value>| mode(items, ty))
});

/// One more than there are different rows among the first so many. Arguments: how many; then an array a column, in their order.
pub const DENSE_RANK: Body = Body::Batch(|b| b.map_values(|values| dense_rank(values, &b.arguments[1..])));

fn dense_rank(values: &[Value], types: &[SqlType]) -> Result<Value> {
    let [Value::Int(before), columns @ ..] = values else {
        return Ok(Value::Int(1));
    };
    let mut rank = 1;
    for row in 0..usize::try_from(*before).unwrap_or(0) {
        rank += i64::from(!is_repeated(columns, types, row)?);
    }
    Ok(Value::Int(rank))
}

fn unrepeated(columns: &[Value], types: &[SqlType]) -> Result<Value> {
    let Some(Value::Array(wanted)) = columns.first() else {
        return Ok(Value::Null);
    };
    let mut kept: Vec<Value> = Vec::new();
    for (row, item) in wanted.iter().enumerate() {
        if !is_repeated(columns, types, row)? {
            kept.push(item.clone());
        }
    }
    Ok(Value::Array(ArrayValue::from(kept)))
}

/// Whether a row of arrays, a column each, equals the row before.
fn is_repeated(columns: &[Value], types: &[SqlType], row: usize) -> Result<bool> {
    let Some(before) = row.checked_sub(1) else {
        return Ok(false);
    };
    for (column, ty) in columns.iter().zip(types) {
        let Value::Array(items) = column else { continue };
        let is_same = match (items.get(before), items.get(row)) {
            (Some(last), Some(item)) => is_same(last, item, element_type(ty))?,
            _ => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn extreme(batch: &Batch, wins: fn(Ordering) -> bool) -> Result<arrow::array::ArrayRef> {
    let ty = element_type(&batch.arguments[0]);
    batch.map1(|items: Vec<Value>| {
        let mut best = Value::Null;
        for item in items {
            let is_better = match order(&item, &best, ty)? {
                Some(order) => wins(order),
                None => best == Value::Null,
            };
            if is_better {
                best = item;
            }
        }
        Ok(best)
    })
}

fn mode(items: Vec<Value>, ty: &SqlType) -> Result<Value> {
    let (mut best, mut best_count) = (Value::Null, 0);
    let mut items = items.into_iter().filter(|item| *item != Value::Null).peekable();
    while let Some(first) = items.next() {
        let mut count = 1;
        while let Some(next) = items.peek() {
            if !is_same(&first, next, ty)? {
                break;
            }
            items.next();
            count += 1;
        }
        if count > best_count {
            (best, best_count) = (first, count);
        }
    }
    Ok(best)
}
