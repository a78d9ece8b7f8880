//! `Value`s as Arrow arrays and constants: what constants and parameters are in plans that run over batches.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BinaryBuilder, BooleanArray, Date32Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray,
    NullArray, StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Fields};
pub use datafusion_common::ScalarValue;

use super::mismatched_types;
use super::numeric_builder::NumericBuilder;
use crate::system::datafusion_error::from_datafusion;
use crate::types::{
    EnumValue, Numeric, ShapeBuilder, SqlType, Value, array_column, element_type, item_field, lists_of,
    value_at,
};
use crate::{Error, Result};

/// An array of the Arrow type that carries `ty`. Numbers are brought to the type's width and scale; 22003 when one does
/// not fit. A value of another kind is a bug of the caller.
pub fn array_of(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
    Ok(match ty.arrow_type() {
        DataType::Null => Arc::new(NullArray::new(values.len())),
        DataType::Boolean => Arc::new(collect::<BooleanArray, _>(values, ty, |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })?),
        DataType::Int16 => Arc::new(Int16Array::from(integers::<i16>(values, ty)?)),
        DataType::Int32 => Arc::new(Int32Array::from(integers::<i32>(values, ty)?)),
        DataType::Int64 => Arc::new(Int64Array::from(integers::<i64>(values, ty)?)),
        DataType::Float32 => Arc::new(collect::<Float32Array, _>(values, ty, |value| match value {
            Value::Float4(number) => Some(*number),
            _ => None,
        })?),
        DataType::Float64 => Arc::new(collect::<Float64Array, _>(values, ty, |value| match value {
            Value::Float8(number) => Some(*number),
            _ => None,
        })?),
        _ if matches!(ty, SqlType::Numeric(_)) => numerics(values, ty)?,
        DataType::Decimal128(..) => numerics(values, ty)?,
        DataType::Utf8 => Arc::new(collect::<StringArray, _>(values, ty, |value| match value {
            Value::Text(text) | Value::Unknown(text) => Some(text.as_str()),
            _ => None,
        })?),
        DataType::Binary if matches!(ty, SqlType::Range(_) | SqlType::Multirange(_)) => ranges(values, ty)?,
        DataType::Binary => Arc::new(collect::<BinaryArray, _>(values, ty, |value| match value {
            Value::Bytes(bytes) => Some(bytes.as_slice()),
            Value::Packed(address) => Some(address.bytes()),
            _ => None,
        })?),
        DataType::Date32 => Arc::new(collect::<Date32Array, _>(values, ty, |value| match value {
            Value::Date(days) => Some(*days),
            _ => None,
        })?),
        DataType::Time64(_) => Arc::new(collect::<Time64MicrosecondArray, _>(
            values,
            ty,
            |value| match value {
                Value::Time(time) => Some(*time),
                _ => None,
            },
        )?),
        DataType::Timestamp(_, zone) => {
            let array = collect::<TimestampMicrosecondArray, _>(values, ty, |value| match value {
                Value::Timestamp(time) | Value::TimestampTz(time) => Some(*time),
                _ => None,
            })?;
            Arc::new(array.with_timezone_opt(zone))
        }
        DataType::Interval(_) => {
            let interval = |value: &Value| match value {
                Value::Interval(interval) => interval.to_arrow(),
                _ => None,
            };
            Arc::new(collect::<IntervalMonthDayNanoArray, _>(values, ty, interval)?)
        }
        DataType::FixedSizeBinary(width) => uuids(values, width)?,
        DataType::Struct(_) | DataType::List(_) if ty.item_type().is_some() => arrays(values, ty)?,
        DataType::Struct(columns) => rows(values, ty, columns)?,
        other => return Err(Error::internal(format!("no array of Arrow type {other}"))),
    })
}

/// The one value as a constant of the Arrow type that carries `ty`.
pub fn scalar_of(value: &Value, ty: &SqlType) -> Result<ScalarValue> {
    if let Some(scalar) = plain_scalar(value, ty) {
        return Ok(scalar);
    }
    let array = array_of(std::slice::from_ref(value), ty)?;
    ScalarValue::try_from_array(&array, 0).map_err(from_datafusion)
}

/// The same for the commonest, of which every statement has some, without an array.
fn plain_scalar(value: &Value, ty: &SqlType) -> Option<ScalarValue> {
    Some(match (ty, value) {
        (SqlType::Bool, Value::Bool(flag)) => ScalarValue::Boolean(Some(*flag)),
        (SqlType::Int4, Value::Int(number)) => ScalarValue::Int32(Some(i32::try_from(*number).ok()?)),
        (SqlType::Int8, Value::Int(number)) => ScalarValue::Int64(Some(*number)),
        (SqlType::Float8, Value::Float8(number)) => ScalarValue::Float64(Some(*number)),
        (SqlType::Text | SqlType::Varchar(_), Value::Text(text)) => ScalarValue::Utf8(Some(text.clone())),
        (SqlType::Date, Value::Date(days)) => ScalarValue::Date32(Some(*days)),
        (SqlType::TimestampTz(_), Value::TimestampTz(time)) => match ty.arrow_type() {
            DataType::Timestamp(_, zone) => ScalarValue::TimestampMicrosecond(Some(*time), zone),
            _ => return None,
        },
        _ => return None,
    })
}

/// The other way round.
fn plain_value(scalar: &ScalarValue, ty: &SqlType) -> Option<Value> {
    Some(match (ty, scalar) {
        (SqlType::Bool, ScalarValue::Boolean(Some(flag))) => Value::Bool(*flag),
        (SqlType::Int4, ScalarValue::Int32(Some(number))) => Value::Int(i64::from(*number)),
        (SqlType::Int8, ScalarValue::Int64(Some(number))) => Value::Int(*number),
        (SqlType::Float8, ScalarValue::Float64(Some(number))) => Value::Float8(*number),
        (SqlType::Text | SqlType::Varchar(_), ScalarValue::Utf8(Some(text))) => Value::Text(text.clone()),
        (SqlType::Date, ScalarValue::Date32(Some(days))) => Value::Date(*days),
        _ => return None,
    })
}

/// NULL of an Arrow type.
pub(crate) fn null_of(ty: &DataType) -> Result<ScalarValue> {
    ScalarValue::try_from(ty).map_err(from_datafusion)
}

/// The constant at a row of an array.
pub(crate) fn scalar_at(array: &ArrayRef, row: usize) -> Result<ScalarValue> {
    ScalarValue::try_from_array(array, row).map_err(from_datafusion)
}

/// A constant as an array of one row.
pub(crate) fn array_of_scalar(scalar: &ScalarValue) -> Result<ArrayRef> {
    scalar.to_array().map_err(from_datafusion)
}

/// A constant as one of another Arrow type, by Arrow's own cast. Errors: it does not fit.
pub(crate) fn cast_scalar(scalar: &ScalarValue, ty: &DataType) -> Result<ScalarValue> {
    // An integer as a longer one is what keys are compared with at each run.
    match (scalar, ty) {
        (ScalarValue::Int32(Some(number)), DataType::Int64) => Ok(ScalarValue::from(i64::from(*number))),
        (ScalarValue::Int16(Some(number)), DataType::Int64) => Ok(ScalarValue::from(i64::from(*number))),
        (ScalarValue::Int16(Some(number)), DataType::Int32) => Ok(ScalarValue::from(i32::from(*number))),
        _ => scalar.cast_to(ty).map_err(from_datafusion),
    }
}

/// Some constant of an Arrow type, which says what it is.
pub(crate) fn default_of(ty: &DataType) -> Option<ScalarValue> {
    ScalarValue::new_default(ty).ok()
}

/// The items of a constant that is an array, or a list; `None`: it is none, or NULL.
pub(crate) fn items_of_scalar(scalar: &ScalarValue) -> Option<ArrayRef> {
    let array: ArrayRef = match scalar {
        ScalarValue::List(list) => Arc::clone(list) as ArrayRef,
        ScalarValue::Struct(array) => Arc::clone(array) as ArrayRef,
        _ => return None,
    };
    let lists = lists_of(&array).filter(|lists| lists.len() == 1 && lists.is_valid(0))?;
    Some(lists.value(0))
}

/// A constant as a value.
pub fn value_of_scalar(scalar: &ScalarValue, ty: &SqlType) -> Result<Value> {
    if let Some(value) = plain_value(scalar, ty) {
        return Ok(value);
    }
    let array = scalar.to_array().map_err(from_datafusion)?;
    value_at(&array, 0, ty)
}

fn collect<'a, A, T>(values: &'a [Value], ty: &SqlType, read: impl Fn(&'a Value) -> Option<T>) -> Result<A>
where
    A: FromIterator<Option<T>>,
{
    values
        .iter()
        .map(|value| match value {
            Value::Null => Ok(None),
            other => match read(other) {
                Some(found) => Ok(Some(found)),
                None => Err(Error::internal(format!(
                    "a value of another type than {ty}: {other:?}"
                ))),
            },
        })
        .collect()
}

fn integers<T: TryFrom<i64>>(values: &[Value], ty: &SqlType) -> Result<Vec<Option<T>>> {
    values
        .iter()
        .map(|value| match value {
            Value::Null => Ok(None),
            Value::Int(number) | Value::Money(number) | Value::Enum(EnumValue { position: number, .. }) => {
                match T::try_from(*number) {
                    Ok(fits) => Ok(Some(fits)),
                    Err(_) => Err(Error::NumericOutOfRange {
                        message: format!("{ty} out of range"),
                        detail: None,
                    }),
                }
            }
            other => Err(Error::internal(format!(
                "a value of another type than {ty}: {other:?}"
            ))),
        })
        .collect()
}

fn numerics(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
    let mut numbers = NumericBuilder::new(values.len(), ty);
    for value in values {
        match value {
            Value::Null => numbers.append_null(),
            Value::Int(number) => drop(numbers.append(&Numeric::from_i64(*number))?),
            Value::Numeric(number) => drop(numbers.append(number)?),
            other => {
                return Err(Error::internal(format!(
                    "a value of another type than numeric: {other:?}"
                )));
            }
        }
    }
    numbers.finish()
}

fn uuids(values: &[Value], width: i32) -> Result<ArrayRef> {
    let cells = values
        .iter()
        .map(|value| match value {
            Value::Null => Ok(None),
            Value::Uuid(bytes) => Ok(Some(bytes.as_slice())),
            other => Err(Error::internal(format!(
                "a value of another type than uuid: {other:?}"
            ))),
        })
        .collect::<Result<Vec<_>>>()?;
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(cells.into_iter(), width);
    Ok(Arc::new(array.map_err(|error| {
        crate::system::datafusion_error::from_arrow(&error)
    })?))
}

/// Ranges and multiranges, as their bytes.
fn ranges(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
    let mut bytes = Vec::new();
    let mut out = BinaryBuilder::new();
    for value in values {
        bytes.clear();
        match value {
            Value::Null => {
                out.append_null();
                continue;
            }
            Value::Range(range) => range.put_bytes(&mut bytes),
            Value::Multirange(ranges) => ranges.put_bytes(&mut bytes),
            other => {
                return Err(Error::internal(format!(
                    "a value of another type than {ty}: {other:?}"
                )));
            }
        }
        out.append_value(&bytes);
    }
    Ok(Arc::new(out.finish()))
}

/// Rows: an array a column.
fn rows(values: &[Value], ty: &SqlType, columns: Fields) -> Result<ArrayRef> {
    let record = ty.record_type().ok_or_else(mismatched_types)?;
    let valid: Vec<bool> = values.iter().map(|value| *value != Value::Null).collect();
    let mut arrays = Vec::with_capacity(record.fields.len());
    for (place, field) in record.fields.iter().enumerate() {
        let cells = values.iter().map(|value| match value {
            Value::Null => Ok(Value::Null),
            Value::Record(cells) => cells.get(place).cloned().ok_or_else(mismatched_types),
            other => Err(Error::internal(format!(
                "a value of another type than {ty}: {other:?}"
            ))),
        });
        arrays.push(array_of(&cells.collect::<Result<Vec<_>>>()?, &field.ty)?);
    }
    let array = StructArray::try_new(columns, arrays, Some(NullBuffer::from(valid)));
    Ok(Arc::new(array.map_err(|error| {
        crate::system::datafusion_error::from_arrow(&error)
    })?))
}

/// Arrays, or the vectors of the catalogs, which are lists alone.
fn arrays(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
    let mut items = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    let mut valid = Vec::with_capacity(values.len());
    let mut shapes = ShapeBuilder::default();
    for value in values {
        match value {
            Value::Null => {
                lengths.push(0);
                valid.push(false);
                shapes.append(None);
            }
            Value::Array(cells) => {
                items.extend(cells.iter().cloned());
                lengths.push(cells.len());
                valid.push(true);
                shapes.append(cells.shape());
            }
            other => {
                return Err(Error::internal(format!(
                    "a value of another type than {ty}: {other:?}"
                )));
            }
        }
    }
    let carrier = ty.arrow_type();
    let field = item_field(&carrier).ok_or_else(mismatched_types)?;
    let lists = ListArray::try_new(
        Arc::clone(field),
        OffsetBuffer::<i32>::from_lengths(lengths),
        array_of(&items, element_type(ty))?,
        Some(NullBuffer::new(arrow::buffer::BooleanBuffer::from(valid))),
    );
    let lists = lists.map_err(|error| crate::system::datafusion_error::from_arrow(&error))?;
    Ok(match carrier {
        DataType::List(_) => Arc::new(lists),
        _ => array_column(lists, shapes.finish()),
    })
}
