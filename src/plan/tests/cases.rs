//! The cases of the reference algebra: class, count and whether a residual is left.

use super::*;

const MAX: i64 = i64::MAX;

fn int(value: i64) -> Value {
    Value::Int(value)
}
fn compare(column: usize, op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare { column, op, value }
}
fn eq(column: usize, value: i64) -> Predicate {
    compare(column, CompareOp::Eq, int(value))
}
fn gt(column: usize, value: i64) -> Predicate {
    compare(column, CompareOp::Greater, int(value))
}
fn ge(column: usize, value: i64) -> Predicate {
    compare(column, CompareOp::GreaterEq, int(value))
}
fn lt(column: usize, value: i64) -> Predicate {
    compare(column, CompareOp::Less, int(value))
}
fn le(column: usize, value: i64) -> Predicate {
    compare(column, CompareOp::LessEq, int(value))
}
fn and(children: impl IntoIterator<Item = Predicate>) -> Predicate {
    Predicate::And(children.into_iter().collect())
}
fn or(children: impl IntoIterator<Item = Predicate>) -> Predicate {
    Predicate::Or(children.into_iter().collect())
}
fn not(child: Predicate) -> Predicate {
    Predicate::Not(Box::new(child))
}
fn within(column: usize, values: impl IntoIterator<Item = i64>) -> Predicate {
    Predicate::InList {
        column,
        values: values.into_iter().map(int).collect(),
    }
}
/// `(c1, c2, …) op (v1, v2, …)` as it is bound: the first pair that is unequal or NULL decides.
fn row(columns: &[usize], op: CompareOp, values: &[Option<i64>]) -> Predicate {
    let compare = |at: usize, op| Predicate::Compare {
        column: columns[at],
        op,
        value: values[at].map_or(Value::Null, int),
    };
    let last = columns.len() - 1;
    let strict = match op {
        CompareOp::LessEq => CompareOp::Less,
        CompareOp::GreaterEq => CompareOp::Greater,
        other => other,
    };
    let alternative = |at: usize| {
        let mut terms: Vec<_> = (0..at).map(|before| compare(before, CompareOp::Eq)).collect();
        terms.push(compare(at, if at == last { op } else { strict }));
        Predicate::all(terms)
    };
    match op {
        CompareOp::Eq => Predicate::all((0..=last).map(|at| compare(at, op)).collect()),
        CompareOp::NotEq => Predicate::any((0..=last).map(|at| compare(at, op)).collect()),
        _ => Predicate::any((0..=last).map(alternative).collect()),
    }
}
fn row_in(columns: &[usize], rows: &[[Option<i64>; 2]]) -> Predicate {
    let value = |value: &Option<i64>| value.map_or(Value::Null, int);
    Predicate::RowIn {
        columns: columns.to_vec(),
        rows: rows.iter().map(|row| row.iter().map(value).collect()).collect(),
    }
}
fn like(pattern: &str) -> Predicate {
    Predicate::Like {
        column: 0,
        pattern: text(pattern),
        escape: Some('\\'),
        case_insensitive: false,
    }
}

/// `POINT(2)`, `RANGE(1)`, with ` +residual`; `EMPTY`, `FULL`, `TOOMANY(n)`.
fn verdict(table: &Arc<TableDef>, predicate: &Predicate) -> String {
    let path = match plan_access(
        table,
        Some(predicate),
        Wanted::default(),
        &rules(FullScanPolicy::Reject, 2000, 1024),
    ) {
        Ok(path) => path,
        Err(Error::FullScan { .. }) => return "FULL".to_string(),
        Err(Error::TooManyKeys { keys, .. }) => return format!("TOOMANY({keys})"),
        Err(other) => panic!("{other}"),
    };
    let class = match &path.class {
        AccessClass::Empty => "EMPTY".to_string(),
        AccessClass::MultiGet { keys } => format!("POINT({})", keys.len()),
        AccessClass::RangeScan { ranges, .. } => format!("RANGE({})", ranges.len()),
        AccessClass::FullScan { .. } => "FULL allowed".to_string(),
        AccessClass::SmallScan { rows_max, .. } => format!("SMALL({rows_max})"),
        AccessClass::Union { parts } => format!("UNION({})", parts.len()),
        AccessClass::TermScan(terms) => format!("TERMS({})", terms.sets.len()),
    };
    format!(
        "{class}{}",
        if path.residual.is_some() { " +residual" } else { "" }
    )
}

fn check(directions: [bool; 3], predicate: Predicate, expected: &str) {
    let table = table(
        &[SqlType::Int8, SqlType::Int8, SqlType::Int8, SqlType::Int4],
        &directions,
    );
    assert_eq!(verdict(&table, &predicate), expected, "{predicate:?}");
}

const ASC: [bool; 3] = [false; 3];
const MIX: [bool; 3] = [false, true, false];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const V: usize = 3;

#[test]
fn points_and_contradictions() {
    check(ASC, and([eq(A, 1), eq(B, 2), eq(C, 3)]), "POINT(1)");
    check(
        ASC,
        and([within(A, [1, 2, 2, 1]), within(B, [1, 2, 3]), eq(C, 1)]),
        "POINT(6)",
    );
    check(ASC, and([eq(A, 1), eq(A, 2)]), "EMPTY");
    check(ASC, and([gt(A, 2), lt(A, 4), eq(B, 1), eq(C, 2)]), "POINT(1)");
    check(
        ASC,
        and([eq(A, 1), and([eq(B, 2), Predicate::Constant(None)])]),
        "EMPTY",
    );
    check(
        ASC,
        and([or([eq(A, 1), Predicate::Constant(None)]), eq(B, 2), eq(C, 1)]),
        "POINT(1)",
    );
    check(ASC, and([within(A, [1; 3000]), eq(B, 2), eq(C, 1)]), "POINT(1)");
    check(
        ASC,
        and([within(A, 0..2001), eq(B, 2), eq(C, 1)]),
        "TOOMANY(2001)",
    );
    check(
        ASC,
        and([within(A, 0..60), within(B, 0..60), within(C, [1, 2, 3])]),
        "TOOMANY(10800)",
    );
    check(
        ASC,
        and([within(A, 0..40), within(B, 0..40), eq(C, 1), eq(A, 1)]),
        "POINT(40)",
    );
    check(ASC, and([within(A, 0..2000), eq(B, 2), eq(C, 1)]), "POINT(2000)");
    check(
        ASC,
        and([within(A, 0..1001), within(B, [2, 3]), eq(C, 1), gt(A, 500)]),
        "POINT(1000)",
    );
    check(MIX, and([eq(A, 1), within(B, [1, 5, 3]), eq(C, 2)]), "POINT(3)");
    check(
        ASC,
        and([eq(A, 1), eq(B, 2), eq(C, 3), eq(V, 4)]),
        "POINT(1) +residual",
    );
}

#[test]
fn constants_are_not_rounded() {
    let decimal = |op, value: &str| compare(A, op, numeric(value));
    check(ASC, decimal(CompareOp::Eq, "1.5"), "EMPTY");
    check(
        ASC,
        and([
            decimal(CompareOp::Greater, "1.5"),
            decimal(CompareOp::Less, "4.2"),
        ]),
        "RANGE(1)",
    );
    check(ASC, gt(A, MAX), "EMPTY");
    check(ASC, and([gt(A, 5), lt(A, 6)]), "EMPTY");
    check(
        ASC,
        and([decimal(CompareOp::Less, "9223372036854775808"), gt(A, 7)]),
        "RANGE(1)",
    );
    check(ASC, decimal(CompareOp::Eq, "9223372036854775808"), "EMPTY");
    let table = table(&[SqlType::Int8], &[false]);
    let above = compare(A, CompareOp::Greater, Value::Float8(9_007_199_254_740_992.0));
    let path = plan_access(
        &table,
        Some(&above),
        Wanted::default(),
        &rules(FullScanPolicy::Reject, 2000, 1024),
    )
    .unwrap();
    let AccessClass::RangeScan { ranges, .. } = &path.class else {
        panic!("{path:?}")
    };
    assert_eq!(
        ranges[0].start,
        stored_key(&table, &table.primary_key, &[int(9_007_199_254_740_994)])
    );
}

#[test]
fn nulls_and_negations() {
    let null_in = Predicate::InList {
        column: A,
        values: vec![int(1), Value::Null],
    };
    let between = |low: Value, high: Value| {
        and([
            compare(A, CompareOp::GreaterEq, low),
            compare(A, CompareOp::LessEq, high),
        ])
    };
    check(ASC, not(null_in), "EMPTY");
    check(ASC, not(between(int(1), Value::Null)), "RANGE(1)");
    check(
        ASC,
        and([not(between(int(1), int(MAX - 1))), gt(A, -3)]),
        "RANGE(2)",
    );
    check(ASC, not(or([lt(A, 3), gt(A, 5)])), "RANGE(1)");
    check(ASC, Predicate::IsNull { column: A }, "EMPTY");
    check(ASC, not(Predicate::IsNull { column: A }), "FULL");
    check(ASC, compare(V, CompareOp::Eq, Value::Null), "EMPTY");
    let distinct = |negated| Predicate::Is {
        child: Box::new(eq(A, 1)),
        truth: Some(true),
        negated,
    };
    check(ASC, distinct(false), "RANGE(1)");
    check(ASC, distinct(true), "RANGE(2)");
}

#[test]
fn ranges_and_residuals() {
    check(ASC, and([eq(A, 1), eq(C, 3)]), "RANGE(1) +residual");
    check(ASC, and([eq(B, 2), eq(C, 3)]), "FULL");
    check(ASC, and([within(A, [1, 2]), gt(B, 2)]), "RANGE(2)");
    check(
        ASC,
        and([eq(A, 1), compare(B, CompareOp::NotEq, int(2))]),
        "RANGE(2)",
    );
    check(ASC, compare(A, CompareOp::NotEq, int(2)), "RANGE(2)");
    check(
        ASC,
        or([and([eq(A, 1), eq(B, 2)]), and([eq(A, 3), eq(B, 5)])]),
        "RANGE(2)",
    );
    check(
        ASC,
        and([
            or([and([eq(A, 1), eq(B, 2)]), and([eq(A, 3), eq(B, 5)])]),
            eq(C, 1),
        ]),
        "POINT(2)",
    );
    check(
        ASC,
        and([
            or([and([eq(A, 1), eq(C, 1)]), and([eq(A, 3), eq(C, 2)])]),
            eq(B, 2),
        ]),
        "POINT(2)",
    );
    check(ASC, or([eq(A, 1), eq(B, 2)]), "FULL");
    check(
        ASC,
        or([and([ge(A, 1), le(A, 5)]), and([ge(A, 3), le(A, 8)])]),
        "RANGE(1)",
    );
    check(ASC, or([eq(A, 1), eq(A, 1), within(A, [1, 2])]), "RANGE(1)");
    check(ASC, within(A, 0..5000), "RANGE(1)");
    check(
        ASC,
        within(A, (0..5000).map(|number| number * 2)),
        "RANGE(1024) +residual",
    );
    check(
        ASC,
        and([eq(A, 1), Predicate::Opaque { columns: vec![B] }]),
        "RANGE(1) +residual",
    );
    check(ASC, Predicate::Opaque { columns: vec![A] }, "FULL");
}

#[test]
fn rows_of_columns() {
    use CompareOp::*;
    check(
        ASC,
        and([row(&[A, B], Greater, &[Some(1), Some(2)]), lt(A, 4)]),
        "RANGE(1)",
    );
    check(
        ASC,
        and([
            row(&[A, B], GreaterEq, &[Some(1), Some(2)]),
            row(&[A, B], Less, &[Some(3), Some(0)]),
        ]),
        "RANGE(1)",
    );
    check(
        ASC,
        and([row(&[A, B, C], LessEq, &[Some(1), Some(2), Some(2)]), ge(A, 0)]),
        "RANGE(1)",
    );
    check(
        ASC,
        and([row(&[A, C], Greater, &[Some(1), Some(2)]), lt(A, 4)]),
        "RANGE(1) +residual",
    );
    check(ASC, row(&[B, A], Greater, &[Some(1), Some(2)]), "FULL");
    check(
        ASC,
        and([row(&[A, B], Greater, &[Some(1), None]), lt(A, 4)]),
        "RANGE(1)",
    );
    check(ASC, row(&[A, B], Eq, &[Some(1), None]), "EMPTY");
    check(
        ASC,
        row_in(
            &[A, B],
            &[[Some(1), Some(2)], [Some(3), None], [Some(5), Some(6)]],
        ),
        "RANGE(2)",
    );
    check(
        ASC,
        and([
            row_in(&[B, A], &[[Some(2), Some(1)], [Some(5), Some(3)]]),
            eq(C, 1),
        ]),
        "POINT(2)",
    );
    check(MIX, row(&[A, B], Greater, &[Some(1), Some(2)]), "RANGE(2)");
    check(MIX, row(&[A, B], LessEq, &[Some(1), Some(2)]), "RANGE(2)");
    check(
        MIX,
        row(&[A, B, C], Greater, &[Some(1), Some(2), Some(2)]),
        "RANGE(3)",
    );
    check(MIX, and([eq(A, 1), gt(B, 2)]), "RANGE(1)");
}

#[test]
fn patterns() {
    for descending in [false, true] {
        let table = table(&[SqlType::Text, SqlType::Int4], &[descending, false]);
        for (predicate, expected) in [
            (like("ab%"), "RANGE(1)"),
            (like("ab\\_"), "RANGE(1)"),
            (like("a%c"), "RANGE(1) +residual"),
            (like(""), "RANGE(1)"),
            (like("%b"), "FULL"),
            (like("%"), "FULL"),
            (not(like("ab%")), "RANGE(2)"),
            (not(like("a%c")), "FULL"),
            (and([like("abc"), eq(1, 1)]), "POINT(1)"),
        ] {
            assert_eq!(verdict(&table, &predicate), expected, "{predicate:?}");
        }
    }
}

#[test]
fn no_condition_reads_the_whole_key_unless_forbidden() {
    let table = table(&[SqlType::Int8], &[false]);
    let path = plan_access(
        &table,
        None,
        Wanted::default(),
        &rules(FullScanPolicy::Reject, 2000, 1024),
    )
    .unwrap();
    assert!(matches!(path.class, AccessClass::RangeScan { whole: true, .. }));
    let always = Predicate::Constant(Some(true));
    assert!(
        plan_access(
            &table,
            Some(&always),
            Wanted::default(),
            &rules(FullScanPolicy::Reject, 2000, 1024)
        )
        .is_ok()
    );
    let refused = plan_access(
        &table,
        None,
        Wanted::default(),
        &rules(FullScanPolicy::Forbid, 2000, 1024),
    )
    .unwrap_err();
    assert_eq!(refused.sqlstate(), "53400");
}

#[test]
fn orders_along_the_key_take_no_sort() {
    let table = table(
        &[SqlType::Int8, SqlType::Int8, SqlType::Int8, SqlType::Int4],
        &MIX,
    );
    let order = |columns: &[(usize, bool)]| -> Vec<OrderColumn> {
        columns
            .iter()
            .map(|(column, descending)| OrderColumn {
                column: *column,
                descending: *descending,
                nulls_first: *descending,
            })
            .collect()
    };
    let direction = |predicate: Option<&Predicate>, columns: &[(usize, bool)]| {
        let path = plan_access(
            &table,
            predicate,
            Wanted::default(),
            &rules(FullScanPolicy::Reject, 2000, 1024),
        )
        .unwrap();
        path.order_direction(&order(columns))
    };
    assert_eq!(direction(None, &[]), Some(false));
    assert_eq!(direction(None, &[(A, false)]), Some(false));
    assert_eq!(direction(None, &[(A, true)]), Some(true));
    assert_eq!(direction(None, &[(A, false), (B, true)]), Some(false));
    assert_eq!(
        direction(None, &[(A, true), (B, false), (C, true), (V, false)]),
        Some(true)
    );
    assert_eq!(direction(None, &[(A, false), (B, false)]), None);
    assert_eq!(direction(None, &[(B, false)]), None);
    assert_eq!(direction(None, &[(V, false)]), None);
    assert_eq!(direction(None, &[(A, false), (A, true), (B, true)]), Some(false));
    let pinned = eq(A, 1);
    assert_eq!(direction(Some(&pinned), &[(B, false)]), Some(true));
    assert_eq!(
        direction(Some(&pinned), &[(A, true), (B, true), (C, false)]),
        Some(false)
    );
    let two = within(A, [1, 2]);
    assert_eq!(direction(Some(&two), &[(B, false)]), None);
    let gap = and([gt(A, 1), eq(B, 2)]);
    assert_eq!(
        direction(Some(&gap), &[(A, false), (C, false), (V, true)]),
        Some(false)
    );
}

#[test]
fn refusals_teach() {
    let table = table(&[SqlType::Int8, SqlType::Int8], &[false, false]);
    let error = plan_access(
        &table,
        Some(&eq(B, 1)),
        Wanted::default(),
        &rules(FullScanPolicy::Reject, 2000, 1024),
    )
    .unwrap_err();
    assert_eq!(error.sqlstate(), "53400");
    assert!(error.detail().unwrap().contains("\"a\""));
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("_l_allow_filtering_") && hint.contains("keyspan.full_scan"),
        "{hint}"
    );
}
