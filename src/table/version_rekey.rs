//! Older versions of rows that are written anew under other keys: a version goes to the key that its own columns make, and where the next
//! version of the row has another, the row of the old one ends there. Called by `sql::dml`, which says what becomes of each.
//!
//! ```text
//! key (a); versions of row 1, newest first      key (b)
//! a = 1, b = 'z' since 30 (the row)             z: since 30
//! a = 1, b = 'y' since 20                       y: since 20, removed at 30
//! a = 1, b = 'y' since 10                       y: since 10
//! ```
//!
//! VERSIONS alone knows the versions of rows that are there: of a row those are kept that have its key.
//!
//! Invariants:
//!
//! 1. No two rows are there at one moment under one key: where two rows of the old key were, it is refused.
//! 2. A time at which a key gets another row is no removal: of a key no two versions have one time.

use std::collections::HashMap;

use arrow::array::RecordBatch;

use super::carried_times::{carry_row_times, with_times};
use super::rows_request::{PAGE_ROWS_MAX, request_of, rows_request};
use super::versions::{PAGE_VERSIONS, note_unsettled, time_of};
use super::{Limits, RowDecoder, RowEncoder};
use crate::catalog::{TableCache, TableDef};
use crate::codec::row::{RowReader, RowWriter};
use crate::codec::version::{UNSETTLED, removal, row_key_of, split_version_key, version_key};
use crate::store::{Page, Write};
use crate::txn::{Transaction, TransactionScan};
use crate::{Error, Result};

/// The rows of a table that have been written anew under other keys.
pub struct RekeyedRows {
    scan: TransactionScan,
    page: Page,
    decoder: RowDecoder,
}

impl RekeyedRows {
    /// All rows of the table as it was.
    pub fn open(txn: &Transaction, old: &TableDef) -> RekeyedRows {
        RekeyedRows {
            scan: txn.scan(rows_request(old, None, false, PAGE_ROWS_MAX)),
            page: Page::new(),
            decoder: visible_rows(old),
        }
    }

    /// The visible columns of the next rows; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.scan.next_page(&mut self.page).await?;
        if self.page.is_empty() {
            return Ok(None);
        }
        for (key, value) in self.page.iter() {
            self.decoder.push(key, value)?;
        }
        self.decoder.finish().map(Some)
    }

    /// Gives those that came last, which are these rows now, the times that they had.
    pub async fn carry_times(
        &mut self,
        txn: &Transaction,
        new: &TableDef,
        rows: &RecordBatch,
        limits: Limits,
    ) -> Result<()> {
        let mut encoder = RowEncoder::new(new, limits);
        let keys = (0..rows.num_rows()).map(|at| encoder.key(rows, at));
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
        let values: Vec<Vec<u8>> = self.page.iter().map(|(_, value)| value.to_vec()).collect();
        carry_row_times(txn, &keys, &values).await
    }
}

/// When a version was the row under a key. In microseconds since 1970, without the end.
struct Lifetime {
    key: Vec<u8>,
    from: i64,
    to: i64,
}

/// The row, or version of it, that comes after the next one to be looked at.
enum Later {
    /// None that is known.
    Nothing,
    Row {
        key: Vec<u8>,
        time: i64,
    },
    Removal {
        time: i64,
        value: Vec<u8>,
    },
}

/// The older versions of a table's rows, which get other keys.
pub struct RekeyedVersions<'a> {
    old: &'a TableDef,
    scan: TransactionScan,
    page: Page,
    decoder: RowDecoder,
    /// The rows that stand under the old keys of the page: their values, and which of the batch they are.
    standing: HashMap<Vec<u8>, (Vec<u8>, usize)>,
    /// The old key of the row whose versions are looked at, and what comes after the next.
    row: Vec<u8>,
    later: Later,
    lifetimes: Vec<Lifetime>,
    /// Keys that a row has left: since when, and what says so.
    removals: Vec<(Vec<u8>, i64, Vec<u8>)>,
}

impl<'a> RekeyedVersions<'a> {
    /// All of a table that keeps some. Errors: it keeps none.
    pub fn open(txn: &Transaction, old: &'a TableDef) -> Result<RekeyedVersions<'a>> {
        let range = old.versions_range();
        let range = range.ok_or_else(|| Error::internal("versions of a table that keeps none"))?;
        Ok(RekeyedVersions {
            old,
            scan: txn
                .with_own_writes()
                .scan(request_of(range, false, PAGE_VERSIONS)),
            page: Page::new(),
            decoder: visible_rows(old),
            standing: HashMap::new(),
            row: Vec::new(),
            later: Later::Nothing,
            lifetimes: Vec::new(),
            removals: Vec::new(),
        })
    }

    /// The rows of the next versions, but for those that say that a row was removed, then the rows that stand under their keys; `None` at
    /// the end.
    pub async fn next(&mut self, txn: &Transaction) -> Result<Option<RecordBatch>> {
        self.scan.next_page(&mut self.page).await?;
        if self.page.is_empty() {
            return Ok(None);
        }
        let (mut rows, mut pushed): (Vec<Vec<u8>>, usize) = (Vec::new(), 0);
        for (key, value) in self.page.iter() {
            let row = row_key_of(key)?;
            if !RowReader::new(value)?.is_removal() {
                self.decoder.push(&row, value)?;
                pushed += 1;
            }
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        self.standing.clear();
        let values = txn.get_many(&rows).await?;
        for (at, row) in rows.into_iter().enumerate() {
            if let Some(value) = values.get(at) {
                self.decoder.push(&row, value)?;
                self.standing.insert(row, (value.to_vec(), pushed));
                pushed += 1;
            }
        }
        self.decoder.finish().map(Some)
    }

    /// Puts the versions that came last, as these rows, of a table that is stored under another id. Errors: 54000.
    pub fn put(
        &mut self,
        txn: &Transaction,
        new: &TableDef,
        rows: &RecordBatch,
        limits: Limits,
    ) -> Result<()> {
        let page = std::mem::take(&mut self.page);
        let mut encoder = RowEncoder::new(new, limits);
        let mut writer = RowWriter::default();
        let mut at = 0;
        for (key, value) in page.iter() {
            let (row, (_, time)) = (row_key_of(key)?, split_version_key(key)?);
            if row != self.row {
                self.later = self.standing_under(&row, rows, &mut encoder)?;
                self.row = row;
            }
            let version = RowReader::new(value)?;
            if version.is_removal() {
                let value = value.to_vec();
                self.later = Later::Removal { time, value };
                continue;
            }
            at += 1;
            let key = encoder.key(rows, at - 1)?;
            if self.follow(txn, new, &key, time) {
                let value = with_times(&mut writer, version, &encoder.value(rows, at - 1)?)?;
                let key = version_key(&key, new.options.versions.store, time);
                txn.write(Write::Put { key, value }, None)?;
            }
        }
        self.page = page;
        note_unsettled(txn, new);
        Ok(())
    }

    /// Ends what was put. Errors: 0A000 for rows that were there at one moment under one key.
    pub async fn finish(mut self, txn: &Transaction, new: &TableDef) -> Result<()> {
        let mut lifetimes = std::mem::take(&mut self.lifetimes);
        lifetimes.sort_by(|a, b| (&a.key, a.from).cmp(&(&b.key, b.from)));
        for pair in lifetimes.windows(2) {
            if let [a, b] = pair
                && a.key == b.key
                && a.to > b.from
            {
                return Err(unclear_keys(self.old));
            }
        }
        // The last of each key must be over when the row begins that has it now.
        let is_last = |at: &usize| {
            lifetimes
                .get(at + 1)
                .is_none_or(|next| next.key != lifetimes[*at].key)
        };
        let last: Vec<usize> = (0..lifetimes.len()).filter(is_last).collect();
        let own = txn.with_own_writes();
        for page in last.chunks(PAGE_VERSIONS) {
            let keys: Vec<Vec<u8>> = page.iter().map(|at| lifetimes[*at].key.clone()).collect();
            let values = own.get_many(&keys).await?;
            for (place, at) in page.iter().enumerate() {
                if let Some(row) = values.get(place)
                    && begin_of(self.old, row)? < lifetimes[*at].to
                {
                    return Err(unclear_keys(self.old));
                }
            }
        }
        drop(lifetimes);
        self.put_removals(txn, new).await
    }

    /// Puts those at whose time no other row begins under the key.
    async fn put_removals(self, txn: &Transaction, new: &TableDef) -> Result<()> {
        let (own, store) = (txn.with_own_writes(), new.options.versions.store);
        let mut removals = self.removals.into_iter().peekable();
        while removals.peek().is_some() {
            let page: Vec<_> = removals.by_ref().take(PAGE_VERSIONS).collect();
            let keys: Vec<Vec<u8>> = page.iter().map(|(key, ..)| key.clone()).collect();
            let rows = own.get_many(&keys).await?;
            let versions: Vec<Vec<u8>> = page
                .iter()
                .map(|(key, time, _)| version_key(key, store, *time))
                .collect();
            let are_put = own.are_put(versions.iter().map(Vec::as_slice));
            for (at, (key, (_, time, value))) in versions.into_iter().zip(page).enumerate() {
                let row_begins = rows.get(at).map(|row| begin_of(self.old, row)).transpose()?;
                if !are_put.get(at).copied().unwrap_or_default() && row_begins != Some(time) {
                    txn.write(Write::Put { key, value }, None)?;
                }
            }
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Notes that a version began at a time under a key, before what is `later`; whether it is kept.
    fn follow(&mut self, txn: &Transaction, new: &TableDef, key: &[u8], time: i64) -> bool {
        if new.options.versions.history.is_none() {
            return matches!(&self.later, Later::Row { key: row, .. } if row == key);
        }
        let to = match &self.later {
            Later::Nothing => i64::MAX,
            Later::Row { key: row, time } => {
                if row != key {
                    let value = removal_at(*time, txn.write_time());
                    self.removals.push((key.to_vec(), *time, value));
                }
                *time
            }
            Later::Removal { time, value } => {
                self.removals.push((key.to_vec(), *time, value.clone()));
                *time
            }
        };
        self.lifetimes.push(Lifetime {
            key: key.to_vec(),
            from: time,
            to,
        });
        self.later = Later::Row {
            key: key.to_vec(),
            time,
        };
        true
    }

    /// The row that stands under an old key.
    fn standing_under(&self, row: &[u8], rows: &RecordBatch, encoder: &mut RowEncoder<'_>) -> Result<Later> {
        let Some((value, at)) = self.standing.get(row) else {
            return Ok(Later::Nothing);
        };
        Ok(Later::Row {
            key: encoder.key(rows, *at)?,
            time: begin_of(self.old, value)?,
        })
    }
}

/// Reads the visible columns of rows and versions, which may lack what the table demands by now.
pub(super) fn visible_rows(table: &TableDef) -> RowDecoder {
    let mut were = table.clone();
    let columns = were.columns.iter_mut();
    columns.for_each(|column| column.not_null = false);
    were.cache = TableCache::default();
    RowDecoder::new(&were, &table.visible_positions())
}

/// The time of the version that a row is; that of one which gets its own with the commit is later than any.
fn begin_of(table: &TableDef, row: &[u8]) -> Result<i64> {
    let row = RowReader::new(row)?;
    Ok(match row.is_unsettled() {
        true => UNSETTLED,
        false => time_of(&row, &table.options.versions),
    })
}

/// What says that a row was removed at a time. `now`: what stands for that of the commit.
fn removal_at(time: i64, now: i64) -> Vec<u8> {
    if time == UNSETTLED {
        return removal(now);
    }
    let mut writer = RowWriter::default();
    writer.set_times(Some(time), None);
    writer.set_removal(true);
    writer.finish()
}

/// 0A000: nobody knows which versions are of which row.
pub fn unclear_keys(table: &TableDef) -> Error {
    Error::unsupported(
        format!(
            "this change of the keys of the rows of \"{}\", whose older versions do not have such a key, or have it at one time in several rows",
            table.name
        ),
        Some(
            "Give the versions up first: ALTER TABLE ... RESET (versions, history); or copy the rows to a new table.",
        ),
    )
}
