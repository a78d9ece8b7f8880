//! Writes of whole rows and their index entries through a transaction. Batches hold every column of
//! `TableDef::columns` in that order (hidden row id included), already of the columns' types.
//!
//! Every function guards the table's record (but for those that are called page by page: their statement does), so that nothing lands under a stale schema, and puts its `Written` mark for
//! those whose statement rests on all rows. Before a row is written its key is locked, and so are the entries that no other row
//! may have, those it gets and those it gives up; where the row was read before, it must not have changed since (`Conflict`). An
//! entry that another row cannot have is locked with its row. Keys are locked in their order, so that two statements do not wait for
//! each other for what is of one of them alone.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;

use super::encoded_row::{EncodedRow, RowFault, encode_rows, take_turns};
use super::entry::entry_encoders;
use super::over::{lock_unique_keys, remove_over};
use super::read::whole_rows;
use super::sorted_keys::sorted;
use super::table_lock::{begin_write, lock_for_writes};
use super::vacated::Vacated;
use super::versions::{self, WriteTime};
use super::{Limits, RowEncoder, constraint_key};
use crate::catalog::{IndexDef, TableDef, record_key, written_key};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, IndexId};
use crate::store::{LockMode, Write};
use crate::txn::{LockedValues, Transaction};
use crate::{Error, Result};

/// Which duplicates ON CONFLICT DO NOTHING passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflicts {
    /// Of any unique key.
    Any,
    /// Of this one; others are errors.
    On(IndexId),
}

/// Inserts rows; a key that is there already (or twice in the batch) is 23505.
pub async fn insert_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> Result<()> {
    let inserted = insert_told_rows(txn, table, batch, limits).await;
    inserted.map_err(Error::from)
}

/// The same; the error tells which row is at fault.
pub async fn insert_told_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> Result<(), RowFault> {
    let rows = encode_rows(txn, table, batch, limits).await?;
    begin_write(txn, table).await?;
    if let Some((row, index)) = first_duplicate(txn, table, &rows).await? {
        return Err(RowFault {
            row: Some(row),
            error: unique_violation(table, index, batch, row),
        });
    }
    // A row that was over stands under a key until the commit.
    let is_new = !table.options.expiry.may_be_over();
    begin_versions(txn, table, &rows)?;
    for (at, row) in rows.into_iter().enumerate() {
        write_row(txn, row, is_new)?;
        take_turns(at).await;
    }
    Ok(())
}

/// See [`versions::begin`].
fn begin_versions(txn: &Transaction, table: &TableDef, rows: &[EncodedRow]) -> Result<()> {
    match table.keeps_versions() {
        true => {
            let keys: Vec<Vec<u8>> = rows.iter().map(|row| row.key.clone()).collect();
            versions::begin(txn, table, &keys)
        }
        false => Ok(()),
    }
}

/// The first of new rows that has a unique key of another, before it or in the table, and of which index. All their unique keys are
/// locked, unless nobody else can write them; where there is none they are new.
async fn first_duplicate<'a>(
    txn: &Transaction,
    table: &'a TableDef,
    rows: &[EncodedRow],
) -> Result<Option<(usize, &'a IndexDef)>> {
    // With the row and, in it, which of its keys.
    let mut keys: Vec<(&Vec<u8>, usize, usize)> = Vec::with_capacity(rows.len());
    for (at, row) in rows.iter().enumerate() {
        if !table.has_hidden_key() {
            keys.push((&row.key, at, 0));
        }
        let exclusive = row.entries.iter().zip(1..).filter(|(entry, _)| entry.exclusive);
        keys.extend(exclusive.map(|(entry, number)| (&entry.key, at, number)));
    }
    if keys.is_empty() {
        return Ok(None);
    }
    if !keys.is_sorted() {
        keys.sort_unstable();
    }
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut distinct = Vec::with_capacity(keys.len());
    for of_key in keys.chunk_by(|(one, ..), (other, ..)| one == other) {
        distinct.push((of_key[0].0, of_key[0].1));
        places.extend(of_key[1..].iter().map(|(_, row, number)| (*row, *number)));
    }
    // A row that is over is in nobody's way, and goes, whoever has written it.
    let is_own = !table.options.expiry.may_be_over() && is_unseen(txn, table).await?;
    let is_taken = match is_own {
        true => txn.are_put(distinct.iter().map(|(key, _)| key.as_slice())),
        false => lock_distinct(txn, table, &distinct).await?,
    };
    if is_taken.contains(&true) {
        let of_rows = keys.chunk_by(|(one, ..), (other, ..)| one == other);
        let taken = of_rows.zip(is_taken).filter(|(_, is_taken)| *is_taken);
        places.extend(taken.map(|(of_key, _)| (of_key[0].1, of_key[0].2)));
    }
    let first = places.into_iter().min();
    Ok(first.map(|(row, number)| {
        let entry = number.checked_sub(1);
        let entry = entry.and_then(|at| rows[row].index_of_entry(table, at));
        (row, entry.unwrap_or(&table.primary_key))
    }))
}

/// Locks unique keys of new rows, which are sorted, each with its row's place; answers whether something stands under them.
async fn lock_distinct(txn: &Transaction, table: &TableDef, keys: &[(&Vec<u8>, usize)]) -> Result<Vec<bool>> {
    let mut owned: Vec<Vec<u8>> = keys.iter().map(|(key, _)| (*key).clone()).collect();
    let mut is_taken = vec![false; keys.len()];
    let mut single: Vec<usize> = Vec::new();
    let mut from = 0;
    // In a spread table the keys of each bucket rise.
    let are_one_run = |(one, row): &(&Vec<u8>, usize), (other, next): &(&Vec<u8>, usize)| {
        row < next && one[..ENTRY_PREFIX_BYTES] == other[..ENTRY_PREFIX_BYTES]
    };
    for run in keys.chunk_by(are_one_run) {
        let places = from..from + run.len();
        from = places.end;
        let new = &owned[places.clone()];
        match txn.lock_new(new).await? {
            true => {
                let own = txn.are_put(new.iter().map(Vec::as_slice));
                is_taken[places].copy_from_slice(&own);
            }
            false => single.extend(places),
        }
    }
    if single.len() < owned.len() {
        owned = single.iter().map(|at| std::mem::take(&mut owned[*at])).collect();
    }
    if !owned.is_empty() {
        let locked = lock_unique_keys(txn, table, &owned).await?;
        for (at, place) in single.into_iter().enumerate() {
            is_taken[place] = locked.values.get(at).is_some();
        }
    }
    Ok(is_taken)
}

/// Whether nobody else can see the table's rows: the transaction made it, or gave its rows new keys.
async fn is_unseen(txn: &Transaction, table: &TableDef) -> Result<bool> {
    let record = record_key(table.id);
    if !txn.has_written(&record) {
        return Ok(false);
    }
    Ok(txn.get_stored(&[record]).await?.get(0).is_none())
}

/// Inserts the rows whose unique keys are free and passes over the others; answers which were inserted.
/// A duplicate that `conflicts` does not cover is 23505.
pub async fn insert_missing_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    conflicts: Conflicts,
    limits: Limits,
) -> Result<Vec<bool>> {
    let rows = encode_rows(txn, table, batch, limits).await?;
    lock_for_writes(txn, table).await?;
    let before = txn.lock_mark();
    let mut unique = UniqueKeys::lock(txn, table, &rows, &Vacated::default()).await?;
    let mut kept = HashSet::new();
    let (mut inserted, mut any) = (Vec::with_capacity(rows.len()), false);
    for (at, row) in rows.into_iter().enumerate() {
        let free = match (unique.duplicate(table, &row), conflicts) {
            (None, _) => true,
            // Whatever else stands in its way.
            (Some(_), Conflicts::On(arbiter)) if unique.is_duplicate_in(table, &row, arbiter) => false,
            (Some(_), Conflicts::Any) => false,
            (Some(index), Conflicts::On(_)) => return Err(unique_violation(table, index, batch, at)),
        };
        if free {
            // Not before: where every row is there already nothing is written, and there is nothing to commit.
            if !any {
                txn.mark(written_key(table.id))?;
                any = true;
            }
            unique.add(&row);
            kept.extend(row.unique_keys().cloned());
            versions::begin(txn, table, std::slice::from_ref(&row.key))?;
            write_row(txn, row, false)?;
        } else {
            unique.require_seen(txn, &row)?;
        }
        inserted.push(free);
        take_turns(at).await;
    }
    if inserted.contains(&false) {
        txn.unlock_after(before, |key| kept.contains(key) || txn.has_written(key));
    }
    Ok(inserted)
}

/// Writes rows: where a row stands under the key, only the columns at the positions that `named` marks change; where
/// none does, the whole row is written. Of two rows with one key the second changes what the first left.
pub async fn upsert_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    named: &[bool],
    limits: Limits,
) -> Result<()> {
    begin_write(txn, table).await?;
    let mut encoder = RowEncoder::of_write(txn, table, limits);
    let keys: Vec<_> = (0..batch.num_rows())
        .map(|row| encoder.key(batch, row))
        .collect::<Result<_>>()?;
    let all_named = table
        .columns
        .iter()
        .zip(named)
        .all(|(column, named)| *named || table.is_key_column(column.id));
    let is_blind = all_named && !table.is_narrowed() && !table.keeps_versions();
    if is_blind && table.kept_indexes().next().is_none() {
        txn.lock_unread(&sorted(&keys), LockMode::Change).await?;
        for (row, key) in keys.into_iter().enumerate() {
            let value = encoder.value(batch, row)?;
            txn.write(Write::Put { key, value }, None)?;
            take_turns(row).await;
        }
        return Ok(());
    }
    let keys_locked = sorted(&keys);
    let locked = txn.lock_newest(&keys_locked, LockMode::Change).await?;
    require_seen(txn, &keys_locked, &locked)?;
    remove_over(txn, table, &keys_locked, locked.over).await?;
    let values = locked.values;
    let time = WriteTime::new(limits.version_time);
    let mut order = Vec::new();
    let mut changes: HashMap<&[u8], ValueChange<'_>> = HashMap::new();
    for (row, key) in keys.iter().enumerate() {
        let at = keys_locked.binary_search(key);
        let old = at.ok().and_then(|at| values.get(at));
        if let Some(time) = versions::past_time(txn, table, old, time)? {
            let new = match versions::base_of_past(txn, table, key, time).await? {
                Some(before) => encoder.merged_value(&before, Some(named), batch, row)?,
                None => encoder.value(batch, row)?,
            };
            versions::put_past(txn, table, key, new, time).await?;
            continue;
        }
        let before = changes
            .get(key.as_slice())
            .map(|change| change.new.as_slice())
            .or(old);
        let new = match before {
            Some(before) => encoder.merged_value(before, Some(named), batch, row)?,
            None => encoder.value(batch, row)?,
        };
        if changes.insert(key, ValueChange { old, new }).is_none() {
            order.push(key.as_slice());
        }
        take_turns(row).await;
    }
    if table.kept_indexes().next().is_some() {
        replace_entries(txn, table, &order, &changes, limits).await?;
    }
    if table.keeps_versions() {
        let written: Vec<Vec<u8>> = order.iter().map(|key| key.to_vec()).collect();
        versions::supersede(txn, table, &written, time).await?;
    }
    put_changes(txn, order, changes).await
}

/// Writes what rows become, in this order.
async fn put_changes(
    txn: &Transaction,
    order: Vec<&[u8]>,
    mut changes: HashMap<&[u8], ValueChange<'_>>,
) -> Result<()> {
    for (at, key) in order.into_iter().enumerate() {
        take_turns(at).await;
        if let Some(ValueChange { new: value, .. }) = changes.remove(key) {
            let key = key.to_vec();
            txn.write(Write::Put { key, value }, None)?;
        }
    }
    Ok(())
}

/// Removes the rows with the keys of the batch's rows (only the columns of keys and kept indexes are read), page by page. The statement has
/// called [`lock_for_writes`].
pub async fn delete_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> Result<()> {
    txn.mark(written_key(table.id))?;
    let vacated = vacated_keys(txn, table, batch, limits, |_, _| false).await?;
    versions::remove(txn, table, vacated.keys()).await?;
    for (at, key) in vacated.into_keys().enumerate() {
        txn.write(Write::Delete { key }, None)?;
        take_turns(at).await;
    }
    Ok(())
}

/// The rows that stand under the keys of the batch's rows: for each row of the batch whether there is one, and those
/// that are, whole, in the batch's order.
pub async fn get_rows(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
) -> Result<(Vec<bool>, RecordBatch)> {
    let mut encoder = RowEncoder::new(table, limits);
    let keys: Vec<_> = (0..batch.num_rows())
        .map(|row| encoder.key(batch, row))
        .collect::<Result<_>>()?;
    let values = txn.get_many(&keys).await?;
    let mut decoder = whole_rows(table);
    let mut found = Vec::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        let value = values.get(at);
        found.push(value.is_some());
        if let Some(value) = value {
            decoder.push(key, value)?;
        }
    }
    Ok((found, decoder.finish()?))
}

/// What becomes of a row under its key.
struct ValueChange<'a> {
    /// The value that stands there, if any.
    old: Option<&'a [u8]>,
    new: Vec<u8>,
}

/// The unique keys that may not be written: those that are there, but for those that the statement gives up, and
/// those the statement wrote.
struct UniqueKeys {
    taken: HashSet<Vec<u8>>,
    /// Those of them that others put behind the transaction's snapshot.
    unseen: HashSet<Vec<u8>>,
}

impl UniqueKeys {
    /// Locks all unique keys of the rows in one call and looks them up, but for those of rows that nobody else can write.
    async fn lock(
        txn: &Transaction,
        table: &TableDef,
        rows: &[EncodedRow],
        vacated: &Vacated,
    ) -> Result<UniqueKeys> {
        let is_own = |row: &EncodedRow, key: &Vec<u8>| table.has_hidden_key() && *key == row.key;
        let keys = rows
            .iter()
            .flat_map(|row| row.unique_keys().filter(move |key| !is_own(row, key)));
        let keys: Vec<_> = keys.filter(|key| !vacated.contains(key)).cloned().collect();
        let mut unique = UniqueKeys {
            taken: HashSet::with_capacity(rows.len()),
            unseen: HashSet::new(),
        };
        if keys.is_empty() {
            return Ok(unique);
        }
        let keys = sorted(&keys);
        let locked = lock_unique_keys(txn, table, &keys).await?;
        let unseen = locked.changed.iter().map(|at| keys[*at].clone());
        unique.unseen.extend(unseen);
        let taken = keys.into_iter().enumerate();
        let taken = taken.filter(|(at, _)| locked.values.get(*at).is_some());
        unique.taken.extend(taken.map(|(_, key)| key));
        Ok(unique)
    }

    /// The statement leaves a row out for one that stands in its way. Errors: `Conflict` where a transaction that keeps its snapshot
    /// does not see that one.
    fn require_seen(&self, txn: &Transaction, row: &EncodedRow) -> Result<()> {
        let mut unseen = row.unique_keys().filter(|key| self.unseen.contains(*key));
        match unseen.next().filter(|_| txn.keeps_snapshot()) {
            Some(key) => Err(Error::Conflict { key: key.clone() }),
            None => Ok(()),
        }
    }

    /// The first key of the table in which the row is a duplicate.
    fn duplicate<'a>(&self, table: &'a TableDef, row: &EncodedRow) -> Option<&'a IndexDef> {
        if self.taken.contains(&row.key) {
            return Some(&table.primary_key);
        }
        let mut entries = row.entries.iter();
        let taken = entries.position(|entry| entry.exclusive && self.taken.contains(&entry.key))?;
        row.index_of_entry(table, taken)
    }

    /// Whether it is one in this key.
    fn is_duplicate_in(&self, table: &TableDef, row: &EncodedRow, index: IndexId) -> bool {
        if index == table.primary_key.id {
            return self.taken.contains(&row.key);
        }
        let mut entries = row.indexed_entries(table);
        let entry = entries.find(|(known, _)| known.id == index);
        entry.is_some_and(|(_, entry)| entry.exclusive && self.taken.contains(&entry.key))
    }

    fn add(&mut self, row: &EncodedRow) {
        self.taken.extend(row.unique_keys().cloned());
    }
}

/// Errors: `Conflict` where a transaction that keeps its snapshot does not see what it has locked.
pub(super) fn require_seen(txn: &Transaction, keys: &[Vec<u8>], locked: &LockedValues) -> Result<()> {
    let mut unseen = locked
        .changed
        .iter()
        .filter(|at| locked.values.get(**at).is_some());
    match unseen.next().filter(|_| txn.keeps_snapshot()) {
        Some(at) => Err(Error::Conflict {
            key: keys[*at].clone(),
        }),
        None => Ok(()),
    }
}

/// The keys that rows give up, which are locked: their own and those of their entries. Of an index that is being built only the entries that
/// are theirs: a row may not have its entry yet, and another row with the same columns may (then the build is about to
/// fail, but until it has, each row's entry is taken away by its own writer and nobody else).
pub(super) async fn vacated_keys(
    txn: &Transaction,
    table: &TableDef,
    batch: &RecordBatch,
    limits: Limits,
    stays: impl Fn(usize, &Vec<u8>) -> bool,
) -> Result<Vacated> {
    let mut encoder = RowEncoder::new(table, limits);
    let mut entries = entry_encoders(table, limits);
    let mut vacated = Vacated::with_capacity(batch.num_rows());
    let (mut rows, mut exclusive) = (Vec::with_capacity(batch.num_rows()), Vec::new());
    let (mut kept_rows, mut kept) = (Vec::new(), Vec::new());
    let (mut unsure, mut of_row) = (Vec::new(), Vec::new());
    for row in 0..batch.num_rows() {
        let key = encoder.key(batch, row)?;
        match stays(row, &key) {
            true => kept_rows.push(key.clone()),
            false => rows.push(key.clone()),
        }
        vacated.insert(key);
        for (index, encoder) in table.kept_indexes().zip(&mut entries) {
            of_row.clear();
            encoder.put_entries(&mut of_row, batch, row)?;
            for entry in of_row.drain(..) {
                if entry.exclusive && !index.building && stays(row, &entry.key) {
                    kept.push(entry.key.clone());
                } else if entry.exclusive {
                    exclusive.push(entry.key.clone());
                }
                match index.building {
                    true if entry.exclusive => unsure.push(entry),
                    true => vacated.insert(entry.key),
                    false => vacated.insert_entry(entry),
                }
            }
        }
        take_turns(row).await;
    }
    txn.lock(&sorted(&rows), LockMode::Replace).await?;
    txn.lock(&sorted(&kept_rows), LockMode::Change).await?;
    txn.lock_unread(&sorted(&kept), LockMode::Change).await?;
    // What stands under them is what the rows say, but for those of an index that is being built.
    let exclusive = sorted(&exclusive);
    if exclusive.is_empty() {
        return Ok(vacated);
    }
    if unsure.is_empty() {
        txn.lock_unread(&exclusive, LockMode::Replace).await?;
        return Ok(vacated);
    }
    let values = txn.lock_newest(&exclusive, LockMode::Replace).await?.values;
    for entry in unsure {
        let at = exclusive.binary_search(&entry.key).ok();
        match at.and_then(|at| values.get(at)) {
            Some(value) if value != entry.value => txn.guard(&entry.key),
            _ => vacated.insert(entry.key),
        }
    }
    Ok(vacated)
}

/// Writes rows, but for those of their entries that stand already.
pub(super) async fn write_rows(txn: &Transaction, rows: Vec<EncodedRow>, vacated: &Vacated) -> Result<()> {
    for (at, mut row) in rows.into_iter().enumerate() {
        row.entries.retain(|entry| !vacated.stands(entry));
        write_row(txn, row, false)?;
        take_turns(at).await;
    }
    Ok(())
}

/// `is_new`: nothing is committed under its key.
fn write_row(txn: &Transaction, row: EncodedRow, is_new: bool) -> Result<()> {
    for entry in row.entries {
        txn.write(
            Write::Put {
                key: entry.key,
                value: entry.value,
            },
            None,
        )?;
    }
    let (key, value) = (row.key, row.value);
    match is_new {
        true => txn.write_new(Write::Put { key, value }),
        false => txn.write(Write::Put { key, value }, None),
    }
}

/// Replaces the index entries of rows whose values change under unchanged keys.
async fn replace_entries(
    txn: &Transaction,
    table: &TableDef,
    order: &[&[u8]],
    changes: &HashMap<&[u8], ValueChange<'_>>,
    limits: Limits,
) -> Result<()> {
    let (mut old_rows, mut new_rows) = (whole_rows(table), whole_rows(table));
    // Of each old row the place of the new one.
    let mut places = Vec::new();
    let in_order = order.iter().filter_map(|key| Some((key, changes.get(key)?)));
    for (at, (key, ValueChange { old, new })) in in_order.enumerate() {
        if let Some(old) = old {
            old_rows.push(key, old)?;
            places.push(at);
        }
        new_rows.push(key, new)?;
    }
    let new_batch = new_rows.finish()?;
    let rows = encode_rows(txn, table, &new_batch, limits).await?;
    let stays = |old: usize, key: &Vec<u8>| rows[places[old]].unique_keys().any(|kept| kept == key);
    let vacated = vacated_keys(txn, table, &old_rows.finish()?, limits, stays).await?;
    let mut unique = UniqueKeys::lock(txn, table, &rows, &vacated).await?;
    let mut kept = HashSet::new();
    for (at, row) in rows.iter().enumerate() {
        if let Some(index) = unique.duplicate(table, row) {
            return Err(unique_violation(table, index, &new_batch, at));
        }
        unique.add(row);
        kept.insert(row.key.clone());
        kept.extend(row.entries.iter().map(|entry| entry.key.clone()));
        take_turns(at).await;
    }
    for key in vacated.keys().filter(|key| !kept.contains(*key)) {
        txn.write(Write::Delete { key: key.clone() }, None)?;
    }
    let entries = rows.into_iter().flat_map(|row| row.entries);
    for entry in entries.filter(|entry| !vacated.stands(entry)) {
        txn.write(
            Write::Put {
                key: entry.key,
                value: entry.value,
            },
            None,
        )?;
    }
    Ok(())
}

pub(super) fn unique_violation(table: &TableDef, index: &IndexDef, batch: &RecordBatch, row: usize) -> Error {
    Error::UniqueViolation {
        schema: table.schema.clone(),
        table: table.name.clone(),
        constraint: index.name.clone(),
        key: constraint_key(table, index, batch, row),
    }
}
