//! Tests of reading and printing across types: `fixtures/type_text.jsonl` holds `[type, zone, text, answer]`, the answers
//! PostgreSQL 15's, `ok:` and the printed value or `err:` and SQLSTATE, message and DETAIL.

use super::*;

/// A type as written in the fixture: `numeric(10,2)`, `integer[]`.
fn type_named(written: &str) -> SqlType {
    let (name, modifiers) = match written.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        Some((name, list)) => (
            name,
            list.split(',').map(|m| m.parse().unwrap()).collect::<Vec<i64>>(),
        ),
        None => (written, Vec::new()),
    };
    SqlType::from_name(name, &modifiers).unwrap().unwrap()
}

fn answer(text: &str, ty: &SqlType, settings: &FormatSettings) -> String {
    match Value::parse(text, ty, settings) {
        Ok(value) => format!("ok:{}", value.to_text(settings)),
        Err(error) => {
            let detail = error.detail().filter(|_| error.sqlstate() == "22003");
            let detail = detail.map_or(String::new(), |detail| format!("/{detail}"));
            format!("err:{}:{error}{detail}", error.sqlstate())
        }
    }
}

#[test]
fn reads_and_prints_as_postgresql_does() {
    let mut cases = 0;
    for line in include_str!("../../fixtures/type_text.jsonl").lines() {
        let [ty, zone, text, expected]: [String; 4] = serde_json::from_str(line).unwrap();
        let settings = FormatSettings {
            time_zone: Zone::of_name(&zone).unwrap(),
            ..FormatSettings::default()
        };
        assert_eq!(answer(&text, &type_named(&ty), &settings), expected, "{line}");
        cases += 1;
    }
    assert!(cases > 600, "the fixture was cut short");
}

#[test]
fn words_relative_to_now() {
    let settings = FormatSettings::default();
    let read = |text: &str, ty: &SqlType| Value::parse(text, ty, &settings).unwrap();
    let (Value::Date(yesterday), Value::Date(tomorrow)) = (
        read("yesterday", &SqlType::Date),
        read("tomorrow", &SqlType::Date),
    ) else {
        unreachable!("dates read as dates")
    };
    assert!((2..=3).contains(&(tomorrow - yesterday)));
    assert!(
        matches!(read("now", &SqlType::TimestampTz(None)), Value::TimestampTz(micros) if micros > 1_700_000_000_000_000)
    );
}

#[test]
fn binary_parameters() {
    let cases: &[(&str, &[u8], &str)] = &[
        ("bool", &[1], "t"),
        ("smallint", &[0xFF, 0xFE], "-2"),
        ("integer", &[0, 0, 1, 0], "256"),
        ("bigint", &[0x80, 0, 0, 0, 0, 0, 0, 0], "-9223372036854775808"),
        ("double precision", &[0x3F, 0xF8, 0, 0, 0, 0, 0, 0], "1.5"),
        (
            "numeric",
            &[0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 0x13, 0x88],
            "-12.50",
        ),
        ("numeric", &[0, 1, 0xFF, 0xFE, 0, 0, 0, 8, 0, 1], "0.00000001"),
        ("numeric", &[0, 0, 0, 0, 0xC0, 0, 0, 0], "NaN"),
        ("text", "ä".as_bytes(), "ä"),
        ("jsonb", b"\x01{\"b\":1,\"a\":2}", "{\"a\": 2, \"b\": 1}"),
        ("bytea", &[0, 255], "\\x00ff"),
        ("date", &[0, 0, 0, 1], "2000-01-02"),
        ("date", &[0x7F, 0xFF, 0xFF, 0xFF], "infinity"),
        (
            "timestamp",
            &[0, 0, 0, 0, 0, 0, 0, 1],
            "2000-01-01 00:00:00.000001",
        ),
        ("timestamptz", &[0x80, 0, 0, 0, 0, 0, 0, 0], "-infinity"),
        ("time", &[0, 0, 0, 0, 0, 0, 0, 0], "00:00:00"),
        (
            "interval",
            &[0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
            "3 mons 2 days 00:00:00.000001",
        ),
        (
            "integer[]",
            &[
                0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 4,
                0, 0, 0, 7,
            ],
            "{NULL,7}",
        ),
    ];
    for (ty, bytes, expected) in cases {
        let value = Value::from_binary(bytes, &type_named(ty), 1).unwrap();
        assert_eq!(value.to_text(&FormatSettings::default()), *expected, "{ty}");
    }
    for (ty, bytes) in [
        ("integer", &[0_u8, 0, 1][..]),
        ("uuid", &[1; 15]),
        ("jsonb", b"\x02{}"),
        ("integer[]", &[0, 0, 0, 1]),
    ] {
        let error = Value::from_binary(bytes, &type_named(ty), 3).unwrap_err();
        assert_eq!(
            error.to_string(),
            "incorrect binary data format in bind parameter 3"
        );
    }
    let error = Value::from_binary(&[b'a', 0xC3, 0x28], &SqlType::Text, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28"
    );
}

#[test]
fn binary_arrays_say_of_which_type_their_items_are() {
    let array = |flags: u8, oid: u32| {
        let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, flags];
        bytes.extend(oid.to_be_bytes());
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7]);
        Value::from_binary(&bytes, &type_named("integer[]"), 1)
    };
    assert!(array(0, 23).is_ok());
    // The oid of a type that somebody made may be another in each server.
    assert!(array(1, 20_000).is_ok());
    let error = array(0, 25).unwrap_err();
    assert_eq!(error.sqlstate(), "42804");
    assert_eq!(
        error.to_string(),
        "binary data has array element type 25 (text) instead of expected 23 (integer)"
    );
    assert_eq!(array(2, 23).unwrap_err().sqlstate(), "22P03");
}

#[test]
fn binary_dates_begin_with_the_calendar() {
    let date = |days: i32| Value::from_binary(&days.to_be_bytes(), &SqlType::Date, 1);
    assert!(date(-2_451_545).is_ok());
    assert_eq!(date(-2_451_546).unwrap_err().to_string(), "date out of range");
    let moment = |micros: i64| Value::from_binary(&micros.to_be_bytes(), &SqlType::Timestamp(None), 1);
    assert!(moment(-211_813_488_000_000_000).is_ok());
    let error = moment(-211_813_488_000_000_001).unwrap_err();
    assert_eq!(error.to_string(), "timestamp out of range");
}

/// `value::from` assigned or cast to `to`.
fn converted(text: &str, from: &str, to: &str, cast: bool) -> String {
    let settings = FormatSettings {
        time_zone: crate::types::Zone::Named(chrono_tz::America::New_York),
        ..FormatSettings::default()
    };
    let value = Value::parse(text, &type_named(from), &settings).unwrap();
    let to = type_named(to);
    let result = if cast {
        value.cast(&to, &settings)
    } else {
        value.assign(&to, "c", &settings)
    };
    match result {
        Ok(value) => value.to_text(&settings),
        Err(error) => format!("{} {error}", error.sqlstate()),
    }
}

#[test]
fn assignments() {
    let cases = [
        ("40000", "bigint", "smallint", "22003 smallint out of range"),
        ("2.5", "double precision", "integer", "2"),
        ("2.5", "numeric", "integer", "3"),
        ("1e30", "double precision", "bigint", "22003 bigint out of range"),
        ("1.005", "numeric", "numeric(10,2)", "1.01"),
        ("100", "integer", "numeric(4,2)", "22003 numeric field overflow"),
        ("1e39", "numeric", "numeric(39,0)", "22003 numeric field overflow"),
        ("1.50", "numeric", "numeric", "1.50"),
        ("NaN", "numeric", "numeric(60,2)", "NaN"),
        ("NaN", "numeric", "numeric(10,2)", "22003 numeric field overflow"),
        (
            "Infinity",
            "numeric",
            "numeric(60,2)",
            "22003 numeric field overflow",
        ),
        ("12345", "integer", "numeric(5,-2)", "12300"),
        (
            "1e300",
            "double precision",
            "real",
            "22003 value out of range: overflow",
        ),
        ("1705786502000", "bigint", "timestamp", "2024-01-20 21:35:02"),
        ("1705786502000", "bigint", "timestamptz", "2024-01-20 16:35:02-05"),
        ("2024-07-01", "date", "timestamptz", "2024-07-01 00:00:00-04"),
        (
            "2024-07-01 12:00+00",
            "timestamptz",
            "timestamp",
            "2024-07-01 08:00:00",
        ),
        ("infinity", "timestamptz", "date", "infinity"),
        (
            "12",
            "integer",
            "varchar(1)",
            "22001 value too long for type character varying(1)",
        ),
        ("t", "boolean", "text", "true"),
        ("ab", "text", "char(4)", "ab  "),
        (
            "abc",
            "unknown",
            "integer",
            "22P02 invalid input syntax for type integer: \"abc\"",
        ),
        ("12", "unknown", "integer", "12"),
        (
            "1",
            "integer",
            "boolean",
            "42804 column \"c\" is of type boolean but expression is of type integer",
        ),
        (
            "1",
            "text",
            "integer",
            "42804 column \"c\" is of type integer but expression is of type text",
        ),
        ("{1,2}", "integer[]", "smallint[]", "{1,2}"),
        (
            "{1,70000}",
            "integer[]",
            "smallint[]",
            "22003 smallint out of range",
        ),
    ];
    for (text, from, to, expected) in cases {
        assert_eq!(
            converted(text, from, to, false),
            expected,
            "{text}::{from} assigned to {to}"
        );
    }
}

#[test]
fn explicit_casts() {
    let cases = [
        ("1", "integer", "boolean", "t"),
        ("t", "boolean", "integer", "1"),
        ("abc", "text", "varchar(2)", "ab"),
        ("12", "text", "integer", "12"),
        ("2024-01-01", "text", "date", "2024-01-01"),
        ("1", "integer", "uuid", "42846 cannot cast type integer to uuid"),
        ("25:30:00", "interval", "time", "01:30:00"),
        ("2024-01-01 10:20:30", "timestamp", "time", "10:20:30"),
        ("0.1", "real", "numeric", "0.1"),
        ("inf", "double precision", "integer", "22003 integer out of range"),
    ];
    for (text, from, to, expected) in cases {
        assert_eq!(converted(text, from, to, true), expected, "{text}::{from}::{to}");
    }
}
