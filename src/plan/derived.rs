//! Conditions on generated columns that follow from the conditions on the columns that they are computed of: under
//! `shard GENERATED ALWAYS AS (left(md5(userid), 4))`, `userid IN ('a', 'b')` says which shard each of the two is in. They
//! bound a key; since every row satisfies them that satisfies the rest, nobody checks them.

use arrow::array::ArrayRef;

use super::Predicate;
use super::boxes::{BOXES_MAX, KeyBox, cover_all};
use super::key_ranges::point_count;
use super::key_shape::KeyShape;
use super::predicate::CompareOp;
use crate::catalog::{Generation, IndexDef, KeyColumn, TableDef};
use crate::codec::key::{self, decode_value};
use crate::codec::row::ColumnBuilder;
use crate::types::{SqlType, Value, value_at};

/// The conditions on the generated columns of a key that follow from all of `conditions`: at most one a column.
pub(super) fn derived(table: &TableDef, key: &IndexDef, conditions: &[&Predicate]) -> Vec<Predicate> {
    let columns = key.columns.iter();
    let columns = columns.filter_map(|key| table.column_index_by_id(key.column));
    columns
        .filter_map(|at| condition_on(table, at, table.columns[at].generation()?, conditions))
        .collect()
}

/// What follows for one generated column. `None`: nothing.
fn condition_on(
    table: &TableDef,
    position: usize,
    generation: &Generation,
    conditions: &[&Predicate],
) -> Option<Predicate> {
    let inputs = generation.inputs.iter().map(|id| table.column_index_by_id(*id));
    let inputs: Vec<usize> = inputs.collect::<Option<_>>()?;
    let rows = pinned_rows(table, &inputs, conditions)?;
    let computed = compute(table, position, &inputs, &rows)?;
    let cases = rows.into_iter().zip(computed).map(|(row, value)| {
        let of_row = inputs.iter().copied().zip(row);
        let equalities = of_row.chain([(position, value)]);
        Predicate::all(equalities.map(|(column, value)| equals(column, value)).collect())
    });
    let mut cases: Vec<Predicate> = cases.collect();
    Some(match cases.len() {
        // The inputs are pinned by the conditions already.
        1 => cases.pop()?.conjuncts().pop()?.clone(),
        _ => Predicate::any(cases),
    })
}

fn equals(column: usize, value: Value) -> Predicate {
    match value {
        Value::Null => Predicate::IsNull { column },
        value => Predicate::Compare {
            column,
            op: CompareOp::Eq,
            value,
        },
    }
}

/// The values that the conditions leave these columns, a row for each combination; `None` unless they are few.
fn pinned_rows(table: &TableDef, columns: &[usize], conditions: &[&Predicate]) -> Option<Vec<Vec<Value>>> {
    // What is equal need not be alike: -0 is equal to 0, and citext in any case to itself.
    let is_exact = |at: &usize| {
        let ty = &table.columns[*at].ty;
        !matches!(ty, SqlType::Float4 | SqlType::Float8) && key::tells_value(ty)
    };
    if !columns.iter().all(is_exact) {
        return None;
    }
    let ids = columns.iter().map(|at| table.columns[*at].id);
    let keys = ids.map(KeyColumn::ascending);
    let shape = KeyShape::of_columns(table, &keys.collect::<Vec<_>>())?;
    let mut rows = Vec::new();
    for one in cover_all(&shape, conditions).boxes {
        rows.extend(rows_of(&shape, &one)?);
        if rows.len() > BOXES_MAX {
            return None;
        }
    }
    rows.sort_unstable();
    rows.dedup();
    let decoded = rows.iter().map(|row| decode_row(&shape, row));
    decoded.collect()
}

/// The combinations of a box's values as encoded fields; `None` when one of its columns is not pinned, or they are many.
fn rows_of(shape: &KeyShape, one: &KeyBox) -> Option<Vec<Vec<u8>>> {
    let mut rows = vec![Vec::new()];
    for (position, column) in shape.columns.iter().enumerate() {
        let set = one.set(position)?;
        let values = point_count(column, set)?;
        if rows.len().saturating_mul(values) > BOXES_MAX {
            return None;
        }
        let points = set.spans().iter().map(|span| column.directed_point(span));
        let null = set.holds_null().then(|| column.directed_null());
        let fields: Vec<Vec<u8>> = points.chain(null).collect();
        let extended = rows
            .iter()
            .flat_map(|row| fields.iter().map(move |field| [row.as_slice(), field].concat()));
        rows = extended.collect();
    }
    Some(rows)
}

fn decode_row(shape: &KeyShape, row: &[u8]) -> Option<Vec<Value>> {
    let mut rest = row;
    let values = shape.columns.iter().map(|column| {
        let (value, length) = decode_value(rest, &column.field).ok()?;
        rest = rest.get(length..)?;
        Some(value)
    });
    values.collect()
}

/// The values of the generated column at `position` for rows of its inputs. `None`: they cannot be computed, so that no row
/// has such inputs, or nobody has said how.
fn compute(table: &TableDef, position: usize, inputs: &[usize], rows: &[Vec<Value>]) -> Option<Vec<Value>> {
    let arrays = inputs.iter().enumerate().map(|(place, at)| -> Option<ArrayRef> {
        let mut builder = ColumnBuilder::new(&table.columns[*at].ty, rows.len());
        rows.iter()
            .try_for_each(|row| builder.append_value(&row[place]).ok())?;
        Some(builder.finish())
    });
    let arrays: Vec<ArrayRef> = arrays.collect::<Option<_>>()?;
    let computed = table.generated()?.compute(position, &arrays, rows.len()).ok()?;
    let ty = &table.columns[position].ty;
    let values = (0..rows.len()).map(|row| value_at(&computed, row, ty).ok());
    values.collect()
}
