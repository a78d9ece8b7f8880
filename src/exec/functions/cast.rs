//! Casts between SQL types, as `CAST` and `::` do: which exist, and what they compute. One definition serves constants
//! (at planning) and columns.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;

use super::super::cell::{array_of, element_type, value_at};
use super::datetime;
use super::decimal;
use super::{Batch, Body};
use crate::types::{FormatSettings, Numeric, SqlType, Value};
use crate::{Error, Result};

/// Casts the only argument from its type to the result type.
pub const CAST: Body = Body::Batch(cast_batch);

/// Whether an explicit cast exists.
pub fn cast_exists(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    if from == to || matches!(from, S::Unknown | S::Void) || to.is_string() || from.is_string() {
        return true;
    }
    let date_like = |ty: &S| matches!(ty, S::Date | S::Timestamp | S::TimestampTz);
    match (from, to) {
        (a, b) if number(a) && number(b) => true,
        (S::Bool, S::Int4) | (S::Int4, S::Bool) => true,
        (S::Oid | S::Regclass, S::Int4 | S::Int8 | S::Oid | S::Regclass) => true,
        (S::Int2 | S::Int4 | S::Int8, S::Oid | S::Regclass) => true,
        (a, b) if date_like(a) && date_like(b) => true,
        (S::Timestamp | S::TimestampTz | S::Interval, S::Time) | (S::Time, S::Interval) => true,
        (S::Json | S::Jsonb, S::Json | S::Jsonb) => true,
        (S::Jsonb, S::Bool) => true,
        (S::Jsonb, b) if number(b) => true,
        (S::Array(a), S::Array(b)) => cast_exists(a, b),
        (S::Int2Vector, S::Array(_)) => true,
        (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
    }
}

fn number(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Float4 | SqlType::Float8 | SqlType::Numeric(_)
    )
}

/// Whether Arrow's own cast computes it, without loss and without errors.
pub fn is_widening(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    match (from, to) {
        (S::Int2, S::Int4 | S::Int8 | S::Float4 | S::Float8 | S::Oid) => true,
        (S::Int4, S::Int8 | S::Float8 | S::Oid) | (S::Float4, S::Float8) | (S::Int8, S::Float8) => true,
        (S::Date, S::Timestamp) => false,
        (S::Int2, S::Numeric(Some(size))) => size.precision >= size.scale + 5,
        (S::Int4, S::Numeric(Some(size))) => size.precision >= size.scale + 10,
        (S::Int8, S::Numeric(Some(size))) => size.precision >= size.scale + 19,
        (S::Numeric(Some(a)), S::Numeric(Some(b))) => {
            a.scale <= b.scale && a.precision - a.scale <= b.precision - b.scale
        }
        (a, b) => a.arrow_type() == b.arrow_type() && same_text(a, b),
    }
}

/// Text types whose values need no change from one to the other.
fn same_text(from: &SqlType, to: &SqlType) -> bool {
    use SqlType as S;
    match (from, to) {
        (S::Varchar(a), S::Varchar(Some(b))) => a.is_some_and(|a| a <= *b),
        (S::Text | S::Varchar(_) | S::Name | S::Unknown, S::Text | S::Varchar(None)) => true,
        (S::Json | S::Jsonb | S::InternalChar, S::Text | S::Varchar(None)) | (S::Jsonb, S::Json) => true,
        (S::Int8 | S::Oid | S::Regclass, S::Int8 | S::Oid | S::Regclass) => {
            !matches!(to, S::Oid) || !matches!(from, S::Int8)
        }
        (a, b) => a == b,
    }
}

fn cast_batch(batch: &Batch) -> Result<ArrayRef> {
    let (array, from, to) = (&batch.arrays[0], &batch.arguments[0], batch.returns);
    if is_widening(from, to) {
        return arrow_cast(array, &to.arrow_type());
    }
    let mut results = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        results.push(cast_value(value_at(array, row, from)?, from, to, batch.settings)?);
    }
    array_of(&results, to)
}

fn arrow_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(array, to, &options).map_err(|error| super::super::datafusion_error::from_arrow(&error))
}

/// Casts one value. Errors: 22003, 22P02, 22007, 22008; 42846 when there is no such cast.
pub fn cast_value(value: Value, from: &SqlType, to: &SqlType, settings: &FormatSettings) -> Result<Value> {
    use SqlType as S;
    if value == Value::Null {
        return Ok(Value::Null);
    }
    match to {
        S::Text | S::Varchar(_) | S::Char(_) | S::Name | S::InternalChar | S::Unknown => {
            return Ok(Value::Text(fit_text(text_of(&value, from, settings), to)));
        }
        S::Json | S::Jsonb if matches!(from, S::Json | S::Jsonb) => {
            return Value::parse(&text_of(&value, from, settings), to, settings);
        }
        _ => {}
    }
    if from.is_string() || matches!(from, S::Unknown) {
        let (Value::Text(text) | Value::Unknown(text)) = &value else {
            return Err(Error::internal(format!("text that is none: {value:?}")));
        };
        return Value::parse(text, to, settings);
    }
    match (&value, to) {
        (Value::Bool(flag), S::Int4) => Ok(Value::Int(i64::from(*flag))),
        (Value::Int(number), S::Bool) => Ok(Value::Bool(*number != 0)),
        (Value::Int(_) | Value::Float4(_) | Value::Float8(_) | Value::Numeric(_), _) if number(to) => to_number(&value, to),
        (Value::Int(number), S::Oid | S::Regclass) => oid(*number),
        (Value::Int(number), S::Int4) => ranged(i128::from(*number), to),
        (Value::Text(text), _) if *from == S::Jsonb => from_jsonb(text, to, settings),
        (Value::Array(items), S::Array(_) | S::Int2Vector) => {
            let (from, to) = (element_type(from), element_type(to));
            let items = items.iter().map(|item| cast_value(item.clone(), &from, &to, settings));
            Ok(Value::Array(items.collect::<Result<_>>()?))
        }
        _ => datetime::cast(value, from, to, settings),
    }
}

/// The text of a value as a cast gives it (booleans in full, char(n) without its padding).
pub fn text_of(value: &Value, from: &SqlType, settings: &FormatSettings) -> String {
    match value {
        Value::Bool(flag) => flag.to_string(),
        Value::Text(text) if matches!(from, SqlType::Char(_)) => text.trim_end_matches(' ').to_string(),
        Value::Text(text) | Value::Unknown(text) => text.clone(),
        Value::Numeric(number) if *from == SqlType::Numeric(None) => {
            let text = Value::Numeric(*number).to_text(settings);
            trim_fraction(&text).to_string()
        }
        other => other.to_text(settings),
    }
}

/// A bare numeric prints without padding zeros.
fn trim_fraction(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Cuts or pads text to the type, as an explicit cast does.
fn fit_text(text: String, to: &SqlType) -> String {
    match to {
        SqlType::Varchar(Some(limit)) => text.chars().take(usize::try_from(*limit).unwrap_or(usize::MAX)).collect(),
        SqlType::Char(length) => {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let mut fitted: String = text.chars().take(length).collect();
            let missing = length.saturating_sub(fitted.chars().count());
            fitted.extend(std::iter::repeat_n(' ', missing));
            fitted
        }
        SqlType::Name => text.chars().take(63).collect(),
        SqlType::InternalChar => text.chars().take(1).collect(),
        _ => text,
    }
}

fn out_of_range(to: &SqlType) -> Error {
    Error::NumericOutOfRange { message: format!("{} out of range", base_name(to)), detail: None }
}

fn base_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Numeric(_) => "numeric".to_string(),
        other => other.name(),
    }
}

fn ranged(number: i128, to: &SqlType) -> Result<Value> {
    let (low, high) = match to {
        SqlType::Int2 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        SqlType::Int4 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
    };
    match i64::try_from(number) {
        Ok(fits) if (low..=high).contains(&number) => Ok(Value::Int(fits)),
        _ => Err(out_of_range(to)),
    }
}

fn oid(number: i64) -> Result<Value> {
    match number {
        // PostgreSQL takes a negative integer as the unsigned number of the same bits.
        -2_147_483_648..=-1 => Ok(Value::Int(number + (1 << 32))),
        0..=4_294_967_295 => Ok(Value::Int(number)),
        _ => Err(Error::NumericOutOfRange { message: "OID out of range".to_string(), detail: None }),
    }
}

/// A number as another type of number: integers from floats round half to even, from numerics half away from zero.
fn to_number(value: &Value, to: &SqlType) -> Result<Value> {
    match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => match value {
            Value::Int(number) => ranged(i128::from(*number), to),
            Value::Float4(number) => float_to_integer(f64::from(*number), to),
            Value::Float8(number) => float_to_integer(*number, to),
            Value::Numeric(number) => match decimal::round(number, 0)?.floor() {
                Some(whole) => ranged(whole, to),
                None => Err(match number {
                    Numeric::NaN => Error::FeatureNotSupported {
                        feature: format!("a cast of NaN to {to}"),
                        hint: None,
                    },
                    _ => out_of_range(to),
                }),
            },
            other => Err(Error::internal(format!("no number: {other:?}"))),
        },
        SqlType::Float8 => Ok(Value::Float8(to_f64(value)?)),
        SqlType::Float4 => {
            let wide = to_f64(value)?;
            #[expect(clippy::cast_possible_truncation, reason = "rounding to real is what the cast does")]
            let narrow = wide as f32;
            if narrow.is_infinite() && wide.is_finite() {
                return Err(Error::NumericOutOfRange { message: "value out of range: overflow".to_string(), detail: None });
            }
            Ok(Value::Float4(narrow))
        }
        _ => to_numeric(value, to),
    }
}

fn to_numeric(value: &Value, to: &SqlType) -> Result<Value> {
    let number = match value {
        Value::Int(number) => Numeric::from_i64(*number),
        Value::Float4(number) => Numeric::parse(&shortest(f64::from(*number), 6))?,
        Value::Float8(number) => Numeric::from_f64(*number)?,
        Value::Numeric(number) => *number,
        other => return Err(Error::internal(format!("no number: {other:?}"))),
    };
    let SqlType::Numeric(Some(size)) = to else { return Ok(Value::Numeric(number)) };
    let rounded = decimal::round(&number, i32::from(size.scale))?;
    // Whether it fits is checked where the array is built, with PostgreSQL's message.
    Ok(Value::Numeric(rounded))
}

/// A double with so many significant digits, as text (`%.6g`).
fn shortest(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return "NaN".to_string();
    }
    format!("{number:.*e}", digits.saturating_sub(1))
}

fn float_to_integer(number: f64, to: &SqlType) -> Result<Value> {
    let rounded = number.round_ties_even();
    // 2^63 is the first double above bigint's range; the comparison is exact.
    if !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
        return Err(out_of_range(to));
    }
    #[expect(clippy::cast_possible_truncation, reason = "the range was checked and the number is whole")]
    let whole = rounded as i64;
    ranged(i128::from(whole), to)
}

/// The nearest double.
pub fn to_f64(value: &Value) -> Result<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "the nearest double is what the cast gives")]
        Value::Int(number) => Ok(*number as f64),
        Value::Float4(number) => Ok(f64::from(*number)),
        Value::Float8(number) => Ok(*number),
        Value::Numeric(number) => Ok(number.to_f64()),
        other => Err(Error::internal(format!("no number: {other:?}"))),
    }
}

fn from_jsonb(text: &str, to: &SqlType, settings: &FormatSettings) -> Result<Value> {
    let wrong = |found: &str| Error::InvalidParameter { message: format!("cannot cast jsonb {found} to type {to}"), hint: None };
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|_| Error::InvalidText { type_name: "json".to_string(), value: text.to_string() })?;
    match (json, to) {
        (serde_json::Value::Bool(flag), SqlType::Bool) => Ok(Value::Bool(flag)),
        (serde_json::Value::Number(number), to) if *to != SqlType::Bool => {
            cast_value(Value::Numeric(Numeric::parse(&number.to_string())?), &SqlType::Numeric(None), to, settings)
        }
        (serde_json::Value::Null, _) => Err(wrong("null")),
        (serde_json::Value::String(_), _) => Err(wrong("string")),
        (serde_json::Value::Array(_), _) => Err(wrong("array")),
        (serde_json::Value::Object(_), _) => Err(wrong("object")),
        (serde_json::Value::Bool(_), _) => Err(wrong("boolean")),
        (serde_json::Value::Number(_), _) => Err(wrong("numeric")),
    }
}
