//! `plan_access`: a table and a predicate into one access path, or the error that teaches (53400, 54000).

use std::sync::Arc;

use super::Predicate;
use crate::Result;
use crate::catalog::TableDef;
use crate::codec::keyspace::IndexId;
use crate::store::KeyRange;

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
    /// Distinct stored keys, sorted as the key sorts.
    MultiGet { keys: Vec<Vec<u8>> },
    /// Sorted, disjoint ranges of stored keys. `whole`: the whole key, for want of any filter.
    RangeScan { ranges: Vec<KeyRange>, whole: bool },
    /// The whole key with a filter that bounds nothing, because it was allowed.
    FullScan { range: KeyRange },
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
    /// Read from the last key to the first (see `with_order`).
    pub reverse: bool,
    /// What must still hold for a row that was read; `None`: every row read matches. When it contains
    /// `Predicate::Opaque` the planner's caller evaluates the whole condition.
    pub residual: Option<Predicate>,
    /// The boxes in readable SQL values, for EXPLAIN: one line a key or range, at most some dozens, then `… n more`.
    pub readable: Vec<String>,
    /// Leading key columns that `=` pins to one value: they may be left out of an ORDER BY.
    pub pinned: Vec<usize>,
}

/// Plans the access to one table. `predicate`: `None` when there is no WHERE.
/// Errors: `FullScan`, `TooManyKeys`.
pub fn plan_access(
    _table: &Arc<TableDef>,
    _predicate: Option<&Predicate>,
    _rules: &PlanRules,
) -> Result<AccessPath> {
    unimplemented!()
}

impl AccessPath {
    /// Whether rows in the path's key order (`reverse: false`) or the reverse come in the order asked for:
    /// `Some(reverse)`. `None`: it takes a sort.
    pub fn order_direction(&self, _order: &[OrderColumn]) -> Option<bool> {
        unimplemented!()
    }
    /// The head line of EXPLAIN: `Multi-Get on orders using orders_pkey`, `Range Scan Backward on …`.
    pub fn title(&self) -> String {
        unimplemented!()
    }
}
