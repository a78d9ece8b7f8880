//! Reads that are nobody's work with the rows: what measures them.

use std::sync::Arc;

use super::Transaction;

impl Transaction {
    /// The same transaction, whose reads see all that it has written by then and are not counted (`heat`).
    pub fn uncounted(&self) -> Transaction {
        Transaction {
            number: self.number,
            snapshot: Arc::clone(&self.snapshot),
            view: None,
            visibility: self.visibility.clone(),
            heat: None,
            open: self.open.clone(),
            whole: Arc::clone(&self.whole),
        }
    }
}
