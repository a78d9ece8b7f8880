//! `Arbiter`: a unique key of a table that says which row stands in the way of another, for ON CONFLICT.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use super::read::whole_rows;
use super::sorted_keys::sorted;
use super::write::require_seen;
use super::{EntryEncoder, EntryReader, Limits, RowEncoder};
use crate::Result;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::IndexId;
use crate::store::LockMode;
use crate::txn::Transaction;

/// A unique key.
#[derive(Debug, Clone, Copy)]
pub struct Arbiter<'a> {
    table: &'a TableDef,
    /// `None`: the primary key.
    index: Option<&'a IndexDef>,
    limits: Limits,
}

impl<'a> Arbiter<'a> {
    /// The unique key of the table with this id.
    pub fn new(table: &'a TableDef, id: IndexId, limits: Limits) -> Arbiter<'a> {
        Arbiter {
            table,
            index: table.indexes.iter().find(|index| index.id == id),
            limits,
        }
    }

    /// The index that it is the key of; `None`: the primary key.
    pub fn index(&self) -> Option<&'a IndexDef> {
        self.index
    }

    /// For each row of a batch the stored key that no other row may have; `None` where a NULL is in it.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Vec<Option<Vec<u8>>>> {
        let rows = 0..batch.num_rows();
        match self.index {
            None => {
                let mut encoder = RowEncoder::new(self.table, self.limits);
                rows.map(|row| encoder.key(batch, row).map(Some)).collect()
            }
            Some(index) => {
                let encoder = EntryEncoder::new(self.table, index, self.limits);
                rows.map(|row| encoder.exclusive_key(batch, row)).collect()
            }
        }
    }

    /// The rows that stand in the way of the batch's: for each of these whether there is one, and those that are, whole, in
    /// the batch's order. All keys are locked in a mode that keeps rows and absence: what is there stays so, and what is not is the transaction's to make. Errors: `Conflict`
    /// where a transaction that keeps its snapshot does not see such a row.
    pub async fn rows_in_the_way(
        &self,
        txn: &Transaction,
        batch: &RecordBatch,
        mode: LockMode,
    ) -> Result<(Vec<bool>, RecordBatch)> {
        let keys = self.keys(batch)?;
        let asked: Vec<Vec<u8>> = keys.iter().flatten().cloned().collect();
        let rows = match self.index {
            None => StandingRows::lock(txn, asked.iter(), mode).await?,
            Some(index) => {
                let entries = StandingRows::lock(txn, asked.iter(), mode).await?;
                self.rows_of(txn, index, entries, mode).await?
            }
        };
        let mut decoder = whole_rows(self.table);
        let mut found = Vec::with_capacity(keys.len());
        for key in &keys {
            let row = key.as_ref().and_then(|key| rows.get(key));
            found.push(row.is_some());
            if let Some((key, value)) = row {
                decoder.push(key, value)?;
            }
        }
        Ok((found, decoder.finish()?))
    }

    /// The rows that these entries are of, by their entries.
    async fn rows_of(
        &self,
        txn: &Transaction,
        index: &IndexDef,
        entries: StandingRows,
        mode: LockMode,
    ) -> Result<StandingRows> {
        let mut reader = EntryReader::new(self.table, index);
        let row_keys = entries.rows.into_iter().map(|(entry, (_, value))| {
            let key = reader.row_key(&entry, &value)?;
            Ok((entry, key))
        });
        let row_keys: Vec<(Vec<u8>, Vec<u8>)> = row_keys.collect::<Result<_>>()?;
        let rows = StandingRows::lock(txn, row_keys.iter().map(|(_, key)| key), mode).await?;
        let of_entries = row_keys.into_iter().filter_map(|(entry, key)| {
            let (key, value) = rows.get(&key)?;
            Some((entry, (key.to_vec(), value.to_vec())))
        });
        Ok(StandingRows {
            rows: of_entries.collect(),
        })
    }
}

/// What stands under locked keys.
struct StandingRows {
    /// By what they are looked for: the keys and values of those that are there.
    rows: HashMap<Vec<u8>, (Vec<u8>, Vec<u8>)>,
}

impl StandingRows {
    async fn lock(
        txn: &Transaction,
        keys: impl Iterator<Item = &Vec<u8>>,
        mode: LockMode,
    ) -> Result<StandingRows> {
        let keys: Vec<Vec<u8>> = keys.cloned().collect();
        let keys = sorted(&keys);
        let locked = txn.lock_newest(&keys, mode).await?;
        require_seen(txn, &keys, &locked)?;
        let values = (0..keys.len()).map(|at| locked.values.get(at).map(<[u8]>::to_vec));
        let values: Vec<Option<Vec<u8>>> = values.collect();
        let rows = keys.into_iter().zip(values);
        Ok(StandingRows {
            rows: rows
                .filter_map(|(key, value)| Some((key.clone(), (key, value?))))
                .collect(),
        })
    }

    fn get(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        self.rows
            .get(key)
            .map(|(key, value)| (key.as_slice(), value.as_slice()))
    }
}
