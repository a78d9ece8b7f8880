//! Rows of the views of what PostgreSQL's server processes count, of which nothing runs here: all counters are 0, so that tools which subtract
//! and add find numbers. Called by `relations`.

use super::relation_rows::{Constants, RelationRows, Source, text};

/// `pg_stat_bgwriter`.
pub(super) const WRITER: Constants = &[
    ("checkpoints_timed", "0"),
    ("checkpoints_req", "0"),
    ("checkpoint_write_time", "0"),
    ("checkpoint_sync_time", "0"),
    ("buffers_checkpoint", "0"),
    ("buffers_clean", "0"),
    ("maxwritten_clean", "0"),
    ("buffers_backend", "0"),
    ("buffers_backend_fsync", "0"),
    ("buffers_alloc", "0"),
];

/// `pg_stat_archiver`.
pub(super) const ARCHIVER: Constants = &[("archived_count", "0"), ("failed_count", "0")];

/// `pg_stat_wal`.
pub(super) const LOG: Constants = &[
    ("wal_records", "0"),
    ("wal_fpi", "0"),
    ("wal_bytes", "0"),
    ("wal_buffers_full", "0"),
    ("wal_write", "0"),
    ("wal_sync", "0"),
    ("wal_write_time", "0"),
    ("wal_sync_time", "0"),
];

/// The one row of a view whose columns are all constants.
pub(super) fn one_row(_source: &Source<'_>, rows: &mut RelationRows) {
    rows.push(&[]);
}

/// `pg_stat_slru`.
pub(super) const CACHE: Constants = &[
    ("blks_zeroed", "0"),
    ("blks_hit", "0"),
    ("blks_read", "0"),
    ("blks_written", "0"),
    ("blks_exists", "0"),
    ("flushes", "0"),
    ("truncates", "0"),
];

/// A row for each cache that PostgreSQL has.
pub(super) fn caches(_source: &Source<'_>, rows: &mut RelationRows) {
    for name in [
        "CommitTs",
        "MultiXactMember",
        "MultiXactOffset",
        "Notify",
        "Serial",
        "Subtrans",
        "Xact",
        "other",
    ] {
        rows.push(&[("name", text(name))]);
    }
}
