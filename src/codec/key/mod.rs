//! Order-preserving key fields: bytes compare as SQL values compare. One tag byte and a payload a field; a DESC field
//! is the bitwise complement of the whole field, tag included; tags 00 and FF never occur. The table of tags, pictures
//! and invariants are in the docs of [`crate::codec`]. `table` and `plan` call it; it knows no limits and no tables.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};

mod alike;
mod escaped;
mod key_type;
pub mod nested;

use crate::types::{
    CatalogType, EnumValue, Interval, Numeric, NumericSize, PackedValue, SqlType, Value, comparable_text,
    numeric_key, value_at,
};
use crate::{Error, Result};
pub use alike::alike;
pub(in crate::codec) use escaped::read_text;
use escaped::{escaped_length, put_escaped, read_escaped};
pub use key_type::{check_key_type, tells_value};

/// How one column stands in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyField {
    /// The column's type; one that `check_key_type` allows.
    pub ty: SqlType,
    /// DESC.
    pub descending: bool,
    /// Where NULLs stand (index columns only): `true` before all values. PostgreSQL's default: last if ASC, first if DESC.
    pub nulls_first: bool,
}

impl KeyField {
    /// A field that rises, NULLs last.
    pub fn ascending(ty: SqlType) -> KeyField {
        KeyField {
            ty,
            descending: false,
            nulls_first: false,
        }
    }
}

const TAG_NULL_LOW: u8 = 0x08;
const TAG_BOOL: u8 = 0x10;
const TAG_INT: u8 = 0x20;
const TAG_DECIMAL_8: u8 = 0x30;
const TAG_DECIMAL_16: u8 = 0x34;
const TAG_NUMERIC: u8 = 0x38;
const TAG_FLOAT4: u8 = 0x40;
const TAG_FLOAT8: u8 = 0x44;
const TAG_DATE: u8 = 0x50;
const TAG_TIME: u8 = 0x54;
const TAG_TIMESTAMP: u8 = 0x58;
const TAG_TIMESTAMPTZ: u8 = 0x5C;
const TAG_UUID: u8 = 0x60;
const TAG_TEXT: u8 = 0x70;
const TAG_BYTEA: u8 = 0x74;
const TAG_NESTED: u8 = 0x78;
const TAG_INTERVAL: u8 = 0x7C;
const TAG_NULL_HIGH: u8 = 0xF0;

/// The most digits whose unscaled value is stored in 8 bytes, in keys and in rows.
pub(crate) const DECIMAL_8_PRECISION_MAX: u16 = 18;

/// The tag byte of the type's fields (before complement).
pub fn tag(ty: &SqlType) -> u8 {
    match ty {
        SqlType::Bool => TAG_BOOL,
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Money
        | SqlType::Oid
        | SqlType::Regclass
        | SqlType::Enum(_) => TAG_INT,
        SqlType::Numeric(Some(size)) if size.is_fixed() => match is_decimal_8(size) {
            true => TAG_DECIMAL_8,
            false => TAG_DECIMAL_16,
        },
        SqlType::Numeric(_) => TAG_NUMERIC,
        SqlType::Float4 => TAG_FLOAT4,
        SqlType::Float8 => TAG_FLOAT8,
        SqlType::Date => TAG_DATE,
        SqlType::Time(_) => TAG_TIME,
        SqlType::Timestamp(_) => TAG_TIMESTAMP,
        SqlType::TimestampTz(_) => TAG_TIMESTAMPTZ,
        SqlType::Uuid => TAG_UUID,
        SqlType::Bytea | SqlType::Packed(_) => TAG_BYTEA,
        SqlType::Interval(_) => TAG_INTERVAL,
        SqlType::Jsonb
        | SqlType::TsVector
        | SqlType::TsQuery
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Record(_)
        | SqlType::Array(_)
        | SqlType::Int2Vector
        | SqlType::Catalog(CatalogType::OidVector) => TAG_NESTED,
        ty @ SqlType::Catalog(_) if ty.arrow_type() == DataType::Int64 => TAG_INT,
        // Types that `check_key_type` refuses stand in rows and arrays at most, that are compared and not stored.
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Bit(_)
        | SqlType::VarBit(_)
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Unknown
        | SqlType::Json
        | SqlType::Catalog(_)
        | SqlType::Void => TAG_TEXT,
    }
}

/// Appends the field of a value that already has the column's type (see `Value::assign`); `Value::Null` appends the
/// NULL field. Normalizes −0 and NaN, drops char(n)'s trailing blanks, writes citext in lower case.
pub fn encode_value(out: &mut Vec<u8>, value: &Value, field: &KeyField) {
    let start = out.len();
    match (value, &field.ty) {
        (Value::Null, _) => return out.push(null_byte(field)),
        (Value::Bool(value), _) => put(out, TAG_BOOL, &[u8::from(*value)]),
        (Value::Int(value) | Value::Money(value), _) => put_i64(out, TAG_INT, *value),
        (Value::Enum(value), _) => put_i64(out, TAG_INT, value.position),
        (Value::Float4(value), _) => put_f32(out, *value),
        (Value::Float8(value), _) => put_f64(out, *value),
        (Value::Numeric(value), SqlType::Numeric(Some(size))) if size.is_fixed() => {
            put_decimal(out, size, unscaled(value, size))
        }
        (Value::Numeric(value), _) => {
            let mut bytes = Vec::new();
            value.put_bytes(&mut bytes);
            put_numeric(out, &bytes);
        }
        (value, ty) if tag(ty) == TAG_NESTED => put_nested(out, value, ty),
        (Value::Text(value) | Value::Unknown(value), ty) => put_text(out, value, ty),
        (Value::Interval(value), _) => put_span(out, value),
        (Value::Bytes(value), _) => put_escaped(out, TAG_BYTEA, value),
        (Value::Packed(address), _) => put_escaped(out, TAG_BYTEA, address.bytes()),
        (Value::Date(days), _) => put_i32(out, TAG_DATE, *days),
        (Value::Time(value), _) => put_i64(out, TAG_TIME, *value),
        (Value::Timestamp(value), _) => put_i64(out, TAG_TIMESTAMP, *value),
        (Value::TimestampTz(value), _) => put_i64(out, TAG_TIMESTAMPTZ, *value),
        (Value::Uuid(value), _) => put(out, TAG_UUID, value),
        (value, ty) => unreachable!("{value:?} was not assigned to the key column's type {ty}"),
    }
    debug_assert_eq!(
        out[start],
        tag(&field.ty),
        "{value:?} was not assigned to the key column's type {}",
        field.ty
    );
    finish_field(out, start, field);
}

/// Appends the field of row `row` of an Arrow array of the field's type; same bytes as `encode_value`.
pub fn encode_array(out: &mut Vec<u8>, array: &ArrayRef, row: usize, field: &KeyField) {
    if array.is_null(row) {
        return out.push(null_byte(field));
    }
    let start = out.len();
    match &field.ty {
        SqlType::Bool => put(out, TAG_BOOL, &[u8::from(array.as_boolean().value(row))]),
        SqlType::Int2 => put_i64(
            out,
            TAG_INT,
            i64::from(array.as_primitive::<Int16Type>().value(row)),
        ),
        SqlType::Int4 => put_i64(
            out,
            TAG_INT,
            i64::from(array.as_primitive::<Int32Type>().value(row)),
        ),
        SqlType::Int8 | SqlType::Money | SqlType::Oid | SqlType::Regclass | SqlType::Enum(_) => {
            put_i64(out, TAG_INT, array.as_primitive::<Int64Type>().value(row));
        }
        SqlType::Float4 => put_f32(out, array.as_primitive::<Float32Type>().value(row)),
        SqlType::Float8 => put_f64(out, array.as_primitive::<Float64Type>().value(row)),
        SqlType::Numeric(Some(size)) if size.is_fixed() => {
            put_decimal(out, size, array.as_primitive::<Decimal128Type>().value(row))
        }
        SqlType::Numeric(_) => put_numeric(out, array.as_binary::<i32>().value(row)),
        SqlType::Date => put_i32(out, TAG_DATE, array.as_primitive::<Date32Type>().value(row)),
        SqlType::Time(_) => put_i64(
            out,
            TAG_TIME,
            array.as_primitive::<Time64MicrosecondType>().value(row),
        ),
        ty @ (SqlType::Timestamp(_) | SqlType::TimestampTz(_)) => {
            let moment = array.as_primitive::<TimestampMicrosecondType>().value(row);
            put_i64(out, tag(ty), moment);
        }
        SqlType::Uuid => put(out, TAG_UUID, array.as_fixed_size_binary().value(row)),
        SqlType::Bytea | SqlType::Packed(_) => {
            put_escaped(out, TAG_BYTEA, array.as_binary::<i32>().value(row));
        }
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Bit(_)
        | SqlType::VarBit(_)
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Unknown => put_text(out, array.as_string::<i32>().value(row), &field.ty),
        SqlType::Interval(_) => {
            let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            put_span(out, &interval.into());
        }
        ty @ SqlType::Catalog(_) if tag(ty) == TAG_INT => {
            put_i64(out, TAG_INT, array.as_primitive::<Int64Type>().value(row));
        }
        ty if tag(ty) == TAG_NESTED => {
            let value = value_at(array, row, ty)
                .unwrap_or_else(|error| unreachable!("{error}: not of the column's type {ty}"));
            put_nested(out, &value, ty);
        }
        ty => unreachable!("check_key_type refuses {ty} as a key column"),
    }
    finish_field(out, start, field);
}

/// The length of the field that `bytes` starts with. Errors: `Corrupt`.
pub fn field_length(bytes: &[u8], field: &KeyField) -> Result<usize> {
    if read_null(bytes, field)? {
        return Ok(1);
    }
    let length = match tag(&field.ty) {
        TAG_BOOL => 2,
        TAG_FLOAT4 | TAG_DATE => 5,
        TAG_DECIMAL_16 | TAG_UUID | TAG_INTERVAL => 17,
        TAG_TEXT | TAG_BYTEA | TAG_NUMERIC | TAG_NESTED => return escaped_length(bytes, field),
        _ => 9,
    };
    if bytes.len() < length {
        Err(damaged("it ends within a field"))
    } else {
        Ok(length)
    }
}

/// Decodes the field that `bytes` starts with: the value and the field's length. Errors: `Corrupt`.
pub fn decode_value(bytes: &[u8], field: &KeyField) -> Result<(Value, usize)> {
    if read_null(bytes, field)? {
        return Ok((Value::Null, 1));
    }
    Ok(match &field.ty {
        SqlType::Bool => (Value::Bool(read_bool(bytes, field)?), 2),
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid | SqlType::Regclass => {
            (Value::Int(read_i64(bytes, field)?), 9)
        }
        ty @ SqlType::Catalog(_) if tag(ty) == TAG_INT => (Value::Int(read_i64(bytes, field)?), 9),
        SqlType::Enum(ty) => {
            let (ty, position) = (Arc::clone(ty), read_i64(bytes, field)?);
            (Value::Enum(EnumValue { ty, position }), 9)
        }
        SqlType::Numeric(Some(size)) if size.is_fixed() => {
            let (unscaled, length) = read_decimal(bytes, size, field)?;
            (
                Value::Numeric(Numeric::from_i128(unscaled, size.shown_scale())),
                length,
            )
        }
        SqlType::Money => (Value::Money(read_i64(bytes, field)?), 9),
        SqlType::Float4 => (Value::Float4(read_f32(bytes, field)?), 5),
        SqlType::Float8 => (Value::Float8(read_f64(bytes, field)?), 9),
        SqlType::Date => (Value::Date(read_i32(bytes, field)?), 5),
        SqlType::Time(_) => (Value::Time(read_i64(bytes, field)?), 9),
        SqlType::Timestamp(_) => (Value::Timestamp(read_i64(bytes, field)?), 9),
        SqlType::TimestampTz(_) => (Value::TimestampTz(read_i64(bytes, field)?), 9),
        SqlType::Uuid => (Value::Uuid(read_fixed(bytes, field)?), 17),
        SqlType::Bytea => {
            let mut value = Vec::new();
            let length = read_escaped(bytes, field, &mut value)?;
            (Value::Bytes(value), length)
        }
        SqlType::Numeric(_) => {
            let (number, length) = read_numeric(bytes, field)?;
            (Value::Numeric(number), length)
        }
        SqlType::Packed(kind) => {
            let mut value = Vec::new();
            let length = read_escaped(bytes, field, &mut value)?;
            let address =
                PackedValue::from_bytes(&value, *kind).ok_or_else(|| damaged("it holds no address"))?;
            (Value::Packed(address), length)
        }
        SqlType::Interval(_) => {
            let span = i128::from_be_bytes(read_fixed(bytes, field)?) ^ i128::MIN;
            let interval = Interval::of_span(span).ok_or_else(|| damaged("it holds no interval"))?;
            (Value::Interval(interval), 17)
        }
        ty if tag(ty) == TAG_NESTED => {
            let mut value = Vec::new();
            let length = read_escaped(bytes, field, &mut value)?;
            let value =
                nested::value_of(&value, ty).ok_or_else(|| damaged("it holds no value of its type"))?;
            (value, length)
        }
        ty => {
            let mut value = Vec::new();
            let length = read_escaped(bytes, field, &mut value)?;
            let mut value = String::from_utf8(value).map_err(|_| not_utf8())?;
            if let SqlType::Char(Some(width)) = ty {
                pad_char(&mut value, *width);
            }
            (Value::Text(value), length)
        }
    })
}

/// Appends char(n)'s blanks.
fn pad_char(value: &mut String, width: u32) {
    let blanks = (width as usize).saturating_sub(value.chars().count());
    value.extend(std::iter::repeat_n(' ', blanks));
}

/// Whether the field that `bytes` starts with is NULL; checks the tag. Errors: `Corrupt`.
#[inline]
pub fn read_null(bytes: &[u8], field: &KeyField) -> Result<bool> {
    let first = *bytes.first().ok_or_else(|| damaged("it ends before a field"))?;
    match first ^ complement(field) {
        found if found == tag(&field.ty) => Ok(false),
        TAG_NULL_LOW | TAG_NULL_HIGH => Ok(true),
        found => Err(damaged(&format!(
            "tag {found:02x} in a column of type {}",
            field.ty
        ))),
    }
}

/// The boolean of a field that is not NULL; as for the other `read_` functions, the field is 1 byte and its payload.
#[inline]
pub(in crate::codec) fn read_bool(bytes: &[u8], field: &KeyField) -> Result<bool> {
    match read_fixed::<1>(bytes, field)? {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(damaged("a boolean that is neither 0 nor 1")),
    }
}

/// The integer of a field of 8 bytes.
#[inline]
pub(in crate::codec) fn read_i64(bytes: &[u8], field: &KeyField) -> Result<i64> {
    Ok(i64::from_be_bytes(read_fixed(bytes, field)?) ^ i64::MIN)
}

/// The integer of a field of 4 bytes.
#[inline]
pub(in crate::codec) fn read_i32(bytes: &[u8], field: &KeyField) -> Result<i32> {
    Ok(i32::from_be_bytes(read_fixed(bytes, field)?) ^ i32::MIN)
}

/// The unscaled value of a numeric field, and the field's length.
#[inline]
pub(in crate::codec) fn read_decimal(
    bytes: &[u8],
    size: &NumericSize,
    field: &KeyField,
) -> Result<(i128, usize)> {
    if is_decimal_8(size) {
        return Ok((i128::from(read_i64(bytes, field)?), 9));
    }
    Ok((i128::from_be_bytes(read_fixed(bytes, field)?) ^ i128::MIN, 17))
}

/// Of the numbers that a field of a numeric without a fixed size stands for the one with the fewest digits, and the field's length.
pub(in crate::codec) fn read_numeric(bytes: &[u8], field: &KeyField) -> Result<(Numeric, usize)> {
    let mut key = Vec::new();
    let length = read_escaped(bytes, field, &mut key)?;
    let number = Numeric::from_key(&key).ok_or_else(|| damaged("it holds no number"))?;
    Ok((number, length))
}

/// The real of a field.
#[inline]
pub(in crate::codec) fn read_f32(bytes: &[u8], field: &KeyField) -> Result<f32> {
    let ordered = u32::from_be_bytes(read_fixed(bytes, field)?);
    let sign = 1 << 31;
    Ok(f32::from_bits(if ordered & sign != 0 {
        ordered ^ sign
    } else {
        !ordered
    }))
}

/// The double precision of a field.
#[inline]
pub(in crate::codec) fn read_f64(bytes: &[u8], field: &KeyField) -> Result<f64> {
    let ordered = u64::from_be_bytes(read_fixed(bytes, field)?);
    let sign = 1 << 63;
    Ok(f64::from_bits(if ordered & sign != 0 {
        ordered ^ sign
    } else {
        !ordered
    }))
}

/// The payload of `N` bytes of a field.
#[inline]
pub(in crate::codec) fn read_fixed<const N: usize>(bytes: &[u8], field: &KeyField) -> Result<[u8; N]> {
    let payload = bytes
        .get(1..1 + N)
        .ok_or_else(|| damaged("it ends within a field"))?;
    let mut fixed: [u8; N] = payload
        .try_into()
        .map_err(|_| damaged("it ends within a field"))?;
    if field.descending {
        fixed.iter_mut().for_each(|byte| *byte = !*byte);
    }
    Ok(fixed)
}

/// `FF` for a DESC field: what every byte is xor-ed with.
#[inline]
fn complement(field: &KeyField) -> u8 {
    if field.descending { 0xFF } else { 0 }
}

fn null_byte(field: &KeyField) -> u8 {
    if field.nulls_first != field.descending {
        TAG_NULL_LOW ^ complement(field)
    } else {
        TAG_NULL_HIGH ^ complement(field)
    }
}

#[inline]
fn finish_field(out: &mut [u8], start: usize, field: &KeyField) {
    if field.descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

pub(in crate::codec) fn is_decimal_8(size: &NumericSize) -> bool {
    size.precision <= DECIMAL_8_PRECISION_MAX
}

/// The unscaled value at the column's scale. What does not fit was not assigned to the column, and is cut to the extremes
/// so that it still sorts beyond every stored value.
fn unscaled(value: &Numeric, size: &NumericSize) -> i128 {
    let beyond = match value.sign() {
        std::cmp::Ordering::Less => i128::MIN,
        _ => i128::MAX,
    };
    value.unscaled_at(size.shown_scale()).unwrap_or(beyond)
}

#[inline]
fn put(out: &mut Vec<u8>, tag: u8, payload: &[u8]) {
    out.push(tag);
    out.extend_from_slice(payload);
}

#[inline]
fn put_i64(out: &mut Vec<u8>, tag: u8, value: i64) {
    put(out, tag, &(value ^ i64::MIN).to_be_bytes());
}

#[inline]
fn put_i32(out: &mut Vec<u8>, tag: u8, value: i32) {
    put(out, tag, &(value ^ i32::MIN).to_be_bytes());
}

fn put_decimal(out: &mut Vec<u8>, size: &NumericSize, unscaled: i128) {
    if is_decimal_8(size) {
        let cut = unscaled.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
        put_i64(out, TAG_DECIMAL_8, cut as i64);
    } else {
        put(out, TAG_DECIMAL_16, &(unscaled ^ i128::MIN).to_be_bytes());
    }
}

/// A numeric without a fixed size, as a row holds it.
fn put_numeric(out: &mut Vec<u8>, bytes: &[u8]) {
    put_escaped(out, TAG_NUMERIC, numeric_key(bytes));
}

/// A value that is made of others.
fn put_nested(out: &mut Vec<u8>, value: &Value, ty: &SqlType) {
    let mut bytes = Vec::new();
    nested::put(&mut bytes, value, ty);
    put_escaped(out, TAG_NESTED, &bytes);
}

/// An interval, as how long it is.
fn put_span(out: &mut Vec<u8>, interval: &Interval) {
    put(out, TAG_INTERVAL, &(interval.span() ^ i128::MIN).to_be_bytes());
}

fn put_f32(out: &mut Vec<u8>, value: f32) {
    let bits = if value.is_nan() {
        0x7FC0_0000
    } else {
        (value + 0.0).to_bits()
    };
    let sign = 1 << 31;
    put(
        out,
        TAG_FLOAT4,
        &(if bits & sign != 0 { !bits } else { bits ^ sign }).to_be_bytes(),
    );
}

fn put_f64(out: &mut Vec<u8>, value: f64) {
    let bits = if value.is_nan() {
        0x7FF8_0000_0000_0000
    } else {
        (value + 0.0).to_bits()
    };
    let sign = 1 << 63;
    put(
        out,
        TAG_FLOAT8,
        &(if bits & sign != 0 { !bits } else { bits ^ sign }).to_be_bytes(),
    );
}

#[inline]
fn put_text(out: &mut Vec<u8>, value: &str, ty: &SqlType) {
    let value = comparable_text(ty, value);
    put_escaped(out, TAG_TEXT, value.as_bytes());
}

/// A text of a key that is none.
pub(in crate::codec) fn not_utf8() -> Error {
    damaged("text is not UTF-8")
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "key".to_string(),
        reason: reason.to_string(),
    }
}

#[cfg(test)]
mod tests;
