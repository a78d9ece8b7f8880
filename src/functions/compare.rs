//! What comparisons need beside Arrow's own kernels: floats in PostgreSQL's order (−0 equals 0, every NaN one NaN above
//! all), char(n) without its padding, citext in lower case, numerics without their scale, and timestamps given as epoch milliseconds.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};

use super::argument::Timestamp;
use super::{Batch, Body};
use crate::Result;
use crate::types::letter_case::lowercase;
use crate::types::{SqlType, Value, epoch_milliseconds, numeric_key};

/// The name of [`FLOAT_ORDER`]: whoever reads filters may look through it.
pub const FLOAT_ORDER_NAME: &str = "float_order";
/// A float as comparisons see it: Arrow's total order then agrees with PostgreSQL's.
pub const FLOAT_ORDER: Body = Body::Batch(float_order);

/// The name of [`TRIM_CHAR`].
pub const TRIM_CHAR_NAME: &str = "bpchar_trim";
/// char(n) as comparisons see it: without trailing blanks.
pub const TRIM_CHAR: Body = Body::Batch(trim_char);

/// The name of [`CITEXT_KEY`].
pub const CITEXT_KEY_NAME: &str = "citext_key";
/// citext as comparisons see it: in lower case.
pub const CITEXT_KEY: Body = Body::Batch(|batch| batch.map1(|text: &str| lowercase(text).into_owned()));

/// Texts as what orders them as citext, with the text itself behind it: so an extremum tells which text it is; and the texts of those.
pub const CITEXT_WITH_KEY: Body =
    Body::Batch(|batch| batch.map1(|text: &str| format!("{}{KEY_END}{text}", lowercase(text))));
/// See [`CITEXT_WITH_KEY`].
pub const CITEXT_OF_KEY: Body = Body::Batch(|batch| {
    batch.map1(|keyed: &str| keyed.split_once(KEY_END).map_or("", |(_, text)| text).to_string())
});
/// Stands in no text, and before every other character.
const KEY_END: char = '\0';

/// The name of [`NUMERIC_KEY`].
pub const NUMERIC_KEY_NAME: &str = "numeric_key";
/// A numeric of variable length as comparisons see it: bytes in its order, the same for equal numbers.
pub const NUMERIC_KEY: Body = Body::Batch(|batch| batch.map1(numeric_key));

/// A float as an integer in the same order, and back.
pub const FLOAT_KEY: Body = Body::Batch(float_key);
/// See [`FLOAT_KEY`].
pub const FLOAT_OF_KEY: Body = Body::Batch(float_of_key);

/// Epoch milliseconds as a timestamp.
pub const EPOCH_MS: Body = Body::Batch(epoch_ms);

/// The array with every NaN the same NaN: processors give `Infinity - Infinity` a sign, by which Arrow would tell it from
/// others when it groups.
pub(super) fn with_one_nan(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            let floats = array.as_primitive::<Float32Type>();
            match floats.values().iter().any(|number| number.is_nan()) {
                true => {
                    Arc::new(floats.unary::<_, Float32Type>(|it| if it.is_nan() { f32::NAN } else { it }))
                }
                false => array,
            }
        }
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>();
            match floats.values().iter().any(|number| number.is_nan()) {
                true => {
                    Arc::new(floats.unary::<_, Float64Type>(|it| if it.is_nan() { f64::NAN } else { it }))
                }
                false => array,
            }
        }
        _ => array,
    }
}

fn float_order(batch: &Batch) -> Result<ArrayRef> {
    let array = &batch.arrays[0];
    Ok(match batch.returns {
        SqlType::Float4 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(order_f32),
        ),
        _ => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(order_f64),
        ),
    })
}

/// A float as an integer that compares as PostgreSQL compares floats, −0 right before 0.
fn float_key(batch: &Batch) -> Result<ArrayRef> {
    let array = &batch.arrays[0];
    let keys = match array.data_type() {
        DataType::Float32 => array
            .as_primitive::<Float32Type>()
            .unary::<_, Int64Type>(|number| key_of(f64::from(number))),
        _ => array.as_primitive::<Float64Type>().unary::<_, Int64Type>(key_of),
    };
    Ok(Arc::new(keys))
}

/// The float again.
fn float_of_key(batch: &Batch) -> Result<ArrayRef> {
    let keys = batch.arrays[0].as_primitive::<Int64Type>();
    Ok(match batch.returns {
        SqlType::Float4 => Arc::new(keys.unary::<_, Float32Type>(|key| of_key(key) as f32)),
        _ => Arc::new(keys.unary::<_, Float64Type>(of_key)),
    })
}

fn key_of(number: f64) -> i64 {
    let number = if number == 0.0 { number } else { order_f64(number) };
    flip(number.to_bits() as i64)
}

fn of_key(key: i64) -> f64 {
    f64::from_bits(flip(key) as u64)
}

/// The bits of negative floats rise as the floats fall.
fn flip(bits: i64) -> i64 {
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

/// −0 as 0, every NaN as the one positive NaN.
pub fn order_f64(number: f64) -> f64 {
    if number.is_nan() {
        f64::NAN.copysign(1.0)
    } else if number == 0.0 {
        0.0
    } else {
        number
    }
}

/// See [`order_f64`].
pub fn order_f32(number: f32) -> f32 {
    if number.is_nan() {
        f32::NAN.copysign(1.0)
    } else if number == 0.0 {
        0.0
    } else {
        number
    }
}

fn trim_char(batch: &Batch) -> Result<ArrayRef> {
    let trimmed = batch.arrays[0]
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(|text| text.trim_end_matches(' ')));
    Ok(Arc::new(trimmed.collect::<StringArray>()))
}

fn epoch_ms(batch: &Batch) -> Result<ArrayRef> {
    let time = |milliseconds| epoch_milliseconds(milliseconds).map(Timestamp);
    match batch.arguments[0] {
        SqlType::Int2 => batch.map1(|milliseconds: i16| time(milliseconds.into())),
        SqlType::Int4 => batch.map1(|milliseconds: i32| time(milliseconds.into())),
        _ => batch.map1(time),
    }
}

/// A timestamp (or timestamptz, or date) of so many milliseconds after 1970-01-01 UTC. 22008 beyond its range.
pub fn epoch_timestamp(milliseconds: i64, ty: &SqlType) -> Result<Value> {
    let microseconds = epoch_milliseconds(milliseconds)?;
    Ok(if matches!(ty, SqlType::TimestampTz(_)) {
        Value::TimestampTz(microseconds)
    } else {
        Value::Timestamp(microseconds)
    })
}
