//! `RowsOfEntries`: the rows of an index's entries, a page at a time.

use std::sync::atomic::Ordering;

use super::scan_metrics::ScanMetrics;
use crate::store::Page;
use crate::table::EntryReader;
use crate::txn::Transaction;
use crate::{Error, Result};

/// So many rows are fetched in whatever order.
const FEW_ROWS: usize = 64;

/// The rows of a page of entries.
pub(crate) struct RowsOfEntries {
    /// What finds their rows; `None`: their keys are those of the rows.
    reader: Option<EntryReader>,
    /// Filled again and again.
    pub(crate) entries: Page,
}

impl RowsOfEntries {
    pub(crate) fn new(reader: Option<EntryReader>) -> RowsOfEntries {
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
        let keys = keys.map(|(key, value)| match &mut self.reader {
            Some(reader) => reader.row_key(key, value),
            None => Ok(key.to_vec()),
        });
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
        // Rows that stand beside each other are found one after the other.
        let (keys, places) = match keys.len() > FEW_ROWS {
            true => in_order(keys),
            false => {
                let places = (0..keys.len()).collect();
                (keys, places)
            }
        };
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

/// The keys in their order, and for each of them as they came its place there.
fn in_order(keys: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Vec<usize>) {
    let mut keys: Vec<(Vec<u8>, usize)> = keys.into_iter().zip(0..).collect();
    keys.sort_unstable();
    let mut places = vec![0; keys.len()];
    for (place, (_, entry)) in keys.iter().enumerate() {
        places[*entry] = place;
    }
    (keys.into_iter().map(|(key, _)| key).collect(), places)
}
