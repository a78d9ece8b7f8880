//! `Scalar`: one value that is not NULL, borrowed from wherever it stands (an Arrow array, a stored row, a key), and how
//! PostgreSQL prints and sends it. `ColumnEncoder` and the row formatter of `table` call it; it knows neither.

use arrow::datatypes::i256;
use chrono_tz::Tz;

use super::encode::WireFormat;
use super::{Interval, datetime, digits, encode_binary, floats};

/// A value that is not NULL and no array.
#[derive(Debug, Clone, Copy)]
pub enum Scalar<'a> {
    /// boolean
    Bool(bool),
    /// smallint
    Int2(i16),
    /// integer
    Int4(i32),
    /// bigint
    Int8(i64),
    /// oid and the types that name objects
    Oid(i64),
    /// real
    Float4(f32),
    /// double precision
    Float8(f64),
    /// numeric: `unscaled` is the value times 10 to the power of `scale`.
    Decimal128 {
        /// See above.
        unscaled: i128,
        /// Decimals.
        scale: u8,
        /// Whether zeros at the end stay away.
        trim: bool,
    },
    /// numeric, wider.
    Decimal256 {
        /// See `Decimal128`.
        unscaled: i256,
        /// Decimals.
        scale: u8,
        /// Whether zeros at the end stay away.
        trim: bool,
    },
    /// text and what prints as it is: UTF-8
    Text(&'a [u8]),
    /// jsonb: UTF-8
    Jsonb(&'a [u8]),
    /// bytea
    Bytes(&'a [u8]),
    /// date: days since 1970
    Date(i32),
    /// time: microseconds since midnight
    Time(i64),
    /// timestamp: microseconds since 1970
    Timestamp(i64),
    /// timestamp with time zone: microseconds since 1970 UTC, shown in a zone
    TimestampTz(i64, Tz),
    /// interval
    Interval(Interval),
    /// uuid: 16 bytes
    Uuid(&'a [u8]),
}

impl Scalar<'_> {
    /// Appends the value.
    #[inline]
    pub fn put(self, format: WireFormat, out: &mut Vec<u8>) {
        match format {
            WireFormat::Text => self.put_text(out),
            WireFormat::Binary => encode_binary::put(self, out),
        }
    }

    #[inline]
    fn put_text(self, out: &mut Vec<u8>) {
        match self {
            Scalar::Bool(value) => out.push(if value { b't' } else { b'f' }),
            Scalar::Int2(value) => digits::put_i64(out, i64::from(value)),
            Scalar::Int4(value) => digits::put_i64(out, i64::from(value)),
            Scalar::Int8(value) | Scalar::Oid(value) => digits::put_i64(out, value),
            Scalar::Float4(value) => floats::put_f32(out, value),
            Scalar::Float8(value) => floats::put_f64(out, value),
            Scalar::Decimal128 {
                unscaled,
                scale,
                trim,
            } => {
                let start = out.len();
                digits::put_decimal128(out, unscaled, scale);
                if trim {
                    digits::trim_fraction(out, start);
                }
            }
            Scalar::Decimal256 {
                unscaled,
                scale,
                trim,
            } => {
                let start = out.len();
                digits::put_decimal256(out, unscaled, scale);
                if trim {
                    digits::trim_fraction(out, start);
                }
            }
            Scalar::Text(text) | Scalar::Jsonb(text) => out.extend_from_slice(text),
            Scalar::Bytes(bytes) => put_hex(out, bytes),
            Scalar::Date(days) => datetime::put_date(out, days),
            Scalar::Time(micros) => datetime::put_time(out, micros),
            Scalar::Timestamp(micros) => datetime::put_timestamp(out, micros),
            Scalar::TimestampTz(micros, zone) => datetime::put_timestamptz(out, micros, zone),
            Scalar::Interval(interval) => interval.put(out),
            Scalar::Uuid(bytes) => put_uuid(out, bytes),
        }
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytea: `\x0aff`.
#[inline]
pub(super) fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() * 2 + 2);
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
}

/// Appends a uuid in its groups of 8-4-4-4-12 digits.
#[inline]
pub(super) fn put_uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut text = [b'-'; 36];
    let mut at = 0;
    for (i, byte) in bytes.iter().take(16).enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            at += 1;
        }
        text[at] = HEX[usize::from(byte >> 4)];
        text[at + 1] = HEX[usize::from(byte & 15)];
        at += 2;
    }
    out.extend_from_slice(&text);
}
