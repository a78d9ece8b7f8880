//! The one rule by which a column's value compares with a constant of any type: PostgreSQL's operator for the pair.
//! The planner cuts key ranges by it and `scan::residual` filters rows by it, so that the two can never disagree.
//!
//! - integers and numerics compare exactly; with a float on either side both compare as float8, and only then may
//!   two different integers be equal to the same constant;
//! - NaN equals NaN and stands above everything; −0 equals 0;
//! - a date stands for its midnight when it meets a timestamp; infinities meet infinities;
//! - char(n) compares without trailing blanks, citext in lower case; text compares by bytes (collation C).
//!
//! Pairs that need the session's zone (timestamptz with timestamp or date) are converted before they come here.

use std::cmp::Ordering;

use crate::codec::key::nested::sort_key;
use crate::types::{Interval, Numeric, NumericSize, SqlType, Value, comparable_text, json_key, power_of_ten};

/// Microseconds in a day.
const DAY_US: i128 = 86_400_000_000;

/// How a value of a column of type `ty` compares with a constant. `None`: one is NULL, or PostgreSQL has no operator
/// for the pair (callers then treat the condition as one that the planner cannot use).
pub(crate) fn compare(ty: &SqlType, value: &Value, constant: &Value) -> Option<Ordering> {
    match (value, constant) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Int(left), Value::Numeric(right)) => Some(Numeric::from_i64(*left).cmp(right)),
        (Value::Numeric(left), Value::Int(right)) => Some(left.cmp(&Numeric::from_i64(*right))),
        (Value::Numeric(left), Value::Numeric(right)) => Some(left.cmp(right)),
        (Value::Text(left), Value::Text(right) | Value::Unknown(right)) => {
            Some(compare_text(ty, left, right))
        }
        (Value::Enum(left), Value::Enum(right)) => Some(left.compare(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Money(left), Value::Money(right)) => Some(left.cmp(right)),
        (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
        (Value::Uuid(left), Value::Uuid(right)) => Some(left.cmp(right)),
        (Value::Packed(left), Value::Packed(right)) => left.compare(right),
        (Value::Date(left), Value::Date(right)) => Some(left.cmp(right)),
        (Value::Date(left), Value::Timestamp(right)) => Some(date_us(*left).cmp(&timestamp_us(*right))),
        (Value::Timestamp(left), Value::Date(right)) => Some(timestamp_us(*left).cmp(&date_us(*right))),
        (Value::Timestamp(left), Value::Timestamp(right))
        | (Value::TimestampTz(left), Value::TimestampTz(right))
        | (Value::Time(left), Value::Time(right)) => Some(left.cmp(right)),
        (Value::Interval(left), Value::Interval(right)) => Some(interval_us(left).cmp(&interval_us(right))),
        (
            Value::Array(_) | Value::Range(_) | Value::Multirange(_) | Value::Record(_),
            Value::Array(_) | Value::Range(_) | Value::Multirange(_) | Value::Record(_),
        ) => is_own_kind(ty, constant).then(|| sort_key(value, ty).cmp(&sort_key(constant, ty))),
        _ => Some(compare_floats(as_float(value)?, as_float(constant)?)),
    }
}

/// PostgreSQL's order of doubles: NaN equals NaN and is greatest, −0 equals 0.
pub(crate) fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right)
        .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// The constant in the column's own kind of value, where that changes no comparison; else the constant as it is.
/// After it, a constant for which `is_own_kind` holds may be encoded or compared natively.
pub(crate) fn reduce(ty: &SqlType, constant: &Value) -> Value {
    match ty {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid => reduce_to_int(constant),
        SqlType::Float8 => as_float(constant).map(Value::Float8),
        SqlType::Float4 => as_float(constant).and_then(reduce_to_float4),
        SqlType::Numeric(_) => match ty.fixed_size() {
            Some(size) => reduce_to_numeric(constant, size),
            None => match constant {
                Value::Int(number) => Some(Value::Numeric(Numeric::from_i64(*number))),
                _ => None,
            },
        },
        SqlType::Date => reduce_to_date(constant),
        SqlType::Timestamp(_) => reduce_to_timestamp(constant),
        SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Citext
        | SqlType::Name
        | SqlType::InternalChar
        | SqlType::Bit(_)
        | SqlType::VarBit(_) => match constant {
            Value::Unknown(text) => Some(Value::Text(text.clone())),
            _ => None,
        },
        _ => None,
    }
    .unwrap_or_else(|| constant.clone())
}

/// Whether a constant (after `reduce`) is of the very kind that a column of this type holds.
pub(crate) fn is_own_kind(ty: &SqlType, constant: &Value) -> bool {
    match (ty, constant) {
        (SqlType::Bool, Value::Bool(_))
        | (SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid, Value::Int(_))
        | (SqlType::Regclass | SqlType::Catalog(_), Value::Int(_))
        | (SqlType::Float4, Value::Float4(_))
        | (SqlType::Float8, Value::Float8(_))
        | (
            SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Citext
            | SqlType::Name
            | SqlType::InternalChar
            | SqlType::Bit(_)
            | SqlType::VarBit(_)
            | SqlType::Jsonb,
            Value::Text(_),
        )
        | (SqlType::Interval(_), Value::Interval(_))
        | (SqlType::Array(_), Value::Array(_))
        | (SqlType::Range(_), Value::Range(_))
        | (SqlType::Multirange(_), Value::Multirange(_))
        | (SqlType::Record(_), Value::Record(_))
        | (SqlType::Money, Value::Money(_))
        | (SqlType::Bytea, Value::Bytes(_))
        | (SqlType::Date, Value::Date(_))
        | (SqlType::Time(_), Value::Time(_))
        | (SqlType::Timestamp(_), Value::Timestamp(_))
        | (SqlType::TimestampTz(_), Value::TimestampTz(_))
        | (SqlType::Uuid, Value::Uuid(_))
        | (SqlType::Packed(_), Value::Packed(_)) => true,
        (SqlType::Enum(ty), Value::Enum(value)) => *ty == value.ty,
        (SqlType::Numeric(_), Value::Numeric(number)) => ty.fixed_size().is_none_or(|size| {
            number.scale() == Some(size.shown_scale())
                && number
                    .unscaled_at(size.shown_scale())
                    .is_some_and(|unscaled| fits_digits(unscaled, size))
        }),
        _ => false,
    }
}

fn compare_text(ty: &SqlType, left: &str, right: &str) -> Ordering {
    if *ty == SqlType::Jsonb {
        return json_key::compare(left, right);
    }
    comparable_text(ty, left)
        .as_bytes()
        .cmp(comparable_text(ty, right).as_bytes())
}

/// A number as float8; `None` for what is no number.
fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(value) => Some(*value as f64),
        Value::Float4(value) => Some(f64::from(*value)),
        Value::Float8(value) => Some(*value),
        Value::Numeric(value) => Some(value.to_f64()),
        _ => None,
    }
}

fn reduce_to_int(constant: &Value) -> Option<Value> {
    match constant {
        Value::Numeric(number) => {
            let floor = number.floor()?;
            (number.ceil()? == floor)
                .then_some(floor)
                .and_then(|whole| i64::try_from(whole).ok())
                .map(Value::Int)
        }
        // Below 2^53 every integer is its own double, so comparing as float8 or as integers is the same.
        Value::Float4(_) | Value::Float8(_) => {
            let float = as_float(constant)?;
            (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0)
                .then_some(Value::Int(float as i64))
        }
        _ => None,
    }
}

fn reduce_to_float4(constant: f64) -> Option<Value> {
    let narrow = constant as f32;
    (constant.is_nan() || f64::from(narrow) == constant).then_some(Value::Float4(narrow))
}

fn reduce_to_numeric(constant: &Value, size: NumericSize) -> Option<Value> {
    let number = match constant {
        Value::Int(value) => &Numeric::from_i64(*value),
        Value::Numeric(number) => number,
        _ => return None,
    };
    let unscaled = number.exactly_at(size.shown_scale())?;
    fits_digits(unscaled, size).then(|| Value::Numeric(Numeric::from_i128(unscaled, size.shown_scale())))
}

fn fits_digits(unscaled: i128, size: NumericSize) -> bool {
    power_of_ten(size.precision).is_some_and(|limit| unscaled.unsigned_abs() < limit.unsigned_abs())
}

fn reduce_to_date(constant: &Value) -> Option<Value> {
    match constant {
        Value::Timestamp(i64::MIN) => Some(Value::Date(i32::MIN)),
        Value::Timestamp(i64::MAX) => Some(Value::Date(i32::MAX)),
        Value::Timestamp(us) if i128::from(*us) % DAY_US == 0 => {
            i32::try_from(i128::from(*us) / DAY_US).ok().map(Value::Date)
        }
        _ => None,
    }
}

fn reduce_to_timestamp(constant: &Value) -> Option<Value> {
    match constant {
        Value::Date(i32::MIN) => Some(Value::Timestamp(i64::MIN)),
        Value::Date(i32::MAX) => Some(Value::Timestamp(i64::MAX)),
        Value::Date(days) => i64::try_from(i128::from(*days) * DAY_US)
            .ok()
            .map(Value::Timestamp),
        _ => None,
    }
}

/// A date as microseconds; infinities stand beyond every finite timestamp and meet the timestamps' infinities.
fn date_us(days: i32) -> i128 {
    match days {
        i32::MIN => i128::MIN,
        i32::MAX => i128::MAX,
        days => i128::from(days) * DAY_US,
    }
}

fn timestamp_us(us: i64) -> i128 {
    match us {
        i64::MIN => i128::MIN,
        i64::MAX => i128::MAX,
        us => i128::from(us),
    }
}

/// PostgreSQL compares intervals with months of 30 days and days of 24 hours.
fn interval_us(interval: &Interval) -> i128 {
    (i128::from(interval.months) * 30 + i128::from(interval.days)) * DAY_US
        + i128::from(interval.microseconds)
}
