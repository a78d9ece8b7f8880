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
    of("oid", &[NULL, "0", "1", "4294967295"]),
    of("integer[]", &[NULL, "{}", "{1,NULL,3}", "{3,1}"]),
    of("text[]", &[NULL, "{}", "{a,NULL,\"\",\"b c\"}", "{a}"]),
    of("numeric[]", &[NULL, "{1.50,NaN,NULL}", "{1.5}"]),
];

/// The values of a type; `None` for one that the tests do not have.
pub(super) fn values_of(name: &str) -> Option<&'static [&'static str]> {
    TYPES.iter().find(|ty| ty.name == name).map(|ty| ty.values)
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
