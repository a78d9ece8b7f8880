//! `Arbiter`: a unique key of a table that says which row stands in the way of another, for ON CONFLICT.

use arrow::array::RecordBatch;

use super::write::whole_rows;
use super::{EntryEncoder, EntryReader, Limits, RowEncoder};
use crate::Result;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::IndexId;
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

    /// For each row of a batch the stored key that no other row may have; `None` where a NULL is in it.
    pub fn keys(&self, batch: &RecordBatch) -> Result<Vec<Option<Vec<u8>>>> {
        let rows = 0..batch.num_rows();
        match self.index {
            None => {
                let mut encoder = RowEncoder::new(self.table, self.limits);
                rows.map(|row| encoder.key(batch, row).map(Some)).collect()
            }
            Some(index) => {
                let mut encoder = EntryEncoder::new(self.table, index, self.limits);
                let entries = rows.map(|row| encoder.entry(batch, row));
                entries
                    .map(|entry| entry.map(|entry| entry.exclusive.then_some(entry.key)))
                    .collect()
            }
        }
    }

    /// The rows that stand in the way of the batch's: for each of these whether there is one, and those that are, whole, in
    /// the batch's order.
    pub async fn rows_in_the_way(
        &self,
        txn: &Transaction,
        batch: &RecordBatch,
    ) -> Result<(Vec<bool>, RecordBatch)> {
        let keys = self.keys(batch)?;
        let asked: Vec<Vec<u8>> = keys.iter().flatten().cloned().collect();
        let row_keys = match self.index {
            None => asked.into_iter().map(Some).collect(),
            Some(index) => self.row_keys(txn, index, asked).await?,
        };
        let mut row_keys = row_keys.into_iter();
        let of_rows = keys
            .iter()
            .map(|key| key.as_ref().and_then(|_| row_keys.next().flatten()));
        let of_rows: Vec<Option<Vec<u8>>> = of_rows.collect();
        let wanted: Vec<Vec<u8>> = of_rows.iter().flatten().cloned().collect();
        let values = txn.get_many(&wanted).await?;
        let mut decoder = whole_rows(self.table);
        let (mut found, mut at) = (Vec::with_capacity(of_rows.len()), 0);
        for key in &of_rows {
            let value = key.as_ref().and_then(|key| {
                at += 1;
                values.get(at - 1).map(|value| (key, value))
            });
            found.push(value.is_some());
            if let Some((key, value)) = value {
                decoder.push(key, value)?;
            }
        }
        Ok((found, decoder.finish()?))
    }

    /// The keys of the rows that these entries are of; `None` where there is no such entry.
    async fn row_keys(
        &self,
        txn: &Transaction,
        index: &IndexDef,
        entries: Vec<Vec<u8>>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let values = txn.get_many(&entries).await?;
        let mut reader = EntryReader::new(self.table, index);
        let row_keys = entries.iter().enumerate().map(|(at, entry)| {
            let value = values.get(at);
            value.map(|value| reader.row_key(entry, value)).transpose()
        });
        row_keys.collect()
    }
}
