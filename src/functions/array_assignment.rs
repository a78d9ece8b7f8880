//! An array with a part replaced: what `SET a[2] = x` and `SET a[1:2] = y` make of a column's value.

use super::array_shape::{place_of, places_in, subscript_error, too_long};
use super::{Body, SET_ROWS_MAX};
use crate::types::{ArrayValue, Dimension, Value, check_bounds, element_count};
use crate::{Error, Result};

/// The array, the value, and for each dimension how it is given (1: a slice, 2: without its lower, 4: without its upper limit),
/// the lower limit, and the upper limit or subscript.
pub const ASSIGN_PART: Body = Body::Batch(|b| b.map_values(assigned));

const LOW_OPEN: i64 = 2;
const HIGH_OPEN: i64 = 4;

fn assigned(arguments: &[Value]) -> Result<ArrayValue> {
    let [array, value, parts @ ..] = arguments else {
        return Err(Error::internal("an assignment without a value"));
    };
    // A NULL is assigned to as an array without items.
    let array = match array {
        Value::Array(array) => array.clone(),
        _ => ArrayValue::default(),
    };
    let is_slice = parts
        .chunks(3)
        .any(|part| !matches!(part.first(), Some(Value::Int(0))));
    if !is_slice {
        let subscripts = parts.chunks(3).map(|part| subscript(part.get(2)));
        let subscripts: Vec<i32> = subscripts.collect::<Result<_>>()?;
        return with_item(array, &subscripts, value);
    }
    let limits = parts.chunks(3).map(limits_of);
    let limits: Vec<Limits> = limits.collect::<Result<_>>()?;
    match value {
        Value::Array(source) => with_slice(array, &limits, source),
        // A NULL replaces nothing.
        _ => Ok(array),
    }
}

fn subscript(value: Option<&Value>) -> Result<i32> {
    match value {
        Some(Value::Int(subscript)) => i32::try_from(*subscript).map_err(|_| super::mismatched_types()),
        _ => Err(Error::DataException {
            state: "22004",
            message: "array subscript in assignment must not be null".to_string(),
        }),
    }
}

/// The limits of a slice in a dimension; `None`: as far as the array goes.
type Limits = (Option<i32>, Option<i32>);

/// How a dimension is given. A subscript beside slices stands for all items from 1 up to it.
fn limits_of(part: &[Value]) -> Result<Limits> {
    let [Value::Int(form), lower, upper] = part else {
        return Err(Error::internal("a slice that is none"));
    };
    let limit = |open: i64, value| match form & open {
        0 => subscript(Some(value)).map(Some),
        _ => Ok(None),
    };
    match form {
        0 => Ok((Some(1), limit(HIGH_OPEN, upper)?)),
        _ => Ok((limit(LOW_OPEN, lower)?, limit(HIGH_OPEN, upper)?)),
    }
}

fn wrong_number() -> Error {
    subscript_error("wrong number of array subscripts")
}

fn with_item(array: ArrayValue, subscripts: &[i32], value: &Value) -> Result<ArrayValue> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        let one = |lower: &i32| Dimension {
            length: 1,
            lower: *lower,
        };
        let made: Vec<Dimension> = subscripts.iter().map(one).collect();
        check_bounds(&made)?;
        return Ok(ArrayValue::shaped(vec![value.clone()], &made));
    }
    if dimensions.len() != subscripts.len() {
        return Err(wrong_number());
    }
    let (mut items, dimensions) = match (dimensions.as_slice(), subscripts) {
        ([only], [subscript]) => reaching(array, *only, (*subscript, *subscript))?,
        _ => (array.into_items(), dimensions),
    };
    let place = place_of(&dimensions, subscripts);
    match place.and_then(|place| items.get_mut(place)) {
        Some(item) => item.clone_from(value),
        None => return Err(subscript_error("array subscript out of range")),
    }
    Ok(ArrayValue::shaped(items, &dimensions))
}

/// The items of an array of one dimension, with NULLs before or behind them so that it has these subscripts.
fn reaching(
    array: ArrayValue,
    dimension: Dimension,
    (first, last): (i32, i32),
) -> Result<(Vec<Value>, Vec<Dimension>)> {
    let lower = dimension.lower.min(first);
    let upper = dimension.upper().max(last);
    let length = i64::from(upper) - i64::from(lower) + 1;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= SET_ROWS_MAX);
    let length = length.ok_or_else(too_long)?;
    let made = [Dimension {
        lower,
        ..Dimension::of(length)
    }];
    check_bounds(&made)?;
    let mut items = array.into_items();
    let before = (i64::from(dimension.lower) - i64::from(lower)) as usize; // less than the length
    items.splice(0..0, std::iter::repeat_n(Value::Null, before));
    items.resize(length, Value::Null);
    Ok((items, made.to_vec()))
}

fn with_slice(array: ArrayValue, limits: &[Limits], source: &ArrayValue) -> Result<ArrayValue> {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        return made_of_slice(limits, source);
    }
    if dimensions.len() < limits.len() {
        return Err(wrong_number());
    }
    let own = |(at, dimension): (usize, &Dimension)| {
        let (lower, upper) = limits.get(at).copied().unwrap_or_default();
        (
            lower.unwrap_or(dimension.lower),
            upper.unwrap_or(dimension.upper()),
        )
    };
    let limits: Vec<(i32, i32)> = dimensions.iter().enumerate().map(own).collect();
    let (mut items, dimensions) = match (dimensions.as_slice(), limits.as_slice()) {
        ([only], [(lower, upper)]) if lower <= upper => reaching(array, *only, (*lower, *upper))?,
        _ => (array.into_items(), dimensions),
    };
    let within = |(dimension, (lower, upper)): (&Dimension, &(i32, i32))| {
        if lower > upper {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        match *lower >= dimension.lower && *upper <= dimension.upper() {
            true => Ok(lower - dimension.lower..upper - dimension.lower + 1),
            false => Err(subscript_error("array subscript out of range")),
        }
    };
    let ranges = dimensions.iter().zip(&limits).map(within);
    let ranges = ranges.collect::<Result<Vec<_>>>()?;
    let places = places_in(&dimensions, &ranges);
    if places.len() > source.len() {
        return Err(source_too_small());
    }
    for (place, value) in places.into_iter().zip(source) {
        if let Some(item) = items.get_mut(place) {
            item.clone_from(value);
        }
    }
    Ok(ArrayValue::shaped(items, &dimensions))
}

/// The array that has the limits of a slice, of the first items of the source.
fn made_of_slice(limits: &[Limits], source: &ArrayValue) -> Result<ArrayValue> {
    let dimension = |(lower, upper): &Limits| {
        let (Some(lower), Some(upper)) = (*lower, *upper) else {
            return Err(Error::RefusedValue {
                state: "2202E",
                message: "array slice subscript must provide both boundaries".to_string(),
                detail: Some(
                    "When assigning to a slice of an empty array value, slice boundaries must be fully specified."
                        .into(),
                ),
                hint: None,
            });
        };
        let length = i64::from(upper) - i64::from(lower) + 1;
        let length = i32::try_from(length).map_err(|_| too_long())?;
        Ok(Dimension { length, lower })
    };
    let dimensions = limits.iter().map(dimension).collect::<Result<Vec<_>>>()?;
    check_bounds(&dimensions)?;
    let count = element_count(&dimensions).ok_or_else(too_long)?;
    match source.get(..count) {
        Some(items) => Ok(ArrayValue::shaped(items.to_vec(), &dimensions)),
        None => Err(source_too_small()),
    }
}

fn source_too_small() -> Error {
    subscript_error("source array too small")
}
