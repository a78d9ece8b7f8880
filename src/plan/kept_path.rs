//! `KeptPath`: how rows are reached in which certain columns equal one value each, worked out once and good for all values. A statement
//! that runs again with other parameters asks it first; what it does not take is planned.
//!
//! # Why the values do not matter
//!
//! Of a condition that is nothing but `column = value` for distinct columns, each value one that its column can hold and no NULL, the
//! choice of a key sees which columns are pinned and nothing else. What could see more is not kept: columns that are computed, or that others are computed
//! of, indexes of some rows only, parts that are left to check. That a path is of this form is not deduced: what it reads must be, byte
//! for byte, what would be made of the values that it was planned for.

use super::Predicate;
use super::access_path::{AccessClass, AccessPath};
use super::one_key::encode_equal;
use super::predicate::CompareOp;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::keyspace::entry_prefix;
use crate::store::KeyRange;

/// See the module's description.
#[derive(Debug)]
pub struct KeptPath {
    /// For other values; its class is `Empty`.
    path: AccessPath,
    is_of_keys: bool,
    /// The columns of the key that are pinned, from its first: what they are, and at which place the condition on each stands.
    columns: Vec<(KeyColumn, usize)>,
}

impl KeptPath {
    /// What is good for other values of a path that was planned for these conditions; `None`: nothing.
    pub fn of(path: &AccessPath, conditions: &[Predicate]) -> Option<KeptPath> {
        let table = &path.table;
        let columns: Vec<usize> = conditions.iter().map(compared_column).collect::<Option<_>>()?;
        let is_of_computed = |column: &usize| {
            let id = table.columns[*column].id;
            table
                .generations()
                .any(|(_, generation)| generation.inputs.contains(&id))
        };
        let has_partial_index = table.all_indexes().any(|index| index.predicate.is_some());
        if path.residual.is_some()
            || path.merge.is_some()
            || path.reverse
            || !path.derived.is_empty()
            || has_partial_index
            || columns.iter().any(is_of_computed)
        {
            return None;
        }
        let kept = KeptPath {
            is_of_keys: matches!(path.class, AccessClass::MultiGet { .. }),
            columns: pinned_columns(table, path.key(), &columns)?,
            path: AccessPath {
                class: AccessClass::Empty,
                ..path.clone()
            },
        };
        let is_same = kept.class(conditions)? == path.class;
        is_same.then_some(kept)
    }

    /// The path for other values; `None`: it has to be planned.
    pub fn with(&self, conditions: &[Predicate]) -> Option<AccessPath> {
        if conditions.len() != self.columns.len() {
            return None;
        }
        let class = self.class(conditions)?;
        Some(AccessPath {
            class,
            ..self.path.clone()
        })
    }

    fn class(&self, conditions: &[Predicate]) -> Option<AccessClass> {
        let table = &self.path.table;
        let mut bytes = entry_prefix(table.id, self.path.index).to_vec();
        for (key, at) in &self.columns {
            let position = table.column_index_by_id(key.column)?;
            let Some(Predicate::Compare {
                column,
                op: CompareOp::Eq,
                value,
            }) = conditions.get(*at)
            else {
                return None;
            };
            if *column != position {
                return None;
            }
            encode_equal(&mut bytes, &table.columns[position].ty, key, value)?;
        }
        Some(match self.is_of_keys {
            true => AccessClass::MultiGet { keys: vec![bytes] },
            false => AccessClass::RangeScan {
                ranges: vec![KeyRange::of_prefix(&bytes)],
                whole: false,
            },
        })
    }
}

/// The column of `column = value`.
fn compared_column(condition: &Predicate) -> Option<usize> {
    match condition {
        Predicate::Compare {
            column,
            op: CompareOp::Eq,
            ..
        } => Some(*column),
        _ => None,
    }
}

/// The first columns of the key, each with the place at which it stands among `columns`; `None`: these are others.
fn pinned_columns(table: &TableDef, key: &IndexDef, columns: &[usize]) -> Option<Vec<(KeyColumn, usize)>> {
    let place_of = |key: &KeyColumn| {
        let position = table.column_index_by_id(key.column)?;
        let mut places = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| **column == position);
        // Of two conditions on one column the second is left to check.
        let (at, _) = places.next()?;
        places.next().is_none().then(|| (key.clone(), at))
    };
    let pinned: Vec<_> = key.columns.iter().map_while(place_of).collect();
    (!pinned.is_empty() && pinned.len() == columns.len()).then_some(pinned)
}
