//! What serves the equality of columns with values that are known only when a statement runs: how a join looks up its inner
//! side.

use std::sync::Arc;

use super::Predicate;
use super::access_path::{AccessClass, AccessPath};
use super::choice::plan_access_by_form;
use super::key_shape::smallest_value;
use super::predicate::CompareOp;
use super::rules::{FullScanPolicy, PlanRules};
use super::wanted::Wanted;
use crate::catalog::TableDef;
use crate::codec::row::ColumnId;
use crate::parse::IndexHint;

/// Those of the columns, which equal one value each, that bound the key by which rows are reached, or that its columns are
/// computed of. `None`: no key is bounded by them.
pub fn bounding_columns(
    table: &Arc<TableDef>,
    columns: &[usize],
    index_hint: &Option<IndexHint>,
) -> Option<Vec<usize>> {
    let path = plan_equality(table, columns, Wanted::default(), index_hint)?;
    let key = path.key();
    let generated = table
        .generations()
        .filter(|(at, _)| key.has_column(table.columns[*at].id));
    let inputs: Vec<ColumnId> = generated
        .flat_map(|(_, generation)| generation.inputs.clone())
        .collect();
    let mut bounding = columns.to_vec();
    bounding.retain(|at| {
        let id = table.columns[*at].id;
        key.has_column(id) || inputs.contains(&id)
    });
    Some(bounding)
}

/// Whether conditions on these columns bound, by their form, a key of the table.
pub fn is_bounded_by(table: &Arc<TableDef>, columns: &[usize], index_hint: &Option<IndexHint>) -> bool {
    !columns.is_empty() && bounding_columns(table, columns, index_hint).is_some()
}

/// How closely, by their form, conditions bound what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// To some rows.
    Points,
    /// To the rows that have some values in the first columns of a key.
    Prefix,
    /// To parts of a key.
    Ranges,
}

/// How closely conditions on a table bound what is read of it: on these columns, of which `pinned` are said to be one of some values.
/// `None`: not at all.
pub fn bound_by(
    table: &Arc<TableDef>,
    columns: &[usize],
    pinned: &[usize],
    index_hint: &Option<IndexHint>,
) -> Option<Bound> {
    if !is_bounded_by(table, columns, index_hint) {
        return None;
    }
    let path = match pinned.is_empty() {
        true => None,
        false => plan_equality(table, pinned, Wanted::default(), index_hint),
    };
    Some(match path.map(|path| path.class) {
        Some(AccessClass::MultiGet { .. }) => Bound::Points,
        Some(_) => Bound::Prefix,
        None => Bound::Ranges,
    })
}

/// How rows are reached in which these columns (positions in `TableDef::columns`) equal one value each. `None`: no key is
/// bounded by that.
pub fn plan_equality(
    table: &Arc<TableDef>,
    columns: &[usize],
    wanted: Wanted<'_>,
    index_hint: &Option<IndexHint>,
) -> Option<AccessPath> {
    let equal = columns.iter().map(|column| {
        Some(Predicate::Compare {
            column: *column,
            op: CompareOp::Eq,
            value: smallest_value(&table.columns[*column].ty)?,
        })
    });
    let equal = equal.collect::<Option<Vec<_>>>()?;
    let rules = PlanRules {
        full_scan: FullScanPolicy::Reject,
        multi_get_keys_max: usize::MAX,
        ranges_max: usize::MAX,
        index_hint: index_hint.clone(),
        database: Arc::default(),
    };
    let path = plan_access_by_form(table, &equal.iter().collect::<Vec<_>>(), wanted, &rules).ok()?;
    match path.class {
        AccessClass::MultiGet { .. } | AccessClass::RangeScan { whole: false, .. } => Some(path),
        _ => None,
    }
}
