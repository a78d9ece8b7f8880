//! Transactions over the store: writes buffered over a snapshot, read-your-writes, savepoints, conflict keys. Sessions
//! begin and end them; `catalog`, `table` and `scan` read and write through them. Knows nothing of tables or SQL.
//!
//! ```text
//!   reads ──► buffer (own writes, newest first) ──► snapshot (everything committed before `begin`)
//!   write ──► buffer                  commit ──► Batch { snapshot, writes, unchanged } ──► Store
//! ```
//!
//! Invariants
//!
//! 1. A read sees the snapshot and exactly the writes whose call ended before the read began (for a scan: before it was
//!    opened; of a view: before that was made), whatever other tasks write meanwhile.
//! 2. After `rollback_to(s)` every read, and the batch at commit, are as they were when `s` was made.
//! 3. A transaction without writes never touches the store again and never conflicts.
//! 4. Buffered keys, values and their bookkeeping never exceed `bytes_max`, nor what the server's memory has left; the write
//!    that would is refused whole.

mod buffer;
mod scan;
mod view;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{Batch, KeyRange, ScanRequest, ServerMemory, Snapshot, Store, Values, Write};
use crate::{Error, Result};
use buffer::Buffer;
pub use scan::TransactionScan;
use view::View;

/// How many transactions the process has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A transaction: one snapshot and the writes made over it. Cheap to share (`Arc`); reads may run side by side,
/// a write takes effect for reads that start after it. Dropping it without `commit` forgets its writes.
#[derive(Debug)]
pub struct Transaction {
    /// See [`Transaction::number`].
    number: u64,
    store: Arc<dyn Store>,
    snapshot: Arc<dyn Snapshot>,
    buffer: Arc<Mutex<Buffer>>,
    /// Of a view: what its reads see.
    view: Option<View>,
    /// Whether every statement that wrote only frees space; `None`: none has written.
    frees_space: Mutex<Option<bool>>,
}

/// Marks a place in a transaction's writes to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint(pub(crate) usize);

impl Transaction {
    /// Begins at the newest snapshot. `bytes_max` bounds the buffered writes (54000 `LimitExceeded` above it).
    pub async fn begin(store: Arc<dyn Store>, bytes_max: usize) -> Result<Transaction> {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let snapshot = store.snapshot().await?;
        Ok(Transaction {
            number,
            store,
            snapshot,
            buffer: Arc::new(Mutex::new(Buffer::new(bytes_max))),
            view: None,
            frees_space: Mutex::new(None),
        })
    }

    /// The transactions that the process began before it: one of a higher number was begun later, and most often sees more.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The same; what it writes is taken from what all statements and transactions may hold together (53200 when there is
    /// none), until the commit is done or it is dropped.
    pub fn counted_in(self, memory: &Arc<ServerMemory>) -> Transaction {
        self.lock().count_in(memory.account());
        self
    }

    /// Values of keys, own writes first.
    pub async fn get_many(&self, keys: &[Vec<u8>]) -> Result<Values> {
        let own = self.lock().get_many(keys, self.seen());
        if own.is_empty() {
            return self.snapshot.get_many(keys).await;
        }
        let missing: Vec<Vec<u8>> = keys
            .iter()
            .zip(&own)
            .filter(|(_, own)| own.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        let stored = if missing.is_empty() {
            Values::default()
        } else {
            self.snapshot.get_many(&missing).await?
        };
        let mut values = Values::with_capacity(keys.len());
        let mut stored_index = 0;
        for own in own {
            match own {
                Some(value) => values.push(value.as_deref()),
                None => {
                    values.push(stored.get(stored_index));
                    stored_index += 1;
                }
            }
        }
        Ok(values)
    }

    /// Values of keys as the snapshot has them, own writes left out.
    pub async fn get_stored(&self, keys: &[Vec<u8>]) -> Result<Values> {
        self.snapshot.get_many(keys).await
    }

    /// The keys of a range that the transaction has written, in their order, and whether it put (`true`) or deleted them.
    pub fn own_writes(&self, range: KeyRange) -> Vec<(Vec<u8>, bool)> {
        self.lock().written(&range)
    }

    /// Puts an empty value, blind, under a key that the transaction has not written yet.
    pub fn mark(&self, key: Vec<u8>) -> Result<()> {
        self.lock().mark(key)
    }

    /// A scan of snapshot and own writes merged, in key order (or reverse).
    pub fn scan(&self, request: ScanRequest) -> TransactionScan {
        TransactionScan::new(&*self.snapshot, (Arc::clone(&self.buffer), self.seen()), request)
    }

    /// The same transaction, whose reads see what is there now and nothing that is written later.
    pub fn as_it_is(&self) -> Transaction {
        Transaction {
            number: self.number,
            store: Arc::clone(&self.store),
            snapshot: Arc::clone(&self.snapshot),
            buffer: Arc::clone(&self.buffer),
            view: Some(View::open(&self.buffer)),
            frees_space: Mutex::new(None),
        }
    }

    /// Which of the keys were written after an earlier view of the same transaction was made, as far as this one sees.
    pub fn are_written_since(&self, earlier: &Transaction, keys: &[Vec<u8>]) -> Vec<bool> {
        let buffer = self.lock();
        let now = buffer.progress();
        let mark = |txn: &Transaction| txn.seen().unwrap_or(now);
        buffer.are_written_between(mark(earlier), mark(self), keys)
    }

    /// Keys that cut a range into about so many parts of about the same size; own writes do not count.
    pub async fn split_points(&self, range: KeyRange, parts: usize) -> Result<Vec<Vec<u8>>> {
        self.store.split_points(range, parts).await
    }

    /// Buffers a write. `checked`: the key must not have changed since the snapshot when this commits; once checked, a
    /// key stays so, whatever is written to it later.
    pub fn write(&self, write: Write, checked: bool) -> Result<()> {
        self.lock().write(write, checked)
    }

    /// The key must not have changed since the snapshot when this commits (the record of a table written to …).
    /// Only takes effect when the transaction has writes: read-only transactions never conflict.
    pub fn guard(&self, key: &[u8]) {
        self.lock().guard(key);
    }

    /// Whether anything was written.
    pub fn has_writes(&self) -> bool {
        self.lock().has_writes()
    }

    /// How much was written: a number that rises with each write and guard.
    pub fn progress(&self) -> usize {
        self.lock().progress()
    }

    /// A statement has written, and only `frees` space or not: a transaction all of whose statements do commits even when
    /// the disk is nearly full.
    pub fn note_statement(&self, frees: bool) {
        let mut frees_space = self.frees_space.lock().unwrap_or_else(PoisonError::into_inner);
        *frees_space = Some(frees && frees_space.unwrap_or(true));
    }

    /// A mark to roll back to.
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.lock().savepoint())
    }

    /// Forgets every write and guard since the mark, and every mark made after it; the mark itself stays.
    pub fn rollback_to(&self, savepoint: Savepoint) {
        self.lock().rollback_to(savepoint.0);
    }

    /// Commits the writes atomically and durably (`relaxed`: durable soon). The transaction is over either way: later
    /// writes fail. Errors: as [`Store::commit`].
    pub async fn commit(&self, relaxed: bool) -> Result<()> {
        let (batch, _account) = {
            let mut buffer = self.lock();
            (buffer.finish()?, buffer.take_account())
        };
        if batch.writes.is_empty() {
            return Ok(());
        }
        let frees_space = *self.frees_space.lock().unwrap_or_else(PoisonError::into_inner);
        self.store
            .commit(Batch {
                snapshot: Some(Arc::clone(&self.snapshot)),
                relaxed,
                reclaims: frees_space == Some(true),
                ..batch
            })
            .await
    }

    fn seen(&self) -> Option<usize> {
        self.view.as_ref().map(View::mark)
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        lock(&self.buffer)
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
fn lock(buffer: &Mutex<Buffer>) -> MutexGuard<'_, Buffer> {
    buffer.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A write after the end of the transaction: a bug of the caller.
fn finished() -> Error {
    Error::internal("a write to a transaction that has ended")
}
