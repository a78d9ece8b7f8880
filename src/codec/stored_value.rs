//! The stored bytes of one column of a row: written from Arrow arrays for `RowWriter`, and the readings that
//! `column_builder` and `stored_scalar` share. The table of forms is in the docs of [`crate::codec`].

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};

use super::key::is_decimal_8;
use crate::types::{
    Dimension, Interval, Numeric, RecordType, SqlType, dimensions_at, element_type, items_of, put_shape,
};
use crate::{Error, Result};

/// The length that stands for a NULL element of an array.
pub(super) const NULL_ELEMENT: u32 = u32::MAX;
/// The count that stands for the shape of an array, which follows: the number of dimensions, and those.
pub(super) const SHAPED: u32 = u32::MAX;

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
        SqlType::Array(_) | SqlType::Int2Vector => put_array(out, ty, array, row),
        SqlType::Void => {}
    }
}

/// An array: where it counts from 1 in the dimensions that its column was declared with, arrays of so many within one another; any other
/// with its shape before its elements.
fn put_array(out: &mut Vec<u8>, ty: &SqlType, array: &ArrayRef, row: usize) {
    let (Some(items), Some(dimensions)) = (items_of(array), dimensions_at(array, row)) else {
        return put_count(out, 0);
    };
    let offsets = items.value_offsets();
    let mut rows = offsets[row] as usize..offsets[row + 1] as usize;
    let (element, elements) = (element_type(ty), items.values());
    let counts_from_one = dimensions.iter().all(|dimension| dimension.lower == 1);
    if rows.is_empty() {
        return put_count(out, 0);
    }
    if counts_from_one && dimensions.len() == ty.declared_dimensions().max(1) {
        return put_within(out, &dimensions, (element, elements), &mut rows);
    }
    put_count(out, SHAPED);
    out.push(dimensions.len() as u8); // six at most
    put_shape(out, &dimensions);
    rows.for_each(|row| put_element(out, element, elements, row));
}

fn put_count(out: &mut Vec<u8>, count: u32) {
    out.extend_from_slice(&count.to_le_bytes());
}

/// The next elements in dimensions that count from 1: a count, then each element, or each array of those inside, behind its length.
fn put_within(
    out: &mut Vec<u8>,
    dimensions: &[Dimension],
    (element, elements): (&SqlType, &ArrayRef),
    rows: &mut std::ops::Range<usize>,
) {
    let Some((dimension, inner)) = dimensions.split_first() else {
        return;
    };
    put_count(out, dimension.length.cast_unsigned());
    for _ in 0..dimension.length {
        if inner.is_empty() {
            rows.by_ref()
                .take(1)
                .for_each(|row| put_element(out, element, elements, row));
            continue;
        }
        let start = out.len();
        put_count(out, 0);
        put_within(out, inner, (element, elements), rows);
        set_length(out, start);
    }
}

/// An element behind its length.
fn put_element(out: &mut Vec<u8>, element: &SqlType, elements: &ArrayRef, row: usize) {
    let start = out.len();
    put_count(out, NULL_ELEMENT);
    if !is_null(elements, row) {
        put(out, element, elements, row);
        set_length(out, start);
    }
}

/// Writes the length of what stands behind the four bytes at a place.
fn set_length(out: &mut [u8], start: usize) {
    let length = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
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
        set_length(out, start);
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
