//! Removal of versions that the HISTORY of a table needs no more, in the background, a page at a time, each page in a commit of its own.
//! Called by `session::version_removal`, which says when and how many; as [`super::removal`] it waits for no lock and changes nothing that
//! anybody may read.
//!
//! A version is needed no more when what came after it is older than the history: it was the row at no moment that may be asked for. That
//! a row was removed is told until all before it have gone.

use super::rows_request::request_of;
use super::versions::time_of;
use crate::Result;
use crate::catalog::{TableDef, record_key};
use crate::codec::row::RowReader;
use crate::codec::version::{row_key_of, split_version_key};
use crate::codec::{KeyRange, successor};
use crate::store::{LockMode, LockWait, Page, Write};
use crate::txn::Transaction;

/// Versions that are read for a page.
const VERSIONS_READ_MAX: usize = 2048;

/// Where a pass is, and what it knows of the row that it is at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionPass {
    /// The key to go on from.
    from: Option<Vec<u8>>,
    /// The beginning of the keys of the last row's versions, how many of them have come by, and the time of the last.
    row: Option<(Vec<u8>, usize, i64)>,
}

/// What came of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemovedVersions {
    /// Where to go on; `None`: it was the last page.
    pub next: Option<VersionPass>,
    /// Versions that were removed.
    pub removed: usize,
}

/// A version of a page.
struct Version {
    key: Vec<u8>,
    is_removal: bool,
    /// The time of what came after it; `None`: the row itself has to be asked.
    superseded: Option<i64>,
    /// So many older versions of its row come before it.
    rank: usize,
    /// Behind it comes no other of its row.
    is_last: bool,
}

/// Removes up to `versions_max` versions of a table with a HISTORY, of the next page of a pass, which may have begun when the table was
/// stored under another id. The transaction has loaded the catalog that
/// the table is of, and is over then.
pub async fn remove_versions_page(
    txn: &Transaction,
    table: &TableDef,
    pass: VersionPass,
    versions_max: usize,
) -> Result<RemovedVersions> {
    let (Some(all), Some(horizon)) = (
        table.versions_range(),
        table.options.versions.horizon(txn.read_time()),
    ) else {
        return Ok(RemovedVersions::default());
    };
    // A table that was stored anew meanwhile has other keys, before which others stand: of it the pass begins again.
    let pass = match pass.from.as_ref().is_some_and(|from| all.contains(from)) {
        true => pass,
        false => VersionPass::default(),
    };
    let mut page = Page::new();
    let request = request_of(all.resumed_at(pass.from.as_deref()), false, VERSIONS_READ_MAX);
    txn.scan(request).next_page(&mut page).await?;
    if page.is_empty() {
        return Ok(RemovedVersions::default());
    }
    let (mut versions, row) = versions_of(&page, pass.row)?;
    if let (Some(last), Some((of_row, ..))) = (versions.last_mut(), &row) {
        let behind = KeyRange {
            start: successor(&last.key),
            end: KeyRange::of_prefix(of_row).end,
        };
        let mut next = Page::new();
        txn.scan(request_of(behind, true, 1)).next_page(&mut next).await?;
        last.is_last = next.is_empty();
    }
    let needless = needless(txn, table, versions, horizon).await?;
    let (first, left) = needless.split_at(needless.len().min(versions_max));
    let from = match left.first() {
        Some(key) => Some(key.clone()),
        None => page.last().map(|(last, _)| successor(last)),
    };
    // What is left of a row begins anew: it has lost those before.
    let row = if left.is_empty() { Some(row) } else { None };
    Ok(RemovedVersions {
        next: Some(VersionPass {
            from,
            row: row.flatten(),
        }),
        removed: remove(txn, table, first).await?,
    })
}

/// The versions of a page, and what is known of the last row.
#[expect(clippy::type_complexity, reason = "see VersionPass::row")]
fn versions_of(
    page: &Page,
    before: Option<(Vec<u8>, usize, i64)>,
) -> Result<(Vec<Version>, Option<(Vec<u8>, usize, i64)>)> {
    let mut row = before;
    let mut versions: Vec<Version> = Vec::with_capacity(page.len());
    for (key, value) in page.iter() {
        let (of_row, time) = split_version_key(key)?;
        let (rank, superseded) = match &row {
            Some((known, rank, newer)) if known == of_row => (rank + 1, Some(*newer)),
            _ => (0, None),
        };
        if superseded.is_some()
            && let Some(last) = versions.last_mut()
        {
            last.is_last = false;
        }
        row = Some((of_row.to_vec(), rank, time));
        versions.push(Version {
            key: key.to_vec(),
            is_removal: RowReader::new(value)?.is_removal(),
            superseded,
            rank,
            is_last: true,
        });
    }
    Ok((versions, row))
}

/// The keys of those that go.
async fn needless(
    txn: &Transaction,
    table: &TableDef,
    versions: Vec<Version>,
    horizon: i64,
) -> Result<Vec<Vec<u8>>> {
    let asked: Vec<&Version> = versions.iter().filter(|one| one.superseded.is_none()).collect();
    let rows = asked.iter().map(|version| row_key_of(&version.key));
    let rows: Vec<Vec<u8>> = rows.collect::<Result<_>>()?;
    let newest = txn.with_rows_that_are_over().get_many(&rows).await?;
    let kept = &table.options.versions;
    let counted = usize::from(kept.count.unwrap_or(1)) - 1;
    let mut at_row = 0;
    let mut needless = Vec::new();
    for version in versions {
        let superseded = match version.superseded {
            Some(time) => time,
            None => {
                let row = newest.get(at_row);
                at_row += 1;
                match row {
                    Some(value) => time_of(&RowReader::new(value)?, kept),
                    // Nothing came after it.
                    None if version.is_removal => split_version_key(&version.key)?.1,
                    None => continue,
                }
            }
        };
        let is_told = version.is_removal && !version.is_last;
        if superseded <= horizon && version.rank >= counted && !is_told {
            needless.push(version.key);
        }
    }
    Ok(needless)
}

/// Removes those of whose rows nobody has locked any; answers how many.
async fn remove(txn: &Transaction, table: &TableDef, keys: &[Vec<u8>]) -> Result<usize> {
    if keys.is_empty() {
        txn.roll_back();
        return Ok(0);
    }
    let record = [record_key(table.id)];
    let locked = txn
        .lock_as_it_is(&record, LockMode::RowExclusive, LockWait::SkipLocked)
        .await?;
    let (seen, newest) = (txn.get_many(&record).await?, txn.get_newest(&record).await?);
    if !locked.is_locked(0) || seen.get(0) != newest.get(0) {
        txn.roll_back();
        return Ok(0);
    }
    let mut rows: Vec<Vec<u8>> = keys.iter().map(|key| row_key_of(key)).collect::<Result<_>>()?;
    rows.dedup();
    let unlocked = txn
        .lock_as_it_is(&rows, LockMode::Replace, LockWait::SkipLocked)
        .await?;
    let mut removed = 0;
    for key in keys {
        let row = rows.binary_search(&row_key_of(key)?);
        if row.is_ok_and(|at| unlocked.is_locked(at)) {
            txn.write(Write::Delete { key: key.clone() }, None)?;
            removed += 1;
        }
    }
    if removed == 0 {
        txn.roll_back();
        return Ok(0);
    }
    txn.note_statement(true);
    txn.commit(true).await?;
    Ok(removed)
}
