//! `KeptPath`: how rows are reached in which certain columns equal one value each, worked out once and good for all values. A statement
//! that runs again with other parameters asks it first; what it does not take is planned.
//!
//! # Why the values do not matter
//!
//! Of a condition that is nothing but `column = value` for distinct columns, each value one that its column can hold and no NULL, the
//! choice of a key sees which columns are pinned and nothing else. So it is where one of them is a list of values, at least two of them
//! distinct, and keys are named that no part of the conditions names in another index, perhaps fewer. What could see more is not kept:
//! columns that are computed, or that others are computed of, indexes of some rows only, parts that are left to check. That a path is of
//! this form is not deduced: what it reads must be, byte for byte, what would be made of the values that it was planned for.

use super::Predicate;
use super::access_path::{AccessClass, AccessPath};
use super::one_key::encode_equal;
use super::predicate::CompareOp;
use crate::catalog::{IndexDef, KeyColumn, TableDef};
use crate::codec::keyspace::entry_prefix;
use crate::store::KeyRange;
use crate::types::Value;

/// See the module's description.
#[derive(Debug)]
pub struct KeptPath {
    /// For other values; its class is `Empty`.
    path: AccessPath,
    is_of_keys: bool,
    /// The columns of the key that are pinned, from its first.
    columns: Vec<Pinned>,
}

/// A column of the key that conditions pin.
#[derive(Debug)]
struct Pinned {
    key: KeyColumn,
    /// In `TableDef::columns`.
    position: usize,
    /// Of the condition on it, among all.
    place: usize,
    /// The condition is a list: no one value is known of the column.
    is_listed: bool,
}

impl KeptPath {
    /// What is good for other values of a path that was planned for these conditions; `None`: nothing.
    pub fn of(path: &AccessPath, conditions: &[Predicate]) -> Option<KeptPath> {
        let table = &path.table;
        let compared = conditions.iter().map(|condition| Some(equated(condition)?.0));
        let columns: Vec<usize> = compared.collect::<Option<_>>()?;
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
            columns: pinned_columns(table, path.key(), conditions)?,
            path: AccessPath {
                class: AccessClass::Empty,
                ..path.clone()
            },
        };
        let is_same = kept.class(conditions, usize::MAX)? == path.class;
        let has_list = kept.columns.iter().any(|pinned| pinned.is_listed);
        (is_same && !(has_list && another_is_pinned(path, &columns))).then_some(kept)
    }

    /// The path for other values; `None`: it has to be planned. `keys_max`: more keys are not read at once.
    pub fn with(&self, conditions: &[Predicate], keys_max: usize) -> Option<AccessPath> {
        if conditions.len() != self.columns.len() {
            return None;
        }
        let class = self.class(conditions, keys_max)?;
        Some(AccessPath {
            class,
            ..self.path.clone()
        })
    }

    fn class(&self, conditions: &[Predicate], keys_max: usize) -> Option<AccessClass> {
        let table = &self.path.table;
        let mut keys = vec![entry_prefix(table.id, self.path.index).to_vec()];
        for pinned in &self.columns {
            let (column, values) = equated(conditions.get(pinned.place)?)?;
            if column != pinned.position || values.is_list() != pinned.is_listed {
                return None;
            }
            let (key, ty) = (&pinned.key, &table.columns[column].ty);
            match values {
                Equated::One(value) => keys
                    .iter_mut()
                    .try_for_each(|bytes| encode_equal(bytes, ty, key, value))?,
                Equated::List(values) => {
                    let [prefix] = keys.as_slice() else { return None };
                    if !self.is_of_keys || values.len() > keys_max {
                        return None;
                    }
                    let with = |value: &Value| {
                        let mut bytes = prefix.clone();
                        encode_equal(&mut bytes, ty, key, value).map(|()| bytes)
                    };
                    keys = values.into_iter().map(with).collect::<Option<_>>()?;
                    keys.sort_unstable();
                    keys.dedup();
                    if keys.len() < 2 {
                        return None;
                    }
                }
            }
        }
        Some(match self.is_of_keys {
            true => AccessClass::MultiGet { keys },
            false => AccessClass::RangeScan {
                ranges: keys.iter().map(|key| KeyRange::of_prefix(key)).collect(),
                whole: false,
            },
        })
    }
}

/// Whether all columns of another key than the path's are among these.
fn another_is_pinned(path: &AccessPath, columns: &[usize]) -> bool {
    let is_pinned = |key: &KeyColumn| {
        let position = path.table.column_index_by_id(key.column);
        position.is_some_and(|position| columns.contains(&position))
    };
    let mut others = path.table.all_indexes().filter(|index| index.id != path.index);
    others.any(|index| index.columns.iter().all(is_pinned))
}

/// What a column equals.
enum Equated<'a> {
    One(&'a Value),
    /// One of these.
    List(Vec<&'a Value>),
}

impl Equated<'_> {
    fn is_list(&self) -> bool {
        matches!(self, Equated::List(_))
    }
}

/// The column of `column = value`, of `column IN (…)` or of an OR of these, and what it equals.
fn equated(condition: &Predicate) -> Option<(usize, Equated<'_>)> {
    match condition {
        Predicate::Compare { .. } => {
            let (column, values) = listed(condition)?;
            Some((column, Equated::One(values.first()?)))
        }
        Predicate::InList { column, values } => Some((*column, Equated::List(values.iter().collect()))),
        Predicate::Or(alternatives) => {
            let (column, _) = listed(alternatives.first()?)?;
            let mut all = Vec::with_capacity(alternatives.len());
            for alternative in alternatives {
                let (_, values) = listed(alternative).filter(|(other, _)| *other == column)?;
                all.extend(values);
            }
            Some((column, Equated::List(all)))
        }
        _ => None,
    }
}

/// The column of `column = value` or `column IN (…)`, and the values.
fn listed(condition: &Predicate) -> Option<(usize, &[Value])> {
    match condition {
        Predicate::Compare {
            column,
            op: CompareOp::Eq,
            value,
        } => Some((*column, std::slice::from_ref(value))),
        Predicate::InList { column, values } => Some((*column, values)),
        _ => None,
    }
}

/// The first columns of the key, as the conditions pin them; `None`: these are on others.
fn pinned_columns(table: &TableDef, key: &IndexDef, conditions: &[Predicate]) -> Option<Vec<Pinned>> {
    let pinned = |key: &KeyColumn| {
        let position = table.column_index_by_id(key.column)?;
        let mut places = conditions.iter().enumerate().filter_map(|(place, condition)| {
            let (column, values) = equated(condition)?;
            (column == position).then(|| (place, values.is_list()))
        });
        // Of two conditions on one column the second is left to check.
        let (place, is_listed) = places.next()?;
        places.next().is_none().then(|| Pinned {
            key: key.clone(),
            position,
            place,
            is_listed,
        })
    };
    let pinned: Vec<_> = key.columns.iter().map_while(pinned).collect();
    (!pinned.is_empty() && pinned.len() == conditions.len()).then_some(pinned)
}
