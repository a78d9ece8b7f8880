//! Tests of `codec::key`: golden vectors, damaged bytes, and the properties that the docs of `codec` list.

use super::*;

fn golden_type(name: &str, vector: &serde_json::Value) -> SqlType {
    let number = |i: usize| vector["arg"][i].as_u64().unwrap() as u16;
    match name {
        "bool" => SqlType::Bool,
        "int" => SqlType::Int8,
        "dec" => SqlType::numeric(number(0), number(1)),
        "f4" => SqlType::Float4,
        "f8" => SqlType::Float8,
        "date" => SqlType::Date,
        "time" => SqlType::Time(None),
        "ts" => SqlType::Timestamp(None),
        "tstz" => SqlType::TimestampTz(None),
        "uuid" => SqlType::Uuid,
        "text" => SqlType::Text,
        "bytes" => SqlType::Bytea,
        other => unreachable!("no such type in the vectors: {other}"),
    }
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
        .collect()
}

fn golden_value(ty: &SqlType, vector: &serde_json::Value) -> Value {
    let value = &vector["value"];
    if value.is_null() {
        return Value::Null;
    }
    let string = || value.as_str().unwrap().to_string();
    let integer = || value.to_string().parse::<i128>().unwrap();
    match ty {
        SqlType::Bool => Value::Bool(value.as_bool().unwrap()),
        SqlType::Int8 => Value::Int(integer() as i64),
        SqlType::Numeric(Some(size)) => Value::Numeric(Numeric::from_i128(integer(), size.shown_scale())),
        SqlType::Float4 => Value::Float4(string().parse::<f64>().unwrap() as f32),
        SqlType::Float8 => Value::Float8(string().parse().unwrap()),
        SqlType::Date => Value::Date(integer() as i32),
        SqlType::Time(_) => Value::Time(integer() as i64),
        SqlType::Timestamp(_) => Value::Timestamp(integer() as i64),
        SqlType::TimestampTz(_) => Value::TimestampTz(integer() as i64),
        SqlType::Uuid => Value::Uuid(unhex(&string()).try_into().unwrap()),
        SqlType::Bytea => Value::Bytes(unhex(&string())),
        _ => Value::Text(string()),
    }
}

/// What a value reads back as: one zero and one NaN.
fn normalized(value: Value) -> Value {
    match value {
        Value::Float4(v) => Value::Float4(v + 0.0),
        Value::Float8(v) => Value::Float8(v + 0.0),
        other => other,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float4(a), Value::Float4(b)) => a.to_bits() == b.to_bits(),
        (Value::Float8(a), Value::Float8(b)) => a.to_bits() == b.to_bits(),
        _ => a == b,
    }
}

#[test]
fn citext_is_in_a_key_without_its_case() {
    let field = KeyField {
        ty: SqlType::Citext,
        descending: false,
        nulls_first: false,
    };
    let encoded = |text: &str| {
        let mut bytes = Vec::new();
        encode_value(&mut bytes, &Value::Text(text.to_string()), &field);
        bytes
    };
    assert_eq!(encoded("Joe@X.com"), encoded("joe@x.COM"));
    assert_eq!(encoded("\u{c9}a"), encoded("\u{e9}A"));
    assert!(encoded("a") < encoded("B") && encoded("A") < encoded("b") && encoded("Z") < encoded("\u{c0}"));
    let (value, length) = decode_value(&encoded("AbC"), &field).unwrap();
    assert_eq!((value, length), (Value::Text("abc".to_string()), 6));
}

#[test]
fn golden_vectors() {
    let mut vectors = 0;
    for line in include_str!("../../../fixtures/key_vectors.jsonl").lines() {
        let vector: serde_json::Value = serde_json::from_str(line).unwrap();
        let ty = golden_type(vector["type"].as_str().unwrap(), &vector);
        let descending = vector["desc"].as_bool().unwrap();
        let nulls_first = vector["nulls"]
            .as_str()
            .map_or(descending, |nulls| nulls == "first");
        let field = KeyField {
            ty,
            descending,
            nulls_first,
        };
        let value = golden_value(&field.ty, &vector);
        let expected = unhex(vector["hex"].as_str().unwrap());
        let mut bytes = Vec::new();
        encode_value(&mut bytes, &value, &field);
        assert_eq!(bytes, expected, "{line}");
        let (read, length) = decode_value(&bytes, &field).unwrap();
        assert!(same(&read, &normalized(value)), "{line}: {read:?}");
        assert_eq!(
            (length, field_length(&bytes, &field).unwrap()),
            (bytes.len(), bytes.len())
        );
        vectors += 1;
    }
    assert_eq!(vectors, 324);
}

#[test]
fn key_types_that_are_refused_say_why() {
    assert!(check_key_type(&SqlType::Uuid, "a").is_ok());
    let error = check_key_type(&SqlType::Json, "a").unwrap_err();
    assert_eq!(error.sqlstate(), "0A000");
    assert_eq!(
        error.to_string(),
        "column \"a\" of type json in a key is not supported"
    );
    assert!(error.hint().unwrap().contains("jsonb"));
    for ty in [SqlType::TsVector, SqlType::array(SqlType::Json)] {
        assert_eq!(check_key_type(&ty, "a").unwrap_err().sqlstate(), "0A000");
    }
}

#[test]
fn char_keys_drop_blanks_and_read_padded() {
    let field = KeyField {
        ty: SqlType::Char(Some(4)),
        descending: false,
        nulls_first: false,
    };
    let mut bytes = Vec::new();
    encode_value(&mut bytes, &Value::Text("ü  ".to_string()), &field);
    assert_eq!(bytes, b"\x70\xc3\xbc\x00\x01");
    assert_eq!(
        decode_value(&bytes, &field).unwrap(),
        (Value::Text("ü   ".to_string()), 5)
    );
}

// ---- properties -----------------------------------------------------------------------------------------------------

use std::cmp::Ordering;

use arrow_row::{RowConverter, SortField};
use proptest::prelude::*;

use crate::codec::arbitrary::{DOCUMENTS, key_fields, key_types, values_or_null};
use crate::codec::prefix_end;
use crate::codec::row::ColumnBuilder;
use crate::types::{ArrayValue, FormatSettings};

/// How SQL orders two values that are not NULL: NaN above all numbers, −0 equal to 0, char(n) without its blanks.
fn order(left: &Value, right: &Value, ty: &SqlType) -> Ordering {
    let floats = |left: f64, right: f64| {
        left.partial_cmp(&right)
            .unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
    };
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Int(left), Value::Int(right))
        | (Value::Time(left), Value::Time(right))
        | (Value::Timestamp(left), Value::Timestamp(right))
        | (Value::TimestampTz(left), Value::TimestampTz(right)) => left.cmp(right),
        (Value::Date(left), Value::Date(right)) => left.cmp(right),
        (Value::Float4(left), Value::Float4(right)) => floats(f64::from(*left), f64::from(*right)),
        (Value::Float8(left), Value::Float8(right)) => floats(*left, *right),
        (Value::Numeric(left), Value::Numeric(right)) => left.cmp(right),
        (Value::Text(left), Value::Text(right)) if matches!(ty, SqlType::Char(_)) => {
            left.trim_end_matches(' ').cmp(right.trim_end_matches(' '))
        }
        (Value::Text(left), Value::Text(right)) if *ty == SqlType::Jsonb => {
            let place = |text: &str| {
                let same = |other: &str| crate::types::json_key::compare(text, other).is_eq();
                DOCUMENTS.iter().position(|document| same(document)).unwrap()
            };
            place(left).cmp(&place(right))
        }
        (Value::Text(left), Value::Text(right)) => left.cmp(right),
        (Value::Bytes(left), Value::Bytes(right)) => left.cmp(right),
        (Value::Uuid(left), Value::Uuid(right)) => left.cmp(right),
        (Value::Packed(a), Value::Packed(b)) => a.compare(b).unwrap(),
        (Value::Interval(a), Value::Interval(b)) => a.span().cmp(&b.span()),
        (Value::Range(a), Value::Range(b)) => a.compare(b),
        (Value::Multirange(a), Value::Multirange(b)) => a.compare(b),
        (Value::Array(a), Value::Array(b)) => {
            let item = KeyField::ascending(ty.item_type().unwrap().clone());
            let items = a.iter().zip(b).map(|(a, b)| order_in_key(a, b, &item));
            // Those of the declared dimensions from 1 come first (`nested`).
            let shape = |array: &ArrayValue| {
                let dimensions = array.dimensions();
                let is_declared = dimensions.len() == ty.declared_dimensions()
                    && dimensions.iter().all(|dimension| dimension.lower == 1);
                let is_shaped = !array.is_empty() && !is_declared;
                let lowers: Vec<i32> = dimensions.iter().map(|one| one.lower).collect();
                let lengths: Vec<i32> = dimensions.iter().map(|one| one.length).collect();
                (array.len(), is_shaped, lengths.len(), lengths, lowers)
            };
            items
                .fold(Ordering::Equal, Ordering::then)
                .then_with(|| shape(a).cmp(&shape(b)))
        }
        (Value::Record(a), Value::Record(b)) => {
            let SqlType::Record(row) = ty else {
                unreachable!("a row of type {ty}")
            };
            let fields = row
                .fields
                .iter()
                .map(|field| KeyField::ascending(field.ty.clone()));
            let columns = a.iter().zip(b).zip(fields);
            let columns = columns.map(|((a, b), field)| order_in_key(a, b, &field));
            columns.fold(Ordering::Equal, Ordering::then)
        }
        _ => unreachable!("two values of one type"),
    }
}

fn order_in_key(left: &Value, right: &Value, field: &KeyField) -> Ordering {
    match (left, right) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => {
            if field.nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (_, Value::Null) => {
            if field.nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
        (left, right) => {
            let order = order(left, right, &field.ty);
            if field.descending { order.reverse() } else { order }
        }
    }
}

/// Columns of a key and two rows, which often share values.
fn two_rows() -> impl Strategy<Value = Vec<(KeyField, Value, Value)>> {
    let column = key_fields().prop_flat_map(|field| {
        let values = values_or_null(&field.ty);
        (Just(field), values.clone(), values, any::<bool>())
            .prop_map(|(field, left, right, same)| (field, left.clone(), if same { left } else { right }))
    });
    prop::collection::vec(column, 1..5)
}

fn array_of(ty: &SqlType, values: &[Value]) -> ArrayRef {
    let mut builder = ColumnBuilder::new(ty, values.len());
    values
        .iter()
        .for_each(|value| builder.append_value(value).unwrap());
    builder.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_order_as_rows_and_read_back(columns in two_rows()) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut expected = Ordering::Equal;
        for (field, left_value, right_value) in &columns {
            encode_value(&mut left, left_value, field);
            encode_value(&mut right, right_value, field);
            expected = expected.then(order_in_key(left_value, right_value, field));
        }
        prop_assert_eq!(left.cmp(&right), expected);

        let mut rest = left.as_slice();
        for (field, value, _) in &columns {
            prop_assert!(!matches!(rest[0], 0x00 | 0xFF));
            let (read, length) = decode_value(rest, field).unwrap();
            prop_assert_eq!(length, field_length(rest, field).unwrap());
            let as_read = order_in_key(&read, value, field) == Ordering::Equal;
            prop_assert!(as_read, "{:?} read back as {:?}", value, read);
            rest = &rest[length..];
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn rows_of_a_prefix_are_one_range(columns in two_rows()) {
        let (mut prefix, mut key) = (Vec::new(), Vec::new());
        let (field, first, _) = &columns[0];
        encode_value(&mut prefix, first, field);
        columns.iter().for_each(|(field, _, value)| encode_value(&mut key, value, field));
        let end = prefix_end(&prefix).unwrap();
        let within = key >= prefix && key < end;
        prop_assert_eq!(within, order_in_key(first, &columns[0].2, field) == Ordering::Equal);
    }

    #[test]
    fn arrays_encode_and_build_as_values(column in key_fields().prop_flat_map(|field| {
        let values = prop::collection::vec(values_or_null(&field.ty), 1..8);
        (Just(field), values)
    })) {
        let (field, values) = column;
        let array = array_of(&field.ty, &values);
        let mut builder = ColumnBuilder::new(&field.ty, values.len());
        let mut keys = Vec::new();
        for (row, value) in values.iter().enumerate() {
            let (mut of_value, mut of_array) = (Vec::new(), Vec::new());
            encode_value(&mut of_value, value, &field);
            encode_array(&mut of_array, &array, row, &field);
            prop_assert_eq!(&of_value, &of_array);
            of_array.extend_from_slice(b"more");
            prop_assert_eq!(builder.append_key_field(&of_array, &field).unwrap(), of_value.len());
            keys.push(of_value);
        }
        let built = builder.finish();
        for (row, key) in keys.iter().enumerate() {
            let mut again = Vec::new();
            encode_array(&mut again, &built, row, &field);
            prop_assert_eq!(key, &again);
        }
        // arrow-row tells −0 from 0 and one NaN from another, so it is asked about what was read back; and it compares
        // char(n) with its blanks, and others by the bytes that carry them.
        if !matches!(field.ty, SqlType::Char(_) | SqlType::Numeric(None)) && tells_value(&field.ty) {
            let options = arrow::compute::SortOptions { descending: field.descending, nulls_first: field.nulls_first };
            let converter = RowConverter::new(vec![SortField::new_with_options(field.ty.arrow_type(), options)]).unwrap();
            let rows = converter.convert_columns(&[built]).unwrap();
            for (i, left) in keys.iter().enumerate() {
                for (j, right) in keys.iter().enumerate() {
                    prop_assert_eq!(left.cmp(right), rows.row(i).cmp(&rows.row(j)));
                }
            }
        }
    }

    #[test]
    fn damaged_keys_are_errors(field in key_fields(), mut bytes in prop::collection::vec(any::<u8>(), 0..24), tagged in any::<bool>()) {
        if tagged && !bytes.is_empty() {
            bytes[0] = tag(&field.ty) ^ if field.descending { 0xFF } else { 0 };
        }
        let decoded = decode_value(&bytes, &field);
        let built = ColumnBuilder::new(&field.ty, 1).append_key_field(&bytes, &field);
        match &decoded {
            Ok((_, length)) => prop_assert!(*length <= bytes.len() && field_length(&bytes, &field).unwrap() == *length),
            Err(error) => prop_assert_eq!(error.sqlstate(), "XX001"),
        }
        // smallint and integer are checked for their width only where they become arrays.
        if !field.ty.is_integer() {
            prop_assert_eq!(decoded.map(|(_, length)| length), built);
        }
    }
}

#[test]
fn arrays_order_by_elements_then_by_their_number_then_by_dimensions() {
    let read = |text: &str, ty: &SqlType| Value::parse(text, ty, &FormatSettings::default()).unwrap();
    let (one, two) = (
        SqlType::array(SqlType::Int4),
        SqlType::array(SqlType::array(SqlType::Int4)),
    );
    // As PostgreSQL orders them.
    let ascending = [
        "{}",
        "{1,2}",
        "[2:3]={1,2}",
        "[0:0][1:2]={{1,2}}",
        "{{1,2}}",
        "{{1},{2}}",
        "{{1,2,3}}",
        "{{1,2},{3,4}}",
        "{{2}}",
    ];
    let values = ascending.map(|text| read(text, &one));
    let keys = values.clone().map(|value| nested::sort_key(&value, &one));
    assert!(keys.is_sorted());
    for (value, key) in values.iter().zip(&keys) {
        assert_eq!(nested::sort_key(value, &two), *key);
        assert_eq!(nested::value_of_sort_key(key, &two).as_ref(), Some(value));
        for ty in [&one, &two] {
            let mut stored = Vec::new();
            nested::put(&mut stored, value, ty);
            assert_eq!(nested::value_of(&stored, ty).as_ref(), Some(value));
            assert_eq!(nested::value_of(&stored[..stored.len() - 1], ty), None);
        }
    }
}

/// What earlier releases wrote of a column that was declared with two dimensions.
#[test]
fn arrays_of_the_declared_dimensions_are_stored_as_ever() {
    let two = SqlType::array(SqlType::array(SqlType::Bool));
    let grid = Value::parse("{{f,t}}", &two, &FormatSettings::default()).unwrap();
    let mut stored = Vec::new();
    nested::put(&mut stored, &grid, &two);
    assert_eq!(stored, [0x10, 0, 0x10, 1, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
}

/// Whoever reads a key says the same of it.
#[test]
fn text_that_is_no_text_is_damage_of_the_key() {
    let field = KeyField {
        ty: SqlType::Text,
        descending: false,
        nulls_first: false,
    };
    let bytes = [tag(&field.ty), b'a', 0xC3, 0, 1];
    let expected = not_utf8();
    assert_eq!(decode_value(&bytes, &field), Err(expected.clone()));
    let built = ColumnBuilder::new(&field.ty, 1).append_key_field(&bytes, &field);
    assert_eq!(built, Err(expected.clone()));
    let mut scratch = Vec::new();
    let scalar = crate::codec::stored_scalar::key_scalar(&bytes, &field, &mut scratch);
    assert_eq!(scalar.err(), Some(expected));
}

#[test]
fn every_key_type_is_allowed_and_has_a_tag_within_the_bounds() {
    for ty in key_types() {
        assert!(check_key_type(&ty, "c").is_ok());
        assert!((0x10..0xF0).contains(&tag(&ty)));
    }
}
