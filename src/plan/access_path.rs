//! `AccessPath`: the key of a table that is read, what of it, in which order its rows come, and what is left to check.

use std::sync::Arc;

use super::Predicate;
use super::key_order::KeyOrder;
use super::key_shape::KeyShape;
use super::merge::{self, Merge};
use super::readable;
use super::term_sets::TermSets;
use super::wanted::OrderColumn;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::IndexId;
use crate::store::KeyRange;
use crate::{Error, Result};

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
    /// The rows under terms of an inverted index.
    TermScan(TermSets),
    /// One path after the other, none of which gives a row that one before it gives. The path itself is of no key and leaves
    /// nothing to check.
    Union {
        /// Two or more.
        parts: Vec<AccessPath>,
    },
    /// The whole key with a filter that bounds nothing, because it was allowed.
    FullScan {
        /// The whole key.
        range: KeyRange,
    },
    /// The same because the table is small: whoever reads it ends with the refusal when it is not.
    SmallScan {
        /// The whole key.
        range: KeyRange,
        /// Rows at most.
        rows_max: u64,
        /// 53400.
        refusal: Arc<Error>,
    },
}

/// A table, the key to read it by, what to read of it, and what is left to check.
#[derive(Debug, Clone, PartialEq)]
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
    /// Key columns (positions likewise) that the condition keeps free of NULLs.
    pub null_free: Vec<usize>,
    /// Conditions on generated columns that follow from the others and bound the key: nothing is left of them to check.
    pub derived: Vec<Predicate>,
    /// How its parts are merged; `None`: they come one after the other.
    pub merge: Option<Box<Merge>>,
}

impl AccessPath {
    /// Leaves out what does not stand behind a stored key of the primary key, by which it reads.
    pub fn keep_behind(&mut self, after: &[u8]) {
        debug_assert!(self.index == 0, "a walk is along the primary key");
        if after.is_empty() {
            return;
        }
        let behind = |range: &KeyRange| {
            let mut range = range.clone();
            if *range.start <= *after {
                // The least key behind it.
                range.start = [after, &[0]].concat();
            }
            let is_empty = range.end.as_ref().is_some_and(|end| *end <= range.start);
            (!is_empty).then_some(range)
        };
        let class = match &mut self.class {
            // Nobody walks along an index.
            AccessClass::Empty | AccessClass::TermScan(_) => return,
            AccessClass::MultiGet { keys } => return keys.retain(|key| **key > *after),
            AccessClass::Union { parts } => return parts.iter_mut().for_each(|part| part.keep_behind(after)),
            AccessClass::RangeScan { ranges, .. } => AccessClass::RangeScan {
                ranges: ranges.iter().filter_map(behind).collect(),
                whole: false,
            },
            AccessClass::FullScan { range } => AccessClass::RangeScan {
                ranges: behind(range).into_iter().collect(),
                whole: false,
            },
            AccessClass::SmallScan {
                range,
                rows_max,
                refusal,
            } => match behind(range) {
                Some(range) => AccessClass::SmallScan {
                    range,
                    rows_max: *rows_max,
                    refusal: Arc::clone(refusal),
                },
                None => AccessClass::Empty,
            },
        };
        self.class = class;
    }

    /// The same path forwards over no ranges, for whoever reads it in parts of his own.
    pub fn without_ranges(&self) -> AccessPath {
        AccessPath {
            table: Arc::clone(&self.table),
            index: self.index,
            class: AccessClass::Empty,
            reverse: false,
            residual: self.residual.clone(),
            pinned: self.pinned.clone(),
            null_free: self.null_free.clone(),
            derived: self.derived.clone(),
            merge: self.merge.clone(),
        }
    }

    /// A path that gives nothing.
    pub(super) fn nothing(table: &Arc<TableDef>) -> AccessPath {
        AccessPath::union(table, Vec::new())
    }

    /// Several paths; those that give nothing are left out.
    pub(super) fn union(table: &Arc<TableDef>, parts: Vec<AccessPath>) -> AccessPath {
        let mut parts = parts;
        parts.retain(|part| part.class != AccessClass::Empty);
        let class = match parts.len() {
            0 => AccessClass::Empty,
            1 => return parts.remove(0),
            _ => AccessClass::Union { parts },
        };
        AccessPath {
            table: Arc::clone(table),
            index: table.primary_key.id,
            class,
            reverse: false,
            residual: None,
            pinned: Vec::new(),
            null_free: Vec::new(),
            derived: Vec::new(),
            merge: None,
        }
    }

    /// Whether rows are fetched by their primary key: each by one get, that key's.
    pub fn is_of_row_gets(&self) -> bool {
        matches!(self.class, AccessClass::MultiGet { .. }) && self.index == 0
    }

    /// Whether rows in the path's key order (`Some(false)`) or the reverse (`Some(true)`) come in the order asked for.
    /// `None`: it takes a sort. The path's own `reverse` is not asked.
    pub fn order_direction(&self, order: &[OrderColumn]) -> Option<bool> {
        if self.yields_one_row_at_most() || order.is_empty() {
            return Some(false);
        }
        if let AccessClass::Union { .. } = self.class {
            return None;
        }
        let direction = self.order().direction(order);
        // Versions are read forward, the newest of a row first.
        direction.filter(|reverse| !reverse || !self.table.is_of_versions())
    }

    /// Has the rows come in this order, if the key gives it, or parts of it that are merged. What comes of a merge keeps nothing
    /// together that the key does.
    pub fn serve(&mut self, order: &[OrderColumn], may_merge: bool) -> bool {
        if let Some(reverse) = self.order_direction(order) {
            self.reverse = reverse;
            return true;
        }
        match may_merge.then(|| self.merge_for(order)).flatten() {
            Some((reverse, merge)) => {
                self.reverse = reverse;
                self.merge = Some(Box::new(merge));
                true
            }
            None => false,
        }
    }

    /// The merge that gives an order, and whether it is backward.
    fn merge_for(&self, order: &[OrderColumn]) -> Option<(bool, Merge)> {
        let ranges = self.ranges().filter(|_| !self.table.is_of_versions())?;
        let shape = KeyShape::new(&self.table, self.key())?;
        (1..shape.columns.len()).find_map(|columns| {
            let leading = shape.columns[..columns].iter().map(|column| column.column);
            let aside: Vec<usize> = leading.filter(|column| !self.pinned.contains(column)).collect();
            let reverse = self.order().aside(&aside).direction(order)?;
            let parts = merge::parts(&shape, ranges, columns)?;
            Some((reverse, Merge { aside, parts }))
        })
    }

    /// Whether rows with the same values in these columns come one after the other.
    pub fn keeps_together(&self, columns: &[usize]) -> bool {
        if self.yields_one_row_at_most() {
            return true;
        }
        if matches!(self.class, AccessClass::Union { .. }) || self.merge.is_some() {
            return false;
        }
        self.order().keeps_together(columns)
    }

    /// The columns that rows come sorted by (positions in `TableDef::columns`, and directions when read forward), without
    /// those that are pinned.
    pub fn sort_columns(&self) -> Vec<OrderColumn> {
        match self.class {
            AccessClass::Union { .. } => Vec::new(),
            _ => {
                let aside = self.merge.as_ref().map(|merge| merge.aside.as_slice());
                self.order().aside(aside.unwrap_or_default()).columns()
            }
        }
    }

    fn order(&self) -> KeyOrder<'_> {
        KeyOrder::new(&self.table, self.key(), &self.pinned, &self.null_free)
    }

    /// Whether the entries of the key that is read hold these columns (positions in `TableDef::columns`) and all that is left
    /// to check, so that no row need be asked for.
    pub fn covers(&self, columns: &[usize]) -> bool {
        self.index == 0 || covers(&self.table, self.key(), columns, self.residual.as_ref())
    }

    /// What a read of a table of so many rows ends with, if it may read small tables only and this one is not.
    /// Errors: 53400.
    pub fn require_small(&self, rows: u64) -> Result<()> {
        match &self.class {
            AccessClass::SmallScan {
                rows_max, refusal, ..
            } if rows > *rows_max => Err(refusal.as_ref().clone()),
            _ => Ok(()),
        }
    }

    /// Whether it may read small tables only.
    pub fn is_small_scan(&self) -> bool {
        matches!(self.class, AccessClass::SmallScan { .. })
    }

    /// Whether every row that is read satisfies the condition.
    pub fn is_exact(&self) -> bool {
        match &self.class {
            AccessClass::Union { parts } => parts.iter().all(AccessPath::is_exact),
            _ => self.residual.is_none(),
        }
    }

    /// Leaves what is left to check but for these conditions to others.
    pub fn keep_checks(&mut self, is_kept: impl Fn(&Predicate) -> bool) {
        if let Some(residual) = self.residual.take() {
            let kept = residual.conjuncts().into_iter();
            let kept: Vec<Predicate> = kept.filter(|condition| is_kept(condition)).cloned().collect();
            self.residual = (!kept.is_empty()).then(|| Predicate::all(kept));
        }
    }

    /// The ranges that are walked, sorted; `None` when nothing is, or keys are fetched.
    pub fn ranges(&self) -> Option<&[KeyRange]> {
        match &self.class {
            AccessClass::Empty
            | AccessClass::MultiGet { .. }
            | AccessClass::TermScan(_)
            | AccessClass::Union { .. } => None,
            AccessClass::RangeScan { ranges, .. } => Some(ranges),
            AccessClass::FullScan { range } | AccessClass::SmallScan { range, .. } => {
                Some(std::slice::from_ref(range))
            }
        }
    }

    /// Whether all of a key is read.
    pub fn is_whole(&self) -> bool {
        matches!(
            self.class,
            AccessClass::FullScan { .. }
                | AccessClass::SmallScan { .. }
                | AccessClass::RangeScan { whole: true, .. }
        )
    }

    /// The class in EXPLAIN's words.
    pub fn class_name(&self) -> &'static str {
        match &self.class {
            AccessClass::Empty => "Empty Result",
            AccessClass::MultiGet { .. } => "Multi-Get",
            AccessClass::RangeScan { .. } => "Range Scan",
            AccessClass::FullScan { .. } => "Full Scan",
            AccessClass::SmallScan { .. } => "Small Scan",
            AccessClass::TermScan(_) => "Term Scan",
            AccessClass::Union { .. } => "Union",
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
        let using = match self.class {
            AccessClass::Union { .. } => String::new(),
            _ => format!(" using {key}"),
        };
        match alias == table {
            true => format!("{class}{backward} on {table}{using}"),
            false => format!("{class}{backward} on {table} {alias}{using}"),
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
            AccessClass::TermScan(terms) => readable::terms(&self.table, self.key(), terms),
            AccessClass::Empty
            | AccessClass::RangeScan { .. }
            | AccessClass::FullScan { .. }
            | AccessClass::SmallScan { .. }
            | AccessClass::Union { .. } => Vec::new(),
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
            AccessClass::RangeScan { .. }
            | AccessClass::FullScan { .. }
            | AccessClass::SmallScan { .. }
            | AccessClass::TermScan(_)
            | AccessClass::Union { .. } => false,
        }
    }
}

/// See [`AccessPath::covers`].
pub(super) fn covers(
    table: &TableDef,
    key: &IndexDef,
    columns: &[usize],
    residual: Option<&Predicate>,
) -> bool {
    // Of no column at all it is still asked whether the row is there, which an entry does not tell where rows may be over. Where it is
    // inverted a row has several.
    if key.id != 0 && (table.options.expiry.may_be_over() || key.terms.is_some()) {
        return false;
    }
    let is_covered = |column: &usize| table.is_covered(key, *column);
    columns.iter().all(is_covered) && residual.is_none_or(|left| left.columns().iter().all(is_covered))
}
