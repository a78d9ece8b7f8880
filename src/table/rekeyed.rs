//! Rows of a table that are written beside it under another primary key: which rows there are, which of them stand beside already, and the
//! log of those that were written since. Called by `sql::ddl::rekey_build`, which says when and in which transactions.
//!
//! The table beside has an index over the columns of the old key, in the old key's order: so an entry of it is the old key under another
//! prefix, and leads to what stands beside for a row, be that row still there or not.

use arrow::array::RecordBatch;

use super::carried_times::carry_row_times;
use super::entry::EntryReader;
use super::read::whole_rows;
use super::rows_request::{request_of, rows_request};
use super::write::{delete_rows, insert_rows};
use super::{Limits, RowEncoder};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, IndexId, entry_prefix, index_range};
use crate::codec::successor;
use crate::store::{KeyRange, LockMode, LockWait, Page, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Rows with their keys, as they are now.
#[derive(Debug)]
pub struct CurrentRows {
    /// Whole, in the order of the keys.
    pub rows: RecordBatch,
    /// Their values as they are stored.
    values: Vec<Vec<u8>>,
    /// The keys that nobody else may write until the transaction ends, rows of which are here as far as there are some.
    pub locked: Vec<Vec<u8>>,
    /// Those that somebody else has locked.
    pub busy: Vec<Vec<u8>>,
}

/// The keys of the next rows of a table from the key `from` on (`None`: the first), and the key to go on from; none at the end.
pub async fn next_keys(
    txn: &Transaction,
    table: &TableDef,
    from: Option<&[u8]>,
    rows_max: usize,
) -> Result<(Vec<Vec<u8>>, Option<Vec<u8>>)> {
    keys_of(txn, rows_request(table, from, false, rows_max)).await
}

/// The keys of rows that the log names, from the place `from` in it on, likewise.
pub async fn logged_keys(
    txn: &Transaction,
    (table, log): (&TableDef, IndexId),
    from: Option<&[u8]>,
    rows_max: usize,
) -> Result<(Vec<Vec<u8>>, Option<Vec<u8>>)> {
    let all = index_range(table.id, log);
    let range = KeyRange {
        start: from.map_or(all.start, <[u8]>::to_vec),
        end: all.end,
    };
    let (logged, next) = keys_of(txn, request_of(range, true, rows_max)).await?;
    let prefix = entry_prefix(table.id, table.primary_key.id);
    let keys = logged.iter().map(|key| under(&prefix, key));
    Ok((keys.collect(), next))
}

async fn keys_of(
    txn: &Transaction,
    request: crate::store::ScanRequest,
) -> Result<(Vec<Vec<u8>>, Option<Vec<u8>>)> {
    let mut page = Page::new();
    txn.scan(request).next_page(&mut page).await?;
    let next = page.last().map(|(last, _)| successor(last));
    Ok((page.iter().map(|(key, _)| key.to_vec()).collect(), next))
}

/// The rows that stand under keys now, which are locked; those that somebody else has locked are left, if `skips`.
pub async fn current_rows(
    txn: &Transaction,
    table: &TableDef,
    keys: &[Vec<u8>],
    skips: bool,
) -> Result<CurrentRows> {
    let (mut locked, mut busy) = (Vec::with_capacity(keys.len()), Vec::new());
    match skips {
        true => {
            let unlocked = txn
                .lock_as_it_is(keys, LockMode::Change, LockWait::SkipLocked)
                .await?;
            for (at, key) in keys.iter().enumerate() {
                match unlocked.is_locked(at) {
                    true => locked.push(key.clone()),
                    false => busy.push(key.clone()),
                }
            }
        }
        false => locked.extend_from_slice(keys),
    }
    let values = txn.get_newest(&locked).await?;
    let mut decoder = whole_rows(table);
    let mut kept = Vec::with_capacity(locked.len());
    for (at, key) in locked.iter().enumerate() {
        if let Some(value) = values.get(at) {
            decoder.push(key, value)?;
            kept.push(value.to_vec());
        }
    }
    Ok(CurrentRows {
        rows: decoder.finish()?,
        values: kept,
        locked,
        busy,
    })
}

/// Removes what stands beside for rows with these keys of the table.
pub async fn remove_beside(
    txn: &Transaction,
    (beside, map): (&TableDef, &IndexDef),
    keys: &[Vec<u8>],
    limits: Limits,
) -> Result<()> {
    let prefix = entry_prefix(beside.id, map.id);
    let entries: Vec<Vec<u8>> = keys.iter().map(|key| under(&prefix, key)).collect();
    let standing = txn.with_own_writes().get_many(&entries).await?;
    let mut reader = EntryReader::new(beside, map);
    let mut rows = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(value) = standing.get(at) {
            rows.push(reader.row_key(entry, value)?);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let values = txn.with_own_writes().get_many(&rows).await?;
    let mut decoder = whole_rows(beside);
    for (at, key) in rows.iter().enumerate() {
        let value = values.get(at);
        decoder.push(key, value.ok_or_else(|| Error::internal("an entry of no row"))?)?;
    }
    delete_rows(txn, beside, &decoder.finish()?, limits).await
}

/// Writes rows beside, as columns of the table beside, with the times that they had. Errors: 23505, 54000.
pub async fn insert_beside(
    txn: &Transaction,
    (table, beside): (&TableDef, &TableDef),
    (rows, current): (&RecordBatch, &CurrentRows),
    limits: Limits,
) -> Result<()> {
    insert_rows(txn, beside, rows, limits).await?;
    if !table.options.expiry.may_be_over() {
        return Ok(());
    }
    let mut encoder = RowEncoder::new(beside, limits);
    let keys = (0..rows.num_rows()).map(|row| encoder.key(rows, row));
    let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
    carry_row_times(txn, &keys, &current.values).await
}

/// Puts keys of rows into the log, or takes them out.
pub fn log_keys(
    txn: &Transaction,
    (table, log): (&TableDef, IndexId),
    keys: &[Vec<u8>],
    puts: bool,
) -> Result<()> {
    let prefix = entry_prefix(table.id, log);
    for key in keys {
        let key = under(&prefix, key);
        let write = match puts {
            true => Write::Put {
                key,
                value: Vec::new(),
            },
            false => Write::Delete { key },
        };
        txn.write(write, None)?;
    }
    Ok(())
}

/// A key under another prefix.
fn under(prefix: &[u8], key: &[u8]) -> Vec<u8> {
    [prefix, key.get(ENTRY_PREFIX_BYTES..).unwrap_or_default()].concat()
}
