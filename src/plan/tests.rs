//! The planner against brute force: random predicates over random schemas, directions and rows, with a slow evaluator
//! that knows nothing of keys; and the cases of the reference algebra, one line each.

use std::cmp::Ordering;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{Rng, SeedableRng};

use super::compare::compare;
use super::like::LikePattern;
use super::*;
use crate::Error;
use crate::catalog::{ColumnDef, IndexDef, KeyColumn, TableDef};
use crate::codec::key;
use crate::codec::keyspace::entry_prefix;
use crate::types::{Numeric, NumericSize, SqlType, Value};

/// A table of columns `a`, `b`, … whose first `directions.len()` are its key; `true` is DESC.
pub(crate) fn table(types: &[SqlType], directions: &[bool]) -> Arc<TableDef> {
    let names: Vec<String> = (0..types.len())
        .map(|at| char::from(b'a' + at as u8).to_string())
        .collect();
    let columns: Vec<_> = names
        .iter()
        .map(String::as_str)
        .zip(types.iter().cloned())
        .collect();
    table_of("t", &columns, directions)
}

/// A table with these columns, of which the first `directions.len()` are its key.
pub(crate) fn table_of(name: &str, columns: &[(&str, SqlType)], directions: &[bool]) -> Arc<TableDef> {
    let next_column_id = columns.len() as u16 + 1;
    let columns = columns.iter().enumerate().map(|(at, (name, ty))| ColumnDef {
        not_null: at < directions.len(),
        ..ColumnDef::new(at as u16 + 1, *name, ty.clone())
    });
    let key = directions.iter().enumerate().map(|(at, descending)| KeyColumn {
        column: at as u16 + 1,
        descending: *descending,
        nulls_first: *descending,
    });
    Arc::new(TableDef {
        version: 1,
        next_column_id,
        ..TableDef::new(
            (7, 16_391),
            "public",
            name,
            columns.collect(),
            IndexDef {
                constraint: true,
                unique: true,
                ..IndexDef::new(0, 16_392, format!("{name}_pkey"), key.collect())
            },
        )
    })
}

fn rules(full_scan: FullScanPolicy, multi_get_keys_max: usize, ranges_max: usize) -> PlanRules {
    PlanRules {
        full_scan,
        multi_get_keys_max,
        ranges_max,
        index_hint: None,
        database: "test".into(),
    }
}

/// The truth of a predicate for one row, as PostgreSQL defines it.
pub(crate) fn truth(predicate: &Predicate, types: &[SqlType], row: &[Value]) -> Option<bool> {
    let compared = |column: usize, op: CompareOp, value: &Value| {
        compare(&types[column], &row[column], value).map(|ordering| op.holds(ordering))
    };
    match predicate {
        Predicate::Constant(truth) => *truth,
        Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => Some(true),
        Predicate::Compare { column, op, value } => compared(*column, *op, value),
        Predicate::InList { column, values } => {
            any(values.iter().map(|value| compared(*column, CompareOp::Eq, value)))
        }
        Predicate::IsNull { column } => Some(row[*column] == Value::Null),
        Predicate::IsTrue { column } => match row[*column] {
            Value::Bool(truth) => Some(truth),
            _ => None,
        },
        Predicate::Like {
            column,
            pattern,
            escape,
            case_insensitive,
        } => {
            let (Value::Text(text), Value::Text(pattern)) = (&row[*column], pattern) else {
                return None;
            };
            let pattern = LikePattern::parse(pattern.as_bytes(), *escape);
            let found = match case_insensitive {
                true => pattern
                    .to_lowercase()
                    .matches(text.to_lowercase().as_bytes(), true),
                false => pattern.matches(text.as_bytes(), true),
            };
            Some(found.unwrap())
        }
        Predicate::RowIn { columns, rows } => any(rows.iter().map(|values| {
            all(columns
                .iter()
                .zip(values)
                .map(|(column, value)| compared(*column, CompareOp::Eq, value)))
        })),
        Predicate::And(children) => all(children.iter().map(|child| truth(child, types, row))),
        Predicate::Or(children) => any(children.iter().map(|child| truth(child, types, row))),
        Predicate::Not(child) => truth(child, types, row).map(|truth| !truth),
        Predicate::Is {
            child,
            truth: asked,
            negated,
        } => Some((truth(child, types, row) == *asked) != *negated),
        // Tests read an opaque condition as one that is true of some rows and not of others.
        Predicate::Opaque { columns } => {
            let column = columns.first()?;
            (row[*column] != Value::Null).then(|| format!("{:?}", row[*column]).len().is_multiple_of(3))
        }
    }
}

fn all(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for truth in truths {
        match truth {
            Some(false) => return Some(false),
            None => result = None,
            Some(true) => {}
        }
    }
    result
}

fn any(truths: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(truths.map(|truth| truth.map(|truth| !truth))).map(|truth| !truth)
}

pub(crate) fn numeric(text: &str) -> Value {
    Value::Numeric(Numeric::parse(text).unwrap())
}

fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Types that the random tests draw from.
pub(crate) fn random_type(random: &mut StdRng) -> SqlType {
    let types = [
        SqlType::Int8,
        SqlType::Int8,
        SqlType::Int4,
        SqlType::Int2,
        SqlType::Text,
        SqlType::Text,
        SqlType::Char(Some(4)),
        SqlType::Citext,
        SqlType::Numeric(Some(NumericSize {
            precision: 10,
            scale: 2,
        })),
        SqlType::Numeric(Some(NumericSize {
            precision: 38,
            scale: 4,
        })),
        SqlType::Float8,
        SqlType::Float4,
        SqlType::Bool,
        SqlType::Date,
        SqlType::Timestamp(None),
        SqlType::Bytea,
        SqlType::Uuid,
    ];
    types.choose(random).unwrap().clone()
}

/// A value that a column of the type can hold.
#[allow(clippy::too_many_lines, reason = "one arm a type")]
pub(crate) fn random_value(random: &mut StdRng, ty: &SqlType) -> Value {
    let ints = |all: &[i64], random: &mut StdRng| *all.choose(random).unwrap();
    match ty {
        SqlType::Int8 => Value::Int(ints(
            &[
                i64::MIN,
                i64::MIN + 1,
                -2,
                -1,
                0,
                1,
                2,
                3,
                254,
                255,
                256,
                (1 << 53) + 1,
                1 << 53,
                i64::MAX - 1,
                i64::MAX,
            ],
            random,
        )),
        SqlType::Int4 => Value::Int(ints(
            &[i32::MIN.into(), -2, -1, 0, 1, 2, 3, 255, 256, i32::MAX.into()],
            random,
        )),
        SqlType::Int2 => Value::Int(ints(&[i16::MIN.into(), -1, 0, 1, 2, 3, i16::MAX.into()], random)),
        SqlType::Text => text(
            [
                "",
                "a",
                "a\u{1}",
                "ab",
                "ab\u{ff}",
                "abc",
                "b",
                "\u{10ffff}",
                "\u{10ffff}z",
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Citext => text(
            [
                "", "a", "A", "aB", "AB\u{ff}", "ab", "Abc", "B", "\u{c9}", "\u{e9}z",
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Char(_) => text(
            ["    ", "a   ", "ab  ", "abc ", "abcd", "b   "]
                .choose(random)
                .unwrap(),
        ),
        SqlType::Numeric(Some(size)) if size.precision == 10 => numeric(
            [
                "-99999999.99",
                "-1.01",
                "-1.00",
                "-0.01",
                "0.00",
                "1.00",
                "1.50",
                "2.00",
                "99999999.99",
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Numeric(_) => numeric(
            [
                "-9999999999999999999999999999999999.9999",
                "-1.0000",
                "0.0000",
                "1.0000",
                "1.5000",
                "2.0000",
                "9999999999999999999999999999999999.9999",
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Float8 => Value::Float8(
            *[
                f64::NEG_INFINITY,
                -1.5,
                -5e-324,
                0.0,
                5e-324,
                0.1,
                1.0,
                1.5,
                2.0,
                1e300,
                f64::INFINITY,
                f64::NAN,
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Float4 => Value::Float4(
            *[
                f32::NEG_INFINITY,
                -1.5,
                0.0,
                0.1,
                1.0,
                1.1,
                1.5,
                2.0,
                f32::MAX,
                f32::INFINITY,
                f32::NAN,
            ]
            .choose(random)
            .unwrap(),
        ),
        SqlType::Bool => Value::Bool(random.random()),
        SqlType::Date => Value::Date(*[i32::MIN, -1, 0, 1, 2, 19723, i32::MAX].choose(random).unwrap()),
        SqlType::Timestamp(_) => Value::Timestamp(ints(
            &[i64::MIN, -1, 0, 1, 86_400_000_000, 172_800_000_000, i64::MAX],
            random,
        )),
        SqlType::Bytea => {
            let all: [&[u8]; 9] = [
                b"",
                b"\0",
                b"\0\0",
                b"\0\x01",
                b"\0\xff",
                b"a",
                b"\xff",
                b"\xff\0",
                b"\xff\xff",
            ];
            Value::Bytes(all.choose(random).unwrap().to_vec())
        }
        SqlType::Uuid => {
            let mut bytes = [0; 16];
            bytes[0] = *[0, 0x7f, 0x80, 0xff].choose(random).unwrap();
            bytes[15] = *[0, 0xff].choose(random).unwrap();
            Value::Uuid(bytes)
        }
        other => panic!("no values for {other}"),
    }
}

/// A constant that a column of the type may meet, of its own or of another type.
pub(crate) fn random_constant(random: &mut StdRng, ty: &SqlType) -> Value {
    if random.random_bool(0.08) {
        return Value::Null;
    }
    if random.random_bool(0.5) {
        return random_value(random, ty);
    }
    match ty {
        SqlType::Int2
        | SqlType::Int4
        | SqlType::Int8
        | SqlType::Float4
        | SqlType::Float8
        | SqlType::Numeric(_) => {
            let all = [
                Value::Int(40_000),
                Value::Int(1 << 40),
                Value::Int(2),
                numeric("1.5"),
                numeric("-0.5"),
                numeric("1.005"),
                numeric("-1.005"),
                numeric("2.0"),
                numeric("9223372036854775808"),
                numeric("-9223372036854775809"),
                numeric("1e50"),
                Value::Numeric(Numeric::NaN),
                Value::Numeric(Numeric::Infinity),
                Value::Numeric(Numeric::NegativeInfinity),
                Value::Float8(1.1),
                Value::Float8(-0.0),
                Value::Float8(9_007_199_254_740_992.0),
                Value::Float8(9.223_372_036_854_776e18),
                Value::Float8(1e39),
                Value::Float8(f64::NAN),
                Value::Float8(f64::NEG_INFINITY),
                Value::Float4(1.1),
                Value::Float4(2.0),
            ];
            all.choose(random).unwrap().clone()
        }
        SqlType::Char(_) => text(["a", "ab ", "abcde", ""].choose(random).unwrap()),
        SqlType::Citext => text(["A", "aB", "abc ", "\u{e9}", ""].choose(random).unwrap()),
        SqlType::Date => Value::Timestamp(
            *[i64::MIN, -1, 0, 5, 86_400_000_000, i64::MAX]
                .choose(random)
                .unwrap(),
        ),
        SqlType::Timestamp(_) => Value::Date(
            *[i32::MIN, -1, 0, 1, i32::MAX, i32::MAX - 1]
                .choose(random)
                .unwrap(),
        ),
        other => random_value(random, other),
    }
}

fn random_op(random: &mut StdRng) -> CompareOp {
    use CompareOp::*;
    *[Eq, NotEq, Less, LessEq, Greater, GreaterEq]
        .choose(random)
        .unwrap()
}

/// A random predicate over columns of the types.
pub(crate) fn random_predicate(
    random: &mut StdRng,
    types: &[SqlType],
    depth: usize,
    opaque: bool,
) -> Predicate {
    if depth == 0 || random.random_bool(0.35) {
        return random_leaf(random, types, opaque);
    }
    let count = random.random_range(2..=4);
    let shape = random.random_range(0..100);
    let mut child = || random_predicate(random, types, depth - 1, opaque);
    match shape {
        0..40 => Predicate::And((0..count).map(|_| child()).collect()),
        40..75 => Predicate::Or((0..count).map(|_| child()).collect()),
        75..90 => Predicate::Not(Box::new(child())),
        _ => {
            let child = Box::new(child());
            let truth = *[Some(true), Some(false), None].choose(random).unwrap();
            Predicate::Is {
                child,
                truth,
                negated: random.random(),
            }
        }
    }
}

fn random_leaf(random: &mut StdRng, types: &[SqlType], opaque: bool) -> Predicate {
    let column = random.random_range(0..types.len());
    let ty = &types[column];
    match random.random_range(0..100) {
        0..40 => Predicate::Compare {
            column,
            op: random_op(random),
            value: random_constant(random, ty),
        },
        40..55 => {
            let count = random.random_range(1..=5);
            Predicate::InList {
                column,
                values: (0..count).map(|_| random_constant(random, ty)).collect(),
            }
        }
        55..60 => Predicate::IsNull { column },
        60..85 => {
            let mut columns: Vec<usize> = (0..types.len()).collect();
            for at in (1..columns.len()).rev() {
                if random.random_bool(0.3) {
                    columns.swap(at, random.random_range(0..=at));
                }
            }
            columns.truncate(random.random_range(1..=types.len()));
            let mut row = || {
                columns
                    .iter()
                    .map(|column| random_constant(random, &types[*column]))
                    .collect()
            };
            let rows = vec![row(), row(), row()];
            Predicate::RowIn { columns, rows }
        }
        85..92 => match ty {
            SqlType::Text | SqlType::Char(_) | SqlType::Citext => {
                let patterns = [
                    "",
                    "%",
                    "a%",
                    "ab",
                    "ab%",
                    "a_",
                    "%b",
                    "a%b%",
                    "\u{ff}%",
                    "\u{10ffff}%",
                    "ab %",
                    "ab  ",
                    "abcd",
                    "A%",
                    "AB",
                    "\u{c9}%",
                ];
                Predicate::Like {
                    column,
                    pattern: text(patterns.choose(random).unwrap()),
                    escape: Some('\\'),
                    case_insensitive: random.random_bool(if *ty == SqlType::Citext { 0.7 } else { 0.2 }),
                }
            }
            SqlType::Bool => Predicate::IsTrue { column },
            _ => Predicate::IsNull { column },
        },
        92..96 => Predicate::Constant(*[Some(true), Some(false), None].choose(random).unwrap()),
        _ if opaque => Predicate::Opaque {
            columns: vec![column],
        },
        _ => Predicate::IsNull { column },
    }
}

/// The key under which a row stands in the table, or in one of its indexes.
fn stored_key(table: &TableDef, index: &IndexDef, row: &[Value]) -> Vec<u8> {
    let mut bytes = entry_prefix(table.id, index.id).to_vec();
    let mut columns = table.sort_columns(index);
    let value = |key: &KeyColumn| &row[usize::from(key.column) - 1];
    let is_exclusive = index.unique && index.columns.iter().all(|key| *value(key) != Value::Null);
    if is_exclusive {
        columns.truncate(index.columns.len());
    }
    for (key, field) in columns.iter().zip(table.fields_of(&columns)) {
        key::encode_value(&mut bytes, value(key), &field);
    }
    bytes
}

/// Up to two indexes over any columns.
fn random_indexes(random: &mut StdRng, table: &TableDef) -> Vec<IndexDef> {
    let index = |id: u16, random: &mut StdRng| {
        let mut ids: Vec<u16> = table.columns.iter().map(|column| column.id).collect();
        ids.shuffle(random);
        ids.truncate(random.random_range(1..=ids.len()));
        let key = |column: u16| KeyColumn {
            column,
            descending: random.random(),
            nulls_first: random.random(),
        };
        IndexDef {
            id,
            columns: ids.into_iter().map(key).collect(),
            unique: random.random(),
            nulls_not_distinct: false,
            terms: None,
            ..table.primary_key.clone()
        }
    };
    (1..=random.random_range(0..=2))
        .map(|id| index(id, random))
        .collect()
}

fn inside(path: &AccessPath, stored: &Vec<u8>) -> bool {
    match &path.class {
        AccessClass::Empty => false,
        AccessClass::MultiGet { keys } => keys.binary_search(stored).is_ok(),
        AccessClass::RangeScan { ranges, .. } => ranges
            .iter()
            .any(|range| range.start <= *stored && range.end.as_ref().is_none_or(|end| stored < end)),
        AccessClass::Union { .. } => panic!("its parts are asked"),
        AccessClass::TermScan(_) => panic!("no index of these tables is inverted"),
        AccessClass::FullScan { range } | AccessClass::SmallScan { range, .. } => {
            range.start <= *stored && range.end.as_ref().is_none_or(|end| stored < end)
        }
    }
}

fn assert_ordered(path: &AccessPath, rules: &PlanRules) {
    match &path.class {
        AccessClass::MultiGet { keys } => {
            assert!(keys.is_sorted_by(|left, right| left < right));
            assert!(keys.len() <= rules.keys_max());
        }
        AccessClass::RangeScan { ranges, .. } => {
            assert!(ranges.len() <= rules.ranges_max);
            assert!(
                ranges
                    .iter()
                    .all(|range| range.end.as_ref().is_none_or(|end| range.start < *end)),
                "{ranges:?}"
            );
            let disjoint = |pair: &[crate::store::KeyRange]| {
                pair[0].end.as_ref().is_some_and(|end| *end < pair[1].start)
            };
            assert!(ranges.windows(2).all(disjoint), "{ranges:?}");
        }
        AccessClass::Empty | AccessClass::FullScan { .. } | AccessClass::SmallScan { .. } => {}
        AccessClass::Union { .. } => panic!("its parts are asked"),
        AccessClass::TermScan(_) => panic!("no index of these tables is inverted"),
    }
}

/// A table of random columns, keys and indexes.
struct RandomTable {
    table: Arc<TableDef>,
    /// Of its columns.
    types: Vec<SqlType>,
    /// So many of the columns are given values.
    given: usize,
    /// So many of the columns may be named in conditions.
    nameable: usize,
    /// So many of those that are given are the key.
    key_columns: usize,
}

/// `others`: columns outside the key, which may hold NULL.
fn random_table(random: &mut StdRng, others: usize) -> RandomTable {
    let key_columns = random.random_range(1..=3);
    let directions: Vec<bool> = (0..key_columns).map(|_| random.random()).collect();
    let mut types: Vec<_> = (0..key_columns + others).map(|_| random_type(random)).collect();
    let given = types.len();
    let mut table = TableDef::clone(&table(&types, &directions));
    let is_spread = spread::spread(random, &mut table);
    types.extend(is_spread.map(|_| SqlType::Int8));
    table.indexes = random_indexes(random, &table);
    let table = Arc::new(table);
    spread::publish(&table);
    RandomTable {
        table,
        nameable: match is_spread {
            Some(true) => types.len(),
            _ => given,
        },
        types,
        given,
        key_columns,
    }
}

#[test]
fn random_predicates_are_covered_soundly_and_tightly() {
    let trials = std::env::var("KEYSPAN_PLAN_TRIALS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(3000);
    let mut random = StdRng::seed_from_u64(20_240_501);
    let mut classes = std::collections::BTreeSet::new();
    let (mut derived, mut fanned_out) = (0, 0);
    for trial in 0..trials {
        let RandomTable {
            table,
            types,
            given,
            nameable,
            key_columns,
        } = random_table(&mut random, 2);
        let predicate = random_predicate(&mut random, &types[..nameable], 3, true);
        let (keys_max, ranges_max) = *[(2000, 1024), (6, 4), (20, 8), (3, 1)]
            .choose(&mut random)
            .unwrap();
        let rules = rules(FullScanPolicy::Allow, keys_max, ranges_max);
        let path = match plan_access(&table, Some(&predicate), Wanted::default(), &rules) {
            Ok(path) => path,
            Err(Error::TooManyKeys { keys, keys_max }) => {
                assert!(keys > keys_max as u128);
                continue;
            }
            Err(other) => panic!("{other}"),
        };
        let parts = match &path.class {
            AccessClass::Union { parts } => parts.as_slice(),
            _ => std::slice::from_ref(&path),
        };
        parts.iter().for_each(|part| assert_ordered(part, &rules));
        classes.insert((class_of(&path), path.index == 0));
        derived += usize::from(parts.iter().any(|part| !part.derived.is_empty()));
        let is_spread = table.few_first_values(&table.primary_key).is_some();
        fanned_out += usize::from(path.index == 0 && is_spread && class_of(&path) == "range");
        for _ in 0..100 {
            let mut row: Vec<_> = types[..given]
                .iter()
                .map(|ty| random_value(&mut random, ty))
                .collect();
            for value in &mut row[key_columns..] {
                if random.random_bool(0.2) {
                    *value = Value::Null;
                }
            }
            spread::complete(&table, &mut row);
            let matches = truth(&predicate, &types, &row) == Some(true);
            let read = |part: &&AccessPath| inside(part, &stored_key(&table, part.key(), &row));
            let checked = |part: &&AccessPath| {
                let residual = part.residual.as_ref();
                residual.is_none_or(|residual| truth(residual, &types, &row) == Some(true))
            };
            let given = parts.iter().filter(read).filter(checked).count();
            let read = parts.iter().any(|part| read(&part));
            let say = || format!("trial {trial}: {table:?}\n{predicate:#?}\n{row:?}\n{path:#?}");
            assert!(!matches || read, "a matching row is not read: {}", say());
            assert_eq!(
                given,
                usize::from(matches),
                "what is read and passes the residual is not what matches, once: {}",
                say()
            );
            let pinned = path
                .pinned
                .iter()
                .all(|column| !matches || pins(&path, *column, &row));
            assert!(pinned, "{}", say());
        }
    }
    assert!(derived > 20 && fanned_out > 20, "{derived}, {fanned_out}");
    let of_primary = ["empty", "multi-get", "range", "full", "union"].map(|class| (class, true));
    for seen in of_primary.iter().chain(&[("multi-get", false), ("range", false)]) {
        assert!(classes.contains(seen), "no {seen:?} in {classes:?}");
    }
}

/// The rows of a path in the order in which they are read.
fn read_in_order<'r>(path: &AccessPath, rows: &'r [Vec<Value>]) -> Vec<&'r Vec<Value>> {
    let within = |range: &crate::store::KeyRange, key: &Vec<u8>| {
        range.start <= *key && range.end.as_ref().is_none_or(|end| key < end)
    };
    let mut read = Vec::new();
    for row in rows {
        let key = stored_key(&path.table, path.key(), row);
        let Some(merge) = &path.merge else {
            if inside(path, &key) {
                read.push((key, row));
            }
            continue;
        };
        let parts: Vec<_> = merge
            .parts
            .iter()
            .filter(|part| within(&part.range, &key))
            .collect();
        assert_eq!(
            parts.len(),
            usize::from(inside(path, &key)),
            "a part each: {path:#?} {row:?}"
        );
        read.extend(parts.iter().map(|part| (key[part.prefix_bytes..].to_vec(), row)));
    }
    read.sort_by(|(left, _), (right, _)| left.cmp(right));
    if path.reverse {
        read.reverse();
    }
    read.into_iter().map(|(_, row)| row).collect()
}

/// How two rows stand in the order asked for.
fn order_of(types: &[SqlType], order: &[OrderColumn], left: &[Value], right: &[Value]) -> Ordering {
    let by_column = |wanted: &OrderColumn| {
        let at = wanted.column;
        match (&left[at], &right[at]) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) if wanted.nulls_first => Ordering::Less,
            (_, Value::Null) if wanted.nulls_first => Ordering::Greater,
            (Value::Null, _) => Ordering::Greater,
            (_, Value::Null) => Ordering::Less,
            (left, right) => {
                let ordering = compare(&types[at], left, right).unwrap();
                if wanted.descending {
                    ordering.reverse()
                } else {
                    ordering
                }
            }
        }
    };
    let mut orders = order.iter().map(by_column);
    orders
        .find(|ordering| ordering.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[test]
fn rows_come_in_the_order_that_a_path_serves() {
    let mut random = StdRng::seed_from_u64(7);
    let (mut plain, mut merged) = (0, 0);
    for trial in 0..4000 {
        let RandomTable {
            table,
            types,
            given,
            nameable,
            key_columns,
        } = random_table(&mut random, 1);
        let predicate = match random.random() {
            true => random_predicate(&mut random, &types[..nameable], 2, false),
            false => Predicate::InList {
                column: 0,
                values: (0..4).map(|_| random_value(&mut random, &types[0])).collect(),
            },
        };
        let Ok(mut path) = plan_access(
            &table,
            Some(&predicate),
            Wanted::default(),
            &rules(FullScanPolicy::Allow, 5, 100),
        ) else {
            continue;
        };
        let mut columns: Vec<usize> = (0..nameable).collect();
        columns.shuffle(&mut random);
        columns.truncate(random.random_range(1..=nameable));
        let order: Vec<OrderColumn> = columns
            .into_iter()
            .map(|column| OrderColumn {
                column,
                descending: random.random(),
                nulls_first: random.random(),
            })
            .collect();
        if !path.serve(&order, true) {
            continue;
        }
        *if path.merge.is_some() {
            &mut merged
        } else {
            &mut plain
        } += 1;
        let mut rows = std::collections::BTreeMap::new();
        for _ in 0..60 {
            let mut row: Vec<_> = types[..given]
                .iter()
                .map(|ty| random_value(&mut random, ty))
                .collect();
            if random.random_bool(0.2) {
                row[key_columns] = Value::Null;
            }
            spread::complete(&table, &mut row);
            if truth(&predicate, &types, &row) == Some(true) {
                rows.insert(stored_key(&table, &table.primary_key, &row), row);
            }
        }
        let rows: Vec<Vec<Value>> = rows.into_values().collect();
        let read = read_in_order(&path, &rows);
        for pair in read.windows(2) {
            // Rows that a unique index would not let stand side by side.
            let keys = [0, 1].map(|at| stored_key(&table, path.key(), pair[at]));
            if keys[0] == keys[1] {
                continue;
            }
            let ordering = order_of(&types, &order, pair[0], pair[1]);
            assert!(
                ordering.is_le(),
                "trial {trial}: {types:?} {predicate:?}\n{order:?}\n{pair:?}\n{path:#?}"
            );
        }
    }
    assert!(plain > 100 && merged > 100, "{plain} plain, {merged} merged");
}

fn class_of(path: &AccessPath) -> &'static str {
    match &path.class {
        AccessClass::Empty => "empty",
        AccessClass::MultiGet { .. } => "multi-get",
        AccessClass::RangeScan { .. } => "range",
        AccessClass::FullScan { .. } => "full",
        AccessClass::SmallScan { .. } => "small",
        AccessClass::Union { .. } => "union",
        AccessClass::TermScan(_) => "terms",
    }
}

/// Whether the row's value in a pinned column is the one that every key or range starts with there.
fn pins(path: &AccessPath, column: usize, row: &[Value]) -> bool {
    // Rows that match must agree with one another: compare with the first that was seen through the plan's own bytes.
    let table = &path.table;
    let columns = table.sort_columns(path.key());
    let id = table.columns[column].id;
    let position = columns.iter().position(|key| key.column == id).unwrap();
    let fields = table.fields_of(&columns);
    let AccessClass::MultiGet { keys } = &path.class else {
        return true;
    };
    let Some(first) = keys.first() else { return true };
    let mut rest = &first[6..];
    for field in &fields[..position] {
        rest = &rest[key::field_length(rest, field).unwrap()..];
    }
    let mut wanted = Vec::new();
    key::encode_value(&mut wanted, &row[column], &fields[position]);
    rest.starts_with(&wanted)
}

mod cases;
mod kept;
mod spread;
