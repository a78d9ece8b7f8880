//! One cell of an Arrow array as a `Value`, and `Values` back into arrays: the bridge between functions written over
//! single values (and constants, parameters) and plans that run over batches.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, NullArray,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Field, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, i256,
};
use datafusion::common::ScalarValue;

use super::datafusion_error::from_datafusion;
use super::numeric_builder::NumericBuilder;
use crate::types::{CatalogType, Interval, Numeric, SqlType, Value};
use crate::{Error, Result};

/// The cell at `row` of an array that carries values of type `ty`.
pub fn value_at(array: &dyn Array, row: usize, ty: &SqlType) -> Result<Value> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int16 => Value::Int(i64::from(array.as_primitive::<Int16Type>().value(row))),
        DataType::Int32 => Value::Int(i64::from(array.as_primitive::<Int32Type>().value(row))),
        DataType::Int64 => Value::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => Value::Float4(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => Value::Numeric(Numeric::Finite {
            unscaled: i256::from_i128(array.as_primitive::<Decimal128Type>().value(row)),
            scale: u8::try_from(*scale).unwrap_or(0),
        }),
        DataType::Decimal256(_, scale) => Value::Numeric(Numeric::Finite {
            unscaled: array.as_primitive::<Decimal256Type>().value(row),
            scale: u8::try_from(*scale).unwrap_or(0),
        }),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_string()),
        DataType::Binary => Value::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::Date32 => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Time64(TimeUnit::Microsecond) => {
            Value::Time(array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let microseconds = array.as_primitive::<TimestampMicrosecondType>().value(row);
            if zone.is_some() {
                Value::TimestampTz(microseconds)
            } else {
                Value::Timestamp(microseconds)
            }
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Value::Interval(Interval {
                months: interval.months,
                days: interval.days,
                microseconds: interval.nanoseconds / 1_000,
            })
        }
        DataType::FixedSizeBinary(16) => {
            let bytes = array.as_fixed_size_binary().value(row);
            Value::Uuid(
                bytes
                    .try_into()
                    .map_err(|_| Error::internal("a uuid of another width than 16 bytes"))?,
            )
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            let item_type = element_type(ty);
            Value::Array(
                (0..items.len())
                    .map(|item| value_at(&items, item, &item_type))
                    .collect::<Result<_>>()?,
            )
        }
        other => return Err(Error::internal(format!("no value for Arrow type {other}"))),
    })
}

/// The type of the items of an array type.
pub fn element_type(ty: &SqlType) -> SqlType {
    match ty {
        SqlType::Array(item) => item.as_ref().clone(),
        SqlType::Int2Vector => SqlType::Int2,
        SqlType::Catalog(CatalogType::OidVector) => SqlType::Oid,
        _ => SqlType::Text,
    }
}

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
        DataType::Decimal128(..) | DataType::Decimal256(..) => numerics(values, ty)?,
        DataType::Utf8 => Arc::new(collect::<StringArray, _>(values, ty, |value| match value {
            Value::Text(text) | Value::Unknown(text) => Some(text.as_str()),
            _ => None,
        })?),
        DataType::Binary => Arc::new(collect::<BinaryArray, _>(values, ty, |value| match value {
            Value::Bytes(bytes) => Some(bytes.as_slice()),
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
            Arc::new(collect::<IntervalMonthDayNanoArray, _>(
                values,
                ty,
                |value| match value {
                    Value::Interval(interval) => Some(IntervalMonthDayNano::new(
                        interval.months,
                        interval.days,
                        interval.microseconds.saturating_mul(1_000),
                    )),
                    _ => None,
                },
            )?)
        }
        DataType::FixedSizeBinary(width) => uuids(values, width)?,
        DataType::List(field) => lists(values, ty, &field)?,
        other => return Err(Error::internal(format!("no array of Arrow type {other}"))),
    })
}

/// The one value as a DataFusion constant of the Arrow type that carries `ty`.
pub fn scalar_of(value: &Value, ty: &SqlType) -> Result<ScalarValue> {
    let array = array_of(std::slice::from_ref(value), ty)?;
    ScalarValue::try_from_array(&array, 0).map_err(from_datafusion)
}

/// A DataFusion constant as a value.
pub fn value_of_scalar(scalar: &ScalarValue, ty: &SqlType) -> Result<Value> {
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
            Value::Int(number) => match T::try_from(*number) {
                Ok(fits) => Ok(Some(fits)),
                Err(_) => Err(Error::NumericOutOfRange {
                    message: format!("{ty} out of range"),
                    detail: None,
                }),
            },
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
            Value::Int(number) => numbers.append(&Numeric::from_i64(*number))?,
            Value::Numeric(number) => numbers.append(number)?,
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
    Ok(Arc::new(
        array.map_err(|error| super::datafusion_error::from_arrow(&error))?,
    ))
}

fn lists(values: &[Value], ty: &SqlType, field: &Arc<Field>) -> Result<ArrayRef> {
    let mut items = Vec::new();
    let mut lengths = Vec::with_capacity(values.len());
    let mut valid = Vec::with_capacity(values.len());
    for value in values {
        match value {
            Value::Null => {
                lengths.push(0);
                valid.push(false);
            }
            Value::Array(cells) => {
                items.extend(cells.iter().cloned());
                lengths.push(cells.len());
                valid.push(true);
            }
            other => {
                return Err(Error::internal(format!(
                    "a value of another type than {ty}: {other:?}"
                )));
            }
        }
    }
    let array = ListArray::try_new(
        field.clone(),
        OffsetBuffer::<i32>::from_lengths(lengths),
        array_of(&items, &element_type(ty))?,
        Some(NullBuffer::new(arrow::buffer::BooleanBuffer::from(valid))),
    );
    Ok(Arc::new(
        array.map_err(|error| super::datafusion_error::from_arrow(&error))?,
    ))
}
