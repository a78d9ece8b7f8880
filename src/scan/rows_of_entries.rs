//! `RowsOfEntries`: the rows of an index's entries, a page at a time.

use std::sync::atomic::Ordering;

use super::scan_metrics::ScanMetrics;
use crate::store::Page;
use crate::table::EntryReader;
use crate::txn::Transaction;
use crate::{Error, Result};

/// The rows of a page of entries.
pub(crate) struct RowsOfEntries {
    reader: EntryReader,
    /// Filled again and again.
    pub(crate) entries: Page,
}

impl RowsOfEntries {
    pub(crate) fn new(reader: EntryReader) -> RowsOfEntries {
        RowsOfEntries {
            reader,
            entries: Page::new(),
        }
    }

    /// Fetches the rows of the entries, in their order, but for those that are over. Errors: `Corrupt` for an entry without a row.
    pub(crate) async fn fetch(
        &mut self,
        txn: &Transaction,
        rows: &mut Page,
        metrics: &ScanMetrics,
    ) -> Result<()> {
        let keys = self.entries.iter();
        let keys = keys.map(|(key, value)| self.reader.row_key(key, value));
        let mut keys: Vec<(Vec<u8>, usize)> = keys
            .enumerate()
            .map(|(entry, key)| Ok((key?, entry)))
            .collect::<Result<_>>()?;
        // Rows that stand beside each other are found one after the other.
        keys.sort_unstable();
        let mut places = vec![0; keys.len()];
        for (place, (_, entry)) in keys.iter().enumerate() {
            places[*entry] = place;
        }
        let keys: Vec<Vec<u8>> = keys.into_iter().map(|(key, _)| key).collect();
        rows.clear();
        let (values, over) = txn.get_many_and_over(&keys).await?;
        for at in places {
            match values.get(at) {
                Some(value) => rows.push(&keys[at], value),
                None if over.contains(&at) => {}
                None => {
                    return Err(Error::Corrupt {
                        what: "index entry".to_string(),
                        reason: "there is no row of it".to_string(),
                    });
                }
            }
        }
        metrics.gets.fetch_add(keys.len() as u64, Ordering::Relaxed);
        metrics
            .bytes
            .fetch_add(rows.size_bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}
