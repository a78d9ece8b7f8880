//! WHERE clauses as text against the predicates they mean, and against what the planner makes of them: every predicate of
//! `fixtures/predicates` that concerns a primary key gets its class, without a server.

use chrono_tz::Tz;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use super::*;
use crate::Error;
use crate::plan::tests::table_of;
use crate::plan::{AccessClass, FullScanPolicy, PlanRules, plan_access};
use crate::types::{Numeric, NumericSize};

fn parse(text: &str) -> Expr {
    Parser::new(&PostgreSqlDialect {})
        .try_with_sql(text)
        .unwrap()
        .parse_expr()
        .unwrap()
}

fn orders() -> TableDef {
    let numeric = SqlType::Numeric(Some(NumericSize {
        precision: 10,
        scale: 2,
    }));
    let columns = [
        ("a", SqlType::Int8),
        ("s", SqlType::Varchar(Some(3))),
        ("ts", SqlType::Timestamp),
        ("tz", SqlType::TimestampTz),
        ("d", SqlType::Date),
        ("n", numeric),
        ("b", SqlType::Bool),
        ("c", SqlType::Char(4)),
        ("j", SqlType::Jsonb),
        ("f", SqlType::Float8),
        ("i", SqlType::Int4),
    ];
    (*table_of("orders", &columns, &[false])).clone()
}

fn convert_in(text: &str, parameters: &[Value], time_zone: Tz) -> Result<Predicate> {
    let table = orders();
    // 2024-05-01 12:00 UTC.
    let constants = ConstantContext {
        parameters,
        time_zone,
        now_us: 1_714_564_800_000_000,
    };
    Converter {
        table: &table,
        alias: None,
        constants,
    }
    .condition(&parse(text))
}

fn convert(text: &str) -> Predicate {
    convert_in(text, &[], Tz::UTC).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn compare(column: usize, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { column, op, value }
}

fn opaque(columns: &[usize]) -> Predicate {
    Predicate::Opaque {
        columns: columns.to_vec(),
    }
}

const A: usize = 0;
const S: usize = 1;
const TS: usize = 2;
const TZ: usize = 3;
const D: usize = 4;
const N: usize = 5;
const B: usize = 6;
const C: usize = 7;
const MIDNIGHT_2024: i64 = 1_704_067_200_000_000;

#[test]
fn constants_take_the_type_of_the_column() {
    use CompareOp::*;
    let number = |text| Value::Numeric(Numeric::parse(text).unwrap());
    let text = |text: &str| Value::Text(text.to_string());
    for (sql, expected) in [
        ("a = 1", compare(A, Eq, Value::Int(1))),
        ("5 < a", compare(A, Greater, Value::Int(5))),
        ("orders.a = -5", compare(A, Eq, Value::Int(-5))),
        ("a = 1 + 2 * 3", compare(A, Eq, Value::Int(7))),
        ("a = ' 5 '", compare(A, Eq, Value::Int(5))),
        ("a = 1.5", compare(A, Eq, number("1.5"))),
        (
            "a = 9223372036854775808",
            compare(A, Eq, number("9223372036854775808")),
        ),
        (
            "a > 9007199254740992::float8",
            compare(A, Greater, Value::Float8(9_007_199_254_740_992.0)),
        ),
        ("i::bigint = 7", compare(10, Eq, Value::Int(7))),
        ("i::float8 = 7", compare(10, Eq, Value::Float8(7.0))),
        ("f = 0.1 + 0.2", compare(9, Eq, Value::Float8(0.3))),
        ("n > 1.005", compare(N, Greater, number("1.005"))),
        ("n = '2'", compare(N, Eq, number("2"))),
        (
            "s = 'longer than three'",
            compare(S, Eq, text("longer than three")),
        ),
        ("c = 'ab  '", compare(C, Eq, text("ab  "))),
        (
            "ts = 1705786502000",
            compare(TS, Eq, Value::Timestamp(1_705_786_502_000_000)),
        ),
        (
            "ts = '2024-01-01'",
            compare(TS, Eq, Value::Timestamp(MIDNIGHT_2024)),
        ),
        ("ts = DATE '2024-01-01'", compare(TS, Eq, Value::Date(19_723))),
        (
            "ts > TIMESTAMP '2024-01-01 00:00:01'",
            compare(TS, Greater, Value::Timestamp(MIDNIGHT_2024 + 1_000_000)),
        ),
        (
            "d >= '2024-01-01'::date + 1",
            compare(D, GreaterEq, Value::Date(19_724)),
        ),
        (
            "tz <= now()",
            compare(TZ, LessEq, Value::TimestampTz(1_714_564_800_000_000)),
        ),
        (
            "tz > now() - interval '1 day'",
            compare(TZ, Greater, Value::TimestampTz(1_714_478_400_000_000)),
        ),
        (
            "tz > now() - interval '1 month'",
            compare(TZ, Greater, Value::TimestampTz(1_711_972_800_000_000)),
        ),
        ("d = current_date", compare(D, Eq, Value::Date(19_844))),
        ("a = NULL", compare(A, Eq, Value::Null)),
        ("b", Predicate::IsTrue { column: B }),
        ("NOT b", Predicate::IsTrue { column: B }.negate()),
        ("b = true", compare(B, Eq, Value::Bool(true))),
        ("1 = 1", Predicate::Constant(Some(true))),
        ("NULL::text = 'x'", Predicate::Constant(None)),
        ("false", Predicate::Constant(Some(false))),
    ] {
        assert_eq!(convert(sql), expected, "{sql}");
    }
}

#[test]
fn parameters_are_put_in() {
    let text = Value::Unknown("7".to_string());
    let found = convert_in("a = $1 AND i IN ($2, $1)", &[text, Value::Int(3)], Tz::UTC).unwrap();
    let expected = Predicate::And(vec![
        compare(A, CompareOp::Eq, Value::Int(7)),
        Predicate::InList {
            column: 10,
            values: vec![Value::Int(3), Value::Int(7)],
        },
    ]);
    assert_eq!(found, expected);
    let error = convert_in("a = $1", &[Value::Unknown("x".to_string())], Tz::UTC).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.to_string().as_str()),
        ("22P02", "invalid input syntax for type bigint: \"x\"")
    );
    let array = Value::Array(vec![Value::Int(3), Value::Int(5)]);
    let found = convert_in("a = ANY($1)", &[array], Tz::UTC).unwrap();
    assert_eq!(
        found,
        Predicate::InList {
            column: A,
            values: vec![Value::Int(3), Value::Int(5)]
        }
    );
}

#[test]
fn lists_rows_and_quantifiers() {
    use CompareOp::*;
    let int = Value::Int;
    assert_eq!(
        convert("a NOT IN (1, NULL)"),
        Predicate::InList {
            column: A,
            values: vec![int(1), Value::Null]
        }
        .negate()
    );
    assert_eq!(
        convert("(a, i) > (1, 2)"),
        Predicate::RowCompare {
            columns: vec![A, 10],
            op: Greater,
            values: vec![int(1), int(2)]
        }
    );
    assert_eq!(
        convert("(1, 2) > (a, i)"),
        Predicate::RowCompare {
            columns: vec![A, 10],
            op: Less,
            values: vec![int(1), int(2)]
        }
    );
    assert_eq!(
        convert("(a, i) IN ((1, 2), (3, NULL))"),
        Predicate::RowIn {
            columns: vec![A, 10],
            rows: vec![vec![int(1), int(2)], vec![int(3), Value::Null]]
        }
    );
    assert_eq!(convert("a = ANY('{}')"), Predicate::Constant(Some(false)));
    assert_eq!(convert("a <> ALL('{}')"), Predicate::Constant(Some(true)));
    assert_eq!(
        convert("a > ANY('{3,5}')"),
        Predicate::Or(vec![compare(A, Greater, int(3)), compare(A, Greater, int(5))])
    );
    assert_eq!(
        convert("a <> ALL(ARRAY[3,5])"),
        Predicate::InList {
            column: A,
            values: vec![int(3), int(5)]
        }
        .negate()
    );
    // One float among the constants makes all of them floats, as PostgreSQL resolves the list.
    assert_eq!(
        convert("a IN (1, 2::float8)"),
        Predicate::InList {
            column: A,
            values: vec![Value::Float8(1.0), Value::Float8(2.0)]
        }
    );
    assert_eq!(
        convert("a BETWEEN 1 AND 3"),
        Predicate::And(vec![compare(A, GreaterEq, int(1)), compare(A, LessEq, int(3))])
    );
}

#[test]
fn truth_and_null_tests() {
    let distinct = |negated| Predicate::Is {
        child: Box::new(compare(A, CompareOp::Eq, Value::Int(1))),
        truth: Some(true),
        negated,
    };
    assert_eq!(convert("a IS DISTINCT FROM 1"), distinct(true));
    assert_eq!(convert("a IS NOT DISTINCT FROM 1"), distinct(false));
    assert_eq!(
        convert("a IS DISTINCT FROM NULL"),
        Predicate::IsNull { column: A }.negate()
    );
    assert_eq!(convert("(a = 1) IS NOT TRUE"), distinct(true));
    assert_eq!(
        convert("(a = 1) IS NULL"),
        Predicate::Is {
            child: Box::new(compare(A, CompareOp::Eq, Value::Int(1))),
            truth: None,
            negated: false
        }
    );
    assert_eq!(
        convert("(a, i) IS NOT NULL"),
        Predicate::And(vec![
            Predicate::IsNull { column: A }.negate(),
            Predicate::IsNull { column: 10 }.negate()
        ])
    );
    assert_eq!(convert("j IS NULL"), Predicate::IsNull { column: 8 });
}

#[test]
fn patterns() {
    let like = |pattern: &str, escape| Predicate::Like {
        column: S,
        pattern: Value::Text(pattern.to_string()),
        escape,
        case_insensitive: false,
    };
    assert_eq!(convert("s LIKE 'ab%'"), like("ab%", Some('\\')));
    assert_eq!(convert("s LIKE 'ab!%' ESCAPE '!'"), like("ab!%", Some('!')));
    assert_eq!(convert("s LIKE 'ab\\' ESCAPE ''"), like("ab\\", None));
    assert_eq!(convert("s NOT LIKE 'ab%'"), like("ab%", Some('\\')).negate());
    assert_eq!(convert("s ^@ 'a%'"), like("a\\%%", Some('\\')));
    assert_eq!(
        convert("s ~ '^ab'"),
        Predicate::And(vec![like("ab%", Some('\\')), opaque(&[S])])
    );
    assert_eq!(
        convert("s ~ '^abc?'"),
        Predicate::And(vec![like("ab%", Some('\\')), opaque(&[S])])
    );
    assert_eq!(convert("s ~ 'ab'"), opaque(&[S]));
    assert_eq!(convert("s ~ '^a|b'"), opaque(&[S]));
    assert_eq!(convert("s LIKE 'ab\\'"), opaque(&[S]));
}

#[test]
fn what_the_planner_cannot_use_is_opaque() {
    for (sql, columns) in [
        ("lower(s) = 'abc'", &[S][..]),
        ("-a = -5", &[A]),
        ("a = i", &[A, 10]),
        ("CASE WHEN a = 1 THEN b ELSE false END", &[A, B]),
        ("a = (SELECT 5)", &[A]),
        // PostgreSQL refuses these; the general path says so.
        ("a = true", &[A]),
        ("s = 5", &[S]),
        ("b = 1", &[B]),
        ("j = '{}'", &[8]),
        ("c = 'ab '::text", &[C]),
        ("a::smallint = 5", &[A]),
        ("a / 0 = 1", &[A]),
    ] {
        assert_eq!(convert(sql), opaque(columns), "{sql}");
    }
}

#[test]
fn zones_are_resolved_here() {
    let new_york = Tz::America__New_York;
    let at = |sql: &str| convert_in(sql, &[], new_york).unwrap();
    let midnight = Value::TimestampTz(MIDNIGHT_2024 + 5 * 3_600_000_000);
    assert_eq!(
        at("tz = TIMESTAMP '2024-01-01 00:00'"),
        compare(TZ, CompareOp::Eq, midnight.clone())
    );
    assert_eq!(at("tz = DATE '2024-01-01'"), compare(TZ, CompareOp::Eq, midnight));
    // 01:30 comes twice, PostgreSQL takes standard time; 02:30 does not come at all.
    let utc = |sql: &str| match at(sql) {
        Predicate::Compare {
            value: Value::TimestampTz(us),
            ..
        } => us,
        other => panic!("{other:?}"),
    };
    assert_eq!(utc("tz = TIMESTAMP '2024-11-03 01:30'"), 1_730_615_400_000_000);
    assert_eq!(utc("tz = TIMESTAMP '2024-03-10 02:30'"), 1_710_055_800_000_000);
    // Local times are not in the order of UTC where clocks are turned back: a bound, and the condition itself.
    let Predicate::And(terms) = at("ts > TIMESTAMPTZ '2024-01-01 00:00Z'") else {
        panic!("a bound")
    };
    assert!(matches!(
        terms.as_slice(),
        [
            Predicate::Compare {
                column: TS,
                op: CompareOp::GreaterEq,
                ..
            },
            Predicate::Opaque { .. }
        ]
    ));
    assert_eq!(
        convert("ts > TIMESTAMPTZ '2024-01-01 00:00Z'"),
        compare(TS, CompareOp::Greater, Value::Timestamp(MIDNIGHT_2024))
    );
    assert_eq!(
        convert("tz::date = '2024-01-01'"),
        Predicate::And(vec![
            compare(TZ, CompareOp::GreaterEq, Value::TimestampTz(MIDNIGHT_2024)),
            compare(
                TZ,
                CompareOp::Less,
                Value::TimestampTz(MIDNIGHT_2024 + 86_400_000_000)
            ),
        ])
    );
}

#[test]
fn unknown_columns_say_what_was_meant() {
    let error = |sql: &str| convert_in(sql, &[], Tz::UTC).unwrap_err();
    let quoted = error("s = \"alipay\"");
    assert_eq!(
        (quoted.sqlstate(), quoted.to_string().as_str()),
        ("42703", "column \"alipay\" does not exist")
    );
    assert!(quoted.hint().unwrap().contains("'alipay'"));
    let near = error("tss = 5");
    assert_eq!(
        near.hint().unwrap(),
        "Perhaps you meant to reference the column \"orders.ts\"."
    );
    assert_eq!(
        error("orders.nosuch = 5").to_string(),
        "column orders.nosuch does not exist"
    );
    assert_eq!(error("nosuch = a").sqlstate(), "42703");
}

#[test]
fn parameter_types_are_those_of_the_columns() {
    let infer = |sql: &str, count: usize| {
        let mut types = vec![None; count];
        infer_parameters(&parse(sql), &orders(), &mut types);
        types
    };
    assert_eq!(
        infer("a = $1 AND $2 < s", 2),
        [Some(SqlType::Int8), Some(SqlType::Text)]
    );
    assert_eq!(
        infer("(a, ts) > ($1, $2)", 2),
        [Some(SqlType::Int8), Some(SqlType::Timestamp)]
    );
    assert_eq!(
        infer("i IN ($1, $2) OR n BETWEEN $3 AND 5", 3)[2],
        Some(SqlType::Numeric(None))
    );
    assert_eq!(
        infer("a = ANY($1)", 1),
        [Some(SqlType::Array(Box::new(SqlType::Int8)))]
    );
    assert_eq!(
        infer("s LIKE $1 AND a = $2::int", 2),
        [Some(SqlType::Text), Some(SqlType::Int4)]
    );
    assert_eq!(infer("lower(s) = $1", 1), [None]);
}

#[test]
fn a_long_chain_does_not_nest() {
    let sql = (0..5000)
        .map(|number| format!("a = {number}"))
        .collect::<Vec<_>>()
        .join(" OR ");
    let Predicate::Or(children) = convert(&sql) else {
        panic!("an OR")
    };
    assert_eq!(children.len(), 5000);
}

/// The tables of `fixtures/predicates/setup.sql`: name, columns, directions of the key.
fn fixture_table(name: &str) -> Option<std::sync::Arc<TableDef>> {
    let numeric = SqlType::Numeric(Some(NumericSize {
        precision: 10,
        scale: 2,
    }));
    let (int4, text) = (SqlType::Int4, SqlType::Text);
    let (columns, directions): (Vec<(&str, SqlType)>, &[bool]) = match name {
        "ti" => (
            vec![
                ("a", SqlType::Int8),
                ("b", int4.clone()),
                ("c", int4.clone()),
                ("v", int4),
            ],
            &[false, false, false],
        ),
        "td" => (
            vec![("a", int4.clone()), ("b", int4.clone()), ("c", int4)],
            &[false, true, false],
        ),
        "ts" => (vec![("s", text), ("n", int4)], &[true, false]),
        "sa" => (vec![("s", text), ("n", int4)], &[false, false]),
        "tb" => (vec![("b", SqlType::Bool), ("n", int4)], &[false, false]),
        "tf" => (vec![("f", SqlType::Float8)], &[false]),
        "tg" => (vec![("g", SqlType::Float4)], &[false]),
        "tn" => (vec![("d", numeric)], &[false]),
        "tt" => (vec![("t", SqlType::TimestampTz)], &[false]),
        "tw" => (vec![("w", SqlType::Timestamp)], &[false]),
        "dt" => (vec![("d", SqlType::Date)], &[false]),
        "tx" => (vec![("x", SqlType::Bytea)], &[false]),
        "tu" => (vec![("u", SqlType::Uuid)], &[false]),
        "sm" => (vec![("s", SqlType::Int2)], &[false]),
        "ch" => (vec![("c", SqlType::Char(4))], &[false]),
        _ => return None,
    };
    Some(table_of(name, &columns, directions))
}

#[test]
fn every_fixture_predicate_has_its_class() {
    let text = std::fs::read_to_string("fixtures/predicates/predicates.jsonl").unwrap();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for line in text.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let (Some(table), Some(sql)) = (
            fixture_table(entry["table"].as_str().unwrap()),
            entry["pred"].as_str(),
        ) else {
            continue;
        };
        let constants = ConstantContext {
            parameters: &[],
            time_zone: Tz::UTC,
            now_us: 1_800_000_000_000_000,
        };
        let selection = where_clause(sql);
        let predicate = Converter {
            table: &table,
            alias: None,
            constants,
        }
        .condition(&selection)
        .unwrap();
        let rules = PlanRules {
            full_scan: FullScanPolicy::Reject,
            multi_get_keys_max: 2000,
            ranges_max: 1024,
        };
        let found = match plan_access(&table, Some(&predicate), &rules) {
            Ok(path) => match path.class {
                AccessClass::Empty => "EMPTY".to_string(),
                AccessClass::MultiGet { keys } => format!("POINT({})", keys.len()),
                AccessClass::RangeScan { ranges, .. } => format!("RANGE({})", ranges.len()),
                AccessClass::FullScan { .. } => unreachable!("it was not allowed"),
            },
            Err(Error::FullScan { .. }) => "FULL".to_string(),
            Err(Error::TooManyKeys { .. }) => "TOOMANY".to_string(),
            Err(other) => panic!("{other}"),
        };
        let expected = entry["cls"].as_str().unwrap();
        if !class_matches(expected, &found) {
            wrong.push(format!("{}: {sql}: {found}, not {expected}", entry["id"]));
        }
        seen += 1;
    }
    assert!(seen > 100, "{seen} predicates");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A condition as the statement's own parser reads it.
fn where_clause(sql: &str) -> Expr {
    let statements = crate::sql::parse(&format!("SELECT 1 WHERE {sql}")).unwrap();
    let sqlparser::ast::Statement::Query(query) = &statements[0].ast else {
        panic!("a query")
    };
    let sqlparser::ast::SetExpr::Select(select) = query.body.as_ref() else {
        panic!("a SELECT")
    };
    select.selection.clone().unwrap()
}

/// `RANGE(1..2)`, `RANGE(<=4)`, `POINT(1) or EMPTY`, `RANGE/POINT(<=4)`, `ANY`. Fewer ranges than stated are as good:
/// those that touch (`a IN (1, 2)` on an integer) are read as one.
fn class_matches(expected: &str, found: &str) -> bool {
    let (class, count) = found.split_once('(').unwrap_or((found, ""));
    let count: Option<usize> = count.trim_end_matches(')').parse().ok();
    expected == "ANY"
        || expected
            .split(" or ")
            .flat_map(|one| alternatives(one))
            .any(|(name, counts)| {
                name == class
                    && count.is_none_or(|count| {
                        counts.is_none_or(|(low, high)| count <= high && (low <= count || name == "RANGE"))
                    })
            })
}

/// A class as the fixture writes it: names, and the counts allowed.
fn alternatives(class: &str) -> Vec<(&str, Option<(usize, usize)>)> {
    let (names, counts) = class.split_once('(').unwrap_or((class, ""));
    let counts = counts.trim_end_matches(')');
    let counts = if let Some(most) = counts.strip_prefix("<=") {
        most.parse().ok().map(|most| (1, most))
    } else if let Some((low, high)) = counts.split_once("..") {
        low.parse().ok().zip(high.parse().ok())
    } else {
        counts.parse().ok().map(|exactly| (exactly, exactly))
    };
    names.split('/').map(|name| (name, counts)).collect()
}
