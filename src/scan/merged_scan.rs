//! `MergedScan`: several ranges of a key read at the same time, whose entries come in the order of what follows their common
//! bytes. Called by `scan`.

use std::cmp::Ordering;

use futures::future::try_join_all;

use super::open_range::OpenRange;
use crate::Result;
use crate::plan::MergedRange;
use crate::store::{Page, ScanRequest};
use crate::txn::Transaction;

/// Bytes of a page of one range.
const PAGE_BYTES_MAX: usize = 16 << 10;
/// Rows of a page that comes of a merge, and of one of its ranges, at most.
const PAGE_ROWS_MAX: usize = 256;

/// Ranges that are being merged.
pub(crate) struct MergedScan {
    ranges: Vec<OpenRange>,
    /// Those that have an entry at hand, that whose entry comes next last; `None` before the first read.
    waiting: Option<Vec<usize>>,
    reverse: bool,
    page_rows_max: usize,
}

impl MergedScan {
    /// `request`: how each range is read.
    pub(crate) fn new(txn: &Transaction, ranges: &[MergedRange], request: &ScanRequest) -> MergedScan {
        let page_rows_max = request.page_rows_max.min(PAGE_ROWS_MAX);
        let open = |merged: &MergedRange| {
            let scan = txn.scan(ScanRequest {
                ranges: vec![merged.range.clone()],
                page_rows_max,
                page_bytes_max: request.page_bytes_max.min(PAGE_BYTES_MAX),
                read_ahead: false,
                ..request.clone()
            });
            OpenRange::new(scan, merged.prefix_bytes)
        };
        MergedScan {
            ranges: ranges.iter().map(open).collect(),
            waiting: None,
            reverse: request.reverse,
            page_rows_max,
        }
    }

    /// Fills `page` with the next entries; `false` at the end.
    pub(crate) async fn next_page(&mut self, page: &mut Page) -> Result<bool> {
        page.clear();
        let mut waiting = match self.waiting.take() {
            Some(waiting) => waiting,
            None => self.begin().await?,
        };
        while page.len() < self.page_rows_max
            && let Some(next) = waiting.pop()
        {
            let range = &mut self.ranges[next];
            if let Some((key, value)) = range.entry() {
                page.push(key, value);
            }
            range.pass().await?;
            if range.entry().is_some() {
                let place = waiting.partition_point(|other| self.comes_after(*other, next));
                waiting.insert(place, next);
            }
        }
        self.waiting = Some(waiting);
        Ok(!page.is_empty())
    }

    /// Reads the first page of every range.
    async fn begin(&mut self) -> Result<Vec<usize>> {
        try_join_all(self.ranges.iter_mut().map(OpenRange::fill)).await?;
        let mut waiting: Vec<usize> = (0..self.ranges.len())
            .filter(|at| self.ranges[*at].entry().is_some())
            .collect();
        waiting.sort_by(|one, other| match self.comes_after(*one, *other) {
            true => Ordering::Less,
            false => Ordering::Greater,
        });
        Ok(waiting)
    }

    /// Whether the entry at hand of a range comes after that of another.
    fn comes_after(&self, one: usize, other: usize) -> bool {
        let entry = |at: usize| (self.ranges[at].rest_of_key(), at);
        (entry(one) > entry(other)) != self.reverse
    }
}
