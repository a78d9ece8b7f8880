//! `SharedSnapshot`: the snapshot of a transaction, at which others may begin (`TransactionOptions::snapshot`). It stays readable as long
//! as this is held.

use std::sync::Arc;

use super::Transaction;
use super::visibility::Visibility;
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
}
