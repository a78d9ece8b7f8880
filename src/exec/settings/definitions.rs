//! The table of settings: name, default, kind, who may change it, whether clients are told, what it means.

use super::setting_def::{SettingDef, SettingKind, SettingScope, Unit};

/// `server_version` and `version()`: clients compare the leading number.
pub const SERVER_VERSION: &str = concat!("15.0 (Keyspan ", env!("CARGO_PKG_VERSION"), ")");

/// Every setting. The order is that of `Settings::values`.
pub fn definitions() -> &'static [SettingDef] {
    DEFINITIONS
}

const fn user(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        name,
        default,
        kind,
        scope: SettingScope::Session,
        reported: false,
        description,
    }
}

const fn reported(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        name,
        default,
        kind,
        scope: SettingScope::Session,
        reported: true,
        description,
    }
}

const fn server(
    name: &'static str,
    default: &'static str,
    kind: SettingKind,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        name,
        default,
        kind,
        scope: SettingScope::Server,
        reported: false,
        description,
    }
}

const fn internal(
    name: &'static str,
    default: &'static str,
    reported: bool,
    description: &'static str,
) -> SettingDef {
    SettingDef {
        name,
        default,
        kind: SettingKind::Text,
        scope: SettingScope::Internal,
        reported,
        description,
    }
}

const fn number(min: i64, max: i64, unit: Unit) -> SettingKind {
    SettingKind::Integer { min, max, unit }
}

const INT_MAX: i64 = i32::MAX as i64;
const MILLISECONDS: SettingKind = number(0, INT_MAX, Unit::Milliseconds);
/// A limit on data: any size, but one that arithmetic on it cannot overflow.
const BYTES: SettingKind = number(1, TEBIBYTE, Unit::Bytes);
/// Memory or messages that less than this makes useless: the engine's cache asserts a floor of its own, and a message
/// carries at least a short statement.
const ROOMY_BYTES: SettingKind = number(64 << 10, TEBIBYTE, Unit::Bytes);
/// With what stands before them, keys stay below the 65,535 bytes that every engine takes.
const KEY_BYTES: SettingKind = number(1, 65_000, Unit::Bytes);
const TEBIBYTE: i64 = 1 << 40;
const KILOBYTES: SettingKind = number(64, INT_MAX, Unit::Kilobytes);
const PAGES: SettingKind = number(1, INT_MAX, Unit::Pages);
const COUNT: SettingKind = number(0, INT_MAX, Unit::None);
const COST: SettingKind = SettingKind::Real {
    min: 0,
    max: i64::MAX,
};
const LEVELS: SettingKind = SettingKind::Enum(&[
    "debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error",
]);
const ISOLATION: SettingKind = SettingKind::Enum(&[
    "serializable",
    "repeatable read",
    "read committed",
    "read uncommitted",
]);
/// What settings say that PostgreSQL's planner or storage has and Keyspan needs not.
const NO_EFFECT: &str = "Accepted for compatibility; has no effect.";

use SettingKind::{Bool, DateStyle, Encoding, Enum, Names, Text, TimeZone};

static DEFINITIONS: &[SettingDef] = &[
    // ---- what clients are told ---------------------------------------------------------------------------------
    reported(
        "application_name",
        "",
        Text,
        "Name of the client, for monitoring.",
    ),
    reported(
        "client_encoding",
        "UTF8",
        Encoding,
        "Encoding of text sent to and by the client.",
    ),
    reported(
        "DateStyle",
        "ISO, MDY",
        DateStyle,
        "How dates print, and which part comes first when read.",
    ),
    reported(
        "default_transaction_read_only",
        "off",
        Bool,
        "Whether new transactions may only read.",
    ),
    reported(
        "IntervalStyle",
        "postgres",
        Enum(&["postgres"]),
        "How intervals print.",
    ),
    reported(
        "standard_conforming_strings",
        "on",
        Enum(&["on"]),
        "Backslashes in '…' stand for themselves.",
    ),
    reported(
        "TimeZone",
        "UTC",
        TimeZone,
        "Time zone that timestamps with time zone print in.",
    ),
    internal(
        "in_hot_standby",
        "off",
        true,
        "Whether the server only replays another's changes.",
    ),
    internal(
        "integer_datetimes",
        "on",
        true,
        "Dates and times are whole numbers of microseconds.",
    ),
    internal(
        "is_superuser",
        "on",
        true,
        "Whether the current user is a superuser.",
    ),
    internal("server_encoding", "UTF8", true, "Encoding of stored text."),
    internal(
        "server_version",
        SERVER_VERSION,
        true,
        "PostgreSQL's version that Keyspan answers as.",
    ),
    internal("session_authorization", "postgres", true, "The session's user."),
    // ---- Keyspan's own -----------------------------------------------------------------------------------------
    user(
        "keyspan.full_scan",
        "reject",
        Enum(&["allow", "reject", "forbid"]),
        "What happens to a filter without a bound on a key's first column; forbid also refuses unfiltered reads.",
    ),
    user(
        "keyspan.multi_get_max_keys",
        "2000",
        number(1, 1_000_000, Unit::None),
        "Most keys that one multi-get may fetch.",
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
        "keyspan.ranges_max",
        "10000",
        number(1, 1_000_000, Unit::None),
        "Most key ranges of one scan; above it neighbours are merged and a filter checks the rows.",
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
        "keyspan.message_bytes_max",
        "67108864",
        ROOMY_BYTES,
        "Longest message that a client may send.",
    ),
    server(
        "keyspan.query_memory_bytes_max",
        "536870912",
        ROOMY_BYTES,
        "Memory for sorts, joins and groups before they spill.",
    ),
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
    // ---- transactions and time limits --------------------------------------------------------------------------
    user("default_transaction_deferrable", "off", Bool, NO_EFFECT),
    user(
        "default_transaction_isolation",
        "repeatable read",
        ISOLATION,
        "Isolation that new transactions ask for; all run as repeatable read.",
    ),
    user(
        "idle_in_transaction_session_timeout",
        "0",
        MILLISECONDS,
        "Ends a session idle in a transaction for longer; 0: never.",
    ),
    user(
        "idle_session_timeout",
        "0",
        MILLISECONDS,
        "Ends a session idle outside a transaction for longer; 0: never.",
    ),
    user("lock_timeout", "0", MILLISECONDS, NO_EFFECT),
    user(
        "statement_timeout",
        "0",
        MILLISECONDS,
        "Cancels a statement that runs for longer; 0: never.",
    ),
    user(
        "synchronous_commit",
        "on",
        Enum(&["off", "local", "remote_write", "remote_apply", "on"]),
        "off: COMMIT answers before the commit is durable.",
    ),
    user("transaction_deferrable", "off", Bool, NO_EFFECT),
    user(
        "transaction_isolation",
        "repeatable read",
        ISOLATION,
        "Isolation of the transaction; all run as repeatable read.",
    ),
    user(
        "transaction_read_only",
        "off",
        Bool,
        "Whether the transaction may only read.",
    ),
    // ---- names, text and printing ------------------------------------------------------------------------------
    user("array_nulls", "on", Bool, NO_EFFECT),
    user(
        "backslash_quote",
        "safe_encoding",
        Enum(&["safe_encoding", "on", "off"]),
        NO_EFFECT,
    ),
    user("bytea_output", "hex", Enum(&["hex"]), "How bytea prints."),
    user("check_function_bodies", "on", Bool, NO_EFFECT),
    user(
        "client_min_messages",
        "notice",
        LEVELS,
        "Least severity of messages sent to the client.",
    ),
    user("default_table_access_method", "heap", Text, NO_EFFECT),
    user("default_tablespace", "", Text, NO_EFFECT),
    user("default_toast_compression", "pglz", Text, NO_EFFECT),
    user("escape_string_warning", "on", Bool, NO_EFFECT),
    user(
        "extra_float_digits",
        "1",
        number(-15, 3, Unit::None),
        "Floats always print shortest and exact.",
    ),
    user("lc_messages", "C", Text, "Language of messages: always English."),
    user("lc_monetary", "C", Text, NO_EFFECT),
    user("lc_numeric", "C", Text, NO_EFFECT),
    user("lc_time", "C", Text, NO_EFFECT),
    user("quote_all_identifiers", "off", Bool, NO_EFFECT),
    user("role", "none", Text, "The current role."),
    user("row_security", "on", Bool, NO_EFFECT),
    user(
        "search_path",
        "\"$user\", public",
        Names,
        "Schemas that unqualified names are looked up in.",
    ),
    user("timezone_abbreviations", "Default", Text, NO_EFFECT),
    user(
        "transform_null_equals",
        "off",
        Enum(&["off"]),
        "`= NULL` is never true.",
    ),
    user("xmlbinary", "base64", Enum(&["base64", "hex"]), NO_EFFECT),
    user("xmloption", "content", Enum(&["content", "document"]), NO_EFFECT),
    // ---- PostgreSQL's planner and storage, which clients set out of habit --------------------------------------
    user(
        "constraint_exclusion",
        "partition",
        Enum(&["partition", "on", "off"]),
        NO_EFFECT,
    ),
    user("commit_delay", "0", COUNT, NO_EFFECT),
    user("cpu_index_tuple_cost", "0.005", COST, NO_EFFECT),
    user("cpu_operator_cost", "0.0025", COST, NO_EFFECT),
    user("cpu_tuple_cost", "0.01", COST, NO_EFFECT),
    user("cursor_tuple_fraction", "0.1", COST, NO_EFFECT),
    user("deadlock_timeout", "1000", MILLISECONDS, NO_EFFECT),
    user("default_statistics_target", "100", COUNT, NO_EFFECT),
    user("effective_cache_size", "524288", PAGES, NO_EFFECT),
    user("effective_io_concurrency", "1", COUNT, NO_EFFECT),
    user("enable_bitmapscan", "on", Bool, NO_EFFECT),
    user("enable_hashagg", "on", Bool, NO_EFFECT),
    user("enable_hashjoin", "on", Bool, NO_EFFECT),
    user("enable_indexonlyscan", "on", Bool, NO_EFFECT),
    user("enable_indexscan", "on", Bool, NO_EFFECT),
    user("enable_material", "on", Bool, NO_EFFECT),
    user("enable_memoize", "on", Bool, NO_EFFECT),
    user("enable_mergejoin", "on", Bool, NO_EFFECT),
    user("enable_nestloop", "on", Bool, NO_EFFECT),
    user("enable_partitionwise_aggregate", "off", Bool, NO_EFFECT),
    user("enable_partitionwise_join", "off", Bool, NO_EFFECT),
    user("enable_seqscan", "on", Bool, NO_EFFECT),
    user("enable_sort", "on", Bool, NO_EFFECT),
    user("from_collapse_limit", "8", COUNT, NO_EFFECT),
    user("geqo", "on", Bool, NO_EFFECT),
    user("gin_fuzzy_search_limit", "0", COUNT, NO_EFFECT),
    user("hash_mem_multiplier", "2", COST, NO_EFFECT),
    user("jit", "off", Bool, NO_EFFECT),
    user("join_collapse_limit", "8", COUNT, NO_EFFECT),
    user(
        "log_min_duration_statement",
        "-1",
        number(-1, INT_MAX, Unit::Milliseconds),
        NO_EFFECT,
    ),
    user("log_min_messages", "warning", Text, NO_EFFECT),
    user(
        "log_statement",
        "none",
        Enum(&["none", "ddl", "mod", "all"]),
        NO_EFFECT,
    ),
    user("maintenance_work_mem", "65536", KILOBYTES, NO_EFFECT),
    user("max_parallel_workers", "8", COUNT, NO_EFFECT),
    user(
        "max_parallel_workers_per_gather",
        "2",
        number(0, 1024, Unit::None),
        "Readers beside the first that a long scan is shared among, as far as there are processors; 0: none.",
    ),
    user("parallel_setup_cost", "1000", COST, NO_EFFECT),
    user("parallel_tuple_cost", "0.1", COST, NO_EFFECT),
    user(
        "plan_cache_mode",
        "auto",
        Enum(&["auto", "force_generic_plan", "force_custom_plan"]),
        NO_EFFECT,
    ),
    user("random_page_cost", "4", COST, NO_EFFECT),
    user("seq_page_cost", "1", COST, NO_EFFECT),
    user(
        "session_replication_role",
        "origin",
        Enum(&["origin", "replica", "local"]),
        NO_EFFECT,
    ),
    user("synchronize_seqscans", "on", Bool, NO_EFFECT),
    user("temp_buffers", "1024", PAGES, NO_EFFECT),
    user("temp_tablespaces", "", Text, NO_EFFECT),
    user("tcp_keepalives_idle", "0", COUNT, NO_EFFECT),
    user("tcp_user_timeout", "0", COUNT, NO_EFFECT),
    user("vacuum_cost_delay", "0", COUNT, NO_EFFECT),
    user("work_mem", "4096", KILOBYTES, NO_EFFECT),
    // ---- the server --------------------------------------------------------------------------------------------
    server("data_directory", "", Text, "Where the data lies."),
    server(
        "listen_addresses",
        "127.0.0.1",
        Text,
        "Address the server listens on.",
    ),
    server(
        "max_connections",
        "200",
        number(1, 100_000, Unit::None),
        "Most clients connected at once.",
    ),
    server(
        "port",
        "5433",
        number(0, 65535, Unit::None),
        "Port the server listens on.",
    ),
    internal(
        "block_size",
        "8192",
        false,
        "Size of a disk block, for compatibility.",
    ),
    internal("lc_collate", "C", false, "Order of text: by bytes."),
    internal("lc_ctype", "C", false, "Classes of letters."),
    internal("max_identifier_length", "63", false, "Longest name."),
    internal("max_index_keys", "32", false, "Most columns of an index."),
    internal(
        "server_version_num",
        "150000",
        false,
        "PostgreSQL's version as a number.",
    ),
    internal("wal_block_size", "8192", false, "For compatibility."),
];
