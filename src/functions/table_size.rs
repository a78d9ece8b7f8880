//! How many bytes the rows and entries of a table take, about: the store counts rows, and the first of a key tell how long
//! one is. Keys are counted whole, though engines may share their beginnings.

use crate::Result;
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::index_range;
use crate::store::{Page, ScanRequest};
use crate::table::committed_row_counts;
use crate::txn::Transaction;
use std::sync::Arc;

/// Entries that are measured.
const SAMPLE_ROWS: usize = 256;
/// Bytes of them at most, about.
const SAMPLE_BYTES: usize = 128 << 10;

/// Bytes of the rows (of the primary key), or of the entries of a secondary index. Errors: the store's.
pub(crate) async fn key_bytes(txn: &Transaction, table: &Arc<TableDef>, key: &IndexDef) -> Result<u64> {
    let mut scan = txn.scan(ScanRequest {
        ranges: vec![index_range(table.id, key.id)],
        reverse: false,
        keys_only: false,
        read_ahead: false,
        page_rows_max: SAMPLE_ROWS,
        page_bytes_max: SAMPLE_BYTES,
    });
    let mut page = Page::new();
    scan.next_page(&mut page).await?;
    let measured = page.len() as u64;
    if measured == 0 {
        return Ok(0);
    }
    let counts = committed_row_counts(txn, &[table]).await?;
    let rows = counts
        .first()
        .copied()
        .flatten()
        .unwrap_or(measured)
        .max(measured);
    let bytes: usize = page.iter().map(|(key, value)| key.len() + value.len()).sum();
    Ok((bytes as u128 * u128::from(rows) / u128::from(measured)) as u64)
}
