//! `RowPages`: all rows of a table, whole, a page at a time: for definitions that promise something of each.

use arrow::array::RecordBatch;

use super::RowDecoder;
use super::over::RowsKept;
use super::read::whole_rows;
use super::rows_request::{PAGE_ROWS_MAX, rows_request};
use crate::Result;
use crate::catalog::TableDef;
use crate::store::Page;
use crate::txn::Transaction;

/// The rows of a table as a transaction sees them, in the order of its key; those that are over are removed as they come by.
pub struct RowPages<'a> {
    rows: RowsKept<'a>,
    page: Page,
    decoder: RowDecoder,
}

impl<'a> RowPages<'a> {
    /// From the first on.
    pub fn new(txn: &'a Transaction, table: &'a TableDef) -> RowPages<'a> {
        RowPages {
            rows: RowsKept::new(txn, table, rows_request(table, None, false, PAGE_ROWS_MAX)),
            page: Page::new(),
            decoder: whole_rows(table),
        }
    }

    /// The next page, every column of the table in its order; `None` behind the last.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        if !self.rows.next_page(&mut self.page).await? {
            return Ok(None);
        }
        tokio::task::yield_now().await;
        let mut rows = self.page.iter();
        rows.try_for_each(|(key, value)| self.decoder.push(key, value))?;
        self.decoder.finish().map(Some)
    }
}
