//! What the ordered-set aggregates take out of the values that were gathered in their order.

use super::Body;
use super::interval::between;
use crate::types::Value;
use crate::{Error, Result};

/// `percentile_cont` of sorted floats or intervals at a fraction, or at each of an array of fractions.
pub const PERCENTILE_CONT: Body =
    Body::Batch(|b| b.map_values(|arguments| percentiles(arguments, continuous)));
/// `percentile_disc` of sorted values at a fraction, or at each of an array of fractions.
pub const PERCENTILE_DISC: Body = Body::Batch(|b| b.map_values(|arguments| percentiles(arguments, discrete)));

fn percentiles(arguments: &[Value], at: fn(&[&Value], f64) -> Result<Value>) -> Result<Value> {
    let Value::Array(sorted) = &arguments[0] else {
        return Err(Error::internal("percentiles of no array"));
    };
    let present: Vec<&Value> = sorted.iter().filter(|value| **value != Value::Null).collect();
    if present.is_empty() {
        return Ok(Value::Null);
    }
    let one = |fraction: &Value| match fraction {
        Value::Null => Ok(Value::Null),
        Value::Float8(fraction) if (0.0..=1.0).contains(fraction) => at(&present, *fraction),
        Value::Float8(fraction) => Err(Error::DataException {
            state: "22003",
            message: format!("percentile value {fraction} is not between 0 and 1"),
        }),
        other => Err(Error::internal(format!("no fraction: {other:?}"))),
    };
    match &arguments[1] {
        Value::Array(fractions) => Ok(Value::Array(
            fractions.clone().try_map(|fraction| one(&fraction))?,
        )),
        fraction => one(fraction),
    }
}

/// PostgreSQL's own formula, digit for digit: counted from the lower of the two neighbours.
fn continuous(sorted: &[&Value], fraction: f64) -> Result<Value> {
    let place = fraction * (sorted.len() - 1) as f64;
    let (low, high) = (place.floor(), place.ceil());
    let at = |place: f64| sorted.get(place as usize).copied();
    match (at(low), at(high)) {
        (Some(first), Some(_)) if low == high => Ok(first.clone()),
        (Some(Value::Float8(first)), Some(Value::Float8(second))) => {
            Ok(Value::Float8(first + (place - low) * (second - first)))
        }
        (Some(Value::Interval(first)), Some(Value::Interval(second))) => {
            between(*first, *second, place - low).map(Value::Interval)
        }
        other => Err(Error::internal(format!("nothing lies between {other:?}"))),
    }
}

fn discrete(sorted: &[&Value], fraction: f64) -> Result<Value> {
    let place = (fraction * sorted.len() as f64).ceil().max(1.0);
    let value = sorted.get(place as usize - 1);
    value
        .map(|value| Value::clone(value))
        .ok_or_else(|| Error::internal("a percentile beyond the values"))
}
