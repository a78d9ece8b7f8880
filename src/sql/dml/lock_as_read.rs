//! Locks on rows that a write has read by joining them with others.

use arrow::array::RecordBatch;

use crate::Result;
use crate::catalog::TableDef;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::RowEncoder;

/// Locks whole rows that were read as the statement began: those that it has locked elsewhere may be newer. Errors: as
/// [`crate::txn::Transaction::lock`].
pub(super) async fn lock_as_read(
    ctx: &StatementContext,
    table: &TableDef,
    rows: &[&RecordBatch],
    mode: LockMode,
) -> Result<()> {
    let mut encoder = RowEncoder::new(table, ctx.settings.limits);
    let mut keys = Vec::new();
    for rows in rows {
        for row in 0..rows.num_rows() {
            keys.push(encoder.key(rows, row)?);
        }
    }
    ctx.txn.lock_as_read(&keys, mode).await
}
