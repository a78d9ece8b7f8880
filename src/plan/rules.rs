//! `PlanRules`: what the session, the statement and the table allow a plan.

use std::sync::Arc;

use crate::catalog::TableDef;
use crate::parse::IndexHint;

/// Whether filters without a key bound may run (`keyspan.full_scan`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FullScanPolicy {
    /// They may.
    Allow,
    /// They may on a table of at most so many rows that is not made to be wide (`keyspan.small_table_rows`).
    Small {
        /// Rows at most.
        rows_max: u64,
    },
    /// They are refused (the default).
    #[default]
    Reject,
    /// Unfiltered reads are refused as well.
    Forbid,
}

impl FullScanPolicy {
    /// Rows at most of a table that a filter without a key bound may read; `None`: none may, or all may.
    pub(super) fn rows_max(self, table: &TableDef) -> Option<u64> {
        match self {
            FullScanPolicy::Small { rows_max } if !table.is_wide() => Some(rows_max),
            _ => None,
        }
    }
}

/// Keys that one multi-get may fetch at least where whole tables may be read: a list of them reads less.
const KEYS_WHERE_ALL_MAY_BE_READ: usize = 100_000;

/// What the session allows.
#[derive(Debug, Clone)]
pub struct PlanRules {
    /// Full scans; `Allow` when the statement carries a hint or the table its option.
    pub full_scan: FullScanPolicy,
    /// `keyspan.multi_get_max_keys`.
    pub multi_get_keys_max: usize,
    /// Ranges at most (`keyspan.max_ranges`); above it ranges are merged and a residual filters.
    pub ranges_max: usize,
    /// Which keys the statement's hints leave to choose from.
    pub index_hint: Option<IndexHint>,
    /// The database's name, for what a refusal says to paste.
    pub database: Arc<str>,
}

impl PlanRules {
    /// Keys at most that one multi-get fetches.
    pub(super) fn keys_max(&self) -> usize {
        match self.full_scan {
            FullScanPolicy::Allow => self.multi_get_keys_max.max(KEYS_WHERE_ALL_MAY_BE_READ),
            _ => self.multi_get_keys_max,
        }
    }
}
