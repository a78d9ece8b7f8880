//! Rows of `pg_stat_statements` and `pg_stat_statements_info`: the statements that were counted, of the database at hand.

use super::relation_rows::{Constants, RelationRows, Source, text};
use super::role_rows::user_oid;

/// What is not counted: plans, blocks, the write-ahead log, compiled expressions.
pub(crate) const STATEMENT: Constants = &[
    ("toplevel", "t"),
    ("plans", "0"),
    ("total_plan_time", "0"),
    ("min_plan_time", "0"),
    ("max_plan_time", "0"),
    ("mean_plan_time", "0"),
    ("stddev_plan_time", "0"),
    ("shared_blks_hit", "0"),
    ("shared_blks_read", "0"),
    ("shared_blks_dirtied", "0"),
    ("shared_blks_written", "0"),
    ("local_blks_hit", "0"),
    ("local_blks_read", "0"),
    ("local_blks_dirtied", "0"),
    ("local_blks_written", "0"),
    ("temp_blks_read", "0"),
    ("temp_blks_written", "0"),
    ("blk_read_time", "0"),
    ("blk_write_time", "0"),
    ("temp_blk_read_time", "0"),
    ("temp_blk_write_time", "0"),
    ("wal_records", "0"),
    ("wal_fpi", "0"),
    ("wal_bytes", "0"),
    ("jit_functions", "0"),
    ("jit_generation_time", "0"),
    ("jit_inlining_count", "0"),
    ("jit_inlining_time", "0"),
    ("jit_optimization_count", "0"),
    ("jit_optimization_time", "0"),
    ("jit_emission_count", "0"),
    ("jit_emission_time", "0"),
];

pub(crate) fn statements(source: &Source<'_>, rows: &mut RelationRows) {
    let database = source.ctx.txn.database();
    for (key, runs) in source.ctx.server.statements.list() {
        rows.push(&[
            ("userid", text(user_oid(&source.ctx.catalog, &key.user))),
            ("dbid", text(database)),
            ("queryid", text(key.query_id)),
            ("query", text(&runs.text)),
            ("calls", text(runs.calls)),
            ("total_exec_time", text(runs.total_ms)),
            ("min_exec_time", text(runs.least_ms)),
            ("max_exec_time", text(runs.most_ms)),
            ("mean_exec_time", text(runs.mean_ms())),
            ("stddev_exec_time", text(runs.deviation_ms())),
            ("rows", text(runs.rows)),
        ]);
    }
}

pub(crate) fn information(source: &Source<'_>, rows: &mut RelationRows) {
    let (evictions, since_us) = source.ctx.server.statements.evictions();
    rows.push(&[("dealloc", text(evictions)), ("stats_reset", text(since_us))]);
}
