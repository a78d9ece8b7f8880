//! Older versions of rows that are written anew of a table whose columns are of other types, under the keys that they had: pages of what they
//! were, and what was made of them put back. Called by `sql::dml`, which says what becomes of each.

use arrow::array::RecordBatch;

use super::carried_times::with_times;
use super::rows_request::request_of;
use super::version_rekey::visible_rows;
use super::versions::{PAGE_VERSIONS, note_unsettled};
use super::{Limits, RowDecoder, RowEncoder};
use crate::catalog::TableDef;
use crate::codec::keyspace::entry_prefix;
use crate::codec::row::{RowReader, RowWriter};
use crate::codec::version::row_key_of;
use crate::store::{Page, Write};
use crate::txn::{Transaction, TransactionScan};
use crate::{Error, Result};

/// The older versions of a table's rows, of which the visible columns are read.
pub struct VersionPages {
    scan: TransactionScan,
    page: Page,
    decoder: RowDecoder,
}

impl VersionPages {
    /// All of a table that keeps some. Errors: it keeps none.
    pub fn open(txn: &Transaction, old: &TableDef) -> Result<VersionPages> {
        let range = old.versions_range();
        let range = range.ok_or_else(|| Error::internal("versions of a table that keeps none"))?;
        Ok(VersionPages {
            scan: txn
                .with_own_writes()
                .scan(request_of(range, false, PAGE_VERSIONS)),
            page: Page::new(),
            decoder: visible_rows(old),
        })
    }

    /// The rows of the next versions, but for those that say that a row was removed; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.scan.next_page(&mut self.page).await?;
        if self.page.is_empty() {
            return Ok(None);
        }
        for (key, value) in self.page.iter() {
            if !RowReader::new(value)?.is_removal() {
                self.decoder.push(&row_key_of(key)?, value)?;
            }
        }
        self.decoder.finish().map(Some)
    }

    /// Puts the versions that came last, as these rows, of a table that is stored under another id. Errors: 54000.
    pub fn put(&self, txn: &Transaction, new: &TableDef, rows: &RecordBatch, limits: Limits) -> Result<()> {
        let prefix = entry_prefix(new.id, new.options.versions.store);
        let mut encoder = RowEncoder::new(new, limits);
        let (mut writer, mut at) = (RowWriter::default(), 0);
        for (key, value) in self.page.iter() {
            let key = [&prefix, key.get(prefix.len()..).unwrap_or_default()].concat();
            let reader = RowReader::new(value)?;
            let value = match reader.is_removal() {
                true => value.to_vec(),
                false => {
                    at += 1;
                    with_times(&mut writer, reader, &encoder.value(rows, at - 1)?)?
                }
            };
            txn.write(Write::Put { key, value }, None)?;
        }
        note_unsettled(txn, new);
        Ok(())
    }
}
