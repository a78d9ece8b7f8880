//! `+ - * / %` and unary minus over numbers, with PostgreSQL's result types, truncation and errors (22003, 22012).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};

use super::float::out_of_range;
use super::{Batch, Body};
use crate::functions::value_array::array_of;
use crate::types::value_at;
use crate::types::{FIXED_PRECISION_MAX, Numeric, NumericSize, SqlType, Value, power_of_ten};
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

/// The type of `left op right` for operands that were brought to one number type. A result of fixed numerics is one too
/// when its scale is known by theirs (the larger one for sums and remainders, both together for products) and 38 digits
/// hold it whatever they are; the scale of a quotient is for the values to decide.
pub fn arithmetic_result(op: ArithmeticOp, left: &SqlType, right: &SqlType) -> SqlType {
    let (SqlType::Numeric(_), SqlType::Numeric(_)) = (left, right) else {
        return left.clone();
    };
    let (Some(left), Some(right)) = (left.fixed_size(), right.fixed_size()) else {
        return SqlType::Numeric(None);
    };
    let whole = |size: NumericSize| size.precision - size.shown_scale();
    let wider = left.shown_scale().max(right.shown_scale());
    let (precision, scale) = match op {
        ArithmeticOp::Add | ArithmeticOp::Subtract => (whole(left).max(whole(right)) + 1 + wider, wider),
        ArithmeticOp::Modulo => (whole(left).max(whole(right)) + wider, wider),
        ArithmeticOp::Multiply => (
            left.precision + right.precision,
            left.shown_scale() + right.shown_scale(),
        ),
        ArithmeticOp::Divide => return SqlType::Numeric(None),
    };
    match precision <= FIXED_PRECISION_MAX {
        true => SqlType::numeric(precision, scale),
        false => SqlType::Numeric(None),
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
        return Err(out_of_range("value out of range: overflow"));
    }
    let vanishing = match op {
        ArithmeticOp::Multiply => a != 0.0 && b != 0.0,
        ArithmeticOp::Divide => a != 0.0 && !b.is_infinite(),
        _ => false,
    };
    if result == 0.0 && vanishing {
        return Err(out_of_range("value out of range: underflow"));
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
        return Err(out_of_range("value out of range: overflow"));
    }
    if result == 0.0 && wide != 0.0 {
        return Err(out_of_range("value out of range: underflow"));
    }
    Ok(result)
}

fn numerics(op: ArithmeticOp, batch: &Batch) -> Result<ArrayRef> {
    if let Some(size) = batch.returns.fixed_size()
        && let Some(result) = fixed_numerics(op, batch, size)?
    {
        return Ok(result);
    }
    batch.map2(|a: Numeric, b: Numeric| numeric(op, &a, &b))
}

/// Operations whose operands and results are 128-bit decimals, all of one scale each. `None`: they are not, or 128 bits
/// do not hold something between.
fn fixed_numerics(op: ArithmeticOp, batch: &Batch, size: NumericSize) -> Result<Option<ArrayRef>> {
    let DataType::Decimal128(precision, scale) = batch.returns.arrow_type() else {
        return Ok(None);
    };
    let raise = |at: usize| {
        let from = batch.arguments[at].fixed_size()?.shown_scale();
        match op {
            ArithmeticOp::Multiply => Some(1),
            _ => power_of_ten(size.shown_scale().checked_sub(from)?),
        }
    };
    let (Some(raise_left), Some(raise_right)) = (raise(0), raise(1)) else {
        return Ok(None);
    };
    let decimals = |at: usize| batch.arrays[at].as_primitive_opt::<Decimal128Type>();
    let (Some(left), Some(right)) = (decimals(0), decimals(1)) else {
        return Ok(None);
    };
    let mut results: Vec<Option<i128>> = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        if left.is_null(row) || right.is_null(row) {
            results.push(None);
            continue;
        }
        let (a, b) = (
            left.value(row).checked_mul(raise_left),
            right.value(row).checked_mul(raise_right),
        );
        let (Some(a), Some(b)) = (a, b) else {
            return Ok(None);
        };
        let number = match op {
            ArithmeticOp::Add => a.checked_add(b),
            ArithmeticOp::Subtract => a.checked_sub(b),
            ArithmeticOp::Multiply => a.checked_mul(b),
            ArithmeticOp::Modulo => a.checked_rem(divisor(b)?),
            ArithmeticOp::Divide => None,
        };
        match number {
            Some(number) => results.push(Some(number)),
            None => return Ok(None),
        }
    }
    let array = results.into_iter().collect::<PrimitiveArray<Decimal128Type>>();
    let array = array.with_precision_and_scale(precision, scale);
    Ok(Some(Arc::new(array.map_err(Error::arrow)?)))
}

/// One numeric operation.
fn numeric(op: ArithmeticOp, a: &Numeric, b: &Numeric) -> Result<Numeric> {
    match op {
        ArithmeticOp::Add => a.plus(b),
        ArithmeticOp::Subtract => a.minus(b),
        ArithmeticOp::Multiply => a.times(b),
        ArithmeticOp::Divide => a.divided_by(b),
        ArithmeticOp::Modulo => a.modulo(b),
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
                    Value::Numeric(number) => Value::Numeric(number.negated()),
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
