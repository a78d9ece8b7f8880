//! `ColumnBuilder`: one column of many rows, decoded straight from stored bytes and key fields into an Arrow array.
//! Reached as `codec::row::ColumnBuilder`; `table` drives one for each projected column, for millions of rows, so a
//! value costs one match and no allocation of its own.

use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, NullArray,
    NullBufferBuilder, PrimitiveBuilder, StringBuilder, StructArray,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Fields, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType,
    TimestampMicrosecondType,
};

use super::key::{self, KeyField};
use super::stored_array::StoredArrays;
use super::stored_value::{
    Stored, damaged, fixed, is_former_numeric, narrow, read_former_numeric, read_integer, read_interval,
};
use crate::types::{
    CatalogType, Interval, MultirangeValue, Numeric, NumericBytes, NumericSize, PackedValue, RangeValue,
    RecordType, SqlType, Value,
};
use crate::{Error, Result};

/// Bytes of a text or bytea to reserve room for when nothing is known of a column.
pub const STRING_BYTES_GUESS: usize = 16;
const UUID_BYTES: usize = 16;

/// Collects one column of many rows into an Arrow array of its SQL type, straight from stored bytes.
#[derive(Debug)]
pub struct ColumnBuilder {
    kind: Kind,
    /// Text of a key field that had to be unescaped.
    scratch: Vec<u8>,
}

#[derive(Debug)]
enum Kind {
    Bool(BooleanBuilder),
    Int2(PrimitiveBuilder<Int16Type>),
    Int4(PrimitiveBuilder<Int32Type>),
    /// bigint, oid, regclass.
    Int8(PrimitiveBuilder<Int64Type>),
    Float4(PrimitiveBuilder<Float32Type>),
    Float8(PrimitiveBuilder<Float64Type>),
    Decimal(PrimitiveBuilder<Decimal128Type>, NumericSize),
    /// Of variable length.
    Numeric(BinaryBuilder),
    /// `Some`: char(n), padded to so many characters.
    Text(StringBuilder, Option<u32>),
    Bytea(BinaryBuilder),
    /// Ranges and multiranges of this type.
    Checked(BinaryBuilder, SqlType),
    Date(PrimitiveBuilder<Date32Type>),
    Time(PrimitiveBuilder<Time64MicrosecondType>),
    Timestamp(PrimitiveBuilder<TimestampMicrosecondType>),
    Interval(PrimitiveBuilder<IntervalMonthDayNanoType>),
    Uuid(FixedSizeBinaryBuilder),
    Record(Box<RecordBuilder>),
    List(Box<ListBuilder>),
    Void(usize),
}

/// Rows, a builder a column.
#[derive(Debug)]
struct RecordBuilder {
    fields: Fields,
    /// By the number of the column.
    columns: Vec<(u16, ColumnBuilder)>,
    nulls: NullBufferBuilder,
}

/// Arrays of any element: Arrow's own builder knows its element's builder at compile time only.
#[derive(Debug)]
struct ListBuilder {
    elements: ColumnBuilder,
    arrays: StoredArrays,
}

impl ColumnBuilder {
    /// A builder for a column of this type with room for `rows`.
    pub fn new(ty: &SqlType, rows: usize) -> ColumnBuilder {
        ColumnBuilder::with_string_bytes(ty, rows, STRING_BYTES_GUESS)
    }

    /// With room for `rows` of `string_bytes` each, should they be text or bytea.
    pub fn with_string_bytes(ty: &SqlType, rows: usize, string_bytes: usize) -> ColumnBuilder {
        let kind = match ty {
            SqlType::Bool => Kind::Bool(BooleanBuilder::with_capacity(rows)),
            SqlType::Int2 => Kind::Int2(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Int4 => Kind::Int4(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Int8 | SqlType::Money | SqlType::Oid | SqlType::Regclass | SqlType::Enum(_) => {
                Kind::Int8(PrimitiveBuilder::with_capacity(rows))
            }
            SqlType::Float4 => Kind::Float4(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Float8 => Kind::Float8(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Numeric(Some(size)) if size.is_fixed() => Kind::Decimal(
                PrimitiveBuilder::with_capacity(rows).with_data_type(ty.arrow_type()),
                *size,
            ),
            SqlType::Numeric(_) => Kind::Numeric(BinaryBuilder::with_capacity(rows, rows * string_bytes)),
            SqlType::Char(width) => {
                Kind::Text(StringBuilder::with_capacity(rows, rows * string_bytes), *width)
            }
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
            | SqlType::Unknown => Kind::Text(StringBuilder::with_capacity(rows, rows * string_bytes), None),
            SqlType::Bytea => Kind::Bytea(BinaryBuilder::with_capacity(rows, rows * string_bytes)),
            SqlType::Range(_) | SqlType::Multirange(_) | SqlType::Packed(_) => Kind::Checked(
                BinaryBuilder::with_capacity(rows, rows * string_bytes),
                ty.clone(),
            ),
            SqlType::Date => Kind::Date(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Time(_) => Kind::Time(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Timestamp(_) | SqlType::TimestampTz(_) => {
                Kind::Timestamp(PrimitiveBuilder::with_capacity(rows).with_data_type(ty.arrow_type()))
            }
            SqlType::Interval(_) => Kind::Interval(PrimitiveBuilder::with_capacity(rows)),
            SqlType::Uuid => Kind::Uuid(FixedSizeBinaryBuilder::with_capacity(rows, UUID_BYTES as i32)),
            SqlType::Record(record) => Kind::Record(Box::new(RecordBuilder::new(ty, record, rows))),
            SqlType::Array(element) => Kind::List(Box::new(ListBuilder::new(ty, element, rows))),
            SqlType::Int2Vector => Kind::List(Box::new(ListBuilder::new(ty, &SqlType::Int2, rows))),
            SqlType::Catalog(CatalogType::OidVector) => {
                Kind::List(Box::new(ListBuilder::new(ty, &SqlType::Int8, rows)))
            }
            SqlType::Void => Kind::Void(0),
            // As their Arrow type alone: only constants of these types are ever collected, no table stores them.
            SqlType::Catalog(_) => return ColumnBuilder::new(&SqlType::from_arrow(&ty.arrow_type()), rows),
        };
        ColumnBuilder {
            kind,
            scratch: Vec::new(),
        }
    }

    /// Appends what a row holds. Errors: `Corrupt`.
    #[inline]
    pub fn append_stored(&mut self, stored: Stored<'_>) -> Result<()> {
        let Stored::Bytes(bytes) = stored else {
            self.append_null();
            return Ok(());
        };
        match &mut self.kind {
            Kind::Bool(builder) => match bytes {
                [0] => builder.append_value(false),
                [1] => builder.append_value(true),
                _ => return Err(damaged("a boolean that is neither 0 nor 1")),
            },
            Kind::Int2(builder) => builder.append_value(narrow(read_integer(bytes)?)?),
            Kind::Int4(builder) => builder.append_value(narrow(read_integer(bytes)?)?),
            Kind::Int8(builder) => builder.append_value(read_integer(bytes)?),
            Kind::Float4(builder) => builder.append_value(f32::from_le_bytes(fixed(bytes)?)),
            Kind::Float8(builder) => builder.append_value(f64::from_le_bytes(fixed(bytes)?)),
            Kind::Decimal(builder, _) => builder.append_value(match bytes.len() {
                8 => i128::from(i64::from_le_bytes(fixed(bytes)?)),
                _ => i128::from_le_bytes(fixed(bytes)?),
            }),
            Kind::Numeric(builder) => append_numeric(builder, &mut self.scratch, bytes)?,
            Kind::Text(builder, width) => append_text(builder, *width, bytes)?,
            Kind::Bytea(builder) => builder.append_value(bytes),
            Kind::Checked(builder, ty) => append_checked(builder, ty, bytes)?,
            Kind::Date(builder) => builder.append_value(i32::from_le_bytes(fixed(bytes)?)),
            Kind::Time(builder) => builder.append_value(i64::from_le_bytes(fixed(bytes)?)),
            Kind::Timestamp(builder) => builder.append_value(i64::from_le_bytes(fixed(bytes)?)),
            Kind::Interval(builder) => builder.append_value(arrow_interval(read_interval(bytes)?)?),
            Kind::Uuid(builder) => {
                builder
                    .append_value(fixed::<UUID_BYTES>(bytes)?)
                    .map_err(|_| damaged("a uuid of another length"))?;
            }
            Kind::Record(record) => record.append_stored(bytes)?,
            Kind::List(list) => list.append_stored(bytes)?,
            Kind::Void(rows) => *rows += 1,
        }
        Ok(())
    }

    /// Appends the key field that `bytes` starts with, and answers its length. Errors: `Corrupt`.
    #[inline]
    pub fn append_key_field(&mut self, bytes: &[u8], field: &KeyField) -> Result<usize> {
        if key::read_null(bytes, field)? {
            self.append_null();
            return Ok(1);
        }
        match &mut self.kind {
            Kind::Bool(builder) => {
                builder.append_value(key::read_bool(bytes, field)?);
                Ok(2)
            }
            Kind::Int2(builder) => {
                builder.append_value(narrow(key::read_i64(bytes, field)?)?);
                Ok(9)
            }
            Kind::Int4(builder) => {
                builder.append_value(narrow(key::read_i64(bytes, field)?)?);
                Ok(9)
            }
            Kind::Int8(builder) => append_i64(builder, bytes, field),
            Kind::Time(builder) => append_i64(builder, bytes, field),
            Kind::Timestamp(builder) => append_i64(builder, bytes, field),
            Kind::Float4(builder) => {
                builder.append_value(key::read_f32(bytes, field)?);
                Ok(5)
            }
            Kind::Float8(builder) => {
                builder.append_value(key::read_f64(bytes, field)?);
                Ok(9)
            }
            Kind::Decimal(builder, size) => {
                let (unscaled, length) = key::read_decimal(bytes, size, field)?;
                builder.append_value(unscaled);
                Ok(length)
            }
            Kind::Date(builder) => {
                builder.append_value(key::read_i32(bytes, field)?);
                Ok(5)
            }
            Kind::Uuid(builder) => {
                let uuid = key::read_fixed::<UUID_BYTES>(bytes, field)?;
                builder
                    .append_value(uuid)
                    .map_err(|_| damaged("a uuid of another length"))?;
                Ok(1 + UUID_BYTES)
            }
            Kind::Text(builder, width) => {
                let (text, length) = key::read_text(bytes, field, &mut self.scratch)?;
                append_text(builder, *width, text).map_err(|_| key::not_utf8())?;
                Ok(length)
            }
            Kind::Bytea(builder) => {
                let (value, length) = key::read_text(bytes, field, &mut self.scratch)?;
                builder.append_value(value);
                Ok(length)
            }
            Kind::Checked(builder, ty @ SqlType::Packed(_)) => {
                let (value, length) = key::read_text(bytes, field, &mut self.scratch)?;
                append_checked(builder, ty, value)?;
                Ok(length)
            }
            Kind::Numeric(builder) => {
                let (number, length) = key::read_numeric(bytes, field)?;
                append_number(builder, &mut self.scratch, &number);
                Ok(length)
            }
            _ => self.append_plainest(bytes, field),
        }
    }

    /// The same of a field that does not tell its value, which stands under the key: this is no hot path.
    fn append_plainest(&mut self, bytes: &[u8], field: &KeyField) -> Result<usize> {
        let (value, length) = key::decode_value(bytes, field)?;
        self.append_value(&value)?;
        Ok(length)
    }

    /// Appends a constant of the column's type (a default, or NULL). Errors: one that was not assigned to the type, which
    /// is a bug of the caller.
    pub fn append_value(&mut self, value: &Value) -> Result<()> {
        let unfit = || Error::internal(format!("{value:?} was not assigned to its column's type"));
        match (&mut self.kind, value) {
            (_, Value::Null) => self.append_null(),
            (Kind::Bool(builder), Value::Bool(value)) => builder.append_value(*value),
            (Kind::Int2(builder), Value::Int(value)) => {
                builder.append_value(i16::try_from(*value).map_err(|_| unfit())?)
            }
            (Kind::Int4(builder), Value::Int(value)) => {
                builder.append_value(i32::try_from(*value).map_err(|_| unfit())?)
            }
            (Kind::Int8(builder), Value::Int(value) | Value::Money(value)) => builder.append_value(*value),
            (Kind::Int8(builder), Value::Enum(value)) => builder.append_value(value.position),
            (Kind::Float4(builder), Value::Float4(value)) => builder.append_value(*value),
            (Kind::Float8(builder), Value::Float8(value)) => builder.append_value(*value),
            (Kind::Decimal(builder, size), Value::Numeric(value)) => {
                builder.append_value(value.unscaled_at(size.shown_scale()).ok_or_else(unfit)?);
            }
            (Kind::Numeric(builder), Value::Numeric(value)) => {
                append_number(builder, &mut self.scratch, value);
            }
            (Kind::Text(builder, _), Value::Text(value) | Value::Unknown(value)) => {
                builder.append_value(value)
            }
            (Kind::Bytea(builder), Value::Bytes(value)) => builder.append_value(value),
            (Kind::Checked(builder, _), Value::Range(range)) => {
                self.scratch.clear();
                range.put_bytes(&mut self.scratch);
                builder.append_value(&self.scratch);
            }
            (Kind::Checked(builder, _), Value::Multirange(ranges)) => {
                self.scratch.clear();
                ranges.put_bytes(&mut self.scratch);
                builder.append_value(&self.scratch);
            }
            (Kind::Checked(builder, _), Value::Packed(address)) => builder.append_value(address.bytes()),
            (Kind::Date(builder), Value::Date(days)) => builder.append_value(*days),
            (Kind::Time(builder), Value::Time(micros)) => builder.append_value(*micros),
            (Kind::Timestamp(builder), Value::Timestamp(micros) | Value::TimestampTz(micros)) => {
                builder.append_value(*micros);
            }
            (Kind::Interval(builder), Value::Interval(interval)) => {
                builder.append_value(interval.to_arrow().ok_or_else(unfit)?)
            }
            (Kind::Uuid(builder), Value::Uuid(value)) => {
                builder
                    .append_value(value)
                    .expect("a uuid has the width of its column");
            }
            (Kind::Record(record), Value::Record(values)) if values.len() == record.columns.len() => {
                for ((_, column), value) in record.columns.iter_mut().zip(values) {
                    column.append_value(value)?;
                }
                record.nulls.append(true);
            }
            (Kind::List(list), Value::Array(elements)) => {
                for element in elements {
                    list.elements.append_value(element)?;
                }
                list.arrays.end_row(elements.len(), elements.shape());
            }
            (Kind::Void(rows), _) => *rows += 1,
            _ => return Err(unfit()),
        }
        Ok(())
    }

    fn append_null(&mut self) {
        match &mut self.kind {
            Kind::Bool(builder) => builder.append_null(),
            Kind::Int2(builder) => builder.append_null(),
            Kind::Int4(builder) => builder.append_null(),
            Kind::Int8(builder) => builder.append_null(),
            Kind::Float4(builder) => builder.append_null(),
            Kind::Float8(builder) => builder.append_null(),
            Kind::Decimal(builder, _) => builder.append_null(),
            Kind::Numeric(builder) => builder.append_null(),
            Kind::Text(builder, _) => builder.append_null(),
            Kind::Bytea(builder) | Kind::Checked(builder, _) => builder.append_null(),
            Kind::Date(builder) => builder.append_null(),
            Kind::Time(builder) => builder.append_null(),
            Kind::Timestamp(builder) => builder.append_null(),
            Kind::Interval(builder) => builder.append_null(),
            Kind::Uuid(builder) => builder.append_null(),
            Kind::Record(record) => record.append_null(),
            Kind::List(list) => list.arrays.append_null(),
            Kind::Void(rows) => *rows += 1,
        }
    }

    /// Rows appended so far.
    pub fn len(&self) -> usize {
        match &self.kind {
            Kind::Bool(builder) => builder.len(),
            Kind::Int2(builder) => builder.len(),
            Kind::Int4(builder) => builder.len(),
            Kind::Int8(builder) => builder.len(),
            Kind::Float4(builder) => builder.len(),
            Kind::Float8(builder) => builder.len(),
            Kind::Decimal(builder, _) => builder.len(),
            Kind::Numeric(builder) => builder.len(),
            Kind::Text(builder, _) => builder.len(),
            Kind::Bytea(builder) | Kind::Checked(builder, _) => builder.len(),
            Kind::Date(builder) => builder.len(),
            Kind::Time(builder) => builder.len(),
            Kind::Timestamp(builder) => builder.len(),
            Kind::Interval(builder) => builder.len(),
            Kind::Uuid(builder) => builder.len(),
            Kind::Record(record) => record.nulls.len(),
            Kind::List(list) => list.arrays.len(),
            Kind::Void(rows) => *rows,
        }
    }

    /// Bytes of the texts or byteas appended so far; 0 for other types.
    pub fn string_bytes(&self) -> usize {
        match &self.kind {
            Kind::Text(builder, _) => builder.values_slice().len(),
            Kind::Bytea(builder) | Kind::Numeric(builder) => builder.values_slice().len(),
            _ => 0,
        }
    }

    /// The array.
    pub fn finish(self) -> ArrayRef {
        match self.kind {
            Kind::Bool(mut builder) => Arc::new(builder.finish()),
            Kind::Int2(mut builder) => Arc::new(builder.finish()),
            Kind::Int4(mut builder) => Arc::new(builder.finish()),
            Kind::Int8(mut builder) => Arc::new(builder.finish()),
            Kind::Float4(mut builder) => Arc::new(builder.finish()),
            Kind::Float8(mut builder) => Arc::new(builder.finish()),
            Kind::Decimal(mut builder, _) => Arc::new(builder.finish()),
            Kind::Numeric(mut builder) => Arc::new(builder.finish()),
            Kind::Text(mut builder, _) => Arc::new(builder.finish()),
            Kind::Bytea(mut builder) | Kind::Checked(mut builder, _) => Arc::new(builder.finish()),
            Kind::Date(mut builder) => Arc::new(builder.finish()),
            Kind::Time(mut builder) => Arc::new(builder.finish()),
            Kind::Timestamp(mut builder) => Arc::new(builder.finish()),
            Kind::Interval(mut builder) => Arc::new(builder.finish()),
            Kind::Uuid(mut builder) => Arc::new(builder.finish()),
            Kind::Record(record) => record.finish(),
            Kind::List(list) => list.finish(),
            Kind::Void(rows) => Arc::new(NullArray::new(rows)),
        }
    }
}

impl RecordBuilder {
    fn new(ty: &SqlType, record: &RecordType, rows: usize) -> RecordBuilder {
        let columns = record.fields.iter();
        RecordBuilder {
            fields: match ty.arrow_type() {
                DataType::Struct(fields) => fields,
                _ => Fields::empty(),
            },
            columns: columns
                .map(|field| (field.number, ColumnBuilder::new(&field.ty, rows)))
                .collect(),
            nulls: NullBufferBuilder::new(rows),
        }
    }

    fn append_null(&mut self) {
        for (_, column) in &mut self.columns {
            column.append_null();
        }
        self.nulls.append(false);
    }

    /// Appends the columns that are there, each by its number; the others are NULL. A number that the type has no more is of a
    /// column that was dropped.
    fn append_stored(&mut self, bytes: &[u8]) -> Result<()> {
        let short = || damaged("a row value that ends within a column");
        let (rows, mut rest) = (self.nulls.len(), bytes);
        while !rest.is_empty() {
            let (number, after) = rest.split_first_chunk::<2>().ok_or_else(short)?;
            let (length, after) = after.split_first_chunk::<4>().ok_or_else(short)?;
            let length = u32::from_le_bytes(*length) as usize;
            let (value, after) = after.split_at_checked(length).ok_or_else(short)?;
            rest = after;
            let number = u16::from_le_bytes(*number);
            if let Some((_, column)) = self.columns.iter_mut().find(|(known, _)| *known == number) {
                if column.len() > rows {
                    return Err(damaged("a row value with a column that stands there twice"));
                }
                column.append_stored(Stored::Bytes(value))?;
            }
        }
        for (_, column) in &mut self.columns {
            if column.len() == rows {
                column.append_null();
            }
        }
        self.nulls.append(true);
        Ok(())
    }

    fn finish(mut self) -> ArrayRef {
        let nulls = self.nulls.finish();
        let columns = self.columns.into_iter().map(|(_, column)| column.finish());
        Arc::new(StructArray::new(self.fields, columns.collect(), nulls))
    }
}

impl ListBuilder {
    fn new(ty: &SqlType, element: &SqlType, rows: usize) -> ListBuilder {
        ListBuilder {
            elements: ColumnBuilder::new(element, rows),
            arrays: StoredArrays::new(ty, element, rows),
        }
    }

    fn append_stored(&mut self, bytes: &[u8]) -> Result<()> {
        let elements = &mut self.elements;
        self.arrays
            .append(bytes, &mut |element| elements.append_stored(element))
    }

    fn finish(self) -> ArrayRef {
        self.arrays.finish(self.elements.finish())
    }
}

/// Appends bytes that are a range, a multirange or an address of the type. Errors: `Corrupt`.
fn append_checked(builder: &mut BinaryBuilder, ty: &SqlType, bytes: &[u8]) -> Result<()> {
    let is_one = match ty {
        SqlType::Range(kind) => RangeValue::from_bytes(bytes, *kind).is_some(),
        SqlType::Multirange(kind) => MultirangeValue::from_bytes(bytes, *kind).is_some(),
        SqlType::Packed(kind) => PackedValue::from_bytes(bytes, *kind).is_some(),
        _ => false,
    };
    if !is_one {
        return Err(damaged("bytes that are no value of their column's type"));
    }
    builder.append_value(bytes);
    Ok(())
}

#[inline]
fn append_i64<T: ArrowPrimitiveType<Native = i64>>(
    builder: &mut PrimitiveBuilder<T>,
    bytes: &[u8],
    field: &KeyField,
) -> Result<usize> {
    builder.append_value(key::read_i64(bytes, field)?);
    Ok(9)
}

#[inline]
fn append_text(builder: &mut StringBuilder, width: Option<u32>, bytes: &[u8]) -> Result<()> {
    let text = std::str::from_utf8(bytes).map_err(|_| damaged("text is not UTF-8"))?;
    match width {
        None => builder.append_value(text),
        Some(width) => append_padded(builder, text, width as usize)?,
    }
    Ok(())
}

/// Appends the text and blanks up to `width` characters.
fn append_padded(builder: &mut StringBuilder, text: &str, width: usize) -> Result<()> {
    use std::fmt::Write;
    const BLANKS: &str = "                                ";
    let unprintable = |_| damaged("text that does not print");
    builder.write_str(text).map_err(unprintable)?;
    let mut missing = width.saturating_sub(text.chars().count());
    while missing > 0 {
        let step = missing.min(BLANKS.len());
        builder.write_str(&BLANKS[..step]).map_err(unprintable)?;
        missing -= step;
    }
    builder.append_value("");
    Ok(())
}

/// Errors: more hours than Arrow's nanoseconds hold, which no interval that was read as SQL has.
fn arrow_interval(interval: Interval) -> Result<IntervalMonthDayNano> {
    let arrow = interval.to_arrow();
    arrow.ok_or_else(|| damaged("an interval beyond the largest"))
}

/// Appends a numeric as a row holds it, in whichever form. Errors: `Corrupt`.
#[inline]
fn append_numeric(builder: &mut BinaryBuilder, scratch: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if NumericBytes::read(bytes).is_some() {
        builder.append_value(bytes);
        return Ok(());
    }
    let former = read_former_numeric(bytes).filter(|_| is_former_numeric(bytes));
    let number = former.ok_or_else(|| damaged("bytes that are no numeric"))?;
    append_number(builder, scratch, &number);
    Ok(())
}

fn append_number(builder: &mut BinaryBuilder, scratch: &mut Vec<u8>, number: &Numeric) {
    scratch.clear();
    number.put_bytes(scratch);
    builder.append_value(scratch);
}
