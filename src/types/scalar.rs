//! `Scalar`: one value that is not NULL, borrowed from wherever it stands (an Arrow array, a stored row, a key), and how
//! PostgreSQL prints and sends it. `ColumnEncoder` and the row formatter of `table` call it; it knows neither.

use super::datetime::{EPOCH_DAYS, EPOCH_MICROS};
use super::numeric::NUMERIC_NEGATIVE;
use super::{
    ByteaOutput, CatalogType, FormatSettings, Interval, Numeric, NumericBytes, PackedKind, SqlType, bits,
    datetime_output, digits, floats, internal_char, interval_output, lsn, money, packed, text_search, tid,
    transaction_snapshot,
};

/// How values are sent: the format codes 0 and 1 of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFormat {
    /// Format code 0.
    Text,
    /// Format code 1.
    Binary,
}

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
    /// money: cents
    Money(i64),
    /// tid: the number of a row
    Tid(i64),
    /// A place in a log.
    Lsn(i64),
    /// numeric: `unscaled` is the value times 10 to the power of `scale`.
    Decimal128 {
        /// See above.
        unscaled: i128,
        /// Decimals.
        scale: u8,
    },
    /// numeric of variable length
    Numeric(NumericBytes<'a>),
    /// The same as earlier releases stored it: the unscaled integer LE, and the scale.
    FormerNumeric(&'a [u8], u8),
    /// text and what prints as it is: UTF-8
    Text(&'a [u8]),
    /// "char": what it prints as
    Char(&'a [u8]),
    /// jsonb: UTF-8
    Jsonb(&'a [u8]),
    /// tsvector: its text
    TsVector(&'a [u8]),
    /// tsquery: its text
    TsQuery(&'a [u8]),
    /// pg_snapshot: its text
    Snapshot(&'a [u8]),
    /// bit, bit varying: a 0 or 1 a bit
    Bits(&'a [u8]),
    /// bytea
    Bytes(&'a [u8]),
    /// inet, cidr, macaddr, macaddr8: the bytes of one
    Packed(PackedKind, &'a [u8]),
    /// date: days since 1970
    Date(i32),
    /// time: microseconds since midnight
    Time(i64),
    /// timestamp: microseconds since 1970
    Timestamp(i64),
    /// timestamp with time zone: microseconds since 1970 UTC
    TimestampTz(i64),
    /// interval
    Interval(Interval),
    /// uuid: 16 bytes
    Uuid(&'a [u8]),
}

impl Scalar<'_> {
    /// The value as one of the result's type, which a cast that leaves the bytes as they are may have given it: jsonb as
    /// text has no version byte, an oid as bigint eight bytes.
    #[inline]
    pub fn sent_as(self, ty: &SqlType) -> Self {
        match (self, ty) {
            (Scalar::Jsonb(_), SqlType::Jsonb | SqlType::Catalog(CatalogType::JsonPath)) => self,
            (Scalar::Jsonb(text), _) => Scalar::Text(text),
            (Scalar::Text(text), SqlType::InternalChar) => Scalar::Char(text),
            (Scalar::Text(text), SqlType::Catalog(kind)) if kind.is_snapshot() => Scalar::Snapshot(text),
            (Scalar::TsVector(_), SqlType::TsVector) | (Scalar::TsQuery(_), SqlType::TsQuery) => self,
            (Scalar::TsVector(text) | Scalar::TsQuery(text), _) => Scalar::Text(text),
            (Scalar::Bits(_), ty) if ty.is_bits() => self,
            (Scalar::Bits(text), _) => Scalar::Text(text),
            // A cidr is an inet of the same bytes.
            (Scalar::Packed(_, bytes), SqlType::Packed(kind)) => Scalar::Packed(*kind, bytes),
            (Scalar::Oid(number), SqlType::Int8) => Scalar::Int8(number),
            _ => self,
        }
    }

    /// Appends the value.
    #[inline]
    pub fn put(self, format: WireFormat, settings: &FormatSettings, out: &mut Vec<u8>) {
        match format {
            WireFormat::Text => self.put_text(settings, out),
            WireFormat::Binary => self.put_binary(out),
        }
    }

    #[inline]
    fn put_text(self, settings: &FormatSettings, out: &mut Vec<u8>) {
        match self {
            Scalar::Bool(value) => out.push(if value { b't' } else { b'f' }),
            Scalar::Int2(value) => digits::put_i64(out, i64::from(value)),
            Scalar::Int4(value) => digits::put_i64(out, i64::from(value)),
            Scalar::Int8(value) | Scalar::Oid(value) => digits::put_i64(out, value),
            Scalar::Float4(value) => floats::put_f32(out, value, settings.extra_float_digits),
            Scalar::Float8(value) => floats::put_f64(out, value, settings.extra_float_digits),
            Scalar::Decimal128 { unscaled, scale } => digits::put_decimal128(out, unscaled, scale),
            Scalar::Money(cents) => money::put(out, cents),
            Scalar::Tid(number) => tid::put(out, number),
            Scalar::Lsn(place) => out.extend_from_slice(lsn::text(place).as_bytes()),
            Scalar::Numeric(number) => number.put_text(out),
            Scalar::FormerNumeric(digits, scale) => {
                with_former(digits, scale, |number| number.put_text(out));
            }
            Scalar::Text(text)
            | Scalar::Char(text)
            | Scalar::Jsonb(text)
            | Scalar::Bits(text)
            | Scalar::TsVector(text)
            | Scalar::TsQuery(text)
            | Scalar::Snapshot(text) => out.extend_from_slice(text),
            Scalar::Bytes(bytes) => put_bytea(out, bytes, settings.bytea_output),
            Scalar::Packed(kind, bytes) => packed::put_text(out, bytes, kind),
            Scalar::Date(days) => datetime_output::put_date(out, days, settings.date_style),
            Scalar::Time(micros) => datetime_output::put_time(out, micros),
            Scalar::Timestamp(micros) => datetime_output::put_timestamp(out, micros, settings.date_style),
            Scalar::TimestampTz(micros) => {
                datetime_output::put_timestamptz(out, micros, settings.time_zone, settings.date_style);
            }
            Scalar::Interval(interval) => {
                interval_output::put_interval(out, interval, settings.interval_style)
            }
            Scalar::Uuid(bytes) => put_uuid(out, bytes),
        }
    }

    /// As PostgreSQL's send functions write it.
    #[inline]
    fn put_binary(self, out: &mut Vec<u8>) {
        match self {
            Scalar::Bool(value) => out.push(u8::from(value)),
            Scalar::Int2(value) => out.extend_from_slice(&value.to_be_bytes()),
            Scalar::Int4(value) => out.extend_from_slice(&value.to_be_bytes()),
            Scalar::Int8(value) | Scalar::Money(value) => out.extend_from_slice(&value.to_be_bytes()),
            Scalar::Oid(value) => out.extend_from_slice(&(value as u32).to_be_bytes()),
            Scalar::Tid(number) => out.extend_from_slice(&tid::to_bytes(number)),
            Scalar::Lsn(place) => out.extend_from_slice(&lsn::number(place).to_be_bytes()),
            Scalar::Float4(value) => out.extend_from_slice(&value.to_be_bytes()),
            Scalar::Float8(value) => out.extend_from_slice(&value.to_be_bytes()),
            Scalar::Decimal128 { unscaled, scale } => put_numeric(out, unscaled, scale),
            Scalar::Numeric(number) => number.put_binary(out),
            Scalar::FormerNumeric(digits, scale) => {
                with_former(digits, scale, |number| number.put_binary(out));
            }
            Scalar::Text(text) => out.extend_from_slice(text),
            Scalar::Char(text) => out.push(internal_char::byte_of(text)),
            Scalar::Jsonb(text) => {
                out.push(JSONB_VERSION);
                out.extend_from_slice(text);
            }
            Scalar::TsVector(text) => text_search::put_vector(out, text),
            Scalar::TsQuery(text) => text_search::put_query(out, text),
            Scalar::Snapshot(text) => transaction_snapshot::put_binary(out, text),
            Scalar::Bits(bits) => bits::put_binary(out, bits),
            Scalar::Packed(kind, bytes) => packed::put_binary(out, bytes, kind),
            Scalar::Bytes(bytes) | Scalar::Uuid(bytes) => out.extend_from_slice(bytes),
            Scalar::Date(days) => out.extend_from_slice(&date(days).to_be_bytes()),
            Scalar::Time(micros) => out.extend_from_slice(&micros.to_be_bytes()),
            Scalar::Timestamp(micros) | Scalar::TimestampTz(micros) => {
                out.extend_from_slice(&timestamp(micros).to_be_bytes());
            }
            Scalar::Interval(interval) => {
                out.extend_from_slice(&interval.microseconds.to_be_bytes());
                out.extend_from_slice(&interval.days.to_be_bytes());
                out.extend_from_slice(&interval.months.to_be_bytes());
            }
        }
    }
}

/// Hands a numeric that was stored by an earlier release to `take`, in today's form; who made the scalar has read it.
fn with_former(digits: &[u8], scale: u8, take: impl FnOnce(NumericBytes<'_>)) {
    let mut bytes = Vec::new();
    if let Some(number) = Numeric::from_le_bytes(digits, scale) {
        number.put_bytes(&mut bytes);
    }
    if let Some(read) = NumericBytes::read(&bytes) {
        take(read);
    }
}

/// The version that every binary jsonb begins with.
const JSONB_VERSION: u8 = 1;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytea.
#[inline]
pub(super) fn put_bytea(out: &mut Vec<u8>, bytes: &[u8], output: ByteaOutput) {
    match output {
        ByteaOutput::Hex => put_hex(out, bytes),
        ByteaOutput::Escape => put_escaped(out, bytes),
    }
}

/// Bytes that print as they are, others as three octal digits.
fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b' '..=b'~' => out.push(*byte),
            _ => out.extend_from_slice(&[
                b'\\',
                b'0' + (byte >> 6),
                b'0' + (byte >> 3 & 7),
                b'0' + (byte & 7),
            ]),
        }
    }
}

fn put_hex(out: &mut Vec<u8>, bytes: &[u8]) {
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
fn put_numeric(out: &mut Vec<u8>, unscaled: i128, scale: u8) {
    digits::with_digits(unscaled, |digits| {
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
        let sign = if unscaled < 0 { NUMERIC_NEGATIVE } else { 0 };
        out.extend_from_slice(&(count as u16).to_be_bytes());
        out.extend_from_slice(&(weight as i16).to_be_bytes());
        out.extend_from_slice(&sign.to_be_bytes());
        out.extend_from_slice(&(scale as u16).to_be_bytes());
        for i in 0..count {
            out.extend_from_slice(&group(highest - i).to_be_bytes());
        }
    });
}
