//! Where the rows stand that entries of an index are of. Called by `build_keys`.

use crate::Result;
use crate::plan::{AccessClass, AccessPath};
use crate::scan::executor::{ENTRIES_MAX, PAGE_BYTES_MAX};
use crate::store::{Page, ScanRequest};
use crate::table::EntryReader;
use crate::txn::Transaction;

/// The keys of the rows that a path through an index leads to, without its residual; `None` when they are more than so many.
pub(crate) async fn row_keys(
    txn: &Transaction,
    path: &AccessPath,
    keys_max: usize,
) -> Result<Option<Vec<Vec<u8>>>> {
    let mut reader = EntryReader::new(&path.table, path.key());
    if let AccessClass::MultiGet { keys } = &path.class {
        let values = txn.get_many(keys).await?;
        let found = keys
            .iter()
            .enumerate()
            .filter_map(|(at, key)| Some((key, values.get(at)?)));
        let found = found.map(|(key, value)| reader.row_key(key, value));
        return found.collect::<Result<_>>().map(Some);
    }
    let mut scan = txn.scan(ScanRequest {
        ranges: path.ranges().unwrap_or_default().to_vec(),
        reverse: false,
        keys_only: !path.key().unique,
        read_ahead: false,
        page_rows_max: ENTRIES_MAX,
        page_bytes_max: PAGE_BYTES_MAX,
    });
    let (mut keys, mut page) = (Vec::new(), Page::new());
    while keys.len() <= keys_max {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(Some(keys));
        }
        for (key, value) in page.iter() {
            keys.push(reader.row_key(key, value)?);
        }
    }
    Ok(None)
}
