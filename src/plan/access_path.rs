//! `plan_access`: a table and a predicate into one access path, or the error that teaches (53400, 54000).
//!
//! The verdict is syntactic and never asks statistics:
//! 1. nothing can match: `Empty`;
//! 2. every key column is pinned to points: `MultiGet`, or `TooManyKeys`;
//! 3. the condition bounds the first key column, or there is no condition: `RangeScan`;
//! 4. otherwise a full scan, which is refused unless the rules allow it.

use std::sync::Arc;

use super::Predicate;
use super::bounds::bounds_column;
use super::boxes::{ConjunctCover, KeyBox, cover_all};
use super::key_ranges::{self, Points, Ranges, point_count};
use super::key_shape::KeyShape;
use super::one_key::one_key;
use super::readable;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::IndexId;
use crate::store::KeyRange;
use crate::{Error, Result};

/// Whether filters without a key bound may run (`keyspan.full_scan`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FullScanPolicy {
    /// They may.
    Allow,
    /// They are refused (the default).
    #[default]
    Reject,
    /// Unfiltered reads are refused as well.
    Forbid,
}

/// What the session allows.
#[derive(Debug, Clone)]
pub struct PlanRules {
    /// Full scans; `Allow` when the statement carries a hint or the table its option.
    pub full_scan: FullScanPolicy,
    /// `keyspan.multi_get_max_keys`.
    pub multi_get_keys_max: usize,
    /// Ranges at most (`keyspan.ranges_max`); above it ranges are merged and a residual filters.
    pub ranges_max: usize,
}

/// One column of an ORDER BY that is a plain column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderColumn {
    /// Position in `TableDef::columns`.
    pub column: usize,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

/// How rows are reached.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessClass {
    /// No row can match.
    Empty,
    /// Point reads.
    MultiGet {
        /// Distinct stored keys, sorted as the key sorts.
        keys: Vec<Vec<u8>>,
    },
    /// A walk over parts of the key.
    RangeScan {
        /// Sorted, disjoint ranges of stored keys.
        ranges: Vec<KeyRange>,
        /// The whole key, for want of any filter.
        whole: bool,
    },
    /// The whole key with a filter that bounds nothing, because it was allowed.
    FullScan {
        /// The whole key.
        range: KeyRange,
    },
}

/// A table, the key to read it by, what to read of it, and what is left to check.
#[derive(Debug, Clone)]
pub struct AccessPath {
    /// The table.
    pub table: Arc<TableDef>,
    /// The key read: 0 is the primary key.
    pub index: IndexId,
    /// What is read.
    pub class: AccessClass,
    /// Read from the last key to the first; set by whoever asked `order_direction`.
    pub reverse: bool,
    /// What must still hold for a row that was read; `None`: every row read matches. When it contains
    /// `Predicate::Opaque` the planner's caller evaluates the whole condition.
    pub residual: Option<Predicate>,
    /// Key columns (positions in `TableDef::columns`) that the condition pins to one value: they may be left out of an
    /// ORDER BY.
    pub pinned: Vec<usize>,
}

/// Plans the access to one table. `predicate`: `None` when there is no WHERE.
/// Errors: `FullScan`, `TooManyKeys`.
pub fn plan_access(
    table: &Arc<TableDef>,
    predicate: Option<&Predicate>,
    rules: &PlanRules,
) -> Result<AccessPath> {
    // Only the primary key can be read so far; built indexes join here, and the better candidate wins.
    let index = &table.primary_key;
    let conditions: Vec<&Predicate> = predicate
        .map(Predicate::conjuncts)
        .unwrap_or_default()
        .into_iter()
        .filter(|condition| **condition != Predicate::Constant(Some(true)))
        .collect();
    if let Some(key) = one_key(table, index, &conditions) {
        let class = AccessClass::MultiGet { keys: vec![key] };
        return Ok(AccessPath {
            pinned: table.key_columns(),
            ..path(table, index, class, None)
        });
    }
    let Some(shape) = KeyShape::new(table, index) else {
        return Err(Error::internal(format!(
            "key \"{}\" holds a column that cannot stand in a key",
            index.name
        )));
    };
    if conditions.is_empty() {
        return whole_key(table, index, &shape, rules);
    }
    let cover = cover_all(&shape, &conditions);
    if cover.boxes.is_empty() {
        return Ok(path(table, index, AccessClass::Empty, None));
    }
    let pinned = pinned_columns(&shape, &cover.boxes);
    let planned = match key_ranges::points(&shape, &cover.boxes, rules.multi_get_keys_max) {
        Points::TooMany(keys) => {
            return Err(Error::TooManyKeys {
                keys,
                keys_max: rules.multi_get_keys_max,
            });
        }
        Points::Keys(keys) => {
            let residual = residual(&shape, &conditions, &cover, shape.columns.len());
            path(table, index, AccessClass::MultiGet { keys }, residual)
        }
        Points::Open if is_bounded(&shape, &conditions, &cover) => {
            let Ranges {
                ranges,
                exact_columns,
            } = key_ranges::ranges(&shape, &cover.boxes, rules.ranges_max);
            let residual = residual(&shape, &conditions, &cover, exact_columns);
            path(
                table,
                index,
                AccessClass::RangeScan { ranges, whole: false },
                residual,
            )
        }
        Points::Open if rules.full_scan == FullScanPolicy::Allow => {
            let residual = residual(&shape, &conditions, &cover, 0);
            path(
                table,
                index,
                AccessClass::FullScan {
                    range: key_ranges::whole(&shape),
                },
                residual,
            )
        }
        Points::Open => return Err(full_scan(table, index)),
    };
    Ok(AccessPath { pinned, ..planned })
}

impl AccessPath {
    /// Whether rows in the path's key order (`Some(false)`) or the reverse (`Some(true)`) come in the order asked for.
    /// `None`: it takes a sort. The path's own `reverse` is not asked.
    pub fn order_direction(&self, order: &[OrderColumn]) -> Option<bool> {
        if self.yields_one_row_at_most() {
            return Some(false);
        }
        let index = self.key();
        let mut settled = self.pinned.clone();
        let mut key_columns = index
            .columns
            .iter()
            .filter_map(|key| Some((self.table.column_index_by_id(key.column)?, key)))
            .filter(|(column, _)| !self.pinned.contains(column));
        let mut reverse = None;
        let mut left = key_columns.clone().count();
        for wanted in order {
            if left == 0 && index.unique {
                break;
            }
            if settled.contains(&wanted.column) {
                continue;
            }
            let (column, key) = key_columns.next()?;
            if column != wanted.column {
                return None;
            }
            let backward = wanted.descending != key.descending;
            let not_null = index.id == 0 || self.table.columns[column].is_never_null();
            let nulls_agree = not_null || (wanted.nulls_first != key.nulls_first) == backward;
            if *reverse.get_or_insert(backward) != backward || !nulls_agree {
                return None;
            }
            settled.push(column);
            left -= 1;
        }
        Some(reverse.unwrap_or(false))
    }

    /// The ranges that are walked, sorted; `None` when nothing is, or keys are fetched.
    pub fn ranges(&self) -> Option<&[KeyRange]> {
        match &self.class {
            AccessClass::Empty | AccessClass::MultiGet { .. } => None,
            AccessClass::RangeScan { ranges, .. } => Some(ranges),
            AccessClass::FullScan { range } => Some(std::slice::from_ref(range)),
        }
    }

    /// The class in EXPLAIN's words.
    pub fn class_name(&self) -> &'static str {
        match &self.class {
            AccessClass::Empty => "Empty Result",
            AccessClass::MultiGet { .. } => "Multi-Get",
            AccessClass::RangeScan { .. } => "Range Scan",
            AccessClass::FullScan { .. } => "Full Scan",
        }
    }

    /// The head line of EXPLAIN: `Multi-Get on orders using orders_pkey`, `Range Scan Backward on orders o using …`.
    /// `alias`: what the statement calls the table.
    pub fn title(&self, alias: &str) -> String {
        let class = self.class_name();
        if self.class == AccessClass::Empty {
            return class.to_string();
        }
        let backward = if self.reverse { " Backward" } else { "" };
        let (table, key) = (&self.table.name, &self.key().name);
        match alias == table {
            true => format!("{class}{backward} on {table} using {key}"),
            false => format!("{class}{backward} on {table} {alias} using {key}"),
        }
    }

    /// Keys or ranges in readable SQL values, decoded from the very bytes that are read: one line each, at most some,
    /// then `… n more`. A method, since only EXPLAIN asks and keyed reads must not pay for it.
    pub fn readable(&self) -> Vec<String> {
        let Some(shape) = KeyShape::new(&self.table, self.key()) else {
            return Vec::new();
        };
        match &self.class {
            AccessClass::MultiGet { keys } => readable::keys(&self.table, &shape, keys),
            AccessClass::RangeScan { ranges, whole: false } => readable::ranges(&self.table, &shape, ranges),
            AccessClass::Empty | AccessClass::RangeScan { .. } | AccessClass::FullScan { .. } => Vec::new(),
        }
    }

    /// The key that is read.
    pub fn key(&self) -> &IndexDef {
        self.table
            .indexes
            .iter()
            .find(|index| index.id == self.index)
            .unwrap_or(&self.table.primary_key)
    }

    fn yields_one_row_at_most(&self) -> bool {
        match &self.class {
            AccessClass::Empty => true,
            AccessClass::MultiGet { keys } => keys.len() <= 1 && self.key().unique,
            AccessClass::RangeScan { .. } | AccessClass::FullScan { .. } => false,
        }
    }
}

fn whole_key(
    table: &Arc<TableDef>,
    index: &IndexDef,
    shape: &KeyShape,
    rules: &PlanRules,
) -> Result<AccessPath> {
    if rules.full_scan == FullScanPolicy::Forbid {
        return Err(full_scan(table, index));
    }
    let ranges = vec![key_ranges::whole(shape)];
    Ok(path(
        table,
        index,
        AccessClass::RangeScan { ranges, whole: true },
        None,
    ))
}

fn path(
    table: &Arc<TableDef>,
    index: &IndexDef,
    class: AccessClass,
    residual: Option<Predicate>,
) -> AccessPath {
    AccessPath {
        table: table.clone(),
        index: index.id,
        class,
        reverse: false,
        residual,
        pinned: Vec::new(),
    }
}

/// Whether the condition says where to look: it names the first key column in a way that bounds it, or the boxes do.
fn is_bounded(shape: &KeyShape, conditions: &[&Predicate], cover: &ConjunctCover) -> bool {
    let Some(first) = shape.columns.first() else {
        return false;
    };
    let everything = first.not_null_set();
    let narrow = |one: &KeyBox| one.set(0).is_some_and(|set| set.spans() != everything.spans());
    conditions
        .iter()
        .any(|condition| bounds_column(condition, true, first.column))
        || cover.boxes.iter().all(narrow)
}

/// Key columns that every box pins to the same one value.
fn pinned_columns(shape: &KeyShape, boxes: &[KeyBox]) -> Vec<usize> {
    let is_pinned = |position: usize| {
        let column = &shape.columns[position];
        let Some(first) = boxes.first().and_then(|one| one.set(position)) else {
            return false;
        };
        point_count(column, first) == Some(1) && boxes.iter().all(|one| one.set(position) == Some(first))
    };
    (0..shape.columns.len())
        .filter(|position| is_pinned(*position))
        .map(|at| shape.columns[at].column)
        .collect()
}

/// The conditions that reading the boxes does not already guarantee: a condition drops out when its cover was tight and
/// the bytes that are read say all that the boxes say of its columns (the first `exact_columns` of the key).
fn residual(
    shape: &KeyShape,
    conditions: &[&Predicate],
    cover: &ConjunctCover,
    exact_columns: usize,
) -> Option<Predicate> {
    let guaranteed = |condition: &Predicate| {
        condition.columns().iter().all(|column| {
            let position = shape.position(*column);
            // A key column without NULLs that is not bounded at all (`a IS NOT NULL`) needs no check either.
            position.is_some_and(|position| {
                position < exact_columns
                    || cover
                        .boxes
                        .iter()
                        .all(|one| spans_everything(shape, one, position))
            })
        })
    };
    let left: Vec<Predicate> = conditions
        .iter()
        .zip(&cover.tight)
        .filter(|(condition, tight)| !(**tight && guaranteed(condition)))
        .map(|(condition, _)| (*condition).clone())
        .collect();
    (!left.is_empty()).then(|| Predicate::all(left))
}

fn spans_everything(shape: &KeyShape, one: &KeyBox, position: usize) -> bool {
    let column = &shape.columns[position];
    one.set(position).is_none_or(|set| {
        set.spans() == column.not_null_set().spans() && (column.not_null || set.holds_null())
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
