//! What a write locks of its table before it writes rows.

use crate::Result;
use crate::catalog::{TableDef, record_key, written_key};
use crate::store::LockMode;
use crate::txn::Transaction;

/// What every write to a table does first: it lets no change of the table's record pass by, and leaves its mark. Errors: `Conflict` when
/// the record has changed.
pub(super) async fn begin_write(txn: &Transaction, table: &TableDef) -> Result<()> {
    lock_for_writes(txn, table).await?;
    txn.mark(written_key(table.id))
}

/// Locks the table as those do who write its rows. Errors: as [`begin_write`]; `Conflict` also where it had to wait: what was read
/// before is older than what it waited for.
pub async fn lock_for_writes(txn: &Transaction, table: &TableDef) -> Result<()> {
    txn.lock_before_writing(record_key(table.id), LockMode::RowExclusive)
        .await
}
