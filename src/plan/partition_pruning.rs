//! Whether a partition can be left out: its bound has no row that the conditions let through. Decided by the sets of values that they leave
//! of the columns of the partition key, as those of any key are found; a bound itself says nothing of where in the partition to look.

use super::Predicate;
use super::boxes::cover_all;
use super::key_shape::KeyShape;
use super::predicate::CompareOp;
use crate::catalog::{KeyColumn, PartitionBound, RangeEdge, TableDef};
use crate::types::Value;

/// Whether none of the rows that the partition may have satisfies the conditions.
pub(super) fn excludes(table: &TableDef, conditions: &[&Predicate]) -> bool {
    let Some(of) = table.partition.as_ref().filter(|_| !conditions.is_empty()) else {
        return false;
    };
    let columns = of.columns.iter().map(|id| table.column_index_by_id(*id));
    let Some(columns) = columns.collect::<Option<Vec<usize>>>() else {
        return false;
    };
    let mut is_named = false;
    for condition in conditions {
        condition.for_each_column(&mut |column| is_named |= columns.contains(&column));
    }
    let Some(bound) = bound_of(&of.bound, &columns).filter(|_| is_named) else {
        return false;
    };
    let key: Vec<KeyColumn> = of.columns.iter().map(|id| KeyColumn::ascending(*id)).collect();
    let Some(shape) = KeyShape::of_columns(table, &key) else {
        return false;
    };
    let all: Vec<&Predicate> = conditions.iter().copied().chain(&bound).collect();
    cover_all(&shape, &all).boxes.is_empty()
}

/// What a bound says of these columns; `None`: nothing that sets of their values could.
fn bound_of(bound: &PartitionBound, columns: &[usize]) -> Option<Vec<Predicate>> {
    match bound {
        PartitionBound::Default | PartitionBound::Hash { .. } => None,
        PartitionBound::List(values) => {
            let column = *columns.first()?;
            let has_null = values.contains(&Value::Null);
            let values = values.iter().filter(|value| **value != Value::Null).cloned();
            let listed = Predicate::InList {
                column,
                values: values.collect(),
            };
            let null = has_null.then_some(Predicate::IsNull { column });
            Some(vec![Predicate::Or(std::iter::once(listed).chain(null).collect())])
        }
        PartitionBound::Range { from, to } => {
            let not_null = |column: &usize| Predicate::Not(Box::new(Predicate::IsNull { column: *column }));
            let mut bound: Vec<Predicate> = columns.iter().map(not_null).collect();
            bound.extend(beyond(columns, from, CompareOp::Greater));
            bound.extend(beyond(columns, to, CompareOp::Less));
            Some(bound)
        }
    }
}

/// That columns stand above an edge or at it (`Greater`), or below it (`Less`); `None`: all of them do.
fn beyond(columns: &[usize], edges: &[RangeEdge], op: CompareOp) -> Option<Predicate> {
    let ((column, columns), (edge, edges)) = (columns.split_first()?, edges.split_first()?);
    let is_below = op == CompareOp::Less;
    let value = match edge {
        RangeEdge::Value(value) => value,
        RangeEdge::MinValue if is_below => return Some(Predicate::Constant(Some(false))),
        RangeEdge::MaxValue if !is_below => return Some(Predicate::Constant(Some(false))),
        RangeEdge::MinValue | RangeEdge::MaxValue => return None,
    };
    let compare = |op| Predicate::Compare {
        column: *column,
        op,
        value: value.clone(),
    };
    if columns.is_empty() {
        return Some(compare(if is_below { op } else { CompareOp::GreaterEq }));
    }
    let equal = compare(CompareOp::Eq);
    let at_edge = match beyond(columns, edges, op) {
        Some(behind) => Predicate::And(vec![equal, behind]),
        None => equal,
    };
    Some(Predicate::Or(vec![compare(op), at_edge]))
}
