//! What an inverted index offers: the rows under one term of each of several sets, in the order of the primary key.
//!
//! ```text
//! tags @> '{a,b}' AND note && '{x,y}'     {a} and {b} and {x, y}: rows that stand under a, under b, and under x or y
//! ```
//!
//! An entry's key is the term and the row's primary key, so that the entries of a term are sorted by that: the rows of a set are merged, and
//! those of several intersected, without holding them. Whether a row meets the conditions is asked of the row.

use super::key_shape::KeyShape;
use super::term_sets::{TermRange, TermSets};
use super::{CompareOp, Predicate};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::entry_prefix;
use crate::codec::terms::{Term, put_beginning, put_term};
use crate::store::KeyRange;
use crate::types::Value;

/// Sets that are intersected at most: the rest is asked of the rows.
const SETS_MAX: usize = 8;
/// Terms of a set at most: each is read by a scan of its own.
const TERMS_MAX: usize = 64;

/// What an inverted index offers.
pub(super) struct TermOffer {
    /// What is read of it.
    pub(super) terms: TermSets,
    /// What is left to check.
    pub(super) residual: Option<Predicate>,
    /// Its columns that are pinned: that of its condition, and that of the term.
    pub(super) pinned: Vec<usize>,
}

/// What an inverted index offers under all of `conditions`; `None`: they ask for no terms, or do not say what its own condition says.
/// `rows`: between which keys their rows stand.
pub(super) fn offer(
    table: &TableDef,
    key: &IndexDef,
    conditions: &[&Predicate],
    rows: impl FnOnce() -> KeyRange,
) -> Option<TermOffer> {
    let mut wanted: Vec<Vec<(usize, &Term)>> = conditions.iter().flat_map(|one| wanted(one, key)).collect();
    wanted.retain(|set| set.len() <= TERMS_MAX);
    // The fewer terms, and the longer, the fewer rows.
    wanted.sort_by_key(|set| (set.len(), std::cmp::Reverse(bytes(set)), set.clone()));
    wanted.dedup();
    wanted.truncate(SETS_MAX);
    if wanted.is_empty() {
        return None;
    }
    let (before, pinned) = condition_prefix(table, key, conditions)?;
    let range = |(source, term): (usize, &Term)| {
        let mut prefix = before.clone();
        let is_one_term = match term {
            Term::Whole(term) => {
                put_term(&mut prefix, source, term);
                true
            }
            Term::Beginning(beginning) => {
                put_beginning(&mut prefix, source, beginning);
                false
            }
        };
        TermRange { prefix, is_one_term }
    };
    let sets = wanted.into_iter().map(|set| set.into_iter().map(range).collect());
    let terms = TermSets {
        sets: sets.collect(),
        term_at: before.len(),
        rows: rows(),
    };
    let told = |condition: &&&Predicate| {
        let columns = condition.columns();
        !(condition.is_told_beside() || pinned.is_some() && columns.as_slice() == pinned.as_slice())
    };
    let left: Vec<Predicate> = conditions
        .iter()
        .filter(told)
        .map(|left| (*left).clone())
        .collect();
    let term = table.column_index_by_id(key.terms.as_ref()?.column)?;
    Some(TermOffer {
        terms,
        residual: (!left.is_empty()).then(|| Predicate::all(left)),
        pinned: pinned.into_iter().chain([term]).collect(),
    })
}

/// The sets of terms of an index of each of which a row has one that meets the condition.
fn wanted<'p>(condition: &'p Predicate, key: &IndexDef) -> Vec<Vec<(usize, &'p Term)>> {
    match condition {
        Predicate::HasTerm { index, source, any } if *index == key.id => {
            vec![any.iter().map(|term| (*source, term)).collect()]
        }
        Predicate::And(children) => children.iter().flat_map(|child| wanted(child, key)).collect(),
        Predicate::Or(children) => {
            let smallest = |child| wanted(child, key).into_iter().min_by_key(Vec::len);
            let sets: Option<Vec<Vec<_>>> = children.iter().map(smallest).collect();
            let Some(sets) = sets else { return Vec::new() };
            let mut any: Vec<(usize, &Term)> = sets.into_iter().flatten().collect();
            any.sort_unstable();
            any.dedup();
            vec![any]
        }
        Predicate::Is {
            child,
            truth: Some(true),
            negated: false,
        } => wanted(child, key),
        _ => Vec::new(),
    }
}

fn bytes(set: &[(usize, &Term)]) -> usize {
    let bytes = |(_, term): &(usize, &Term)| match term {
        Term::Whole(term) | Term::Beginning(term) => term.len(),
    };
    set.iter().map(bytes).min().unwrap_or_default()
}

/// What all entries that may be wanted begin with, and the column of the index's condition. `None`: the conditions do not say what that does.
fn condition_prefix(
    table: &TableDef,
    key: &IndexDef,
    conditions: &[&Predicate],
) -> Option<(Vec<u8>, Option<usize>)> {
    let mut prefix = entry_prefix(table.id, key.id).to_vec();
    let Some(predicate) = &key.predicate else {
        return Some((prefix, None));
    };
    let column = table.column_index_by_id(predicate.column)?;
    let is_said = |condition: &&&Predicate| match condition {
        Predicate::IsTrue { column: said } => *said == column,
        Predicate::Compare {
            column: said,
            op: CompareOp::Eq,
            value: Value::Bool(true),
        } => *said == column,
        _ => false,
    };
    conditions.iter().find(is_said)?;
    let shape = KeyShape::new(table, key)?;
    let first = shape.columns.first()?;
    let whether = first.compare_set(CompareOp::Eq, &Value::Bool(true))?;
    prefix.extend(first.directed_point(whether.spans().first()?));
    Some((prefix, Some(column)))
}
