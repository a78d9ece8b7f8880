//! The older versions of rows, kept as rows are written, in the transaction that writes them. Called by all that writes rows, before it
//! does; for tables that keep one version it does nothing. Rows are locked before it is asked of them.
//!
//! # What becomes of a version
//!
//! | a row is | then |
//! |---|---|
//! | written over | what stood there goes to the table's range for versions, unless the same transaction wrote it: of a commit a row has one version |
//! | written with a time (`_l_ts_`) before that of what stands there | the write goes to that range, and the row stays as it is ([`past_time`], [`put_past`]) |
//! | removed, VERSIONS alone | all its versions go |
//! | removed, HISTORY | what stood there is kept, and before it that it was removed |
//!
//! What VERSIONS does not count and HISTORY does not need goes in the same transaction ([`trim`]).

use arrow::array::RecordBatch;

use super::read::whole_rows;
use super::rows_request::{PAGE_ROWS_MAX, remove_range, request_of, rows_request};
use super::{Limits, RowEncoder};
use crate::catalog::{TableDef, Versions};
use crate::codec::keyspace::entry_prefix;
use crate::codec::row::{RowReader, settle};
use crate::codec::version::{UNSETTLED, removal, split_version_key, version_key, versions_prefix};
use crate::codec::{KeyRange, successor};
use crate::error::StatementFault;
use crate::parse::quoting::quote_ident;
use crate::store::{Page, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Versions that one write of a row takes away at most, of those that HISTORY needs no more.
const TRIMMED_MAX: usize = 64;
/// What `_l_ts_` tells times by, in microseconds.
const MILLISECOND: i64 = 1000;
/// Versions of a page.
pub(super) const PAGE_VERSIONS: usize = 512;

/// What a write of rows says of their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteTime {
    /// It is the commit's.
    Commit,
    /// It is this, in microseconds since 1970.
    Given(i64),
}

impl WriteTime {
    /// `given`: what `_l_ts_` says.
    pub(super) fn new(given: Option<i64>) -> WriteTime {
        given.map_or(WriteTime::Commit, WriteTime::Given)
    }

    /// The time as far as it is known before the commit, which has no earlier one, in microseconds since 1970. Rows are locked by then: what
    /// stands there of another commit is older.
    fn known(self, txn: &Transaction) -> i64 {
        match self {
            WriteTime::Commit => txn.now(),
            WriteTime::Given(time) => time,
        }
    }
}

/// The last time that counts as one which was given: `_l_ts_` tells milliseconds, and so shows it the column `c_l_ts`.
fn last_alike(given: i64) -> i64 {
    given.saturating_add(MILLISECOND - 1)
}

/// The time of a write that changes a version before that which stands there, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(super) struct PastTime {
    micros: i64,
    /// Versions up to this one are of the same time.
    last: i64,
}

/// The time of a write of a row, if it changes a version before that which stands there.
pub(super) fn past_time(
    txn: &Transaction,
    table: &TableDef,
    old: Option<&[u8]>,
    time: WriteTime,
) -> Result<Option<PastTime>> {
    let Some(old) = old.filter(|_| table.keeps_versions()) else {
        return Ok(None);
    };
    let old = RowReader::new(old)?;
    let micros = time.known(txn);
    let last = match time {
        WriteTime::Commit => micros,
        WriteTime::Given(given) => last_alike(given),
    };
    let is_past = match (old.is_unsettled(), time) {
        (true, WriteTime::Commit) => false,
        (true, WriteTime::Given(given)) => given <= txn.now(),
        (false, _) => last < time_of(&old, &table.options.versions),
    };
    Ok(is_past.then_some(PastTime { micros, last }))
}

/// Rows are about to get another place: another key, or another partition. Errors: as [`check_move`].
pub async fn check_moves(
    txn: &Transaction,
    table: &TableDef,
    rows: &RecordBatch,
    limits: Limits,
) -> Result<()> {
    if !table.keeps_versions() {
        return Ok(());
    }
    let mut encoder = RowEncoder::new(table, limits);
    let keys = (0..rows.num_rows()).map(|row| encoder.key(rows, row));
    let values = txn.get_newest(&keys.collect::<Result<Vec<_>>>()?).await?;
    let time = WriteTime::new(limits.version_time);
    (0..rows.num_rows()).try_for_each(|row| check_move(txn, table, values.get(row), time))
}

/// A row is about to get another place, which takes away what stands there with all its versions. Errors: 0A000 where that is newer than the
/// write.
pub(super) fn check_move(
    txn: &Transaction,
    table: &TableDef,
    old: Option<&[u8]>,
    time: WriteTime,
) -> Result<()> {
    match past_time(txn, table, old, time)? {
        None => Ok(()),
        Some(_) => Err(Error::unsupported(
            "another key for a row that is newer than the write",
            Some(
                "The newer version would go with the old key: write with no _l_ts_ before its time, or leave the key as it is.",
            ),
        )),
    }
}

/// Where a write of a row, the only one of a batch, changes a version before that which stands there: the row that it changes, if there
/// was one then.
pub async fn older_base(
    txn: &Transaction,
    table: &TableDef,
    row: &RecordBatch,
    limits: Limits,
) -> Result<Option<Option<RecordBatch>>> {
    if !table.keeps_versions() {
        return Ok(None);
    }
    let key = RowEncoder::new(table, limits).key(row, 0)?;
    let time = WriteTime::new(limits.version_time);
    let values = txn.get_newest(std::slice::from_ref(&key)).await?;
    let Some(time) = past_time(txn, table, values.get(0), time)? else {
        return Ok(None);
    };
    let Some(value) = base_of_past(txn, table, &key, time).await? else {
        return Ok(Some(None));
    };
    let mut decoder = whole_rows(table);
    decoder.push(&key, &value)?;
    decoder.finish().map(|base| Some(Some(base)))
}

/// The time of the version that a row is, in microseconds since 1970.
pub(super) fn time_of(row: &RowReader<'_>, versions: &Versions) -> i64 {
    row.write_time().unwrap_or(versions.since)
}

/// The version of the row under a key that was the newest at the time of a write to the past; `None`: there was no row.
pub(super) async fn base_of_past(
    txn: &Transaction,
    table: &TableDef,
    key: &[u8],
    time: PastTime,
) -> Result<Option<Vec<u8>>> {
    let mut page = Page::new();
    let range = older_range(table, key, time.last);
    txn.scan(request_of(range, false, 1)).next_page(&mut page).await?;
    let Some((_, value)) = page.iter().next() else {
        return Ok(None);
    };
    let is_removal = RowReader::new(value)?.is_removal();
    Ok((!is_removal).then(|| value.to_vec()))
}

/// Writes a version of a time before that of the row.
pub(super) async fn put_past(
    txn: &Transaction,
    table: &TableDef,
    key: &[u8],
    mut value: Vec<u8>,
    time: PastTime,
) -> Result<()> {
    settle(&mut value, time.micros);
    remove_alike(txn, table, key, time).await?;
    let store = table.options.versions.store;
    let past = version_key(key, store, time.micros);
    txn.write(Write::Put { key: past, value }, None)?;
    trim(txn, table, key).await
}

/// Takes away the older versions of a row that count as those of a time, so that a write takes their place.
async fn remove_alike(txn: &Transaction, table: &TableDef, key: &[u8], time: PastTime) -> Result<()> {
    if time.last == time.micros {
        return Ok(());
    }
    let store = table.options.versions.store;
    let alike = KeyRange {
        start: version_key(key, store, time.last),
        end: Some(successor(&version_key(key, store, time.micros))),
    };
    remove_range(txn, alike, PAGE_VERSIONS).await
}

/// Rows are about to be written under keys where none stands, or none that anybody sees.
pub(super) fn begin(txn: &Transaction, table: &TableDef, keys: &[Vec<u8>]) -> Result<()> {
    if !table.keeps_versions() {
        return Ok(());
    }
    note_unsettled(txn, table);
    if table.options.versions.history.is_none() {
        return Ok(());
    }
    // What the same transaction has removed it has only changed.
    let store = table.options.versions.store;
    let removals: Vec<_> = keys
        .iter()
        .map(|key| version_key(key, store, UNSETTLED))
        .collect();
    let are_put = txn.are_put(removals.iter().map(Vec::as_slice));
    for (key, _) in removals.into_iter().zip(are_put).filter(|(_, is_put)| *is_put) {
        txn.write(Write::Delete { key }, None)?;
    }
    Ok(())
}

/// Rows are about to be written under keys, whatever stands there: that is kept.
pub(super) async fn supersede(
    txn: &Transaction,
    table: &TableDef,
    keys: &[Vec<u8>],
    time: WriteTime,
) -> Result<()> {
    if !table.keeps_versions() {
        return Ok(());
    }
    begin(txn, table, keys)?;
    for Standing { key, value, is_over } in standing(txn, table, keys).await? {
        if is_over && table.options.versions.history.is_none() {
            remove_all(txn, table, &key).await?;
        } else if keep(txn, table, &key, value, time)? {
            trim(txn, table, &key).await?;
        } else if let WriteTime::Given(micros) = time {
            let last = last_alike(micros);
            remove_alike(txn, table, &key, PastTime { micros, last }).await?;
        }
    }
    Ok(())
}

/// The rows under keys are about to be removed. Keys of entries are passed over.
pub(super) async fn remove(
    txn: &Transaction,
    table: &TableDef,
    keys: impl IntoIterator<Item = &Vec<u8>>,
) -> Result<()> {
    if !table.keeps_versions() {
        return Ok(());
    }
    let rows = entry_prefix(table.id, table.primary_key.id);
    let keys = keys.into_iter().filter(|key| key.starts_with(&rows));
    let keys: Vec<Vec<u8>> = keys.cloned().collect();
    if table.options.versions.history.is_none() {
        for key in keys {
            remove_all(txn, table, &key).await?;
        }
        return Ok(());
    }
    note_unsettled(txn, table);
    for Standing { key, value, .. } in standing(txn, table, &keys).await? {
        let is_kept = keep(txn, table, &key, value, WriteTime::Commit)?;
        // Of a row that only this transaction has seen nothing need be told.
        if is_kept || has_versions(txn, table, &key).await? {
            let value = removal(txn.write_time());
            let removed = version_key(&key, table.options.versions.store, UNSETTLED);
            txn.write(Write::Put { key: removed, value }, None)?;
            trim(txn, table, &key).await?;
        }
    }
    Ok(())
}

/// Rows of a table that are over are about to stay behind where it was stored: its history keeps them.
pub async fn keep_rows_that_are_over(txn: &Transaction, table: &TableDef) -> Result<()> {
    if table.options.versions.history.is_none() || !table.options.expiry.may_be_over() {
        return Ok(());
    }
    let all = txn.with_rows_that_are_over();
    let mut scan = all.scan(rows_request(table, None, false, PAGE_ROWS_MAX));
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        let over = txn.take_over_rows(&mut page)?;
        let keys: Vec<Vec<u8>> = over.into_iter().map(|(key, _)| key).collect();
        remove(txn, table, &keys).await?;
        tokio::task::yield_now().await;
    }
}

/// Gives the rows of a table that were written anew under another id the older versions that they had, also those that the statement has
/// written. Errors: 54000.
pub async fn carry_versions(txn: &Transaction, old: &TableDef, new: &TableDef) -> Result<()> {
    let (Some(range), true) = (old.versions_range(), new.keeps_versions()) else {
        return Ok(());
    };
    let prefix = entry_prefix(new.id, new.options.versions.store);
    let mut scan = txn
        .with_own_writes()
        .scan(request_of(range, false, PAGE_VERSIONS));
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        for (key, value) in page.iter() {
            let key = [&prefix, key.get(prefix.len()..).unwrap_or_default()].concat();
            let value = value.to_vec();
            txn.write(Write::Put { key, value }, None)?;
        }
        note_unsettled(txn, new);
        tokio::task::yield_now().await;
    }
}

/// What stands under a key.
struct Standing {
    key: Vec<u8>,
    value: Vec<u8>,
    /// Nobody sees it any more.
    is_over: bool,
}

async fn standing(txn: &Transaction, table: &TableDef, keys: &[Vec<u8>]) -> Result<Vec<Standing>> {
    let values = txn.with_rows_that_are_over().get_newest(keys).await?;
    let mut page = Page::new();
    for (at, key) in keys.iter().enumerate() {
        if let Some(value) = values.get(at) {
            page.push(key, value);
        }
    }
    let now = txn.read_time();
    let moments = match table.options.expiry.may_be_over() {
        true => txn.moments_over(&page)?,
        false => Vec::new(),
    };
    let standing = page.iter().enumerate().map(|(at, (key, value))| Standing {
        key: key.to_vec(),
        value: value.to_vec(),
        is_over: moments.get(at).is_some_and(|moment| *moment <= now),
    });
    Ok(standing.collect())
}

/// Keeps what is written over at a time; whether it is one version more.
fn keep(
    txn: &Transaction,
    table: &TableDef,
    key: &[u8],
    mut value: Vec<u8>,
    time: WriteTime,
) -> Result<bool> {
    let versions = &table.options.versions;
    let old = RowReader::new(&value)?;
    let of_old = match (old.is_unsettled(), time) {
        (true, WriteTime::Commit) => return Ok(false),
        // It comes before a time that is after now.
        (true, WriteTime::Given(_)) => txn.write_time(),
        (false, _) => time_of(&old, versions),
    };
    if let WriteTime::Given(given) = time
        && (given..=last_alike(given)).contains(&of_old)
    {
        return Ok(false);
    }
    settle(&mut value, of_old);
    let key = version_key(key, versions.store, of_old);
    txn.write(Write::Put { key, value }, None)?;
    Ok(true)
}

pub(super) fn note_unsettled(txn: &Transaction, table: &TableDef) {
    let prefix = |index| entry_prefix(table.id, index);
    txn.note_unsettled([prefix(table.primary_key.id), prefix(table.options.versions.store)]);
}

/// The versions of a row that are no newer than a time.
fn older_range(table: &TableDef, key: &[u8], time: i64) -> KeyRange {
    let store = table.options.versions.store;
    KeyRange {
        start: version_key(key, store, time),
        end: KeyRange::of_prefix(&versions_prefix(key, store)).end,
    }
}

async fn has_versions(txn: &Transaction, table: &TableDef, key: &[u8]) -> Result<bool> {
    let mut page = Page::new();
    let range = KeyRange::of_prefix(&versions_prefix(key, table.options.versions.store));
    txn.scan(request_of(range, true, 1)).next_page(&mut page).await?;
    Ok(!page.is_empty())
}

async fn remove_all(txn: &Transaction, table: &TableDef, key: &[u8]) -> Result<()> {
    let range = KeyRange::of_prefix(&versions_prefix(key, table.options.versions.store));
    remove_range(txn, range, PAGE_VERSIONS).await
}

/// Takes away those versions of a row that VERSIONS does not count and HISTORY does not need.
async fn trim(txn: &Transaction, table: &TableDef, key: &[u8]) -> Result<()> {
    let versions = &table.options.versions;
    let all = KeyRange::of_prefix(&versions_prefix(key, versions.store));
    let mut from = all.start.clone();
    let mut page = Page::new();
    if let Some(count) = versions.count {
        let counted = usize::from(count) - 1;
        txn.scan(request_of(all.clone(), true, counted))
            .next_page(&mut page)
            .await?;
        // A page may be shorter than was asked for only at the end, or for its bytes, which keys alone do not fill.
        match page.last() {
            Some((last, _)) if page.len() >= counted => from = successor(last),
            _ => return Ok(()),
        }
    }
    let horizon = versions.horizon(txn.write_time());
    if let Some(horizon) = horizon {
        from = from.max(version_key(key, versions.store, horizon));
    }
    let rest = KeyRange {
        start: from,
        end: all.end,
    };
    txn.scan(request_of(rest, false, TRIMMED_MAX + 1))
        .next_page(&mut page)
        .await?;
    for key in needless(&page, horizon)? {
        txn.write(Write::Delete { key }, None)?;
    }
    Ok(())
}

/// Of the last versions of a row, newest first, those that go. One of them was the row at the horizon, if that is among their times.
fn needless(page: &Page, horizon: Option<i64>) -> Result<Vec<Vec<u8>>> {
    let is_whole = page.len() <= TRIMMED_MAX;
    let mut needless = Vec::new();
    for (at, (key, value)) in page.iter().enumerate() {
        let is_removal = RowReader::new(value)?.is_removal();
        let (_, time) = split_version_key(key)?;
        let is_at_horizon = at == 0 && horizon.is_some_and(|horizon| time <= horizon);
        match (is_at_horizon, is_removal) {
            // It was there at the horizon, or what was there before is still to go.
            (true, false) => continue,
            (_, true) if !is_whole => continue,
            _ => needless.push(key.to_vec()),
        }
    }
    Ok(needless)
}

/// Errors: 0A000 for a time of its own (`_l_ts_`) in a table whose history is that of its commits.
pub fn check_given_time(table: &TableDef) -> Result<()> {
    if !table.keeps_versions() {
        return Err(one_version(table));
    }
    match table.options.versions.history {
        None => Ok(()),
        Some(_) => Err(Error::unsupported(
            "the hint _l_ts_ for rows of a table with HISTORY",
            Some(
                "Its versions have the times of their commits: leave the hint out, or use VERSIONS without HISTORY.",
            ),
        )),
    }
}

/// 55000: versions are asked of a table that keeps one.
pub fn one_version(table: &TableDef) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotInPrerequisiteState,
        message: format!("table \"{}\" keeps one version of a row", table.name),
        hint: Some(format!(
            "ALTER TABLE {} SET (versions = '5') has it keep the newest five from now on.",
            quote_ident(&table.name)
        )),
    }
}
