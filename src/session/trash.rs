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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::session::{Identity, Session};
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::system::{Parameters, Settings};

    /// Tables in the trash.
    async fn count(instance: &Instance) -> usize {
        let txn = instance.begin(instance.transaction_options()).await.unwrap();
        instance.catalog(&txn, None).await.unwrap().trash.len()
    }

    #[tokio::test]
    async fn what_is_kept_no_longer_goes() {
        let engine = Arc::new(MemoryEngine::new());
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(engine, &StoreOptions::default(), None).unwrap());
        let instance = Arc::new(Instance::new(Arc::clone(&store), Settings::default()));
        let identity = Identity {
            user: "u".to_string(),
            database: "d".to_string(),
            process_id: 1,
            client: None,
        };
        let mut session = Session::new(
            Arc::clone(&instance),
            identity,
            &[],
            crate::system::SessionLimits::default(),
        )
        .await
        .unwrap();
        let begun = store.clock().now();
        for text in [
            "SET keyspan.trash_hours = 1",
            "CREATE TABLE a (k int PRIMARY KEY)",
            "INSERT INTO a VALUES (1)",
            "DROP TABLE a",
            "SET keyspan.trash_hours = 3",
            "CREATE TABLE b (k int)",
            "INSERT INTO b VALUES (1)",
            "TRUNCATE b",
        ] {
            for statement in session.parse(text).await.unwrap() {
                session
                    .run(&statement, Parameters::default(), None)
                    .await
                    .unwrap();
            }
        }
        instance.purge_round().await.unwrap();
        assert_eq!(count(&instance).await, 2, "neither's time is over");
        store.clock().set(begun + 2 * 3_600_000_000);
        instance.purge_round().await.unwrap();
        assert_eq!(count(&instance).await, 1, "one's is");
        store.clock().set(begun + 4 * 3_600_000_000);
        instance.purge_round().await.unwrap();
        assert_eq!(count(&instance).await, 0);
        assert_eq!(crate::catalog::reclaim_dropped(&store).await, Ok(2));
    }
}
