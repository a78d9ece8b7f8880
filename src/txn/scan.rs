//! Scans of a transaction: the snapshot's scan and the buffered writes, merged row by row in key order. Opened by
//! `Transaction::scan`; knows nothing of what a key means.

use std::ops::Bound;
use std::sync::{Arc, Mutex};

use super::Transaction;
use super::buffer::{Buffer, OwnRow};
use super::heat::ScanHeat;
use super::lock;
use super::visibility::Judge;
use crate::Result;
use crate::codec::successor;
use crate::store::{KeyRange, Page, Scan, ScanRequest, Snapshot};

/// Buffered rows are fetched this many at a time, so that the buffer's lock is held shortly.
const OWN_ROWS_MAX: usize = 256;
/// Rows of a page at least, where some may be over.
const JUDGED_ROWS_MIN: usize = 64;

/// A scan that sees the transaction's own writes as they were when it was opened, or when the view that it is of was made.
#[derive(Debug)]
pub struct TransactionScan {
    stored: Box<dyn Scan>,
    /// `None` when the transaction had no write within the ranges: pages then pass through untouched.
    own: Option<OwnRows>,
    /// What judges the rows, where they may be over.
    judge: Option<Judge>,
    heat: ScanHeat,
    /// A page of the snapshot, and how many of its rows were taken.
    page: Page,
    taken: usize,
    stored_is_done: bool,
    reverse: bool,
    keys_only: bool,
    page_rows_max: usize,
    page_bytes_max: usize,
}

/// The buffered rows of the scan's ranges, fetched in small steps.
#[derive(Debug)]
struct OwnRows {
    buffer: Arc<Mutex<Buffer>>,
    mark: usize,
    reverse: bool,
    /// Ranges still to walk, the next one last.
    ranges: Vec<KeyRange>,
    /// Rows fetched, the next one last.
    fetched: Vec<OwnRow>,
}

/// Where the next row of a merge comes from.
enum Next {
    Stored,
    Own,
    End,
}

impl TransactionScan {
    pub(super) fn new(
        snapshot: &dyn Snapshot,
        (buffer, mark): (Arc<Mutex<Buffer>>, Option<usize>),
        (judge, heat): (Option<Judge>, ScanHeat),
        mut request: ScanRequest,
    ) -> TransactionScan {
        if judge.is_some() {
            // The value tells whether a row is over, and there may be many that are before the first that is not.
            request.keys_only = false;
            request.page_rows_max = request.page_rows_max.max(JUDGED_ROWS_MIN);
        }
        let own = OwnRows::open(buffer, mark, &request);
        let (reverse, keys_only) = (request.reverse, request.keys_only);
        let (page_rows_max, page_bytes_max) = (request.page_rows_max.max(1), request.page_bytes_max);
        let mut stored = snapshot.scan(request);
        if let Some(judge) = &judge {
            stored.tell_over(judge.rule());
        }
        TransactionScan {
            own,
            judge,
            heat,
            page: Page::new(),
            taken: 0,
            stored_is_done: false,
            reverse,
            keys_only,
            page_rows_max,
            page_bytes_max,
            stored,
        }
    }

    /// As [`crate::store::Scan::next_page`]; where rows may be over a page may be longer than was asked for, and holds values in any case.
    pub async fn next_page(&mut self, page: &mut Page) -> Result<()> {
        loop {
            self.next_stored_page(page).await?;
            self.heat.count(page);
            let Some(judge) = self.judge.as_ref().filter(|_| !page.is_empty()) else {
                return Ok(());
            };
            judge.keep_seen(page)?;
            if !page.is_empty() {
                return Ok(());
            }
            // Nothing of it is seen: the next, after others had their turn.
            tokio::task::coop::consume_budget().await;
        }
    }

    /// The next page of what stands there, over or not.
    async fn next_stored_page(&mut self, page: &mut Page) -> Result<()> {
        if self.own.is_none() {
            return self.stored.next_page(page).await;
        }
        page.clear();
        while page.len() < self.page_rows_max && (page.is_empty() || page.size_bytes() < self.page_bytes_max)
        {
            if self.taken == self.page.len() && !self.stored_is_done {
                // Emptied first, so that a future dropped here leaves the scan whole.
                self.page.clear();
                self.taken = 0;
                self.stored.next_page(&mut self.page).await?;
                self.stored_is_done = self.page.is_empty();
            }
            match self.next_row(page) {
                Next::Stored => self.taken += 1,
                Next::Own => {}
                Next::End => break,
            }
        }
        Ok(())
    }

    /// As [`crate::store::Scan::skip_to`].
    pub fn skip_to(&mut self, key: &[u8]) {
        self.stored.skip_to(key);
        let is_before = |row: &[u8]| if self.reverse { row > key } else { row < key };
        while self.taken < self.page.len() && is_before(self.page.row(self.taken).0) {
            self.taken += 1;
        }
        if let Some(own) = &mut self.own {
            own.skip_to(key);
        }
    }

    /// Takes the next row of either side; an own row also takes the stored row of its key, which it hides.
    fn next_row(&mut self, page: &mut Page) -> Next {
        let stored = (self.taken < self.page.len()).then(|| self.page.row(self.taken));
        let own = self.own.as_mut().and_then(OwnRows::peek);
        let (own_first, same) = match (stored, own) {
            (None, None) => return Next::End,
            (Some(_), None) => (false, false),
            (None, Some(_)) => (true, false),
            (Some((stored, _)), Some((own, _))) => {
                let order = if self.reverse {
                    stored.cmp(own)
                } else {
                    (**own).cmp(stored)
                };
                (order.is_le(), order.is_eq())
            }
        };
        if !own_first {
            if let Some((key, value)) = stored {
                page.push(key, value);
            }
            return Next::Stored;
        }
        if let Some((key, value)) = self.own.as_mut().and_then(OwnRows::take)
            && let Some(value) = value
        {
            page.push(&key, if self.keys_only { &[] } else { &value });
        }
        if same { Next::Stored } else { Next::Own }
    }
}

impl OwnRows {
    /// Those that the mark sees (`None`: all so far); `None` when the buffer holds nothing within the ranges of the request.
    fn open(buffer: Arc<Mutex<Buffer>>, mark: Option<usize>, request: &ScanRequest) -> Option<OwnRows> {
        let mut ranges = request.ranges.clone();
        if !request.reverse {
            ranges.reverse();
        }
        let mark = {
            let mut buffer = lock(&buffer);
            if !buffer.has_writes() {
                return None;
            }
            buffer.open_scan(mark)
        };
        let mut own = OwnRows {
            buffer,
            mark,
            reverse: request.reverse,
            ranges,
            fetched: Vec::new(),
        };
        own.peek().is_some().then_some(own)
    }

    fn peek(&mut self) -> Option<&OwnRow> {
        while self.fetched.is_empty() {
            self.fetch()?;
        }
        self.fetched.last()
    }

    fn take(&mut self) -> Option<OwnRow> {
        self.fetched.pop()
    }

    /// Fetches the next rows of the current range, or goes on to the next range; `None` when there is none.
    fn fetch(&mut self) -> Option<()> {
        let range = self.ranges.last_mut()?;
        let end = range.end.as_deref();
        let rows = match end.is_none_or(|end| range.start.as_slice() < end) {
            false => Vec::new(),
            true => lock(&self.buffer).rows(
                (
                    Bound::Included(&range.start),
                    end.map_or(Bound::Unbounded, Bound::Excluded),
                ),
                self.reverse,
                self.mark,
                OWN_ROWS_MAX,
            ),
        };
        match rows.last() {
            Some((last, _)) if rows.len() == OWN_ROWS_MAX => match self.reverse {
                false => range.start = successor(last),
                true => range.end = Some(last.to_vec()),
            },
            _ => {
                self.ranges.pop();
            }
        }
        self.fetched = rows;
        self.fetched.reverse();
        Some(())
    }

    fn skip_to(&mut self, key: &[u8]) {
        let reverse = self.reverse;
        let is_before = |row: &[u8]| if reverse { row > key } else { row < key };
        while self.fetched.pop_if(|(row, _)| is_before(row)).is_some() {}
        if !self.fetched.is_empty() {
            return;
        }
        // Rows of the current range that were not fetched yet may stand before the key as well.
        while let Some(range) = self.ranges.last_mut() {
            let is_behind = match reverse {
                false => range.end.as_deref().is_some_and(|end| end <= key),
                true => range.start.as_slice() > key,
            };
            if !is_behind {
                match reverse {
                    false if range.start.as_slice() < key => range.start = key.to_vec(),
                    true if range.end.as_deref().is_none_or(|end| end > key) => {
                        range.end = Some(successor(key))
                    }
                    _ => {}
                }
                return;
            }
            self.ranges.pop();
        }
    }
}

impl Drop for OwnRows {
    fn drop(&mut self) {
        lock(&self.buffer).close_scan(self.mark);
    }
}

impl Transaction {
    /// Keys that cut a range into about so many parts of about the same size; own writes do not count.
    pub async fn split_points(&self, range: KeyRange, parts: usize) -> Result<Vec<Vec<u8>>> {
        self.whole.store.split_points(range, parts).await
    }
}
