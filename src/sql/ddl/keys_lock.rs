//! The lock of the keys that a table has: who writes its rows anew beside it has it alone (`rekey_build`), who gives it an index, or takes
//! one, shares it with others of the kind. So indexes are built beside one another, as PostgreSQL's ShareLock lets them, and a table whose
//! rows get other keys has the same indexes in the end as in the beginning. A lock of its own, for a job goes on when the transaction of its
//! statement is over, and locks the table's record commit by commit.

use crate::Result;
use crate::catalog::{TableDef, record_key};
use crate::codec::keyspace::Keyspace;
use crate::store::{HeldLocks, LockMode, LockWait, Wanted};
use crate::system::StatementContext;

/// What is to become of a table's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    /// An index comes or goes.
    Change,
    /// All rows get other ones.
    Move,
}

impl Keys {
    fn mode(self) -> LockMode {
        match self {
            Keys::Change => LockMode::ShareRelation,
            Keys::Move => LockMode::AccessExclusive,
        }
    }
}

/// Takes the lock for a job of a statement outside a block, which gives it up by dropping it. What the statement has seen of the table may be
/// old by then, which the commit that begins the job finds out. Errors: 40P01, 55P03.
pub(super) async fn lock_for_job(ctx: &StatementContext, table: &TableDef, keys: Keys) -> Result<HeldLocks> {
    let locks = HeldLocks::new(ctx.sequences.store().lock_table(), ctx.process_id);
    let key = [lock_key(table)];
    let wanted = |wait| Wanted {
        keys: &key,
        mode: keys.mode(),
        wait,
        policy: ctx.settings.lock_policy(),
    };
    if locks.acquire(wanted(LockWait::NoWait)).await?.refused.is_some() {
        // A statement that begins again has what it locked before: whom it waits for may need the record, under which it has written nothing.
        let record = record_key(table.id);
        ctx.txn.unlock_after(0, |locked| locked != record.as_slice());
        locks.acquire(wanted(LockWait::Block)).await?;
    }
    Ok(locks)
}

/// Shares the lock until the transaction ends. Who has locked the table already waits for nobody, for others may be waiting for him: whose
/// rows are on their way then finds the table altered. Errors: 40P01, 55P03.
pub(super) async fn share(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    let wait = match ctx.txn.has_locked(&record_key(table.id)) {
        true => LockWait::NoWait,
        false => LockWait::Block,
    };
    let mode = Keys::Change.mode();
    ctx.txn
        .lock_as_it_is(&[lock_key(table)], mode, wait)
        .await
        .map(drop)
}

fn lock_key(table: &TableDef) -> Vec<u8> {
    Keyspace::KeysLock { oid: table.oid }.encode()
}
