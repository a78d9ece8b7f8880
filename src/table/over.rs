//! Rows that are over, where they stand in the way: whoever writes under a key of theirs, or promises something of all rows, removes them
//! first, in the same transaction, with all their entries. So no entry is ever without its row, and a row that comes back when its table
//! gets a longer TTL breaks no promise that was made while it was not seen.
//!
//! # Why their entries need no lock
//!
//! Who changes or removes a row holds its lock. Who wants an entry of it for another row has locked the entry, finds the row over, and then
//! locks that as well: so of two who remove a row the second comes to it when the first has committed, and finds nothing.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef};

use super::entry::entry_encoders;
use super::read::whole_rows;
use super::sorted_keys::sorted;
use super::table_lock::lock_for_writes;
use super::versions;
use super::{EntryReader, Limits, StoredKeys};
use crate::Result;
use crate::catalog::{TableDef, written_key};
use crate::codec::keyspace::entry_prefix;
use crate::store::{LockMode, Page, ScanRequest, Write};
use crate::txn::{LockedValues, Transaction, TransactionScan};

/// A stored row: its key and its value.
pub(super) type StoredRow = (Vec<u8>, Vec<u8>);

/// Removes rows, which are locked, with their entries: of keys those at some places, with their values.
pub(super) async fn remove_over(
    txn: &Transaction,
    table: &TableDef,
    keys: &[Vec<u8>],
    over: BTreeMap<usize, Vec<u8>>,
) -> Result<()> {
    let rows = over.into_iter().map(|(at, value)| (keys[at].clone(), value));
    let gone = keys_of_rows(txn, table, rows.collect()).await?;
    versions::remove(txn, table, &gone).await?;
    for key in gone {
        txn.write(Write::Delete { key }, None)?;
    }
    Ok(())
}

/// All keys that go with rows: their own, and those of their entries. The table's mark is left, for they are to be removed.
pub(super) async fn keys_of_rows(
    txn: &Transaction,
    table: &TableDef,
    rows: Vec<StoredRow>,
) -> Result<Vec<Vec<u8>>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    txn.mark(written_key(table.id))?;
    let mut decoder = whole_rows(table);
    rows.iter()
        .try_for_each(|(key, value)| decoder.push(key, value))?;
    let batch = decoder.finish()?;
    let mut keys = Vec::with_capacity(rows.len());
    let mut unsure = Vec::new();
    for (index, encoder) in table.kept_indexes().zip(&mut entry_encoders(table, Limits::NONE)) {
        let (entries, _) = encoder.entries(&batch)?;
        for entry in entries {
            match index.building && entry.exclusive {
                // It may be another's, and not be there yet.
                true => unsure.push(entry),
                false => keys.push(entry.key),
            }
        }
    }
    let asked: Vec<_> = unsure.iter().map(|entry| entry.key.clone()).collect();
    let standing = txn.get_newest(&asked).await?;
    let own = unsure.into_iter().enumerate();
    let own = own.filter(|(at, entry)| standing.get(*at) == Some(entry.value.as_slice()));
    keys.extend(own.map(|(_, entry)| entry.key));
    keys.extend(rows.into_iter().map(|(key, _)| key));
    Ok(keys)
}

/// Locks the unique keys of new rows, which are sorted, and tells what stands under them. Rows that are over are removed: nothing stands
/// there then.
pub(super) async fn lock_unique_keys(
    txn: &Transaction,
    table: &TableDef,
    keys: &[Vec<u8>],
) -> Result<LockedValues> {
    let mut locked = txn.lock_newest(keys, LockMode::Insert).await?;
    if !table.options.expiry.may_be_over() {
        return Ok(locked);
    }
    let over = std::mem::take(&mut locked.over);
    remove_over(txn, table, keys, over).await?;
    for at in entries_of_nothing(txn, table, keys, &locked).await? {
        locked.values.forget(at);
    }
    Ok(locked)
}

/// The places of the entries among locked keys whose rows are over, and are removed.
async fn entries_of_nothing(
    txn: &Transaction,
    table: &TableDef,
    keys: &[Vec<u8>],
    locked: &LockedValues,
) -> Result<Vec<usize>> {
    let (mut places, mut rows) = (Vec::new(), Vec::new());
    for index in table.kept_indexes().filter(|index| index.unique) {
        let prefix = entry_prefix(table.id, index.id);
        let mut reader = EntryReader::new(table, index);
        for (at, key) in keys
            .iter()
            .enumerate()
            .filter(|(_, key)| key.starts_with(&prefix))
        {
            if let Some(value) = locked.values.get(at) {
                places.push(at);
                rows.push(reader.row_key(key, value)?);
            }
        }
    }
    if rows.is_empty() {
        return Ok(places);
    }
    let gone = remove_those_over(txn, table, &rows).await?;
    Ok(gone.into_iter().map(|at| places[at]).collect())
}

/// Removes of rows, which are told by the columns of their primary keys, those that are over. Errors: `Conflict` where the table's record
/// has changed; those of locks.
pub async fn remove_rows_over(txn: &Transaction, table: &TableDef, keys: &[ArrayRef]) -> Result<()> {
    let stored = StoredKeys::new(table);
    let count = keys.first().map_or(0, |column| column.len());
    let rows: Vec<Vec<u8>> = (0..count).map(|row| stored.key(keys, row)).collect();
    if rows.is_empty() {
        return Ok(());
    }
    lock_for_writes(txn, table).await?;
    remove_those_over(txn, table, &rows).await.map(drop)
}

/// The places of the rows among these keys that are over, and are removed, or that are not there.
pub(super) async fn remove_those_over(
    txn: &Transaction,
    table: &TableDef,
    rows: &[Vec<u8>],
) -> Result<Vec<usize>> {
    // Most often they are there: then nobody need wait for whoever changes them.
    let seen = txn.get_newest(rows).await?;
    let is_unseen = |at: &usize| seen.get(*at).is_none();
    let unseen: Vec<usize> = (0..rows.len()).filter(is_unseen).collect();
    if unseen.is_empty() {
        return Ok(unseen);
    }
    let row_keys = sorted(&unseen.iter().map(|at| rows[*at].clone()).collect::<Vec<_>>());
    let mut newest = txn.lock_newest(&row_keys, LockMode::Replace).await?;
    let over = std::mem::take(&mut newest.over);
    remove_over(txn, table, &row_keys, over).await?;
    let is_gone = |at: &usize| {
        let place = row_keys.binary_search(&rows[*at]);
        place.is_ok_and(|place| newest.values.get(place).is_none())
    };
    Ok(unseen.into_iter().filter(is_gone).collect())
}

/// All rows of a table for a definition that promises something of each, a page at a time. Those that are over are removed as they come by.
pub(super) struct RowsKept<'a> {
    txn: &'a Transaction,
    table: &'a TableDef,
    scan: TransactionScan,
}

impl<'a> RowsKept<'a> {
    /// Of a scan of them.
    pub(super) fn new(txn: &'a Transaction, table: &'a TableDef, mut request: ScanRequest) -> RowsKept<'a> {
        RowsKept {
            txn,
            table,
            scan: match table.options.expiry.may_be_over() {
                true => {
                    // What of them is over, their values tell.
                    request.keys_only = false;
                    txn.with_rows_that_are_over().scan(request)
                }
                false => txn.scan(request),
            },
        }
    }

    /// Fills `page` with the next rows; `false` at the end. Errors: `Conflict` where somebody else has written a row that is over; 54000.
    pub(super) async fn next_page(&mut self, page: &mut Page) -> Result<bool> {
        loop {
            self.scan.next_page(page).await?;
            if page.is_empty() {
                return Ok(false);
            }
            remove_from_page(self.txn, self.table, page, None).await?;
            if !page.is_empty() {
                return Ok(true);
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Takes the rows that are over out of a page and removes them. `lock`: they are locked so at the statement's end; `None`: at once.
pub(super) async fn remove_from_page(
    txn: &Transaction,
    table: &TableDef,
    page: &mut Page,
    lock: Option<LockMode>,
) -> Result<()> {
    if !table.options.expiry.may_be_over() {
        return Ok(());
    }
    let over = txn.take_over_rows(page)?;
    if over.is_empty() {
        return Ok(());
    }
    if lock.is_none() {
        lock_for_writes(txn, table).await?;
        let keys: Vec<Vec<u8>> = over.iter().map(|(key, _)| key.clone()).collect();
        txn.lock(&sorted(&keys), LockMode::Replace).await?;
    }
    let gone = keys_of_rows(txn, table, over).await?;
    versions::remove(txn, table, &gone).await?;
    for key in gone {
        let is_row = key.starts_with(&entry_prefix(table.id, table.primary_key.id));
        txn.write(Write::Delete { key }, lock.filter(|_| is_row))?;
    }
    Ok(())
}
