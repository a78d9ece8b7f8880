//! Rows of a table that a job writes beside others who do: all at once where nobody has written any since they were read, else some at a
//! time, each kept from everybody who might. Used by `index_build` and `backfill`.

use std::sync::Arc;

use super::verification::begin;
use crate::catalog::{Catalog, TableDef, record_key, written_key};
use crate::codec::keyspace::TableId;
use crate::store::{LockMode, LockWait};
use crate::txn::{DatabaseStore, SharedSnapshot, Transaction, TransactionOptions};
use crate::{Error, Result};

/// Rows that are locked at a time, at most.
pub(super) const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { 1024 };
/// How often in a row a commit may be lost to those who change the table, or the other rows of a unique key.
const LOST_MAX: usize = 1000;
/// What the transaction of a chunk may write.
const CHUNK_TRANSACTION_BYTES: usize = 64 << 20;

/// A transaction that keeps others from writing rows of the table; `None` where one may just be doing so, or has since the snapshot.
pub(super) async fn lock_unchanged(
    store: &DatabaseStore,
    table: &TableDef,
    since: SharedSnapshot,
) -> Result<Option<Transaction>> {
    let options = TransactionOptions {
        bytes_max: CHUNK_TRANSACTION_BYTES,
        snapshot: Some(since),
        database: store.database,
        ..TransactionOptions::default()
    };
    let then = Transaction::begin_with(Arc::clone(&store.store), options).await?;
    let (record, mode) = ([record_key(table.id)], LockMode::ShareRowExclusive);
    let unlocked = then.lock_as_it_is(&record, mode, LockWait::NoWait).await?;
    if !unlocked.is_locked(0) {
        return Ok(None);
    }
    match then.lock(&[written_key(table.id)], LockMode::KeyShare).await {
        Ok(()) => then.next_statement().await.map(Some),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Rows with these keys, some a transaction.
#[derive(Debug)]
pub(super) struct KeptRows<'a> {
    table: TableId,
    /// Those that are not written yet.
    keys: &'a [Vec<u8>],
    /// How many of them the transaction keeps.
    kept: usize,
    mode: LockMode,
    lost: usize,
    catalog: Option<Arc<Catalog>>,
}

impl<'a> KeptRows<'a> {
    /// Rows of the table that is stored under this id, which are to be locked in this mode.
    pub(super) fn new(table: TableId, keys: &'a [Vec<u8>], mode: LockMode) -> KeptRows<'a> {
        KeptRows {
            table,
            keys,
            kept: 0,
            mode,
            lost: 0,
            catalog: None,
        }
    }

    /// A transaction that keeps the next rows, and the catalog as it sees it; `None` at the end. Errors: the store's, 40P01, 55P03.
    pub(super) async fn begin(
        &mut self,
        store: &DatabaseStore,
    ) -> Result<Option<(Transaction, Arc<Catalog>)>> {
        if self.keys.is_empty() {
            return Ok(None);
        }
        let txn = begin(store).await?;
        self.kept = keep_rows(&txn, self.table, self.keys, self.mode).await?;
        // What is seen from now on stays.
        let txn = txn.next_statement().await?;
        let catalog = Catalog::load(&txn, self.catalog.take()).await?;
        self.catalog = Some(Arc::clone(&catalog));
        Ok(Some((txn, catalog)))
    }

    /// The keys that the transaction keeps.
    pub(super) fn keys(&self) -> &'a [Vec<u8>] {
        &self.keys[..self.kept]
    }

    /// Commits what was written of them; where that is lost to others, they come again. Errors: the store's.
    pub(super) async fn commit(&mut self, txn: Transaction) -> Result<()> {
        match txn.commit(true).await {
            Ok(()) => (self.keys, self.lost) = (&self.keys[self.kept..], 0),
            Err(Error::Conflict { .. } | Error::Deadlock { .. }) if self.lost < LOST_MAX => self.lost += 1,
            Err(error) => return Err(error),
        }
        tokio::task::yield_now().await;
        Ok(())
    }
}

/// Keeps others from writing rows, from the first key on as far as nobody has locked one; the first is waited for, in no row's way. So a
/// job waits for no writer who waits for it. Answers how many; one at least. Errors: 40P01, 55P03.
async fn keep_rows(txn: &Transaction, table: TableId, keys: &[Vec<u8>], mode: LockMode) -> Result<usize> {
    let record = [record_key(table)];
    txn.lock_as_it_is(&record, LockMode::RowExclusive, LockWait::Block)
        .await?;
    let keys = &keys[..keys.len().min(PAGE_ROWS_MAX)];
    let unlocked = txn.lock_as_it_is(keys, mode, LockWait::NoWait).await?;
    match unlocked.refused {
        Some(0) => {
            txn.lock_as_it_is(&keys[..1], mode, LockWait::Block).await?;
            Ok(1)
        }
        Some(at) => Ok(at),
        None => Ok(keys.len()),
    }
}
