//! Numerics as values: reading, printing, comparing, computing, and the byte forms.

use proptest::prelude::*;

use super::*;

fn number(text: &str) -> Numeric {
    Numeric::parse(text).unwrap()
}

fn bytes(number: &Numeric) -> Vec<u8> {
    let mut bytes = Vec::new();
    number.put_bytes(&mut bytes);
    bytes
}

fn binary(number: &Numeric) -> Vec<u8> {
    let mut binary = Vec::new();
    NumericBytes::read(&bytes(number))
        .unwrap()
        .put_binary(&mut binary);
    binary
}

/// Numbers of any length, their scale in their text, many of them near each other, and the specials.
pub(crate) fn numerics() -> impl Strategy<Value = Numeric> {
    let text = prop_oneof![
        6 => "-?[0-9]{1,6}(\\.[0-9]{1,6})?",
        3 => "-?[0-9]{1,40}(\\.[0-9]{1,40})?",
        2 => "-?0\\.0{0,40}[0-9]{1,6}0{0,5}",
        2 => "-?[1-9][0-9]{0,4}0{0,60}(\\.0{1,20})?",
        2 => "-?(1|9|10|99|100|9999|10000)(\\.(0|1|5|9|50|0001|9999|00010000)0{0,4})?",
        1 => "-?[0-9]{1,300}(\\.[0-9]{1,300})?",
        1 => Just("NaN".to_string()),
        1 => Just("Infinity".to_string()),
        1 => Just("-Infinity".to_string()),
    ];
    text.prop_map(|text| number(&text))
}

#[test]
fn reads_and_prints_as_written() {
    let cases = [
        ("0", "0"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("  12.50 ", "12.50"),
        ("1e20", "100000000000000000000"),
        ("-1E-5", "-0.00001"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1.5e1", "15"),
        ("1.25e1", "12.5"),
        ("1.250e1", "12.50"),
        ("007", "7"),
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("+Infinity", "Infinity"),
        ("0e100000", "0"),
        ("1e-50", "0.00000000000000000000000000000000000000000000000001"),
        (
            "-12345678901234567890123456789012345678901.50",
            "-12345678901234567890123456789012345678901.50",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(number(text).to_string(), expected, "{text}");
    }
}

#[test]
fn refuses_what_is_no_number_or_too_wide() {
    let ill = [
        "",
        " ",
        "-",
        ".",
        "1_000",
        "1e",
        "1e+",
        "0x10",
        "1 2",
        "1.2.3",
        "--1",
        "e5",
        "infinit",
        "1e2000000000",
    ];
    for text in ill {
        let error = Numeric::parse(text).unwrap_err();
        assert_eq!(error.sqlstate(), "22P02", "{text}");
        assert_eq!(
            error.to_string(),
            format!("invalid input syntax for type numeric: \"{text}\"")
        );
    }
    for text in ["1e131072", "1e-16384", "0e-16384", "99999e131071", "1e200000"] {
        let error = Numeric::parse(text).unwrap_err();
        assert_eq!(
            (error.sqlstate(), error.to_string().as_str()),
            ("22003", "value overflows numeric format")
        );
    }
    assert_eq!(number("1e131071").to_string().len(), 131_072);
    assert_eq!(number("1e-16383").to_string().len(), 16_385);
    let widest = format!("{}.{}", "9".repeat(131_072), "9".repeat(16_383));
    assert_eq!(number(&widest).to_string(), widest);
}

#[test]
fn rounds_half_away_from_zero() {
    let cases = [
        ("0.005", 2, "0.01"),
        ("-0.005", 2, "-0.01"),
        ("0.0049", 2, "0.00"),
        ("2.5", 0, "3"),
        ("9.99", 1, "10.0"),
        ("1.5", 3, "1.500"),
        ("149", -2, "100"),
        ("-150", -2, "-200"),
        ("49", -2, "0"),
        ("50", -2, "100"),
        ("5e100", -101, &format!("1{}", "0".repeat(101))),
        ("4e100", -101, "0"),
        (
            "123456789012345678901234567890123456789.55",
            1,
            "123456789012345678901234567890123456789.6",
        ),
    ];
    for (text, scale, expected) in cases {
        assert_eq!(number(text).round(scale).unwrap().to_string(), expected, "{text}");
        let parsed = Numeric::parse_rounded(text, scale as i16).unwrap();
        assert_eq!(parsed.to_string(), expected, "{text}");
    }
    assert_eq!(
        Numeric::parse_rounded("1e-400", 38).unwrap().to_string(),
        format!("0.{}", "0".repeat(38))
    );
    assert_eq!(number("-1.99").truncate(1).unwrap().to_string(), "-1.9");
    assert_eq!(
        number("9e131071").round(-131_072).unwrap_err().sqlstate(),
        "22003"
    );
}

#[test]
fn compares_by_value() {
    let rising = [
        "-Infinity",
        "-1e900",
        "-1e75",
        "-10000.0001",
        "-10000",
        "-9999.9999",
        "-1.5",
        "-1.49",
        "-0.1",
        "-1e-900",
        "0.0",
        "1e-76",
        "0.00001",
        "0.1",
        "0.10001",
        "1",
        "1.01",
        "9999",
        "9999.0001",
        "10000",
        "1e75",
        "1e900",
        "Infinity",
        "NaN",
    ];
    for (i, left) in rising.iter().enumerate() {
        for (j, right) in rising.iter().enumerate() {
            let (left, right) = (number(left), number(right));
            assert_eq!(left.cmp(&right), i.cmp(&j), "{left} {right}");
            assert_eq!(bytes(&left).cmp(&bytes(&right)), i.cmp(&j), "{left} {right}");
        }
    }
    assert_eq!(number("1.0"), number("1.00"));
    assert!(number("-1e131071") < number("-1e-16383") && number("1e131071") > number("1e131070"));
}

#[test]
fn the_byte_form_is_stored_so_it_never_changes() {
    let hex = |text: &str| -> String {
        bytes(&number(text))
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    };
    assert_eq!(hex("0"), "7f00");
    assert_eq!(hex("0.00"), "7f02");
    assert_eq!(hex("1"), "8901010000");
    assert_eq!(hex("1.50"), "89010114880002");
    assert_eq!(hex("-1.5"), "75fefeeb77ff01");
    assert_eq!(hex("12345.6"), "8a01010a2918700001");
    assert_eq!(hex("1e64"), "99801001010000");
    assert_eq!(hex("1e-40"), "807ff601010028");
    assert_eq!(hex("NaN"), "b000");
    assert_eq!(hex("Infinity"), "a000");
    assert_eq!(hex("-Infinity"), "6000");
    assert!(hex("0e-255").ends_with("00ffff"));
}

#[test]
fn quotients_have_postgresql_scales() {
    let cases = [
        ("214", "2", "107.0000000000000000"),
        ("1", "1", "1.00000000000000000000"),
        ("1", "3", "0.33333333333333333333"),
        ("99999", "5", "19999.800000000000"),
        ("1e40", "7", "1428571428571428571428571428571428571429"),
        ("-0.001", "3", "-0.00033333333333333333"),
        ("0", "5.00", "0.00000000000000000000"),
        ("Infinity", "-3", "-Infinity"),
        ("5", "Infinity", "0"),
        ("Infinity", "Infinity", "NaN"),
    ];
    for (a, b, expected) in cases {
        assert_eq!(
            number(a).divided_by(&number(b)).unwrap().to_string(),
            expected,
            "{a} / {b}"
        );
    }
    assert_eq!(
        number("1").divided_by(&number("0.0")).unwrap_err().sqlstate(),
        "22012"
    );
    assert_eq!(number("-7.5").modulo(&number("2")).unwrap().to_string(), "-1.5");
    assert_eq!(
        number("-7.5").whole_quotient(&number("2")).unwrap().to_string(),
        "-3"
    );
    assert_eq!(
        number("1e131071").times(&number("10")).unwrap_err().sqlstate(),
        "22003"
    );
}

#[test]
fn floors_and_ceilings() {
    let cases = [
        ("1.5", 1, 2),
        ("-1.5", -2, -1),
        ("3.000", 3, 3),
        ("-0.001", -1, 0),
        ("0.001", 0, 1),
    ];
    for (text, floor, ceil) in cases {
        assert_eq!(
            (number(text).floor(), number(text).ceil()),
            (Some(floor), Some(ceil)),
            "{text}"
        );
    }
    assert_eq!(number("1e40").floor(), None);
    assert_eq!(Numeric::NaN.ceil(), None);
    assert!(number("5.00").is_whole() && !number("5.01").is_whole());
}

#[test]
fn doubles_both_ways() {
    assert_eq!(number("0.1").to_f64(), 0.1);
    assert_eq!(number("9007199254740993").to_f64(), 9007199254740992.0);
    assert!(Numeric::NaN.to_f64().is_nan());
    assert_eq!(number("1e400").to_double().unwrap_err().sqlstate(), "22003");
    assert_eq!(number("1e-400").to_double().unwrap_err().sqlstate(), "22003");
    let cases = [
        (0.1 + 0.2, "0.3"),
        (1e20, "100000000000000000000"),
        (-2.5, "-2.5"),
        (0.0, "0"),
    ];
    for (value, expected) in cases {
        assert_eq!(Numeric::from_f64(value).unwrap().to_string(), expected);
    }
    assert_eq!(Numeric::from_f64(1e300).unwrap().to_string().len(), 301);
    assert_eq!(Numeric::from_f32(16777216.0).unwrap().to_string(), "16777200");
}

#[test]
fn columns_take_what_fits_their_size() {
    let size = |precision, scale| Some(NumericSize { precision, scale });
    let fit = |text: &str, size| number(text).fit(size).map(|number| number.to_string());
    assert_eq!(fit("1.555", size(5, 2)).unwrap(), "1.56");
    assert_eq!(fit("12345", size(5, -2)).unwrap(), "12300");
    assert_eq!(fit("0.00123", size(3, 5)).unwrap(), "0.00123");
    assert_eq!(fit("0.01", size(3, 5)).unwrap_err().sqlstate(), "22003");
    assert_eq!(fit("9999950", size(5, -2)).unwrap_err().sqlstate(), "22003");
    assert_eq!(fit("999.995", size(5, 2)).unwrap_err().sqlstate(), "22003");
    assert_eq!(fit("Infinity", size(5, 2)).unwrap_err().sqlstate(), "22003");
    assert_eq!(fit("NaN", size(50, 2)).unwrap(), "NaN");
}

#[test]
fn damaged_bytes_are_no_number() {
    for damaged in [
        &[][..],
        &[0x7f],
        &[0x7f, 0, 0],
        &[0x89, 0],
        &[0x89, 1, 1, 0],
        &[0x89, 1, 1, 1, 0],
        &[0x89, 0x28, 0x11, 0, 0],
        &[0x99, 0],
        &[0x9f, 1, 1, 0, 0],
        &[0x26, 1],
        &[0x61, 1, 1, 0, 0],
        &[0xff; 3],
    ] {
        assert!(Numeric::from_bytes(damaged).is_none(), "{damaged:?}");
        let _ = numeric_key(damaged);
    }
}

proptest! {
    #[test]
    fn every_form_reads_back(number in numerics()) {
        let text = number.to_string();
        prop_assert_eq!(Numeric::parse(&text).unwrap().to_string(), text.clone());
        let read = Numeric::from_bytes(&bytes(&number)).unwrap();
        prop_assert_eq!(read.to_string(), text.clone());
        let mut printed = Vec::new();
        NumericBytes::read(&bytes(&number)).unwrap().put_text(&mut printed);
        prop_assert_eq!(String::from_utf8(printed).unwrap(), text.clone());
        let received = Numeric::from_binary(&binary(&number)).unwrap().unwrap();
        prop_assert_eq!(received.to_string(), text);
    }

    #[test]
    fn keys_compare_as_the_numbers_do(a in numerics(), b in numerics()) {
        let (x, y) = (bytes(&a), bytes(&b));
        prop_assert_eq!(numeric_key(&x).cmp(numeric_key(&y)), a.cmp(&b));
        if a != b {
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        }
        // The slow way to compare: both at one scale.
        if let (Numeric::Finite(left), Numeric::Finite(right)) = (&a, &b) {
            let scale = left.scale.max(right.scale);
            prop_assert_eq!(left.unscaled_up_to(scale).cmp(&right.unscaled_up_to(scale)), a.cmp(&b));
        }
    }

    #[test]
    fn small_and_big_numbers_compute_alike(a in -99_999_i64..99_999, b in -99_999_i64..99_999, p in 0_u16..5, q in 0_u16..5) {
        // The same with so many digits that 128 bits do not hold them.
        let wide = |number: &Numeric| number.times(&Numeric::parse("1e40").unwrap()).unwrap();
        let (a, b) = (Numeric::from_i128(a.into(), p), Numeric::from_i128(b.into(), q));
        let (x, y) = (wide(&a), wide(&b));
        prop_assert_eq!(wide(&a.plus(&b).unwrap()).to_string(), x.plus(&y).unwrap().to_string());
        prop_assert_eq!(wide(&a.times(&b).unwrap()).to_string(), x.times(&b).unwrap().to_string());
        if b.sign().is_ne() {
            prop_assert_eq!(a.divided_at(&b, 7).unwrap().to_string(), x.divided_at(&y, 7).unwrap().to_string());
            prop_assert_eq!(a.whole_quotient(&b).unwrap(), x.whole_quotient(&y).unwrap());
            prop_assert_eq!(wide(&a.modulo(&b).unwrap()), x.modulo(&y).unwrap());
        }
    }
}
