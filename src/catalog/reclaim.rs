//! Removes the keys of dropped tables and indexes, by pages, in the background. The server calls it at start and after
//! a commit that dropped something; a `Dropped` record stands from the drop's own commit until the keys are gone, so
//! a restart resumes it.

use std::sync::Arc;

use crate::codec::keyspace::{self, IndexId, TableId};
use crate::store::{Batch, KeyRange, Page, ScanRequest, Store, Write};
use crate::{Error, Result};

/// How many `Dropped` records one pass reads at a time.
const RECORDS_PAGE: usize = 100;

/// Removes every dropped key range of the store, then its record; answers how many ranges. Safe to repeat and to stop
/// anywhere: a range is worked on until its record is gone.
pub async fn reclaim_dropped(store: &Arc<dyn Store>) -> Result<usize> {
    let mut reclaimed = 0;
    loop {
        let records = dropped_records(store).await?;
        if records.is_empty() {
            return Ok(reclaimed);
        }
        for (key, value) in records {
            store.delete_range(dropped_range(&value)?).await?;
            let writes = vec![Write::Delete { key }];
            store
                .commit(Batch {
                    writes,
                    ..Batch::default()
                })
                .await?;
            reclaimed += 1;
        }
    }
}

/// How many dropped key ranges are there still, up to a hundred.
pub async fn count_dropped(store: &Arc<dyn Store>) -> Result<usize> {
    Ok(dropped_records(store).await?.len())
}

/// The value of a `Dropped` record: table u32 BE, index u16 BE (`u16::MAX`: all the table's keys).
pub(super) fn encode_dropped(table: TableId, index: IndexId) -> Vec<u8> {
    keyspace::entry_prefix(table, index).to_vec()
}

/// The keys that a `Dropped` record's value names.
fn dropped_range(value: &[u8]) -> Result<KeyRange> {
    match value {
        [a, b, c, d, 0xFF, 0xFF] => Ok(keyspace::table_range(u32::from_be_bytes([*a, *b, *c, *d]))),
        [_, _, _, _, _, _] => Ok(KeyRange::of_prefix(value)),
        _ => Err(Error::Corrupt {
            what: "record of a dropped range".to_string(),
            reason: format!("{} bytes instead of 6", value.len()),
        }),
    }
}

/// The first `Dropped` records: keys and values.
async fn dropped_records(store: &Arc<dyn Store>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let snapshot = store.snapshot().await?;
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![keyspace::dropped_range()],
        reverse: false,
        keys_only: false,
        page_rows_max: RECORDS_PAGE,
        page_bytes_max: 1 << 20,
    });
    let mut page = Page::new();
    scan.next_page(&mut page).await?;
    Ok(page
        .iter()
        .map(|(key, value)| (key.to_vec(), value.to_vec()))
        .collect())
}
