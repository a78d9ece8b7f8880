//! `PlanRules`: what the session, the statement and the table allow a plan.

use crate::parse::IndexHint;

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
    /// Ranges at most (`keyspan.max_ranges`); above it ranges are merged and a residual filters.
    pub ranges_max: usize,
    /// Which keys the statement's hints leave to choose from.
    pub index_hint: Option<IndexHint>,
}
