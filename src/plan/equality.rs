//! What serves the equality of columns with values that are known only when a statement runs: how a join looks up its inner
//! side.

use std::sync::Arc;

use super::Predicate;
use super::access_path::{AccessClass, AccessPath};
use super::choice::plan_access;
use super::key_shape::smallest_value;
use super::predicate::CompareOp;
use super::rules::{FullScanPolicy, PlanRules};
use super::wanted::Wanted;
use crate::catalog::TableDef;
use crate::codec::row::ColumnId;

/// Those of the columns, which equal one value each, that bound the key by which rows are reached, or that its columns are
/// computed of. `None`: no key is bounded by them.
pub fn bounding_columns(table: &Arc<TableDef>, columns: &[usize]) -> Option<Vec<usize>> {
    let path = plan_equality(table, columns, Wanted::default())?;
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

/// How rows are reached in which these columns (positions in `TableDef::columns`) equal one value each. `None`: no key is
/// bounded by that.
pub fn plan_equality(table: &Arc<TableDef>, columns: &[usize], wanted: Wanted<'_>) -> Option<AccessPath> {
    let equal = columns.iter().map(|column| {
        Some(Predicate::Compare {
            column: *column,
            op: CompareOp::Eq,
            value: smallest_value(&table.columns[*column].ty)?,
        })
    });
    let predicate = Predicate::all(equal.collect::<Option<_>>()?);
    let rules = PlanRules {
        full_scan: FullScanPolicy::Reject,
        multi_get_keys_max: usize::MAX,
        ranges_max: usize::MAX,
        index_hint: None,
    };
    let path = plan_access(table, Some(&predicate), wanted, &rules).ok()?;
    match path.class {
        AccessClass::MultiGet { .. } | AccessClass::RangeScan { whole: false, .. } => Some(path),
        _ => None,
    }
}
