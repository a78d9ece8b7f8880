//! `KeySample`: some rows of a table, from places all over its key, by their keys.

use std::sync::Arc;

use crate::Result;
use crate::catalog::TableDef;
use crate::table::{bound_values, first_rows, rows_range};
use crate::txn::Transaction;
use crate::types::Value;

/// Places that are looked at, and rows of each.
const PLACES: usize = 16;
const ROWS_OF_PLACE: usize = 32;

/// Some keys of a table.
#[derive(Debug)]
pub(super) struct KeySample {
    /// Rows of the table.
    pub(super) rows: u64,
    /// The values of the sampled keys, in the order of the key's columns.
    pub(super) keys: Vec<Vec<Value>>,
    /// Bytes of a key, on average.
    pub(super) key_bytes: u64,
}

impl KeySample {
    /// Of a table of so many rows. Errors: the store's.
    pub(super) async fn of(txn: &Transaction, table: &Arc<TableDef>, rows: u64) -> Result<KeySample> {
        let range = rows_range(table);
        let points = txn.split_points(range.clone(), PLACES).await?;
        let mut sample = KeySample {
            rows,
            keys: Vec::new(),
            key_bytes: 0,
        };
        let mut bytes = 0;
        for part in range.split(&points) {
            let page = first_rows(txn, part, true, ROWS_OF_PLACE).await?;
            for (key, _) in page.iter() {
                bytes += key.len() as u64;
                let values = bound_values(table, &table.primary_key, key);
                sample
                    .keys
                    .push(values.into_iter().map(|(value, _)| value).collect());
            }
        }
        sample.key_bytes = bytes / (sample.keys.len() as u64).max(1);
        Ok(sample)
    }
}
