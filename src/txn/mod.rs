//! Transactions over the store: writes buffered over a snapshot, read-your-writes, savepoints, conflict keys.
//! Knows nothing of tables or SQL.

use std::sync::Arc;

use crate::Result;
use crate::store::{KeyRange, Page, ScanRequest, Store, Values, Write};

/// A transaction: one snapshot and the writes made over it. Cheap to share (`Arc`); reads may run side by side,
/// a write takes effect for reads that start after it. Dropping it without `commit` forgets its writes.
#[derive(Debug)]
pub struct Transaction {}

/// Marks a place in a transaction's writes to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint(pub(crate) usize);

/// A scan that sees the transaction's own writes as they were when it was opened.
#[derive(Debug)]
pub struct TransactionScan {}

impl Transaction {
    /// Begins at the newest snapshot. `bytes_max` bounds the buffered writes (54000 `LimitExceeded` above it).
    pub async fn begin(_store: Arc<dyn Store>, _bytes_max: usize) -> Result<Transaction> {
        unimplemented!()
    }
    /// Values of keys, own writes first.
    pub async fn get_many(&self, _keys: &[Vec<u8>]) -> Result<Values> {
        unimplemented!()
    }
    /// A scan of snapshot and own writes merged, in key order (or reverse).
    pub fn scan(&self, _request: ScanRequest) -> TransactionScan {
        unimplemented!()
    }
    /// Buffers a write. `checked`: the key must not have changed since the snapshot when this commits.
    pub fn write(&self, _write: Write, _checked: bool) -> Result<()> {
        unimplemented!()
    }
    /// The key must not have changed since the snapshot when this commits (the record of a table written to …).
    /// Only takes effect when the transaction has writes: read-only transactions never conflict.
    pub fn guard(&self, _key: &[u8]) {
        unimplemented!()
    }
    /// Whether anything was written.
    pub fn has_writes(&self) -> bool {
        unimplemented!()
    }
    /// A mark to roll back to.
    pub fn savepoint(&self) -> Savepoint {
        unimplemented!()
    }
    /// Forgets every write since the mark.
    pub fn rollback_to(&self, _savepoint: Savepoint) {
        unimplemented!()
    }
    /// Commits the writes atomically and durably (`relaxed`: durable soon). The transaction is over either way.
    pub async fn commit(&self, _relaxed: bool) -> Result<()> {
        unimplemented!()
    }
}

impl TransactionScan {
    /// As [`crate::store::Scan::next_page`].
    pub async fn next_page(&mut self, _page: &mut Page) -> Result<()> {
        unimplemented!()
    }
    /// As [`crate::store::Scan::skip_to`].
    pub fn skip_to(&mut self, _key: &[u8]) {
        unimplemented!()
    }
}

/// Every key that starts with `prefix`.
pub fn prefix_range(prefix: &[u8]) -> KeyRange {
    KeyRange {
        start: prefix.to_vec(),
        end: crate::codec::prefix_end(prefix),
    }
}
