//! Paths print as PostgreSQL 15 prints them, and what is none is refused as there.

use super::JsonPath;

#[test]
fn paths_print_as_postgresql_prints_them() {
    let cases = [
        (
            "$.a[0 to last].** {2 to last} ? (@.b == 1 && exists(@.c) || !(@.d starts with \"x\")).size()",
            "$.\"a\"[0 to last].**{2 to last}?(@.\"b\" == 1 && exists (@.\"c\") || !(@.\"d\" starts with \"x\")).size()",
        ),
        ("(1).type()", "(1).type()"),
        ("1.5.type()", "(1.5).type()"),
        ("-1.5.abs()", "(-(1.5).abs())"),
        ("(-1.5).abs()", "(-1.5).abs()"),
        ("-(-1.5)", "1.5"),
        ("strict $.a-$.b*$.c", "strict ($.\"a\" - $.\"b\" * $.\"c\")"),
        ("($.a-$.b)*$.c.d", "(($.\"a\" - $.\"b\") * $.\"c\".\"d\")"),
        ("$.a - ($.b - $.c)", "($.\"a\" - ($.\"b\" - $.\"c\"))"),
        ("1+2 == 3 && true == false", "(1 + 2 == 3 && true == false)"),
        (
            "$.a == true || ($.b == null) is unknown",
            "($.\"a\" == true || ($.\"b\" == null) is unknown)",
        ),
        ("($.a == 1).type()", "($.\"a\" == 1).type()"),
        ("$.a /* c */ . b", "$.\"a\".\"b\""),
        ("$.\"a\\u00e9\\n\\x41\\u{1F600}\"", "$.\"aé\\nA😀\""),
        ("$.TRUE.Exists", "$.\"TRUE\".\"Exists\""),
        ("$ ? (EXISTS (@.a))", "$?(exists (@.\"a\"))"),
        ("$[1,2 to 3,last-1]", "$[1,2 to 3,last - 1]"),
        (
            "$.*.**{3}.**{last}.**{1 to 2}.**{last to 5}.**",
            "$.*.**{3}.**{last}.**{1 to 2}.**{last to 5}.**",
        ),
        (".5", "0.5"),
        ("1e3", "1000"),
        ("1.50e-2", "0.0150"),
        ("$ <> 1", "($ != 1)"),
        (
            "$.a like_regex \"x\" flag \"qismx\"",
            "($.\"a\" like_regex \"x\" flag \"ismxq\")",
        ),
        ("!exists($.a)", "!(exists ($.\"a\"))"),
    ];
    for (text, expected) in cases {
        let path = JsonPath::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(path.to_string(), expected, "{text}");
        assert_eq!(JsonPath::parse(expected), Ok(path), "{expected} reads as it was");
    }
}

#[test]
fn what_is_no_path_is_refused() {
    for (text, sqlstate, message) in [
        ("$ +", "42601", "syntax error at end of jsonpath input"),
        (
            "$ + )",
            "42601",
            "syntax error at or near \")\" of jsonpath input",
        ),
        ("@.a", "42601", "@ is not allowed in root expressions"),
        ("last", "42601", "LAST is allowed only in array subscripts"),
        ("  ", "22P02", "invalid input syntax for type jsonpath: \"  \""),
        (
            "1a",
            "42601",
            "trailing junk after numeric literal at or near \"1a\" of jsonpath input",
        ),
        (
            "1.type()",
            "42601",
            "trailing junk after numeric literal at or near \"1.t\" of jsonpath input",
        ),
        ("$.1", "42601", "syntax error at or near \".1\" of jsonpath input"),
        (
            "$.a\"",
            "42601",
            "unexpected end of quoted string at end of jsonpath input",
        ),
        (
            "\"\\u00zz\"",
            "42601",
            "invalid unicode sequence at or near \"\\u00\" of jsonpath input",
        ),
        (
            "$.a = 1",
            "42601",
            "syntax error at or near \"=\" of jsonpath input",
        ),
        ("!$.a", "42601", "syntax error at or near \"$\" of jsonpath input"),
        (
            "$ ? (1)",
            "42601",
            "syntax error at or near \")\" of jsonpath input",
        ),
        (
            "1 == 2 == 3",
            "42601",
            "syntax error at or near \"==\" of jsonpath input",
        ),
        ("$[@]", "42601", "@ is not allowed in root expressions"),
        (
            "$.a /* c ",
            "42601",
            "unexpected end of comment at end of jsonpath input",
        ),
    ] {
        let error = JsonPath::parse(text).expect_err(text);
        assert_eq!(
            (error.sqlstate(), error.to_string().as_str()),
            (sqlstate, message),
            "{text}"
        );
    }
    let long = "(".repeat(100_000);
    assert_eq!(
        JsonPath::parse(&long).map_err(|error| error.sqlstate()),
        Err("54001")
    );
}
