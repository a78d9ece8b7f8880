//! The typed fields of [`Settings`], made of the texts of settings.

use std::sync::Arc;

use super::Settings;
use super::choices::{LoggedStatements, UnwrittenColumns};
use super::definitions::definitions;
use super::transaction_mode::Isolation;
use crate::plan::FullScanPolicy;
use crate::table::Limits;
use crate::types::{
    ByteaOutput, CharacterEncoding, DateStyle, IntervalStyle, ResultLimits, TrigramThresholds, Zone,
};

impl Settings {
    /// Who the session is, and what it is asked for.
    fn derive_roles(&mut self) {
        if *self.session_user != *self.value("session_authorization") {
            self.session_user = self.value("session_authorization").into();
        }
        self.role = match self.value("role") {
            "none" => None,
            role => Some(role.into()),
        };
        self.asks_for_passwords = self.value("keyspan.authentication") != "trust";
    }

    /// Reads the typed fields out of the texts, which `normalize` has checked.
    pub(super) fn derive(&mut self) {
        self.derive_format();
        self.derive_search_path();
        self.full_scan = match self.value("keyspan.full_scan") {
            "allow" => FullScanPolicy::Allow,
            "forbid" => FullScanPolicy::Forbid,
            "small" => FullScanPolicy::Small {
                rows_max: self.number("keyspan.small_table_rows") as u64,
            },
            _ => FullScanPolicy::Reject,
        };
        self.unwritten_columns = UnwrittenColumns::named(self.value("keyspan.unwritten_columns"));
        self.columns_max = self.number("keyspan.columns_max");
        self.trash_hours = self.number("keyspan.trash_hours") as u32;
        self.multi_get_keys_max = self.number("keyspan.multi_get_max_keys");
        self.join_keys_max = self.number("keyspan.join_keys_max");
        self.join_order_rows = self.number("keyspan.join_order_rows") as u64;
        self.rewrite_rule_off = Arc::from(self.value("keyspan.rewrite_rule_off"));
        self.known_texts_max = self.number("keyspan.known_texts_max");
        self.known_texts_threshold = self.number("keyspan.known_texts_threshold");
        self.ranges_max = self.number("keyspan.max_ranges");
        self.parallel_workers_max = self.number("max_parallel_workers_per_gather");
        self.statement_timeout_ms = self.number("statement_timeout") as u64;
        self.version_offset_max_ms = self.number("keyspan.version_offset_max") as i64;
        self.log_min_duration_ms = self.value("log_min_duration_statement").parse().ok();
        self.counts_statements = self.value("pg_stat_statements.track") != "none";
        self.counts_utility_statements = self.value("pg_stat_statements.track_utility") == "on";
        self.counted_statements_max = self.number("pg_stat_statements.max");
        self.log_statement = LoggedStatements::named(self.value("log_statement"));
        self.idle_in_transaction_timeout_ms = self.number("idle_in_transaction_session_timeout") as u64;
        self.idle_session_timeout_ms = self.number("idle_session_timeout") as u64;
        self.lock_timeout_ms = self.number("lock_timeout") as u64;
        self.deadlock_timeout_ms = self.number("deadlock_timeout") as u64;
        self.isolation = Isolation::of(self.value("transaction_isolation"));
        self.default_isolation = Isolation::of(self.value("default_transaction_isolation"));
        self.key_locks_max = self.number("keyspan.key_locks_max");
        self.derive_roles();
        self.any_database = self.value("keyspan.any_database") == "on";
        self.databases_max = self.number("keyspan.databases_max");
        self.advisory_locks_max = self.number("keyspan.advisory_locks_max");
        self.notify_queue_bytes_max = self.number("keyspan.notify_queue_bytes_max");
        self.synchronous_commit = self.value("synchronous_commit") != "off";
        self.replays = self.value("session_replication_role") == "replica";
        self.transaction_read_only = self.value("transaction_read_only") == "on";
        self.limits = Limits {
            key_column_bytes_max: self.number("keyspan.key_column_bytes_max"),
            key_bytes_max: self.number("keyspan.key_bytes_max"),
            value_bytes_max: self.number("keyspan.value_bytes_max"),
            row_lifetime: None,
            version_time: None,
        };
        self.result_limits = ResultLimits {
            value_bytes_max: self.number("keyspan.function_value_bytes_max"),
            batch_bytes_max: self.number("keyspan.function_batch_bytes_max"),
        };
        self.transaction_bytes_max = self.number("keyspan.transaction_bytes_max");
        self.query_memory_bytes_max = self.number("keyspan.query_memory_bytes_max");
        self.message_bytes_max = self.number("keyspan.message_bytes_max");
        self.prepared_bytes_max = self.number("keyspan.prepared_bytes_max");
        self.maintenance_bytes_max = self.number("maintenance_work_mem").saturating_mul(1 << 10);
        // In kB; a negative number is none.
        let temp_file_limit = self.value("temp_file_limit").parse::<u64>().ok();
        self.temp_file_bytes_max = temp_file_limit.map(|kilobytes| kilobytes << 10);
        let values = definitions().iter().zip(&self.values);
        let of_plans = values.filter(|(def, _)| def.shapes_plans).map(|(_, value)| value);
        if !self.of_plans.iter().eq(of_plans.clone()) {
            self.of_plans = of_plans.cloned().collect();
        }
    }

    /// Those that values are read and printed by.
    fn derive_format(&mut self) {
        let encoding = CharacterEncoding::named(self.value("client_encoding"));
        self.client_encoding = encoding.unwrap_or(CharacterEncoding::UTF8);
        self.time_zone = Zone::of_name(self.value("TimeZone")).unwrap_or(Zone::UTC);
        let date_style = DateStyle::read(
            self.value("DateStyle"),
            DateStyle::default(),
            DateStyle::default(),
        );
        self.date_style = date_style.unwrap_or_default();
        self.interval_style = IntervalStyle::named(self.value("IntervalStyle"));
        self.bytea_output = match self.value("bytea_output") {
            "escape" => ByteaOutput::Escape,
            _ => ByteaOutput::Hex,
        };
        self.extra_float_digits = self.value("extra_float_digits").parse().unwrap_or(1);
        let threshold = |name: &str, usual: f32| self.value(name).parse().unwrap_or(usual);
        let usual = TrigramThresholds::default();
        self.trigrams = TrigramThresholds {
            similarity: threshold("pg_trgm.similarity_threshold", usual.similarity),
            word: threshold("pg_trgm.word_similarity_threshold", usual.word),
            strict_word: threshold("pg_trgm.strict_word_similarity_threshold", usual.strict_word),
        };
    }
}
