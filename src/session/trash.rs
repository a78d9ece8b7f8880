//! Purges tables in the trash whose time is over, in the background. Called by `removal`'s task at each of its rounds.

use std::sync::Arc;

use super::instance::Instance;
use crate::catalog::{CatalogWriter, TrashedTable};
use crate::{Error, Result};

impl Instance {
    /// Purges the tables whose time is over, each in a commit of its own. What somebody else takes out meanwhile is left.
    pub(super) async fn purge_round(&self) -> Result<()> {
        let now = self.store().clock().now();
        let txn = self.begin(self.removal_options()).await?;
        let catalog = self.catalog(&txn, None).await?;
        drop(txn);
        let is_over = |trashed: &&Arc<TrashedTable>| trashed.until <= now;
        for trashed in catalog.trash.values().filter(is_over) {
            match self.purge(trashed).await {
                Ok(()) => self.wake_reclaim(),
                Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn purge(&self, trashed: &TrashedTable) -> Result<()> {
        let txn = self.begin(self.removal_options()).await?;
        let catalog = self.catalog(&txn, None).await?;
        let Some(trashed) = catalog.trash.get(&trashed.id) else {
            return Ok(());
        };
        CatalogWriter::begin(&txn, &catalog)?.purge(trashed)?;
        txn.note_statement(true);
        txn.commit(false).await
    }
}
