//! What decoders make of data, and encoders of values: cases as PostgreSQL has them, round trips, and that neither cuts nor
//! damage make a difference that they should not.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use proptest::prelude::*;

use super::*;
use crate::Result;
use crate::types::{CharacterEncoding, ColumnEncoder, FormatSettings, SqlType};

type Row = Vec<Option<String>>;

/// The rows of data that comes in pieces of so many bytes, and the line at which an error was met.
fn rows(format: &CopyFormat, columns: usize, data: &[u8], piece: usize) -> (Vec<Row>, Option<(u64, String)>) {
    let mut decoder = Decoder::new(format.clone(), columns, 1 << 20);
    let mut pieces = data.chunks(piece.max(1));
    let (mut record, mut rows) = (Record::default(), Vec::new());
    loop {
        match decoder.read(&mut record) {
            Ok(Progress::Row) => rows.push(row(&record)),
            Ok(Progress::Ended) => return (rows, None),
            Ok(Progress::Starved) => match pieces.next() {
                Some(piece) => decoder.push(piece).unwrap(),
                None => decoder.end().unwrap(),
            },
            Err(error) => return (rows, Some((decoder.number(), error.to_string()))),
        }
        if rows.len() % 3 == 0 {
            decoder.take_read();
        }
    }
}

fn row(record: &Record) -> Row {
    (0..record.len())
        .map(|at| match record.get(at) {
            Some(FieldValue::Data(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Some(FieldValue::Default) => Some("<default>".to_string()),
            Some(FieldValue::Null) | None => None,
        })
        .collect()
}

fn text() -> CopyFormat {
    CopyFormat::of(CopyForm::Text)
}

fn csv() -> CopyFormat {
    CopyFormat::of(CopyForm::Csv)
}

/// The same whole and in pieces of every length.
#[track_caller]
fn check(format: &CopyFormat, data: &[u8], expected: &[&[Option<&str>]], fault: Option<(u64, &str)>) {
    let expected: Vec<Row> = expected
        .iter()
        .map(|row| row.iter().map(|field| field.map(str::to_string)).collect())
        .collect();
    let fault = fault.map(|(line, message)| (line, message.to_string()));
    for piece in 1..=data.len().max(1) {
        let found = rows(format, 2, data, piece);
        assert_eq!(found, (expected.clone(), fault.clone()), "in pieces of {piece}");
    }
}

#[test]
fn text_is_read_as_postgres_reads_it() {
    let format = text();
    check(
        &format,
        b"1\ta\n\\N\t\n",
        &[&[Some("1"), Some("a")], &[None, Some("")]],
        None,
    );
    check(&format, b"no newline", &[&[Some("no newline")]], None);
    check(&format, b"\n\n", &[&[Some("")], &[Some("")]], None);
    check(&format, b"a\r\nb\r\n", &[&[Some("a")], &[Some("b")]], None);
    check(&format, b"a\rb\r", &[&[Some("a")], &[Some("b")]], None);
    check(
        &format,
        b"\\b\\f\\n\\r\\t\\v\\\\\\x41\\x4\\xg\\101\\7\\q\\\nx\\",
        &[&[Some("\u{8}\u{c}\n\r\t\u{b}\\A\u{4}xgA\u{7}q\nx")]],
        None,
    );
    check(&format, "é\\é\\303\\251".as_bytes(), &[&[Some("ééé")]], None);
    check(&format, b"a\\\tb\tc", &[&[Some("a\tb"), Some("c")]], None);
    check(&format, b"a\n\\.\nb\n", &[&[Some("a")]], None);
    check(&format, b"a\r\n\\.\r\nb\n", &[&[Some("a")]], None);
    check(&format, b"a\\.\nb\n", &[&[Some("a")]], None);
}

#[test]
fn faults_of_text_are_told_with_their_line() {
    let format = text();
    check(
        &format,
        b"a\nb\rc\n",
        &[&[Some("a")]],
        Some((2, "literal carriage return found in data")),
    );
    check(
        &format,
        b"a\r\nb\n",
        &[&[Some("a")]],
        Some((2, "literal newline found in data")),
    );
    check(
        &format,
        b"a\r\nb\rc",
        &[&[Some("a")]],
        Some((2, "literal carriage return found in data")),
    );
    check(
        &format,
        b"a\n\\.b\n",
        &[&[Some("a")]],
        Some((2, "end-of-copy marker corrupt")),
    );
    check(
        &format,
        b"a\n\\.\r\n",
        &[&[Some("a")]],
        Some((2, "end-of-copy marker does not match previous newline style")),
    );
    let invalid = |bytes: &str| format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
    check(
        &format,
        b"a\n\xff\n",
        &[&[Some("a")]],
        Some((2, &invalid("0xff"))),
    );
    check(
        &format,
        b"a\n\xe2\x28\xa1\n",
        &[&[Some("a")]],
        Some((2, &invalid("0xe2 0x28 0xa1"))),
    );
    check(&format, b"a\nb\0\n", &[&[Some("a")]], Some((2, &invalid("0x00"))));
    check(&format, b"a\n\\0\n", &[&[Some("a")]], Some((2, &invalid("0x00"))));
    check(
        &format,
        b"a\n\\xff\n",
        &[&[Some("a")]],
        Some((2, &invalid("0xff"))),
    );
}

#[test]
fn csv_is_read_as_postgres_reads_it() {
    let format = csv();
    check(
        &format,
        b"1,a\n,\"\"\n",
        &[&[Some("1"), Some("a")], &[None, Some("")]],
        None,
    );
    check(
        &format,
        b"\"a,b\",\"c\"\"d\ne\"\r\nx\"y\"z,\r\n",
        &[&[Some("a,b"), Some("c\"d\ne")], &[Some("xyz"), None]],
        None,
    );
    check(&format, b"a\n\\.\nb", &[&[Some("a")]], None);
    check(
        &format,
        b"\\.x\na\\.\n",
        &[&[Some("\\.x")], &[Some("a\\.")]],
        None,
    );
    let other = CopyFormat {
        escape: b'\\',
        quote: b'\'',
        null: "NULL".to_string(),
        ..csv()
    };
    check(
        &other,
        b"'a\\'\\\\b\\c','NULL'\nNULL,\n",
        &[&[Some("a'\\b\\c"), Some("NULL")], &[None, Some("")]],
        None,
    );
    let defaults = CopyFormat {
        default: Some("\\D".to_string()),
        ..csv()
    };
    check(
        &defaults,
        b"\\D,\"\\D\"",
        &[&[Some("<default>"), Some("\\D")]],
        None,
    );
}

#[test]
fn faults_of_csv_are_told_with_their_line() {
    let format = csv();
    check(
        &format,
        b"a\n\"b\nc\n",
        &[&[Some("a")]],
        Some((4, "unterminated CSV quoted field")),
    );
    check(
        &format,
        b"a\nb\rc\n",
        &[&[Some("a")]],
        Some((2, "unquoted carriage return found in data")),
    );
    check(
        &format,
        b"a\r\nb\n",
        &[&[Some("a")]],
        Some((2, "unquoted newline found in data")),
    );
}

fn binary(parts: &[&[u8]]) -> Vec<u8> {
    let header: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\x02ex";
    std::iter::once(&header)
        .chain(parts)
        .copied()
        .flatten()
        .copied()
        .collect()
}

#[test]
fn binary_is_read_and_its_faults_are_told() {
    let format = CopyFormat::of(CopyForm::Binary);
    let row: &[u8] = b"\0\x02\0\0\0\x01a\xff\xff\xff\xff";
    let end: &[u8] = b"\xff\xff";
    let expected: &[&[Option<&str>]] = &[&[Some("a"), None]];
    check(&format, &binary(&[row, end]), expected, None);
    check(&format, &binary(&[row]), expected, None);
    check(
        &format,
        b"PGCOPY\n\xff\r\n",
        &[],
        Some((0, "COPY file signature not recognized")),
    );
    check(
        &format,
        b"a,b",
        &[],
        Some((0, "COPY file signature not recognized")),
    );
    check(
        &format,
        b"PGCOPY\n\xff\r\n\0\0\x01\0\0\0\0\0\0",
        &[],
        Some((0, "invalid COPY file header (WITH OIDS)")),
    );
    check(
        &format,
        &binary(&[row, b"\0\x01"]),
        expected,
        Some((2, "row field count is 1, expected 2")),
    );
    check(
        &format,
        &binary(&[row, b"\0\x02\xff\xff\xff\xfe"]),
        expected,
        Some((2, "invalid field size")),
    );
    check(
        &format,
        &binary(&[row, b"\0\x02\0\0\0\x09a"]),
        expected,
        Some((2, "unexpected EOF in COPY data")),
    );
    let after = binary(&[row, end, b"x"]);
    check(
        &format,
        &after,
        expected,
        Some((2, "received copy data after EOF marker")),
    );
}

#[test]
fn a_line_without_an_end_is_refused() {
    let mut decoder = Decoder::new(text(), 1, 10);
    decoder.push(b"0123456789").unwrap();
    assert_eq!(decoder.read(&mut Record::default()), Ok(Progress::Starved));
    decoder.push(b"0").unwrap();
    assert_eq!(
        decoder.read(&mut Record::default()).unwrap_err().sqlstate(),
        "54000"
    );
}

/// The data that an encoder makes of rows.
fn encoded(format: &CopyFormat, columns: usize, rows: &[Row]) -> Result<Vec<u8>> {
    let names = (0..columns).map(|at| format!("c{at}")).collect();
    let mut encoder = RowEncoder::new(format.clone(), names);
    let wire = encoder.wire_format();
    let arrays: Vec<ArrayRef> = (0..columns)
        .map(|at| Arc::new(rows.iter().map(|row| row[at].clone()).collect::<StringArray>()) as ArrayRef)
        .collect();
    let encoders: Vec<_> = arrays
        .iter()
        .map(|array| ColumnEncoder::new(&SqlType::Text, array, wire, &FormatSettings::default()))
        .collect::<Result<_>>()?;
    let mut out = Vec::new();
    encoder.put_header(&mut out).unwrap();
    for row in 0..rows.len() {
        encoder.put_row(&encoders, row, &mut out).unwrap();
    }
    encoder.put_end(&mut out);
    Ok(out)
}

#[test]
fn values_are_written_as_postgres_writes_them() {
    let rows = [
        vec![Some("a\tb\\\n\r\u{8}\u{c}\u{b}\u{1}".to_string()), None],
        vec![Some("\\.".to_string()), Some(String::new())],
    ];
    let written = encoded(&text(), 2, &rows).unwrap();
    assert_eq!(written, b"a\\tb\\\\\\n\\r\\b\\f\\v\x01\t\\N\n\\\\.\t\n");
    let rows = [
        vec![Some("a\"b".to_string()), None],
        vec![Some(String::new()), Some("x,y".to_string())],
        vec![Some("\\.".to_string()), Some("l\nm".to_string())],
    ];
    let header = CopyFormat {
        header: CopyHeader::Present,
        ..csv()
    };
    let written = encoded(&header, 2, &rows).unwrap();
    assert_eq!(written, b"c0,c1\n\"a\"\"b\",\n\"\",\"x,y\"\n\\.,\"l\nm\"\n");
    let alone = encoded(&csv(), 1, &[vec![Some("\\.".to_string())]]).unwrap();
    assert_eq!(alone, b"\"\\.\"\n");
    let none = encoded(&CopyFormat::of(CopyForm::Binary), 1, &[]).unwrap();
    assert_eq!(none, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\xff\xff");
}

/// Forms whose rows come back as they were.
fn forms() -> impl Strategy<Value = CopyFormat> {
    let text = prop_oneof![Just(b'\t'), Just(b'|'), Just(b' ')]
        .prop_map(|delimiter| CopyFormat { delimiter, ..text() });
    let marks = prop_oneof![
        Just((b'"', b'"')),
        Just((b'\'', b'\\')),
        Just((b'"', b'x')),
        Just((b'\\', b'\\'))
    ];
    let csv = (
        marks,
        prop_oneof![Just(","), Just("NULL"), Just("")],
        any::<bool>(),
    )
        .prop_map(|((quote, escape), null, force)| CopyFormat {
            quote,
            escape,
            delimiter: b';',
            null: null.to_string(),
            force_quote: match force {
                true => ForcedColumns::All,
                false => ForcedColumns::none(),
            },
            ..csv()
        });
    prop_oneof![text, csv, Just(CopyFormat::of(CopyForm::Binary))]
}

fn values() -> impl Strategy<Value = Row> {
    let text = prop_oneof![
        "[a-c\\\\.\\n\\r\\t;,\"'x|é \u{1}]{0,6}",
        Just("\\.".to_string()),
        Just("NULL".to_string())
    ];
    proptest::collection::vec(proptest::option::of(text), 2)
}

proptest! {
    #[test]
    fn rows_come_back_as_they_went(
        format in forms(),
        rows_given in proptest::collection::vec(values(), 0..8),
        piece in 1..40_usize,
    ) {
        let data = encoded(&format, 2, &rows_given).unwrap();
        prop_assert_eq!(rows(&format, 2, &data, piece), (rows_given, None));
    }

    #[test]
    fn cuts_make_no_difference(
        format in forms(),
        data in proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b'\\'), Just(b'.'), Just(b'"'), Just(b'\'')], 0..60),
        piece in 1..20_usize,
    ) {
        prop_assert_eq!(rows(&format, 2, &data, piece), rows(&format, 2, &data, data.len()));
    }

    #[test]
    fn damaged_binary_is_an_error_or_rows(
        rows_given in proptest::collection::vec(values(), 0..4),
        at in any::<proptest::sample::Index>(),
        byte in any::<u8>(),
        piece in 1..20_usize,
    ) {
        let format = CopyFormat::of(CopyForm::Binary);
        let mut data = encoded(&format, 2, &rows_given).unwrap();
        let at = at.index(data.len());
        data[at] = byte;
        prop_assert_eq!(rows(&format, 2, &data, piece), rows(&format, 2, &data, data.len()));
    }
}

#[test]
fn nothing_is_read_twice() {
    // A long line in small pieces: were it looked at again for each, this would not end.
    let mut decoder = Decoder::new(csv(), 1, 1 << 26);
    let mut record = Record::default();
    decoder.push(b"\"").unwrap();
    for _ in 0..200_000 {
        decoder
            .push(b"0123456789,0123456789,0123456789,0123456789,0123456789,0123456789,\n")
            .unwrap();
        assert_eq!(decoder.read(&mut record), Ok(Progress::Starved));
    }
    decoder.push(b"\"\n").unwrap();
    assert_eq!(decoder.read(&mut record), Ok(Progress::Row));
    assert_eq!(record.len(), 1);
}

#[test]
fn data_is_read_and_written_in_its_encoding() {
    let cases: [(&str, &[u8], &str); 4] = [
        ("LATIN1", b"caf\xe9\t\\N\n", "café"),
        ("SJIS", b"\x83\x5c\x93\xfa\t\\N\n", "ソ日"),
        ("GB18030", b"\x81\x30\x86\x30\xd6\xd0\t\\N\n", "\u{b8}中"),
        ("UTF8", "ö\t\\N\n".as_bytes(), "ö"),
    ];
    for (encoding, data, expected) in cases {
        let encoding = CharacterEncoding::named(encoding).unwrap();
        let format = CopyFormat { encoding, ..text() };
        for piece in 1..data.len() {
            let (rows, error) = rows(&format, 2, data, piece);
            assert_eq!(error, None);
            assert_eq!(rows, [vec![Some(expected.to_string()), None]]);
        }
        assert_eq!(encoding.encode(expected).unwrap(), data[..data.len() - 4]);
    }
    let encoding = CharacterEncoding::named("SJIS").unwrap();
    let mut decoder = Decoder::new(CopyFormat { encoding, ..text() }, 1, 10);
    let error = decoder.push(b"a\x83\n").unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.to_string().as_str()),
        ("22021", "invalid byte sequence for encoding \"SJIS\": 0x83")
    );
    decoder.push(b"\x83").unwrap();
    assert_eq!(decoder.end().unwrap_err().sqlstate(), "22021");
}
