//! `+ - * / %` and unary minus over numbers, with PostgreSQL's result types, truncation and errors (22003, 22012).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};

use super::super::value_array::array_of;
use super::decimal;
use super::{Batch, Body};
use crate::types::value_at;
use crate::types::{Numeric, NumericSize, SqlType, Value};
use crate::{Error, Result};

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
}

impl ArithmeticOp {
    /// As SQL writes it.
    pub fn symbol(self) -> &'static str {
        match self {
            ArithmeticOp::Add => "+",
            ArithmeticOp::Subtract => "-",
            ArithmeticOp::Multiply => "*",
            ArithmeticOp::Divide => "/",
            ArithmeticOp::Modulo => "%",
        }
    }
    /// How it is computed, for operands of one number type (numerics may differ in size).
    pub fn body(self) -> Body {
        match self {
            ArithmeticOp::Add => Body::Batch(|batch| arithmetic(ArithmeticOp::Add, batch)),
            ArithmeticOp::Subtract => Body::Batch(|batch| arithmetic(ArithmeticOp::Subtract, batch)),
            ArithmeticOp::Multiply => Body::Batch(|batch| arithmetic(ArithmeticOp::Multiply, batch)),
            ArithmeticOp::Divide => Body::Batch(|batch| arithmetic(ArithmeticOp::Divide, batch)),
            ArithmeticOp::Modulo => Body::Batch(|batch| arithmetic(ArithmeticOp::Modulo, batch)),
        }
    }
}

/// Digits behind the point that PostgreSQL gives a quotient at least (`NUMERIC_MIN_SIG_DIGITS`).
pub const QUOTIENT_SCALE: u8 = 16;

/// The type of `left op right` for operands that were brought to one number type. Numeric sizes follow PostgreSQL's
/// display scales: the larger one for sums, their sum for products, at least 16 for quotients. A product too wide for
/// 38 digits behind the point becomes a bare numeric.
pub fn arithmetic_result(op: ArithmeticOp, left: &SqlType, right: &SqlType) -> SqlType {
    let (SqlType::Numeric(left), SqlType::Numeric(right)) = (left, right) else {
        return left.clone();
    };
    let (Some(left), Some(right)) = (left, right) else {
        return SqlType::Numeric(None);
    };
    let scale = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Modulo => left.scale.max(right.scale),
        ArithmeticOp::Multiply => left.scale + right.scale,
        ArithmeticOp::Divide => left.scale.max(right.scale).max(QUOTIENT_SCALE),
    };
    if scale > 30 {
        SqlType::Numeric(None)
    } else {
        SqlType::Numeric(Some(NumericSize { precision: 38, scale }))
    }
}

fn arithmetic(op: ArithmeticOp, batch: &Batch) -> Result<ArrayRef> {
    let (left, right) = (&batch.arrays[0], &batch.arrays[1]);
    match batch.returns {
        SqlType::Int2 => integers::<Int16Type>(left, right, "smallint", |a, b| match op {
            ArithmeticOp::Add => Ok(a.checked_add(b)),
            ArithmeticOp::Subtract => Ok(a.checked_sub(b)),
            ArithmeticOp::Multiply => Ok(a.checked_mul(b)),
            ArithmeticOp::Divide => divisor(b).map(|b| a.checked_div(b)),
            ArithmeticOp::Modulo => divisor(b).map(|b| Some(a.wrapping_rem(b))),
        }),
        SqlType::Int4 => integers::<Int32Type>(left, right, "integer", |a, b| match op {
            ArithmeticOp::Add => Ok(a.checked_add(b)),
            ArithmeticOp::Subtract => Ok(a.checked_sub(b)),
            ArithmeticOp::Multiply => Ok(a.checked_mul(b)),
            ArithmeticOp::Divide => divisor(b).map(|b| a.checked_div(b)),
            ArithmeticOp::Modulo => divisor(b).map(|b| Some(a.wrapping_rem(b))),
        }),
        SqlType::Int8 | SqlType::Oid => integers::<Int64Type>(left, right, "bigint", |a, b| match op {
            ArithmeticOp::Add => Ok(a.checked_add(b)),
            ArithmeticOp::Subtract => Ok(a.checked_sub(b)),
            ArithmeticOp::Multiply => Ok(a.checked_mul(b)),
            ArithmeticOp::Divide => divisor(b).map(|b| a.checked_div(b)),
            ArithmeticOp::Modulo => divisor(b).map(|b| Some(a.wrapping_rem(b))),
        }),
        SqlType::Float4 => floats::<Float32Type>(left, right, |a, b| float4(op, a, b)),
        SqlType::Float8 => floats::<Float64Type>(left, right, |a, b| float8(op, a, b)),
        SqlType::Numeric(_) => numerics(op, batch),
        other => Err(Error::internal(format!("no arithmetic of {other}"))),
    }
}

fn divisor<N: PartialEq + Default>(value: N) -> Result<N> {
    if value == N::default() {
        Err(Error::DivisionByZero)
    } else {
        Ok(value)
    }
}

fn integers<P: ArrowPrimitiveType>(
    left: &ArrayRef,
    right: &ArrayRef,
    type_name: &str,
    compute: impl Fn(P::Native, P::Native) -> Result<Option<P::Native>>,
) -> Result<ArrayRef> {
    floats::<P>(left, right, |a, b| match compute(a, b)? {
        Some(number) => Ok(number),
        None => Err(Error::NumericOutOfRange {
            message: format!("{type_name} out of range"),
            detail: None,
        }),
    })
}

fn floats<P: ArrowPrimitiveType>(
    left: &ArrayRef,
    right: &ArrayRef,
    compute: impl Fn(P::Native, P::Native) -> Result<P::Native>,
) -> Result<ArrayRef> {
    let (left, right) = (left.as_primitive::<P>(), right.as_primitive::<P>());
    let mut results: Vec<Option<P::Native>> = Vec::with_capacity(left.len());
    for row in 0..left.len() {
        if left.is_null(row) || right.is_null(row) {
            results.push(None);
        } else {
            results.push(Some(compute(left.value(row), right.value(row))?));
        }
    }
    Ok(Arc::new(results.into_iter().collect::<PrimitiveArray<P>>()))
}

/// Overflow and underflow of finite operands are errors, as PostgreSQL's float8 functions check.
fn float8(op: ArithmeticOp, a: f64, b: f64) -> Result<f64> {
    let result = match op {
        ArithmeticOp::Add => a + b,
        ArithmeticOp::Subtract => a - b,
        ArithmeticOp::Multiply => a * b,
        ArithmeticOp::Divide if b == 0.0 && !a.is_nan() => return Err(Error::DivisionByZero),
        ArithmeticOp::Divide => a / b,
        ArithmeticOp::Modulo => return Err(Error::internal("no modulo of floats")),
    };
    if result.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(Error::NumericOutOfRange {
            message: "value out of range: overflow".to_string(),
            detail: None,
        });
    }
    let vanishing = match op {
        ArithmeticOp::Multiply => a != 0.0 && b != 0.0,
        ArithmeticOp::Divide => a != 0.0 && !b.is_infinite(),
        _ => false,
    };
    if result == 0.0 && vanishing {
        return Err(Error::NumericOutOfRange {
            message: "value out of range: underflow".to_string(),
            detail: None,
        });
    }
    Ok(result)
}

fn float4(op: ArithmeticOp, a: f32, b: f32) -> Result<f32> {
    let wide = float8(op, f64::from(a), f64::from(b))?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rounding to real is what the operator does"
    )]
    let result = wide as f32;
    if result.is_infinite() && wide.is_finite() {
        return Err(Error::NumericOutOfRange {
            message: "value out of range: overflow".to_string(),
            detail: None,
        });
    }
    Ok(result)
}

fn numerics(op: ArithmeticOp, batch: &Batch) -> Result<ArrayRef> {
    if let Some(result) = narrow_sums(op, batch) {
        return Ok(result);
    }
    let (left, right) = (&batch.arrays[0], &batch.arrays[1]);
    let scale = match batch.returns {
        SqlType::Numeric(Some(size)) => Some(size.scale),
        _ => None,
    };
    let mut results = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        let a = value_at(left, row, &batch.arguments[0])?;
        let b = value_at(right, row, &batch.arguments[1])?;
        results.push(match (a, b) {
            (Value::Numeric(a), Value::Numeric(b)) => Value::Numeric(numeric(op, &a, &b, scale)?),
            _ => Value::Null,
        });
    }
    array_of(&results, batch.returns)
}

/// Sums and differences of 128-bit decimals of the result's own scale, without a detour over values; `None` when the
/// operands are others or a result overflows.
fn narrow_sums(op: ArithmeticOp, batch: &Batch) -> Option<ArrayRef> {
    let DataType::Decimal128(precision, scale) = batch.returns.arrow_type() else {
        return None;
    };
    let same_scale =
        |array: &ArrayRef| matches!(array.data_type(), DataType::Decimal128(_, s) if *s == scale);
    if !batch.arrays.iter().all(same_scale) {
        return None;
    }
    let limit = 10_i128.checked_pow(u32::from(precision))?.unsigned_abs();
    let (left, right) = (
        batch.arrays[0].as_primitive::<Decimal128Type>(),
        batch.arrays[1].as_primitive::<Decimal128Type>(),
    );
    let mut results: Vec<Option<i128>> = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        if left.is_null(row) || right.is_null(row) {
            results.push(None);
            continue;
        }
        let number = match op {
            ArithmeticOp::Add => left.value(row).checked_add(right.value(row))?,
            ArithmeticOp::Subtract => left.value(row).checked_sub(right.value(row))?,
            _ => return None,
        };
        if number.unsigned_abs() >= limit {
            return None;
        }
        results.push(Some(number));
    }
    let array = results.into_iter().collect::<PrimitiveArray<Decimal128Type>>();
    Some(Arc::new(array.with_precision_and_scale(precision, scale).ok()?))
}

/// One numeric operation. `scale`: that of the result, `None` for a bare numeric (quotients then
/// have the digits that PostgreSQL gives them).
pub fn numeric(op: ArithmeticOp, a: &Numeric, b: &Numeric, scale: Option<u8>) -> Result<Numeric> {
    match op {
        ArithmeticOp::Add => decimal::add(a, b),
        ArithmeticOp::Subtract => decimal::add(a, &decimal::negate(b)),
        ArithmeticOp::Multiply => decimal::multiply(a, b),
        ArithmeticOp::Divide => {
            // A bare numeric comes with all the places that its column has, whatever its digits.
            let scale = scale.unwrap_or_else(|| decimal::quotient_scale(&a.normalized(), &b.normalized()));
            decimal::divide(a, b, scale)
        }
        ArithmeticOp::Modulo => decimal::modulo(a, b),
    }
}

/// Unary minus.
pub const NEGATE: Body = Body::Batch(negate);

fn negate(batch: &Batch) -> Result<ArrayRef> {
    let array = &batch.arrays[0];
    match batch.returns {
        SqlType::Int2 => negate_integers::<Int16Type>(array, "smallint", |number| number.checked_neg()),
        SqlType::Int4 => negate_integers::<Int32Type>(array, "integer", |number| number.checked_neg()),
        SqlType::Int8 => negate_integers::<Int64Type>(array, "bigint", |number| number.checked_neg()),
        SqlType::Float4 => Ok(Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|number| -number),
        )),
        SqlType::Float8 => Ok(Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|number| -number),
        )),
        _ => {
            let mut results = Vec::with_capacity(batch.rows);
            for row in 0..batch.rows {
                results.push(match value_at(array, row, &batch.arguments[0])? {
                    Value::Numeric(number) => Value::Numeric(decimal::negate(&number)),
                    Value::Interval(interval) => Value::Interval(super::interval::negate_interval(interval)?),
                    other => other,
                });
            }
            array_of(&results, batch.returns)
        }
    }
}

fn negate_integers<P: ArrowPrimitiveType>(
    array: &ArrayRef,
    type_name: &str,
    compute: impl Fn(P::Native) -> Option<P::Native>,
) -> Result<ArrayRef> {
    let array = array.as_primitive::<P>();
    let mut results: Vec<Option<P::Native>> = Vec::with_capacity(array.len());
    for number in array {
        results.push(match number {
            None => None,
            Some(number) => Some(compute(number).ok_or_else(|| Error::NumericOutOfRange {
                message: format!("{type_name} out of range"),
                detail: None,
            })?),
        });
    }
    Ok(Arc::new(results.into_iter().collect::<PrimitiveArray<P>>()))
}
