//! `MergedScan`: several ranges of a key read at the same time, whose entries come in the order of what follows their common
//! bytes. Called by `scan`.

use crate::Result;
use crate::plan::MergedRange;
use crate::store::{Page, ScanRequest};
use crate::txn::{Transaction, TransactionScan};

/// Bytes of a page of one range.
const PAGE_BYTES_MAX: usize = 16 << 10;
/// Rows of a page that comes of a merge, and of one of its ranges, at most.
const PAGE_ROWS_MAX: usize = 256;

/// Ranges that are being merged.
pub(super) struct MergedScan {
    ranges: Vec<OpenRange>,
    reverse: bool,
    page_rows_max: usize,
}

/// A range and the page at hand.
struct OpenRange {
    scan: TransactionScan,
    prefix_bytes: usize,
    page: Page,
    /// The row of the page that comes next.
    at: usize,
    is_at_end: bool,
}

impl MergedScan {
    /// `request`: how each range is read.
    pub(super) fn new(txn: &Transaction, ranges: &[MergedRange], request: &ScanRequest) -> MergedScan {
        let page_rows_max = request.page_rows_max.min(PAGE_ROWS_MAX);
        let open = |merged: &MergedRange| OpenRange {
            scan: txn.scan(ScanRequest {
                ranges: vec![merged.range.clone()],
                page_rows_max,
                page_bytes_max: request.page_bytes_max.min(PAGE_BYTES_MAX),
                read_ahead: false,
                ..request.clone()
            }),
            prefix_bytes: merged.prefix_bytes,
            page: Page::new(),
            at: 0,
            is_at_end: false,
        };
        MergedScan {
            ranges: ranges.iter().map(open).collect(),
            reverse: request.reverse,
            page_rows_max,
        }
    }

    /// Fills `page` with the next entries; `false` at the end.
    pub(super) async fn next_page(&mut self, page: &mut Page) -> Result<bool> {
        page.clear();
        for range in &mut self.ranges {
            range.fill().await?;
        }
        while page.len() < self.page_rows_max
            && let Some(next) = self.next_range()
        {
            let range = &mut self.ranges[next];
            let (key, value) = range.page.row(range.at);
            page.push(key, value);
            range.at += 1;
            range.fill().await?;
        }
        Ok(!page.is_empty())
    }

    /// The range whose entry comes next.
    fn next_range(&self) -> Option<usize> {
        let entries = self.ranges.iter().enumerate();
        let entries = entries.filter_map(|(at, range)| Some((range.rest_of_key()?, at)));
        let next = match self.reverse {
            true => entries.max(),
            false => entries.min(),
        };
        next.map(|(_, at)| at)
    }
}

impl OpenRange {
    /// Reads the next page when the one at hand has come to its end.
    async fn fill(&mut self) -> Result<()> {
        if self.at >= self.page.len() && !self.is_at_end {
            self.scan.next_page(&mut self.page).await?;
            self.at = 0;
            self.is_at_end = self.page.is_empty();
        }
        Ok(())
    }

    /// What follows the common bytes in the key at hand.
    fn rest_of_key(&self) -> Option<&[u8]> {
        if self.is_at_end {
            return None;
        }
        let (key, _) = self.page.row(self.at);
        Some(key.get(self.prefix_bytes..).unwrap_or_default())
    }
}
