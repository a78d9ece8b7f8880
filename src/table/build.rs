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
//! A page reads rows and entries in one snapshot. A row without an entry gets one, in a commit that conflicts with any
//! change of the row, of the entry and of the record; a row whose entry is another's is a duplicate, by 1. After the last
//! page 2 says that every row has its entry, so no two rows are equal.

use std::collections::HashMap;

use arrow::array::{Array, RecordBatch};

use super::over::{RowsKept, remove_from_page};
use super::read::whole_rows;
use super::rows_request::{PAGE_ROWS_MAX, rows_request};
use super::{EntryEncoder, Limits, RowDecoder, constraint_key};
use crate::catalog::{IndexDef, TableDef, record_key};
use crate::codec::successor;
use crate::store::{LockMode, Page, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// A page of rows that has its entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltPage {
    /// So many.
    pub rows: usize,
    /// The key to go on from.
    pub next: Vec<u8>,
}

/// Writes the missing entries of the first `rows_max` rows from the key `from` on (`None`: the first of all); `None` at the
/// end. `alone`: no other transaction can write rows of the table. Errors: 23505 when
/// a row is equal to another.
pub async fn build_index_page(
    txn: &Transaction,
    table: &TableDef,
    index: &IndexDef,
    from: Option<&[u8]>,
    rows_max: usize,
    alone: bool,
    limits: Limits,
) -> Result<Option<BuiltPage>> {
    let mut page = Page::new();
    // A row that is over may be seen again one day: it gets no entry, so it goes.
    let all = txn.with_rows_that_are_over();
    let mut scan = all.scan(rows_request(table, from, false, rows_max));
    scan.next_page(&mut page).await?;
    drop(scan);
    let Some((last, _)) = page.last() else {
        return Ok(None);
    };
    let next = successor(last);
    txn.guard_in(&record_key(table.id), LockMode::RowExclusive);
    remove_from_page(txn, table, &mut page, Some(LockMode::Replace)).await?;
    let mut decoder = whole_rows(table);
    page.iter()
        .try_for_each(|(key, value)| decoder.push(key, value))?;
    let batch = decoder.finish()?;
    let mut encoder = EntryEncoder::new(table, index, limits);
    let entries: Vec<_> = (0..batch.num_rows())
        .map(|row| encoder.entry(&batch, row))
        .collect::<Result<_>>()?;
    let keys: Vec<_> = entries.iter().map(|entry| entry.key.clone()).collect();
    let standing = txn.get_many(&keys).await?;
    let mut in_page: HashMap<Vec<u8>, usize> = HashMap::new();
    for (row, (entry, (row_key, _))) in entries.into_iter().zip(page.iter()).enumerate() {
        let is_other = standing.get(row).is_some_and(|value| value != entry.value);
        if entry.exclusive && (is_other || in_page.insert(entry.key.clone(), row).is_some()) {
            return Err(duplicate(table, index, &batch, row));
        }
        if standing.get(row).is_some() {
            continue;
        }
        if !alone {
            // Whoever changes the row is shut out: it may be in the index's columns.
            txn.guard_in(row_key, LockMode::Keep);
        }
        let (key, value) = (entry.key, entry.value);
        txn.write(Write::Put { key, value }, Some(LockMode::Replace))?;
    }
    let rows = page.len();
    Ok(Some(BuiltPage { rows, next }))
}

/// Writes the entries of a new index for every row that the transaction sees, while nobody else can write rows of the table.
/// Errors: 23505 when two rows are equal, 54000 when they are more than the transaction may write.
pub async fn build_index(
    txn: &Transaction,
    table: &TableDef,
    index: &IndexDef,
    limits: Limits,
) -> Result<()> {
    let mut from = None;
    loop {
        let page = build_index_page(txn, table, index, from.as_deref(), PAGE_ROWS_MAX, true, limits).await?;
        match page {
            Some(page) => from = Some(page.next),
            None => return Ok(()),
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
