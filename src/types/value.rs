//! `Value`: one SQL constant (a literal, a bound parameter, a default). Used where there is one value, never a row of
//! many: rows travel as Arrow arrays. Ranges and arrays are defined here, because they hold values; what is done with ranges stands in `range`.
//! Reading text stands in `text_input`, binary in `binary_input`, conversions in `convert`.

use std::sync::Arc;

use super::array_dimension::{Dimension, is_plain, put_array};
use super::array_quotes::quote_element;
use super::record_quotes::quote_field;
use super::{
    EnumValue, FormatSettings, Interval, Numeric, PackedValue, RangeKind, RecordType, SqlType,
    datetime_output, digits, floats, interval_output, money, packed,
};

/// One SQL constant with its kind of type. Units as in [`SqlType`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// boolean.
    Bool(bool),
    /// smallint, integer, bigint (the width is the column's business); oid and regclass.
    Int(i64),
    /// real.
    Float4(f32),
    /// double precision.
    Float8(f64),
    /// numeric.
    Numeric(Numeric),
    /// Cents.
    Money(i64),
    /// text, varchar, char(n) (with its blanks), name, and json / jsonb as text.
    Text(String),
    /// A string literal or text-format parameter whose type the context decides (PostgreSQL's `unknown`).
    Unknown(String),
    /// bytea.
    Bytes(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds of the day.
    Time(i64),
    /// Microseconds since 1970-01-01, no zone.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC.
    TimestampTz(i64),
    /// interval.
    Interval(Interval),
    /// uuid.
    Uuid([u8; 16]),
    /// inet, cidr, macaddr, macaddr8.
    Packed(PackedValue),
    /// A value of an enum type.
    Enum(EnumValue),
    /// A range.
    Range(RangeValue),
    /// A multirange.
    Multirange(MultirangeValue),
    /// A row, one value a column.
    Record(Vec<Value>),
    /// An array.
    Array(ArrayValue),
}

/// An array.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArrayValue {
    items: Vec<Value>,
    /// `None`: one dimension from 1, or none where there are no items.
    shape: Option<Box<[Dimension]>>,
}

impl ArrayValue {
    /// Elements in dimensions whose lengths make as many; without elements there are none.
    pub fn shaped(items: Vec<Value>, dimensions: &[Dimension]) -> ArrayValue {
        let shape = (!items.is_empty() && !is_plain(dimensions)).then(|| dimensions.into());
        ArrayValue { items, shape }
    }

    /// Its dimensions; none of an array without elements.
    pub fn dimensions(&self) -> Vec<Dimension> {
        match &self.shape {
            Some(shape) => shape.to_vec(),
            None if self.items.is_empty() => Vec::new(),
            None => vec![Dimension::of(self.items.len())],
        }
    }

    /// The dimensions of one that is not just a row of elements from 1.
    pub fn shape(&self) -> Option<&[Dimension]> {
        self.shape.as_deref()
    }

    /// The elements.
    pub fn into_items(self) -> Vec<Value> {
        self.items
    }

    /// An array of the same dimensions, of what is made of each element. Errors: the first that making has.
    pub fn try_map<E>(self, made: impl FnMut(Value) -> Result<Value, E>) -> Result<ArrayValue, E> {
        let items = self.items.into_iter().map(made);
        Ok(ArrayValue {
            items: items.collect::<Result<_, E>>()?,
            shape: self.shape,
        })
    }

    /// The same of what is always made.
    pub fn map(self, mut made: impl FnMut(Value) -> Value) -> ArrayValue {
        let items = self.items.into_iter().map(&mut made).collect();
        ArrayValue { items, ..self }
    }
}

impl From<Vec<Value>> for ArrayValue {
    fn from(items: Vec<Value>) -> ArrayValue {
        ArrayValue { items, shape: None }
    }
}

impl FromIterator<Value> for ArrayValue {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> ArrayValue {
        items.into_iter().collect::<Vec<Value>>().into()
    }
}

/// The elements.
impl std::ops::Deref for ArrayValue {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.items
    }
}

impl<'a> IntoIterator for &'a ArrayValue {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl IntoIterator for ArrayValue {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

/// A bound of a range.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeBound {
    /// `None`: there is none on this side.
    pub value: Option<Value>,
    /// Whether the bound itself is in the range; never where there is none.
    pub inclusive: bool,
}

impl RangeBound {
    /// No bound.
    pub fn none() -> RangeBound {
        RangeBound {
            value: None,
            inclusive: false,
        }
    }
}

/// A range.
#[derive(Debug, Clone, PartialEq)]
pub struct RangeValue {
    /// What its bounds are.
    pub kind: RangeKind,
    /// Lower and upper; `None`: it is empty.
    pub bounds: Option<Box<(RangeBound, RangeBound)>>,
}

/// Several ranges, none of which touches another, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct MultirangeValue {
    /// What their bounds are.
    pub kind: RangeKind,
    /// None of them is empty.
    pub ranges: Vec<RangeValue>,
}

impl Value {
    /// The text form, as PostgreSQL's output functions print it; NULL is `NULL`.
    pub fn to_text(&self, settings: &FormatSettings) -> String {
        let mut out = Vec::new();
        self.put_text(&mut out, settings);
        String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    /// Appends the text form.
    pub(super) fn put_text(&self, out: &mut Vec<u8>, settings: &FormatSettings) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Bool(value) => out.push(if *value { b't' } else { b'f' }),
            Value::Int(value) => digits::put_i64(out, *value),
            Value::Float4(value) => floats::put_f32(out, *value, settings.extra_float_digits),
            Value::Float8(value) => floats::put_f64(out, *value, settings.extra_float_digits),
            Value::Numeric(number) => number.put_text(out),
            Value::Money(cents) => money::put(out, *cents),
            Value::Text(value) | Value::Unknown(value) => out.extend_from_slice(value.as_bytes()),
            Value::Bytes(value) => super::scalar::put_bytea(out, value, settings.bytea_output),
            Value::Date(days) => datetime_output::put_date(out, *days, settings.date_style),
            Value::Time(micros) => datetime_output::put_time(out, *micros),
            Value::Timestamp(micros) => datetime_output::put_timestamp(out, *micros, settings.date_style),
            Value::TimestampTz(micros) => {
                datetime_output::put_timestamptz(out, *micros, settings.time_zone, settings.date_style)
            }
            Value::Interval(interval) => {
                interval_output::put_interval(out, *interval, settings.interval_style)
            }
            Value::Uuid(bytes) => super::scalar::put_uuid(out, bytes),
            Value::Packed(address) => packed::put_text(out, address.bytes(), address.kind),
            Value::Enum(value) => out.extend_from_slice(value.label().as_bytes()),
            Value::Range(range) => put_range(out, range, settings),
            Value::Multirange(ranges) => put_multirange(out, ranges, settings),
            Value::Record(fields) => {
                out.push(b'(');
                for (i, field) in fields.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    if *field != Value::Null {
                        field.put_text(out, settings);
                        quote_field(out, start);
                    }
                }
                out.push(b')');
            }
            Value::Array(elements) => put_array(out, &elements.dimensions(), |out, place| {
                let Some(element) = elements.get(place) else {
                    return;
                };
                let start = out.len();
                element.put_text(out, settings);
                if *element != Value::Null {
                    quote_element(out, start);
                }
            }),
        }
    }

    /// The type a bare constant has on its own: Int is integer or bigint by size, Unknown and NULL are unknown.
    pub fn natural_type(&self) -> SqlType {
        match self {
            Value::Null | Value::Unknown(_) => SqlType::Unknown,
            Value::Bool(_) => SqlType::Bool,
            Value::Int(value) if i32::try_from(*value).is_ok() => SqlType::Int4,
            Value::Int(_) => SqlType::Int8,
            Value::Float4(_) => SqlType::Float4,
            Value::Float8(_) => SqlType::Float8,
            Value::Numeric(_) => SqlType::Numeric(None),
            Value::Money(_) => SqlType::Money,
            Value::Text(_) => SqlType::Text,
            Value::Bytes(_) => SqlType::Bytea,
            Value::Date(_) => SqlType::Date,
            Value::Time(_) => SqlType::Time(None),
            Value::Timestamp(_) => SqlType::Timestamp(None),
            Value::TimestampTz(_) => SqlType::TimestampTz(None),
            Value::Interval(_) => SqlType::Interval(None),
            Value::Uuid(_) => SqlType::Uuid,
            Value::Packed(address) => SqlType::Packed(address.kind),
            Value::Enum(value) => SqlType::Enum(Arc::clone(&value.ty)),
            Value::Range(range) => SqlType::Range(range.kind),
            Value::Multirange(ranges) => SqlType::Multirange(ranges.kind),
            Value::Record(fields) => {
                let columns = (1..).zip(fields);
                let columns = columns.map(|(number, field)| (format!("f{number}"), field.natural_type()));
                SqlType::Record(Arc::new(RecordType::anonymous(columns)))
            }
            Value::Array(elements) => {
                let element = elements.iter().find(|element| **element != Value::Null);
                SqlType::array(
                    element.map_or(SqlType::Text, |element| match element.natural_type() {
                        SqlType::Unknown => SqlType::Text,
                        ty => ty,
                    }),
                )
            }
        }
    }
}

/// Appends a range.
fn put_range(out: &mut Vec<u8>, range: &RangeValue, settings: &FormatSettings) {
    let Some((lower, upper)) = range.bounds.as_deref() else {
        return out.extend_from_slice(b"empty");
    };
    out.push(if lower.inclusive { b'[' } else { b'(' });
    put_bound(out, lower, settings);
    out.push(b',');
    put_bound(out, upper, settings);
    out.push(if upper.inclusive { b']' } else { b')' });
}

fn put_bound(out: &mut Vec<u8>, bound: &RangeBound, settings: &FormatSettings) {
    let Some(value) = &bound.value else { return };
    let start = out.len();
    value.put_text(out, settings);
    let is_special = |byte: &u8| {
        matches!(
            byte,
            b'(' | b')' | b'[' | b']' | b',' | b'"' | b'\\' | b' ' | b'\t'..=b'\r'
        )
    };
    if out[start..].iter().any(is_special) {
        // No bound of a type that there is has a quote or backslash in it.
        out.insert(start, b'"');
        out.push(b'"');
    }
}

/// Appends a multirange.
fn put_multirange(out: &mut Vec<u8>, ranges: &MultirangeValue, settings: &FormatSettings) {
    out.push(b'{');
    for (at, range) in ranges.ranges.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        put_range(out, range, settings);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_one_dimension_from_one_has_no_shape() {
        let items = vec![Value::Int(1), Value::Int(2)];
        assert_eq!(
            ArrayValue::shaped(items.clone(), &[Dimension::of(2)]),
            items.clone().into()
        );
        assert!(
            ArrayValue::shaped(items, &[Dimension { length: 2, lower: 0 }])
                .shape()
                .is_some()
        );
        assert_eq!(
            ArrayValue::shaped(Vec::new(), &[Dimension { length: 0, lower: 5 }]),
            ArrayValue::default()
        );
    }
}
