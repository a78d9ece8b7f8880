//! The statements of a transaction: the one behind another, and one within another, of a function that it calls. That sees what others have
//! committed by then, where the statement around it still reads its own, older snapshot: what the transaction has learnt of a key by the one is
//! nothing to rest on for the other.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Transaction;
use crate::Result;

impl Transaction {
    /// The same transaction at the newest snapshot, for its next statement; at the same one if it keeps that.
    pub async fn next_statement(&self) -> Result<Transaction> {
        match self.whole.keeps_snapshot {
            true => Ok(Transaction {
                visibility: self.visibility.next(self.whole.store.clock(), true),
                heat: self.whole.heat(),
                is_noted: true,
                began_at: 0,
                ..self.with_own_writes()
            }),
            false => Transaction::at_newest_of(Arc::clone(&self.whole), Some(&self.visibility)).await,
        }
    }

    /// The same transaction at the newest snapshot, even if it keeps one: for a statement that is the only one and begins again.
    pub async fn again(&self) -> Result<Transaction> {
        Transaction::at_newest_of(Arc::clone(&self.whole), Some(&self.visibility)).await
    }

    /// The same transaction at the newest snapshot, for a statement within the one of this; at the same one if it keeps that. What the
    /// statement around it rests on, that settles itself ([`Transaction::settle`]), for it is older.
    pub async fn next_within(&self) -> Result<Transaction> {
        let began_at = match self.keeps_snapshot() {
            true => self.began_at,
            false => self.progress(),
        };
        Ok(Transaction {
            began_at,
            ..self.next_statement().await?
        })
    }

    /// Whether a statement within this one has read from a newer snapshot than this reads from: what is known of keys since may be newer, too.
    pub(super) fn is_behind(&self) -> bool {
        self.number < self.whole.newest.load(Ordering::Relaxed)
    }
}
