//! The stored bytes of one column of a row: written from Arrow arrays for `RowWriter`, and the readings that
//! `column_builder` and `stored_scalar` share. The table of forms is in the docs of [`crate::codec`].

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};

use super::key::is_decimal_8;
use crate::types::{Interval, Numeric, RecordType, SqlType};
use crate::{Error, Result};

/// The length that stands for a NULL element of an array.
pub(super) const NULL_ELEMENT: u32 = u32::MAX;

/// What a row holds of a column, between the reader of rows and whoever decodes or copies a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    /// Present and NULL.
    Null,
    /// Present: the stored bytes of its type.
    Bytes(&'a [u8]),
}

/// Whether the element is NULL; those of an array of type Null all are.
#[inline]
pub(super) fn is_null(array: &ArrayRef, row: usize) -> bool {
    array.is_null(row) || *array.data_type() == DataType::Null
}

/// The text of an element.
#[inline]
fn string(array: &ArrayRef, row: usize) -> &str {
    array.as_string::<i32>().value(row)
}

/// The number of an element.
#[inline]
fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> T::Native {
    array.as_primitive::<T>().value(row)
}

/// Appends the stored bytes of an element that is not NULL.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, ty: &SqlType, array: &ArrayRef, row: usize) {
    match ty {
        SqlType::Catalog(_) => put(out, &SqlType::from_arrow(&ty.arrow_type()), array, row),
        SqlType::Bool => out.push(u8::from(array.as_boolean().value(row))),
        SqlType::Int2 => out.extend_from_slice(&array.as_primitive::<Int16Type>().value(row).to_le_bytes()),
        SqlType::Int4 => out.extend_from_slice(&array.as_primitive::<Int32Type>().value(row).to_le_bytes()),
        SqlType::Int8 | SqlType::Money | SqlType::Oid | SqlType::Regclass | SqlType::Enum(_) => {
            out.extend_from_slice(&array.as_primitive::<Int64Type>().value(row).to_le_bytes());
        }
        SqlType::Float4 => out.extend_from_slice(&number::<Float32Type>(array, row).to_le_bytes()),
        SqlType::Float8 => out.extend_from_slice(&number::<Float64Type>(array, row).to_le_bytes()),
        SqlType::Numeric(Some(size)) if size.is_fixed() => {
            let unscaled = array.as_primitive::<Decimal128Type>().value(row);
            match i64::try_from(unscaled) {
                Ok(short) if is_decimal_8(size) => out.extend_from_slice(&short.to_le_bytes()),
                _ => out.extend_from_slice(&unscaled.to_le_bytes()),
            }
        }
        SqlType::Char(_) => out.extend_from_slice(string(array, row).trim_end_matches(' ').as_bytes()),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Citext
        | SqlType::Json
        | SqlType::Jsonb
        | SqlType::Bit(_)
        | SqlType::VarBit(_)
        | SqlType::TsVector
        | SqlType::TsQuery
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Unknown => out.extend_from_slice(string(array, row).as_bytes()),
        SqlType::Bytea
        | SqlType::Numeric(_)
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Packed(_) => {
            out.extend_from_slice(array.as_binary::<i32>().value(row));
        }
        SqlType::Date => out.extend_from_slice(&array.as_primitive::<Date32Type>().value(row).to_le_bytes()),
        SqlType::Time(_) => {
            out.extend_from_slice(
                &array
                    .as_primitive::<Time64MicrosecondType>()
                    .value(row)
                    .to_le_bytes(),
            );
        }
        SqlType::Timestamp(_) | SqlType::TimestampTz(_) => {
            out.extend_from_slice(
                &array
                    .as_primitive::<TimestampMicrosecondType>()
                    .value(row)
                    .to_le_bytes(),
            );
        }
        SqlType::Interval(_) => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            out.extend_from_slice(&interval.months.to_le_bytes());
            out.extend_from_slice(&interval.days.to_le_bytes());
            out.extend_from_slice(&(interval.nanoseconds / 1_000).to_le_bytes());
        }
        SqlType::Uuid => out.extend_from_slice(array.as_fixed_size_binary().value(row)),
        SqlType::Record(ty) => put_record(out, ty, array, row),
        SqlType::Array(element) => put_elements(out, element, array, row),
        SqlType::Int2Vector => put_elements(out, &SqlType::Int2, array, row),
        SqlType::Void => {}
    }
}

fn put_elements(out: &mut Vec<u8>, element: &SqlType, array: &ArrayRef, row: usize) {
    let list = array.as_list::<i32>();
    let offsets = list.value_offsets();
    let rows = offsets[row] as usize..offsets[row + 1] as usize;
    out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
    for row in rows {
        let start = out.len();
        out.extend_from_slice(&NULL_ELEMENT.to_le_bytes());
        if !is_null(list.values(), row) {
            put(out, element, list.values(), row);
            let length = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// The columns of a row that are not NULL: the number of each, its length and its bytes.
fn put_record(out: &mut Vec<u8>, ty: &RecordType, array: &ArrayRef, row: usize) {
    for (column, field) in array.as_struct().columns().iter().zip(&ty.fields) {
        if is_null(column, row) {
            continue;
        }
        out.extend_from_slice(&field.number.to_le_bytes());
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        put(out, &field.ty, column, row);
        let length = (out.len() - start - 4) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// The first byte of the numerics' own form is not below it; earlier releases began with the scale, 0 to 38.
const NUMERIC_HEAD_MIN: u8 = 0x60;
/// The most bytes of digits that earlier releases wrote of a numeric.
const FORMER_NUMERIC_BYTES_MAX: usize = 32;

/// The most digits behind the point that they wrote.
const FORMER_NUMERIC_SCALE_MAX: u8 = 38;

/// Whether a numeric of variable length stands as earlier releases wrote it: the scale, then the unscaled value LE.
#[inline]
pub(super) fn is_former_numeric(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| *first < NUMERIC_HEAD_MIN)
}

/// Reads what [`is_former_numeric`]. `None`: damaged.
pub(super) fn read_former_numeric(bytes: &[u8]) -> Option<Numeric> {
    let (scale, digits) = bytes.split_first()?;
    if digits.is_empty() || digits.len() > FORMER_NUMERIC_BYTES_MAX || *scale > FORMER_NUMERIC_SCALE_MAX {
        return None;
    }
    Numeric::from_le_bytes(digits, *scale)
}

/// Two, four or eight bytes: a column that was widened still holds what was written before.
#[inline]
pub(super) fn read_integer(bytes: &[u8]) -> Result<i64> {
    match bytes.len() {
        8 => Ok(i64::from_le_bytes(fixed(bytes)?)),
        4 => Ok(i64::from(i32::from_le_bytes(fixed(bytes)?))),
        _ => Ok(i64::from(i16::from_le_bytes(fixed(bytes)?))),
    }
}

#[inline]
pub(super) fn narrow<T: TryFrom<i64>>(value: i64) -> Result<T> {
    T::try_from(value).map_err(|_| damaged("an integer beyond its type"))
}

#[inline]
pub(super) fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| damaged("a value of another length than its type's"))
}

pub(super) fn fixed_slice<const N: usize>(bytes: &[u8]) -> Result<&[u8; N]> {
    bytes
        .try_into()
        .map_err(|_| damaged("a value of another length than its type's"))
}

/// Months, days and microseconds.
pub(super) fn read_interval(bytes: &[u8]) -> Result<Interval> {
    let bytes: &[u8; 16] = fixed_slice(bytes)?;
    let (months, rest) = bytes.split_at(4);
    let (days, micros) = rest.split_at(4);
    let microseconds = i64::from_le_bytes(fixed(micros)?);
    // Arrow counts nanoseconds, and no interval beyond them was ever written.
    if microseconds.checked_mul(1_000).is_none() {
        return Err(damaged("an interval beyond its type"));
    }
    Ok(Interval {
        months: i32::from_le_bytes(fixed(months)?),
        days: i32::from_le_bytes(fixed(days)?),
        microseconds,
    })
}

pub(super) fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "row".to_string(),
        reason: reason.to_string(),
    }
}
