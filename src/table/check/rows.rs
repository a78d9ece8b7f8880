//! Verifies the rows of one table: key, checksum, columns, and the index entries that each row must have. The check of a
//! table begins here; `entries` goes on with what its indexes hold besides.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;

use super::{Check, RelationFigures};
use crate::catalog::check::{FaultKind, Walk, hex};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::index_range;
use crate::codec::row::{ColumnBuilder, ColumnId, RowReader, Stored};
use crate::store::Page;
use crate::table::{
    EntryEncoder, IndexEntry, Limits, RowDecoder, RowEncoder, RowLayout, constraint_key, stored_key_text,
};
use crate::types::Value;
use crate::{Error, Result};

/// Decodes rows of one table whole, and encodes what else must be stored of them.
pub(super) struct RowCheck<'a> {
    table: &'a TableDef,
    layout: Arc<RowLayout>,
    encoder: RowEncoder<'a>,
}

/// Checks all rows; answers for each kept index how many rows have their entry as it must be.
pub(super) async fn check(
    check: &mut Check<'_>,
    table: &TableDef,
    next_row_id: Option<i64>,
    figures: &mut RelationFigures,
) -> Result<Vec<u64>> {
    let mut rows = RowCheck::new(table);
    let range = index_range(table.id, table.primary_key.id);
    let mut walk = Walk::new(&*check.snapshot, vec![range], false);
    let mut page = Page::new();
    let mut matched = vec![0; table.kept_indexes().count()];
    loop {
        walk.next_page(&mut page, Some(&figures.name), &mut check.faults)
            .await?;
        if page.is_empty() {
            return Ok(matched);
        }
        figures.rows += page.len() as u64;
        figures.bytes += page.size_bytes() as u64;
        figures.over += rows_over(table, &page, check.now);
        let batch = rows.decode_sound(check, &page, &figures.name)?;
        check_row_ids(check, table, &batch, next_row_id, &figures.name);
        for (index, matched) in table.kept_indexes().zip(&mut matched) {
            *matched += look_up_entries(check, &mut rows, index, &batch, &figures.name).await?;
        }
        check.tell(figures);
    }
}

/// Whether the value of an entry holds what it should: byte for byte, or a numeric as an earlier release wrote it.
fn holds_the_same(table: &TableDef, found: &[u8], expected: &[u8]) -> bool {
    if found == expected {
        return true;
    }
    let (Ok(found), Ok(expected)) = (RowReader::new(found), RowReader::new(expected)) else {
        return false;
    };
    let reads_the_same = |id: ColumnId, one: Stored<'_>, other: Stored<'_>| {
        let Some(column) = table.columns.iter().find(|column| column.id == id) else {
            return false;
        };
        let mut both = ColumnBuilder::new(&column.ty, 2);
        let read = both.append_stored(one).and_then(|()| both.append_stored(other));
        let array = both.finish();
        read.is_ok() && array.slice(0, 1).as_ref() == array.slice(1, 1).as_ref()
    };
    let mut pairs = found.columns().zip(expected.columns());
    found.len() == expected.len()
        && pairs.all(|((id, one), (other_id, other))| {
            id == other_id && (one == other || reads_the_same(id, one, other))
        })
}

/// How many rows of a page are over by now; damaged ones are told of elsewhere.
fn rows_over(table: &TableDef, page: &Page, now: i64) -> u64 {
    let Some(rule) = table.expiry_rule() else { return 0 };
    let is_over = |(key, value)| {
        let moment = RowReader::new(value).and_then(|row| rule.over_at(key, &row));
        moment.is_ok_and(|moment| moment <= now)
    };
    page.iter().filter(|row| is_over(*row)).count() as u64
}

/// Looks up the entries of the rows in one index; answers how many entries are there as they must be.
async fn look_up_entries(
    check: &mut Check<'_>,
    rows: &mut RowCheck<'_>,
    index: &IndexDef,
    batch: &RecordBatch,
    name: &str,
) -> Result<u64> {
    let mut encoder = EntryEncoder::new(rows.table, index, Limits::NONE);
    let (expected, of_rows) = encoder.entries(batch)?;
    let keys: Vec<Vec<u8>> = expected.iter().map(|entry| entry.key.clone()).collect();
    let found = check.get_many(name, &keys).await?;
    let mut matched = 0;
    for (at, entry) in expected.iter().enumerate() {
        let key = || constraint_key(rows.table, &rows.table.primary_key, batch, of_rows[at]);
        match found.values.get(at) {
            Some(value) if holds_the_same(rows.table, value, &entry.value) => matched += 1,
            // Its rows may still lack their entries, or share one: the build will tell, or the next start removes it.
            _ if index.building => {}
            Some(_) => {
                let reason = match entry.exclusive {
                    true => format!(
                        "the entry of its values in unique index \"{}\" is another row's, or damaged",
                        index.name
                    ),
                    false => format!("its entry in index \"{}\" is damaged", index.name),
                };
                check.faults.add(FaultKind::WrongEntry, Some(name), key(), reason);
            }
            None if found.unreadable.contains(&at) => {}
            None => {
                let reason = format!("it has no entry in index \"{}\"", index.name);
                check
                    .faults
                    .add(FaultKind::MissingEntry, Some(name), key(), reason);
            }
        }
    }
    Ok(matched)
}

/// Hidden row ids stand below the next one to be given.
fn check_row_ids(
    check: &mut Check<'_>,
    table: &TableDef,
    batch: &RecordBatch,
    next: Option<i64>,
    name: &str,
) {
    let (Some(row_id), Some(next)) = (table.row_id(), next) else {
        return;
    };
    let Some(ids) = batch.column(row_id).as_primitive_opt::<Int64Type>() else {
        return;
    };
    for (row, id) in ids.values().iter().enumerate().filter(|(_, id)| **id >= next) {
        let key = constraint_key(table, &table.primary_key, batch, row);
        let reason = format!("the next row id is {next}, although {id} is in use");
        check.faults.add(FaultKind::Record, Some(name), key, reason);
    }
}

impl<'a> RowCheck<'a> {
    pub(super) fn new(table: &'a TableDef) -> RowCheck<'a> {
        RowCheck {
            table,
            layout: Arc::new(RowLayout::new(
                table,
                &(0..table.columns.len()).collect::<Vec<_>>(),
            )),
            encoder: RowEncoder::new(table, Limits::NONE),
        }
    }

    /// For versions of rows, which may lack what their table has demanded since.
    pub(super) fn of_versions(table: &'a TableDef) -> RowCheck<'a> {
        let keys = table.key_columns();
        let nullable = (0..table.columns.len()).filter(|at| !table.is_never_null(*at));
        let columns: Vec<usize> = keys.into_iter().chain(nullable).collect();
        RowCheck {
            layout: Arc::new(RowLayout::new(table, &columns)),
            ..RowCheck::new(table)
        }
    }

    /// Errors: `Corrupt` for what is no row, or stands under a key that none has.
    pub(super) fn require_row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut decoder = RowDecoder::with_layout(Arc::clone(&self.layout));
        decoder.push(key, value)?;
        self.check_columns(value)?;
        decoder.finish()?;
        Ok(())
    }

    /// The rows of the page that decode. Others are faults: they are found one by one, once the page as a whole fails.
    fn decode_sound(&mut self, check: &mut Check<'_>, page: &Page, name: &str) -> Result<RecordBatch> {
        let rows: Vec<_> = page.iter().collect();
        if let Ok(batch) = self.decode(&rows) {
            return Ok(batch);
        }
        let mut sound = Vec::with_capacity(rows.len());
        for row @ (key, value) in rows {
            if let Err(error) = self.decode(&[row]) {
                let text = stored_key_text(self.table, &self.table.primary_key, key);
                let (text, reason) = (text.unwrap_or_else(|_| hex(key)), self.reason(value, &error));
                check.faults.add(FaultKind::Row, Some(name), text, reason);
            } else {
                sound.push(row);
            }
        }
        self.decode(&sound)
    }

    /// Decodes rows, and makes sure that nothing stands in them that the table's record does not explain.
    fn decode(&mut self, rows: &[(&[u8], &[u8])]) -> Result<RecordBatch> {
        let mut decoder = RowDecoder::with_layout(Arc::clone(&self.layout));
        decoder.reserve(rows.len());
        for (key, value) in rows {
            decoder.push(key, value)?;
            self.check_columns(value)?;
        }
        let batch = decoder.finish()?;
        for (row, (key, _)) in rows.iter().enumerate() {
            if self.encoder.key(&batch, row)? != *key {
                return Err(damaged("its key is not written as keys are"));
            }
        }
        Ok(batch)
    }

    /// The entries that a stored row must have in an index. Errors: `Corrupt` when the row does not decode.
    pub(super) fn entries(&mut self, index: &IndexDef, key: &[u8], value: &[u8]) -> Result<Vec<IndexEntry>> {
        let batch = self.decode(&[(key, value)])?;
        Ok(EntryEncoder::new(self.table, index, Limits::NONE)
            .entries(&batch)?
            .0)
    }

    /// A row holds columns that the table has had, and none of its key.
    fn check_columns(&self, value: &[u8]) -> Result<()> {
        for (id, _) in RowReader::new(value)?.columns() {
            if id >= self.table.next_column_id {
                return Err(damaged(&format!(
                    "it holds column {id}, which its table never had"
                )));
            }
            if self.table.is_in_key_alone(id) {
                return Err(damaged(&format!("it repeats key column {id}")));
            }
        }
        Ok(())
    }

    /// Why a row did not decode. What cannot be NULL fails only when the columns are put together, without a name.
    fn reason(&self, value: &[u8], error: &Error) -> String {
        if !matches!(error, Error::Corrupt { .. })
            && let Some(column) = self.null_column(value)
        {
            return format!("column \"{column}\" is NULL, which it cannot be");
        }
        error.to_string()
    }

    /// The first column of the value that is NULL although it cannot be.
    fn null_column(&self, value: &[u8]) -> Option<&str> {
        let reader = RowReader::new(value).ok()?;
        let is_null = |id, missing: &Value| match reader.get(id) {
            None => *missing == Value::Null,
            Some(stored) => stored == Stored::Null,
        };
        let mut columns = self.table.columns.iter();
        columns
            .find(|column| {
                column.is_never_null()
                    && !self.table.is_key_column(column.id)
                    && is_null(column.id, &column.missing)
            })
            .map(|column| column.name.as_str())
    }
}

pub(super) fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "row".to_string(),
        reason: reason.to_string(),
    }
}
