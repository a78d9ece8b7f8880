//! How all rows of a table are read by what goes over them a page at a time.

use crate::Result;
use crate::catalog::TableDef;
use crate::codec::keyspace::index_range;
use crate::store::{KeyRange, Page, ScanRequest, Write};
use crate::txn::Transaction;

/// Bytes of a page at most.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// Rows of a page at most, where only one column is looked at, or nobody else writes.
pub const PAGE_ROWS_MAX: usize = 4096;

/// The keys of a table's rows.
pub fn rows_range(table: &TableDef) -> KeyRange {
    index_range(table.id, table.primary_key.id)
}

/// All rows from a key on (`None`, and a key of no row of the table: the first).
pub(super) fn rows_request(
    table: &TableDef,
    from: Option<&[u8]>,
    keys_only: bool,
    page_rows_max: usize,
) -> ScanRequest {
    request_of(rows_range(table).resumed_at(from), keys_only, page_rows_max)
}

/// Rows of a range.
pub(super) fn request_of(range: KeyRange, keys_only: bool, page_rows_max: usize) -> ScanRequest {
    ScanRequest {
        read_ahead: false,
        ranges: vec![range],
        reverse: false,
        keys_only,
        page_rows_max,
        page_bytes_max: PAGE_BYTES_MAX,
    }
}

/// All that stands in a range, a page at a time.
pub(crate) fn pages_of_range(range: KeyRange) -> ScanRequest {
    request_of(range, false, PAGE_ROWS_MAX)
}

/// Removes all that stands in a range. Errors: the store's, and the transaction's limit.
pub(super) async fn remove_range(txn: &Transaction, range: KeyRange, page_rows_max: usize) -> Result<()> {
    let mut scan = txn.scan(request_of(range, true, page_rows_max));
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        for (key, _) in page.iter() {
            txn.write(Write::Delete { key: key.to_vec() }, None)?;
        }
    }
}

/// The first rows of a range, so many at most. Errors: the store's.
pub async fn first_rows(
    txn: &Transaction,
    range: KeyRange,
    keys_only: bool,
    rows_max: usize,
) -> Result<Page> {
    let mut scan = txn.scan(request_of(range, keys_only, rows_max));
    let mut page = Page::new();
    scan.next_page(&mut page).await?;
    page.truncate(rows_max);
    Ok(page)
}

/// The next rows of a table from the key `from` on (`None`: the first), so many at most, those that are over among them; none at the end.
pub async fn next_rows(
    txn: &Transaction,
    table: &TableDef,
    from: Option<&[u8]>,
    rows_max: usize,
) -> Result<Page> {
    let rest = rows_range(table).resumed_at(from);
    first_rows(&txn.with_rows_that_are_over(), rest, false, rows_max).await
}

/// The rows under keys, as far as there are such, likewise.
pub async fn rows_under(txn: &Transaction, keys: &[Vec<u8>]) -> Result<Page> {
    let values = txn.with_rows_that_are_over().get_many(keys).await?;
    let mut page = Page::new();
    for (at, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(at) {
            page.push(key, value);
        }
    }
    Ok(page)
}
