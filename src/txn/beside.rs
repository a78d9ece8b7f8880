//! Transactions that are begun beside one, with what that began with.

use std::sync::{Arc, PoisonError};

use super::{Transaction, TransactionOptions};
use crate::Result;

impl Transaction {
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
