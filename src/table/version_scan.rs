//! `VersionScan`: versions of a table's rows, as a read wants them, in the order of their key: the rows that stand there and the range of
//! their older versions, merged. What it gives looks like rows of a table whose key goes on with their time where there are several of
//! each (`catalog::version_read`). Called by `scan`; knows no SQL.
//!
//! ```text
//!   rows        a ─────────── b ────── d          under the primary key: the newest
//!   versions      a9 a5 a2       b4  c7 c3         older ones, newest first; c is removed
//!   given       a a9 a5 a2 b b4 c7 c3 d
//! ```
//!
//! Invariants:
//!
//! 1. Of a row the versions come newest first, the row itself before them.
//! 2. What the transaction has written itself is in no moment of the past, and has the time of its statement until it commits.

use std::sync::Arc;

use super::versions::time_of;
use crate::catalog::{TableDef, VERSION_TIME, VersionRead, WantedVersions};
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::codec::row::{RowReader, RowWriter, Stored};
use crate::codec::version::{put_time, split_version_key};
use crate::codec::{KeyRange, prefix_end};
use crate::error::StatementFault;
use crate::store::{Page, ScanRequest};
use crate::txn::{Transaction, TransactionScan};
use crate::types::{FormatSettings, Value};
use crate::{Error, Result};

/// A read of versions under way.
#[derive(Debug)]
pub struct VersionScan {
    read: Arc<VersionRead>,
    within: Within,
    /// When it reads, in microseconds since 1970.
    now: i64,
    rows: Side,
    versions: Side,
    row: Option<OneRow>,
    writer: RowWriter,
    key: Vec<u8>,
    page_rows_max: usize,
    page_bytes_max: usize,
}

/// The times that are wanted, in microseconds since 1970.
#[derive(Debug, Clone, Copy)]
enum Within {
    Newest {
        count: u32,
        from: i64,
        before: i64,
    },
    /// What was the row at some moment from `from` on, and before `before`.
    Past {
        from: i64,
        before: i64,
        is_one: bool,
    },
}

/// Rows, or versions, in the order of their keys.
#[derive(Debug)]
struct Side {
    scan: TransactionScan,
    page: Page,
    at: usize,
    is_at_end: bool,
}

/// The row whose versions come by.
#[derive(Debug)]
struct OneRow {
    /// The fields of its key.
    fields: Vec<u8>,
    /// Versions that have come by, and those that were given.
    seen: u32,
    given: u32,
    /// No other version of it is wanted.
    is_done: bool,
}

impl VersionScan {
    /// What `request` asks for in keys of the table, which is a definition of versions. Errors: 72000 for a time before those that are
    /// kept, 22023 for one to come.
    pub fn open(txn: &Transaction, table: &TableDef, request: &ScanRequest) -> Result<VersionScan> {
        let read = table.version_read.as_ref();
        let read = Arc::clone(read.ok_or_else(|| Error::internal("a read of versions of no table"))?);
        let now = txn.read_time();
        let within = Within::of(&read, now, &table.name)?;
        let ranges = request.ranges.iter();
        let older: Vec<KeyRange> = ranges.map(|range| older_range(range, read.kept.store)).collect();
        let side = |ranges| {
            let request = ScanRequest {
                ranges,
                keys_only: false,
                ..request.clone()
            };
            Side {
                scan: txn.scan_with_over(request),
                page: Page::new(),
                at: 0,
                is_at_end: false,
            }
        };
        debug_assert!(!request.reverse, "versions are read forward");
        Ok(VersionScan {
            within,
            now,
            rows: side(request.ranges.clone()),
            versions: side(older),
            read,
            row: None,
            writer: RowWriter::default(),
            key: Vec::new(),
            page_rows_max: request.page_rows_max.max(1),
            page_bytes_max: request.page_bytes_max,
        })
    }

    /// Fills `page` with the next versions; none at the end.
    pub async fn next_page(&mut self, page: &mut Page) -> Result<()> {
        page.clear();
        while page.len() < self.page_rows_max && (page.is_empty() || page.size_bytes() < self.page_bytes_max)
        {
            self.rows.fill().await?;
            self.versions.fill().await?;
            let is_row = match (self.rows.fields()?, self.versions.fields()?) {
                (None, None) => break,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (Some(row), Some(version)) => row <= version,
            };
            self.take(is_row, page)?;
            if self.row.as_ref().is_some_and(|row| row.is_done) {
                self.pass_over_rest();
            }
        }
        Ok(())
    }

    /// Takes what comes next of a side, and gives it if it is wanted.
    fn take(&mut self, is_row: bool, page: &mut Page) -> Result<()> {
        let side = if is_row {
            &mut self.rows
        } else {
            &mut self.versions
        };
        let (key, value) = side.page.row(side.at);
        side.at += 1;
        let reader = RowReader::new(value)?;
        let (fields, own_time) = match is_row {
            true => (fields_of(key), None),
            false => {
                let (row, time) = split_version_key(key)?;
                (fields_of(row), Some(time))
            }
        };
        let is_same = self.row.as_ref().is_some_and(|row| row.fields == fields);
        let row = match &mut self.row {
            Some(row) if is_same => row,
            row => row.insert(OneRow {
                fields: fields.to_vec(),
                seen: 0,
                given: 0,
                // Of what is no row any more the newest versions are none.
                is_done: !is_row && matches!(self.within, Within::Newest { .. }),
            }),
        };
        let time = own_time.unwrap_or_else(|| time_of(&reader, &self.read.kept));
        let over = || match &self.read.rule {
            // Moments stand in its key as in that of the row.
            Some(rule) => rule.over_at(key, &reader),
            None => Ok(i64::MAX),
        };
        if row.is_done {
            return Ok(());
        }
        let is_wanted = match self.within {
            Within::Newest { .. } => {
                let is_over = over()? <= self.now;
                row.is_newest(
                    &self.within,
                    &self.read,
                    (time, is_row),
                    reader.is_removal(),
                    is_over,
                )
            }
            Within::Past { .. } if reader.is_unsettled() => false,
            Within::Past { from, before, is_one } => {
                let was_there = time < before && !reader.is_removal() && over()? > from;
                row.is_done = time < before && (is_one || time <= from);
                was_there
            }
        };
        if !is_wanted {
            return Ok(());
        }
        row.given += 1;
        let is_of_one = self.read.wanted.is_of_one();
        let time_in_key = (!is_of_one).then_some(time);
        put_version(
            page,
            (&mut self.key, &mut self.writer),
            (key, fields),
            (time, time_in_key),
            &reader,
        );
        Ok(())
    }

    /// Goes on behind the versions of the row at hand.
    fn pass_over_rest(&mut self) {
        let Some(row) = &self.row else { return };
        let versions = &mut self.versions;
        let is_of_row = |(key, _): (&[u8], &[u8])| fields_of(key).starts_with(&row.fields);
        while versions.at < versions.page.len() && is_of_row(versions.page.row(versions.at)) {
            versions.at += 1;
        }
        if versions.at < versions.page.len() || versions.is_at_end {
            return;
        }
        let last = versions.page.last().filter(|last| is_of_row(*last));
        let next = last.and_then(|(key, _)| {
            let prefix = key.get(..ENTRY_PREFIX_BYTES + row.fields.len())?;
            prefix_end(prefix)
        });
        if let Some(next) = next {
            versions.scan.skip_to(&next);
        }
    }
}

impl OneRow {
    /// Whether a version, of a time, is among the newest that are wanted.
    fn is_newest(
        &mut self,
        within: &Within,
        read: &VersionRead,
        (time, is_row): (i64, bool),
        is_removal: bool,
        is_over: bool,
    ) -> bool {
        let Within::Newest { count, from, before } = *within else {
            return false;
        };
        self.seen += 1;
        let kept = match (read.kept.history, read.kept.count) {
            (None, Some(kept)) => u32::from(kept),
            _ => u32::MAX,
        };
        // A row that is over is so with all its versions.
        if is_removal || time < from || self.seen > kept || is_row && is_over {
            self.is_done = true;
            return false;
        }
        let is_wanted = time < before && !is_over;
        self.is_done = self.given + u32::from(is_wanted) >= count;
        is_wanted
    }
}

impl Within {
    fn of(read: &VersionRead, now: i64, table: &str) -> Result<Within> {
        let past = |from: i64, before: i64, is_one: bool| {
            let horizon = read.kept.horizon(now).unwrap_or(now);
            match from < horizon {
                true => Err(too_old(table, horizon)),
                false => Ok(Within::Past { from, before, is_one }),
            }
        };
        match read.wanted {
            WantedVersions::Newest { count, from, before } => Ok(Within::Newest {
                count,
                from: from.unwrap_or(i64::MIN),
                before: before.unwrap_or(i64::MAX),
            }),
            WantedVersions::AsOf(moment) => {
                let moment = moment.at(now)?;
                match moment > now {
                    true => Err(to_come()),
                    false => past(moment, moment.saturating_add(1), true),
                }
            }
            WantedVersions::Between {
                from,
                to,
                includes_end,
            } => {
                let (from, to) = (from.at(now)?, to.at(now)?);
                let before = to.saturating_add(i64::from(includes_end));
                // Of no moment at all nothing is asked.
                past(from, if before > from { before } else { i64::MIN }, false)
            }
        }
    }
}

impl Side {
    /// Reads the next page when the one at hand has come to its end.
    async fn fill(&mut self) -> Result<()> {
        if self.at >= self.page.len() && !self.is_at_end {
            self.page.clear();
            self.at = 0;
            self.scan.next_page(&mut self.page).await?;
            self.is_at_end = self.page.is_empty();
            tokio::task::coop::consume_budget().await;
        }
        Ok(())
    }

    /// The fields of the row whose version comes next, or of a row itself.
    fn fields(&self) -> Result<Option<&[u8]>> {
        if self.at >= self.page.len() {
            return Ok(None);
        }
        let (key, _) = self.page.row(self.at);
        Ok(Some(fields_of(key)))
    }
}

fn fields_of(key: &[u8]) -> &[u8] {
    key.get(ENTRY_PREFIX_BYTES..).unwrap_or_default()
}

/// The same rows' range among the older versions.
fn older_range(range: &KeyRange, store: u16) -> KeyRange {
    let moved = |key: &[u8]| {
        let mut key = key.to_vec();
        if let Some(index) = key.get_mut(ENTRY_PREFIX_BYTES - 2..ENTRY_PREFIX_BYTES)
            && let Ok(bytes) = <[u8; 2]>::try_from(&*index)
        {
            let moved = u16::from_be_bytes(bytes).saturating_add(store);
            index.copy_from_slice(&moved.to_be_bytes());
        }
        key
    };
    KeyRange {
        start: moved(&range.start),
        end: range.end.as_deref().map(moved),
    }
}

/// 72000.
fn too_old(table: &str, horizon: i64) -> Error {
    let settings = FormatSettings::default();
    let horizon = Value::TimestampTz(horizon).to_text(&settings);
    Error::InvalidStatement {
        state: StatementFault::SnapshotTooOld,
        message: format!("older versions of table \"{table}\" are not kept"),
        hint: Some(format!(
            "Its history begins at {horizon}; ALTER TABLE ... SET (history = ...) has it kept for longer from now on."
        )),
    }
}

/// 22023.
fn to_come() -> Error {
    Error::InvalidParameter {
        message: "AS OF SYSTEM TIME: cannot specify timestamp in the future".to_string(),
        hint: Some("Name a moment that is past, or an interval before now: '-10m'.".to_string()),
    }
}

/// Appends a version to a page, under the key of its row and, if it is one of several, its time.
fn put_version(
    page: &mut Page,
    (new_key, writer): (&mut Vec<u8>, &mut RowWriter),
    (key, fields): (&[u8], &[u8]),
    (time, time_in_key): (i64, Option<i64>),
    reader: &RowReader<'_>,
) {
    new_key.clear();
    let table = key.get(..ENTRY_PREFIX_BYTES - 2).unwrap_or_default();
    new_key.extend_from_slice(table);
    new_key.extend_from_slice(&[0, 0]);
    new_key.extend_from_slice(fields);
    if let Some(time) = time_in_key {
        put_time(new_key, time);
    }
    writer.clear();
    let columns = reader.columns();
    columns.for_each(|(id, stored)| writer.push_stored(id, stored));
    let millis = time.div_euclid(1000).to_le_bytes();
    writer.push_stored(VERSION_TIME, Stored::Bytes(&millis));
    page.push(new_key, &writer.finish());
}
