//! The entries of a new index for rows that were there before it, and the search for NULLs before NOT NULL: what
//! definitions do with all rows of a table, a page at a time. Called by `sql::ddl`, which says when and in which
//! transactions.
//!
//! # Why a build beside writers is right
//!
//! From the commit of the record on every write keeps the index. So in every snapshot after it:
//!
//! 1. an entry points to a row that is there and has its columns: whoever changes or removes a row takes away the row's
//!    own entry and no other (`write::vacated_keys`);
//! 2. a row that came, or moved, or changed in the index's columns since, or that the build has come by, has its entry.
//!
//! Who reads rows and entries in one snapshot may give a row without an entry one, in a commit that conflicts with any
//! change of the row, of the entry and of the record; a row whose entry is another's is a duplicate, by 1. Who has read rows in one
//! snapshot and knows that nobody has written rows of the table since may write their entries as they are: those that stand are the same, and
//! two rows with one exclusive entry are duplicates. Once each row of a snapshot has come by, 2 says that every row has its entry, so no
//! two rows are equal.

use std::collections::HashMap;

use arrow::array::{Array, RecordBatch};

use super::over::{RowsKept, remove_from_page};
use super::partial_rows::PartialRows;
use super::read::whole_rows;
use super::rekeyed::next_keys;
use super::rows_request::{PAGE_ROWS_MAX, request_of, rows_range, rows_request, rows_under};
use super::{EntryEncoder, EntryReader, IndexEntry, Limits, RowDecoder, constraint_key};
use crate::catalog::{IndexDef, TableDef, record_key};
use crate::store::{KeyRange, LockMode, Page, Write};
use crate::txn::{Transaction, TransactionScan};
use crate::{Error, Result};

/// Makes the entries of an index of pages of rows. Of these only the columns are decoded that entries hold.
#[derive(Debug)]
pub struct EntryMaker<'a> {
    rows: PartialRows,
    encoder: EntryEncoder<'a>,
}

impl<'a> EntryMaker<'a> {
    /// For one index of a table.
    pub fn new(table: &'a TableDef, index: &'a IndexDef, limits: Limits) -> EntryMaker<'a> {
        let sorted = table.sort_columns(index);
        let primary = sorted.iter().map(|key| key.column);
        let ids = primary.chain(index.held_columns());
        let wanted = ids.filter_map(|id| table.column_index_by_id(id)).collect();
        EntryMaker {
            rows: PartialRows::new(table, wanted),
            encoder: EntryEncoder::new(table, index, limits),
        }
    }

    /// Hands on the entries of the rows of a page, at most [`PAGE_ROWS_MAX`]. Errors: `Corrupt`, 54000, those of `take`.
    pub fn entries(&mut self, page: &Page, mut take: impl FnMut(&IndexEntry) -> Result<()>) -> Result<()> {
        let batch = self.rows.batch(page)?;
        let mut entries = Vec::with_capacity(1);
        for row in 0..batch.num_rows() {
            self.encoder.put_entries(&mut entries, &batch, row)?;
            entries.drain(..).try_for_each(|entry| take(&entry))?;
        }
        Ok(())
    }
}

/// Rows of a range, page by page, for an [`EntryMaker`].
pub fn scan_rows(txn: &Transaction, range: KeyRange) -> TransactionScan {
    txn.scan(request_of(range, false, PAGE_ROWS_MAX))
}

/// Writes the missing entries of the rows with these keys, as far as there are such rows now. Errors: 23505 when one is equal to
/// another.
pub async fn build_rows(
    txn: &Transaction,
    table: &TableDef,
    index: &IndexDef,
    keys: &[Vec<u8>],
    limits: Limits,
) -> Result<()> {
    let mut page = rows_under(txn, keys).await?;
    txn.guard_in(&record_key(table.id), LockMode::RowExclusive);
    // A row that is over may be seen again one day: it gets no entry, so it goes.
    remove_from_page(txn, table, &mut page, Some(LockMode::Replace)).await?;
    let mut decoder = whole_rows(table);
    page.iter()
        .try_for_each(|(key, value)| decoder.push(key, value))?;
    let keys: Vec<&[u8]> = page.iter().map(|(key, _)| key).collect();
    write_missing(txn, (table, index), &decoder.finish()?, &keys, limits).await
}

/// Writes the entries of rows that have none. Whoever changes one of the rows meanwhile is shut out.
async fn write_missing(
    txn: &Transaction,
    (table, index): (&TableDef, &IndexDef),
    batch: &RecordBatch,
    row_keys: &[&[u8]],
    limits: Limits,
) -> Result<()> {
    let mut encoder = EntryEncoder::new(table, index, limits);
    let (entries, rows) = encoder.entries(batch)?;
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.clone()).collect();
    let standing = txn.get_many(&keys).await?;
    let mut in_page: HashMap<Vec<u8>, usize> = HashMap::new();
    txn.guard_in(&record_key(table.id), LockMode::RowExclusive);
    for (at, (entry, row)) in entries.into_iter().zip(rows).enumerate() {
        let is_other = standing.get(at).is_some_and(|value| value != entry.value);
        if entry.exclusive && (is_other || in_page.insert(entry.key.clone(), row).is_some()) {
            return Err(duplicate(table, index, batch, row));
        }
        if standing.get(at).is_some() {
            continue;
        }
        // It may be in the index's columns that it is changed.
        txn.guard_in(row_keys[row], LockMode::Keep);
        let (key, value) = (entry.key, entry.value);
        txn.write(Write::Put { key, value }, Some(LockMode::Replace))?;
    }
    Ok(())
}

/// The error for an entry that another row has, too. Errors: `Corrupt`, the store's.
pub async fn duplicate_entry(
    txn: &Transaction,
    table: &TableDef,
    index: &IndexDef,
    (key, value): (&[u8], &[u8]),
) -> Result<Error> {
    let row = [EntryReader::new(table, index).row_key(key, value)?];
    let values = txn.get_many(&row).await?;
    let mut decoder = whole_rows(table);
    let found = values
        .get(0)
        .ok_or_else(|| Error::internal("an entry of no row"))?;
    decoder.push(&row[0], found)?;
    Ok(duplicate(table, index, &decoder.finish()?, 0))
}

/// Writes the entries of a new index for every row that the transaction sees, while nobody else can write rows of the table.
/// Errors: 23505 when two rows are equal, 54000 when they are more than the transaction may write.
pub async fn build_index(
    txn: &Transaction,
    table: &TableDef,
    index: &IndexDef,
    limits: Limits,
) -> Result<()> {
    if table.options.expiry.may_be_over() {
        let (all, mut from) = (txn.with_rows_that_are_over(), None);
        loop {
            let (keys, next) = next_keys(&all, table, from.as_deref(), PAGE_ROWS_MAX).await?;
            build_rows(txn, table, index, &keys, limits).await?;
            if next.is_none() {
                return Ok(());
            }
            from = next;
            tokio::task::yield_now().await;
        }
    }
    let mut maker = EntryMaker::new(table, index, limits);
    let mut scan = scan_rows(txn, rows_range(table));
    let mut page = Page::new();
    txn.guard_in(&record_key(table.id), LockMode::RowExclusive);
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        let mut entries = Vec::with_capacity(page.len());
        maker.entries(&page, |entry| {
            entries.push(entry.clone());
            Ok(())
        })?;
        for entry in entries {
            // Of a new index there are no entries but those of this call.
            if entry.exclusive && txn.has_written(&entry.key) {
                return Err(duplicate_entry(txn, table, index, (&entry.key, &entry.value)).await?);
            }
            let (key, value) = (entry.key, entry.value);
            txn.write(Write::Put { key, value }, None)?;
        }
        tokio::task::yield_now().await;
    }
}

/// Whether the table has no row; those that are over are removed.
pub async fn is_empty(txn: &Transaction, table: &TableDef) -> Result<bool> {
    let mut rows = RowsKept::new(txn, table, rows_request(table, None, true, 1));
    rows.next_page(&mut Page::new()).await.map(|more| !more)
}

/// Whether any row is NULL in the column at `position`. `go_on` is asked before each page; its error ends the search.
pub async fn has_null(
    txn: &Transaction,
    table: &TableDef,
    position: usize,
    go_on: impl Fn() -> Result<()>,
) -> Result<bool> {
    let mut rows = RowsKept::new(txn, table, rows_request(table, None, false, PAGE_ROWS_MAX));
    let mut page = Page::new();
    let mut decoder = RowDecoder::new(table, &[position]);
    loop {
        go_on()?;
        if !rows.next_page(&mut page).await? {
            return Ok(false);
        }
        page.iter()
            .try_for_each(|(key, value)| decoder.push(key, value))?;
        if decoder.finish()?.column(0).null_count() > 0 {
            return Ok(true);
        }
        tokio::task::yield_now().await;
    }
}

fn duplicate(table: &TableDef, index: &IndexDef, batch: &RecordBatch, row: usize) -> Error {
    Error::DuplicateInIndex {
        schema: table.schema.clone(),
        table: table.name.clone(),
        index: index.name.clone(),
        key: constraint_key(table, index, batch, row),
    }
}
