//! Keyspan's own settings.

use super::definition::SettingKind::{Bool, Enum, Text};
use super::definition::{
    BYTES, KEY_BYTES, MILLISECONDS, RESULT_BYTES, ROOMY_BYTES, SettingDef, Unit, number, server, user,
};

/// The rules that can be left out, in their order (`rewrite`).
pub(crate) const REWRITE_RULES: &[&str] = &[
    "none",
    "all",
    "constants",
    "unions",
    "lateral_rows",
    "outer_joins",
    "limits",
    "filters",
    "empty_relations",
    "first_rows",
    "distinct_values",
    "common_expressions",
    "columns",
    "existence",
];

pub(super) static SETTINGS: &[SettingDef] = &[
    user(
        "keyspan.full_scan",
        "reject",
        Enum(&["allow", "small", "reject", "forbid"]),
        "What happens to a filter without a bound on a key's first column; small lets it run on small tables; forbid also refuses unfiltered reads.",
    )
    .shaping_plans(),
    user(
        "keyspan.small_table_rows",
        "1000",
        number(0, 1_000_000, Unit::None),
        "Most rows of a table that keyspan.full_scan = small lets a filter read whole.",
    )
    .shaping_plans(),
    user(
        "keyspan.unwritten_columns",
        "shown",
        Enum(&["shown", "error", "null"]),
        "What a column is that writes may add and none has: shown is NULL in a select list and an error where rows are chosen; error and null are so everywhere.",
    )
    .shaping_plans(),
    user(
        "keyspan.columns_max",
        "1600",
        number(1, 1600, Unit::None),
        "Most columns of a table to which a write adds one.",
    )
    .shaping_plans(),
    user(
        "keyspan.trash_hours",
        "0",
        number(0, 87_600, Unit::None),
        "Hours for which DROP TABLE and TRUNCATE keep what they remove (SHOW TRASH, UNDROP TABLE); 0: it goes at once.",
    ),
    user(
        "keyspan.multi_get_max_keys",
        "2000",
        number(1, 1_000_000, Unit::None),
        "Most keys that one multi-get may fetch.",
    )
    .shaping_plans(),
    user(
        "keyspan.join_keys_max",
        "20000",
        number(0, 1_000_000, Unit::None),
        "Most keys of a hash join's kept side that narrow what is read of the other; 0 turns that off.",
    )
    .shaping_plans(),
    user(
        "keyspan.join_order_rows",
        "10000",
        number(0, 1_000_000_000, Unit::None),
        "Of inner joins without lookups the cheapest order is sought when one of the tables has so many rows.",
    )
    .shaping_plans(),
    user(
        "keyspan.rewrite_rule_off",
        "none",
        Enum(REWRITE_RULES),
        "For tests: a rule by which plans are not rewritten, or all; they give the same rows, and may take longer.",
    ),
    user(
        "keyspan.known_texts_max",
        "64",
        number(0, 10_000, Unit::None),
        "Statements of the simple protocol that a session keeps planned, for texts that differ in constants only.",
    ),
    user(
        "keyspan.known_texts_threshold",
        "2",
        number(1, 1_000, Unit::None),
        "Times that a text must come, but for its constants, to be kept planned.",
    ),
    user(
        "keyspan.max_ranges",
        "1024",
        number(1, 1_000_000, Unit::None),
        "Most key ranges of one scan; above it neighbours are merged and a filter checks the rows.",
    )
    .shaping_plans(),
    server(
        "keyspan.load_dir",
        "",
        Text,
        "The folder below which COPY reads and writes files of the server; empty: none.",
    ),
    user(
        "keyspan.key_locks_max",
        "10000",
        number(1_000, 1_000_000_000, Unit::None),
        "Keys that a transaction locks one by one; what it locks behind that in the order of keys are ranges.",
    ),
    server(
        "keyspan.authentication",
        "trust",
        Enum(&["trust", "scram-sha-256"]),
        "trust: whoever reaches the server is who he says, and only loopback is served; scram-sha-256: roles that may log in show that they know their password.",
    ),
    server(
        "keyspan.any_database",
        "on",
        Bool,
        "Names that no database has reach the first one; off: only postgres does, and other names are an error (3D000).",
    ),
    server(
        "keyspan.databases_max",
        "1000",
        number(0, 100_000, Unit::None),
        "Most databases that may be made beside the first.",
    ),
    server(
        "keyspan.advisory_locks_max",
        "100000",
        number(1, 100_000_000, Unit::None),
        "Most advisory locks of all sessions, those waited for among them.",
    ),
    server(
        "keyspan.notify_queue_bytes_max",
        "67108864",
        ROOMY_BYTES,
        "Memory for notifications that sessions which listen have not taken yet.",
    ),
    server(
        "keyspan.ttl_rows_per_second",
        "10000",
        number(0, 10_000_000, Unit::None),
        "Most rows a second that the background removes of those that are over (TTL); 0: none. ALTER SYSTEM changes it at once.",
    ),
    user(
        "keyspan.key_rules",
        "notice",
        Enum(&["notice", "refuse", "off"]),
        "What happens to a key of CREATE TABLE or CREATE INDEX that invites trouble (a hotspot, many columns, texts of any length): a NOTICE, an error, nothing.",
    ),
    server(
        "keyspan.region_bytes",
        "8589934592",
        number(0, i64::MAX, Unit::Bytes),
        "Bytes of a region above which the server splits it; 0: never. Two that it has split and that hold less than a quarter are merged. ALTER SYSTEM changes it at once.",
    ),
    server(
        "keyspan.region_hot_per_second",
        "10000",
        number(0, 1_000_000_000, Unit::None),
        "Rows read and written a second above which a region is hot, and the server splits it; 0: none ever is. ALTER SYSTEM changes it at once.",
    ),
    user(
        "keyspan.version_offset_max",
        "86400000",
        MILLISECONDS,
        "How far in the future the time of a version may be that a write gives it (_l_ts_).",
    ),
    server(
        "keyspan.cache_bytes",
        "268435456",
        ROOMY_BYTES,
        "Memory for the storage engine's cache.",
    ),
    server(
        "keyspan.key_bytes_max",
        "30720",
        KEY_BYTES,
        "Longest key of a row.",
    ),
    server(
        "keyspan.key_column_bytes_max",
        "2048",
        BYTES,
        "Longest value of one key column.",
    ),
    server(
        "keyspan.memory_bytes_max",
        "402653184",
        ROOMY_BYTES,
        "Memory that all statements and transactions hold together.",
    ),
    server(
        "keyspan.prepared_bytes_max",
        "67108864",
        ROOMY_BYTES,
        "Memory for the prepared statements of one session.",
    ),
    server(
        "keyspan.message_bytes_max",
        "67108864",
        ROOMY_BYTES,
        "Longest message that a client may send.",
    ),
    server(
        "keyspan.query_memory_bytes_max",
        "536870912",
        ROOMY_BYTES,
        "Memory for sorts, joins and groups of one statement before they spill.",
    ),
    server(
        "keyspan.function_value_bytes_max",
        "67108864",
        RESULT_BYTES,
        "Longest value that a function makes.",
    )
    .shaping_plans(),
    server(
        "keyspan.function_batch_bytes_max",
        "536870912",
        RESULT_BYTES,
        "Most bytes of a function's results for one batch of rows.",
    )
    .shaping_plans(),
    server(
        "keyspan.transaction_bytes_max",
        "1073741824",
        BYTES,
        "Most bytes that one transaction may write; they wait in memory for COMMIT.",
    ),
    server(
        "keyspan.checkpoint_bytes",
        "268435456",
        ROOMY_BYTES,
        "Growth of the log after which the storage engine is made durable.",
    ),
    server(
        "keyspan.disk_reserve_bytes",
        "268435456",
        BYTES,
        "Free disk space below which only what frees space is written.",
    ),
    server(
        "keyspan.log_segment_bytes",
        "16777216",
        ROOMY_BYTES,
        "Length of a segment of the log.",
    ),
    server(
        "keyspan.large_commits_bytes_max",
        "1073741824",
        ROOMY_BYTES,
        "Memory for large commits that the storage engine does not have yet.",
    ),
    server(
        "keyspan.memtable_bytes_max",
        "67108864",
        ROOMY_BYTES,
        "Memory for commits that the storage engine does not have yet.",
    ),
    server(
        "keyspan.undo_bytes_max",
        "268435456",
        BYTES,
        "Memory for old values that open snapshots still need.",
    ),
    server(
        "keyspan.value_bytes_max",
        "2097152",
        BYTES,
        "Longest row without its key.",
    ),
];
