//! Arrays: construction, subscripts, quantified comparisons, and the functions over them.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use arrow::compute::take;
use arrow::datatypes::Int32Type;

use super::argument::{Dimensions, Length};
use super::array_shape::{
    appended, array_items, concatenated, dimension_of, filled, gathered, place_of, prepended, sliced,
    subscript_error, trimmed,
};
use super::cast::output_text;
use super::size::LimitedText;
use super::{Batch, Body, FunctionDef, T, mismatched_types};
use crate::system::datafusion_error::from_arrow;
use crate::types::{
    ArrayValue, Dimension, SqlType, Value, array_column, comparable_text, dimensions_at, element_type,
    items_of, lists_of, shapes_of,
};
use crate::{Error, Result};

/// The name of `x = ANY (array)`, which becomes an IN list once the array is known.
pub const ANY_EQUAL_NAME: &str = "any_equal";

/// `ARRAY[…]`, or a list of what a call gives.
pub const MAKE_ARRAY: Body = Body::Batch(|b| {
    let holds_arrays = matches!(b.arguments.first(), Some(SqlType::Array(_)));
    match b.returns.is_list() {
        true => b.map_values(<[Value]>::to_vec),
        false => b.map_values(|items| array_items(items, holds_arrays)),
    }
});
/// The items of an array as a list.
pub const ITEMS: Body = Body::Batch(items);
/// The list that array_agg gathered as an array. Arrays make one when they are alike.
pub const GATHERED: Body = Body::Batch(|b| match element_type(&b.arguments[0]) {
    SqlType::Array(_) => b.map1(gathered),
    _ => {
        let lists = lists_of(&b.arrays[0]).ok_or_else(mismatched_types)?;
        Ok(array_column(lists, None))
    }
});
/// `a[i]`, with as many subscripts as are written.
pub const SUBSCRIPT: Body = Body::Batch(subscript);
/// `a[i:j]`: the array, then two limits a dimension.
pub const SLICE: Body = Body::Batch(|b| b.map_rest(slice));
/// The numbers 1 … of the items of the longest of some arrays, for WITH ORDINALITY.
pub const ORDINALITY: Body = Body::Batch(|b| {
    b.map_rest(|first: Option<Length>, rest: Vec<Option<Length>>| {
        let lengths = rest.into_iter().chain([first]).flatten();
        let longest = lengths.map(|Length(count)| count).max().unwrap_or(0);
        (1..=i64::from(longest)).collect::<Vec<i64>>()
    })
});

/// The array, or one of a NULL where it has no items: the row that LEFT JOIN LATERAL keeps.
pub const AT_LEAST_ONE: Body = Body::Batch(|b| {
    b.map1(|items: Option<Vec<Value>>| match items {
        Some(items) if !items.is_empty() => items,
        _ => vec![Value::Null],
    })
});

/// `x op ANY (array)` or `x op ALL (array)`.
pub fn quantified(symbol: &str, all: bool) -> Option<(&'static str, Body)> {
    Some(match (symbol, all) {
        ("=", false) => (ANY_EQUAL_NAME, Body::Batch(|b| any(b, Ordering::is_eq))),
        ("<>", false) => ("any_not_equal", Body::Batch(|b| any(b, Ordering::is_ne))),
        ("<", false) => ("any_less", Body::Batch(|b| any(b, Ordering::is_lt))),
        ("<=", false) => ("any_less_equal", Body::Batch(|b| any(b, Ordering::is_le))),
        (">", false) => ("any_greater", Body::Batch(|b| any(b, Ordering::is_gt))),
        (">=", false) => ("any_greater_equal", Body::Batch(|b| any(b, Ordering::is_ge))),
        ("=", true) => ("all_equal", Body::Batch(|b| all_of(b, Ordering::is_eq))),
        ("<>", true) => ("all_not_equal", Body::Batch(|b| all_of(b, Ordering::is_ne))),
        ("<", true) => ("all_less", Body::Batch(|b| all_of(b, Ordering::is_lt))),
        ("<=", true) => ("all_less_equal", Body::Batch(|b| all_of(b, Ordering::is_le))),
        (">", true) => ("all_greater", Body::Batch(|b| all_of(b, Ordering::is_gt))),
        (">=", true) => ("all_greater_equal", Body::Batch(|b| all_of(b, Ordering::is_ge))),
        _ => return None,
    })
}

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::rows("unnest", &[T::AnyArray], T::AnyElement, items),
    FunctionDef::rows("generate_series", &[T::Int4, T::Int4], T::Int4, |b| {
        b.map2(|start, end| narrow_series(start, end, 1))
    }),
    FunctionDef::rows("generate_series", &[T::Int4, T::Int4, T::Int4], T::Int4, |b| {
        b.map3(narrow_series)
    }),
    FunctionDef::rows("generate_series", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(|start, end| series(start, end, 1))
    }),
    FunctionDef::rows("generate_series", &[T::Int8, T::Int8, T::Int8], T::Int8, |b| {
        b.map3(series)
    }),
    FunctionDef::rows("string_to_table", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text: Option<&str>, separator| text.map(|text| split(text, separator, None)))
    })
    .on_null(),
    FunctionDef::rows("string_to_table", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(|text: Option<&str>, separator, null| text.map(|text| split(text, separator, null)))
    })
    .on_null(),
    FunctionDef::new("array_fill", &[T::AnyElement, T::IntArray], T::AnyArray, |b| {
        b.map2(|value: Value, lengths| filled(&value, lengths, None))
    })
    .on_null(),
    FunctionDef::new(
        "array_fill",
        &[T::AnyElement, T::IntArray, T::IntArray],
        T::AnyArray,
        |b| b.map3(|value: Value, lengths, lowers| filled(&value, lengths, Some(lowers))),
    )
    .on_null(),
    FunctionDef::new("width_bucket", &[T::AnyElement, T::AnyArray], T::Int4, |b| {
        b.map2(|operand: Value, bounds: ArrayValue| bucket(&operand, &bounds, &b.arguments[0]))
    }),
    FunctionDef::rows("generate_subscripts", &[T::AnyArray, T::Int4], T::Int4, |b| {
        b.map2(|Dimensions(dimensions), number| subscripts(&dimensions, number, false))
    }),
    FunctionDef::rows(
        "generate_subscripts",
        &[T::AnyArray, T::Int4, T::Bool],
        T::Int4,
        |b| b.map3(|Dimensions(dimensions), number, reverse| subscripts(&dimensions, number, reverse)),
    ),
    FunctionDef::new("array_length", &[T::AnyArray, T::Int4], T::Int4, |b| {
        b.map2(|Dimensions(all), number| dimension_of(&all, number).map(|dimension| dimension.length))
    })
    .bounded(),
    FunctionDef::new("array_upper", &[T::AnyArray, T::Int4], T::Int4, |b| {
        b.map2(|Dimensions(all), number| dimension_of(&all, number).map(|dimension| dimension.upper()))
    }),
    FunctionDef::new("array_lower", &[T::AnyArray, T::Int4], T::Int4, |b| {
        b.map2(|Dimensions(all), number| dimension_of(&all, number).map(|dimension| dimension.lower))
    }),
    FunctionDef::new("array_dims", &[T::AnyArray], T::Text, |b| {
        b.map1(|Dimensions(all)| {
            let bounds = all.iter().map(|one| format!("[{}:{}]", one.lower, one.upper()));
            (!all.is_empty()).then(|| bounds.collect::<String>())
        })
    }),
    FunctionDef::new("array_ndims", &[T::AnyArray], T::Int4, |b| {
        b.map1(|Dimensions(all)| i32::try_from(all.len()).ok().filter(|count| *count > 0))
    }),
    FunctionDef::new("cardinality", &[T::AnyArray], T::Int4, |b| {
        b.map1(|Length(count)| count)
    })
    .bounded(),
    FunctionDef::new("trim_array", &[T::AnyArray, T::Int4], T::AnyArray, |b| {
        b.map2(|array: ArrayValue, dropped| trimmed(&array, dropped))
    }),
    FunctionDef::new("array_append", &[T::AnyArray, T::AnyElement], T::AnyArray, |b| {
        b.map2(appended)
    })
    .on_null(),
    FunctionDef::new("array_prepend", &[T::AnyElement, T::AnyArray], T::AnyArray, |b| {
        b.map2(prepended)
    })
    .on_null(),
    FunctionDef::new("array_cat", &[T::AnyArray, T::AnyArray], T::AnyArray, |b| {
        b.map2(concatenated)
    })
    .on_null(),
    FunctionDef::new("||", &[T::AnyArray, T::AnyArray], T::AnyArray, |b| {
        b.map2(concatenated)
    })
    .on_null(),
    FunctionDef::new("||", &[T::AnyArray, T::AnyElement], T::AnyArray, |b| {
        b.map2(appended)
    })
    .on_null(),
    FunctionDef::new("||", &[T::AnyElement, T::AnyArray], T::AnyArray, |b| {
        b.map2(prepended)
    })
    .on_null(),
    FunctionDef::new("array_position", &[T::AnyArray, T::AnyElement], T::Int4, |b| {
        b.map2(|array, wanted: Value| position(array, &wanted, Some(i32::MIN), b))
    })
    .on_null(),
    FunctionDef::new(
        "array_position",
        &[T::AnyArray, T::AnyElement, T::Int4],
        T::Int4,
        |b| b.map3(|array, wanted: Value, from| position(array, &wanted, from, b)),
    )
    .on_null(),
    FunctionDef::new("array_positions", &[T::AnyArray, T::AnyElement], T::Int4, |b| {
        b.map2(|array: ArrayValue, wanted: Value| positions(&array, &wanted, b))
    })
    .array(T::Int4)
    .on_null(),
    FunctionDef::new("array_remove", &[T::AnyArray, T::AnyElement], T::AnyArray, |b| {
        b.map2(|array: ArrayValue, unwanted: Value| without(array, &unwanted, b))
    })
    .on_null(),
    FunctionDef::new(
        "array_replace",
        &[T::AnyArray, T::AnyElement, T::AnyElement],
        T::AnyArray,
        |b| b.map3(|array: ArrayValue, old: Value, new: Value| replaced(array, &old, &new, b)),
    )
    .on_null(),
    FunctionDef::new("array_to_string", &[T::AnyArray, T::Text], T::Text, |b| {
        b.map2(|items: Vec<Value>, separator| joined(&items, separator, None, b))
    }),
    FunctionDef::new(
        "array_to_string",
        &[T::AnyArray, T::Text, T::Text],
        T::Text,
        |b| b.map3(|items: Vec<Value>, separator, null| joined(&items, separator, null, b)),
    )
    .on_null(),
    FunctionDef::new("string_to_array", &[T::Text, T::Text], T::Text, |b| {
        b.map2(|text, separator| split(text, separator, None))
    })
    .array(T::Text)
    .on_null(),
    FunctionDef::new("string_to_array", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(split)
    })
    .array(T::Text)
    .on_null(),
    FunctionDef::new("@>", &[T::AnyArray, T::AnyArray], T::Bool, |b| {
        b.map2(|whole: Vec<Value>, part: Vec<Value>| contains(&whole, &part, b))
    }),
    FunctionDef::new("<@", &[T::AnyArray, T::AnyArray], T::Bool, |b| {
        b.map2(|part: Vec<Value>, whole: Vec<Value>| contains(&whole, &part, b))
    }),
    FunctionDef::new("&&", &[T::AnyArray, T::AnyArray], T::Bool, |b| {
        b.map2(|left: Vec<Value>, right: Vec<Value>| overlaps(&left, &right, b))
    }),
];

/// The items of each array as a list.
fn items(batch: &Batch) -> Result<ArrayRef> {
    match lists_of(&batch.arrays[0]) {
        Some(lists) => Ok(Arc::new(lists)),
        None => Err(mismatched_types()),
    }
}

/// The item that each row's subscripts lead to; those of vectors count from 0.
pub(super) fn subscript(batch: &Batch) -> Result<ArrayRef> {
    let (array, ty) = (&batch.arrays[0], &batch.arguments[0]);
    let Some(lists) = items_of(array) else {
        return Err(Error::DatatypeMismatch {
            message: format!(
                "cannot subscript type {} because it does not support subscripting",
                ty.full_base_name()
            ),
            hint: None,
        });
    };
    let (first, shapes) = (i32::from(!ty.is_vector()), shapes_of(array));
    let given: Vec<&Int32Array> = batch.arrays[1..]
        .iter()
        .map(|subscripts| subscripts.as_primitive::<Int32Type>())
        .collect();
    let places = lists.offsets().windows(2).enumerate().map(|(row, bounds)| {
        let is_known = array.is_valid(row) && given.iter().all(|given| given.is_valid(row));
        let subscripts = given.iter().filter(|_| is_known).map(|given| given.value(row));
        let step = match (shapes.filter(|shapes| shapes.is_valid(row)), given.as_slice()) {
            (None, [only]) if is_known => only.value(row).checked_sub(first)?,
            (None, _) => return None,
            (Some(_), _) => {
                let dimensions = dimensions_at(array, row)?;
                let place = place_of(&dimensions, &subscripts.collect::<Vec<i32>>())?;
                i32::try_from(place).ok()?
            }
        };
        let place = (step >= 0).then(|| bounds[0].checked_add(step)).flatten()?;
        (place < bounds[1]).then_some(place)
    });
    let places: Int32Array = places.collect();
    take(lists.values(), &places, None).map_err(|error| from_arrow(&error))
}

/// The part of an array between pairs of limits. A limit that is not written is beyond what an array can have; one that is NULL makes NULL
/// of the slice.
fn slice(array: ArrayValue, limits: Vec<Option<i32>>) -> Option<ArrayValue> {
    let limits: Vec<i32> = limits.into_iter().collect::<Option<_>>()?;
    let (pairs, _) = limits.as_chunks::<2>();
    let pairs = pairs.iter().map(|[lower, upper]| (Some(*lower), Some(*upper)));
    Some(sliced(&array, &pairs.collect::<Vec<_>>()))
}

/// The subscripts of a dimension.
fn subscripts(dimensions: &[Dimension], number: i32, reverse: bool) -> Vec<i32> {
    let Some(dimension) = dimension_of(dimensions, number) else {
        return Vec::new();
    };
    let subscripts = dimension.lower..=dimension.upper();
    match reverse {
        true => subscripts.rev().collect(),
        false => subscripts.collect(),
    }
}

fn series(start: i64, end: i64, step: i64) -> Result<Vec<i64>> {
    if step == 0 {
        return Err(Error::InvalidParameter {
            message: "step size cannot equal zero".to_string(),
            hint: None,
        });
    }
    let (mut numbers, mut next) = (Vec::new(), Some(start));
    while let Some(number) = next.filter(|next| (step > 0 && *next <= end) || (step < 0 && *next >= end)) {
        if numbers.len() >= super::SET_ROWS_MAX {
            return Err(super::too_many_rows());
        }
        numbers.push(number);
        next = number.checked_add(step);
    }
    Ok(numbers)
}

/// How many of the sorted bounds are not above the operand.
fn bucket(operand: &Value, bounds: &ArrayValue, ty: &SqlType) -> Result<Option<i32>> {
    if *operand == Value::Null {
        return Ok(None);
    }
    if bounds.dimensions().len() > 1 {
        return Err(subscript_error("thresholds must be one-dimensional array"));
    }
    let mut count = 0;
    for bound in bounds {
        match order(operand, bound, ty)? {
            None => {
                return Err(Error::DataException {
                    state: "22004",
                    message: "thresholds array must not contain NULLs".to_string(),
                });
            }
            Some(Ordering::Less) => {}
            Some(_) => count += 1,
        }
    }
    Ok(Some(count))
}

/// Numbers between two integers are integers.
fn narrow_series(start: i32, end: i32, step: i32) -> Result<Vec<i32>> {
    let numbers = series(start.into(), end.into(), step.into())?;
    Ok(numbers.into_iter().map(|number| number as i32).collect())
}

/// Whether an item is the one looked for: NULL is one too here.
pub(super) fn is_same(item: &Value, wanted: &Value, ty: &SqlType) -> Result<bool> {
    Ok(match order(item, wanted, ty)? {
        Some(order) => order.is_eq(),
        None => *item == Value::Null && *wanted == Value::Null,
    })
}

/// The subscript of an array's first item; 1 without one. Errors: 0A000 for several dimensions.
fn only_lower(array: &ArrayValue, ty: &SqlType, what: &str) -> Result<i32> {
    match array.dimensions().as_slice() {
        _ if ty.is_vector() => Ok(0),
        [] => Ok(1),
        [only] => Ok(only.lower),
        _ => Err(Error::unsupported(
            format!("{what} multidimensional arrays"),
            Some("Take them apart with unnest."),
        )),
    }
}

/// The subscripts of the items that are the one looked for.
fn positions(array: &ArrayValue, wanted: &Value, batch: &Batch) -> Result<Vec<i32>> {
    let lower = only_lower(array, &batch.arguments[0], "searching for elements in")?;
    let mut places = Vec::new();
    for (place, item) in (lower..).zip(array) {
        if is_same(item, wanted, &batch.arguments[1])? {
            places.push(place);
        }
    }
    Ok(places)
}

/// The first of them whose subscript is `from` or greater. Where nothing can be found (there are no items, or no NULL among
/// them and that is wanted), nobody asks whether `from` is NULL.
fn position(
    array: Option<ArrayValue>,
    wanted: &Value,
    from: Option<i32>,
    batch: &Batch,
) -> Result<Option<i32>> {
    let Some(array) = array else {
        return Ok(None);
    };
    only_lower(&array, &batch.arguments[0], "searching for elements in")?;
    if array.is_empty() || *wanted == Value::Null && !array.contains(&Value::Null) {
        return Ok(None);
    }
    let from = from.ok_or_else(|| Error::DataException {
        state: "22004",
        message: "initial position must not be null".to_string(),
    })?;
    let places = positions(&array, wanted, batch)?;
    Ok(places.into_iter().find(|place| *place >= from))
}

fn without(array: ArrayValue, unwanted: &Value, batch: &Batch) -> Result<ArrayValue> {
    let lower = only_lower(&array, &batch.arguments[0], "removing elements from")?;
    let mut kept = Vec::with_capacity(array.len());
    for item in array {
        if !is_same(&item, unwanted, &batch.arguments[1])? {
            kept.push(item);
        }
    }
    let dimension = Dimension {
        lower,
        ..Dimension::of(kept.len())
    };
    Ok(ArrayValue::shaped(kept, &[dimension]))
}

fn replaced(array: ArrayValue, old: &Value, new: &Value, batch: &Batch) -> Result<ArrayValue> {
    array.try_map(|item| {
        Ok(match is_same(&item, old, &batch.arguments[1])? {
            true => new.clone(),
            false => item,
        })
    })
}

/// A text cut at each separator, or into its characters when that is NULL; parts equal to the third argument are NULL.
fn split<'t>(text: &'t str, separator: Option<&str>, null: Option<&str>) -> Vec<Option<&'t str>> {
    let parts: Vec<&str> = match separator {
        _ if text.is_empty() => Vec::new(),
        Some("") => vec![text],
        Some(separator) => text.split(separator).collect(),
        None => text
            .char_indices()
            .map(|(at, character)| &text[at..at + character.len_utf8()])
            .collect(),
    };
    parts
        .into_iter()
        .map(|part| Some(part).filter(|part| null != Some(*part)))
        .collect()
}

/// Whether each item of a part has its equal in the whole. No NULL has one.
fn contains(whole: &[Value], part: &[Value], batch: &Batch) -> Result<bool> {
    for item in part {
        if !has_equal(whole, item, batch)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn overlaps(left: &[Value], right: &[Value], batch: &Batch) -> Result<bool> {
    for item in left {
        if has_equal(right, item, batch)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_equal(items: &[Value], wanted: &Value, batch: &Batch) -> Result<bool> {
    let ty = element_type(&batch.arguments[0]);
    for item in items {
        if order(item, wanted, ty)?.is_some_and(Ordering::is_eq) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The items as texts; NULLs as `null`, or left out where that is NULL.
fn joined(items: &[Value], separator: &str, null: Option<&str>, batch: &Batch) -> Result<String> {
    let ty = element_type(&batch.arguments[0]);
    let parts = items.iter().filter_map(|item| match item {
        Value::Null => null.map(str::to_string),
        item => Some(output_text(item, ty, batch.settings)),
    });
    LimitedText::joined(parts, separator, batch.limits())
}

/// Whether some item compares so: NULL when only a NULL might.
fn any(batch: &Batch, test: fn(Ordering) -> bool) -> Result<ArrayRef> {
    batch.map2(|operand: Value, items: Vec<Value>| some(&operand, &items, &batch.arguments[0], test))
}

/// Whether all items compare so, likewise.
fn all_of(batch: &Batch, test: fn(Ordering) -> bool) -> Result<ArrayRef> {
    batch.map2(|operand: Value, items: Vec<Value>| {
        let other = some(&operand, &items, &batch.arguments[0], |order| !test(order));
        other.map(|other| other.map(|other| !other))
    })
}

fn some(
    operand: &Value,
    items: &[Value],
    ty: &SqlType,
    test: impl Fn(Ordering) -> bool,
) -> Result<Option<bool>> {
    let mut found = Some(false);
    for item in items {
        match order(operand, item, ty)? {
            Some(order) if test(order) => return Ok(Some(true)),
            Some(_) => {}
            None => found = None,
        }
    }
    Ok(found)
}

/// The order of two values of one type (or of two arrays, or array items, of it); `None` when either is NULL.
pub(super) fn order(a: &Value, b: &Value, ty: &SqlType) -> Result<Option<Ordering>> {
    Ok(Some(match (a, b) {
        (Value::Null, _) | (_, Value::Null) => return Ok(None),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Enum(a), Value::Enum(b)) => a.compare(b),
        (Value::Float4(a), Value::Float4(b)) => {
            super::compare::order_f32(*a).total_cmp(&super::compare::order_f32(*b))
        }
        (Value::Float8(a), Value::Float8(b)) => {
            super::compare::order_f64(*a).total_cmp(&super::compare::order_f64(*b))
        }
        (Value::Numeric(a), Value::Numeric(b)) => a.cmp(b),
        (Value::Text(a), Value::Text(b)) => match ty {
            SqlType::Jsonb => crate::types::json_key::compare(a, b),
            SqlType::TsVector | SqlType::TsQuery => {
                super::text_search::order_key(a, ty)?.cmp(&super::text_search::order_key(b, ty)?)
            }
            SqlType::Char(_) | SqlType::Citext => comparable_text(ty, a).cmp(&comparable_text(ty, b)),
            SqlType::Array(item) => return order(&Value::Text(a.clone()), &Value::Text(b.clone()), item),
            _ => a.cmp(b),
        },
        (Value::Money(a), Value::Money(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b))
        | (Value::Timestamp(a), Value::Timestamp(b))
        | (Value::TimestampTz(a), Value::TimestampTz(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.span().cmp(&b.span()),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Packed(a), Value::Packed(b)) => a.bytes().cmp(b.bytes()),
        (Value::Array(a), Value::Array(b)) => {
            for (a, b) in a.iter().zip(b) {
                let one = order_within(a, b, ty)?;
                if one.is_ne() {
                    return Ok(Some(one));
                }
            }
            compare_shapes(a, b)
        }
        (Value::Range(a), Value::Range(b)) => a.compare(b),
        (Value::Multirange(a), Value::Multirange(b)) => a.compare(b),
        (Value::Record(a), Value::Record(b)) => {
            let fields = ty.innermost().record_type().map_or(&[][..], |row| &row.fields);
            for ((a, b), field) in a.iter().zip(b).zip(fields) {
                let one = order_within(a, b, &field.ty)?;
                if one.is_ne() {
                    return Ok(Some(one));
                }
            }
            Ordering::Equal
        }
        (a, b) => return Err(Error::internal(format!("no order of {a:?} and {b:?}"))),
    }))
}

/// The order of two arrays whose elements are the same as far as both go: by their number, then by the dimensions, of which first the lengths
/// count.
fn compare_shapes(a: &ArrayValue, b: &ArrayValue) -> Ordering {
    let (one, other) = (a.dimensions(), b.dimensions());
    let lengths = |dimensions: &[Dimension]| dimensions.iter().map(|one| one.length).collect::<Vec<_>>();
    let lowers = |dimensions: &[Dimension]| dimensions.iter().map(|one| one.lower).collect::<Vec<_>>();
    a.len()
        .cmp(&b.len())
        .then(one.len().cmp(&other.len()))
        .then_with(|| lengths(&one).cmp(&lengths(&other)))
        .then_with(|| lowers(&one).cmp(&lowers(&other)))
}

/// The order of two values within an array or a row: NULL is equal to NULL, and behind all others.
fn order_within(a: &Value, b: &Value, ty: &SqlType) -> Result<Ordering> {
    Ok(match order(a, b, ty)? {
        Some(order) => order,
        None => (*a == Value::Null).cmp(&(*b == Value::Null)),
    })
}
