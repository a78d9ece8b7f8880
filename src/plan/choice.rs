//! `plan_access`: a table and a predicate into one access path, or the error that teaches (53400, 54000). Every key of the
//! table that can be read is a candidate; the verdict is of the one that is chosen.
//!
//! The choice is syntactic and never asks statistics. First comes a key in which nothing can match, then one whose columns
//! are all pinned to points, then one whose first column is bounded; of two alike that with more columns pinned, then the
//! primary key. What bounds no key is a full scan, which is refused unless the rules allow it.

use std::sync::Arc;

use super::Predicate;
use super::access_path::{AccessClass, AccessPath};
use super::candidate::{Candidate, Reach};
use super::rules::{FullScanPolicy, PlanRules};
use crate::catalog::{IndexDef, TableDef};
use crate::{Error, Result};

/// Plans the access to one table. `predicate`: `None` when there is no WHERE.
/// Errors: `FullScan`, `TooManyKeys`.
pub fn plan_access(
    table: &Arc<TableDef>,
    predicate: Option<&Predicate>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    let conditions: Vec<&Predicate> = predicate
        .map(Predicate::conjuncts)
        .unwrap_or_default()
        .into_iter()
        .filter(|condition| **condition != Predicate::Constant(Some(true)))
        .collect();
    let candidates = readable_keys(table).filter_map(|key| Candidate::of(table, key, &conditions, rules));
    let chosen = candidates.max_by_key(Candidate::rank);
    let chosen = chosen.ok_or_else(|| {
        let key = &table.primary_key.name;
        Error::internal(format!("key \"{key}\" holds a column that cannot stand in a key"))
    })?;
    let class = permitted(table, chosen.key, chosen.reach, rules)?;
    Ok(AccessPath {
        table: Arc::clone(table),
        index: chosen.key.id,
        class,
        reverse: false,
        residual: chosen.residual,
        pinned: chosen.pinned,
    })
}

/// The keys whose entries lead to every row. Secondary indexes keep constraints so far, and hold no rows.
fn readable_keys(table: &TableDef) -> impl Iterator<Item = &IndexDef> {
    std::iter::once(&table.primary_key)
}

/// What is read, if the rules allow it. Errors: `FullScan`, `TooManyKeys`.
fn permitted(table: &TableDef, key: &IndexDef, reach: Reach, rules: &PlanRules) -> Result<AccessClass> {
    Ok(match reach {
        Reach::Nothing => AccessClass::Empty,
        Reach::Keys(keys) => AccessClass::MultiGet { keys },
        Reach::TooManyKeys(keys) => {
            return Err(Error::TooManyKeys {
                keys,
                keys_max: rules.multi_get_keys_max,
            });
        }
        Reach::Ranges(ranges) => AccessClass::RangeScan { ranges, whole: false },
        Reach::Everything(range) if rules.full_scan != FullScanPolicy::Forbid => AccessClass::RangeScan {
            ranges: vec![range],
            whole: true,
        },
        Reach::Unbounded(range) if rules.full_scan == FullScanPolicy::Allow => {
            AccessClass::FullScan { range }
        }
        Reach::Everything(_) | Reach::Unbounded(_) => return Err(full_scan(table, key)),
    })
}

/// The error that refuses a full scan, and says what would serve.
fn full_scan(table: &TableDef, index: &IndexDef) -> Error {
    let override_hint = "allow it with /*+ _l_allow_filtering_ */ after SELECT, UPDATE or DELETE, or SET keyspan.full_scan = allow";
    if table.has_hidden_key() {
        return Error::FullScan {
            table: table.name.clone(),
            column: String::new(),
            hint: format!(
                "Only reads of the whole table can go without a key: create the table with a PRIMARY KEY, or {override_hint}."
            ),
        };
    }
    let first = index
        .columns
        .first()
        .and_then(|key| table.column_index_by_id(key.column));
    let column = first.map(|at| table.columns[at].name.clone()).unwrap_or_default();
    let hint = format!("Add a condition on \"{column}\", such as {column} = …, or {override_hint}.");
    Error::FullScan {
        table: table.name.clone(),
        column,
        hint,
    }
}
