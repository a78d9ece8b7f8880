//! The keys that rows refer to: whether they are there, by a lookup of each, which is locked so that it stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow::compute::take;

use super::generated_columns::with_generated;
use super::partition_rows::PartitionRows;
use crate::catalog::{ForeignKey, IndexDef, TableDef, counterpart, record_key};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;
use crate::functions::value_array::array_of;
use crate::plan::equal_value;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::{Arbiter, EntryReader, RowPages, key_text};
use crate::types::{FormatSettings, SqlType, Value, comparable_text, take_rows, value_at};
use crate::{Error, Result};

/// Keys that were not there.
#[derive(Debug)]
pub(super) struct Missing {
    /// The table that refers.
    pub(super) table: Arc<TableDef>,
    pub(super) foreign_key: ForeignKey,
    /// In the order of [`ForeignKey::columns`].
    pub(super) columns: Vec<ArrayRef>,
}

/// Keys as values of the columns of one of the two tables.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    pub(super) columns: &'a [ArrayRef],
    pub(super) types: Vec<SqlType>,
}

impl<'a> Keys<'a> {
    /// Of these columns of a table, in the order of the foreign key.
    pub(super) fn new((table, ids): (&TableDef, &[ColumnId]), columns: &'a [ArrayRef]) -> Keys<'a> {
        let types = named_columns(table, ids).into_iter().map(|(_, ty)| ty.clone());
        Keys {
            columns,
            types: types.collect(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }
}

/// Which of these keys, none of which has a NULL, are not there; the others are locked and stay. Errors: 40001 where a transaction that
/// keeps its snapshot sees a key that is gone.
pub(super) async fn missing_keys(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    key: &ForeignKey,
    columns: Vec<ArrayRef>,
) -> Result<Option<Missing>> {
    let referenced = referenced_table(ctx, table, key)?;
    let record = [record_key(referenced.id)];
    ctx.txn.lock(&record, LockMode::RowShare).await?;
    let keys = Keys::new((table, &key.columns), &columns);
    let absent = absent_keys(ctx, &referenced, key, &keys, true).await?;
    if absent.is_empty() {
        return Ok(None);
    }
    let absent = UInt32Array::from(absent);
    let columns = columns
        .iter()
        .map(|column| take(column, &absent, None).map_err(Error::arrow));
    Ok(Some(Missing {
        table: Arc::clone(table),
        foreign_key: key.clone(),
        columns: columns.collect::<Result<_>>()?,
    }))
}

/// Errors: 23503 for a key that is still not there.
pub(super) async fn check_present(ctx: &StatementContext, missing: &Missing) -> Result<()> {
    let Missing {
        table,
        foreign_key,
        columns,
    } = missing;
    let referenced = referenced_table(ctx, table, foreign_key)?;
    let keys = Keys::new((table, &foreign_key.columns), columns);
    let absent = absent_keys(ctx, &referenced, foreign_key, &keys, true).await?;
    match absent.first() {
        None => Ok(()),
        Some(row) => Err(not_present(
            table,
            foreign_key,
            &referenced,
            columns,
            *row as usize,
        )),
    }
}

/// Whether all rows that the transaction sees refer to what is there, while nobody else writes either table. Errors: 23503.
pub(crate) async fn verify_foreign_key(
    ctx: &StatementContext,
    table: &TableDef,
    key: &ForeignKey,
) -> Result<()> {
    match first_absent(ctx, table, key).await? {
        Some((referenced, columns, row)) => Err(not_present(table, key, &referenced, &columns, row)),
        None => Ok(()),
    }
}

/// The same where rows of the table that is referred to have gone with a partition, which was called so. Errors: 23503.
pub(crate) async fn verify_without_partition(
    ctx: &StatementContext,
    table: &TableDef,
    key: &ForeignKey,
    partition: &str,
) -> Result<()> {
    let Some((_, columns, row)) = first_absent(ctx, table, key).await? else {
        return Ok(());
    };
    let named = named_columns(table, &key.columns);
    Err(Error::ForeignKeyViolation {
        schema: table.schema.clone(),
        table: table.name.clone(),
        constraint: key.name.clone(),
        message: format!(
            "removing partition \"{partition}\" violates foreign key constraint \"{}\"",
            key.name
        ),
        detail: format!(
            "Key {} is still referenced from table \"{}\".",
            key_text(&named, &columns, row),
            table.name
        ),
    })
}

/// The table that is referred to, and the columns and the row of the first key that is not there. Errors: 23503 as of [`check_match`].
async fn first_absent(
    ctx: &StatementContext,
    table: &TableDef,
    key: &ForeignKey,
) -> Result<Option<(Arc<TableDef>, Vec<ArrayRef>, usize)>> {
    let referenced = match key.table == table.oid {
        true => Arc::new(table.clone()),
        false => referenced_table(ctx, table, key)?,
    };
    let mut pages = RowPages::new(&ctx.txn, table);
    while let Some(rows) = pages.next().await? {
        let columns = columns_of(table, &key.columns, &rows)?;
        check_match(table, key, &columns)?;
        let whole = (0..rows.num_rows() as u32)
            .filter(|row| columns.iter().all(|column| column.is_valid(*row as usize)));
        let whole = UInt32Array::from_iter_values(whole);
        let columns = columns
            .iter()
            .map(|column| take(column, &whole, None).map_err(Error::arrow));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let keys = Keys::new((table, &key.columns), &columns);
        let absent = absent_keys(ctx, &referenced, key, &keys, false).await?;
        if let Some(row) = absent.first() {
            return Ok(Some((referenced, columns, *row as usize)));
        }
    }
    Ok(None)
}

/// Places of the keys that are not in the table. `locks`: those that are there are locked.
pub(super) async fn absent_keys(
    ctx: &StatementContext,
    referenced: &TableDef,
    key: &ForeignKey,
    keys: &Keys<'_>,
    locks: bool,
) -> Result<Vec<u32>> {
    let rows = rows_with_keys(ctx, referenced, key, keys)?;
    if rows.num_rows() == 0 {
        return Ok(Vec::new());
    }
    if referenced.partitioning.is_some() {
        return Box::pin(absent_in_partitions(ctx, (referenced, key), (keys, &rows), locks)).await;
    }
    let arbiter = Arbiter::new(referenced, index_of(referenced, key)?, ctx.settings.limits);
    // A value that the key's column cannot hold is in no row.
    let whole = |row: &usize| {
        key.referenced.iter().all(|id| {
            let at = referenced.column_index_by_id(*id);
            at.is_some_and(|at| rows.column(at).is_valid(*row))
        })
    };
    let (held, not_held): (Vec<usize>, Vec<usize>) = (0..rows.num_rows()).partition(whole);
    let held_rows = UInt32Array::from_iter_values(held.iter().map(|row| *row as u32));
    let held_rows = take_rows(&rows, &held_rows).map_err(Error::arrow)?;
    let keys: Vec<Vec<u8>> = arbiter.keys(&held_rows)?.into_iter().flatten().collect();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let is_there = match arbiter.index() {
        Some(index) if referenced.options.expiry.may_be_over() => {
            present_by_entries(ctx, (referenced, index), &sorted, locks).await?
        }
        _ => present(ctx, &sorted, locks).await?,
    };
    let absent = held.into_iter().zip(&keys).filter(|(_, key)| {
        let at = sorted.binary_search(key);
        !at.is_ok_and(|at| is_there[at])
    });
    let mut absent: Vec<u32> = absent.map(|(row, _)| row as u32).collect();
    absent.extend(not_held.into_iter().map(|row| row as u32));
    absent.sort_unstable();
    Ok(absent)
}

/// The same of a partitioned table, which has the keys in the partitions that have such `rows`.
async fn absent_in_partitions(
    ctx: &StatementContext,
    (referenced, key): (&TableDef, &ForeignKey),
    (keys, rows): (&Keys<'_>, &RecordBatch),
    locks: bool,
) -> Result<Vec<u32>> {
    let partitions = PartitionRows::of(ctx, referenced)?;
    let (mut absent, mut rows_of) = (Vec::new(), BTreeMap::<usize, Vec<u32>>::new());
    for (row, place) in (0..).zip(partitions.places(rows)?) {
        match place {
            Some(place) => rows_of.entry(place).or_default().push(row),
            None => absent.push(row),
        }
    }
    for (place, rows) in rows_of {
        let partition = &partitions.partitions()[place];
        if locks {
            let record = [record_key(partition.id)];
            ctx.txn.lock(&record, LockMode::RowShare).await?;
        }
        let own = UInt32Array::from(rows);
        let columns = keys.columns.iter();
        let columns = columns.map(|column| take(column, &own, None).map_err(Error::arrow));
        let keys = Keys {
            columns: &columns.collect::<Result<Vec<_>>>()?,
            types: keys.types.clone(),
        };
        let key = key_of_partition(referenced, key, partition).ok_or_else(lost_key)?;
        let found = absent_keys(ctx, partition, &key, &keys, locks).await?;
        absent.extend(found.into_iter().map(|at| own.value(at as usize)));
    }
    absent.sort_unstable();
    Ok(absent)
}

/// A foreign key to a partitioned table as one to a partition of it.
fn key_of_partition(referenced: &TableDef, key: &ForeignKey, partition: &TableDef) -> Option<ForeignKey> {
    let index = referenced.all_indexes().find(|index| index.oid == key.key)?;
    let columns = key.referenced.iter();
    let columns = columns.map(|id| referenced.column_below(*id, partition));
    Some(ForeignKey {
        table: partition.oid,
        key: counterpart(referenced, index, partition)?.oid,
        referenced: columns.collect::<Option<_>>()?,
        ..key.clone()
    })
}

/// The table that a foreign key refers to, and the columns of `table`, which is that one or a partition of it, that it refers to.
pub(super) fn referenced_columns(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    key: &ForeignKey,
) -> Result<(Arc<TableDef>, Vec<ColumnId>)> {
    if key.table == table.oid {
        return Ok((Arc::clone(table), key.referenced.clone()));
    }
    let referenced = referenced_table(ctx, table, key)?;
    let columns = key.referenced.iter();
    let columns = columns.map(|id| referenced.column_below(*id, table));
    let columns = columns.collect::<Option<_>>().ok_or_else(lost_key)?;
    Ok((referenced, columns))
}

/// Whether something stands under each of these stored keys, which are sorted.
async fn present(ctx: &StatementContext, keys: &[Vec<u8>], locks: bool) -> Result<Vec<bool>> {
    let txn = &ctx.txn;
    if !locks {
        let values = txn.get_many(keys).await?;
        return Ok((0..keys.len()).map(|at| values.get(at).is_some()).collect());
    }
    let locked = txn.lock_newest(keys, LockMode::KeyShare).await?;
    let mut is_there: Vec<bool> = (0..keys.len())
        .map(|at| locked.values.get(at).is_some())
        .collect();
    if txn.keeps_snapshot() {
        // What it does not see is not there for it.
        let seen = txn.get_stored_rows(keys).await?;
        for (at, key) in keys.iter().enumerate().filter(|(_, key)| !txn.has_written(key)) {
            match (seen.get(at).is_some(), is_there[at]) {
                (true, false) => return Err(Error::Conflict { key: key.clone() }),
                (is_seen, _) => is_there[at] = is_seen,
            }
        }
    }
    Ok(is_there)
}

/// Whether rows stand behind the entries under these stored keys, which are sorted, of a table whose rows may be over: an entry does not
/// tell.
async fn present_by_entries(
    ctx: &StatementContext,
    (referenced, index): (&TableDef, &IndexDef),
    keys: &[Vec<u8>],
    locks: bool,
) -> Result<Vec<bool>> {
    let mut is_there = present(ctx, keys, locks).await?;
    // What is there now, if they are locked: it stays.
    let entries = match locks {
        true => ctx.txn.get_newest(keys).await?,
        false => ctx.txn.get_many(keys).await?,
    };
    let mut reader = EntryReader::new(referenced, index);
    let mut rows = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        match entries.get(at).filter(|_| is_there[at]) {
            Some(value) => rows.push((reader.row_key(key, value)?, at)),
            None => is_there[at] = false,
        }
    }
    rows.sort_unstable();
    let row_keys: Vec<Vec<u8>> = rows.iter().map(|(key, _)| key.clone()).collect();
    let found = present(ctx, &row_keys, locks).await?;
    for ((_, at), found) in rows.into_iter().zip(found) {
        is_there[at] = found;
    }
    Ok(is_there)
}

/// Rows of the table referred to that have these keys and nothing else.
fn rows_with_keys(
    ctx: &StatementContext,
    referenced: &TableDef,
    key: &ForeignKey,
    keys: &Keys<'_>,
) -> Result<RecordBatch> {
    let count = keys.len();
    let mut arrays: Vec<ArrayRef> = referenced
        .columns
        .iter()
        .map(|column| new_null_array(&column.ty.arrow_type(), count))
        .collect();
    for (id, (column, own)) in key.referenced.iter().zip(keys.columns.iter().zip(&keys.types)) {
        let at = referenced.column_index_by_id(*id).ok_or_else(lost_key)?;
        arrays[at] = equal_values(column, own, &referenced.columns[at].ty)?;
    }
    let rows = RecordBatch::try_new(referenced.write_schema(), arrays).map_err(Error::arrow)?;
    match referenced
        .key_columns()
        .iter()
        .any(|at| referenced.columns[*at].generation().is_some())
    {
        // The hidden column that spreads rows is computed of the others of the key.
        true => with_generated(ctx, referenced, rows),
        false => Ok(rows),
    }
}

/// The values of a column of the type `ty` that equal these; NULL where there is none.
pub(super) fn equal_values(column: &ArrayRef, own: &SqlType, ty: &SqlType) -> Result<ArrayRef> {
    if own == ty || own.is_integer() && ty.is_integer() {
        return arrow::compute::cast(column, &ty.arrow_type()).map_err(Error::arrow);
    }
    let values = (0..column.len()).map(|row| {
        Ok(match value_at(column, row, own)? {
            Value::Text(text) => text_of(ty, &comparable_text(own, &text)),
            value => equal_value(ty, &value).unwrap_or(Value::Null),
        })
    });
    array_of(&values.collect::<Result<Vec<_>>>()?, ty)
}

/// A text as one of the type; NULL for one that a char(n) is too short for. Blanks at the end mean nothing there.
fn text_of(ty: &SqlType, text: &str) -> Value {
    let text = Value::Text(text.to_string());
    match ty {
        SqlType::Char(_) => text
            .assign(ty, "", &FormatSettings::default())
            .unwrap_or(Value::Null),
        _ => text,
    }
}

/// The key of the table that a foreign key refers to.
fn index_of(referenced: &TableDef, key: &ForeignKey) -> Result<IndexId> {
    let index = referenced.all_indexes().find(|index| index.oid == key.key);
    Ok(index.ok_or_else(lost_key)?.id)
}

pub(super) fn referenced_table(
    ctx: &StatementContext,
    table: &TableDef,
    key: &ForeignKey,
) -> Result<Arc<TableDef>> {
    let referenced = ctx.table_by_oid(key.table).cloned();
    referenced.ok_or_else(|| {
        Error::internal(format!(
            "foreign key \"{}\" of \"{}\" refers to no table",
            key.name, table.name
        ))
    })
}

/// 23503 of a row that refers to what is not there.
pub(super) fn not_present(
    table: &TableDef,
    key: &ForeignKey,
    referenced: &TableDef,
    columns: &[ArrayRef],
    row: usize,
) -> Error {
    let named = named_columns(table, &key.columns);
    let detail = format!(
        "Key {} is not present in table \"{}\".",
        key_text(&named, columns, row),
        referenced.name
    );
    violation(table, key, detail)
}

/// Names and types of columns.
pub(super) fn named_columns<'a>(table: &'a TableDef, ids: &[ColumnId]) -> Vec<(&'a str, &'a SqlType)> {
    let columns = ids
        .iter()
        .filter_map(|id| table.columns.get(table.column_index_by_id(*id)?));
    columns.map(|column| (column.name.as_str(), &column.ty)).collect()
}

pub(super) fn lost_key() -> Error {
    Error::internal("a foreign key to a key that is not there")
}

/// The columns with these ids of whole rows.
pub(super) fn columns_of(table: &TableDef, ids: &[ColumnId], rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let column = |id: &ColumnId| {
        let at = table.column_index_by_id(*id);
        let at = at.ok_or_else(|| Error::internal("a foreign key over a column that is not there"))?;
        Ok(Arc::clone(rows.column(at)))
    };
    ids.iter().map(column).collect()
}

/// Errors: 23503 for a key of MATCH FULL of which some columns are NULL and some are not.
pub(super) fn check_match(table: &TableDef, key: &ForeignKey, columns: &[ArrayRef]) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.len());
    let is_mixed = |row: &usize| {
        let nulls = columns.iter().filter(|column| column.is_null(*row)).count();
        nulls > 0 && nulls < columns.len()
    };
    if !key.match_full || !(0..rows).any(|row| is_mixed(&row)) {
        return Ok(());
    }
    Err(violation(
        table,
        key,
        "MATCH FULL does not allow mixing of null and nonnull key values.".to_string(),
    ))
}

/// 23503 of a row that refers.
fn violation(table: &TableDef, key: &ForeignKey, detail: String) -> Error {
    Error::ForeignKeyViolation {
        schema: table.schema.clone(),
        table: table.name.clone(),
        constraint: key.name.clone(),
        message: format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            table.name, key.name
        ),
        detail,
    }
}
