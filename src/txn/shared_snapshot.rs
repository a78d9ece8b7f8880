//! `SharedSnapshot`: the snapshot of a transaction, at which others may begin (`TransactionOptions::snapshot`). It stays readable as long
//! as this is held.

use std::sync::{Arc, PoisonError};

use super::visibility::Visibility;
use super::{Transaction, TransactionOptions};
use crate::Result;
use crate::store::{Snapshot, WriteWatch};

/// The snapshot of a transaction.
#[derive(Debug, Clone)]
pub struct SharedSnapshot {
    /// See [`Transaction::number`].
    pub(super) number: u64,
    pub(super) snapshot: Arc<dyn Snapshot>,
    /// At which moment it is read.
    pub(super) visibility: Visibility,
    /// The newest commit in it that may not be durable.
    pub(super) rests_on: u64,
    /// Of a serializable transaction: what has been written since is known.
    pub(super) watch: Option<Arc<dyn WriteWatch>>,
}

impl Transaction {
    /// Its snapshot, for others: what it has written itself is no part of it.
    pub fn share_snapshot(&self) -> SharedSnapshot {
        let reads = self.whole.reads.as_ref();
        SharedSnapshot {
            number: self.number,
            snapshot: Arc::clone(&self.snapshot),
            visibility: self.visibility.clone(),
            rests_on: self.whole.options.dependency.commit(),
            watch: reads.map(|reads| Arc::clone(&reads.watch)),
        }
    }

    /// Another transaction of the same session, for what is done in several.
    pub async fn another(&self) -> Result<Transaction> {
        let options = self.whole.options.clone();
        let other = Transaction::begin_with(Arc::clone(&self.whole.store), options).await?;
        other.set_lock_policy(*self.whole.policy.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(other)
    }

    /// Another transaction of the same session, at the snapshot of this one and by the catalog that it has loaded, that goes on with rows as
    /// they are where others have changed them since.
    pub async fn beside(&self) -> Result<Transaction> {
        let options = TransactionOptions {
            keeps_snapshot: false,
            is_serializable: false,
            snapshot: Some(self.share_snapshot()),
            ..self.whole.options.clone()
        };
        let other = Transaction::begin_with(Arc::clone(&self.whole.store), options).await?;
        other.set_lock_policy(*self.whole.policy.lock().unwrap_or_else(PoisonError::into_inner));
        other.log_changes_as(self);
        Ok(other)
    }
}
