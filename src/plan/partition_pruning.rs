//! Whether a partition can be left out: its bounds have no row that the conditions let through. Decided by the sets of values that they leave of
//! the columns of a partition key, as those of any key are found; a bound itself says nothing of where in the partition to look.

use super::Predicate;
use super::boxes::cover_all;
use super::key_shape::KeyShape;
use super::one_key::equal_value;
use super::predicate::CompareOp;
use crate::catalog::{KeyColumn, PartitionBound, RangeEdge, TableDef, ToldBound};
use crate::codec::postgresql_hash::partition_hash;
use crate::types::{SqlType, Value};

/// So many rows of values are asked for their partitions at most.
const ROWS_MAX: usize = 1000;

/// Whether none of the rows that the table has, as it is read as a partition, satisfies the conditions.
pub(super) fn excludes(table: &TableDef, conditions: &[&Predicate]) -> bool {
    if conditions.is_empty() {
        return false;
    }
    if !table.told.is_empty() {
        return table.told.iter().any(|told| excludes_by(table, told, conditions));
    }
    // By itself it is told by its own bound alone.
    table.partition.as_ref().is_some_and(|of| {
        let told = ToldBound {
            of: table.oid,
            parent: of.parent,
            columns: of.columns.clone(),
            bound: of.bound.clone(),
            others: Vec::new(),
        };
        excludes_by(table, &told, conditions)
    })
}

fn excludes_by(table: &TableDef, told: &ToldBound, conditions: &[&Predicate]) -> bool {
    let columns = told.columns.iter().map(|id| table.column_index_by_id(*id));
    let Some(columns) = columns.collect::<Option<Vec<usize>>>() else {
        return false;
    };
    let mut is_named = false;
    for condition in conditions {
        condition.for_each_column(&mut |column| is_named |= columns.contains(&column));
    }
    if !is_named {
        return false;
    }
    if let PartitionBound::Hash { modulus, remainder } = told.bound {
        let is_own = |hash: u64| hash % u64::from(modulus) == u64::from(remainder);
        let rows = rows_left(table, &columns, conditions);
        return rows.is_some_and(|rows| {
            let mut hashes = rows.iter().map(|row| partition_hash(row).ok());
            !hashes.any(|hash| hash.is_none_or(is_own))
        });
    }
    let Some(bound) = bound_of(told, &columns) else {
        return false;
    };
    let key: Vec<KeyColumn> = told.columns.iter().map(|id| KeyColumn::ascending(*id)).collect();
    let Some(shape) = KeyShape::of_columns(table, &key) else {
        return false;
    };
    let all: Vec<&Predicate> = conditions.iter().copied().chain(&bound).collect();
    cover_all(&shape, &all).boxes.is_empty()
}

/// All rows of values that the conditions let the columns have; `None`: too many.
pub(super) fn rows_left(
    table: &TableDef,
    columns: &[usize],
    conditions: &[&Predicate],
) -> Option<Vec<Vec<Value>>> {
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for column in columns {
        let ty = &table.columns[*column].ty;
        let values = conditions
            .iter()
            .find_map(|condition| values_left(condition, *column, ty))?;
        if rows.len().saturating_mul(values.len()) > ROWS_MAX {
            return None;
        }
        let with = |row: &Vec<Value>, value: &Value| [row.as_slice(), std::slice::from_ref(value)].concat();
        rows = rows
            .iter()
            .flat_map(|row| values.iter().map(move |value| with(row, value)))
            .collect();
    }
    Some(rows)
}

/// The values that a condition leaves of a column; `None`: nobody can say which.
fn values_left(condition: &Predicate, column: usize, ty: &SqlType) -> Option<Vec<Value>> {
    match condition {
        Predicate::Compare {
            column: named,
            op: CompareOp::Eq,
            value,
        } if *named == column => equal_value(ty, value).map(|value| vec![value]),
        Predicate::InList {
            column: named,
            values,
        } if *named == column => {
            let values = values.iter().filter(|value| **value != Value::Null);
            values.map(|value| equal_value(ty, value)).collect()
        }
        Predicate::RowIn { columns, rows } => {
            let at = columns.iter().position(|named| *named == column)?;
            rows.iter().map(|row| equal_value(ty, row.get(at)?)).collect()
        }
        Predicate::IsNull { column: named } if *named == column => Some(vec![Value::Null]),
        Predicate::Or(parts) => {
            let values = parts.iter().map(|part| values_left(part, column, ty));
            Some(values.collect::<Option<Vec<_>>>()?.concat())
        }
        _ => None,
    }
}

/// What bounds say of these columns; `None`: nothing that sets of their values could.
fn bound_of(told: &ToldBound, columns: &[usize]) -> Option<Vec<Predicate>> {
    match &told.bound {
        PartitionBound::Default if told.others.is_empty() => None,
        PartitionBound::Default => {
            let others = told.others.iter();
            others.map(|other| outside(other, columns)).collect()
        }
        bound => plain_bound(bound, columns),
    }
}

fn plain_bound(bound: &PartitionBound, columns: &[usize]) -> Option<Vec<Predicate>> {
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

/// That columns are not within a bound.
fn outside(bound: &PartitionBound, columns: &[usize]) -> Option<Predicate> {
    let is_null = |column: &usize| Predicate::IsNull { column: *column };
    let not = |inner: Predicate| Predicate::Not(Box::new(inner));
    match bound {
        PartitionBound::Default | PartitionBound::Hash { .. } => None,
        PartitionBound::List(values) => {
            let column = *columns.first()?;
            let listed = values.iter().filter(|value| **value != Value::Null).cloned();
            let values_out = not(Predicate::InList {
                column,
                values: listed.collect(),
            });
            Some(match values.contains(&Value::Null) {
                true => values_out,
                false => Predicate::Or(vec![values_out, is_null(&column)]),
            })
        }
        PartitionBound::Range { from, to } => {
            let edges = beyond(columns, from, CompareOp::Greater)
                .into_iter()
                .chain(beyond(columns, to, CompareOp::Less));
            let nulls = columns.iter().map(is_null);
            Some(Predicate::Or(edges.map(not).chain(nulls).collect()))
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
