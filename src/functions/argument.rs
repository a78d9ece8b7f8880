//! What a function of Rust values takes: the cells of an argument's array as values of one Rust type. Says nothing of
//! what they are for.

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::DataType;

use super::array_shape::subscript_error;
use super::mismatched_types;
use crate::Result;
use crate::types::{
    ArrayValue, Dimension, Interval, Numeric, PackedKind, PackedValue, SqlType, TimeTz, Value, dimensions_at,
    element_type, items_of, value_at,
};

/// A type that arguments come as.
pub(super) trait Argument<'a>: Sized {
    /// The argument's array.
    type Column;
    /// Whether a NULL is one of its values; else the function is not called for a NULL.
    const TAKES_NULL: bool = false;
    /// The array as one of this type. Errors: internal, when it carries another.
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column>;
    /// The cell of a row; not asked for a NULL unless it takes NULLs.
    fn cell(column: &Self::Column, row: usize) -> Result<Self>;
}

/// Days since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date(pub i32);

/// Microseconds of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Time(pub i64);

/// Microseconds since 1970-01-01, no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timestamp(pub i64);

/// Microseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TimestampTz(pub i64);

/// The 16 bytes of a uuid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Uuid(pub [u8; 16]);

/// An array of the Arrow type that it should be.
fn downcast<A: Array + 'static>(array: &ArrayRef) -> Result<&A> {
    array.as_any().downcast_ref().ok_or_else(mismatched_types)
}

/// An argument whose cells one Arrow array gives as they are, or wrapped in a type of their own.
macro_rules! plain_argument {
    ($rust:ty, $array:ty, $make:expr) => {
        impl<'a> Argument<'a> for $rust {
            type Column = &'a $array;
            fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<&'a $array> {
                downcast(array)
            }
            fn cell(column: &&'a $array, row: usize) -> Result<$rust> {
                Ok($make(column.value(row)))
            }
        }
    };
}

plain_argument!(bool, BooleanArray, |flag| flag);
plain_argument!(i16, Int16Array, |number| number);
plain_argument!(i32, Int32Array, |number| number);
plain_argument!(i64, Int64Array, |number| number);
plain_argument!(f32, Float32Array, |number| number);
plain_argument!(f64, Float64Array, |number| number);
plain_argument!(&'a str, StringArray, |text| text);
plain_argument!(&'a [u8], BinaryArray, |bytes| bytes);
plain_argument!(Date, Date32Array, Date);
plain_argument!(Time, Time64MicrosecondArray, Time);
plain_argument!(Timestamp, TimestampMicrosecondArray, Timestamp);
plain_argument!(TimestampTz, TimestampMicrosecondArray, TimestampTz);

impl<'a> Argument<'a> for Interval {
    type Column = &'a IntervalMonthDayNanoArray;
    fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<Self::Column> {
        downcast(array)
    }
    fn cell(column: &Self::Column, row: usize) -> Result<Interval> {
        Ok(column.value(row).into())
    }
}

impl<'a> Argument<'a> for Uuid {
    type Column = &'a FixedSizeBinaryArray;
    fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<Self::Column> {
        downcast(array)
    }
    fn cell(column: &Self::Column, row: usize) -> Result<Uuid> {
        column
            .value(row)
            .try_into()
            .map(Uuid)
            .map_err(|_| mismatched_types())
    }
}

/// Numerics of one scale, or of variable length.
#[derive(Debug)]
pub(super) enum NumericColumn<'a> {
    /// Of 16 bytes.
    Fixed(&'a Decimal128Array, u16),
    /// Of as many as they need.
    Variable(&'a BinaryArray),
}

impl<'a> Argument<'a> for Numeric {
    type Column = NumericColumn<'a>;
    fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<NumericColumn<'a>> {
        match array.data_type() {
            DataType::Decimal128(_, scale) => Ok(NumericColumn::Fixed(
                downcast(array)?,
                u16::try_from(*scale).unwrap_or(0),
            )),
            _ => downcast(array).map(NumericColumn::Variable),
        }
    }
    fn cell(column: &NumericColumn<'a>, row: usize) -> Result<Numeric> {
        match column {
            NumericColumn::Fixed(array, scale) => Ok(Numeric::from_i128(array.value(row), *scale)),
            NumericColumn::Variable(array) => {
                Numeric::from_bytes(array.value(row)).ok_or_else(mismatched_types)
            }
        }
    }
}

impl<'a> Argument<'a> for PackedValue {
    type Column = (&'a BinaryArray, PackedKind);
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((downcast(array)?, ty.packed_kind().ok_or_else(mismatched_types)?))
    }
    fn cell((array, kind): &Self::Column, row: usize) -> Result<PackedValue> {
        PackedValue::from_bytes(array.value(row), *kind).ok_or_else(mismatched_types)
    }
}

impl<'a> Argument<'a> for TimeTz {
    type Column = &'a BinaryArray;
    fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<Self::Column> {
        downcast(array)
    }
    fn cell(times: &&'a BinaryArray, row: usize) -> Result<TimeTz> {
        TimeTz::from_bytes(times.value(row)).ok_or_else(mismatched_types)
    }
}

/// Of any type, NULL too; the cell is copied.
impl<'a> Argument<'a> for Value {
    type Column = (&'a ArrayRef, &'a SqlType);
    const TAKES_NULL: bool = true;
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((array, ty))
    }
    fn cell((array, ty): &Self::Column, row: usize) -> Result<Value> {
        value_at(array, row, ty)
    }
}

/// The items of an array, which take NULLs.
impl<'a, A: Argument<'a>> Argument<'a> for Vec<A> {
    type Column = (&'a ListArray, A::Column);
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        let lists = items_of(array).ok_or_else(mismatched_types)?;
        Ok((lists, A::column(lists.values(), element_type(ty))?))
    }
    fn cell((lists, items): &Self::Column, row: usize) -> Result<Vec<A>> {
        let offsets = lists.value_offsets();
        let place = |offset: i32| usize::try_from(offset).map_err(|_| mismatched_types());
        let items = (place(offsets[row])?..place(offsets[row + 1])?).map(|item| A::cell(items, item));
        items.collect()
    }
}

/// An array of which only the number of its items counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length(pub i32);

impl<'a> Argument<'a> for Length {
    type Column = &'a ListArray;
    fn column(array: &'a ArrayRef, _: &'a SqlType) -> Result<&'a ListArray> {
        items_of(array).ok_or_else(mismatched_types)
    }
    fn cell(lists: &&'a ListArray, row: usize) -> Result<Length> {
        Ok(Length(lists.value_length(row)))
    }
}

/// The dimensions of an array; one without items has none. Those of vectors count from 0.
#[derive(Debug, Clone)]
pub(super) struct Dimensions(pub Vec<Dimension>);

impl<'a> Argument<'a> for Dimensions {
    type Column = (&'a ArrayRef, bool);
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((array, ty.is_vector()))
    }
    fn cell((array, is_vector): &Self::Column, row: usize) -> Result<Dimensions> {
        let mut dimensions = dimensions_at(array, row).ok_or_else(mismatched_types)?;
        if *is_vector {
            dimensions.iter_mut().for_each(|dimension| dimension.lower = 0);
        }
        Ok(Dimensions(dimensions))
    }
}

/// The texts of an array of one dimension at most.
#[derive(Debug)]
pub(super) struct Texts<'a>(pub Vec<Option<&'a str>>);

impl<'a> Argument<'a> for Texts<'a> {
    type Column = (&'a ArrayRef, <Vec<Option<&'a str>> as Argument<'a>>::Column);
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((array, <Vec<Option<&str>> as Argument>::column(array, ty)?))
    }
    fn cell((array, texts): &Self::Column, row: usize) -> Result<Texts<'a>> {
        let dimensions = dimensions_at(array, row).ok_or_else(mismatched_types)?;
        match dimensions.len() {
            0 | 1 => <Vec<Option<&str>> as Argument>::cell(texts, row).map(Texts),
            _ => Err(subscript_error("wrong number of array subscripts")),
        }
    }
}

/// The array itself.
impl<'a> Argument<'a> for ArrayValue {
    type Column = (&'a ArrayRef, &'a SqlType);
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((array, ty))
    }
    fn cell((array, ty): &Self::Column, row: usize) -> Result<ArrayValue> {
        match value_at(array, row, ty)? {
            Value::Array(array) => Ok(array),
            _ => Err(mismatched_types()),
        }
    }
}

/// `None` is NULL.
impl<'a, A: Argument<'a>> Argument<'a> for Option<A> {
    type Column = (&'a ArrayRef, A::Column);
    const TAKES_NULL: bool = true;
    fn column(array: &'a ArrayRef, ty: &'a SqlType) -> Result<Self::Column> {
        Ok((array, A::column(array, ty)?))
    }
    fn cell((array, column): &Self::Column, row: usize) -> Result<Option<A>> {
        match array.is_null(row) {
            true => Ok(None),
            false => A::cell(column, row).map(Some),
        }
    }
}
