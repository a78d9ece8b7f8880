//! The session's temporary relations, where its transactions and statements have to do with them: COMMIT and DISCARD.

use std::sync::Arc;

use super::Session;
use super::transaction::Block;
use crate::Result;
use crate::catalog::Catalog;
use crate::sql::ddl::{before_commit, drop_temporary};
use crate::txn::Transaction;

impl Session {
    /// Does what ON COMMIT says of the session's temporary tables, in a transaction that is about to commit. Errors: as
    /// [`crate::sql::ddl::before_commit`]'s.
    pub(super) fn settle_temporary<'t>(
        &self,
        txn: &'t Transaction,
    ) -> impl Future<Output = Result<()>> + Send + use<'t> {
        let has_to = self.shared.has_had_temporary() && txn.has_writes();
        let instance = Arc::clone(&self.instance);
        let schema = Arc::clone(&self.settings().temporary_schema);
        async move {
            if has_to {
                let catalog = Catalog::load(txn, instance.shared_catalog()).await?;
                before_commit(txn, &catalog, instance.sequences(), &schema).await?;
                instance.wake_reclaim();
            }
            Ok(())
        }
    }

    /// DISCARD TEMP: in the transaction at hand, or one of its own.
    pub(super) async fn discard_temporary(&mut self) -> Result<()> {
        if !self.shared.has_had_temporary() {
            return Ok(());
        }
        let schema = Arc::clone(&self.settings().temporary_schema);
        if self.transaction.block == Block::None {
            return self.instance.drop_temporary(&|name| *name == *schema).await;
        }
        let (txn, catalog) = self.block_transaction().await?;
        drop_temporary(&txn, &catalog, |name| *name == *schema).await?;
        self.dropped();
        Ok(())
    }
}
