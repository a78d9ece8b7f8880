//! Tests of `codec::row`: round trips of every type, damaged bytes, and that what the encoders of `types` print of an
//! array is what a constant prints.

use arrow::array::Array;
use proptest::prelude::*;

use super::*;
use crate::codec::arbitrary::{column_types, values_or_null};
use crate::types::{ColumnEncoder, FormatSettings, Value, WireFormat, value_at};

fn array_of(ty: &SqlType, values: &[Value]) -> ArrayRef {
    let mut builder = ColumnBuilder::new(ty, values.len());
    values
        .iter()
        .for_each(|value| builder.append_value(value).unwrap());
    assert_eq!(builder.len(), values.len());
    builder.finish()
}

/// A row with these columns, ids 3, 5, 7 …
fn row_of(columns: &[(SqlType, Value)]) -> Vec<u8> {
    let mut writer = RowWriter::default();
    for (i, (ty, value)) in columns.iter().enumerate() {
        writer.push_array(
            3 + 2 * i as u16,
            ty,
            &array_of(ty, std::slice::from_ref(value)),
            0,
        );
    }
    let length = writer.encoded_len();
    let row = writer.finish();
    assert_eq!(row.len(), length);
    row
}

#[test]
fn a_row_is_laid_out_as_the_docs_draw_it() {
    let row = row_of(&[
        (SqlType::Int4, Value::Int(7)),
        (SqlType::Text, Value::Null),
        (SqlType::Text, Value::Text("ab".into())),
    ]);
    let mut expected = vec![
        1, FLAG_NULLS, 3, 0, 3, 0, 5, 0, 7, 0, 0b010, 4, 0, 4, 0, 6, 0, 7, 0, 0, 0, b'a', b'b',
    ];
    expected.extend_from_slice(&crc32c::crc32c(&expected).to_le_bytes());
    assert_eq!(row, expected);
    assert_eq!(RowWriter::default().finish().len(), 8);
    assert!(RowReader::new(&RowWriter::default().finish()).unwrap().is_empty());
}

#[test]
fn absent_null_and_present_differ() {
    let row = row_of(&[
        (SqlType::Int8, Value::Null),
        (SqlType::Text, Value::Text(String::new())),
    ]);
    let reader = RowReader::new(&row).unwrap();
    let found: Vec<_> = (0..10).map(|id| reader.get(id)).collect();
    assert_eq!(found[3], Some(Stored::Null));
    assert_eq!(found[5], Some(Stored::Bytes(b"")));
    assert!(
        found
            .iter()
            .enumerate()
            .all(|(id, stored)| stored.is_some() == matches!(id, 3 | 5))
    );
}

/// A row as a later version may write it: with its write time and its expiry.
fn with_times(row: &[u8], write_time: i64, expiry: i64) -> Vec<u8> {
    let (head, rest) = row[..row.len() - CHECKSUM_BYTES].split_at(HEADER_BYTES);
    let mut out = head.to_vec();
    out[1] |= FLAG_WRITE_TIME | FLAG_EXPIRY;
    out.extend_from_slice(&write_time.to_le_bytes());
    out.extend_from_slice(&expiry.to_le_bytes());
    out.extend_from_slice(rest);
    let checksum = crc32c::crc32c(&out);
    out.extend_from_slice(&checksum.to_le_bytes());
    out
}

#[test]
fn times_and_wide_offsets() {
    let long = "x".repeat(70_000);
    let array = array_of(&SqlType::Text, &[Value::Text(long.clone())]);
    let mut writer = RowWriter::default();
    writer.push_array(1, &SqlType::Text, &array, 0);
    writer.push_array(2, &SqlType::Text, &array, 0);
    let mut row = b"before".to_vec();
    writer.finish_into(&mut row);
    let row = with_times(&row[6..], -5, i64::MAX);
    let reader = RowReader::new(&row).unwrap();
    assert_eq!(
        (reader.write_time(), reader.expiry(), reader.len()),
        (Some(-5), Some(i64::MAX), 2)
    );
    assert_eq!(reader.get(2), Some(Stored::Bytes(long.as_bytes())));
    writer.clear();
    assert_eq!(RowReader::new(&writer.finish()).unwrap().write_time(), None);
}

#[test]
fn widened_integers_read_what_was_written_before() {
    let row = row_of(&[(SqlType::Int2, Value::Int(-2))]);
    let stored = RowReader::new(&row).unwrap().get(3).unwrap();
    for ty in [SqlType::Int2, SqlType::Int4, SqlType::Int8] {
        let mut builder = ColumnBuilder::new(&ty, 1);
        builder.append_stored(stored).unwrap();
        assert_eq!(&builder.finish(), &array_of(&ty, &[Value::Int(-2)]));
    }
    let mut narrow = ColumnBuilder::new(&SqlType::Int2, 1);
    assert!(
        narrow
            .append_stored(Stored::Bytes(&70_000_i64.to_le_bytes()))
            .is_err()
    );
}

#[test]
fn long_char_columns_pad() {
    let mut builder = ColumnBuilder::new(&SqlType::Char(Some(100_000)), 1);
    builder.append_stored(Stored::Bytes("ü".as_bytes())).unwrap();
    let array = builder.finish();
    let text = arrow::array::AsArray::as_string::<i32>(&array).value(0);
    assert_eq!((text.chars().count(), text.trim_end()), (100_000, "ü"));
}

/// Earlier releases wrote bare numerics as a scale and an integer; both forms stand side by side in a table.
#[test]
fn numerics_of_earlier_releases_are_read() {
    let ty = SqlType::Numeric(None);
    let print = |bytes: &[u8]| {
        let mut builder = ColumnBuilder::new(&ty, 1);
        builder.append_stored(Stored::Bytes(bytes))?;
        let (array, settings) = (builder.finish(), FormatSettings::default());
        let formats = [WireFormat::Text, WireFormat::Binary].map(|format| {
            let (mut column, mut scalar) = (Vec::new(), Vec::new());
            ColumnEncoder::new(&ty, &array, format, &settings)
                .unwrap()
                .encode(0, &mut column);
            stored_scalar(&ty, bytes)
                .unwrap()
                .put(format, &settings, &mut scalar);
            assert_eq!(column, scalar);
            column
        });
        Ok::<_, crate::Error>(String::from_utf8(formats[0].clone()).unwrap())
    };
    let wide = [&[38][..], &[0xFF; 31], &[0x7F]].concat();
    for (bytes, text) in [
        (&[0, 0][..], "0"),
        (&[1, 15], "1.5"),
        (&[1, 0xF1], "-1.5"),
        (&[2, 0, 1], "2.56"),
        (
            &wide,
            "578960446186580977117854925043439539266.34992332820282019728792003956564819967",
        ),
        (&[0x89, 1, 1, 0x14, 0x88, 0, 2], "1.50"),
    ] {
        assert_eq!(print(bytes).unwrap(), text);
    }
    for damaged in [&[][..], &[0], &[39, 1], &[0x60], &[0x89, 1, 1, 0]] {
        assert!(print(damaged).is_err(), "{damaged:?}");
    }
    assert!(print(&[&[0][..], &[1; 33]].concat()).is_err());
}

/// Numerics of variable length are stored in few bytes.
/// Of a column that was declared with two dimensions earlier releases wrote arrays of arrays; other arrays bring their shape.
#[test]
fn arrays_of_the_declared_dimensions_are_stored_as_ever() {
    let ty = SqlType::array(SqlType::array(SqlType::Int2));
    let read = |text: &str| Value::parse(text, &ty, &FormatSettings::default()).unwrap();
    let inner = |items: [u8; 2]| [2, 0, 0, 0, 2, 0, 0, 0, items[0], 0, 2, 0, 0, 0, items[1], 0];
    let mut former = vec![2, 0, 0, 0];
    for items in [[1, 2], [3, 4]] {
        former.extend_from_slice(&[16, 0, 0, 0]);
        former.extend_from_slice(&inner(items));
    }
    let shaped = |text: &str| {
        let mut bytes = Vec::new();
        stored_value::put(&mut bytes, &ty, &array_of(&ty, &[read(text)]), 0);
        bytes
    };
    assert_eq!(shaped("{{1,2},{3,4}}"), former);
    assert_eq!(shaped("{}"), [0; 4]);
    let other = shaped("[0:0]={5}");
    assert_eq!(
        other,
        [255, 255, 255, 255, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 5, 0]
    );
    for (bytes, text) in [
        (former, "{{1,2},{3,4}}"),
        (vec![0; 4], "{}"),
        (other, "[0:0]={5}"),
    ] {
        let mut builder = ColumnBuilder::new(&ty, 1);
        builder.append_stored(Stored::Bytes(&bytes)).unwrap();
        assert_eq!(value_at(&builder.finish(), 0, &ty).unwrap(), read(text));
    }
}

#[test]
fn bare_numerics_are_compact() {
    for (text, bytes) in [
        ("0", 2),
        ("5", 5),
        ("-1.50", 7),
        ("1e30", 5),
        ("123456.789", 9),
        ("12.34", 7),
    ] {
        let value = Value::parse(text, &SqlType::Numeric(None), &FormatSettings::default()).unwrap();
        let row = row_of(&[(SqlType::Numeric(None), value)]);
        let Some(Stored::Bytes(stored)) = RowReader::new(&row).unwrap().get(3) else {
            unreachable!("it is present")
        };
        assert!(stored.len() <= bytes, "{text} took {} bytes", stored.len());
    }
}

fn typed_values() -> impl Strategy<Value = (SqlType, Vec<Value>)> {
    prop::sample::select(column_types())
        .prop_flat_map(|ty| (Just(ty.clone()), prop::collection::vec(values_or_null(&ty), 1..6)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_type_reads_back(columns in prop::collection::vec(typed_values(), 1..6)) {
        let columns: Vec<_> = columns.into_iter().map(|(ty, mut values)| (ty, values.remove(0))).collect();
        let row = row_of(&columns);
        let reader = RowReader::new(&row).unwrap();
        let mut copy = RowWriter::default();
        for ((id, stored), (ty, value)) in reader.columns().zip(&columns) {
            prop_assert_eq!(reader.get(id), Some(stored));
            let mut builder = ColumnBuilder::new(ty, 1);
            builder.append_stored(stored).unwrap();
            let built = builder.finish();
            let expected = array_of(ty, std::slice::from_ref(value));
            prop_assert_eq!(built.data_type(), &ty.arrow_type());
            // Compared as text, in which one NaN is like another.
            prop_assert_eq!(format!("{built:?}"), format!("{expected:?}"));
            copy.push_stored(id, stored);
        }
        prop_assert_eq!(copy.finish(), row);
    }

    #[test]
    fn a_flipped_bit_is_found(columns in prop::collection::vec(typed_values(), 1..4), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let columns: Vec<_> = columns.into_iter().map(|(ty, mut values)| (ty, values.remove(0))).collect();
        let mut row = row_of(&columns);
        let at = at.index(row.len());
        row[at] ^= 1 << bit;
        let error = RowReader::new(&row).unwrap_err();
        prop_assert_eq!(error.sqlstate(), "XX001");
        row.truncate(at);
        prop_assert!(RowReader::new(&row).is_err());
    }

    #[test]
    fn rows_of_random_bytes_never_panic(flags in 0..16_u8, columns in 0..6_u8, mut body in prop::collection::vec(0..24_u8, 0..64)) {
        let mut bytes = vec![FORMAT_VERSION, flags, columns, 0];
        bytes.append(&mut body);
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        match RowReader::new(&bytes) {
            Ok(reader) => {
                for (id, stored) in reader.columns() {
                    prop_assert_eq!(reader.get(id), Some(stored));
                }
                prop_assert_eq!(reader.columns().count(), usize::from(columns));
                prop_assert!(reader.get(9_999).is_none());
            }
            Err(error) => prop_assert_eq!(error.sqlstate(), "XX001"),
        }
    }

    #[test]
    fn values_of_random_bytes_never_panic(ty in prop::sample::select(column_types()), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        let mut builder = ColumnBuilder::new(&ty, 1);
        match builder.append_stored(Stored::Bytes(&bytes)) {
            Ok(()) => {
                let array = builder.finish();
                prop_assert_eq!(array.len(), 1);
                // Whatever decodes must print.
                for format in [WireFormat::Text, WireFormat::Binary] {
                    let encoder = ColumnEncoder::new(&ty, &array, format, &FormatSettings { time_zone: crate::types::Zone::Named(chrono_tz::Asia::Tokyo), ..FormatSettings::default() }).unwrap();
                    prop_assert!(encoder.encode(0, &mut Vec::new()));
                }
            }
            Err(error) => prop_assert_eq!(error.sqlstate(), "XX001"),
        }
    }

    #[test]
    fn encoders_print_what_constants_print((ty, values) in typed_values()) {
        let settings = FormatSettings { time_zone: crate::types::Zone::Named(chrono_tz::America::New_York), ..FormatSettings::default() };
        let array = array_of(&ty, &values);
        let text = ColumnEncoder::new(&ty, &array, WireFormat::Text, &settings).unwrap();
        let binary = ColumnEncoder::new(&ty, &array, WireFormat::Binary, &settings).unwrap();
        for (row, value) in values.iter().enumerate() {
            let mut out = Vec::new();
            prop_assert_eq!(text.encode(row, &mut out), *value != Value::Null);
            if *value == Value::Null {
                continue;
            }
            if ty != SqlType::Int2Vector {
                prop_assert_eq!(String::from_utf8(out).unwrap(), value.to_text(&settings));
            }
            let mut field = Vec::new();
            binary.encode_field(row, &mut field);
            let (length, bytes) = field.split_first_chunk::<4>().unwrap();
            prop_assert_eq!(i32::from_be_bytes(*length) as usize, bytes.len());
            // PostgreSQL's binary timestamps begin in 2000 and cannot reach our first ones; its dates likewise.
            let representable = !matches!(value, Value::Date(days) if *days < i32::MIN + 10_957 && *days != i32::MIN)
                && !matches!(value, Value::Timestamp(at) | Value::TimestampTz(at) if *at < i64::MIN + 946_684_800_000_000 && *at != i64::MIN)
                && !matches!(value, Value::Array(elements) if elements.iter().any(|element| matches!(element, Value::Timestamp(_))));
            if representable {
                // No day is before PostgreSQL's first one, 4714-11-24 BC.
                let is_early = match value {
                    Value::Date(days) => i64::from(*days) < -2_440_588,
                    Value::Timestamp(at) | Value::TimestampTz(at) => *at < -2_440_588 * 86_400_000_000,
                    _ => true,
                };
                match Value::from_binary(bytes, &ty, 1) {
                    Err(Error::DatetimeOverflow { .. }) if is_early => {}
                    read => prop_assert_eq!(read.unwrap().to_text(&settings), value.to_text(&settings)),
                }
            }
        }
    }
}

/// `fixtures/type_binary.jsonl` holds `[type, text, hex]`, the hex from PostgreSQL 15's send functions.
#[test]
fn binary_forms_are_postgresqls() {
    let settings = FormatSettings::default();
    for line in include_str!("../../fixtures/type_binary.jsonl").lines() {
        let [written, text, expected]: [String; 3] = serde_json::from_str(line).unwrap();
        let (name, modifiers) = match written.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
            Some((name, list)) => (
                name,
                list.split(',').map(|m| m.parse().unwrap()).collect::<Vec<i64>>(),
            ),
            None => (written.as_str(), Vec::new()),
        };
        let ty = SqlType::from_name(name, &modifiers).unwrap().unwrap();
        let value = Value::parse(&text, &ty, &settings).unwrap();
        let encoder = ColumnEncoder::new(
            &ty,
            &array_of(&ty, std::slice::from_ref(&value)),
            WireFormat::Binary,
            &settings,
        )
        .unwrap();
        let mut bytes = Vec::new();
        assert!(encoder.encode(0, &mut bytes));
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, expected, "{line}");
        assert_eq!(
            Value::from_binary(&bytes, &ty, 1).unwrap().to_text(&settings),
            value.to_text(&settings),
            "{line}"
        );
    }
}
