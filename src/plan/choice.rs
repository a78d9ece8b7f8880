//! `plan_access`: a table and a predicate into one access path, or the error that teaches (53400, 54000). Every key of the
//! table that can be read is a candidate; the verdict is of the one that is chosen.
//!
//! The choice is syntactic and never asks statistics. First comes a key in which nothing can match, then one whose columns
//! are all pinned to points, then one whose first column is bounded; of two alike that with more columns pinned, then the
//! primary key. What bounds no key is read by several if it is an OR that each bounds a part of (`union`), or else a full
//! scan, which is refused unless the rules allow it.

use std::sync::Arc;

use super::Predicate;
use super::access_path::AccessPath;
use super::candidate::{Candidate, Reach, Refused};
use super::partition_pruning::excludes;
use super::refusal::full_scan;
use super::rules::PlanRules;
use super::union::UnionPlan;
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
    let keys = readable_keys(table, rules)?;
    match excludes(table, &conditions) {
        true => Ok(AccessPath::nothing(table)),
        false => best_access(table, &keys, &conditions, wanted, rules),
    }
}

/// The same of conditions whose values stand for others: a partition is not left out by them.
pub(super) fn plan_access_by_form(
    table: &Arc<TableDef>,
    conditions: &[&Predicate],
    wanted: Wanted<'_>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    best_access(table, &readable_keys(table, rules)?, conditions, wanted, rules)
}

fn best_access(
    table: &Arc<TableDef>,
    keys: &[&IndexDef],
    conditions: &[&Predicate],
    wanted: Wanted<'_>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    let chosen = Candidate::best(table, keys, conditions, wanted, rules);
    let chosen = chosen.ok_or_else(|| match keys {
        [forced] if forced.terms.is_some() => Error::NotInState {
            message: format!(
                "index \"{}\" is inverted, and the conditions ask for no terms",
                forced.name
            ),
        },
        [forced] if forced.predicate.is_some() => Error::NotInState {
            message: format!(
                "index \"{}\" is of some rows only, and the conditions do not say which",
                forced.name
            ),
        },
        _ => {
            let key = &table.primary_key.name;
            Error::internal(format!("key \"{key}\" holds a column that cannot stand in a key"))
        }
    })?;
    if let Reach::Unbounded(_) = chosen.reach {
        let union = UnionPlan {
            table,
            keys,
            conditions,
            wanted,
            rules,
        };
        if let Some(paths) = union.paths() {
            return Ok(AccessPath::union(table, paths));
        }
    }
    let refusal = || full_scan(table, conditions, rules);
    chosen
        .path(table, rules, refusal)
        .map_err(|refused| match refused {
            Refused::FullScan => refusal(),
            Refused::TooManyKeys(keys) => Error::TooManyKeys {
                keys,
                keys_max: rules.multi_get_keys_max,
            },
        })
}

/// The keys that may be read: those whose entries lead to every row, as far as the statement's hints allow. Errors: 55000
/// for a forced index that is being built, or whose build failed.
fn readable_keys<'a>(table: &'a TableDef, rules: &PlanRules) -> Result<Vec<&'a IndexDef>> {
    let complete = table.all_indexes().filter(|key| key.is_complete());
    match &rules.index_hint {
        None => Ok(complete.collect()),
        Some(IndexHint::Ignore) => Ok(vec![&table.primary_key]),
        Some(IndexHint::Force(name)) => {
            let named = table.all_indexes().find(|key| key.name == *name);
            match named {
                Some(key) if key.is_complete() => Ok(vec![key]),
                Some(key) => Err(Error::NotInState {
                    message: match (key.building, key.inactive) {
                        (true, _) => format!("index \"{name}\" is being built"),
                        (false, true) => format!("index \"{name}\" is not active"),
                        (false, false) => format!("index \"{name}\" is not valid"),
                    },
                }),
                // Another table's.
                None => Ok(complete.collect()),
            }
        }
    }
}
