//! `pg_stat_get_…`: what the relations `pg_stat_…` say of one table, index, database or backend, read off these. A backend's number is the
//! number of its process.

use std::collections::{HashMap, HashSet};

use arrow::array::ArrayRef;
use futures::FutureExt;

use super::value_array::array_of;
use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::system::pg_catalog::CatalogContext;
use crate::types::{PackedKind, SqlType, Value, value_at};

/// A relation of pg_catalog and its column by which a row is found.
type Place = (&'static str, &'static str);

const TABLE: Place = ("pg_stat_all_tables", "relid");
const INDEX: Place = ("pg_stat_all_indexes", "indexrelid");
const DATABASE: Place = ("pg_stat_database", "datid");
const BACKEND: Place = ("pg_stat_activity", "pid");

/// What PostgreSQL says of a backend that is none, in words.
const NO_BACKEND: &str = "<backend information not available>";

/// A function of a name, which answers with a column of the first of the places that say something.
macro_rules! statistic {
    ($name:literal, $argument:expr, $returns:expr, $places:expr) => {
        FunctionDef::waiting($name, &[$argument], $returns, |batch, catalog| {
            statistic(batch, catalog, $places).boxed()
        })
    };
}

macro_rules! of_table {
    ($name:literal, $returns:expr, $column:literal) => {
        statistic!($name, T::Oid, $returns, &[(TABLE, $column)])
    };
}

macro_rules! of_database {
    ($name:literal, $returns:expr, $column:literal) => {
        statistic!($name, T::Oid, $returns, &[(DATABASE, $column)])
    };
}

macro_rules! of_backend {
    ($name:literal, $returns:expr, $column:literal) => {
        statistic!($name, T::Int4, $returns, &[(BACKEND, $column)])
    };
}

const INET: T = T::Packed(PackedKind::Inet);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    // What is counted is counted from the start of the server on, and each statement sees it as it is.
    FunctionDef::new("pg_stat_reset", &[], T::VOID, |b| b.map0(|| "")).volatile(),
    FunctionDef::new("pg_stat_reset_shared", &[T::Text], T::VOID, |b| {
        b.map1(|_: &str| "")
    })
    .volatile(),
    FunctionDef::new("pg_stat_reset_slru", &[T::Text], T::VOID, |b| {
        b.map1(|_: &str| "")
    })
    .volatile(),
    FunctionDef::new("pg_stat_reset_single_table_counters", &[T::Oid], T::VOID, |b| {
        b.map1(|_: i64| "")
    })
    .volatile(),
    FunctionDef::new(
        "pg_stat_reset_single_function_counters",
        &[T::Oid],
        T::VOID,
        |b| b.map1(|_: i64| ""),
    )
    .volatile(),
    FunctionDef::new("pg_stat_clear_snapshot", &[], T::VOID, |b| b.map0(|| "")).volatile(),
    FunctionDef::new("pg_stat_force_next_flush", &[], T::VOID, |b| b.map0(|| "")).volatile(),
    of_table!("pg_stat_get_live_tuples", T::Int8, "n_live_tup"),
    of_table!("pg_stat_get_dead_tuples", T::Int8, "n_dead_tup"),
    of_table!("pg_stat_get_mod_since_analyze", T::Int8, "n_mod_since_analyze"),
    of_table!("pg_stat_get_ins_since_vacuum", T::Int8, "n_ins_since_vacuum"),
    of_table!("pg_stat_get_tuples_inserted", T::Int8, "n_tup_ins"),
    of_table!("pg_stat_get_tuples_updated", T::Int8, "n_tup_upd"),
    of_table!("pg_stat_get_tuples_deleted", T::Int8, "n_tup_del"),
    of_table!("pg_stat_get_tuples_hot_updated", T::Int8, "n_tup_hot_upd"),
    of_table!("pg_stat_get_last_vacuum_time", T::TimestampTz, "last_vacuum"),
    of_table!(
        "pg_stat_get_last_autovacuum_time",
        T::TimestampTz,
        "last_autovacuum"
    ),
    of_table!("pg_stat_get_last_analyze_time", T::TimestampTz, "last_analyze"),
    of_table!(
        "pg_stat_get_last_autoanalyze_time",
        T::TimestampTz,
        "last_autoanalyze"
    ),
    of_table!("pg_stat_get_vacuum_count", T::Int8, "vacuum_count"),
    of_table!("pg_stat_get_autovacuum_count", T::Int8, "autovacuum_count"),
    of_table!("pg_stat_get_analyze_count", T::Int8, "analyze_count"),
    of_table!("pg_stat_get_autoanalyze_count", T::Int8, "autoanalyze_count"),
    statistic!(
        "pg_stat_get_numscans",
        T::Oid,
        T::Int8,
        &[(TABLE, "seq_scan"), (INDEX, "idx_scan")]
    ),
    statistic!(
        "pg_stat_get_tuples_returned",
        T::Oid,
        T::Int8,
        &[(TABLE, "seq_tup_read"), (INDEX, "idx_tup_read")]
    ),
    statistic!(
        "pg_stat_get_tuples_fetched",
        T::Oid,
        T::Int8,
        &[(TABLE, "idx_tup_fetch"), (INDEX, "idx_tup_fetch")]
    ),
    of_database!("pg_stat_get_db_numbackends", T::Int4, "numbackends"),
    of_database!("pg_stat_get_db_xact_commit", T::Int8, "xact_commit"),
    of_database!("pg_stat_get_db_xact_rollback", T::Int8, "xact_rollback"),
    of_database!("pg_stat_get_db_blocks_hit", T::Int8, "blks_hit"),
    of_database!("pg_stat_get_db_tuples_returned", T::Int8, "tup_returned"),
    of_database!("pg_stat_get_db_tuples_fetched", T::Int8, "tup_fetched"),
    of_database!("pg_stat_get_db_tuples_inserted", T::Int8, "tup_inserted"),
    of_database!("pg_stat_get_db_tuples_updated", T::Int8, "tup_updated"),
    of_database!("pg_stat_get_db_tuples_deleted", T::Int8, "tup_deleted"),
    of_database!("pg_stat_get_db_conflict_all", T::Int8, "conflicts"),
    of_database!("pg_stat_get_db_temp_files", T::Int8, "temp_files"),
    of_database!("pg_stat_get_db_temp_bytes", T::Int8, "temp_bytes"),
    of_database!("pg_stat_get_db_deadlocks", T::Int8, "deadlocks"),
    of_database!("pg_stat_get_db_checksum_failures", T::Int8, "checksum_failures"),
    of_database!(
        "pg_stat_get_db_checksum_last_failure",
        T::TimestampTz,
        "checksum_last_failure"
    ),
    of_database!("pg_stat_get_db_blk_read_time", T::Float8, "blk_read_time"),
    of_database!("pg_stat_get_db_blk_write_time", T::Float8, "blk_write_time"),
    of_database!("pg_stat_get_db_session_time", T::Float8, "session_time"),
    of_database!("pg_stat_get_db_active_time", T::Float8, "active_time"),
    of_database!(
        "pg_stat_get_db_idle_in_transaction_time",
        T::Float8,
        "idle_in_transaction_time"
    ),
    of_database!("pg_stat_get_db_sessions", T::Int8, "sessions"),
    of_database!("pg_stat_get_db_sessions_abandoned", T::Int8, "sessions_abandoned"),
    of_database!("pg_stat_get_db_sessions_fatal", T::Int8, "sessions_fatal"),
    of_database!("pg_stat_get_db_sessions_killed", T::Int8, "sessions_killed"),
    of_database!("pg_stat_get_db_stat_reset_time", T::TimestampTz, "stats_reset"),
    of_backend!("pg_stat_get_backend_pid", T::Int4, "pid"),
    of_backend!("pg_stat_get_backend_dbid", T::Oid, "datid"),
    of_backend!("pg_stat_get_backend_userid", T::Oid, "usesysid"),
    of_backend!("pg_stat_get_backend_activity", T::Text, "query"),
    of_backend!(
        "pg_stat_get_backend_activity_start",
        T::TimestampTz,
        "query_start"
    ),
    of_backend!("pg_stat_get_backend_xact_start", T::TimestampTz, "xact_start"),
    of_backend!("pg_stat_get_backend_start", T::TimestampTz, "backend_start"),
    of_backend!("pg_stat_get_backend_client_addr", INET, "client_addr"),
    of_backend!("pg_stat_get_backend_client_port", T::Int4, "client_port"),
    of_backend!("pg_stat_get_backend_wait_event_type", T::Text, "wait_event_type"),
    of_backend!("pg_stat_get_backend_wait_event", T::Text, "wait_event"),
    FunctionDef::catalog_rows("pg_stat_get_backend_idset", &[], T::Int4, |b, catalog| {
        let sessions = catalog.statement().server.sessions();
        let pids: Vec<i32> = sessions.into_iter().map(|session| session.process_id).collect();
        b.map0(|| pids.clone())
    }),
];

/// A column of the row that each argument names. Where none says anything, a counter is 0 and all else NULL, as in PostgreSQL.
async fn statistic(
    batch: &Batch<'_>,
    catalog: &CatalogContext,
    places: &'static [(Place, &'static str)],
) -> Result<ArrayRef> {
    let (mut found, mut known) = (HashMap::new(), HashSet::new());
    for ((relation, key), column) in places {
        for (key, value) in catalog.column_by_key(relation, key, column).await? {
            known.insert(key);
            if value != Value::Null {
                found.entry(key).or_insert(value);
            }
        }
    }
    let nothing = match batch.returns {
        SqlType::Int4 | SqlType::Int8 => Value::Int(0),
        SqlType::Float8 => Value::Float8(0.0),
        _ => Value::Null,
    };
    let is_backend = places.iter().any(|(place, _)| *place == BACKEND);
    let no_backend = match batch.returns {
        SqlType::Text => Value::Text(NO_BACKEND.to_string()),
        _ => Value::Null,
    };
    let values = (0..batch.rows).map(|row| {
        Ok(match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Int(key) => match found.get(&key) {
                Some(value) => value.clone(),
                None if is_backend && !known.contains(&key) => no_backend.clone(),
                None if is_backend => Value::Null,
                None => nothing.clone(),
            },
            _ => Value::Null,
        })
    });
    array_of(&values.collect::<Result<Vec<_>>>()?, batch.returns)
}
