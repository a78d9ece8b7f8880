//! Binary parameters → `Value`, as PostgreSQL's receive functions read them. `Value::from_binary` for everybody.

use super::calendar::{FIRST_DAY, in_calendar};
use super::datetime::{EPOCH_DAYS, EPOCH_MICROS, MICROS_PER_DAY};
use super::json_path::JsonPath;
use super::{
    ArrayValue, CatalogType, Dimension, EnumValue, Interval, MultirangeValue, Numeric, RangeKind, RangeValue,
    RecordType, SqlType, TransactionSnapshot, Value, array, bits, element_count, element_type, internal_char,
    json, packed, precision, range_bytes, record_input, strings, text_search,
};
use crate::error::utf8;
use crate::{Error, Result};

impl Value {
    /// Reads the binary form of `ty` (a bound parameter, `parameter` counts from 1). Errors: 22P03, 22021.
    pub fn from_binary(bytes: &[u8], ty: &SqlType, parameter: usize) -> Result<Value> {
        let damaged = || Error::InvalidBinary { parameter };
        let value = match ty {
            SqlType::Bool => Value::Bool(fixed::<1>(bytes).ok_or_else(damaged)?[0] != 0),
            SqlType::Int2 => Value::Int(i64::from(i16::from_be_bytes(fixed(bytes).ok_or_else(damaged)?))),
            SqlType::Int4 => Value::Int(i64::from(i32::from_be_bytes(fixed(bytes).ok_or_else(damaged)?))),
            SqlType::Int8 | SqlType::Catalog(CatalogType::Xid8) => {
                Value::Int(i64::from_be_bytes(fixed(bytes).ok_or_else(damaged)?))
            }
            SqlType::Array(_) | SqlType::Int2Vector | SqlType::Catalog(CatalogType::OidVector) => {
                Value::Array(read_array(bytes, ty, parameter)?)
            }
            SqlType::Catalog(CatalogType::PgLsn) => Value::Int(lsn(fixed(bytes).ok_or_else(damaged)?)),
            SqlType::Catalog(CatalogType::Tid) => {
                Value::Int(super::tid::from_bytes(fixed(bytes).ok_or_else(damaged)?))
            }
            SqlType::Catalog(kind) if kind.is_snapshot() => read_snapshot(bytes).ok_or_else(damaged)?,
            SqlType::Catalog(CatalogType::JsonPath) => return read_path(bytes).ok_or_else(damaged)?,
            SqlType::Catalog(_) if ty.arrow_type() != arrow::datatypes::DataType::Int64 => {
                return Value::from_binary(bytes, &SqlType::Text, parameter);
            }
            SqlType::Oid | SqlType::Regclass | SqlType::Catalog(_) => {
                Value::Int(i64::from(u32::from_be_bytes(fixed(bytes).ok_or_else(damaged)?)))
            }
            SqlType::Money => Value::Money(i64::from_be_bytes(fixed(bytes).ok_or_else(damaged)?)),
            SqlType::Float4 => Value::Float4(f32::from_be_bytes(fixed(bytes).ok_or_else(damaged)?)),
            SqlType::Float8 => Value::Float8(f64::from_be_bytes(fixed(bytes).ok_or_else(damaged)?)),
            SqlType::Numeric(size) => {
                Value::Numeric(Numeric::from_binary(bytes).ok_or_else(damaged)??.fit(*size)?)
            }
            SqlType::Text | SqlType::Citext => Value::Text(text_of(bytes)?),
            SqlType::Unknown | SqlType::Void => Value::Unknown(text_of(bytes)?),
            SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => {
                Value::Text(strings::fit(text_of(bytes)?, ty)?)
            }
            SqlType::InternalChar => read_char(bytes).ok_or_else(damaged)?,
            SqlType::Json => read_json(bytes)?,
            SqlType::Jsonb => match bytes {
                [1, text @ ..] => Value::Text(json::normalize(&text_of(text)?)?),
                _ => return Err(damaged()),
            },
            SqlType::Bit(_) | SqlType::VarBit(_) => read_bits(bytes, ty).ok_or_else(damaged)??,
            SqlType::Bytea => Value::Bytes(bytes.to_vec()),
            SqlType::Date => Value::Date(read_date(fixed(bytes).ok_or_else(damaged)?)?),
            SqlType::Time(_) => {
                let micros = i64::from_be_bytes(fixed(bytes).ok_or_else(damaged)?);
                if !(0..=MICROS_PER_DAY).contains(&micros) {
                    return Err(overflow("time"));
                }
                Value::Time(micros)
            }
            SqlType::Timestamp(_) => Value::Timestamp(read_timestamp(bytes).ok_or_else(damaged)??),
            SqlType::TimestampTz(_) => Value::TimestampTz(read_timestamp(bytes).ok_or_else(damaged)??),
            SqlType::Interval(_) => Value::Interval(read_interval(bytes).ok_or_else(damaged)??),
            SqlType::Enum(ty) => Value::Enum(EnumValue::parse(&text_of(bytes)?, ty)?),
            SqlType::Uuid => Value::Uuid(fixed(bytes).ok_or_else(damaged)?),
            SqlType::TsVector => {
                Value::Text(text_search::read_vector(bytes).ok_or_else(damaged)??.to_string())
            }
            SqlType::TsQuery => Value::Text(text_search::read_query(bytes).ok_or_else(damaged)??.to_string()),
            SqlType::Packed(kind) => Value::Packed(packed::from_binary(bytes, *kind).ok_or_else(damaged)??),
            SqlType::Range(kind) => Value::Range(read_range(bytes, *kind, parameter)?),
            SqlType::Multirange(kind) => Value::Multirange(read_multirange(bytes, *kind, parameter)?),
            SqlType::Record(ty) => Value::Record(read_record(bytes, ty, parameter)?),
        };
        precision::fit(value, ty)
    }
}

/// `None`: other bytes than an interval has. Errors: 22008.
fn read_interval(bytes: &[u8]) -> Option<Result<Interval>> {
    let bytes: [u8; 16] = fixed(bytes)?;
    let (micros, rest) = bytes.split_first_chunk()?;
    let (days, rest) = rest.split_first_chunk()?;
    let microseconds = i64::from_be_bytes(*micros);
    if microseconds.unsigned_abs() > super::interval::MICROS_MAX.unsigned_abs() {
        return Some(Err(overflow("interval")));
    }
    Some(Ok(Interval {
        months: i32::from_be_bytes(fixed(rest)?),
        days: i32::from_be_bytes(*days),
        microseconds,
    }))
}

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

/// A "char". `None`: it is not one byte.
fn read_char(bytes: &[u8]) -> Option<Value> {
    let [byte] = fixed::<1>(bytes)?;
    Some(Value::Text(internal_char::text_of(byte)))
}

/// Bits, as many as the type has them. `None`: bytes are missing.
fn read_bits(bytes: &[u8], ty: &SqlType) -> Option<Result<Value>> {
    let read = bits::from_binary(bytes)?;
    Some(read.and_then(|read| bits::fit(read, ty)).map(Value::Text))
}

fn overflow(what: &str) -> Error {
    Error::DatetimeOverflow {
        message: format!("{what} out of range"),
    }
}

/// The text of the bytes. Errors: 22021.
fn text_of(bytes: &[u8]) -> Result<String> {
    utf8::text(bytes).map(str::to_string)
}

/// Errors: 22008.
fn read_date(bytes: [u8; 4]) -> Result<i32> {
    match i32::from_be_bytes(bytes) {
        infinite @ (i32::MIN | i32::MAX) => Ok(infinite),
        days => days
            .checked_add(EPOCH_DAYS)
            .filter(|days| i64::from(*days) >= FIRST_DAY)
            .ok_or_else(|| overflow("date")),
    }
}

fn read_timestamp(bytes: &[u8]) -> Option<Result<i64>> {
    Some(match i64::from_be_bytes(fixed(bytes)?) {
        infinite @ (i64::MIN | i64::MAX) => Ok(infinite),
        micros => micros
            .checked_add(EPOCH_MICROS)
            .filter(|micros| *micros != i64::MAX)
            .ok_or_else(|| overflow("timestamp"))
            .and_then(in_calendar),
    })
}

fn read_json(bytes: &[u8]) -> Result<Value> {
    let text = text_of(bytes)?;
    json::check(&text)?;
    Ok(Value::Text(text))
}

fn read_snapshot(bytes: &[u8]) -> Option<Value> {
    TransactionSnapshot::from_binary(bytes).map(|snapshot| Value::Text(snapshot.to_string()))
}

/// A jsonpath behind its version; `None`: of another version.
fn read_path(bytes: &[u8]) -> Option<Result<Value>> {
    let text = bytes.strip_prefix(&[1])?;
    let path = text_of(text).and_then(|text| JsonPath::parse(&text));
    Some(path.map(|path| Value::Text(path.to_string())))
}

/// A range: PostgreSQL's flags, then each bound that there is behind its length.
fn read_range(bytes: &[u8], kind: RangeKind, parameter: usize) -> Result<RangeValue> {
    let damaged = || Error::InvalidBinary { parameter };
    let (flags, mut rest) = bytes.split_first().ok_or_else(damaged)?;
    let bounds = range_bytes::bounds_of(*flags, || {
        let data = cut_data(&mut rest).ok_or_else(damaged)?;
        Value::from_binary(data, &kind.bound_type(), parameter)
    })?;
    if !rest.is_empty() {
        return Err(damaged());
    }
    match bounds {
        Some((lower, upper)) => RangeValue::new(kind, lower, upper),
        None => Ok(RangeValue::empty(kind)),
    }
}

/// A multirange: how many, then each range behind its length.
fn read_multirange(bytes: &[u8], kind: RangeKind, parameter: usize) -> Result<MultirangeValue> {
    let damaged = || Error::InvalidBinary { parameter };
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
    let mut ranges = Vec::new();
    for _ in 0..u32::from_be_bytes(*count) {
        let data = cut_data(&mut rest).ok_or_else(damaged)?;
        ranges.push(read_range(data, kind, parameter)?);
    }
    match rest.is_empty() {
        true => Ok(MultirangeValue::new(kind, ranges)),
        false => Err(damaged()),
    }
}

/// What stands behind its length.
fn cut_data<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, after) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
    let (data, after) = after.split_at_checked(length)?;
    *rest = after;
    Some(data)
}

/// A row: how many columns, then each behind the OID of its type and its length. Errors: 42804 for other columns than the type's.
fn read_record(bytes: &[u8], ty: &RecordType, parameter: usize) -> Result<Vec<Value>> {
    let damaged = || Error::InvalidBinary { parameter };
    let mismatch = |message: String| Error::DatatypeMismatch { message, hint: None };
    if ty.is_anonymous() {
        return Err(record_input::of_no_type());
    }
    let mut rest = bytes;
    let word = |rest: &mut &[u8]| {
        let (word, after) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        *rest = after;
        Ok::<_, Error>(i32::from_be_bytes(*word))
    };
    let count = word(&mut rest)?;
    if usize::try_from(count) != Ok(ty.fields.len()) {
        let expected = ty.fields.len();
        return Err(mismatch(format!(
            "wrong number of columns: {count}, expected {expected}"
        )));
    }
    let mut values = Vec::with_capacity(ty.fields.len());
    for (number, field) in (1..).zip(&ty.fields) {
        let (oid, expected) = (word(&mut rest)?.cast_unsigned(), field.ty.oid());
        if oid != expected {
            return Err(mismatch(format!(
                "binary data has type {oid} instead of expected {expected} in record column {number}"
            )));
        }
        match word(&mut rest)? {
            -1 => values.push(Value::Null),
            length => {
                let length = usize::try_from(length).map_err(|_| damaged())?;
                let (data, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
                rest = after;
                values.push(Value::from_binary(data, &field.ty, parameter)?);
            }
        }
    }
    match rest.is_empty() {
        true => Ok(values),
        false => Err(damaged()),
    }
}

/// An array of the type, or a vector, whose subscripts nobody asks for.
fn read_array(bytes: &[u8], ty: &SqlType, parameter: usize) -> Result<ArrayValue> {
    let damaged = || Error::InvalidBinary { parameter };
    let mut rest = bytes;
    let mut word = || {
        let (word, after) = rest.split_first_chunk::<4>()?;
        rest = after;
        Some(i32::from_be_bytes(*word))
    };
    let count = word().and_then(|count| usize::try_from(count).ok());
    let count = count.ok_or_else(damaged)?;
    let (flags, oid) = (word().ok_or_else(damaged)?, word().ok_or_else(damaged)?);
    check_array_head(flags, oid.cast_unsigned(), element_type(ty))?;
    array::check_dimension_count(count)?;
    let mut dimensions = Vec::with_capacity(count);
    for _ in 0..count {
        let length = word().ok_or_else(damaged)?;
        let lower = word().ok_or_else(damaged)?;
        dimensions.push(Dimension { length, lower });
    }
    array::check_bounds(&dimensions)?;
    let count = element_count(&dimensions).ok_or_else(damaged)?;
    let elements = read_elements(&mut rest, count, element_type(ty), parameter)?;
    match (rest.is_empty(), ty) {
        (false, _) => Err(damaged()),
        (true, SqlType::Array(_)) => Ok(ArrayValue::shaped(elements, &dimensions)),
        (true, _) => Ok(elements.into()),
    }
}

/// Types with oids below are PostgreSQL's own, and have the same in every server.
const BUILT_IN_END: u32 = 10_000;

/// Errors: 22P03 for other flags than whether there are NULLs, 42804 for elements of another type.
fn check_array_head(flags: i32, oid: u32, element: &SqlType) -> Result<()> {
    if !(0..=1).contains(&flags) {
        return Err(Error::DataException {
            state: "22P03",
            message: "invalid array flags".to_string(),
        });
    }
    let expected = element.oid();
    // Only those of built-in types are the same everywhere.
    if oid == expected || oid.max(expected) >= BUILT_IN_END {
        return Ok(());
    }
    let name = SqlType::from_oid(oid, -1).map_or_else(|| "???".to_string(), |ty| ty.name());
    let message = format!(
        "binary data has array element type {oid} ({name}) instead of expected {expected} ({})",
        element.full_base_name()
    );
    Err(Error::DatatypeMismatch { message, hint: None })
}

/// So many elements. Each takes four bytes at least, which bounds what is reserved.
fn read_elements(rest: &mut &[u8], count: usize, element: &SqlType, parameter: usize) -> Result<Vec<Value>> {
    let damaged = || Error::InvalidBinary { parameter };
    if count > rest.len() / 4 {
        return Err(damaged());
    }
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
        *rest = after;
        match i32::from_be_bytes(*length) {
            -1 => elements.push(Value::Null),
            length => {
                let length = usize::try_from(length).map_err(|_| damaged())?;
                let (data, after) = rest.split_at_checked(length).ok_or_else(damaged)?;
                *rest = after;
                elements.push(Value::from_binary(data, element, parameter)?);
            }
        }
    }
    Ok(elements)
}

fn lsn(bytes: [u8; 8]) -> i64 {
    super::lsn::of_number(u64::from_be_bytes(bytes))
}
