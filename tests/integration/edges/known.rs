//! What is known to differ from PostgreSQL, and why.

use super::Answer;

/// Functions that are not called, and why. A `*` at either end of a name stands for anything.
const UNCALLED: &[(&str, &[&str])] = &[
    (
        "they answer for the server, its objects and its roles",
        &[
            "pg_*",
            "has_*",
            "to_reg*",
            "*_to_xml*",
            "current_setting",
            "col_description",
            "obj_description",
            "shobj_description",
            "row_security_active",
            "txid_*",
            "format_type",
            "inet_*",
            "satisfies_hash_partition",
            "postgresql_fdw_validator",
            "fmgr_*",
            "makeaclitem",
            "acldefault",
            "amvalidate",
        ],
    ),
    (
        "there are no ranges, no text search, no XML, no points",
        &[
            "*range",
            "*range_subdiff",
            "*tsvector",
            "*tsquery",
            "ts_*",
            "xml*",
            "point",
        ],
    ),
    (
        "they want a list of columns, or a row",
        &[
            "json_to_record*",
            "jsonb_to_record*",
            "json_populate_*",
            "jsonb_populate_*",
        ],
    ),
    (
        "PostgreSQL's own names of what operators, casts and syntax do",
        &[
            "dexp",
            "dlog1*",
            "dround",
            "dtrunc",
            "int4inc",
            "int8_sum",
            "like",
            "like_escape",
            "notlike",
            "nameconcatoid",
            "numeric_*",
            "similar_*",
            "textlen",
            "timestamp",
            "timestamptz",
        ],
    ),
    (
        "they give as many rows as they are asked for",
        &["generate_series"],
    ),
];

/// Whether a function is one that is not called.
pub(super) fn is_uncalled(name: &str) -> bool {
    let matches = |pattern: &&str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), Some(_)) => name.contains(end.trim_end_matches('*')),
        (Some(end), None) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == *pattern,
    };
    UNCALLED.iter().any(|(_, patterns)| patterns.iter().any(matches))
}

/// Parts of statements whose answers may differ, and why.
const DIFFERENT: &[(&[&str], &str)] = &[
    (&["\"cbrt\""], "the last digit is the C library's"),
    (&["||/"], "the last digit is the C library's"),
    (&[" @@ "], "there is no text search"),
    (
        &["DISTINCT", "::json)"],
        "json has no equality; its texts are compared",
    ),
    (
        &["DISTINCT", "::json,"],
        "json has no equality; its texts are compared",
    ),
    (
        &["\"max\"", "::real)"],
        "the least and the greatest of zeros is 0, not -0",
    ),
    (
        &["\"min\"", "::real)"],
        "the least and the greatest of zeros is 0, not -0",
    ),
    (
        &["\"max\"", "::double precision)"],
        "the least and the greatest of zeros is 0, not -0",
    ),
    (
        &["\"min\"", "::double precision)"],
        "the least and the greatest of zeros is 0, not -0",
    ),
    (
        &["\"sum\"", "'-0'::"],
        "a sum begins with 0, not with its first number",
    ),
    (
        &["\"max\"", "::interval)"],
        "of equal intervals another one is the greatest",
    ),
    (
        &["\"min\"", "::interval)"],
        "of equal intervals another one is the least",
    ),
    (
        &["\"avg\"(DISTINCT", "'-0'::"],
        "-0 and 0 are two distinct floats",
    ),
    (
        &["\"avg\"", "1.7e308"],
        "PostgreSQL refuses an average whose squares overflow",
    ),
    (&["sind\""], "the sine of -0 degrees is 0, not -0"),
    (
        &["cotd\""],
        "the cotangent of -0 degrees is Infinity, not -Infinity",
    ),
    (
        &["\"make_time\"("],
        "the message shows the second with all its digits",
    ),
    (
        &["\"timezone\"(", "EST5EDT"],
        "EST5EDT is New York's time in later tables of zones",
    ),
    (&["\"age\"(", "infinity"], "there is no age of infinity"),
    (&["\"array_fill\"("], "arrays count from 1"),
    (
        &["\"trunc\"(", "'2147483647'"],
        "thousands of zeros behind the point are not as many",
    ),
    (
        &["\"round\"(", "'2147483647'"],
        "thousands of zeros behind the point are not as many",
    ),
    (&["DISTINCT", "OVER"], "DISTINCT in a window is refused by both"),
];

/// Why a statement's answer may differ; `None` when nobody knows. A fault of ours is never known.
pub(super) fn reason(sql: &str, ours: &Answer, theirs: &Answer) -> Option<&'static str> {
    if matches!(ours, Err(failure) if failure.sqlstate == "XX000") {
        return None;
    }
    if let (Err(ours), Err(theirs)) = (ours, theirs)
        && sql.contains("VALUES")
        && ours.sqlstate.starts_with("22")
        && theirs.sqlstate.starts_with("22")
    {
        return Some("which of two faults is met first is not said");
    }
    let known = DIFFERENT
        .iter()
        .find(|(parts, _)| parts.iter().all(|part| sql.contains(part)));
    known.map(|(_, reason)| *reason)
}
