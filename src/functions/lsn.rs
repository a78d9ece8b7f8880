//! Places in the log: their arithmetic, and how far the server is. Its log has no places that SQL could name: what is told is the time, which
//! grows as they do.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T, null};
use crate::error::Raised;
use crate::system::now_us;
use crate::types::{CatalogType, Numeric, lsn};
use crate::{Error, Result};

const LSN: T = T::Catalog(CatalogType::PgLsn);

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("pg_lsn_mi", &[LSN, LSN], T::Numeric, |b| b.map2(difference)),
    FunctionDef::new("pg_wal_lsn_diff", &[LSN, LSN], T::Numeric, |b| b.map2(difference)),
    FunctionDef::new("pg_lsn_pli", &[LSN, T::Numeric], LSN, |b| b.map2(plus)),
    FunctionDef::new("pg_lsn_mii", &[LSN, T::Numeric], LSN, |b| {
        b.map2(|place: i64, bytes: Numeric| plus(place, Numeric::from_i64(0).minus(&bytes)?))
    }),
    FunctionDef::new("numeric_pl_pg_lsn", &[T::Numeric, LSN], LSN, |b| {
        b.map2(|bytes: Numeric, place: i64| plus(place, bytes))
    }),
    FunctionDef::new("pg_lsn", &[T::Numeric], LSN, |b| {
        b.map1(|number: Numeric| plus(lsn::of_number(0), number))
    }),
    FunctionDef::new("pg_current_wal_lsn", &[], LSN, |b| b.map0(now)).volatile(),
    FunctionDef::new("pg_current_wal_insert_lsn", &[], LSN, |b| b.map0(now)).volatile(),
    FunctionDef::new("pg_current_wal_flush_lsn", &[], LSN, |b| b.map0(now)).volatile(),
    // This server follows no other.
    FunctionDef::new("pg_last_wal_receive_lsn", &[], LSN, null),
    FunctionDef::new("pg_last_wal_replay_lsn", &[], LSN, null),
    FunctionDef::new("pg_last_xact_replay_timestamp", &[], T::TimestampTz, null),
    FunctionDef::new("pg_is_wal_replay_paused", &[], T::Bool, only_in_recovery).volatile(),
    FunctionDef::new("pg_get_wal_replay_pause_state", &[], T::Text, only_in_recovery).volatile(),
    FunctionDef::new("pg_wal_replay_pause", &[], T::VOID, only_in_recovery).volatile(),
    FunctionDef::new("pg_wal_replay_resume", &[], T::VOID, only_in_recovery).volatile(),
];

/// What a server that follows another can be asked.
fn only_in_recovery(_: &Batch<'_>) -> Result<ArrayRef> {
    Err(Raised {
        hint: Some("Recovery control functions can only be executed during recovery.".to_string()),
        ..Raised::new("55000", "recovery is not in progress")
    }
    .into())
}

fn now() -> i64 {
    lsn::of_number(now_us().unsigned_abs())
}

/// Bytes between two places.
fn difference(a: i64, b: i64) -> Numeric {
    let number = |place| i128::from(lsn::number(place));
    Numeric::from_i128(number(a) - number(b), 0)
}

/// The place so many bytes on. Errors: 22023 outside of 64 bits.
fn plus(place: i64, bytes: Numeric) -> Result<i64> {
    let out_of_range = || Error::InvalidParameter {
        message: "pg_lsn out of range".to_string(),
        hint: None,
    };
    let bytes = bytes.round(0)?.floor().ok_or_else(out_of_range)?;
    let number = i128::from(lsn::number(place)).checked_add(bytes);
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.map(lsn::of_number).ok_or_else(out_of_range)
}
