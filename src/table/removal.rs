//! Removal of rows that are over, in the background, a page at a time, each page in a commit of its own with the entries of its rows.
//! Called by `session::removal`, which says when and how many.
//!
//! # Why nobody notices
//!
//! 1. Only rows that are over at the oldest moment at which anybody reads are removed (`WallClock::oldest_kept`), so that no read changes.
//! 2. It waits for no lock: a row, or a table, that somebody else has locked is left for the next pass; so it is in no deadlock.
//! 3. Its locks are held for one commit, which waits for no disk.
//! 4. Its commits touch no range that a serializable transaction has read (`Batch::unseen`).
//! 5. What it removes is looked at again under the locks: a row that was written since is left.

use super::over::{StoredRow, keys_of_rows};
use super::rows_request::rows_request;
use super::versions;
use crate::Result;
use crate::catalog::{TableDef, record_key};
use crate::codec::expiry::NEVER;
use crate::codec::keyspace::entry_prefix;
use crate::codec::successor;
use crate::store::{LockMode, LockWait, Page, ScanRequest, Write};
use crate::txn::Transaction;

/// Rows that are read for a page at most.
const ROWS_READ_MAX: usize = 2048;

/// What came of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedPage {
    /// The key to go on from; `None`: it was the last page.
    pub next: Option<Vec<u8>>,
    /// Rows that were read.
    pub read: usize,
    /// Rows that were removed.
    pub removed: usize,
    /// Rows that are over, and stay because somebody has locked them or reads at an earlier moment.
    pub waiting: usize,
    /// Since when the oldest of those is over, in microseconds since 1970.
    pub oldest: Option<i64>,
    /// When the first of the others will be; [`NEVER`]: none.
    pub first_over: i64,
}

/// Removes up to `rows_max` rows of a table that are over at `horizon`, of the next page from the key `from` on (`None`: the first). The
/// transaction has loaded the catalog that the table is of, and is over then.
pub async fn remove_over_page(
    txn: &Transaction,
    table: &TableDef,
    from: Option<&[u8]>,
    horizon: i64,
    rows_max: usize,
) -> Result<RemovedPage> {
    let mut page = Page::new();
    let request = request(table, from, horizon);
    txn.with_rows_that_are_over()
        .scan(request)
        .next_page(&mut page)
        .await?;
    let Some((last, _)) = page.last() else {
        return Ok(RemovedPage {
            first_over: NEVER,
            ..RemovedPage::default()
        });
    };
    let mut told = RemovedPage {
        next: Some(successor(last)),
        read: page.len(),
        first_over: NEVER,
        ..RemovedPage::default()
    };
    let now = txn.read_time();
    let mut rows: Vec<(StoredRow, i64)> = Vec::new();
    for (at, moment) in txn.moments_over(&page)?.into_iter().enumerate() {
        if moment <= horizon && rows.len() == rows_max {
            // They are for the next page.
            told.next = Some(page.row(at).0.to_vec());
            told.read = at;
            break;
        }
        if moment <= horizon {
            let (key, value) = page.row(at);
            rows.push(((key.to_vec(), value.to_vec()), moment));
        } else if moment <= now {
            told.leave(1, moment);
        } else {
            told.first_over = told.first_over.min(moment);
        }
    }
    if rows.is_empty() {
        return Ok(told);
    }
    let oldest = rows.iter().map(|(_, moment)| *moment).min().unwrap_or(NEVER);
    let found = rows.len();
    told.removed = remove(txn, table, rows, horizon).await?;
    if told.removed < found {
        told.leave(found - told.removed, oldest);
    }
    Ok(told)
}

impl RemovedPage {
    fn leave(&mut self, rows: usize, moment: i64) {
        self.waiting += rows;
        self.oldest = Some(self.oldest.map_or(moment, |oldest| oldest.min(moment)));
    }
}

/// Where rows may be that are over: all of the table, or as much of its beginning as its key tells.
fn request(table: &TableDef, from: Option<&[u8]>, horizon: i64) -> ScanRequest {
    let mut request = rows_request(table, from, false, ROWS_READ_MAX);
    if let (Some(over), Some(range)) = (table.range_over(horizon), request.ranges.first_mut()) {
        range.start = over.start.max(std::mem::take(&mut range.start));
        range.end = over.end;
        if range.end.as_ref().is_some_and(|end| *end < range.start) {
            range.end = Some(range.start.clone());
        }
    }
    request
}

/// Removes those of the rows that nobody has locked, and that are still over; answers how many.
async fn remove(
    txn: &Transaction,
    table: &TableDef,
    rows: Vec<(StoredRow, i64)>,
    horizon: i64,
) -> Result<usize> {
    let record = [record_key(table.id)];
    let locked = txn
        .lock_as_it_is(&record, LockMode::RowExclusive, LockWait::SkipLocked)
        .await?;
    let keys: Vec<Vec<u8>> = rows.into_iter().map(|((key, _), _)| key).collect();
    let unlocked = match locked.is_locked(0) {
        true => {
            txn.lock_as_it_is(&keys, LockMode::Replace, LockWait::SkipLocked)
                .await?
        }
        false => {
            txn.roll_back();
            return Ok(0);
        }
    };
    let all = txn.with_rows_that_are_over();
    let (seen, newest) = (all.get_many(&record).await?, all.get_newest(&record).await?);
    let newest_rows = all.get_newest(&keys).await?;
    let mut page = Page::new();
    let is_same = seen.get(0) == newest.get(0);
    for (at, key) in keys
        .iter()
        .enumerate()
        .filter(|(at, _)| is_same && unlocked.is_locked(*at))
    {
        if let Some(value) = newest_rows.get(at) {
            page.push(key, value);
        }
    }
    let moments = txn.moments_over(&page)?;
    let over = page.iter().zip(moments).filter(|(_, moment)| *moment <= horizon);
    let over: Vec<StoredRow> = over
        .map(|((key, value), _)| (key.to_vec(), value.to_vec()))
        .collect();
    let removed = over.len();
    if removed == 0 {
        txn.roll_back();
        return Ok(0);
    }
    let gone = keys_of_rows(txn, table, over).await?;
    versions::remove(txn, table, &gone).await?;
    for key in gone {
        debug_assert!(key.starts_with(&entry_prefix(table.id, 0)[..4]));
        txn.write(Write::Delete { key }, None)?;
    }
    txn.note_statement(true);
    txn.commit(true).await?;
    Ok(removed)
}
