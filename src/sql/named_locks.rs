//! Locks of the relations that a statement has named. PostgreSQL locks a relation when it binds its name, and so waits for who changes it
//! before it knows what the relation has. Here names are bound first, and what runs is locked with its plan (`query::plan_locks`). What does
//! not run, or cannot be bound to the definition that is about to be another, is locked here: having waited, it begins anew.

use std::collections::BTreeSet;

use crate::store::LockMode;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Classes of SQLSTATEs of what binding a statement may meet: names, types and constants that definitions decide.
const OF_BINDING: [&str; 2] = ["42", "22"];

/// Locks the relations that the statement has named until its transaction ends; a statement of its own, which is over soon, only waits for
/// who changes them. Errors: as [`Transaction::lock_before_reading`](crate::txn::Transaction::lock_before_reading).
pub(super) async fn lock_named(ctx: &StatementContext) -> Result<()> {
    match ctx.in_block {
        true => lock(ctx, ctx.named_records()).await,
        false => wait_for_named(ctx).await,
    }
}

/// Waits for who changes a relation that the statement has named. Errors: as `lock_named`.
pub(super) async fn wait_for_named(ctx: &StatementContext) -> Result<()> {
    let mut records = ctx.named_records();
    records.retain(|record| ctx.txn.would_wait(record, LockMode::AccessShare));
    lock(ctx, records).await
}

async fn lock(ctx: &StatementContext, records: BTreeSet<Vec<u8>>) -> Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    let records = Vec::from_iter(records);
    ctx.txn.lock_before_reading(&records, LockMode::AccessShare).await
}

/// What a statement fails with: its error, or, where somebody is changing a relation that it has named, the conflict for which it begins anew
/// once that is over, or what ended the wait. Where nobody is, it is its own: a build of an index that was dropped does not begin again.
pub(super) async fn error_of_named(ctx: &StatementContext, error: Error) -> Error {
    let state = error.sqlstate();
    // What is to have a new name is told at once that another has it.
    if state == "42P07" || !OF_BINDING.iter().any(|class| state.starts_with(class)) {
        return error;
    }
    for record in ctx.named_records() {
        if ctx.txn.would_wait(&record, LockMode::AccessShare) {
            let locked = ctx.txn.lock_before_writing(record, LockMode::AccessShare).await;
            if let Err(instead) = locked {
                return instead;
            }
        }
    }
    error
}
