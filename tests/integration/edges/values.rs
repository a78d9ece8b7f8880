//! The edge values of every type, and which types stand for a polymorphic one.

/// A type and values of it, as they are written between quotes; the first is NULL.
pub(super) struct EdgeType {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
}

const fn of(name: &'static str, values: &'static [&'static str]) -> EdgeType {
    EdgeType { name, values }
}

/// What a list of values writes for NULL.
pub(super) const NULL: &str = "NULL";

/// Every type, by the name that PostgreSQL's `format_type` has for it.
pub(super) const TYPES: &[EdgeType] = &[
    of("smallint", &[NULL, "0", "1", "-1", "32767", "-32768"]),
    of(
        "integer",
        &[NULL, "0", "1", "-1", "7", "2147483647", "-2147483648"],
    ),
    of(
        "bigint",
        &[
            NULL,
            "0",
            "1",
            "-1",
            "9223372036854775807",
            "-9223372036854775808",
        ],
    ),
    of(
        "numeric",
        &[
            NULL,
            "0",
            "1.50",
            "-0.000001",
            "NaN",
            "Infinity",
            "-Infinity",
            "12345678901234567890.123",
        ],
    ),
    of(
        "real",
        &[
            NULL,
            "0",
            "-0",
            "1.5",
            "NaN",
            "Infinity",
            "-Infinity",
            "3.4e38",
            "1e-45",
        ],
    ),
    of(
        "double precision",
        &[
            NULL,
            "0",
            "-0",
            "1.5",
            "-2.5",
            "NaN",
            "Infinity",
            "-Infinity",
            "1.7e308",
            "5e-324",
        ],
    ),
    of(
        "text",
        &[
            NULL,
            "",
            "a",
            "ab ",
            "Zürich 東京",
            "a,b;c",
            "100%",
            "1",
            "A\n\tb",
        ],
    ),
    of("character varying", &[NULL, "", "ab ", "ü"]),
    of("name", &[NULL, "a", "pg_class"]),
    of("\"char\"", &[NULL, "", "a", "Z"]),
    of("boolean", &[NULL, "t", "f"]),
    of("bytea", &[NULL, "", "\\x00ff", "abc"]),
    of(
        "date",
        &[
            NULL,
            "2024-02-29",
            "infinity",
            "-infinity",
            "4713-01-01 BC",
            "1999-12-31",
            "0001-01-01",
        ],
    ),
    of(
        "time without time zone",
        &[NULL, "00:00", "23:59:59.999999", "24:00", "12:34:56.5"],
    ),
    of(
        "timestamp without time zone",
        &[
            NULL,
            "2024-02-29 23:59:59.999999",
            "infinity",
            "-infinity",
            "4713-01-01 00:00:00 BC",
            "1970-01-01",
        ],
    ),
    of(
        "timestamp with time zone",
        &[
            NULL,
            "2024-02-29 23:59:59.999999+00",
            "infinity",
            "-infinity",
            "0044-03-15 12:00:00+00 BC",
            "epoch",
        ],
    ),
    of(
        "interval",
        &[
            NULL,
            "0",
            "1 mon -1 day 01:00:00.5",
            "-178000000 years",
            "1 year 2 mons 3 days 04:05:06.789",
            "-00:00:00.000001",
            "30 days",
        ],
    ),
    of(
        "uuid",
        &[
            NULL,
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
    ),
    of(
        "json",
        &[
            NULL,
            "null",
            "1.50",
            "\"a\"",
            "[1, null, \"x\", {\"a\": [2]}]",
            "{\"a\": 1, \"b\": {\"c\": null}, \"a\": 2}",
            "[]",
            "{}",
        ],
    ),
    of(
        "jsonb",
        &[
            NULL,
            "null",
            "1.50",
            "\"a\"",
            "[1, null, \"x\", {\"a\": [2]}]",
            "{\"a\": 1, \"b\": {\"c\": null}}",
            "[]",
            "{}",
        ],
    ),
    of(
        "jsonpath",
        &[
            NULL,
            "$",
            "$.a",
            "strict $.a",
            "$[*]",
            "$.** ? (@ > 1 || @ == \"x\")",
            "$[last].type()",
            "strict $[0 to 1]",
            "$.keyvalue()",
            "$.size()",
            "-$[*]",
            "$ == 1.5",
            "exists ($.b ? (@.c == null))",
            "$.** .keyvalue().id",
            "$.double() / 0",
        ],
    ),
    of("oid", &[NULL, "0", "1", "4294967295"]),
    of("integer[]", &[NULL, "{}", "{1,NULL,3}", "{3,1}"]),
    of("text[]", &[NULL, "{}", "{a,NULL,\"\",\"b c\"}", "{a}"]),
    of("numeric[]", &[NULL, "{1.50,NaN,NULL}", "{1.5}"]),
];

/// The values of a type; `None` for one that the tests do not have.
pub(super) fn values_of(name: &str) -> Option<&'static [&'static str]> {
    TYPES.iter().find(|ty| ty.name == name).map(|ty| ty.values)
}

/// Texts that a function takes at a place, beside which others would all be refused.
const TEXTS: &[(&[&str], usize, &[&str])] = &[
    (&["to_char", "to_date", "to_timestamp"], 1, DATETIME_TEMPLATES),
    (
        &["to_date", "to_timestamp"],
        0,
        &[
            "2024-02-29",
            "2024-02-30",
            " 29 Feb  2024",
            "20240229",
            "2024-060",
            "24-2-9 1:2:3.4",
            "05:06:07 PM",
            "February 29th, 2024",
            "2024-W09-4",
            "44 BC",
            "-44-03-15",
            "2460370",
            "12345",
            "2024-02-29 25:00",
            "IV 24",
            "x",
            "",
        ],
    ),
    (
        &["to_number"],
        0,
        &[
            "1,234.5", "-12", "12-", "<7>", "$ 1.5", " 5 ", "0012", "1e3", "", "12th", "MXIV", "+3", "x7y",
        ],
    ),
    (&["to_number"], 1, NUMBER_TEMPLATES),
    (
        &["date_trunc", "date_part", "extract"],
        0,
        &[
            "microseconds",
            "ms",
            "second",
            "minute",
            "hour",
            "day",
            "week",
            "month",
            "quarter",
            "year",
            "decade",
            "century",
            "millennium",
            "dow",
            "isodow",
            "doy",
            "isoyear",
            "julian",
            "epoch",
            "timezone",
            "timezone_hour",
            "timezone_minute",
            "fortnight",
            "",
        ],
    ),
    (&["date_trunc"], 2, ZONES),
    (&["timezone"], 0, ZONES),
    (
        &["encode", "decode"],
        1,
        &["hex", "base64", "escape", "HEX", "rot13"],
    ),
    (
        &["decode"],
        0,
        &[
            "00ff", "00f", "0g", "AP8=", "AP 8", "AP8", "a\\\\b", "\\001", "\\", "ä", "",
        ],
    ),
    (
        &["normalize", "is_normalized"],
        1,
        &["NFC", "nfd", "NFKC", "NFKD", "x"],
    ),
    (
        &["normalize", "is_normalized"],
        0,
        &["", "a", "ﬁ Å", "A\u{30a}", "e\u{301}\u{327}", "ẛ̣"],
    ),
    (
        &["unistr"],
        0,
        &[
            "",
            "a",
            "\\0041\\+01F600",
            "\\u00e9",
            "\\U0001F600",
            "\\d83d\\de00",
            "\\d83d",
            "\\00",
            "\\\\",
        ],
    ),
    (
        &["parse_ident"],
        0,
        &[
            "a.b",
            "\"A b\".C",
            " a . b ",
            "a.",
            ".a",
            "a b",
            "1a",
            "\"a",
            "",
            "\"\"",
            "foo.boo[]",
            "ß.Ä",
        ],
    ),
    (
        &["format"],
        0,
        &[
            "",
            "%s",
            "%I",
            "%L",
            "%%",
            "%5s|",
            "%-5s|",
            "%1$s %1$L",
            "%2$s",
            "%x",
            "%",
            "%*s|",
            "%1$*1$s",
            "%-*s",
        ],
    ),
    (
        &[
            "regexp_match",
            "regexp_matches",
            "regexp_replace",
            "regexp_split_to_array",
            "regexp_split_to_table",
            "regexp_count",
            "regexp_instr",
            "regexp_like",
            "regexp_substr",
        ],
        1,
        &[
            "",
            "a",
            "(a)(b)?",
            "[[:alpha:]]+",
            "^",
            "x|",
            "(",
            "b*",
            "\\s",
            ".",
        ],
    ),
    (
        &["jsonb_set_lax"],
        4,
        &[
            "use_json_null",
            "raise_exception",
            "return_target",
            "delete_key",
            "x",
        ],
    ),
];

const DATETIME_TEMPLATES: &[&str] = &[
    "",
    "YYYY-MM-DD",
    "YYYYMMDD",
    "YY-MM-DD HH24:MI:SS.US",
    "DD Mon YYYY",
    "FMMonth FMDDth, YYYY",
    "Day, DD  HH12:MI:SS AM",
    "HH:MI:SS p.m.",
    "IYYY-\"W\"IW-ID IDDD",
    "YYYY-DDD",
    "CC YY Q WW W J",
    "Y,YYY BC RM",
    "FMY YYY I IY IYY a.d.",
    "SSSS MS US FF1 FF3 FF6",
    "TZ tz OF TZH:TZM",
    "HH24:MI:SS.MSTH",
    "FXYYYY/MM/DD",
    "MONTH MON mon dy DAY",
    "\"T\"HH24\\\"x",
    "YYYY-MM-DD HH24:MI TZH",
    "RM YY",
    "J",
    "YYYY AD",
    "999 x",
];

const NUMBER_TEMPLATES: &[&str] = &[
    "",
    "9",
    "999",
    "000.00",
    "9,999.99",
    "FM999.99",
    "S999",
    "999S",
    "999MI",
    "PL999",
    "999PR",
    "L999D9",
    "9G999D99",
    "FMRN",
    "RN",
    "999V99",
    "9.99EEEE",
    "999th",
    "SG999",
    "B999",
    "\"x\"99",
    "FM000009.9",
    "99.9.9",
];

const ZONES: &[&str] = &[
    "UTC",
    "America/New_York",
    "EST",
    "+02",
    "-03:30",
    "nowhere",
    "",
    "EST5EDT",
];

/// The texts that a function takes as an argument; `None`: any.
pub(super) fn texts_of(function: &str, place: usize) -> Option<&'static [&'static str]> {
    let of_function = |(names, at, _): &&(&[&str], usize, &[&str])| *at == place && names.contains(&function);
    TEXTS.iter().find(of_function).map(|(_, _, texts)| *texts)
}

/// The items that polymorphic types stand for, one after another.
pub(super) const ITEMS: &[&str] = &["integer", "text", "numeric"];

/// The type that stands for a polymorphic one where its items are these; any other type stands for itself.
pub(super) fn monomorphic(ty: &str, item: &str) -> String {
    match ty {
        "anyarray" | "anycompatiblearray" => format!("{item}[]"),
        "anyelement" | "anynonarray" | "anycompatible" | "anycompatiblenonarray" | "\"any\"" => {
            item.to_string()
        }
        other => other.to_string(),
    }
}

/// A value as a statement writes it.
pub(super) fn literal(value: &str, ty: &str) -> String {
    match value {
        NULL => format!("NULL::{ty}"),
        value => format!("'{}'::{ty}", value.replace('\'', "''")),
    }
}
