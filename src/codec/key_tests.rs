//! Tests of `codec::key`: golden vectors, damaged bytes, and the properties that the docs of `codec` list.

use super::*;

fn golden_type(name: &str, vector: &serde_json::Value) -> SqlType {
    let number = |i: usize| vector["arg"][i].as_u64().unwrap() as u8;
    match name {
        "bool" => SqlType::Bool,
        "int" => SqlType::Int8,
        "dec" => SqlType::Numeric(Some(NumericSize {
            precision: number(0),
            scale: number(1),
        })),
        "f4" => SqlType::Float4,
        "f8" => SqlType::Float8,
        "date" => SqlType::Date,
        "time" => SqlType::Time,
        "ts" => SqlType::Timestamp,
        "tstz" => SqlType::TimestampTz,
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
        SqlType::Numeric(Some(size)) => Value::Numeric(Numeric::Finite {
            unscaled: integer().into(),
            scale: size.scale,
        }),
        SqlType::Float4 => Value::Float4(string().parse::<f64>().unwrap() as f32),
        SqlType::Float8 => Value::Float8(string().parse().unwrap()),
        SqlType::Date => Value::Date(integer() as i32),
        SqlType::Time => Value::Time(integer() as i64),
        SqlType::Timestamp => Value::Timestamp(integer() as i64),
        SqlType::TimestampTz => Value::TimestampTz(integer() as i64),
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
fn golden_vectors() {
    let mut vectors = 0;
    for line in include_str!("../../fixtures/key_vectors.jsonl").lines() {
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
    let error = check_key_type(&SqlType::Numeric(None), "a").unwrap_err();
    assert_eq!(error.sqlstate(), "0A000");
    assert_eq!(
        error.to_string(),
        "column \"a\" of type numeric in a key is not supported"
    );
    assert!(error.hint().unwrap().contains("numeric(p,s)"));
    for ty in [
        SqlType::Interval,
        SqlType::Json,
        SqlType::Jsonb,
        SqlType::Array(Box::new(SqlType::Int4)),
    ] {
        assert_eq!(check_key_type(&ty, "a").unwrap_err().sqlstate(), "0A000");
    }
}

#[test]
fn char_keys_drop_blanks_and_read_padded() {
    let field = KeyField {
        ty: SqlType::Char(4),
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
