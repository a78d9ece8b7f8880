//! `OpenRange`: a range of a key whose entries all begin alike, and the page of it at hand. What merges ranges (`merged_scan`) or
//! intersects them (`term_scan`) compares what follows those bytes.

use crate::Result;
use crate::store::Page;
use crate::txn::TransactionScan;

/// A range that is being read, a page at a time.
pub(super) struct OpenRange {
    scan: TransactionScan,
    prefix_bytes: usize,
    page: Page,
    /// The entry of the page that comes next.
    at: usize,
    is_at_end: bool,
}

impl OpenRange {
    /// Of a scan, of whose keys so many bytes are the same. Nothing is read before [`OpenRange::fill`].
    pub(super) fn new(scan: TransactionScan, prefix_bytes: usize) -> OpenRange {
        OpenRange {
            scan,
            prefix_bytes,
            page: Page::new(),
            at: 0,
            is_at_end: false,
        }
    }

    /// Reads the next page when the one at hand has come to its end.
    pub(super) async fn fill(&mut self) -> Result<()> {
        if self.at >= self.page.len() && !self.is_at_end {
            tokio::task::coop::consume_budget().await;
            self.scan.next_page(&mut self.page).await?;
            self.at = 0;
            self.is_at_end = self.page.is_empty();
        }
        Ok(())
    }

    /// The entry that comes next, once a page is there; `None`: there is no more.
    pub(super) fn entry(&self) -> Option<(&[u8], &[u8])> {
        (self.at < self.page.len()).then(|| self.page.row(self.at))
    }

    /// What follows the common bytes in its key.
    pub(super) fn rest_of_key(&self) -> Option<&[u8]> {
        self.entry().map(|(key, _)| self.rest(key))
    }

    fn rest<'k>(&self, key: &'k [u8]) -> &'k [u8] {
        key.get(self.prefix_bytes..).unwrap_or_default()
    }

    /// Goes on behind the entry.
    pub(super) async fn pass(&mut self) -> Result<()> {
        self.at += 1;
        self.fill().await
    }

    /// Goes on at the first entry in whose key `rest`, or what does not come before it, follows the common bytes.
    pub(super) async fn skip_to(&mut self, rest: &[u8], is_before: impl Fn(&[u8]) -> bool) -> Result<()> {
        let Some((last, _)) = self.page.last() else {
            return Ok(());
        };
        if is_before(self.rest(last)) {
            let key = [last.get(..self.prefix_bytes).unwrap_or_default(), rest].concat();
            self.scan.skip_to(&key);
            self.at = self.page.len();
            return self.fill().await;
        }
        let (mut low, mut high) = (self.at, self.page.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match is_before(self.rest(self.page.row(middle).0)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        self.at = low;
        Ok(())
    }
}
