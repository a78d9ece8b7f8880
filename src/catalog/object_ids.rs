//! `ObjectIds`: the numbers of new tables, views, schemas and indexes. A server reserves them in blocks, in transactions of
//! their own, so that definitions of different objects share no key. A number is never given twice; what a definition that
//! failed took, and the rest of a block at a restart, are left out.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::FIRST_OID;
use crate::codec::keyspace::{Keyspace, TableId};
use crate::error::Limit;
use crate::store::{LockMode, Store, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Numbers that are reserved at a time.
const BLOCK: TableId = 32;
/// How often a reservation that loses a race is tried again.
const RESERVE_TRIES: usize = 100;
/// What a reservation may write.
const RESERVE_BYTES_MAX: usize = 1 << 16;

/// A server's reserved numbers. One for a store, shared by all sessions.
#[derive(Debug)]
pub struct ObjectIds {
    store: Arc<dyn Store>,
    /// Reserved and not given yet. Never locked across an await.
    block: Mutex<Range<TableId>>,
}

impl ObjectIds {
    /// For one store.
    pub fn new(store: Arc<dyn Store>) -> ObjectIds {
        ObjectIds {
            store,
            block: Mutex::new(0..0),
        }
    }

    /// The number of a new table, view, schema or index. Errors: 54000 when none is left.
    pub async fn take(&self) -> Result<TableId> {
        let mut lost = Ok(());
        for _ in 0..RESERVE_TRIES {
            if let Some(id) = self.block().next() {
                return Ok(id);
            }
            match self.reserve().await {
                Err(error @ Error::Conflict { .. }) => lost = Err(error),
                reserved => reserved?,
            }
        }
        lost?;
        Err(Error::internal("no object number after many reservations"))
    }

    /// The oid of a new index or schema. Errors: as `take`.
    pub async fn take_oid(&self) -> Result<u32> {
        Ok(FIRST_OID + self.take().await?)
    }

    /// Reserves the next block, unless somebody else has meanwhile.
    async fn reserve(&self) -> Result<()> {
        let txn = Transaction::begin(Arc::clone(&self.store), RESERVE_BYTES_MAX).await?;
        let key = Keyspace::NextTableId.encode();
        let values = txn.get_many(std::slice::from_ref(&key)).await?;
        let start = match values.get(0) {
            None => 1,
            Some(bytes) => bytes
                .try_into()
                .map(TableId::from_be_bytes)
                .map_err(|_| Error::Corrupt {
                    what: "next table id".to_string(),
                    reason: format!("{} bytes instead of 4", bytes.len()),
                })?,
        };
        let end = start.saturating_add(BLOCK).min(TableId::MAX - FIRST_OID);
        if start >= end {
            return Err(Error::LimitExceeded {
                state: Limit::Program,
                message: "no table id is left".to_string(),
                hint: "Load the data into a new data directory.".to_string(),
            });
        }
        let value = end.to_be_bytes().to_vec();
        txn.write(Write::Put { key, value }, Some(LockMode::Replace))?;
        // Durable at the latest with the commit of whatever takes a number.
        txn.commit(true).await?;
        let mut block = self.block();
        // What another reservation brought meanwhile is given first; of this one nothing is lost but numbers.
        if block.is_empty() {
            *block = start..end;
        }
        Ok(())
    }

    fn block(&self) -> MutexGuard<'_, Range<TableId>> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
