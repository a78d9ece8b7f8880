//! Arrays of any shape: made of others, put together, filled, and cut. What becomes of dimensions and their first subscripts is PostgreSQL's.

use crate::types::{ArrayValue, Dimension, Value, check_bounds, check_dimension_count, element_count};
use crate::{Error, Result};

/// The length in a dimension and its first subscript, of those that there are.
pub(super) fn dimension_of(dimensions: &[Dimension], number: i32) -> Option<Dimension> {
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    dimensions.get(place).copied()
}

/// What is wrong with the subscripts of an array, or with its dimensions. 2202E.
pub(super) fn subscript_error(message: &str) -> Error {
    Error::DataException {
        state: "2202E",
        message: message.to_string(),
    }
}

/// The array that is made of these items, arrays themselves where it `holds_arrays`: one of arrays without items has none. Errors:
/// 2202E when they are arrays that are not alike.
pub fn array_items(items: &[Value], holds_arrays: bool) -> Result<ArrayValue> {
    if !holds_arrays {
        return Ok(items.to_vec().into());
    }
    let arrays: Vec<&ArrayValue> = items.iter().filter_map(with_items).collect();
    match arrays.len() {
        0 => Ok(ArrayValue::default()),
        count if count == items.len() => stacked(&arrays, NOT_RECTANGULAR),
        _ => Err(subscript_error(NOT_RECTANGULAR)),
    }
}

/// The array, unless it is NULL or has no items.
fn with_items(value: &Value) -> Option<&ArrayValue> {
    match value {
        Value::Array(array) => Some(array).filter(|array| !array.is_empty()),
        _ => None,
    }
}

/// Arrays, one at least, as the items of one that counts from 1. Errors: 2202E with this message when they are not alike.
fn stacked(arrays: &[&ArrayValue], unlike: &str) -> Result<ArrayValue> {
    let inner = arrays.first().map(|array| array.dimensions()).unwrap_or_default();
    check_dimension_count(inner.len() + 1)?;
    if arrays.iter().any(|array| array.dimensions() != inner) {
        return Err(subscript_error(unlike));
    }
    let mut dimensions = vec![Dimension::of(arrays.len())];
    dimensions.extend(inner);
    let items = arrays.iter().flat_map(|array| array.iter().cloned());
    check_bounds(&dimensions)?;
    Ok(ArrayValue::shaped(items.collect(), &dimensions))
}

/// What stands in the way of an array whose items are arrays of several lengths.
const NOT_RECTANGULAR: &str = "multidimensional arrays must have array expressions with matching dimensions";

/// The array of arrays that array_agg gathered. Errors: as PostgreSQL has them.
pub(super) fn gathered(arrays: Vec<Option<ArrayValue>>) -> Result<ArrayValue> {
    const UNLIKE: &str = "cannot accumulate arrays of different dimensionality";
    let mut alike: Vec<&ArrayValue> = Vec::with_capacity(arrays.len());
    for array in &arrays {
        match array {
            None => {
                return Err(Error::DataException {
                    state: "22004",
                    message: "cannot accumulate null arrays".to_string(),
                });
            }
            Some(array) => match alike.first() {
                None if array.is_empty() => {
                    return Err(subscript_error("cannot accumulate empty arrays"));
                }
                Some(first) if first.dimensions() != array.dimensions() => {
                    return Err(subscript_error(UNLIKE));
                }
                _ => alike.push(array),
            },
        }
    }
    match alike.is_empty() {
        true => Ok(ArrayValue::default()),
        false => stacked(&alike, UNLIKE),
    }
}

/// One array behind another; an array of one dimension less is put there as one more item. NULL is no array, not an empty one.
pub(super) fn concatenated(
    left: Option<ArrayValue>,
    right: Option<ArrayValue>,
) -> Result<Option<ArrayValue>> {
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return Ok(left.or(right)),
    };
    if left.is_empty() || right.is_empty() {
        return Ok(Some(if left.is_empty() { right } else { left }));
    }
    let (first, second) = (left.dimensions(), right.dimensions());
    let dimensions = match (first.len(), second.len()) {
        (one, other) if one == other => longer(
            &first,
            second[0].length,
            &second[1..],
            "differing element dimensions",
        )?,
        (one, other) if one + 1 == other => longer(&second, 1, &first, "differing dimensions")?,
        (one, other) if one == other + 1 => longer(&first, 1, &second, "differing dimensions")?,
        (one, other) => {
            let detail =
                format!("Arrays of {one} and {other} dimensions are not compatible for concatenation.");
            return Err(not_joinable(detail));
        }
    };
    check_bounds(&dimensions)?;
    let mut items = left.into_items();
    items.extend(right);
    Ok(Some(ArrayValue::shaped(items, &dimensions)))
}

/// The dimensions, the first longer by so many, for what is added is inside of these. Errors: 2202E when it is not as they are inside.
fn longer(
    dimensions: &[Dimension],
    more: i32,
    inside: &[Dimension],
    differing: &str,
) -> Result<Vec<Dimension>> {
    let mut made = dimensions.to_vec();
    match made.split_first_mut() {
        Some((first, inner)) if *inner == *inside => first.length = first.length.saturating_add(more),
        _ => {
            return Err(not_joinable(format!(
                "Arrays with {differing} are not compatible for concatenation."
            )));
        }
    }
    Ok(made)
}

fn not_joinable(detail: String) -> Error {
    refused("cannot concatenate incompatible arrays", detail)
}

fn refused(message: &str, detail: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::RefusedValue {
        state: "2202E",
        message: message.to_string(),
        detail: Some(detail.into()),
        hint: None,
    }
}

/// The item behind the others. Errors: 22000 for an array of several dimensions.
pub(super) fn appended(array: Option<ArrayValue>, item: Value) -> Result<ArrayValue> {
    with_one_more(array, |items| items.push(item))
}

/// Likewise before them; the first subscript stays.
pub(super) fn prepended(item: Value, array: Option<ArrayValue>) -> Result<ArrayValue> {
    with_one_more(array, |items| items.insert(0, item))
}

fn with_one_more(array: Option<ArrayValue>, put: impl FnOnce(&mut Vec<Value>)) -> Result<ArrayValue> {
    let array = array.unwrap_or_default();
    let dimensions = array.dimensions();
    let lower = match dimensions.as_slice() {
        [] => 1,
        [only] => only.lower,
        _ => {
            return Err(Error::DataException {
                state: "22000",
                message: "argument must be empty or one-dimensional array".to_string(),
            });
        }
    };
    let mut items = array.into_items();
    put(&mut items);
    let dimension = Dimension {
        lower,
        ..Dimension::of(items.len())
    };
    check_bounds(&[dimension])?;
    Ok(ArrayValue::shaped(items, &[dimension]))
}

/// An array of one value, as long as these lengths say, which counts from 1 or from these subscripts. Errors: as PostgreSQL has them.
pub(super) fn filled(
    value: &Value,
    lengths: Option<ArrayValue>,
    lowers: Option<Option<ArrayValue>>,
) -> Result<ArrayValue> {
    let lengths = numbers_of(lengths)?;
    check_dimension_count(lengths.len())?;
    let lowers = match lowers {
        Some(lowers) => numbers_of(lowers)?,
        None => vec![1; lengths.len()],
    };
    if lowers.len() != lengths.len() {
        return Err(wrong_number(
            "Low bound array has different size than dimensions array.",
        ));
    }
    let dimensions = lengths.into_iter().zip(lowers);
    let dimensions: Vec<Dimension> = dimensions
        .map(|(length, lower)| Dimension { length, lower })
        .collect();
    check_bounds(&dimensions)?;
    match element_count(&dimensions) {
        Some(count) if count <= super::SET_ROWS_MAX => {
            Ok(ArrayValue::shaped(vec![value.clone(); count], &dimensions))
        }
        _ => Err(too_long()),
    }
}

/// More items than an array is made with at once. 54000.
pub(super) fn too_long() -> Error {
    Error::LimitExceeded {
        state: crate::error::Limit::Program,
        message: format!("array size exceeds the maximum allowed ({})", super::SET_ROWS_MAX),
        hint: "Ask for a shorter array.".to_string(),
    }
}

/// Lengths or subscripts, one a dimension.
fn numbers_of(numbers: Option<ArrayValue>) -> Result<Vec<i32>> {
    let refuse = |message: &str| Error::DataException {
        state: "22004",
        message: message.to_string(),
    };
    let numbers = numbers.ok_or_else(|| refuse("dimension array or low bound array cannot be null"))?;
    if numbers.dimensions().len() > 1 {
        return Err(wrong_number("Dimension array must be one dimensional."));
    }
    let number = |number: &Value| match number {
        Value::Int(number) => i32::try_from(*number).map_err(|_| super::mismatched_types()),
        _ => Err(refuse("dimension values cannot be null")),
    };
    numbers.iter().map(number).collect()
}

fn wrong_number(detail: &'static str) -> Error {
    refused("wrong number of array subscripts", detail)
}

/// The array without so many of its last items, arrays themselves where it has several dimensions.
pub(super) fn trimmed(array: &ArrayValue, dropped: i32) -> Result<ArrayValue> {
    let first = array.dimensions().first().copied();
    let length = first.map_or(0, |first| first.length);
    if dropped < 0 || dropped > length {
        return Err(subscript_error(&format!(
            "number of elements to trim must be between 0 and {length}"
        )));
    }
    let upper = first.map(|first| first.upper() - dropped);
    Ok(sliced(array, &[(None, upper)]))
}

/// The part of an array between subscripts, a pair a dimension, of which a missing one is the array's own; counted from 1.
pub(super) fn sliced(array: &ArrayValue, limits: &[(Option<i32>, Option<i32>)]) -> ArrayValue {
    let dimensions = array.dimensions();
    if dimensions.len() < limits.len() {
        return ArrayValue::default();
    }
    let within = |(at, dimension): (usize, &Dimension)| {
        let (lower, upper) = limits.get(at).copied().unwrap_or_default();
        let lower = lower.map_or(dimension.lower, |lower| lower.max(dimension.lower));
        let upper = upper.map_or(dimension.upper(), |upper| upper.min(dimension.upper()));
        (lower <= upper).then(|| lower - dimension.lower..upper - dimension.lower + 1)
    };
    let Some(ranges) = dimensions
        .iter()
        .enumerate()
        .map(within)
        .collect::<Option<Vec<_>>>()
    else {
        return ArrayValue::default();
    };
    let made: Vec<Dimension> = ranges.iter().map(|range| Dimension::of(range.len())).collect();
    let places = places_in(&dimensions, &ranges);
    let items = places.into_iter().filter_map(|place| array.get(place).cloned());
    ArrayValue::shaped(items.collect(), &made)
}

/// The places of the items that stand within these ranges, one a dimension, counted from 0.
pub(super) fn places_in(dimensions: &[Dimension], ranges: &[std::ops::Range<i32>]) -> Vec<usize> {
    let mut places = vec![0_usize];
    for (dimension, range) in dimensions.iter().zip(ranges) {
        let length = dimension.length as usize;
        let steps = |place: usize| range.clone().map(move |step| place * length + step as usize);
        places = places.into_iter().flat_map(steps).collect();
    }
    places
}

/// The place of the item that subscripts lead to, one a dimension; `None`: to none.
pub(super) fn place_of(dimensions: &[Dimension], subscripts: &[i32]) -> Option<usize> {
    if dimensions.len() != subscripts.len() || subscripts.is_empty() {
        return None;
    }
    dimensions
        .iter()
        .zip(subscripts)
        .try_fold(0, |place, (dimension, subscript)| {
            let step = subscript.checked_sub(dimension.lower)?;
            let is_within = (0..dimension.length).contains(&step);
            is_within.then(|| place * dimension.length as usize + step as usize)
        })
}
