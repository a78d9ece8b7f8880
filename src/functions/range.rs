//! Functions and operators of ranges and multiranges. What they compute is `types`' own.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T, mismatched_types};
use crate::types::{MultirangeValue, RangeBound, RangeKind, RangeValue, SqlType, Value, element_type};
use crate::{Error, Result};

const R: T = T::AnyRange;
const M: T = T::AnyMultirange;

/// A function of two ranges, of a range and a multirange, and of two multiranges.
macro_rules! of_pairs {
    ($name:literal, $body:expr) => {
        [
            FunctionDef::new($name, &[R, R], T::Bool, $body),
            FunctionDef::new($name, &[R, M], T::Bool, $body),
            FunctionDef::new($name, &[M, R], T::Bool, $body),
            FunctionDef::new($name, &[M, M], T::Bool, $body),
        ]
    };
}

/// A test of a range and of a multirange.
macro_rules! of_each {
    ($name:literal, $returns:expr, $body:expr) => {
        [
            FunctionDef::new($name, &[R], $returns, $body).bounded(),
            FunctionDef::new($name, &[M], $returns, $body).bounded(),
        ]
    };
}

/// What makes a range of two bounds, and a multirange of ranges.
macro_rules! constructors {
    ($kind:ident, $bound:expr, $range:literal, $multirange:literal) => {
        [
            FunctionDef::new($range, &[$bound, $bound], T::Range(RangeKind::$kind), |b| {
                made(b, RangeKind::$kind)
            })
            .on_null(),
            FunctionDef::new(
                $range,
                &[$bound, $bound, T::Text],
                T::Range(RangeKind::$kind),
                |b| made(b, RangeKind::$kind),
            )
            .on_null(),
            FunctionDef::new($multirange, &[], T::Multirange(RangeKind::$kind), |b| {
                gathered(b, RangeKind::$kind)
            }),
            FunctionDef::new(
                $multirange,
                &[T::Range(RangeKind::$kind)],
                T::Multirange(RangeKind::$kind),
                |b| gathered(b, RangeKind::$kind),
            )
            .variadic(),
        ]
    };
}

pub(super) static CONSTRUCTORS: &[[FunctionDef; 4]] = &[
    constructors!(Int4, T::Int4, "int4range", "int4multirange"),
    constructors!(Int8, T::Int8, "int8range", "int8multirange"),
    constructors!(Numeric, T::Numeric, "numrange", "nummultirange"),
    constructors!(Date, T::Date, "daterange", "datemultirange"),
    constructors!(Timestamp, T::Timestamp, "tsrange", "tsmultirange"),
    constructors!(TimestampTz, T::TimestampTz, "tstzrange", "tstzmultirange"),
];

pub(super) static COMPARISONS: &[[FunctionDef; 4]] = &[
    of_pairs!("@>", |b| test(b, |a, b| a.contains(b))),
    of_pairs!("<@", |b| test(b, |a, b| b.contains(a))),
    of_pairs!("&&", |b| test(b, |a, b| a.overlaps(b))),
    of_pairs!("<<", |b| test_spans(b, |a, b| a.is_before(b))),
    of_pairs!(">>", |b| test_spans(b, |a, b| b.is_before(a))),
    of_pairs!("&<", |b| test_spans(b, |a, b| a.ends_within(b))),
    of_pairs!("&>", |b| test_spans(b, |a, b| a.starts_within(b))),
    of_pairs!("-|-", |b| test_spans(b, |a, b| a.is_adjacent(b))),
];

pub(super) static PARTS: &[[FunctionDef; 2]] = &[
    of_each!("lower", T::AnyElement, |b| bound_of(b, |(lower, _)| lower)),
    of_each!("upper", T::AnyElement, |b| bound_of(b, |(_, upper)| upper)),
    of_each!("isempty", T::Bool, |b| of_span(b, |range| range.is_empty())),
    of_each!("lower_inc", T::Bool, |b| of_bounds(b, |(lower, _)| lower
        .inclusive)),
    of_each!("upper_inc", T::Bool, |b| of_bounds(b, |(_, upper)| upper
        .inclusive)),
    of_each!("lower_inf", T::Bool, |b| of_bounds(b, |(lower, _)| lower
        .value
        .is_none())),
    of_each!("upper_inf", T::Bool, |b| of_bounds(b, |(_, upper)| upper
        .value
        .is_none())),
];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("@>", &[R, T::AnyElement], T::Bool, |b| contains_value(b, 0, 1)),
    FunctionDef::new("@>", &[M, T::AnyElement], T::Bool, |b| contains_value(b, 0, 1)),
    FunctionDef::new("<@", &[T::AnyElement, R], T::Bool, |b| contains_value(b, 1, 0)),
    FunctionDef::new("<@", &[T::AnyElement, M], T::Bool, |b| contains_value(b, 1, 0)),
    FunctionDef::new("+", &[R, R], R, |b| {
        of_ranges(b, |a, b| a.union(b).map(Value::Range))
    }),
    FunctionDef::new("-", &[R, R], R, |b| {
        of_ranges(b, |a, b| a.difference(b).map(Value::Range))
    }),
    FunctionDef::new("*", &[R, R], R, |b| {
        of_ranges(b, |a, b| Ok(Value::Range(a.intersection(b))))
    }),
    FunctionDef::new("range_merge", &[R, R], R, |b| {
        of_ranges(b, |a, b| Ok(Value::Range(a.merge(b))))
    }),
    FunctionDef::new("+", &[M, M], M, |b| of_multiranges(b, MultirangeValue::union)),
    FunctionDef::new("-", &[M, M], M, |b| {
        of_multiranges(b, MultirangeValue::difference)
    }),
    FunctionDef::new("*", &[M, M], M, |b| {
        of_multiranges(b, MultirangeValue::intersection)
    }),
    FunctionDef::new("range_merge", &[M], R, |b| {
        b.map_values(|values| Ok(Value::Range(set_of(&values[0])?.span())))
    }),
    FunctionDef::new("multirange", &[R], M, |b| {
        b.map_values(|values| Ok(Value::Multirange(set_of(&values[0])?)))
    }),
    FunctionDef::rows("unnest", &[M], R, |b| {
        b.map_values(|values| {
            let ranges = set_of(&values[0])?.ranges;
            Ok(ranges.into_iter().map(Value::Range).collect::<Vec<_>>())
        })
    }),
    // What range_agg and range_intersect_agg make of what they have gathered.
    FunctionDef::new("range_list_union", &[T::AnyArray], T::Any, |b| {
        b.map_values(|values| list_union(values, b))
    })
    .computed(|types, _| match element_type(&types[0]) {
        SqlType::Range(kind) | SqlType::Multirange(kind) => SqlType::Multirange(*kind),
        other => other.clone(),
    }),
    FunctionDef::new("range_list_intersection", &[T::AnyArray], T::AnyElement, |b| {
        b.map_values(list_intersection)
    }),
];

/// A range or multirange as a set of ranges.
fn set_of(value: &Value) -> Result<MultirangeValue> {
    match value {
        Value::Range(range) => Ok(MultirangeValue::new(range.kind, [range.clone()])),
        Value::Multirange(ranges) => Ok(ranges.clone()),
        _ => Err(mismatched_types()),
    }
}

/// A range, or the least that holds all of a multirange.
fn span_of(value: &Value) -> Result<RangeValue> {
    match value {
        Value::Range(range) => Ok(range.clone()),
        Value::Multirange(ranges) => Ok(ranges.span()),
        _ => Err(mismatched_types()),
    }
}

fn test(batch: &Batch, test: impl Fn(&MultirangeValue, &MultirangeValue) -> bool) -> Result<ArrayRef> {
    batch.map_values(|values| Ok(test(&set_of(&values[0])?, &set_of(&values[1])?)))
}

fn test_spans(batch: &Batch, test: impl Fn(&RangeValue, &RangeValue) -> bool) -> Result<ArrayRef> {
    batch.map_values(|values| Ok(test(&span_of(&values[0])?, &span_of(&values[1])?)))
}

fn of_span(batch: &Batch, test: impl Fn(&RangeValue) -> bool) -> Result<ArrayRef> {
    batch.map_values(|values| Ok(test(&span_of(&values[0])?)))
}

/// False for what is empty.
fn of_bounds(batch: &Batch, test: impl Fn(&(RangeBound, RangeBound)) -> bool) -> Result<ArrayRef> {
    of_span(batch, |range| range.bounds.as_deref().is_some_and(&test))
}

fn bound_of(batch: &Batch, side: impl Fn(&(RangeBound, RangeBound)) -> &RangeBound) -> Result<ArrayRef> {
    batch.map_values(|values| {
        let range = span_of(&values[0])?;
        let bound = range
            .bounds
            .as_deref()
            .and_then(|bounds| side(bounds).value.clone());
        Ok(bound.unwrap_or(Value::Null))
    })
}

fn contains_value(batch: &Batch, set: usize, value: usize) -> Result<ArrayRef> {
    batch.map_values(|values| Ok(set_of(&values[set])?.contains_value(&values[value])))
}

fn of_ranges(batch: &Batch, compute: impl Fn(&RangeValue, &RangeValue) -> Result<Value>) -> Result<ArrayRef> {
    batch.map_values(|values| match values {
        [Value::Range(a), Value::Range(b)] => compute(a, b),
        _ => Err(mismatched_types()),
    })
}

fn of_multiranges(
    batch: &Batch,
    compute: impl Fn(&MultirangeValue, &MultirangeValue) -> MultirangeValue,
) -> Result<ArrayRef> {
    batch.map_values(|values| match values {
        [Value::Multirange(a), Value::Multirange(b)] => Ok(Value::Multirange(compute(a, b))),
        _ => Err(mismatched_types()),
    })
}

/// Errors: 22000 for a lower bound above the upper, 42601 and 22000 for flags that are none.
fn made(batch: &Batch, kind: RangeKind) -> Result<ArrayRef> {
    batch.map_values(|values| {
        let flags = match values.get(2) {
            None => "[)",
            Some(Value::Text(flags)) => flags,
            Some(_) => {
                return Err(Error::DataException {
                    state: "22000",
                    message: "range constructor flags argument must not be null".to_string(),
                });
            }
        };
        let (opens, closes) = match flags {
            "[]" => (true, true),
            "[)" => (true, false),
            "(]" => (false, true),
            "()" => (false, false),
            _ => {
                return Err(Error::InvalidStatement {
                    state: crate::error::StatementFault::Syntax,
                    message: "invalid range bound flags".to_string(),
                    hint: Some("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".".to_string()),
                });
            }
        };
        let bound = |value: &Value, inclusive| RangeBound {
            value: Some(value.clone()).filter(|value| *value != Value::Null),
            inclusive,
        };
        let range = RangeValue::new(kind, bound(&values[0], opens), bound(&values[1], closes))?;
        Ok(Value::Range(range))
    })
}

fn gathered(batch: &Batch, kind: RangeKind) -> Result<ArrayRef> {
    batch.map_values(|values| {
        let mut ranges = Vec::with_capacity(values.len());
        for value in values {
            ranges.extend(set_of(value)?.ranges);
        }
        Ok(Value::Multirange(MultirangeValue::new(kind, ranges)))
    })
}

/// All ranges of a list; NULL where there is none.
fn list_union(values: &[Value], batch: &Batch) -> Result<Value> {
    let Some(Value::Array(items)) = values.first() else {
        return Err(mismatched_types());
    };
    let is_there = |item: &&Value| matches!(item, Value::Range(_) | Value::Multirange(_));
    let items: Vec<&Value> = items.iter().filter(is_there).collect();
    if items.is_empty() {
        return Ok(Value::Null);
    }
    let SqlType::Multirange(kind) = batch.returns else {
        return Err(mismatched_types());
    };
    let mut ranges = Vec::new();
    for item in items {
        ranges.extend(set_of(item)?.ranges);
    }
    Ok(Value::Multirange(MultirangeValue::new(*kind, ranges)))
}

/// What all ranges, or multiranges, of a list have in common; NULL where there is none.
fn list_intersection(values: &[Value]) -> Result<Value> {
    let Some(Value::Array(items)) = values.first() else {
        return Err(mismatched_types());
    };
    let is_there = |item: &&Value| matches!(item, Value::Range(_) | Value::Multirange(_));
    let mut items = items.iter().filter(is_there);
    let Some(first) = items.next() else {
        return Ok(Value::Null);
    };
    items.try_fold(first.clone(), |common, item| match (&common, item) {
        (Value::Range(a), Value::Range(b)) => Ok(Value::Range(a.intersection(b))),
        (Value::Multirange(a), Value::Multirange(b)) => Ok(Value::Multirange(a.intersection(b))),
        _ => Err(mismatched_types()),
    })
}
