//! The number of a table's rows, which the store keeps: how a table begins to be counted, and what a transaction sees.

use std::sync::Arc;

use super::table_lock::begin_write;
use crate::Result;
use crate::catalog::{TableDef, record_key, written_key};
use crate::codec::keyspace::index_range;
use crate::store::{LockMode, Write};
use crate::txn::Transaction;

/// Keys that are looked up at a time.
const KEYS_AT_ONCE: usize = 1024;

/// A new table has no rows. Writes of the same transaction count on from there.
pub fn begin_count(txn: &Transaction, table: &TableDef) -> Result<()> {
    put_count(txn, table, 0)
}

/// States how many rows are stored of the table at the transaction's snapshot, in which they were counted: nobody may have written any
/// since.
pub async fn correct_count(txn: &Transaction, table: &TableDef, rows: u64) -> Result<()> {
    begin_write(txn, table).await?;
    // Those who write rows leave their marks without locks of them, but hold the record.
    txn.guard_in(&record_key(table.id), LockMode::ShareRowExclusive);
    txn.guard(&written_key(table.id));
    put_count(txn, table, rows)
}

/// How many rows of the table the transaction sees, its own among them. `None`: nobody has counted them yet, or some may be over.
pub async fn row_count(txn: &Transaction, table: &TableDef) -> Result<Option<u64>> {
    match table.options.expiry.may_be_over() {
        true => Ok(None),
        false => stored_row_count(txn, table).await,
    }
}

/// The same, with those that are over.
pub async fn stored_row_count(txn: &Transaction, table: &TableDef) -> Result<Option<u64>> {
    let key = [written_key(table.id)];
    // What the transaction has put itself is a count only if it made the table: for others it is what its commit becomes.
    let own = read_count(txn.get_many(&key).await?.get(0));
    let Some(stored) = own.or(read_count(txn.get_stored(&key).await?.get(0))) else {
        return Ok(None);
    };
    let mut rows = i128::from(stored);
    let mut own = txn.own_writes(index_range(table.id, table.primary_key.id));
    while !own.is_empty() {
        let rest = own.split_off(own.len().min(KEYS_AT_ONCE));
        let (keys, puts): (Vec<Vec<u8>>, Vec<bool>) = own.into_iter().unzip();
        let before = txn.get_stored(&keys).await?;
        for (at, is_put) in puts.into_iter().enumerate() {
            rows += i128::from(is_put) - i128::from(before.get(at).is_some());
        }
        own = rest;
    }
    Ok(u64::try_from(rows).ok())
}

/// How many rows tables have at the transaction's snapshot, its own not among them, and those that are over are; `None` where nobody has counted them.
pub async fn committed_row_counts(txn: &Transaction, tables: &[&Arc<TableDef>]) -> Result<Vec<Option<u64>>> {
    let keys: Vec<Vec<u8>> = tables.iter().map(|table| written_key(table.id)).collect();
    let values = txn.get_stored(&keys).await?;
    Ok((0..keys.len()).map(|at| read_count(values.get(at))).collect())
}

fn read_count(value: Option<&[u8]>) -> Option<u64> {
    Some(u64::from_be_bytes(value?.try_into().ok()?))
}

fn put_count(txn: &Transaction, table: &TableDef, rows: u64) -> Result<()> {
    let (key, value) = (written_key(table.id), rows.to_be_bytes().to_vec());
    txn.write(Write::Put { key, value }, None)
}
