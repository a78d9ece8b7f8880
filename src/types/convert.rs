//! Conversions of constants between types: `Value::assign`, what an INSERT does, and `Value::cast`, what `CAST` and `::`
//! do. Called by `plan`, `logical`, `query` and `sql`; rows are converted as Arrow arrays elsewhere.

use super::datetime::{MICROS_PER_DAY, MICROS_PER_SECOND};
use super::datetime_decoder::day_of;
use super::datetime_input::micros;
use super::{
    CatalogType, FormatSettings, Interval, MultirangeValue, Numeric, PackedKind, PackedValue, RecordType,
    SqlType, TimeTz, Value, bits, floats, money, precision, strings,
};
use crate::{Error, Result};

const MICROS_PER_MILLISECOND: i64 = 1_000;

impl Value {
    /// Converts to a value that a column of type `ty` can hold, as an assignment does (rounds numerics and times, checks ranges
    /// and lengths, pads char(n), parses `Unknown`; an integer becomes a timestamp as epoch milliseconds).
    /// `column` is named in errors. Errors: 42804, 22003, 22001, 22P02 …
    pub fn assign(self, ty: &SqlType, column: &str, settings: &FormatSettings) -> Result<Value> {
        let from = self.natural_type();
        convert(self, ty, settings, Kind::Assignment).unwrap_or_else(|| {
            Err(Error::DatatypeMismatch {
                message: format!(
                    "column \"{column}\" is of type {} but expression is of type {}",
                    ty.full_base_name(),
                    from.full_base_name()
                ),
                hint: Some("You will need to rewrite or cast the expression.".to_string()),
            })
        })
    }

    /// Converts as an explicit cast does: beyond what an assignment allows it parses text, cuts strings to length, and
    /// turns booleans into integers and back. Errors: 42846, and those of reading text.
    pub fn cast(self, to: &SqlType, settings: &FormatSettings) -> Result<Value> {
        let from = self.natural_type();
        convert(self, to, settings, Kind::Cast).unwrap_or_else(|| {
            Err(Error::CannotCoerce {
                from: from.full_base_name(),
                to: to.full_base_name(),
            })
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Assignment,
    Cast,
}

/// The converted value; `None` where PostgreSQL has no such conversion.
#[expect(clippy::too_many_lines, reason = "an arm a pair of types")]
fn convert(value: Value, ty: &SqlType, settings: &FormatSettings, kind: Kind) -> Option<Result<Value>> {
    match value {
        Value::Null => return Some(Ok(Value::Null)),
        Value::Unknown(text) | Value::Text(text) if ty.is_bits() => return Some(to_bits(&text, ty, kind)),
        Value::Unknown(text) if ty.is_string() => return Some(to_string_type(text, ty, kind)),
        Value::Unknown(text) => return Some(Value::parse(&text, ty, settings)),
        Value::Text(text) if !ty.is_string() && *ty != SqlType::InternalChar => {
            // Constants of these types are text here, so text must be assignable to them.
            let is_carried = matches!(
                ty,
                SqlType::Json | SqlType::Jsonb | SqlType::TsVector | SqlType::TsQuery
            ) || matches!(ty, SqlType::Catalog(_))
                && ty.arrow_type() == SqlType::Text.arrow_type();
            let parses = kind == Kind::Cast || is_carried;
            return parses.then(|| Value::parse(&text, ty, settings));
        }
        _ => {}
    }
    let is_cast = kind == Kind::Cast;
    let converted = match ty {
        SqlType::Bool => to_bool(value, kind).map(Ok),
        SqlType::Int2 => to_integer(
            value,
            "smallint",
            (i64::from(i16::MIN), i64::from(i16::MAX)),
            kind,
        ),
        SqlType::Int4 => to_integer(value, "integer", (i64::from(i32::MIN), i64::from(i32::MAX)), kind),
        SqlType::Int8 => to_integer(value, "bigint", (i64::MIN, i64::MAX), kind),
        SqlType::Catalog(CatalogType::OidVector) => to_array(value, &SqlType::Oid, settings, kind),
        // Kinds of text that only the catalogs have are what their text is.
        SqlType::Catalog(_) if ty.arrow_type() != arrow::datatypes::DataType::Int64 => match value {
            Value::Text(_) => Some(Ok(value)),
            _ => None,
        },
        // What is one is told by its own type: no other becomes it.
        SqlType::Catalog(CatalogType::Tid | CatalogType::PgLsn) => {
            matches!(value, Value::Int(_)).then_some(Ok(value))
        }
        SqlType::Catalog(CatalogType::Xid8) => match value {
            Value::Int(_) => to_integer(value, "xid8", (0, i64::MAX), kind),
            _ => None,
        },
        // Of a whole number of a transaction it is the last 32 bits.
        SqlType::Catalog(CatalogType::Xid) => match value {
            Value::Int(number) => Some(Ok(Value::Int(number & i64::from(u32::MAX)))),
            _ => None,
        },
        SqlType::Oid | SqlType::Regclass | SqlType::Catalog(_) => match value {
            // An integer below zero is the oid of its bits.
            Value::Int(_) => to_integer(value, "OID", (i64::from(i32::MIN), i64::from(u32::MAX)), kind)
                .map(|read| read.map(as_oid)),
            _ => None,
        },
        SqlType::Money => to_money(value),
        SqlType::Float4 => to_float4(value),
        SqlType::Float8 => to_float8(&value).map(|value| value.map(Value::Float8)),
        SqlType::Numeric(size) => to_numeric(value).map(|number| number?.fit(*size).map(Value::Numeric)),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Unknown
        | SqlType::Void => {
            let text = match value {
                Value::Bool(value) => value.to_string(),
                Value::Text(text) => text,
                Value::Packed(address) => address.cast_text(),
                other => other.to_text(settings),
            };
            Some(to_string_type(text, ty, kind))
        }
        SqlType::Enum(ty) => match value {
            Value::Enum(value) if value.ty == *ty => Some(Ok(Value::Enum(value))),
            _ => None,
        },
        SqlType::Bytea => matches!(value, Value::Bytes(_)).then_some(Ok(value)),
        SqlType::Uuid => matches!(value, Value::Uuid(_)).then_some(Ok(value)),
        SqlType::Packed(kind) => match value {
            Value::Packed(value) => Some(value.cast(*kind)?.map(Value::Packed)),
            value if matches!(kind, PackedKind::TimeTz(_)) => to_time_tz(value, settings).map(Ok),
            _ => None,
        },
        SqlType::Date => to_date(value, settings),
        SqlType::Time(_) => to_time(value, settings).map(Ok),
        SqlType::Timestamp(_) => to_timestamp(value, settings).map(|micros| micros.map(Value::Timestamp)),
        SqlType::TimestampTz(_) => {
            to_timestamptz(value, settings).map(|micros| micros.map(Value::TimestampTz))
        }
        SqlType::Interval(_) => match value {
            Value::Interval(_) => Some(Ok(value)),
            Value::Time(microseconds) => Some(Ok(Value::Interval(Interval {
                months: 0,
                days: 0,
                microseconds,
            }))),
            _ => None,
        },
        SqlType::Range(kind) => match value {
            Value::Range(range) if range.kind == *kind => Some(Ok(Value::Range(range))),
            _ => None,
        },
        SqlType::Multirange(kind) => match value {
            Value::Multirange(ranges) if ranges.kind == *kind => Some(Ok(Value::Multirange(ranges))),
            Value::Range(range) if range.kind == *kind && is_cast => {
                Some(Ok(Value::Multirange(MultirangeValue::new(*kind, [range]))))
            }
            _ => None,
        },
        SqlType::Record(ty) => to_record(value, ty, settings, kind),
        SqlType::Json
        | SqlType::Jsonb
        | SqlType::Bit(_)
        | SqlType::VarBit(_)
        | SqlType::TsVector
        | SqlType::TsQuery => None,
        SqlType::Array(element) => to_array(value, element, settings, kind),
        SqlType::Int2Vector => to_array(value, &SqlType::Int2, settings, kind),
    };
    converted.map(|value| precision::fit(value?, ty))
}

fn as_oid(value: Value) -> Value {
    match value {
        Value::Int(number) => Value::Int(number & 0xFFFF_FFFF),
        other => other,
    }
}

/// Text, or bits, as bits: as many as the type has them, or cut to that.
fn to_bits(text: &str, ty: &SqlType, kind: Kind) -> Result<Value> {
    let read = bits::parse(text)?;
    let kept = match kind {
        Kind::Cast => bits::cut(read, ty),
        Kind::Assignment => bits::fit(read, ty)?,
    };
    Ok(Value::Text(kept))
}

/// A row as one of another type: column by column.
fn to_record(value: Value, ty: &RecordType, settings: &FormatSettings, kind: Kind) -> Option<Result<Value>> {
    let Value::Record(values) = value else {
        return None;
    };
    if values.len() != ty.fields.len() {
        return None;
    }
    let mut converted = Vec::with_capacity(values.len());
    for (value, field) in values.into_iter().zip(&ty.fields) {
        match convert(value, &field.ty, settings, kind)? {
            Ok(value) => converted.push(value),
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(Value::Record(converted)))
}

fn to_string_type(text: String, ty: &SqlType, kind: Kind) -> Result<Value> {
    let text = strings::checked(&text)?;
    match (ty, kind) {
        (SqlType::Unknown | SqlType::Void, _) => Ok(Value::Unknown(text)),
        (_, Kind::Cast) => Ok(Value::Text(strings::cut(text, ty))),
        (_, Kind::Assignment) => strings::fit(text, ty).map(Value::Text),
    }
}

fn to_bool(value: Value, kind: Kind) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value),
        Value::Int(number) if kind == Kind::Cast => Some(Value::Bool(number != 0)),
        _ => None,
    }
}

fn out_of_range(type_name: &str) -> Error {
    Error::NumericOutOfRange {
        message: format!("{type_name} out of range"),
        detail: None,
    }
}

fn to_integer(value: Value, type_name: &str, (min, max): (i64, i64), kind: Kind) -> Option<Result<Value>> {
    let wide = match value {
        Value::Int(number) => Ok(number),
        Value::Bool(value) if kind == Kind::Cast => Ok(i64::from(value)),
        Value::Float4(number) => integer_of_float(f64::from(number), type_name),
        Value::Float8(number) => integer_of_float(number, type_name),
        Value::Numeric(number) => integer_of_numeric(&number, type_name),
        _ => return None,
    };
    Some(wide.and_then(|wide| match (min..=max).contains(&wide) {
        true => Ok(Value::Int(wide)),
        false => Err(out_of_range(type_name)),
    }))
}

/// An integer of the narrower type that SQL calls `type_name`. Errors: 22003 for one that it does not hold.
pub(crate) fn narrow_integer<N: TryFrom<i64>>(number: i64, type_name: &str) -> Result<N> {
    N::try_from(number).map_err(|_| out_of_range(type_name))
}

/// The nearest integer, half to even as PostgreSQL's `rint`. Errors: 22003 for NaN and beyond bigint.
pub(crate) fn integer_of_float(number: f64, type_name: &str) -> Result<i64> {
    let rounded = number.round_ties_even();
    // The first double that is too large.
    match (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
        true => Ok(rounded as i64),
        false => Err(out_of_range(type_name)),
    }
}

/// The nearest integer, half away from zero. Errors: 22003 beyond bigint, 0A000 for NaN and infinity.
pub(crate) fn integer_of_numeric(number: &Numeric, type_name: &str) -> Result<i64> {
    match number {
        Numeric::Finite(_) => number
            .unscaled_at(0)
            .and_then(|wide| i64::try_from(wide).ok())
            .ok_or_else(|| out_of_range(type_name)),
        special => {
            let what = if *special == Numeric::NaN {
                "NaN"
            } else {
                "infinity"
            };
            Err(Error::DataException {
                state: "0A000",
                message: format!("cannot convert {what} to {type_name}"),
            })
        }
    }
}

/// A double as a real. Errors: 22003 for one that is too large, or too small.
pub(crate) fn real_of_double(number: f64) -> Result<f32> {
    let narrow = number as f32;
    let fault = if narrow.is_infinite() && number.is_finite() {
        "overflow"
    } else if narrow == 0.0 && number != 0.0 {
        "underflow"
    } else {
        return Ok(narrow);
    };
    Err(Error::NumericOutOfRange {
        message: format!("value out of range: {fault}"),
        detail: None,
    })
}

/// The nearest real. Errors: 22003.
pub(crate) fn real_of_numeric(number: &Numeric) -> Result<f32> {
    floats::parse_f32(&number.to_string())
}

fn to_float8(value: &Value) -> Option<Result<f64>> {
    match value {
        Value::Int(number) => Some(Ok(*number as f64)),
        Value::Float4(number) => Some(Ok(f64::from(*number))),
        Value::Float8(number) => Some(Ok(*number)),
        Value::Numeric(number) => Some(number.to_double()),
        _ => None,
    }
}

fn to_float4(value: Value) -> Option<Result<Value>> {
    let narrow = match value {
        Value::Int(number) => Ok(number as f32),
        Value::Float4(number) => Ok(number),
        Value::Float8(number) => real_of_double(number),
        Value::Numeric(number) => real_of_numeric(&number),
        _ => return None,
    };
    Some(narrow.map(Value::Float4))
}

fn to_numeric(value: Value) -> Option<Result<Numeric>> {
    match value {
        Value::Int(number) => Some(Ok(Numeric::from_i64(number))),
        Value::Money(cents) => Some(Ok(Numeric::from_i128(cents.into(), 2))),
        Value::Float4(number) => Some(Numeric::from_f32(number)),
        Value::Float8(number) => Some(Numeric::from_f64(number)),
        Value::Numeric(number) => Some(Ok(number)),
        _ => None,
    }
}

/// Errors: 22003 beyond what there is of cents, as of the bigint that they are.
fn to_money(value: Value) -> Option<Result<Value>> {
    let cents = match value {
        Value::Money(cents) => Ok(cents),
        Value::Int(dollars) => dollars
            .checked_mul(money::CENTS)
            .ok_or_else(|| out_of_range("bigint")),
        Value::Numeric(dollars) => match dollars.unscaled_at(2) {
            Some(cents) => i64::try_from(cents).map_err(|_| out_of_range("bigint")),
            None => integer_of_numeric(&dollars, "bigint"),
        },
        _ => return None,
    };
    Some(cents.map(Value::Money))
}

fn to_date(value: Value, settings: &FormatSettings) -> Option<Result<Value>> {
    let micros = match value {
        Value::Date(_) => return Some(Ok(value)),
        Value::Timestamp(micros) => micros,
        Value::TimestampTz(utc) => local_time(utc, settings),
        _ => return None,
    };
    Some(Ok(Value::Date(date_of_timestamp(micros))))
}

/// The day of a timestamp; infinity stays.
pub(crate) fn date_of_timestamp(micros: i64) -> i32 {
    match micros {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        micros => day_of(micros) as i32, // i64 microseconds span 107 million days
    }
}

/// The clock time of a timestamp; an infinite one has none.
pub(crate) fn time_of_timestamp(micros: i64) -> Option<i64> {
    match micros {
        i64::MIN | i64::MAX => None,
        micros => Some(micros.rem_euclid(MICROS_PER_DAY)),
    }
}

/// The clock time; an infinite timestamp has none and gives NULL.
fn to_time(value: Value, settings: &FormatSettings) -> Option<Value> {
    let micros = match value {
        Value::Time(micros) => Some(micros),
        Value::Timestamp(micros) => time_of_timestamp(micros),
        Value::TimestampTz(utc) => time_of_timestamp(local_time(utc, settings)),
        Value::Interval(interval) => Some(interval.microseconds.rem_euclid(MICROS_PER_DAY)),
        Value::Packed(value) => Some(value.time_tz()?.local),
        _ => return None,
    };
    Some(micros.map_or(Value::Null, Value::Time))
}

/// With the offset of the session's zone: that of the instant, or of now.
fn to_time_tz(value: Value, settings: &FormatSettings) -> Option<Value> {
    let offset_at = |utc| settings.time_zone.offset_at(utc);
    let time = match value {
        Value::Time(local) => TimeTz {
            local,
            offset: offset_at(settings.now()),
        },
        Value::TimestampTz(utc) => match time_of_timestamp(local_time(utc, settings)) {
            Some(local) => TimeTz {
                local,
                offset: offset_at(utc),
            },
            None => return Some(Value::Null),
        },
        _ => return None,
    };
    Some(Value::Packed(PackedValue::time(time)))
}

fn to_timestamp(value: Value, settings: &FormatSettings) -> Option<Result<i64>> {
    match value {
        Value::Timestamp(micros) => Some(Ok(micros)),
        Value::TimestampTz(utc) => Some(Ok(local_time(utc, settings))),
        Value::Date(days) => Some(timestamp_of_date(days)),
        Value::Int(milliseconds) => Some(epoch_milliseconds(milliseconds)),
        _ => None,
    }
}

fn to_timestamptz(value: Value, settings: &FormatSettings) -> Option<Result<i64>> {
    let local = match value {
        Value::TimestampTz(utc) => return Some(Ok(utc)),
        Value::Int(milliseconds) => return Some(epoch_milliseconds(milliseconds)),
        Value::Timestamp(micros) => Ok(micros),
        Value::Date(days) => timestamp_of_date(days),
        _ => return None,
    };
    Some(local.and_then(|local| instant_of(local, settings)))
}

/// The instant at which the session's clocks show this; infinity stays. Errors: 22008.
pub(crate) fn instant_of(local: i64, settings: &FormatSettings) -> Result<i64> {
    if matches!(local, i64::MIN | i64::MAX) {
        return Ok(local);
    }
    let offset = i64::from(settings.time_zone.offset_of_local(local)) * MICROS_PER_SECOND;
    local
        .checked_sub(offset)
        .filter(|utc| *utc != i64::MAX)
        .ok_or_else(|| Error::DatetimeOverflow {
            message: "timestamp out of range".to_string(),
        })
}

/// What the session's clocks show at an instant; infinity stays.
pub(crate) fn local_time(utc: i64, settings: &FormatSettings) -> i64 {
    match utc {
        i64::MIN | i64::MAX => utc,
        utc => utc.saturating_add(i64::from(settings.time_zone.offset_at(utc)) * MICROS_PER_SECOND),
    }
}

/// The beginning of a day; infinity stays. Errors: 22008 for a day that timestamps do not reach.
pub(crate) fn timestamp_of_date(days: i32) -> Result<i64> {
    match days {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        days => micros(i64::from(days), 0).ok_or_else(|| Error::DatetimeOverflow {
            message: "date out of range for timestamp".to_string(),
        }),
    }
}

/// Microseconds of milliseconds since 1970-01-01 UTC: what an integer means where a timestamp is wanted. Errors: 22008.
pub fn epoch_milliseconds(milliseconds: i64) -> Result<i64> {
    milliseconds
        .checked_mul(MICROS_PER_MILLISECOND)
        .filter(|instant| micros(0, *instant).is_some())
        .ok_or_else(|| Error::DatetimeOverflow {
            message: format!("timestamp out of range: \"{milliseconds}\""),
        })
}

fn to_array(value: Value, element: &SqlType, settings: &FormatSettings, kind: Kind) -> Option<Result<Value>> {
    let Value::Array(elements) = value else {
        return None;
    };
    let mut is_converted = true;
    let converted = elements.try_map(|value| {
        convert(value, element, settings, kind).unwrap_or_else(|| {
            is_converted = false;
            Ok(Value::Null)
        })
    });
    is_converted.then(|| converted.map(Value::Array))
}
