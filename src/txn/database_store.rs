//! `DatabaseStore`: where the transactions of one database begin that are nobody's session's. All databases of a store share its keys.

use std::sync::Arc;

use super::{Transaction, TransactionOptions};
use crate::Result;
use crate::codec::keyspace::DatabaseId;
use crate::store::Store;

/// A store, and the database in it.
#[derive(Debug, Clone)]
pub struct DatabaseStore {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The database.
    pub database: DatabaseId,
}

impl DatabaseStore {
    /// Begins a transaction at the newest snapshot. `bytes_max`: see [`TransactionOptions`].
    pub async fn begin(&self, bytes_max: usize) -> Result<Transaction> {
        let options = TransactionOptions {
            database: self.database,
            bytes_max,
            ..TransactionOptions::default()
        };
        Transaction::begin_with(Arc::clone(&self.store), options).await
    }
}
