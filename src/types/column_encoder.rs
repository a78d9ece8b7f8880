//! Elements of Arrow arrays in PostgreSQL's text form, and [`ColumnEncoder`], which resolves a column's type once a batch
//! so that a value costs one match and no allocation. `wire` calls it for every value it sends; `session` for COPY.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray,
    StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::CastOptions;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::array_column::{dimensions_in, item_field, items_of, shapes_of};
use super::array_dimension::{Dimension, put_array};
use super::array_quotes::quote_element;
use super::catalog_type::name_and_oid;
use super::record_quotes::quote_field;
use super::scalar::{Scalar, WireFormat};
use super::{
    CatalogType, EnumType, FormatSettings, NumericBytes, PackedKind, RangeKind, RecordType, SqlType, Value,
    range_bytes, value_at,
};
use crate::{Error, Result};

/// Appends the elements of one Arrow array in text or binary form.
#[derive(Debug)]
pub struct ColumnEncoder {
    nulls: Option<NullBuffer>,
    source: Source,
    format: WireFormat,
    settings: FormatSettings,
}

/// An array, and what its type needs for printing.
#[derive(Debug)]
pub(super) enum Source {
    Bool(BooleanArray),
    Int2(Int16Array),
    Int4(Int32Array),
    Int8(Int64Array),
    /// oid, regclass.
    Oid(Int64Array),
    /// The positions of labels.
    Enum(Int64Array, Arc<EnumType>),
    Float4(Float32Array),
    Float8(Float64Array),
    Decimal128 {
        array: Decimal128Array,
        scale: u8,
    },
    /// Numerics of variable length, all of which were read once.
    Numeric(BinaryArray),
    Text(StringArray),
    /// Names of objects, with their oids behind them.
    ObjectName(StringArray),
    Char(StringArray),
    Jsonb(StringArray),
    Bits(StringArray),
    Bytes(BinaryArray),
    Packed(BinaryArray, PackedKind),
    TsVector(StringArray),
    TsQuery(StringArray),
    Snapshot(StringArray),
    Date(Date32Array),
    Money(Int64Array),
    Tid(Int64Array),
    Lsn(Int64Array),
    Time(Time64MicrosecondArray),
    Timestamp(TimestampMicrosecondArray),
    TimestampTz(TimestampMicrosecondArray),
    Interval(IntervalMonthDayNanoArray),
    Uuid(FixedSizeBinaryArray),
    /// Ranges and multiranges of this type, all of which were read once.
    Range(BinaryArray, SqlType),
    /// A row: its columns, and the OIDs of their types.
    Record(Vec<(ColumnEncoder, u32)>),
    List {
        array: ListArray,
        /// `None`: each array is one dimension from 1.
        shapes: Option<BinaryArray>,
        element: Box<ColumnEncoder>,
        element_oid: u32,
    },
    /// int2vector: a list without braces.
    Vector {
        array: ListArray,
        element: Box<ColumnEncoder>,
        element_oid: u32,
    },
    Null,
}

impl ColumnEncoder {
    /// Prepares a column of one batch. An array of another Arrow type than the SQL type's own is cast, once.
    /// Errors: XX000 when the array cannot carry the type.
    pub fn new(
        ty: &SqlType,
        array: &ArrayRef,
        format: WireFormat,
        settings: &FormatSettings,
    ) -> Result<ColumnEncoder> {
        let array = carried(ty, array)?;
        let source = Source::new(ty, &array, format, settings)?;
        Ok(ColumnEncoder {
            nulls: array.logical_nulls(),
            source,
            format,
            settings: settings.clone(),
        })
    }

    /// Appends the value of a row; appends nothing and answers `false` when it is NULL.
    #[inline]
    pub fn encode(&self, row: usize, out: &mut Vec<u8>) -> bool {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return false;
        }
        match self.source.scalar(row, self.format) {
            Some(scalar) => scalar.put(self.format, &self.settings, out),
            None => self.source.put_nested(row, (self.format, &self.settings), out),
        }
        true
    }

    /// Appends the value of a row as DataRow holds it: its length as i32 BE, then the value; -1 for NULL.
    #[inline]
    pub fn encode_field(&self, row: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        if self.encode(row, out) {
            let length = (out.len() - start - 4) as i32; // a value of 2 GiB is above every limit
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

/// The array as the Arrow type that [`Source::new`] takes for the SQL type.
fn carried(ty: &SqlType, array: &ArrayRef) -> Result<ArrayRef> {
    let expected = ty.arrow_type();
    let found = array.data_type();
    let fits = match (&expected, found) {
        // Decimals bring their own scale.
        (DataType::Decimal128(..), DataType::Decimal128(..)) => true,
        (DataType::List(_), DataType::List(_)) => true,
        (DataType::Struct(_), found) if item_field(&expected).is_some() => item_field(found).is_some(),
        (DataType::Struct(columns), DataType::Struct(found)) => columns.len() == found.len(),
        (expected, found) => expected == found,
    };
    if fits || *found == DataType::Null {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    match arrow::compute::cast_with_options(array, &expected, &options) {
        Ok(cast) => Ok(cast),
        Err(_) if expected == DataType::Utf8 => displayed(array),
        Err(error) => Err(Error::internal(format!(
            "a column of type {ty} is carried by {found}: {error}"
        ))),
    }
}

/// Text of what PostgreSQL has no type for (structs, maps), as Arrow displays it.
fn displayed(array: &ArrayRef) -> Result<ArrayRef> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)
        .map_err(|error| Error::internal(format!("{} cannot be shown: {error}", array.data_type())))?;
    let texts = (0..array.len()).map(|row| array.is_valid(row).then(|| formatter.value(row).to_string()));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

impl Source {
    fn new(ty: &SqlType, array: &ArrayRef, format: WireFormat, settings: &FormatSettings) -> Result<Source> {
        if *array.data_type() == DataType::Null {
            return Ok(Source::Null);
        }
        Ok(match ty {
            SqlType::Bool => Source::Bool(array.as_boolean().clone()),
            SqlType::Int2 => Source::Int2(array.as_primitive().clone()),
            SqlType::Int4 => Source::Int4(array.as_primitive().clone()),
            SqlType::Int8 | SqlType::Catalog(CatalogType::Xid8) => Source::Int8(array.as_primitive().clone()),
            SqlType::Money => Source::Money(array.as_primitive().clone()),
            SqlType::Oid | SqlType::Regclass => Source::Oid(array.as_primitive().clone()),
            SqlType::Enum(ty) => Source::Enum(array.as_primitive().clone(), Arc::clone(ty)),
            SqlType::Float4 => Source::Float4(array.as_primitive().clone()),
            SqlType::Float8 => Source::Float8(array.as_primitive().clone()),
            SqlType::Numeric(_) => Source::of_numeric(array)?,
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Citext
            | SqlType::Json
            | SqlType::Name
            | SqlType::Unknown => Source::Text(array.as_string().clone()),
            SqlType::InternalChar => Source::Char(array.as_string().clone()),
            SqlType::Bit(_) | SqlType::VarBit(_) => Source::Bits(array.as_string().clone()),
            SqlType::Jsonb => Source::Jsonb(array.as_string().clone()),
            SqlType::TsVector => Source::TsVector(array.as_string().clone()),
            SqlType::TsQuery => Source::TsQuery(array.as_string().clone()),
            SqlType::Bytea => Source::Bytes(array.as_binary().clone()),
            SqlType::Packed(kind) => Source::Packed(array.as_binary().clone(), *kind),
            SqlType::Date => Source::Date(array.as_primitive().clone()),
            SqlType::Time(_) => Source::Time(array.as_primitive().clone()),
            SqlType::Timestamp(_) => Source::Timestamp(array.as_primitive().clone()),
            SqlType::TimestampTz(_) => Source::TimestampTz(array.as_primitive().clone()),
            SqlType::Interval(_) => Source::Interval(array.as_primitive().clone()),
            SqlType::Uuid => Source::Uuid(array.as_fixed_size_binary().clone()),
            SqlType::Range(_) | SqlType::Multirange(_) => {
                for row in 0..array.len() {
                    value_at(array, row, ty)?;
                }
                Source::Range(array.as_binary().clone(), ty.clone())
            }
            SqlType::Record(ty) => Source::of_record(ty, array, format, settings)?,
            SqlType::Array(element) => {
                let shapes = shapes_of(array).cloned();
                let array = items_of(array).cloned();
                let array = array.ok_or_else(|| Error::internal("an array that is carried by none"))?;
                let element_oid = element.oid();
                let element = Box::new(ColumnEncoder::new(element, array.values(), format, settings)?);
                Source::List {
                    array,
                    shapes,
                    element,
                    element_oid,
                }
            }
            SqlType::Int2Vector => Source::of_vector(&SqlType::Int2, array, format, settings)?,
            SqlType::Catalog(CatalogType::OidVector) => {
                Source::of_vector(&SqlType::Oid, array, format, settings)?
            }
            SqlType::Catalog(CatalogType::PgLsn) => Source::Lsn(array.as_primitive().clone()),
            SqlType::Catalog(CatalogType::Tid) => Source::Tid(array.as_primitive().clone()),
            SqlType::Catalog(_) if ty.arrow_type() == DataType::Int64 => {
                Source::Oid(array.as_primitive().clone())
            }
            SqlType::Catalog(CatalogType::JsonPath) => Source::Jsonb(array.as_string().clone()),
            SqlType::Catalog(kind) => Source::of_catalog_text(*kind, array),
            SqlType::Void => Source::Null,
        })
    }

    /// Of a type of the catalogs whose values are texts.
    fn of_catalog_text(kind: CatalogType, array: &ArrayRef) -> Source {
        let texts = array.as_string().clone();
        match kind {
            kind if kind.is_name_of_object() => Source::ObjectName(texts),
            kind if kind.is_snapshot() => Source::Snapshot(texts),
            _ => Source::Text(texts),
        }
    }

    /// Of int2vector or oidvector.
    fn of_vector(
        item: &SqlType,
        array: &ArrayRef,
        format: WireFormat,
        settings: &FormatSettings,
    ) -> Result<Source> {
        let array: ListArray = array.as_list().clone();
        Ok(Source::Vector {
            element: Box::new(ColumnEncoder::new(item, array.values(), format, settings)?),
            element_oid: item.oid(),
            array,
        })
    }

    fn of_numeric(array: &ArrayRef) -> Result<Source> {
        match array.data_type() {
            DataType::Decimal128(_, scale @ 0..) => Ok(Source::Decimal128 {
                array: array.as_primitive().clone(),
                scale: scale.unsigned_abs(),
            }),
            DataType::Binary => {
                let array: BinaryArray = array.as_binary().clone();
                let is_damaged = |bytes: &[u8]| NumericBytes::read(bytes).is_none();
                match array.iter().flatten().any(is_damaged) {
                    true => Err(Error::internal(
                        "bytes that are no numeric in a column of type numeric",
                    )),
                    false => Ok(Source::Numeric(array)),
                }
            }
            other => Err(Error::internal(format!(
                "a column of type numeric is carried by {other}"
            ))),
        }
    }

    /// The value of a row, unless it is a list or a row itself.
    #[inline]
    fn scalar(&self, row: usize, format: WireFormat) -> Option<Scalar<'_>> {
        Some(match self {
            Source::Bool(array) => Scalar::Bool(array.value(row)),
            Source::Int2(array) => Scalar::Int2(array.value(row)),
            Source::Int4(array) => Scalar::Int4(array.value(row)),
            Source::Int8(array) => Scalar::Int8(array.value(row)),
            Source::Oid(array) => Scalar::Oid(array.value(row)),
            Source::Enum(array, ty) => Scalar::Text(ty.label(array.value(row)).as_bytes()),
            Source::Float4(array) => Scalar::Float4(array.value(row)),
            Source::Float8(array) => Scalar::Float8(array.value(row)),
            Source::Decimal128 { array, scale } => Scalar::Decimal128 {
                unscaled: array.value(row),
                scale: *scale,
            },
            Source::Numeric(array) => Scalar::Numeric(NumericBytes::read(array.value(row))?),
            Source::Text(array) => Scalar::Text(array.value(row).as_bytes()),
            Source::ObjectName(array) => match (name_and_oid(array.value(row)), format) {
                ((_, Some(oid)), WireFormat::Binary) => Scalar::Oid(oid),
                ((name, _), _) => Scalar::Text(name.as_bytes()),
            },
            Source::Char(array) => Scalar::Char(array.value(row).as_bytes()),
            Source::Jsonb(array) => Scalar::Jsonb(array.value(row).as_bytes()),
            Source::TsVector(array) => Scalar::TsVector(array.value(row).as_bytes()),
            Source::TsQuery(array) => Scalar::TsQuery(array.value(row).as_bytes()),
            Source::Snapshot(array) => Scalar::Snapshot(array.value(row).as_bytes()),
            Source::Bits(array) => Scalar::Bits(array.value(row).as_bytes()),
            Source::Bytes(array) => Scalar::Bytes(array.value(row)),
            Source::Packed(array, kind) => Scalar::Packed(*kind, array.value(row)),
            Source::Date(array) => Scalar::Date(array.value(row)),
            Source::Money(array) => Scalar::Money(array.value(row)),
            Source::Lsn(array) => Scalar::Lsn(array.value(row)),
            Source::Tid(array) => Scalar::Tid(array.value(row)),
            Source::Time(array) => Scalar::Time(array.value(row)),
            Source::Timestamp(array) => Scalar::Timestamp(array.value(row)),
            Source::TimestampTz(array) => Scalar::TimestampTz(array.value(row)),
            Source::Interval(array) => Scalar::Interval(array.value(row).into()),
            Source::Uuid(array) => Scalar::Uuid(array.value(row)),
            Source::Range(..)
            | Source::Record(_)
            | Source::List { .. }
            | Source::Vector { .. }
            | Source::Null => return None,
        })
    }

    fn of_record(
        ty: &RecordType,
        array: &ArrayRef,
        format: WireFormat,
        settings: &FormatSettings,
    ) -> Result<Source> {
        let columns = array.as_struct().columns().iter().zip(&ty.fields);
        let columns = columns.map(|(column, field)| {
            let encoder = ColumnEncoder::new(&field.ty, column, format, settings)?;
            Ok((encoder, field.ty.oid()))
        });
        Ok(Source::Record(columns.collect::<Result<_>>()?))
    }

    /// Appends the list or row of a row.
    fn put_nested(&self, row: usize, (format, settings): (WireFormat, &FormatSettings), out: &mut Vec<u8>) {
        match (self, format) {
            (Source::Range(array, ty), format) => {
                if let Ok(value) = value_at(array, row, ty) {
                    match format {
                        WireFormat::Text => value.put_text(out, settings),
                        WireFormat::Binary => put_binary_range(out, &value, settings),
                    }
                }
            }
            (Source::Record(columns), WireFormat::Text) => put_row(out, columns, row),
            (Source::Record(columns), WireFormat::Binary) => {
                out.extend_from_slice(&(columns.len() as i32).to_be_bytes());
                for (column, oid) in columns {
                    out.extend_from_slice(&oid.to_be_bytes());
                    column.encode_field(row, out);
                }
            }
            (
                Source::List {
                    array,
                    shapes,
                    element,
                    ..
                },
                WireFormat::Text,
            ) => {
                let rows = element_rows(array, row);
                put_array(out, &own_dimensions(array, shapes, row), |out, place| {
                    put_element(out, element, rows.start + place, true);
                });
            }
            (Source::Vector { array, element, .. }, WireFormat::Text) => {
                put_vector(out, element, element_rows(array, row));
            }
            (
                Source::List {
                    array,
                    shapes,
                    element,
                    element_oid,
                },
                WireFormat::Binary,
            ) => {
                let dimensions = own_dimensions(array, shapes, row);
                put_binary_array(out, element, *element_oid, &dimensions, element_rows(array, row));
            }
            (
                Source::Vector {
                    array,
                    element,
                    element_oid,
                },
                WireFormat::Binary,
            ) => {
                let rows = element_rows(array, row);
                let dimension = Dimension {
                    lower: 0,
                    ..Dimension::of(rows.len())
                };
                put_binary_array(out, element, *element_oid, &[dimension], rows);
            }
            _ => {}
        }
    }
}

/// A row in its text form.
fn put_row(out: &mut Vec<u8>, columns: &[(ColumnEncoder, u32)], row: usize) {
    out.push(b'(');
    for (i, (column, _)) in columns.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        let start = out.len();
        if column.encode(row, out) {
            quote_field(out, start);
        }
    }
    out.push(b')');
}

/// A vector in its text form, which has no braces.
fn put_vector(out: &mut Vec<u8>, element: &ColumnEncoder, rows: std::ops::Range<usize>) {
    for (i, row) in rows.enumerate() {
        if i > 0 {
            out.push(b' ');
        }
        put_element(out, element, row, false);
    }
}

/// A range: PostgreSQL's flags, then each bound behind its length. A multirange: how many, then each range behind its length.
fn put_binary_range(out: &mut Vec<u8>, value: &Value, settings: &FormatSettings) {
    let behind_length = |out: &mut Vec<u8>, put: &dyn Fn(&mut Vec<u8>)| {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        put(out);
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    };
    match value {
        Value::Range(range) => {
            out.push(range_bytes::flags(range));
            let bounds = range
                .bounds
                .as_deref()
                .into_iter()
                .flat_map(|(lower, upper)| [lower, upper]);
            for bound in bounds.filter_map(|bound| bound.value.as_ref()) {
                behind_length(out, &|out| put_binary_bound(out, bound, range.kind, settings));
            }
        }
        Value::Multirange(ranges) => {
            out.extend_from_slice(&(ranges.ranges.len() as i32).to_be_bytes());
            for range in &ranges.ranges {
                let range = Value::Range(range.clone());
                behind_length(out, &|out| put_binary_range(out, &range, settings));
            }
        }
        _ => {}
    }
}

fn put_binary_bound(out: &mut Vec<u8>, value: &Value, kind: RangeKind, settings: &FormatSettings) {
    let mut number = Vec::new();
    let scalar = match value {
        Value::Int(value) if kind == RangeKind::Int4 => Scalar::Int4(*value as i32),
        Value::Int(value) => Scalar::Int8(*value),
        Value::Date(days) => Scalar::Date(*days),
        Value::Timestamp(micros) => Scalar::Timestamp(*micros),
        Value::TimestampTz(micros) => Scalar::TimestampTz(*micros),
        Value::Numeric(value) => {
            value.put_bytes(&mut number);
            match NumericBytes::read(&number) {
                Some(number) => Scalar::Numeric(number),
                None => return,
            }
        }
        _ => return,
    };
    scalar.put(WireFormat::Binary, settings, out);
}

/// The positions in the list's values that a row's elements take.
#[inline]
fn element_rows(array: &ListArray, row: usize) -> std::ops::Range<usize> {
    let offsets = array.value_offsets();
    offsets[row] as usize..offsets[row + 1] as usize
}

/// The dimensions of a row's array; none where the bytes of its shape are none.
fn own_dimensions(array: &ListArray, shapes: &Option<BinaryArray>, row: usize) -> Vec<Dimension> {
    dimensions_in(array, shapes.as_ref(), row).unwrap_or_default()
}

fn put_element(out: &mut Vec<u8>, element: &ColumnEncoder, row: usize, quoted: bool) {
    let start = out.len();
    if !element.encode(row, out) {
        out.extend_from_slice(b"NULL");
    } else if quoted {
        quote_element(out, start);
    }
}

/// Dimensions, whether there are NULLs, the element's OID, length and lower bound of each dimension, then each element
/// behind its length.
fn put_binary_array(
    out: &mut Vec<u8>,
    element: &ColumnEncoder,
    oid: u32,
    dimensions: &[Dimension],
    rows: std::ops::Range<usize>,
) {
    let start = out.len();
    // What holds nothing has no dimension.
    let dimensions = if rows.is_empty() { &[] } else { dimensions };
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    out.extend_from_slice(&oid.to_be_bytes());
    for dimension in dimensions {
        out.extend_from_slice(&dimension.length.to_be_bytes());
        out.extend_from_slice(&dimension.lower.to_be_bytes());
    }
    for row in rows {
        if element.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            out[start + 4..start + 8].copy_from_slice(&1_i32.to_be_bytes());
        }
        element.encode_field(row, out);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{
        Date64Array, DictionaryArray, DurationMicrosecondArray, Int8Array, Int32Builder, LargeStringArray,
        ListBuilder, NullArray, StringViewArray, StructArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Int32Type};

    use chrono_tz::Tz;

    use super::*;
    use crate::types::Numeric;
    use crate::types::array_column::{ShapeBuilder, array_column};

    /// What the column's first two rows print, by the type that its Arrow type stands for.
    fn printed(array: ArrayRef) -> [Option<String>; 2] {
        let ty = SqlType::from_arrow(array.data_type());
        let settings = FormatSettings {
            time_zone: crate::types::Zone::Named(Tz::Asia__Tokyo),
            ..FormatSettings::default()
        };
        let encoder = ColumnEncoder::new(&ty, &array, WireFormat::Text, &settings).unwrap();
        [0, 1].map(|row| {
            let mut out = Vec::new();
            encoder
                .encode(row, &mut out)
                .then(|| String::from_utf8(out).unwrap())
        })
    }

    #[test]
    fn arrow_types_that_no_column_has_print_too() {
        let dictionary: DictionaryArray<Int32Type> = [Some("a"), None].into_iter().collect();
        let fields = vec![(
            Arc::new(Field::new("x", DataType::Int8, true)),
            Arc::new(Int8Array::from(vec![1, 2])) as ArrayRef,
        )];
        let cases: Vec<(ArrayRef, [Option<&str>; 2])> = vec![
            (
                Arc::new(StringViewArray::from(vec![Some("a"), None])),
                [Some("a"), None],
            ),
            (
                Arc::new(LargeStringArray::from(vec![Some("ä"), None])),
                [Some("ä"), None],
            ),
            (Arc::new(dictionary), [Some("a"), None]),
            (
                Arc::new(Int8Array::from(vec![Some(-8), None])),
                [Some("-8"), None],
            ),
            (
                Arc::new(UInt64Array::from(vec![Some(64), None])),
                [Some("64"), None],
            ),
            (
                Arc::new(TimestampNanosecondArray::from(vec![Some(1_500), None]).with_timezone("+00:00")),
                [Some("1970-01-01 09:00:00.000001+09"), None],
            ),
            (
                Arc::new(Date64Array::from(vec![Some(86_400_000), None])),
                [Some("1970-01-02 00:00:00"), None],
            ),
            (
                Arc::new(DurationMicrosecondArray::from(vec![Some(90_000_000), None])),
                [Some("00:01:30"), None],
            ),
            (Arc::new(StructArray::from(fields)), [Some("(1)"), Some("(2)")]),
            (Arc::new(NullArray::new(2)), [None, None]),
        ];
        for (array, expected) in cases {
            let data_type = array.data_type().clone();
            assert_eq!(
                printed(array),
                expected.map(|text| text.map(str::to_string)),
                "{data_type}"
            );
        }
    }

    #[test]
    fn numerics_print_with_their_scale() {
        let fixed = Decimal128Array::from(vec![Some(1_500), Some(-5)])
            .with_precision_and_scale(10, 3)
            .unwrap();
        let mut cells = Vec::new();
        for text in ["1.50", "-0.005"] {
            let mut cell = Vec::new();
            Numeric::parse(text).unwrap().put_bytes(&mut cell);
            cells.push(cell);
        }
        let variable = BinaryArray::from_iter_values(cells);
        let arrays: [(SqlType, ArrayRef, &str); 2] = [
            (SqlType::numeric(10, 3), Arc::new(fixed), "1.500,-0.005"),
            (SqlType::Numeric(None), Arc::new(variable), "1.50,-0.005"),
        ];
        for (ty, array, expected) in arrays {
            let encoder =
                ColumnEncoder::new(&ty, &array, WireFormat::Text, &FormatSettings::default()).unwrap();
            let mut out = Vec::new();
            encoder.encode(0, &mut out);
            out.push(b',');
            encoder.encode(1, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        let damaged: ArrayRef = Arc::new(BinaryArray::from_iter_values([b"1.50"]));
        let settings = FormatSettings::default();
        assert!(ColumnEncoder::new(&SqlType::Numeric(None), &damaged, WireFormat::Text, &settings).is_err());
    }

    #[test]
    fn arrays_are_sent_with_their_dimensions() {
        let ty = SqlType::from_formatted("integer[][]").unwrap().unwrap();
        let settings = FormatSettings::default();
        let mut lists = ListBuilder::new(Int32Builder::new());
        lists.append_value([Some(1), Some(2), Some(3), None]);
        lists.append_value([]);
        lists.append_value([Some(5)]);
        let mut shapes = ShapeBuilder::default();
        shapes.append(Some(&[Dimension::of(2), Dimension::of(2)]));
        shapes.append(None);
        shapes.append(Some(&[Dimension { length: 1, lower: 0 }]));
        let arrays = array_column(lists.finish(), shapes.finish());
        let encoder = ColumnEncoder::new(&ty, &arrays, WireFormat::Binary, &settings).unwrap();
        for (row, text) in [(0, "{{1,2},{3,NULL}}"), (1, "{}"), (2, "[0:0]={5}")] {
            let mut sent = Vec::new();
            encoder.encode(row, &mut sent);
            let read = Value::from_binary(&sent, &ty, 1).unwrap();
            assert_eq!(read, Value::parse(text, &ty, &settings).unwrap());
            for end in 0..sent.len() {
                assert!(Value::from_binary(&sent[..end], &ty, 1).is_err());
            }
        }
    }

    #[test]
    fn fields_carry_their_length() {
        let array: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), None]));
        let encoder = ColumnEncoder::new(
            &SqlType::Text,
            &array,
            WireFormat::Text,
            &FormatSettings::default(),
        )
        .unwrap();
        let mut out = Vec::new();
        encoder.encode_field(0, &mut out);
        encoder.encode_field(1, &mut out);
        assert_eq!(out, [0, 0, 0, 2, b'a', b'b', 255, 255, 255, 255]);
    }
}
