//! `RowIds`: hidden row ids, handed out from blocks that one process reserves in transactions of its own, so that concurrent
//! sessions never conflict over a counter.
//!
//! Values rise and are never given twice; a rolled-back statement or a restart leaves gaps.
//! A counter that is not committed yet (its table was created in the same transaction) is counted in that transaction.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::catalog::TableDef;
use crate::codec::keyspace::Keyspace;
use crate::error::Limit;
use crate::store::{LockMode, Store, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// The first block of a counter; blocks double while they are used up, so that a small table leaves a small gap at
/// restart and a bulk load reserves seldom.
const BLOCK_FIRST: i64 = 32;
/// The largest block (unless one statement needs more).
const BLOCK_MAX: i64 = 8192;
/// So many counters are kept in memory, whether they are still stored or not.
pub(super) const KEPT_MAX: usize = 1024;
/// How often a reservation that loses a race is tried again.
const RESERVE_TRIES: usize = 100;
/// What a reservation may write.
const RESERVE_BYTES_MAX: usize = 1 << 16;

/// The process's reserved blocks. One for a store, shared by all sessions.
#[derive(Debug)]
pub(super) struct RowIds {
    store: Arc<dyn Store>,
    /// By the counter's stored key. Never locked across an await.
    blocks: Mutex<HashMap<Vec<u8>, Block>>,
}

/// Values reserved and not yet handed out.
#[derive(Debug, Clone, Copy)]
struct Block {
    next: i64,
    end: i64,
    /// What the next reservation asks for.
    size: i64,
}

impl RowIds {
    /// For one store.
    pub(super) fn new(store: Arc<dyn Store>) -> RowIds {
        RowIds {
            store,
            blocks: Mutex::default(),
        }
    }

    /// `count` consecutive row ids of the table.
    pub(super) async fn take(&self, txn: &Transaction, table: &TableDef, count: usize) -> Result<Range<i64>> {
        self.take_of(txn, counter_key(table), count).await
    }

    /// Starts the counter of a new table at 1, if it has one.
    pub(super) fn create(txn: &Transaction, table: &TableDef) -> Result<()> {
        match table.has_hidden_key() {
            true => set(txn, counter_key(table), 1),
            false => Ok(()),
        }
    }

    /// Ends the counter of a table, if it has one.
    pub(super) fn remove(txn: &Transaction, table: &TableDef) -> Result<()> {
        let key = counter_key(table);
        txn.write(Write::Delete { key }, None)
    }

    /// Forgets the blocks of tables that are gone, once there are many. Errors: the store's.
    pub(super) async fn forget_dropped(&self) -> Result<()> {
        let keys: Vec<Vec<u8>> = self.lock().keys().cloned().collect();
        let gone = gone(&self.store, &keys).await?;
        let mut blocks = self.lock();
        for at in gone {
            blocks.remove(&keys[at]);
        }
        Ok(())
    }

    /// Gives the counter of `old` to `new`, the same table under another id: from 1 on, or from where it is. A counter that only one of
    /// them has ends, or begins.
    pub(super) async fn move_to(
        &self,
        txn: &Transaction,
        old: &TableDef,
        new: &TableDef,
        restart: bool,
    ) -> Result<()> {
        if !old.has_hidden_key() {
            return RowIds::create(txn, new);
        }
        let old_key = counter_key(old);
        let next = match restart {
            true => 1,
            false => self.next(txn, &old_key).await?,
        };
        txn.write(Write::Delete { key: old_key }, None)?;
        match new.has_hidden_key() {
            true => set(txn, counter_key(new), next),
            false => Ok(()),
        }
    }

    /// Gives `new`, the same table under another id, a counter of its own: from 1 on, or from where that of `old` is, which stays.
    pub(super) async fn copy_to(
        &self,
        txn: &Transaction,
        old: &TableDef,
        new: &TableDef,
        restart: bool,
    ) -> Result<()> {
        if restart || !old.has_hidden_key() {
            return RowIds::create(txn, new);
        }
        let next = self.next(txn, &counter_key(old)).await?;
        set(txn, counter_key(new), next)
    }

    /// The value a counter hands out next: the block's, when this process holds the last block reserved.
    async fn next(&self, txn: &Transaction, key: &[u8]) -> Result<i64> {
        let stored = stored_next(txn, key).await?.unwrap_or(1);
        let block = self.lock().get(key).copied();
        Ok(block
            .filter(|block| block.end == stored)
            .map_or(stored, |block| block.next))
    }

    async fn take_of(&self, txn: &Transaction, key: Vec<u8>, count: usize) -> Result<Range<i64>> {
        let count = i64::try_from(count).map_err(|_| exhausted())?;
        if let Some(values) = self.take_from_block(&key, count) {
            return Ok(values);
        }
        for _ in 0..RESERVE_TRIES {
            match self.reserve(&key, count).await {
                Ok(Some(values)) => return Ok(values),
                Ok(None) => return take_in(txn, key, count).await,
                Err(Error::Conflict { .. }) => match self.take_from_block(&key, count) {
                    Some(values) => return Ok(values),
                    None => continue,
                },
                Err(error) => return Err(error),
            }
        }
        Err(Error::Conflict { key })
    }

    fn take_from_block(&self, key: &[u8], count: i64) -> Option<Range<i64>> {
        let mut blocks = self.lock();
        let block = blocks.get_mut(key)?;
        let end = block.next.checked_add(count).filter(|end| *end <= block.end)?;
        Some(std::mem::replace(&mut block.next, end)..end)
    }

    /// Reserves a block in a transaction of its own and takes `count` values of it; `None`: the counter is not
    /// committed.
    async fn reserve(&self, key: &[u8], count: i64) -> Result<Option<Range<i64>>> {
        let reserving = Transaction::begin(Arc::clone(&self.store), RESERVE_BYTES_MAX).await?;
        let Some(start) = stored_next(&reserving, key).await? else {
            return Ok(None);
        };
        let size = self.lock().get(key).map_or(BLOCK_FIRST, |block| block.size);
        let end = start.checked_add(size.max(count)).ok_or_else(exhausted)?;
        set(&reserving, key.to_vec(), end)?;
        reserving.commit(false).await?;
        let block = Block {
            next: start + count,
            end,
            size: (size * 2).min(BLOCK_MAX),
        };
        let mut blocks = self.lock();
        // Of two reservations that overlap here the later one stays: values only rise.
        match blocks.get(key) {
            Some(known) if known.end > block.end => {}
            _ => {
                blocks.insert(key.to_vec(), block);
            }
        }
        Ok(Some(start..start + count))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Block>> {
        self.blocks
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The places of those keys under which nothing is stored any more; none as long as there are few.
pub(super) async fn gone(store: &Arc<dyn Store>, keys: &[Vec<u8>]) -> Result<Vec<usize>> {
    if keys.len() < KEPT_MAX {
        return Ok(Vec::new());
    }
    let txn = Transaction::begin(Arc::clone(store), 0).await?;
    let stored = txn.get_many(keys).await?;
    let places = 0..keys.len();
    Ok(places.filter(|at| stored.get(*at).is_none()).collect())
}

fn counter_key(table: &TableDef) -> Vec<u8> {
    Keyspace::NextRowId { table: table.id }.encode()
}

async fn stored_next(txn: &Transaction, key: &[u8]) -> Result<Option<i64>> {
    let values = txn.get_many(&[key.to_vec()]).await?;
    let Some(bytes) = values.get(0) else {
        return Ok(None);
    };
    let bytes = bytes.try_into().map_err(|_| Error::Corrupt {
        what: "counter".to_string(),
        reason: format!("{} bytes instead of 8", bytes.len()),
    })?;
    Ok(Some(i64::from_be_bytes(bytes)))
}

fn set(txn: &Transaction, key: Vec<u8>, next: i64) -> Result<()> {
    txn.write(
        Write::Put {
            key,
            value: next.to_be_bytes().to_vec(),
        },
        Some(LockMode::Replace),
    )
}

/// Counts in the transaction itself.
async fn take_in(txn: &Transaction, key: Vec<u8>, count: i64) -> Result<Range<i64>> {
    let start = stored_next(txn, &key).await?.unwrap_or(1);
    let end = start.checked_add(count).ok_or_else(exhausted)?;
    set(txn, key, end)?;
    Ok(start..end)
}

fn exhausted() -> Error {
    Error::LimitExceeded {
        state: Limit::Program,
        message: "the counter of row ids is exhausted".to_string(),
        hint: "Create the table anew and load its rows again.".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreOptions;
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;

    #[tokio::test]
    async fn the_blocks_of_tables_that_are_gone_are_forgotten() {
        let store = MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None);
        let store: Arc<dyn Store> = Arc::new(store.unwrap());
        let ids = RowIds::new(Arc::clone(&store));
        let tables = 1..=u32::try_from(KEPT_MAX).unwrap();
        let keys: Vec<Vec<u8>> = tables
            .map(|table| Keyspace::NextRowId { table }.encode())
            .collect();
        let txn = Transaction::begin(Arc::clone(&store), RESERVE_BYTES_MAX * 16)
            .await
            .unwrap();
        for key in &keys {
            set(&txn, key.clone(), 1).unwrap();
        }
        txn.commit(false).await.unwrap();
        for key in &keys {
            assert_eq!(ids.reserve(key, 1).await, Ok(Some(1..2)));
        }
        ids.forget_dropped().await.unwrap();
        assert_eq!(ids.lock().len(), KEPT_MAX, "all are stored");
        let txn = Transaction::begin(Arc::clone(&store), RESERVE_BYTES_MAX)
            .await
            .unwrap();
        let key = keys[7].clone();
        txn.write(Write::Delete { key }, None).unwrap();
        txn.commit(false).await.unwrap();
        ids.forget_dropped().await.unwrap();
        assert_eq!(ids.take_from_block(&keys[7], 1), None);
        assert_eq!(
            ids.take_from_block(&keys[8], 1),
            Some(2..3),
            "what is left goes on"
        );
    }
}
