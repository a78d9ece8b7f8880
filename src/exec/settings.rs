//! The session's settings: one row a setting (name, default, what it means, how it is checked), read by SET, SHOW,
//! RESET, pg_settings and the README's table. Statements read the typed fields.

use chrono_tz::Tz;

use crate::plan::FullScanPolicy;
use crate::table::Limits;

/// The settings a statement reads, typed.
#[derive(Debug, Clone)]
pub struct Settings {
    /// TimeZone.
    pub time_zone: Tz,
    /// search_path.
    pub search_path: Vec<String>,
    /// keyspan.full_scan.
    pub full_scan: FullScanPolicy,
    /// keyspan.multi_get_max_keys.
    pub multi_get_keys_max: usize,
    /// keyspan.ranges_max.
    pub ranges_max: usize,
    /// keyspan.key_column_bytes_max, keyspan.key_bytes_max, keyspan.value_bytes_max.
    pub limits: Limits,
    /// statement_timeout in milliseconds; 0: none.
    pub statement_timeout_ms: u64,
    /// synchronous_commit: `false` answers before the commit is durable.
    pub synchronous_commit: bool,
}
