//! What a function of Rust values gives: values of one Rust type, or NULL (`None`), or an error, gathered into an array.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, ListArray, NullBufferBuilder,
    PrimitiveBuilder, StringBuilder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    DataType, Date32Type, Field, FieldRef, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};

use super::argument::{Date, Time, Timestamp, TimestampTz, Uuid};
use super::size::{BatchBytes, check_limit};
use crate::Result;
use crate::functions::numeric_builder::NumericBuilder;
use crate::functions::value_array::array_of;
use crate::system::datafusion_error::from_arrow;
use crate::types::calendar::out_of_range;
use crate::types::{ArrayValue, Interval, Numeric, ResultLimits, SqlType, Value, array_column, element_type};

/// A type that results come as.
pub(super) trait Output: Sized {
    /// The array that is being built.
    type Column;
    /// An empty one for `rows` results of the type `ty`.
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Self::Column;
    /// Puts a result behind the others. Errors: its own; 54000 and 53200 for results too long.
    fn append(self, column: &mut Self::Column) -> Result<()>;
    /// Puts a NULL behind the others.
    fn append_null(column: &mut Self::Column);
    /// The array. Errors: 22003 for a numeric that the type cannot hold.
    fn finish(column: Self::Column) -> Result<ArrayRef>;
}

/// `None` is NULL.
impl<R: Output> Output for Option<R> {
    type Column = R::Column;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> R::Column {
        R::column(rows, ty, limits)
    }
    fn append(self, column: &mut R::Column) -> Result<()> {
        match self {
            Some(result) => result.append(column),
            None => {
                R::append_null(column);
                Ok(())
            }
        }
    }
    fn append_null(column: &mut R::Column) {
        R::append_null(column);
    }
    fn finish(column: R::Column) -> Result<ArrayRef> {
        R::finish(column)
    }
}

/// An error ends the batch.
impl<R: Output> Output for Result<R> {
    type Column = R::Column;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> R::Column {
        R::column(rows, ty, limits)
    }
    fn append(self, column: &mut R::Column) -> Result<()> {
        self?.append(column)
    }
    fn append_null(column: &mut R::Column) {
        R::append_null(column);
    }
    fn finish(column: R::Column) -> Result<ArrayRef> {
        R::finish(column)
    }
}

/// A result that one Arrow builder takes as it is, or without the type of its own around it.
macro_rules! plain_output {
    ($rust:ty, $arrow:ty, $native:expr) => {
        impl Output for $rust {
            type Column = PrimitiveBuilder<$arrow>;
            fn column(rows: usize, ty: &SqlType, _: ResultLimits) -> Self::Column {
                // The zone of a timestamp is told by the type.
                let builder = PrimitiveBuilder::with_capacity(rows);
                match ty.arrow_type() {
                    zoned @ DataType::Timestamp(_, Some(_)) => builder.with_data_type(zoned),
                    _ => builder,
                }
            }
            fn append(self, column: &mut Self::Column) -> Result<()> {
                column.append_value($native(self));
                Ok(())
            }
            fn append_null(column: &mut Self::Column) {
                column.append_null();
            }
            fn finish(mut column: Self::Column) -> Result<ArrayRef> {
                Ok(Arc::new(column.finish()))
            }
        }
    };
}

plain_output!(i16, Int16Type, |number| number);
plain_output!(i32, Int32Type, |number| number);
plain_output!(i64, Int64Type, |number| number);
plain_output!(f32, Float32Type, |number| number);
plain_output!(f64, Float64Type, |number| number);
plain_output!(Date, Date32Type, |date: Date| date.0);
plain_output!(Time, Time64MicrosecondType, |time: Time| time.0);
plain_output!(Timestamp, TimestampMicrosecondType, |time: Timestamp| time.0);
plain_output!(TimestampTz, TimestampMicrosecondType, |time: TimestampTz| time.0);

/// Errors: 22008 for an interval of more hours than Arrow's nanoseconds hold.
impl Output for Interval {
    type Column = PrimitiveBuilder<IntervalMonthDayNanoType>;
    fn column(rows: usize, _: &SqlType, _: ResultLimits) -> Self::Column {
        PrimitiveBuilder::with_capacity(rows)
    }
    fn append(self, column: &mut Self::Column) -> Result<()> {
        column.append_value(self.to_arrow().ok_or_else(|| out_of_range("interval"))?);
        Ok(())
    }
    fn append_null(column: &mut Self::Column) {
        column.append_null();
    }
    fn finish(mut column: Self::Column) -> Result<ArrayRef> {
        Ok(Arc::new(column.finish()))
    }
}

impl Output for bool {
    type Column = BooleanBuilder;
    fn column(rows: usize, _: &SqlType, _: ResultLimits) -> BooleanBuilder {
        BooleanBuilder::with_capacity(rows)
    }
    fn append(self, column: &mut BooleanBuilder) -> Result<()> {
        column.append_value(self);
        Ok(())
    }
    fn append_null(column: &mut BooleanBuilder) {
        column.append_null();
    }
    fn finish(mut column: BooleanBuilder) -> Result<ArrayRef> {
        Ok(Arc::new(column.finish()))
    }
}

impl Output for Uuid {
    type Column = FixedSizeBinaryBuilder;
    fn column(rows: usize, _: &SqlType, _: ResultLimits) -> FixedSizeBinaryBuilder {
        FixedSizeBinaryBuilder::with_capacity(rows, 16)
    }
    fn append(self, column: &mut FixedSizeBinaryBuilder) -> Result<()> {
        column.append_value(self.0).map_err(|error| from_arrow(&error))
    }
    fn append_null(column: &mut FixedSizeBinaryBuilder) {
        column.append_null();
    }
    fn finish(mut column: FixedSizeBinaryBuilder) -> Result<ArrayRef> {
        Ok(Arc::new(column.finish()))
    }
}

/// Results whose lengths are held to the limits.
#[derive(Debug)]
pub(super) struct Limited<B> {
    builder: B,
    bytes: BatchBytes,
    limits: ResultLimits,
}

impl<B> Limited<B> {
    fn new(builder: B, limits: ResultLimits) -> Limited<B> {
        let bytes = BatchBytes::new(limits);
        Limited {
            builder,
            bytes,
            limits,
        }
    }
    /// Errors: 54000 for a result that is too long, 53200 when there are too many bytes.
    fn add(&mut self, length: usize) -> Result<()> {
        check_limit(length, self.limits)?;
        self.bytes.add_bytes(length)
    }
}

/// A result of characters or bytes; what it is borrowed from does not matter.
macro_rules! long_output {
    ($rust:ty, $builder:ty) => {
        impl Output for $rust {
            type Column = Limited<$builder>;
            fn column(rows: usize, _: &SqlType, limits: ResultLimits) -> Self::Column {
                Limited::new(<$builder>::with_capacity(rows, 0), limits)
            }
            fn append(self, column: &mut Self::Column) -> Result<()> {
                column.add(self.len())?;
                column.builder.append_value(self);
                Ok(())
            }
            fn append_null(column: &mut Self::Column) {
                column.builder.append_null();
            }
            fn finish(mut column: Self::Column) -> Result<ArrayRef> {
                Ok(Arc::new(column.builder.finish()))
            }
        }
    };
}

long_output!(&str, StringBuilder);
long_output!(String, StringBuilder);
long_output!(Cow<'_, str>, StringBuilder);
long_output!(&[u8], BinaryBuilder);
long_output!(Vec<u8>, BinaryBuilder);

impl Output for Numeric {
    type Column = (NumericBuilder, BatchBytes);
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Self::Column {
        (NumericBuilder::new(rows, ty), BatchBytes::new(limits))
    }
    fn append(self, (column, bytes): &mut Self::Column) -> Result<()> {
        let appended = column.append(&self)?;
        bytes.add_bytes(appended)
    }
    fn append_null((column, _): &mut Self::Column) {
        column.append_null();
    }
    fn finish((column, _): Self::Column) -> Result<ArrayRef> {
        column.finish()
    }
}

/// Results of any type, kept as values until all are there.
#[derive(Debug)]
pub(super) struct Values {
    values: Vec<Value>,
    bytes: BatchBytes,
    ty: SqlType,
}

impl Output for Value {
    type Column = Values;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Values {
        let (values, bytes) = (Vec::with_capacity(rows), BatchBytes::new(limits));
        let ty = ty.clone();
        Values { values, bytes, ty }
    }
    fn append(self, column: &mut Values) -> Result<()> {
        column.bytes.add(&self)?;
        column.values.push(self);
        Ok(())
    }
    fn append_null(column: &mut Values) {
        column.values.push(Value::Null);
    }
    fn finish(column: Values) -> Result<ArrayRef> {
        array_of(&column.values, &column.ty)
    }
}

/// Arrays, all of whose items stand behind each other.
#[derive(Debug)]
pub(super) struct Lists<C> {
    items: C,
    lengths: Vec<usize>,
    valid: NullBufferBuilder,
    bytes: BatchBytes,
    field: FieldRef,
    /// Whether they are lists alone.
    is_list: bool,
}

impl<R: Output> Output for Vec<R> {
    type Column = Lists<R::Column>;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Self::Column {
        Lists {
            items: R::column(rows, element_type(ty), limits),
            lengths: Vec::with_capacity(rows),
            valid: NullBufferBuilder::new(rows),
            bytes: BatchBytes::new(limits),
            field: Arc::new(Field::new_list_field(element_type(ty).arrow_type(), true)),
            is_list: ty.is_list(),
        }
    }
    fn append(self, column: &mut Self::Column) -> Result<()> {
        column.bytes.add_values(self.len())?;
        column.lengths.push(self.len());
        column.valid.append_non_null();
        self.into_iter()
            .try_for_each(|item| item.append(&mut column.items))
    }
    fn append_null(column: &mut Self::Column) {
        column.lengths.push(0);
        column.valid.append_null();
    }
    fn finish(mut column: Self::Column) -> Result<ArrayRef> {
        let offsets = OffsetBuffer::from_lengths(column.lengths);
        let items = R::finish(column.items)?;
        let lists = ListArray::try_new(column.field, offsets, items, column.valid.finish());
        let lists = lists.map_err(|error| from_arrow(&error))?;
        Ok(match column.is_list {
            true => Arc::new(lists),
            false => array_column(lists, None),
        })
    }
}

/// Arrays of any shape.
impl Output for ArrayValue {
    type Column = Values;
    fn column(rows: usize, ty: &SqlType, limits: ResultLimits) -> Values {
        <Value as Output>::column(rows, ty, limits)
    }
    fn append(self, column: &mut Values) -> Result<()> {
        Value::Array(self).append(column)
    }
    fn append_null(column: &mut Values) {
        <Value as Output>::append_null(column);
    }
    fn finish(column: Values) -> Result<ArrayRef> {
        <Value as Output>::finish(column)
    }
}
