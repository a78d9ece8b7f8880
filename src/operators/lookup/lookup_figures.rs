//! `LookupFigures`: what a join by lookup does, counted. For EXPLAIN ANALYZE.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::scan::scan_metrics::ScanMetrics;

/// What lookups are counted in.
#[derive(Debug, Default)]
pub struct LookupFigures {
    /// What is read for them.
    pub scan: Arc<ScanMetrics>,
    /// Keys that were looked up.
    pub keys: AtomicU64,
    /// Reads that they were looked up by.
    pub batches: AtomicU64,
    /// Rows that were kept once lookups gave way to reading all of them.
    pub kept: AtomicU64,
}
