//! The casts that tables meet most, without a `Value` a row: between numbers, between dates and times, and to text. What
//! they compute is `types`' own; `cast` falls back to single values for the others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, StringBuilder};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::DataType;

use super::argument::{Date, Time, Timestamp, TimestampTz};
use super::object_id::{integer_of_oid, oid_like, oid_of_integer};
use super::{Batch, mismatched_types};
use crate::Result;
use crate::types::{
    ColumnEncoder, Interval, Numeric, SqlType, WireFormat, date_of_timestamp, instant_of, integer_of_float,
    integer_of_numeric, local_time, narrow_integer, real_of_double, real_of_numeric, time_of_timestamp,
    timestamp_of_date,
};

/// The cast of the only argument to the result type; `None` when it is none of these.
pub(super) fn column_cast(batch: &Batch) -> Option<Result<ArrayRef>> {
    use SqlType as S;
    match (&batch.arguments[0], batch.returns) {
        (from, S::Text | S::Varchar(None) | S::Citext) if prints_alike(from) => Some(to_text(batch)),
        (S::Char(_), S::Text | S::Varchar(None) | S::Citext) => {
            Some(batch.map1(|padded: &str| padded.trim_end_matches(' ')))
        }
        (S::Int2 | S::Int4 | S::Int8, to) if to.is_number() => Some(from_integers(batch)),
        (from @ (S::Int2 | S::Int4 | S::Int8), to) if oid_like(to) => Some(to_oids(batch, from)),
        (from, S::Int4) if oid_like(from) => Some(batch.map1(integer_of_oid)),
        (S::Float4, to @ S::Numeric(_)) => Some(to_numeric(batch, to, Numeric::from_f32)),
        (S::Float8, to @ S::Numeric(_)) => Some(to_numeric(batch, to, Numeric::from_f64)),
        (S::Float4, S::Int2 | S::Int4 | S::Int8) => Some(to_integers(batch, |number: f32, name| {
            integer_of_float(f64::from(number), name)
        })),
        (S::Float8, S::Int2 | S::Int4 | S::Int8) => Some(to_integers(batch, integer_of_float)),
        (S::Float8, S::Float4) => Some(batch.map1(real_of_double)),
        (S::Numeric(_), to @ S::Numeric(_)) => Some(to_numeric(batch, to, Ok)),
        (S::Numeric(_), S::Int2 | S::Int4 | S::Int8) => Some(to_integers(batch, |number: Numeric, name| {
            integer_of_numeric(&number, name)
        })),
        (S::Numeric(_), S::Float8) => Some(batch.map1(|number: Numeric| number.to_double())),
        (S::Numeric(_), S::Float4) => Some(batch.map1(|number: Numeric| real_of_numeric(&number))),
        (S::Bool, S::Int4) => Some(batch.map1(|flag: bool| i32::from(flag))),
        (S::Int4, S::Bool) => Some(batch.map1(|number: i32| number != 0)),
        _ => between_times(batch),
    }
}

/// Whether a cast to text gives what the wire shows.
fn prints_alike(from: &SqlType) -> bool {
    let is_own_text = matches!(
        from,
        SqlType::Bool | SqlType::Packed(_) | SqlType::Catalog(_) | SqlType::Unknown | SqlType::Void
    );
    !is_own_text && !from.is_string()
}

fn to_text(batch: &Batch) -> Result<ArrayRef> {
    let encoder = ColumnEncoder::new(
        &batch.arguments[0],
        &batch.arrays[0],
        WireFormat::Text,
        batch.settings,
    )?;
    let (mut texts, mut text) = (StringBuilder::with_capacity(batch.rows, 0), Vec::new());
    for row in 0..batch.rows {
        text.clear();
        match encoder.encode(row, &mut text) {
            true => texts.append_value(std::str::from_utf8(&text).map_err(|_| mismatched_types())?),
            false => texts.append_null(),
        }
    }
    Ok(Arc::new(texts.finish()))
}

/// Integers of any width as numbers of another type.
fn from_integers(batch: &Batch) -> Result<ArrayRef> {
    let wide = [arrow_cast(&batch.arrays[0], &DataType::Int64)?];
    let batch = Batch {
        arrays: &wide,
        arguments: &[SqlType::Int8],
        ..*batch
    };
    match batch.returns {
        to @ SqlType::Numeric(_) => to_numeric(&batch, to, |number| Ok(Numeric::from_i64(number))),
        SqlType::Float4 => batch.map1(|number: i64| number as f32),
        SqlType::Float8 => batch.map1(|number: i64| number as f64),
        _ => to_integers(&batch, |number: i64, _| Ok(number)),
    }
}

/// Integers of the type `from` as oids.
fn to_oids(batch: &Batch, from: &SqlType) -> Result<ArrayRef> {
    let wide = [arrow_cast(&batch.arrays[0], &DataType::Int64)?];
    let batch = Batch {
        arrays: &wide,
        arguments: &[SqlType::Int8],
        ..*batch
    };
    batch.map1(|number: i64| oid_of_integer(number, from))
}

/// Numbers as integers of the result type, whose name `whole` is told for its errors.
fn to_integers<'a, A: super::argument::Argument<'a>>(
    batch: &Batch<'a>,
    whole: impl Fn(A, &str) -> Result<i64>,
) -> Result<ArrayRef> {
    match batch.returns {
        SqlType::Int2 => batch.map1(|number| narrow_integer::<i16>(whole(number, "smallint")?, "smallint")),
        SqlType::Int4 => batch.map1(|number| narrow_integer::<i32>(whole(number, "integer")?, "integer")),
        _ => batch.map1(|number| whole(number, "bigint")),
    }
}

/// Numbers as numerics of a size.
fn to_numeric<'a, A: super::argument::Argument<'a>>(
    batch: &Batch<'a>,
    to: &SqlType,
    exact: impl Fn(A) -> Result<Numeric>,
) -> Result<ArrayRef> {
    let SqlType::Numeric(size) = to else {
        return Err(mismatched_types());
    };
    batch.map1(|number| exact(number)?.fit(*size))
}

/// Dates, times and intervals as one another.
fn between_times(batch: &Batch) -> Option<Result<ArrayRef>> {
    use SqlType as S;
    let settings = batch.settings;
    if *batch.returns != batch.returns.comparison_type() {
        // What is rounded goes value by value.
        return None;
    }
    let day = |local| Date(date_of_timestamp(local));
    let clock = |local| time_of_timestamp(local).map(Time);
    Some(match (&batch.arguments[0], batch.returns) {
        (S::Date, S::Timestamp(_)) => batch.map1(|Date(days)| timestamp_of_date(days).map(Timestamp)),
        (S::Date, S::TimestampTz(_)) => {
            batch.map1(|Date(days)| instant_of(timestamp_of_date(days)?, settings).map(TimestampTz))
        }
        (S::Timestamp(_), S::Date) => batch.map1(|Timestamp(local)| day(local)),
        (S::Timestamp(_), S::TimestampTz(_)) => {
            batch.map1(|Timestamp(local)| instant_of(local, settings).map(TimestampTz))
        }
        (S::Timestamp(_), S::Time(_)) => batch.map1(|Timestamp(local)| clock(local)),
        (S::TimestampTz(_), S::Date) => batch.map1(|TimestampTz(utc)| day(local_time(utc, settings))),
        (S::TimestampTz(_), S::Timestamp(_)) => {
            batch.map1(|TimestampTz(utc)| Timestamp(local_time(utc, settings)))
        }
        (S::TimestampTz(_), S::Time(_)) => batch.map1(|TimestampTz(utc)| clock(local_time(utc, settings))),
        (S::Time(_), S::Interval(_)) => batch.map1(|Time(microseconds)| Interval {
            microseconds,
            ..Interval::default()
        }),
        _ => return None,
    })
}

/// An array as one of another Arrow type, by Arrow's own cast. Errors: what does not fit.
pub(super) fn arrow_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    cast_with_options(array, to, &options)
        .map_err(|error| crate::system::datafusion_error::from_arrow(&error))
}
