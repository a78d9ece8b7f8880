//! `RowPages`: all rows of a table, whole, a page at a time: for definitions that promise something of each.

use arrow::array::RecordBatch;

use super::RowDecoder;
use super::build::{PAGE_ROWS_MAX, rows_request};
use super::write::whole_rows;
use crate::Result;
use crate::catalog::TableDef;
use crate::store::Page;
use crate::txn::{Transaction, TransactionScan};

/// The rows of a table as a transaction sees them, in the order of its key.
pub struct RowPages {
    scan: TransactionScan,
    page: Page,
    decoder: RowDecoder,
}

impl RowPages {
    /// From the first on.
    pub fn new(txn: &Transaction, table: &TableDef) -> RowPages {
        RowPages {
            scan: txn.scan(rows_request(table, None, false, PAGE_ROWS_MAX)),
            page: Page::new(),
            decoder: whole_rows(table),
        }
    }

    /// The next page, every column of the table in its order; `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.scan.next_page(&mut self.page).await?;
        if self.page.is_empty() {
            return Ok(None);
        }
        tokio::task::yield_now().await;
        let mut rows = self.page.iter();
        rows.try_for_each(|(key, value)| self.decoder.push(key, value))?;
        self.decoder.finish().map(Some)
    }
}
