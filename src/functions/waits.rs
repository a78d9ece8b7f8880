//! Functions that wait without a thread (`Body::Waiting`): advisory locks, `pg_sleep`; and the rest of both families.

use std::time::Duration;

use arrow::array::{ArrayRef, StringArray};
use futures::FutureExt;

use super::{Batch, FunctionDef, T};
use crate::codec::keyspace::AdvisoryKey;
use crate::store::LockMode;
use crate::system::Notice;
use crate::system::advisory_locks::{EXCLUSIVE, LockLevel, LockRequest, SHARED};
use crate::system::pg_catalog::CatalogContext;
use crate::system::session_state::{WaitFor, now_us};
use crate::types::{Value, value_at};
use crate::{Error, Result};

use LockLevel::{Session, Transaction};

/// The longest that is slept at once: the clock's own limits are far beyond.
const SLEEP_SECONDS_MAX: f64 = 1e9;
const NUMBER: &[T] = &[T::Int8];
const NUMBERS: &[T] = &[T::Int4, T::Int4];

/// Functions that take a lock, for one number and for two.
macro_rules! locks {
    ($name:literal, $mode:expr, $level:expr) => {
        [
            FunctionDef::waiting($name, NUMBER, T::VOID, |b, c| {
                lock_rows(b, c, $mode, $level).boxed()
            }),
            FunctionDef::waiting($name, NUMBERS, T::VOID, |b, c| {
                lock_rows(b, c, $mode, $level).boxed()
            }),
        ]
    };
}

/// The same that do not wait.
macro_rules! try_locks {
    ($name:literal, $mode:expr, $level:expr) => {
        [
            FunctionDef::catalog($name, NUMBER, T::Bool, |b, c| try_rows(b, c, $mode, $level))
                .volatile()
                .bounded(),
            FunctionDef::catalog($name, NUMBERS, T::Bool, |b, c| try_rows(b, c, $mode, $level))
                .volatile()
                .bounded(),
        ]
    };
}

/// Functions that give a lock back.
macro_rules! unlocks {
    ($name:literal, $mode:expr) => {
        [
            FunctionDef::catalog($name, NUMBER, T::Bool, |b, c| unlock_rows(b, c, $mode))
                .volatile()
                .bounded(),
            FunctionDef::catalog($name, NUMBERS, T::Bool, |b, c| unlock_rows(b, c, $mode))
                .volatile()
                .bounded(),
        ]
    };
}

pub(super) const LOCKS: &[[FunctionDef; 2]] = &[
    locks!("pg_advisory_lock", EXCLUSIVE, Session),
    locks!("pg_advisory_lock_shared", SHARED, Session),
    locks!("pg_advisory_xact_lock", EXCLUSIVE, Transaction),
    locks!("pg_advisory_xact_lock_shared", SHARED, Transaction),
    try_locks!("pg_try_advisory_lock", EXCLUSIVE, Session),
    try_locks!("pg_try_advisory_lock_shared", SHARED, Session),
    try_locks!("pg_try_advisory_xact_lock", EXCLUSIVE, Transaction),
    try_locks!("pg_try_advisory_xact_lock_shared", SHARED, Transaction),
    unlocks!("pg_advisory_unlock", EXCLUSIVE),
    unlocks!("pg_advisory_unlock_shared", SHARED),
];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_advisory_unlock_all", &[], T::VOID, |b, catalog| {
        let statement = catalog.statement();
        statement.server.locks.unlock_all(statement.process_id);
        b.map0(|| "")
    })
    .volatile()
    .bounded(),
    FunctionDef::waiting("pg_sleep", &[T::Float8], T::VOID, |b, c| sleep_rows(b, c).boxed()),
    FunctionDef::waiting("pg_sleep_for", &[T::Interval], T::VOID, |b, c| {
        sleep_rows(b, c).boxed()
    }),
    FunctionDef::waiting("pg_sleep_until", &[T::TimestampTz], T::VOID, |b, c| {
        sleep_rows(b, c).boxed()
    }),
];

fn request(
    batch: &Batch<'_>,
    row: usize,
    catalog: &CatalogContext,
    (mode, level): (LockMode, LockLevel),
) -> Result<Option<LockRequest>> {
    let number = |place: usize| value_at(&batch.arrays[place], row, &batch.arguments[place]);
    let statement = catalog.statement();
    let database = statement.txn.database();
    let key = match (number(0)?, batch.arrays.len()) {
        (Value::Int(key), 1) => AdvisoryKey {
            database,
            class: (key >> 32) as u32,
            object: key as u32,
            numbers: 1,
        },
        (Value::Int(first), _) => match number(1)? {
            Value::Int(second) => AdvisoryKey {
                database,
                class: first as u32,
                object: second as u32,
                numbers: 2,
            },
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    Ok(Some(LockRequest {
        session: statement.process_id,
        key,
        mode,
        level,
        locks_max: statement.settings.advisory_locks_max,
    }))
}

/// Takes the lock of each row, and waits for it. NULL takes none.
async fn lock_rows(
    batch: &Batch<'_>,
    catalog: &CatalogContext,
    mode: LockMode,
    level: LockLevel,
) -> Result<ArrayRef> {
    let statement = catalog.statement();
    let policy = statement.settings.lock_policy();
    let mut done = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        let Some(request) = request(batch, row, catalog, (mode, level))? else {
            done.push(None);
            continue;
        };
        statement.session.touch();
        statement.server.locks.lock(request, policy).await?;
        done.push(Some(""));
    }
    Ok(std::sync::Arc::new(StringArray::from(done)))
}

fn try_rows(
    batch: &Batch<'_>,
    catalog: &CatalogContext,
    mode: LockMode,
    level: LockLevel,
) -> Result<ArrayRef> {
    let statement = catalog.statement();
    each_row(batch, |row| match request(batch, row, catalog, (mode, level))? {
        Some(request) => {
            statement.session.touch();
            statement.server.locks.try_lock(request).map(Some)
        }
        None => Ok(None),
    })
}

fn unlock_rows(batch: &Batch<'_>, catalog: &CatalogContext, mode: LockMode) -> Result<ArrayRef> {
    let statement = catalog.statement();
    each_row(batch, |row| {
        let Some(request) = request(batch, row, catalog, (mode, Session))? else {
            return Ok(None);
        };
        let was_held = statement.server.locks.unlock(request.session, request.key, mode);
        if !was_held {
            statement.notice(Notice::warning(
                "01000",
                format!("you don't own a lock of type {}", mode.name()),
            ));
        }
        Ok(Some(was_held))
    })
}

fn each_row(batch: &Batch<'_>, compute: impl Fn(usize) -> Result<Option<bool>>) -> Result<ArrayRef> {
    let rows: Vec<Option<bool>> = (0..batch.rows).map(compute).collect::<Result<_>>()?;
    Ok(std::sync::Arc::new(arrow::array::BooleanArray::from(rows)))
}

/// Sleeps for each row: seconds, an interval, or until a time.
async fn sleep_rows(batch: &Batch<'_>, catalog: &CatalogContext) -> Result<ArrayRef> {
    let mut done = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        let seconds = match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Float8(seconds) => seconds,
            Value::Interval(interval) => {
                let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
                days * 86_400.0 + interval.microseconds as f64 / 1e6
            }
            Value::TimestampTz(until) => until.saturating_sub(now_us()) as f64 / 1e6,
            Value::Null => {
                done.push(None);
                continue;
            }
            other => return Err(Error::internal(format!("{other:?} is no time to sleep"))),
        };
        let _waiting = catalog.statement().session.waits_for(WaitFor::Sleep);
        if seconds > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(seconds.min(SLEEP_SECONDS_MAX))).await;
        }
        done.push(Some(""));
    }
    Ok(std::sync::Arc::new(StringArray::from(done)))
}
