//! `width_bucket`: which of `count` buckets of one width between two bounds holds a number, from 1; 0 before the first,
//! `count + 1` behind the last. The first bound may be the greater one.

use super::float::out_of_range;
use super::{FunctionDef, T};
use crate::types::Numeric;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new(
        "width_bucket",
        &[T::Float8, T::Float8, T::Float8, T::Int4],
        T::Int4,
        |b| b.map4(of_float),
    ),
    FunctionDef::new(
        "width_bucket",
        &[T::Numeric, T::Numeric, T::Numeric, T::Int4],
        T::Int4,
        |b| b.map4(of_numeric),
    ),
];

fn of_float(operand: f64, first: f64, last: f64, count: i32) -> Result<i32> {
    check_count(count)?;
    if operand.is_nan() || first.is_nan() || last.is_nan() {
        return Err(fault("operand, lower bound, and upper bound cannot be NaN"));
    }
    if first.is_infinite() || last.is_infinite() {
        return Err(fault("lower and upper bounds must be finite"));
    }
    if let Some(bucket) = outside(&operand, &first, &last, count)? {
        return Ok(bucket);
    }
    // Bounds whose distance no double holds are halved first.
    let share = match (last - first).is_infinite() {
        true => (operand / 2.0 - first / 2.0) / (last / 2.0 - first / 2.0),
        false => (operand - first) / (last - first),
    };
    Ok(((f64::from(count) * share) as i32).min(count - 1) + 1)
}

fn of_numeric(operand: Numeric, first: Numeric, last: Numeric, count: i32) -> Result<i32> {
    check_count(count)?;
    if [&operand, &first, &last].contains(&&Numeric::NaN) {
        return Err(fault("operand, lower bound, and upper bound cannot be NaN"));
    }
    if !first.is_finite() || !last.is_finite() {
        return Err(fault("lower and upper bounds must be finite"));
    }
    if let Some(bucket) = outside(&operand, &first, &last, count)? {
        return Ok(bucket);
    }
    let share = operand
        .minus(&first)?
        .times(&Numeric::from_i64(i64::from(count)))?;
    let place = share.whole_quotient(&last.minus(&first)?)?.floor();
    let place = place.and_then(|place| i32::try_from(place).ok());
    Ok(place.ok_or_else(too_many)? + 1)
}

/// The bucket of what no bucket between the bounds holds. Errors: 2201G for bounds without room between them.
fn outside<N: PartialOrd>(operand: &N, first: &N, last: &N, count: i32) -> Result<Option<i32>> {
    if first == last {
        return Err(fault("lower bound cannot equal upper bound"));
    }
    let (is_before, is_behind) = match first < last {
        true => (operand < first, operand >= last),
        false => (operand > first, operand <= last),
    };
    match (is_before, is_behind) {
        (true, _) => Ok(Some(0)),
        (_, true) => count.checked_add(1).ok_or_else(too_many).map(Some),
        _ => Ok(None),
    }
}

fn check_count(count: i32) -> Result<()> {
    match count > 0 {
        true => Ok(()),
        false => Err(fault("count must be greater than zero")),
    }
}

fn too_many() -> Error {
    out_of_range("integer out of range")
}

/// 2201G for buckets that cannot be.
fn fault(message: &str) -> Error {
    Error::DataException {
        state: "2201G",
        message: message.to_string(),
    }
}
