//! `ScanMetrics`: what a scan reads, counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::figures::Figures;

/// What a scan read, for EXPLAIN ANALYZE.
#[derive(Debug, Default)]
pub struct ScanMetrics {
    /// Pages of ranges read.
    pub pages: AtomicU64,
    /// Keys fetched by multi-get.
    pub gets: AtomicU64,
    /// Rows read, before the residual filter.
    pub rows_read: AtomicU64,
    /// Rows that satisfied the residual filter.
    pub rows: AtomicU64,
    /// Bytes of keys and values read.
    pub bytes: AtomicU64,
    /// Counts each read's rows and time as well.
    pub figures: Option<Arc<Figures>>,
}

impl ScanMetrics {
    /// Metrics that count time too.
    pub fn timed() -> ScanMetrics {
        ScanMetrics {
            figures: Some(Arc::default()),
            ..ScanMetrics::default()
        }
    }

    /// Counts rows that were read, and those that were left of them.
    pub(crate) fn count_rows(&self, read: usize, left: usize) {
        self.rows_read.fetch_add(read as u64, Ordering::Relaxed);
        self.rows.fetch_add(left as u64, Ordering::Relaxed);
    }
}
