//! Elements of Arrow arrays in PostgreSQL's binary form: what its send functions write. Called by `ColumnEncoder` alone;
//! the reading side is `input_binary`.

use arrow::array::{Array, ListArray};
use arrow::datatypes::i256;

use super::digits;
use super::encode::{ColumnEncoder, Source, element_rows, interval_of};
use super::input_binary::{EPOCH_DAYS, EPOCH_MICROS, NUMERIC_NEGATIVE};

/// The version that every binary jsonb begins with.
const JSONB_VERSION: u8 = 1;

/// Appends the element; it is not NULL.
#[inline]
pub(super) fn put(source: &Source, row: usize, out: &mut Vec<u8>) {
    match source {
        Source::Bool(array) => out.push(u8::from(array.value(row))),
        Source::Int2(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Int4(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Int8(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Oid(array) => out.extend_from_slice(&(array.value(row) as u32).to_be_bytes()),
        Source::Float4(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Float8(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Decimal128 { array, scale, trim } => {
            put_numeric(out, i256::from_i128(array.value(row)), *scale, *trim)
        }
        Source::Decimal256 { array, scale, trim } => put_numeric(out, array.value(row), *scale, *trim),
        Source::Text(array) => out.extend_from_slice(array.value(row).as_bytes()),
        Source::Jsonb(array) => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(array.value(row).as_bytes());
        }
        Source::Bytes(array) => out.extend_from_slice(array.value(row)),
        Source::Date(array) => out.extend_from_slice(&date(array.value(row)).to_be_bytes()),
        Source::Time(array) => out.extend_from_slice(&array.value(row).to_be_bytes()),
        Source::Timestamp(array) | Source::TimestampTz(array, _) => {
            out.extend_from_slice(&timestamp(array.value(row)).to_be_bytes());
        }
        Source::Interval(array) => {
            let interval = interval_of(array.value(row));
            out.extend_from_slice(&interval.microseconds.to_be_bytes());
            out.extend_from_slice(&interval.days.to_be_bytes());
            out.extend_from_slice(&interval.months.to_be_bytes());
        }
        Source::Uuid(array) => out.extend_from_slice(array.value(row)),
        Source::List {
            array,
            element,
            element_oid,
        } => put_array(out, array, element, *element_oid, 1, row),
        Source::Vector {
            array,
            element,
            element_oid,
        } => put_array(out, array, element, *element_oid, 0, row),
        Source::Null => {}
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
fn put_array(
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
