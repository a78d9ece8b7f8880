//! One cell of an Arrow array as a `Value`: for what works value by value (assignments, keys, parameters, texts).

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};

use super::array_column::{dimensions_at, items_of};
use super::catalog_type::name_and_oid;
use super::{ArrayValue, EnumValue, MultirangeValue, Numeric, PackedValue, RangeValue, SqlType, Value};
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
        DataType::Int64 => {
            let number = array.as_primitive::<Int64Type>().value(row);
            match ty {
                SqlType::Enum(ty) => Value::Enum(EnumValue {
                    ty: Arc::clone(ty),
                    position: number,
                }),
                SqlType::Money => Value::Money(number),
                _ => Value::Int(number),
            }
        }
        DataType::Float32 => Value::Float4(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => Value::Numeric(Numeric::from_i128(
            array.as_primitive::<Decimal128Type>().value(row),
            u16::try_from(*scale).unwrap_or(0),
        )),
        DataType::Utf8 => {
            let text = array.as_string::<i32>().value(row);
            let is_name = matches!(ty, SqlType::Catalog(kind) if kind.is_name_of_object());
            let text = if is_name { name_and_oid(text).0 } else { text };
            Value::Text(text.to_string())
        }
        DataType::Binary if matches!(ty, SqlType::Numeric(_)) => {
            let number = Numeric::from_bytes(array.as_binary::<i32>().value(row));
            Value::Numeric(number.ok_or_else(|| Error::internal("bytes that are no numeric"))?)
        }
        DataType::Binary if matches!(ty, SqlType::Range(_) | SqlType::Multirange(_)) => {
            range_of(array.as_binary::<i32>().value(row), ty)?
        }
        DataType::Binary if ty.packed_kind().is_some() => packed_of(array.as_binary::<i32>().value(row), ty)?,
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
            Value::Interval(interval.into())
        }
        DataType::FixedSizeBinary(16) => {
            let bytes = array.as_fixed_size_binary().value(row);
            Value::Uuid(
                bytes
                    .try_into()
                    .map_err(|_| Error::internal("a uuid of another width than 16 bytes"))?,
            )
        }
        DataType::Struct(_) if matches!(ty, SqlType::Record(_)) => row_at(array, row, ty)?,
        DataType::Struct(_) | DataType::List(_) => array_at(array, row, ty)?,
        other => return Err(Error::internal(format!("no value for Arrow type {other}"))),
    })
}

/// A value that is bytes.
fn packed_of(bytes: &[u8], ty: &SqlType) -> Result<Value> {
    let kind = ty.packed_kind();
    let address = kind.and_then(|kind| PackedValue::from_bytes(bytes, kind));
    address
        .map(Value::Packed)
        .ok_or_else(|| Error::internal("bytes that are no value of their type"))
}

/// The columns of a row. An untyped literal is still one.
fn row_at(array: &dyn Array, row: usize, ty: &SqlType) -> Result<Value> {
    let SqlType::Record(ty) = ty else {
        return Err(Error::internal("a row where none was expected"));
    };
    let columns = array.as_struct().columns().iter().zip(&ty.fields);
    let values = columns.map(|(column, field)| match value_at(column, row, &field.ty)? {
        Value::Text(text) if field.ty == SqlType::Unknown => Ok(Value::Unknown(text)),
        value => Ok(value),
    });
    values.collect::<Result<_>>().map(Value::Record)
}

/// An array.
fn array_at(array: &dyn Array, row: usize, ty: &SqlType) -> Result<Value> {
    let of_none = || Error::internal("an array where none was expected");
    let dimensions = dimensions_at(array, row).ok_or_else(of_none)?;
    let items = items_of(array).ok_or_else(of_none)?.value(row);
    let item_type = element_type(ty);
    let values = (0..items.len()).map(|item| value_at(&items, item, item_type));
    Ok(Value::Array(ArrayValue::shaped(
        values.collect::<Result<_>>()?,
        &dimensions,
    )))
}

/// The range or multirange that bytes are.
fn range_of(bytes: &[u8], ty: &SqlType) -> Result<Value> {
    let value = match ty {
        SqlType::Range(kind) => RangeValue::from_bytes(bytes, *kind).map(Value::Range),
        SqlType::Multirange(kind) => MultirangeValue::from_bytes(bytes, *kind).map(Value::Multirange),
        _ => None,
    };
    value.ok_or_else(|| Error::internal("bytes that are no range"))
}

/// The type of the items of an array whose type is known to be one.
pub fn element_type(ty: &SqlType) -> &SqlType {
    ty.item_type().unwrap_or(&SqlType::Text)
}
