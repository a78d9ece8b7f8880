//! `EncodedRow`: rows of a batch as they will be stored, with the entries of their indexes. Made by `write` and `update`; which of the
//! rows cannot be, a `RowFault` tells.

use arrow::array::RecordBatch;

use super::entry::entry_encoders;
use super::{IndexEntry, Limits, RowEncoder};
use crate::catalog::{IndexDef, TableDef};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Rows after which a statement gives its thread to others for a moment: one that writes a million rows must hold up
/// neither other clients nor the request that cancels it.
const ROWS_PER_TURN: usize = 256;

/// Why rows are not written, and which of the batch is at fault, where it is one.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFault {
    /// Its place in the batch.
    pub row: Option<usize>,
    /// What is said of it.
    pub error: Error,
}

/// A row as it will be stored.
pub(super) struct EncodedRow {
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
    /// By index, in the order of `TableDef::kept_indexes`.
    pub(super) entries: Vec<IndexEntry>,
    /// Where those of each index end.
    ends: Vec<usize>,
}

impl EncodedRow {
    /// Every key that it writes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        std::iter::once(&self.key).chain(self.entries.iter().map(|entry| &entry.key))
    }

    /// The index of the table whose key this is of the row's unique keys.
    pub(super) fn index_of<'a>(&self, table: &'a TableDef, key: &[u8]) -> &'a IndexDef {
        let found = self.entries.iter().position(|entry| entry.key == key);
        let index = found.and_then(|at| self.index_of_entry(table, at));
        index.unwrap_or(&table.primary_key)
    }

    /// The index of the table that has the entry at this place.
    pub(super) fn index_of_entry<'a>(&self, table: &'a TableDef, at: usize) -> Option<&'a IndexDef> {
        let place = self.ends.partition_point(|end| *end <= at);
        table.kept_indexes().nth(place)
    }

    /// Its entries, each with the index of the table that has it.
    pub(super) fn indexed_entries<'a>(
        &'a self,
        table: &'a TableDef,
    ) -> impl Iterator<Item = (&'a IndexDef, &'a IndexEntry)> {
        let mut begin = 0;
        table
            .kept_indexes()
            .zip(&self.ends)
            .flat_map(move |(index, end)| {
                let of_index = &self.entries[begin..*end];
                begin = *end;
                of_index.iter().map(move |entry| (index, entry))
            })
    }

    /// Its own key and those of its entries that no other row may have.
    pub(super) fn unique_keys(&self) -> impl Iterator<Item = &Vec<u8>> {
        let entries = self
            .entries
            .iter()
            .filter(|entry| entry.exclusive)
            .map(|entry| &entry.key);
        std::iter::once(&self.key).chain(entries)
    }
}

/// The rows of a batch. Errors: 23502 and 54000, with the row.
pub(super) async fn encode_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> Result<Vec<EncodedRow>, RowFault> {
    let mut encoder = RowEncoder::of_write(txn, table, limits);
    let mut entries = entry_encoders(table, limits);
    let mut encode = |row: usize| {
        let mut of_row = Vec::with_capacity(entries.len());
        let mut ends = Vec::with_capacity(entries.len());
        let (key, value) = (encoder.key(batch, row)?, encoder.value(batch, row)?);
        for encoder in &mut entries {
            encoder.put_entries(&mut of_row, batch, row)?;
            ends.push(of_row.len());
        }
        Ok(EncodedRow {
            key,
            value,
            entries: of_row,
            ends,
        })
    };
    let mut rows = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        rows.push(encode(row).map_err(|error| RowFault {
            row: Some(row),
            error,
        })?);
        take_turns(row).await;
    }
    Ok(rows)
}

impl From<Error> for RowFault {
    fn from(error: Error) -> RowFault {
        RowFault { row: None, error }
    }
}

impl From<RowFault> for Error {
    fn from(fault: RowFault) -> Error {
        fault.error
    }
}

/// Called after each row: lets other tasks run once in a while.
pub(super) async fn take_turns(row: usize) {
    if row % ROWS_PER_TURN == ROWS_PER_TURN - 1 {
        tokio::task::yield_now().await;
    }
}
