//! Paths that are kept against paths that are planned: random equalities over random tables and indexes.

use super::*;

/// One value a column, of the column's type or of any that compares with it; `listed`: several of this one, in a list or an OR.
fn equalities(
    random: &mut StdRng,
    types: &[SqlType],
    columns: &[usize],
    listed: Option<usize>,
) -> Vec<Predicate> {
    let value = |random: &mut StdRng, column: usize| match random.random_bool(0.7) {
        true => random_value(random, &types[column]),
        false => random_constant(random, &types[column]),
    };
    let compared = |column: usize, value: Value| Predicate::Compare {
        column,
        op: CompareOp::Eq,
        value,
    };
    let equal = |column: &usize| {
        if listed != Some(*column) {
            return compared(*column, value(random, *column));
        }
        let count = random.random_range(1..6);
        let values: Vec<Value> = (0..count).map(|_| value(random, *column)).collect();
        let (listed, equated) = values.split_at(random.random_range(0..=count));
        let list = (!listed.is_empty()).then(|| Predicate::InList {
            column: *column,
            values: listed.to_vec(),
        });
        let equated = equated.iter().map(|value| compared(*column, value.clone()));
        Predicate::any(list.into_iter().chain(equated).collect())
    };
    columns.iter().map(equal).collect()
}

/// Without zeros at the end of a range's end: the end of a value's keys may be told as the next value, or as the next tag, and no key
/// stands between.
fn trimmed(mut path: AccessPath) -> AccessPath {
    if let AccessClass::RangeScan { ranges, .. } = &mut path.class {
        for end in ranges.iter_mut().filter_map(|range| range.end.as_mut()) {
            while end.last() == Some(&0) {
                end.pop();
            }
        }
    }
    path
}

#[test]
fn kept_paths_are_those_that_would_be_planned() {
    let mut random = StdRng::seed_from_u64(20_261_126);
    let (mut kept_paths, mut served, mut lists_served) = (0, 0, 0);
    for trial in 0..3000 {
        let one = random_table(&mut random, 2);
        let mut columns: Vec<usize> = (0..one.nameable).collect();
        columns.shuffle(&mut random);
        columns.truncate(random.random_range(1..=3));
        if random.random_bool(0.05) {
            columns.push(columns[0]);
        }
        let listed = random.random_bool(0.4).then(|| columns[0]);
        let rules = rules(FullScanPolicy::Reject, 4, 1024);
        let plan = |conditions: &[Predicate]| {
            let all = Predicate::And(conditions.to_vec());
            plan_access(&one.table, Some(&all), Wanted::default(), &rules)
        };
        let first = equalities(&mut random, &one.types, &columns, listed);
        let Ok(path) = plan(&first) else { continue };
        let Some(kept) = KeptPath::of(&path, &first) else {
            continue;
        };
        kept_paths += 1;
        for _ in 0..10 {
            let conditions = equalities(&mut random, &one.types, &columns, listed);
            let Some(path) = kept.with(&conditions, 4) else {
                continue;
            };
            served += 1;
            lists_served += usize::from(listed.is_some());
            let planned = plan(&conditions).unwrap();
            assert_eq!(trimmed(path), trimmed(planned), "trial {trial}: {conditions:?}");
        }
        let others = [columns.as_slice(), &[columns[0]]].concat();
        let others = equalities(&mut random, &one.types, &others, listed);
        assert!(kept.with(&others, 4).is_none(), "another form");
    }
    assert!(
        kept_paths > 200 && served > 1500 && lists_served > 100,
        "{kept_paths} kept, {served} served, {lists_served} with lists"
    );
}

#[test]
fn what_depends_on_values_is_not_kept() {
    let of = |table: &Arc<TableDef>, conditions: &[Predicate]| {
        let rules = rules(FullScanPolicy::Reject, 10, 10);
        let all = Predicate::And(conditions.to_vec());
        let path = plan_access(table, Some(&all), Wanted::default(), &rules).unwrap();
        KeptPath::of(&path, conditions)
    };
    let compare = |column: usize, op: CompareOp, value: i64| Predicate::Compare {
        column,
        op,
        value: Value::Int(value),
    };
    let eq = |column: usize, value: i64| compare(column, CompareOp::Eq, value);
    let whole = table(&[SqlType::Int4, SqlType::Int4, SqlType::Int4], &[false, true]);
    let kept = of(&whole, &[eq(1, 2), eq(0, 1)]).unwrap();
    assert!(kept.with(&[eq(1, 7), eq(0, 9)], 10).is_some());
    // Another order of the conditions, another operator, a value that the column cannot hold, NULL.
    assert!(kept.with(&[eq(0, 9), eq(1, 7)], 10).is_none());
    assert!(
        kept.with(&[compare(1, CompareOp::Less, 7), eq(0, 9)], 10)
            .is_none()
    );
    assert!(kept.with(&[eq(1, i64::MAX), eq(0, 9)], 10).is_none());
    assert!(kept.with(&[eq(1, 7), Predicate::Constant(None)], 10).is_none());
    // Lists: of other lengths, but not of one value, nor of too many keys.
    let list = |values: &[i64]| Predicate::InList {
        column: 0,
        values: values.iter().map(|value| Value::Int(*value)).collect(),
    };
    let kept = of(&whole, &[list(&[1, 2]), eq(1, 2)]).unwrap();
    assert!(kept.with(&[list(&[3, 5, 4, 3]), eq(1, 9)], 4).is_some());
    assert!(
        kept.with(&[Predicate::any(vec![eq(0, 3), eq(0, 5)]), eq(1, 9)], 4)
            .is_some()
    );
    assert!(
        kept.with(&[Predicate::any(vec![eq(0, 3), eq(1, 5)]), eq(1, 9)], 4)
            .is_none()
    );
    assert!(kept.with(&[list(&[3, 3]), eq(1, 9)], 4).is_none());
    assert!(kept.with(&[list(&[3, 4, 5, 6, 7]), eq(1, 9)], 4).is_none());
    assert!(kept.with(&[list(&[3, i64::MAX]), eq(1, 9)], 4).is_none());
    assert!(
        of(&whole, &[list(&[1, 2])]).is_none(),
        "ranges, which may be joined"
    );
    // Something left to check, a range, a part of the rows.
    assert!(of(&whole, &[eq(0, 1), eq(2, 3)]).is_none());
    assert!(of(&whole, &[compare(0, CompareOp::Less, 1)]).is_none());
    let mut partial = TableDef::clone(&whole);
    partial.indexes = vec![IndexDef {
        id: 1,
        predicate: Some(crate::catalog::IndexExpression {
            column: 3,
            text: "(c > 0)".to_string(),
            pretty_text: "c > 0".to_string(),
            is_call: false,
        }),
        ..whole.primary_key.clone()
    }];
    assert!(of(&Arc::new(partial), &[eq(0, 1), eq(1, 2)]).is_none());
}
