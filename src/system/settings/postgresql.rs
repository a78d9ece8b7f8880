//! PostgreSQL's settings that have an effect here, or that tell something. The others are in `compatibility`.

use super::definition::SettingKind::{
    self, Bool, DateStyle, Encoding, Enum, Names, PrintableName, Text, TimeZone,
};
use super::definition::{
    COUNT, INT_MAX, ISOLATION, KILOBYTES, LEVELS, MILLISECONDS, SettingDef, Unit, internal, internal_of,
    number, reported, server, user,
};

/// `server_version` and `version()`: clients compare the leading number.
pub const SERVER_VERSION: &str = concat!("15.0 (Keyspan ", env!("CARGO_PKG_VERSION"), ")");

pub(super) static SETTINGS: &[SettingDef] = &[
    // ---- what clients are told ---------------------------------------------------------------------------------
    reported(
        "application_name",
        "",
        PrintableName,
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
    )
    .shaping_plans(),
    reported(
        "default_transaction_read_only",
        "off",
        Bool,
        "Whether new transactions may only read.",
    ),
    reported(
        "IntervalStyle",
        "postgres",
        Enum(&["postgres", "postgres_verbose", "sql_standard", "iso_8601"]),
        "How intervals print, and whether a sign in front counts for all parts.",
    )
    .shaping_plans(),
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
    )
    .shaping_plans(),
    internal_of(
        "in_hot_standby",
        "off",
        Bool,
        true,
        "Whether the server only replays another's changes.",
    ),
    internal_of(
        "integer_datetimes",
        "on",
        Bool,
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
    internal("session_authorization", "postgres", true, "The session's user.").shaping_plans(),
    // ---- transactions and time limits --------------------------------------------------------------------------
    user(
        "default_transaction_isolation",
        "read committed",
        ISOLATION,
        "Isolation of new transactions: read committed (read uncommitted is the same), repeatable read, serializable.",
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
    user(
        "lock_timeout",
        "0",
        MILLISECONDS,
        "Ends a wait for a lock that takes longer; 0: never.",
    ),
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
    user(
        "transaction_isolation",
        "read committed",
        ISOLATION,
        "Isolation of the transaction.",
    ),
    user(
        "transaction_read_only",
        "off",
        Bool,
        "Whether the transaction may only read.",
    ),
    // ---- names, text and printing ------------------------------------------------------------------------------
    user(
        "bytea_output",
        "hex",
        Enum(&["hex", "escape"]),
        "How bytea prints.",
    )
    .shaping_plans(),
    user(
        "check_function_bodies",
        "on",
        Bool,
        "Whether CREATE FUNCTION checks bodies that are strings.",
    ),
    user(
        "client_min_messages",
        "notice",
        LEVELS,
        "Least severity of messages sent to the client.",
    ),
    user(
        "default_text_search_config",
        "pg_catalog.english",
        Enum(&["pg_catalog.english", "pg_catalog.simple", "english", "simple"]),
        "Configuration of text search that functions take which name none.",
    ),
    user(
        "extra_float_digits",
        "1",
        number(-15, 3, Unit::None),
        "Digits of floats beyond those that are sure; above 0 they print shortest and exact.",
    )
    .shaping_plans(),
    user(
        "pg_stat_statements.track",
        "top",
        Enum(&["none", "top", "all"]),
        "Which statements pg_stat_statements counts: none, or those of clients (all is the same as top).",
    ),
    user(
        "pg_stat_statements.track_utility",
        "on",
        Bool,
        "Whether it counts statements other than SELECT, INSERT, UPDATE, DELETE and MERGE, too.",
    ),
    server(
        "pg_stat_statements.max",
        "5000",
        number(100, INT_MAX, Unit::None),
        "How many statements it keeps; when there are more, those used least go.",
    ),
    user(
        "pg_trgm.similarity_threshold",
        "0.3",
        SettingKind::Real { min: 0, max: 1 },
        "How similar texts are at least of which % says that they are.",
    )
    .shaping_plans(),
    user(
        "pg_trgm.word_similarity_threshold",
        "0.6",
        SettingKind::Real { min: 0, max: 1 },
        "How similar a text and words of another are at least of which <% says that they are.",
    )
    .shaping_plans(),
    user(
        "pg_trgm.strict_word_similarity_threshold",
        "0.5",
        SettingKind::Real { min: 0, max: 1 },
        "The same of <<%.",
    )
    .shaping_plans(),
    user("lc_messages", "C", Text, "Language of messages: always English."),
    user("role", "none", Text, "The current role.").shaping_plans(),
    user(
        "search_path",
        "\"$user\", public",
        Names,
        "Schemas that unqualified names are looked up in.",
    )
    .shaping_plans(),
    user(
        "transform_null_equals",
        "off",
        Enum(&["off"]),
        "`= NULL` is never true.",
    ),
    // ---- PostgreSQL's planner and storage, which clients set out of habit --------------------------------------
    user(
        "deadlock_timeout",
        "1000",
        MILLISECONDS,
        "Time to wait for a lock before it is asked whether the wait can end.",
    ),
    user(
        "log_min_duration_statement",
        "-1",
        number(-1, INT_MAX, Unit::Milliseconds),
        "Statements that take at least so long are logged, without their constants; -1: none, 0: all.",
    ),
    user(
        "log_statement",
        "none",
        Enum(&["none", "ddl", "mod", "all"]),
        "Which statements are logged when they begin, without their constants.",
    ),
    user(
        "maintenance_work_mem",
        "65536",
        KILOBYTES,
        "Memory in which the entries of a new index are sorted; what is more goes through temporary files.",
    ),
    user(
        "max_parallel_workers_per_gather",
        "2",
        number(0, 1024, Unit::None),
        "Readers beside the first that a long scan is shared among, as far as there are processors; 0: none.",
    )
    .shaping_plans(),
    user(
        "session_replication_role",
        "origin",
        Enum(&["origin", "replica", "local"]),
        "replica: writes ask nothing of foreign keys, as those of a restore.",
    ),
    user(
        "temp_file_limit",
        "-1",
        number(-1, INT_MAX, Unit::Kilobytes),
        "Most bytes of temporary files of one statement; -1: as many as all statements may have.",
    ),
    user(
        "plpgsql.check_asserts",
        "on",
        Bool,
        "Whether what ASSERT says is asked.",
    ),
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
    internal_of(
        "block_size",
        "8192",
        COUNT,
        false,
        "Size of a disk block, for compatibility.",
    ),
    internal("lc_collate", "C", false, "Order of text: by bytes."),
    internal("lc_ctype", "C", false, "Classes of letters."),
    internal_of("max_identifier_length", "63", COUNT, false, "Longest name."),
    internal_of("max_index_keys", "32", COUNT, false, "Most columns of an index."),
    internal_of(
        "server_version_num",
        "150000",
        COUNT,
        false,
        "PostgreSQL's version as a number.",
    ),
    internal_of("wal_block_size", "8192", COUNT, false, "For compatibility."),
];
