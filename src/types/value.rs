//! `Value`: one SQL constant (a literal, a bound parameter, a default). Used where there is one value, never a row of
//! many: rows travel as Arrow arrays. Ranges are defined here, because they hold values; what is done with them stands in `range`.
//! Reading text stands in `text_input`, binary in `binary_input`, conversions in `convert`.

use std::sync::Arc;

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
    /// A one-dimensional array (of a parameter or constant, for `= ANY`).
    Array(Vec<Value>),
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
            Value::Array(elements) => {
                out.push(b'{');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    let start = out.len();
                    element.put_text(out, settings);
                    if !matches!(element, Value::Null | Value::Array(_)) {
                        quote_element(out, start);
                    }
                }
                out.push(b'}');
            }
        }
    }

    /// How many dimensions it has; 0 of what is no array.
    pub fn dimensions(&self) -> usize {
        match self {
            Value::Array(items) => 1 + items.first().map_or(0, Value::dimensions),
            _ => 0,
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
                SqlType::Array(Box::new(element.map_or(
                    SqlType::Text,
                    |element| match element.natural_type() {
                        SqlType::Unknown => SqlType::Text,
                        ty => ty,
                    },
                )))
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
