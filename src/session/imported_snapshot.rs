//! SET TRANSACTION SNAPSHOT: a block reads what a transaction reads that has exported its snapshot. Called by the session's commands.

use super::Session;
use super::transaction::Block;
use crate::error::StatementFault;
use crate::system::settings::Isolation;
use crate::{Error, Result};

impl Session {
    /// SET TRANSACTION SNAPSHOT: the block reads what another transaction that is still open reads. Errors: 25001 behind a query, 0A000
    /// at a level that keeps no snapshot, and of one that serializable transactions cannot rest on; 22023.
    pub(super) fn import_snapshot(&mut self, id: &str) -> Result<()> {
        let refused = |message: &str| {
            Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: message.to_string(),
                hint: None,
            })
        };
        if self.transaction.active.is_some()
            || self.transaction.snapshot.is_some()
            || self.transaction.is_in_savepoint()
        {
            return Err(Error::TransactionState {
                state: "25001",
                message: "SET TRANSACTION SNAPSHOT must be called before any query".to_string(),
            });
        }
        let (settings, isolation) = (self.settings(), self.isolation());
        if isolation == Isolation::ReadCommitted {
            return refused(
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ",
            );
        }
        let exported = self.instance.state().snapshots.import(id)?;
        if isolation == Isolation::Serializable {
            if !exported.is_serializable {
                return refused(
                    "a serializable transaction cannot import a snapshot from a non-serializable transaction",
                );
            }
            if exported.is_read_only && !settings.transaction_read_only {
                return refused(
                    "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction",
                );
            }
        }
        if self.transaction.block != Block::None {
            self.transaction.snapshot = Some(exported.snapshot);
        }
        Ok(())
    }
}
