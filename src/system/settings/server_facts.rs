//! Settings of PostgreSQL's servers that tools read, and that nobody changes here: what is true of this one, or, where nothing here is like it,
//! PostgreSQL's default.

use super::definition::SettingKind::{Bool, Enum, Text};
use super::definition::{
    BYTES, COST, COUNT, MEGABYTES, PAGES, SECONDS, SettingDef, SettingKind, SettingScope, user,
};

/// What nothing here is like.
const COMPATIBLE: &str = "For compatibility.";

const fn fact(
    name: &'static str,
    value: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        scope: SettingScope::Internal,
        ..user(name, value, kind, description)
    }
}

pub(super) static SETTINGS: &[SettingDef] = &[
    fact(
        "allow_system_table_mods",
        "off",
        Bool,
        "Nobody writes to the system's tables.",
    ),
    fact("archive_command", "", Text, COMPATIBLE),
    fact(
        "archive_mode",
        "off",
        Enum(&["off", "on", "always"]),
        "Logs are not archived.",
    ),
    fact("archive_timeout", "0", SECONDS, COMPATIBLE),
    fact(
        "autovacuum",
        "on",
        Bool,
        "The space of what was removed is taken back without being asked.",
    ),
    fact("autovacuum_analyze_scale_factor", "0.1", COST, COMPATIBLE),
    fact("autovacuum_analyze_threshold", "50", COUNT, COMPATIBLE),
    fact("autovacuum_freeze_max_age", "200000000", COUNT, COMPATIBLE),
    fact("autovacuum_max_workers", "3", COUNT, COMPATIBLE),
    fact("autovacuum_naptime", "60", SECONDS, COMPATIBLE),
    fact("autovacuum_vacuum_insert_scale_factor", "0.2", COST, COMPATIBLE),
    fact("autovacuum_vacuum_insert_threshold", "1000", COUNT, COMPATIBLE),
    fact("autovacuum_vacuum_scale_factor", "0.2", COST, COMPATIBLE),
    fact("autovacuum_vacuum_threshold", "50", COUNT, COMPATIBLE),
    fact("checkpoint_completion_target", "0.9", COST, COMPATIBLE),
    fact("checkpoint_timeout", "300", SECONDS, COMPATIBLE),
    fact("cluster_name", "", Text, COMPATIBLE),
    fact(
        "config_file",
        "",
        Text,
        "There is none: the command line and ALTER DATABASE say it.",
    ),
    fact("data_checksums", "on", Bool, "What is stored has a checksum."),
    fact("debug_assertions", "off", Bool, COMPATIBLE),
    fact("fsync", "on", Bool, "What is committed is on the disk."),
    fact(
        "full_page_writes",
        "on",
        Bool,
        "A page that is half written is found and mended.",
    ),
    fact("hba_file", "", Text, "There is none."),
    fact("hot_standby", "off", Bool, "There are no standbys."),
    fact("huge_pages", "off", Enum(&["off", "on", "try"]), COMPATIBLE),
    fact("ident_file", "", Text, "There is none."),
    fact("log_connections", "off", Bool, COMPATIBLE),
    fact("log_destination", "stderr", Text, "Where the server's log goes."),
    fact("log_disconnections", "off", Bool, COMPATIBLE),
    fact("log_line_prefix", "", Text, COMPATIBLE),
    fact(
        "log_timezone",
        "UTC",
        Text,
        "The zone of times in the server's log.",
    ),
    fact("logging_collector", "off", Bool, COMPATIBLE),
    fact("max_function_args", "100", COUNT, "Most arguments of a function."),
    fact("max_locks_per_transaction", "64", COUNT, COMPATIBLE),
    fact("max_pred_locks_per_transaction", "64", COUNT, COMPATIBLE),
    fact(
        "max_prepared_transactions",
        "0",
        COUNT,
        "There is no PREPARE TRANSACTION.",
    ),
    fact("max_replication_slots", "0", COUNT, "There is no replication."),
    fact("max_wal_senders", "0", COUNT, "There is no replication."),
    fact("max_wal_size", "1024", MEGABYTES, COMPATIBLE),
    fact("max_worker_processes", "8", COUNT, COMPATIBLE),
    fact("min_wal_size", "80", MEGABYTES, COMPATIBLE),
    fact("restart_after_crash", "on", Bool, COMPATIBLE),
    fact("segment_size", "131072", PAGES, COMPATIBLE),
    fact(
        "shared_buffers",
        "16384",
        PAGES,
        "For compatibility: keyspan.cache_bytes is what the store caches.",
    ),
    fact("shared_preload_libraries", "", Text, "There are none."),
    fact(
        "superuser_reserved_connections",
        "0",
        COUNT,
        "No connections are kept for anybody.",
    ),
    fact("synchronous_standby_names", "", Text, "There are no standbys."),
    fact(
        "track_activity_query_size",
        "1024",
        BYTES,
        "What pg_stat_activity keeps and tells of a statement, a zero byte included.",
    ),
    fact("track_commit_timestamp", "off", Bool, COMPATIBLE),
    fact("unix_socket_directories", "", Text, COMPATIBLE),
    fact("wal_buffers", "512", PAGES, COMPATIBLE),
    fact(
        "wal_level",
        "minimal",
        Enum(&["minimal", "replica", "logical"]),
        "The log is for recovery alone.",
    ),
    fact("wal_log_hints", "off", Bool, COMPATIBLE),
    fact("wal_segment_size", "16777216", BYTES, COMPATIBLE),
];
