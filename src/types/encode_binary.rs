//! Values in PostgreSQL's binary form: what its send functions write. Called by `Scalar` and `ColumnEncoder` alone; the
//! reading side is `input_binary`.

use arrow::array::{Array, ListArray};
use arrow::datatypes::i256;

use super::digits;
use super::encode::{ColumnEncoder, element_rows};
use super::input_binary::{EPOCH_DAYS, EPOCH_MICROS, NUMERIC_NEGATIVE};
use super::scalar::Scalar;

/// The version that every binary jsonb begins with.
const JSONB_VERSION: u8 = 1;

/// Appends a value.
#[inline]
pub(super) fn put(value: Scalar<'_>, out: &mut Vec<u8>) {
    match value {
        Scalar::Bool(value) => out.push(u8::from(value)),
        Scalar::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
        Scalar::Int4(value) => out.extend_from_slice(&value.to_be_bytes()),
        Scalar::Int8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Scalar::Oid(value) => out.extend_from_slice(&(value as u32).to_be_bytes()),
        Scalar::Float4(value) => out.extend_from_slice(&value.to_be_bytes()),
        Scalar::Float8(value) => out.extend_from_slice(&value.to_be_bytes()),
        Scalar::Decimal128 {
            unscaled,
            scale,
            trim,
        } => put_numeric(out, i256::from_i128(unscaled), scale, trim),
        Scalar::Decimal256 {
            unscaled,
            scale,
            trim,
        } => put_numeric(out, unscaled, scale, trim),
        Scalar::Text(text) => out.extend_from_slice(text),
        Scalar::Jsonb(text) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(text);
        }
        Scalar::Bytes(bytes) | Scalar::Uuid(bytes) => out.extend_from_slice(bytes),
        Scalar::Date(days) => out.extend_from_slice(&date(days).to_be_bytes()),
        Scalar::Time(micros) => out.extend_from_slice(&micros.to_be_bytes()),
        Scalar::Timestamp(micros) | Scalar::TimestampTz(micros, _) => {
            out.extend_from_slice(&timestamp(micros).to_be_bytes());
        }
        Scalar::Interval(interval) => {
            out.extend_from_slice(&interval.microseconds.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
    }
}

/// Days from 2000-01-01; infinity stays.
fn date(days: i32) -> i32 {
    match days {
        i32::MIN | i32::MAX => days,
        days => days.saturating_sub(EPOCH_DAYS),
    }
}

/// Microseconds from 2000-01-01; infinity stays.
fn timestamp(micros: i64) -> i64 {
    match micros {
        i64::MIN | i64::MAX => micros,
        micros => micros.saturating_sub(EPOCH_MICROS),
    }
}

/// The count of base-10000 digits, the weight of the first, sign, the decimals that show, then the digits. A group never
/// reaches over the point, so the decimal digits are cut into fours from there to both sides.
fn put_numeric(out: &mut Vec<u8>, unscaled: i256, scale: u8, trim: bool) {
    digits::with_digits(unscaled, |digits| {
        let mut shown = usize::from(scale);
        if trim {
            let zeros = digits.iter().rev().take_while(|digit| **digit == b'0').count();
            shown = if digits.is_empty() {
                0
            } else {
                shown - shown.min(zeros)
            };
        }
        let scale = i32::from(scale);
        // Decimal position of the first digit: 0 is the ones, -1 the first behind the point.
        let first = digits.len() as i32 - 1 - scale;
        let digit_at = |position: i32| {
            usize::try_from(first - position)
                .ok()
                .and_then(|i| digits.get(i))
                .map_or(0, |digit| i16::from(digit - b'0'))
        };
        let group = |weight: i32| (0..4).fold(0, |sum, i| sum * 10 + digit_at(weight * 4 + 3 - i));
        let highest = first.div_euclid(4);
        let mut lowest = (-scale).div_euclid(4);
        while lowest < highest && group(lowest) == 0 {
            lowest += 1;
        }
        let (count, weight) = if digits.is_empty() {
            (0, 0)
        } else {
            (highest - lowest + 1, highest)
        };
        let sign = if unscaled.is_negative() {
            NUMERIC_NEGATIVE
        } else {
            0
        };
        out.extend_from_slice(&(count as u16).to_be_bytes());
        out.extend_from_slice(&(weight as i16).to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&(shown as u16).to_be_bytes());
        for i in 0..count {
            out.extend_from_slice(&group(highest - i).to_be_bytes());
        }
    });
}

/// Dimensions, whether there are NULLs, the element's OID, length and lower bound, then each element behind its length.
pub(super) fn put_array(
    out: &mut Vec<u8>,
    array: &ListArray,
    element: &ColumnEncoder,
    oid: u32,
    lower_bound: i32,
    row: usize,
) {
    let rows = element_rows(array, row);
    let has_null = rows.clone().any(|row| array.values().is_null(row));
    out.extend_from_slice(&i32::from(!rows.is_empty()).to_be_bytes());
    out.extend_from_slice(&i32::from(has_null).to_be_bytes());
    out.extend_from_slice(&oid.to_be_bytes());
    if rows.is_empty() {
        return;
    }
    out.extend_from_slice(&(rows.len() as i32).to_be_bytes());
    out.extend_from_slice(&lower_bound.to_be_bytes());
    for row in rows {
        element.encode_field(row, out);
    }
}
