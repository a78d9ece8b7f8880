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
use super::refusal::full_scan;
use super::rules::{FullScanPolicy, PlanRules};
use super::wanted::Wanted;
use crate::catalog::{IndexDef, TableDef};
use crate::parse::IndexHint;
use crate::{Error, Result};

/// Plans the access to one table. `predicate`: `None` when there is no WHERE.
/// Errors: `FullScan`, `TooManyKeys`.
pub fn plan_access(
    table: &Arc<TableDef>,
    predicate: Option<&Predicate>,
    wanted: Wanted<'_>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    let conditions: Vec<&Predicate> = predicate
        .map(Predicate::conjuncts)
        .unwrap_or_default()
        .into_iter()
        .filter(|condition| **condition != Predicate::Constant(Some(true)))
        .collect();
    let keys = readable_keys(table, rules)?.into_iter();
    let candidates = keys.filter_map(|key| Candidate::of(table, key, &conditions, wanted, rules));
    let chosen = candidates.max_by_key(Candidate::rank);
    let chosen = chosen.ok_or_else(|| {
        let key = &table.primary_key.name;
        Error::internal(format!("key \"{key}\" holds a column that cannot stand in a key"))
    })?;
    let class = match permitted(chosen.reach, rules) {
        Err(Refused::FullScan) => return Err(full_scan(table, &conditions, rules)),
        Err(Refused::TooManyKeys(keys)) => {
            return Err(Error::TooManyKeys {
                keys,
                keys_max: rules.multi_get_keys_max,
            });
        }
        Ok(class) => class,
    };
    Ok(AccessPath {
        table: Arc::clone(table),
        index: chosen.key.id,
        class,
        reverse: false,
        residual: chosen.residual,
        pinned: chosen.pinned,
        null_free: chosen.null_free,
    })
}

/// The keys that may be read: those whose entries lead to every row, as far as the statement's hints allow. Errors: 55000
/// for a forced index that is being built.
fn readable_keys<'a>(table: &'a TableDef, rules: &PlanRules) -> Result<Vec<&'a IndexDef>> {
    let complete = table.all_indexes().filter(|key| key.is_complete());
    match &rules.index_hint {
        None => Ok(complete.collect()),
        Some(IndexHint::Ignore) => Ok(vec![&table.primary_key]),
        Some(IndexHint::Force(name)) => {
            let named = table.all_indexes().find(|key| key.name == *name);
            match named {
                Some(key) if key.is_complete() => Ok(vec![key]),
                Some(_) => Err(Error::NotInState {
                    message: format!("index \"{name}\" is being built"),
                }),
                // Another table's.
                None => Ok(complete.collect()),
            }
        }
    }
}

/// Why a read may not run.
enum Refused {
    FullScan,
    TooManyKeys(u128),
}

/// What is read, if the rules allow it.
fn permitted(reach: Reach, rules: &PlanRules) -> std::result::Result<AccessClass, Refused> {
    Ok(match reach {
        Reach::Nothing => AccessClass::Empty,
        Reach::Keys(keys) => AccessClass::MultiGet { keys },
        Reach::TooManyKeys(keys) => return Err(Refused::TooManyKeys(keys)),
        Reach::Ranges(ranges) => AccessClass::RangeScan { ranges, whole: false },
        Reach::Everything(range) if rules.full_scan != FullScanPolicy::Forbid => AccessClass::RangeScan {
            ranges: vec![range],
            whole: true,
        },
        Reach::Unbounded(range) if rules.full_scan == FullScanPolicy::Allow => {
            AccessClass::FullScan { range }
        }
        Reach::Everything(_) | Reach::Unbounded(_) => return Err(Refused::FullScan),
    })
}
