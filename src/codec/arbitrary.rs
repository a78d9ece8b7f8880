//! Random types and values for the property tests of `codec`: extremes and near misses oftener than chance would have.

use std::sync::Arc;

use proptest::prelude::*;

use super::key::KeyField;
use crate::types::{
    ArrayValue, Dimension, Interval, IpAddress, MultirangeValue, Numeric, NumericSize, PackedKind,
    PackedValue, RangeBound, RangeKind, RangeValue, RecordField, RecordType, SqlType, TimeTz, Value,
};

/// Every type that may stand in a key.
pub(super) fn key_types() -> Vec<SqlType> {
    vec![
        SqlType::Bool,
        SqlType::Int2,
        SqlType::Int4,
        SqlType::Int8,
        SqlType::Float4,
        SqlType::Float8,
        SqlType::numeric(10, 2),
        SqlType::numeric(18, 0),
        SqlType::numeric(19, 19),
        SqlType::numeric(38, 4),
        SqlType::Text,
        SqlType::Varchar(Some(5)),
        SqlType::Char(Some(6)),
        SqlType::Bytea,
        SqlType::Date,
        SqlType::Time(None),
        SqlType::Timestamp(None),
        SqlType::TimestampTz(None),
        SqlType::Uuid,
        SqlType::Packed(PackedKind::Inet),
        SqlType::Packed(PackedKind::Cidr),
        SqlType::Packed(PackedKind::MacAddr),
        SqlType::Packed(PackedKind::MacAddr8),
        SqlType::Packed(PackedKind::TimeTz(None)),
        SqlType::Bit(Some(9)),
        SqlType::VarBit(None),
        SqlType::Numeric(None),
        SqlType::numeric(60, 20),
        SqlType::Interval(None),
        SqlType::array(SqlType::Int4),
        SqlType::array(SqlType::Text),
        SqlType::array(SqlType::Bytea),
        SqlType::array(SqlType::Jsonb),
        SqlType::array(SqlType::array(SqlType::Int4)),
        SqlType::Range(RangeKind::Int4),
        SqlType::Range(RangeKind::Numeric),
        SqlType::Multirange(RangeKind::Date),
        row_type(),
    ]
}

fn row_type() -> SqlType {
    let row = |number, ty| RecordField {
        number,
        name: format!("c{number}"),
        ty,
    };
    let columns = vec![
        row(1, SqlType::Int4),
        row(4, SqlType::array(SqlType::Text)),
        row(7, SqlType::Numeric(None)),
        row(8, SqlType::Jsonb),
    ];
    SqlType::Record(Arc::new(RecordType {
        fields: columns,
        ..RecordType::of_relation(16_400, "r", 0, [])
    }))
}

/// Every type that a column may have.
pub(super) fn column_types() -> Vec<SqlType> {
    let mut types = key_types();
    types.extend([
        SqlType::Numeric(Some(NumericSize {
            precision: 3,
            scale: -2,
        })),
        SqlType::array(SqlType::Numeric(None)),
        SqlType::Json,
        SqlType::Jsonb,
        SqlType::Citext,
        SqlType::Name,
        SqlType::Oid,
        SqlType::Int2Vector,
        SqlType::array(SqlType::numeric(10, 2)),
        SqlType::array(SqlType::Timestamp(None)),
        SqlType::array(row_type()),
    ]);
    types
}

/// Documents as jsonb prints them, in its order.
pub(super) const DOCUMENTS: &[&str] = &[
    "[]",
    "null",
    r#""""#,
    r#""a""#,
    r#""a\\u0001""#,
    "-9.50",
    "-9",
    "0",
    "0.010",
    "10",
    "false",
    "true",
    "[[]]",
    "[1, 2]",
    "{}",
    r#"{"b": 0}"#,
    r#"{"a": 1, "b": [null, "x"]}"#,
];

fn integers(min: i64, max: i64) -> BoxedStrategy<i64> {
    prop_oneof![
        Just(min),
        Just(max),
        Just(0),
        Just(-1),
        Just(1),
        Just(255),
        Just(256),
        min..=max
    ]
    .boxed()
}

fn decimals(digits: u16, scale: u16) -> BoxedStrategy<Numeric> {
    let bound = 10_i128.pow(u32::from(digits)) - 1;
    prop_oneof![
        Just(-bound),
        Just(bound),
        Just(0),
        Just(1),
        Just(-1),
        -bound..=bound
    ]
    .prop_map(move |unscaled| Numeric::from_i128(unscaled, scale))
    .boxed()
}

fn strings(characters: usize) -> BoxedStrategy<String> {
    let alphabet = prop_oneof![
        Just('\x01'),
        Just('a'),
        Just('b'),
        Just(' '),
        Just('ü'),
        Just('\u{10FFFF}'),
        any::<char>()
    ];
    prop::collection::vec(
        alphabet.prop_filter("text holds no zero", |c| *c != '\0'),
        0..=characters,
    )
    .prop_map(|characters| characters.into_iter().collect())
    .boxed()
}

/// A numeric of the size, or of none.
fn numerics_of(size: Option<NumericSize>) -> BoxedStrategy<Numeric> {
    match size {
        Some(size) if size.is_fixed() => decimals(size.precision, size.shown_scale()).boxed(),
        Some(size) => integers(-99, 99)
            .prop_filter_map("it fits", move |number| {
                Numeric::from_i64(number).fit(Some(size)).ok()
            })
            .boxed(),
        None => {
            let wide = "-?[0-9]{1,60}(\\.[0-9]{1,60})?".prop_map(|text| Numeric::parse(&text).unwrap());
            let special = prop_oneof![
                Just(Numeric::NaN),
                Just(Numeric::Infinity),
                Just(Numeric::NegativeInfinity)
            ];
            prop_oneof![4 => wide, 4 => decimals(6, 3), 1 => special].boxed()
        }
    }
}

/// A value of the type, never NULL.
#[expect(clippy::too_many_lines, reason = "an arm a type")]
pub(super) fn values_of(ty: &SqlType) -> BoxedStrategy<Value> {
    match ty {
        SqlType::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        SqlType::Int2 => integers(i64::from(i16::MIN), i64::from(i16::MAX))
            .prop_map(Value::Int)
            .boxed(),
        SqlType::Int4 => integers(i64::from(i32::MIN), i64::from(i32::MAX))
            .prop_map(Value::Int)
            .boxed(),
        SqlType::Int8 => integers(i64::MIN, i64::MAX).prop_map(Value::Int).boxed(),
        SqlType::Oid | SqlType::Regclass => integers(0, i64::from(u32::MAX))
            .prop_map(|n| Value::Int(n.max(0)))
            .boxed(),
        SqlType::Float4 => prop_oneof![
            Just(-0.0),
            Just(0.0),
            Just(f32::NAN),
            Just(f32::INFINITY),
            any::<u32>().prop_map(f32::from_bits)
        ]
        .prop_map(Value::Float4)
        .boxed(),
        SqlType::Float8 => prop_oneof![
            Just(-0.0),
            Just(0.0),
            Just(f64::NAN),
            Just(f64::NEG_INFINITY),
            any::<u64>().prop_map(f64::from_bits)
        ]
        .prop_map(Value::Float8)
        .boxed(),
        SqlType::Numeric(size) => numerics_of(*size).prop_map(Value::Numeric).boxed(),
        SqlType::Char(Some(width)) => {
            let width = *width as usize;
            // Blanks that stand behind belong to the type, not to the value.
            strings(width)
                .prop_map(move |text| Value::Text(format!("{:<width$}", text.trim_end_matches(' '))))
                .boxed()
        }
        SqlType::Bit(_) | SqlType::VarBit(_) => {
            let length = if *ty == SqlType::VarBit(None) {
                0..20
            } else {
                9..10
            };
            let bits = prop::collection::vec(prop_oneof![Just('0'), Just('1')], length);
            bits.prop_map(|bits| Value::Text(bits.into_iter().collect()))
                .boxed()
        }
        SqlType::Bytea => {
            let byte = prop_oneof![Just(0_u8), Just(1), Just(0xFE), Just(0xFF), any::<u8>()];
            prop::collection::vec(byte, 0..6).prop_map(Value::Bytes).boxed()
        }
        SqlType::Date => prop_oneof![Just(i32::MIN), Just(i32::MAX), any::<i32>()]
            .prop_map(Value::Date)
            .boxed(),
        SqlType::Time(_) => (0..=86_400_000_000_i64).prop_map(Value::Time).boxed(),
        SqlType::Timestamp(_) => integers(i64::MIN, i64::MAX).prop_map(Value::Timestamp).boxed(),
        SqlType::TimestampTz(_) => integers(i64::MIN, i64::MAX).prop_map(Value::TimestampTz).boxed(),
        SqlType::Interval(_) => (
            any::<i32>(),
            any::<i32>(),
            -9_000_000_000_000_000..9_000_000_000_000_000_i64,
        )
            .prop_map(|(months, days, microseconds)| {
                Value::Interval(Interval {
                    months,
                    days,
                    microseconds,
                })
            })
            .boxed(),
        SqlType::Uuid => any::<[u8; 16]>().prop_map(Value::Uuid).boxed(),
        SqlType::Packed(kind) => addresses(*kind),
        SqlType::Range(kind) => {
            let (kind, ty) = (*kind, kind.bound_type());
            let bound = || (prop::option::of(values_of(&ty)), any::<bool>());
            (bound(), bound())
                .prop_map(move |(low, high)| {
                    let [low, high] = [low, high].map(|(value, inclusive)| RangeBound { value, inclusive });
                    let range = RangeValue::new(kind, low, high);
                    Value::Range(range.unwrap_or(RangeValue::empty(kind)))
                })
                .boxed()
        }
        SqlType::Record(ty) => {
            let columns: Vec<_> = ty.fields.iter().map(|field| values_or_null(&field.ty)).collect();
            columns.prop_map(Value::Record).boxed()
        }
        SqlType::Array(element) => arrays(element),
        SqlType::Int2Vector => prop::collection::vec(values_of(&SqlType::Int2), 0..4)
            .prop_map(|items| Value::Array(items.into()))
            .boxed(),
        SqlType::Multirange(kind) => {
            let kind = *kind;
            prop::collection::vec(values_of(&SqlType::Range(kind)), 0..4)
                .prop_map(move |ranges| {
                    let ranges = ranges.into_iter().filter_map(|range| match range {
                        Value::Range(range) => Some(range),
                        _ => None,
                    });
                    Value::Multirange(MultirangeValue::new(kind, ranges))
                })
                .boxed()
        }
        SqlType::Jsonb => prop::sample::select(DOCUMENTS)
            .prop_map(|document| Value::Text(document.to_string()))
            .boxed(),
        SqlType::Json => integers(i64::MIN, i64::MAX)
            .prop_map(|number| Value::Text(number.to_string()))
            .boxed(),
        _ => strings(5).prop_map(Value::Text).boxed(),
    }
}

/// Arrays, some of two dimensions, some of which count from elsewhere than 1.
fn arrays(element: &SqlType) -> BoxedStrategy<Value> {
    let items = prop::collection::vec(values_or_null(element), 0..5);
    let lower = prop_oneof![3 => Just(1), 1 => -1..3];
    (items, any::<bool>(), lower)
        .prop_map(|(items, is_deep, lower)| {
            let dimension = |length, lower| Dimension {
                lower,
                ..Dimension::of(length)
            };
            let dimensions = match (is_deep, items.len()) {
                (true, count) if count % 2 == 0 => vec![Dimension::of(count / 2), dimension(2, lower)],
                (true, count) => vec![dimension(1, lower), Dimension::of(count)],
                (false, count) => vec![dimension(count, lower)],
            };
            Value::Array(ArrayValue::shaped(items, &dimensions))
        })
        .boxed()
}

/// A value of the type, at times NULL.
pub(super) fn values_or_null(ty: &SqlType) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 9 => values_of(ty)].boxed()
}

/// A column of a key: any type, direction and place of NULLs.
pub(super) fn key_fields() -> impl Strategy<Value = KeyField> {
    (prop::sample::select(key_types()), any::<bool>(), any::<bool>()).prop_map(
        |(ty, descending, nulls_first)| KeyField {
            ty,
            descending,
            nulls_first,
        },
    )
}

/// Addresses whose bits are often all set or none, of every mask, and times of every zone.
fn addresses(kind: PackedKind) -> BoxedStrategy<Value> {
    let octet = || prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()];
    let octets = |count: usize| prop::collection::vec(octet(), count);
    let of_bytes = move |bytes: Vec<u8>| Value::Packed(PackedValue::from_bytes(&bytes, kind).unwrap());
    let of_address = move |(octets, bits): (Vec<u8>, u8)| {
        let address = IpAddress::new(&octets, bits).unwrap();
        Value::Packed(match kind {
            PackedKind::Cidr => PackedValue::cidr(address),
            _ => PackedValue::inet(address),
        })
    };
    match kind {
        PackedKind::MacAddr => octets(6).prop_map(of_bytes).boxed(),
        PackedKind::MacAddr8 => octets(8).prop_map(of_bytes).boxed(),
        PackedKind::TimeTz(_) => (0..=86_400_000_000_i64, -57_599..=57_599_i32)
            .prop_map(|(local, offset)| Value::Packed(PackedValue::time(TimeTz { local, offset })))
            .boxed(),
        PackedKind::Inet | PackedKind::Cidr => prop_oneof![
            (octets(4), 0_u8..=32).prop_map(of_address),
            (octets(16), 0_u8..=128).prop_map(of_address),
        ]
        .boxed(),
    }
}
