//! `RowUpdate`: rows of an UPDATE replaced a page at a time, in memory that does not grow with the table. Called by
//! `sql::dml`; what the rows are set to, and where they come from, it does not know.
//!
//! # Keys that move
//!
//! `SET k = k + 1` is legal as long as no two rows have one key *once all are replaced*, but the pages come one by one.
//! A new key that a row still holds which has not come by is *awaited*: the write goes over that row (whoever reads the
//! pages still sees it as it was), and when the row comes its key is not deleted. What is still awaited at the end was
//! not given up, and is the duplicate. An entry of an index that is not unique may be another row's just so: the entry is
//! its value and the row's key, and rows swap keys. So a key that any new row wrote, of whatever index, is never deleted:
//! it is that row's, and the one that held it before has given it up. The sets hold keys that stand in the
//! transaction's buffer as well, so its limit bounds them.

use std::collections::{HashMap, HashSet};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::zip::zip;

use super::encoded_row::{EncodedRow, encode_rows, take_turns};
use super::over::lock_unique_keys;
use super::sorted_keys::sorted;
use super::table_lock::lock_for_writes;
use super::vacated::Vacated;
use super::versions::{self, WriteTime};
use super::write::{unique_violation, vacated_keys, write_rows};
use super::{Limits, RowEncoder};
use crate::catalog::{TableDef, written_key};
use crate::store::{LockMode, Values, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// An UPDATE on its way, which has called [`lock_for_writes`].
#[derive(Debug)]
pub struct RowUpdate<'a> {
    txn: &'a Transaction,
    table: &'a TableDef,
    limits: Limits,
    /// `None` when no column of a key changes.
    moves: Option<Moves>,
}

/// Rows, row by row, before and behind an UPDATE.
#[derive(Debug)]
pub struct Replaced {
    /// As they were read.
    pub old: RecordBatch,
    /// As they are now.
    pub new: RecordBatch,
    /// All rows of the page as they stand now: those that are not replaced as they were.
    pub standing: RecordBatch,
}

/// What became of keys so far.
#[derive(Debug, Default)]
struct Moves {
    /// Every key that new rows wrote: of rows, and of entries of all indexes.
    written: HashSet<Vec<u8>>,
    /// The unique ones of them that another row still held, and the error when it never gives it up.
    awaited: HashMap<Vec<u8>, Error>,
}

impl<'a> RowUpdate<'a> {
    /// `keys_move`: whether a column of the primary key or of an index that writes keep may change.
    pub fn new(txn: &'a Transaction, table: &'a TableDef, limits: Limits, keys_move: bool) -> RowUpdate<'a> {
        RowUpdate {
            txn,
            table,
            limits,
            moves: keys_move.then(Moves::default),
        }
    }

    /// Replaces rows: `old` as it was read by `new`, row by row. No row may come twice. Answers those that are others now where some are
    /// not, for what was written of them is an older version. Errors: 23505, 23502, 54000, 0A000 for a key that moves as of
    /// [`versions::check_move`].
    pub async fn replace(&mut self, old: &RecordBatch, new: &RecordBatch) -> Result<Option<Replaced>> {
        self.txn.mark(written_key(self.table.id))?;
        let left = self.write_past(old, new).await?;
        let (old, new) = left.as_ref().map_or((old, new), |left| (&left.old, &left.new));
        match self.moves.take() {
            None => self.replace_values(new).await?,
            Some(mut moves) => {
                let moved = self.move_rows(&mut moves, old, new).await;
                self.moves = Some(moves);
                moved?;
            }
        }
        Ok(left)
    }

    /// All rows have come. Errors: 23505 when a key was taken that another row keeps.
    pub fn finish(self) -> Result<()> {
        let awaited = self.moves.map(|moves| moves.awaited).unwrap_or_default();
        match awaited.into_iter().min_by(|(a, _), (b, _)| a.cmp(b)) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Writes what has a time before that of the row as it stands, which stays as it is; the other rows, where there were such.
    async fn write_past(&self, old: &RecordBatch, new: &RecordBatch) -> Result<Option<Replaced>> {
        if !self.table.keeps_versions() {
            return Ok(None);
        }
        let time = WriteTime::new(self.limits.version_time);
        let mut encoder = RowEncoder::of_write(self.txn, self.table, self.limits);
        let mut keys_of = |batch: &RecordBatch| -> Result<Vec<Vec<u8>>> {
            (0..batch.num_rows()).map(|row| encoder.key(batch, row)).collect()
        };
        let (keys, new_keys) = (keys_of(old)?, keys_of(new)?);
        let sorted_keys = sorted(&keys);
        self.txn.lock(&sorted_keys, LockMode::Change).await?;
        let standing_rows = self.txn.get_newest(&sorted_keys).await?;
        let mut is_left = Vec::with_capacity(keys.len());
        for (row, key) in keys.iter().enumerate() {
            let at = sorted_keys.binary_search(key).ok();
            let standing = at.and_then(|at| standing_rows.get(at));
            let past = match *key == new_keys[row] {
                true => versions::past_time(self.txn, self.table, standing, time)?,
                false => {
                    versions::check_move(self.txn, self.table, standing, time)?;
                    None
                }
            };
            is_left.push(past.is_none());
            if let (Some(standing), Some(time)) = (standing, past) {
                let value = match self.table.is_narrowed() {
                    true => encoder.merged_value(standing, None, new, row)?,
                    false => encoder.value(new, row)?,
                };
                versions::put_past(self.txn, self.table, key, value, time).await?;
            }
        }
        if !is_left.contains(&false) {
            return Ok(None);
        }
        let is_left = BooleanArray::from(is_left);
        let left = |batch| filter_record_batch(batch, &is_left).map_err(Error::arrow);
        let columns = new.columns().iter().zip(old.columns());
        let standing = columns.map(|(new, old)| zip(&is_left, new, old).map_err(Error::arrow));
        let standing = standing.collect::<Result<Vec<_>>>()?;
        Ok(Some(Replaced {
            old: left(old)?,
            new: left(new)?,
            standing: RecordBatch::try_new(new.schema(), standing).map_err(Error::arrow)?,
        }))
    }

    /// Rows whose keys and entries stay as they are.
    async fn replace_values(&self, new: &RecordBatch) -> Result<()> {
        let mut encoder = RowEncoder::of_write(self.txn, self.table, self.limits);
        let keys = (0..new.num_rows()).map(|row| encoder.key(new, row));
        let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
        self.txn.lock(&keys, LockMode::Change).await?;
        let standing = self.standing_values(&keys).await?;
        self.supersede(&keys).await?;
        for (row, key) in keys.into_iter().enumerate() {
            let value = match &standing {
                None => encoder.value(new, row)?,
                Some(values) => encoder.merged_value(standing_value(values, row)?, None, new, row)?,
            };
            self.txn.write(Write::Put { key, value }, None)?;
            take_turns(row).await;
        }
        Ok(())
    }

    /// What stands under keys that do not move, where the table lacks columns of it: those stay as they are.
    async fn standing_values(&self, keys: &[Vec<u8>]) -> Result<Option<Values>> {
        match self.table.is_narrowed() {
            false => Ok(None),
            true => {
                let locked = self.txn.lock_newest(keys, LockMode::Change).await?;
                Ok(Some(locked.values))
            }
        }
    }

    async fn move_rows(&self, moves: &mut Moves, old: &RecordBatch, new: &RecordBatch) -> Result<()> {
        let mut rows = encode_rows(self.txn, self.table, new, self.limits).await?;
        let keys: Vec<Vec<u8>> = rows.iter().map(|row| row.key.clone()).collect();
        if let Some(values) = self.standing_values(&keys).await? {
            let mut encoder = RowEncoder::of_write(self.txn, self.table, self.limits);
            for (at, row) in rows.iter_mut().enumerate() {
                row.value = encoder.merged_value(standing_value(&values, at)?, None, new, at)?;
            }
        }
        let stays = |row: usize, key: &Vec<u8>| rows[row].unique_keys().any(|kept| kept == key);
        let vacated = vacated_keys(self.txn, self.table, old, self.limits, stays).await?;
        let held = self.held_keys(&rows, &vacated).await?;
        for (at, row) in rows.iter().enumerate() {
            for key in row.unique_keys() {
                let violation = || unique_violation(self.table, row.index_of(self.table, key), new, at);
                if moves.written.contains(key) {
                    return Err(violation());
                }
                if held.contains(key) {
                    moves.awaited.insert(key.clone(), violation());
                }
            }
            moves.written.extend(row.keys().cloned());
            take_turns(at).await;
        }
        let gone = vacated.keys().filter(|key| !moves.written.contains(*key));
        versions::remove(self.txn, self.table, gone).await?;
        for key in vacated.keys() {
            moves.awaited.remove(key);
            if !moves.written.contains(key) {
                self.txn.write(Write::Delete { key: key.clone() }, None)?;
            }
        }
        self.supersede(&keys).await?;
        write_rows(self.txn, rows, &vacated).await
    }

    async fn supersede(&self, keys: &[Vec<u8>]) -> Result<()> {
        let time = WriteTime::new(self.limits.version_time);
        versions::supersede(self.txn, self.table, keys, time).await
    }

    /// The rows' unique keys that stand in the table now, but for those given up; all are locked.
    async fn held_keys(&self, rows: &[EncodedRow], vacated: &Vacated) -> Result<HashSet<Vec<u8>>> {
        let keys: Vec<_> = rows
            .iter()
            .flat_map(EncodedRow::unique_keys)
            .filter(|key| !vacated.contains(key))
            .cloned()
            .collect();
        if keys.is_empty() {
            return Ok(HashSet::new());
        }
        let keys = sorted(&keys);
        let locked = lock_unique_keys(self.txn, self.table, &keys).await?;
        let held = keys.into_iter().enumerate();
        Ok(held
            .filter(|(at, _)| locked.values.get(*at).is_some())
            .map(|(_, key)| key)
            .collect())
    }
}

fn standing_value(values: &Values, row: usize) -> Result<&[u8]> {
    let value = values.get(row);
    value.ok_or_else(|| Error::internal("a row that is updated is not there"))
}

/// Replaces rows that have all come; answers as [`RowUpdate::replace`]. Of a table that columns were left out of, the rows' own keys must
/// stay.
pub async fn update_rows(
    txn: &Transaction,
    table: &TableDef,
    old: &RecordBatch,
    new: &RecordBatch,
    limits: Limits,
) -> Result<Option<Replaced>> {
    lock_for_writes(txn, table).await?;
    let mut update = RowUpdate::new(txn, table, limits, true);
    let replaced = update.replace(old, new).await?;
    update.finish()?;
    Ok(replaced)
}
