//! UNIQUE constraints that are DEFERRABLE: rows may have the same keys until the statement ends, or the transaction. Their indexes hold an
//! entry for each row; that no two have the same is asked here.
//!
//! Who writes a row, or takes one away, locks the key of each such constraint until its transaction ends: of two that write the same key one
//! waits for the other, and then sees what that has committed.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::take;

use super::keyed_statement::{KEYS_AT_ONCE, KeyedStatement, slice};
use super::referenced_keys::{columns_of, named_columns};
use crate::catalog::{Deferral, IndexDef, TableDef};
use crate::codec::row::ColumnId;
use crate::store::LockMode;
use crate::system::{DeferredCheck, StatementContext, UniqueCheck};
use crate::table::{EntryEncoder, key_text};
use crate::{Error, Result};

/// Keys that rows of a table have got.
#[derive(Debug)]
pub(super) struct WrittenKeys {
    table: Arc<TableDef>,
    index: IndexDef,
    /// In the order of the index.
    keys: Vec<ArrayRef>,
}

impl WrittenKeys {
    /// Of an index of a table.
    pub(super) fn new(table: &Arc<TableDef>, index: &IndexDef, keys: Vec<ArrayRef>) -> WrittenKeys {
        WrittenKeys {
            table: Arc::clone(table),
            index: index.clone(),
            keys,
        }
    }
}

/// The columns of a constraint, of whole rows.
pub(super) fn key_values(table: &TableDef, index: &IndexDef, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    columns_of(table, &key_columns(index), rows)
}

/// The columns of a key.
pub(super) fn key_columns(index: &IndexDef) -> Vec<ColumnId> {
    index.columns.iter().map(|part| part.column).collect()
}

/// Locks the keys that rows have, or had, in all such constraints of their table. Errors: 40P01, 55P03.
pub(super) async fn lock_keys(ctx: &StatementContext, table: &TableDef, rows: &[&RecordBatch]) -> Result<()> {
    let mut keys = Vec::new();
    for (index, _) in table.deferrable_keys() {
        let encoder = EntryEncoder::new(table, index, ctx.settings.limits);
        for batch in rows {
            for row in 0..batch.num_rows() {
                keys.extend(encoder.indexed_key(batch, row)?);
            }
        }
    }
    keys.sort_unstable();
    keys.dedup();
    match keys.is_empty() {
        true => Ok(()),
        false => ctx.txn.lock_unread(&keys, LockMode::Change).await,
    }
}

/// The statement is over: keys that several rows have are an error, or left to the end of the transaction. Errors: 23505.
pub(super) async fn settle(ctx: &StatementContext, written: WrittenKeys) -> Result<()> {
    let WrittenKeys { table, index, keys } = written;
    let initially = index.deferral == Some(Deferral::Deferred);
    let is_deferred = ctx.asks_deferred && ctx.session.deferred.is_deferred(index.oid, initially);
    let rows = keys.first().map_or(0, |column| column.len());
    for from in (0..rows).step_by(KEYS_AT_ONCE) {
        let keys = slice(&keys, from, KEYS_AT_ONCE);
        let Some(found) = first_repeated(ctx, &table, &index, &keys).await? else {
            continue;
        };
        if !is_deferred {
            return Err(repeated(&table, &index, &found));
        }
        ctx.session.touch();
        ctx.session.deferred.leave(DeferredCheck::Unique(UniqueCheck {
            table: Arc::clone(&table),
            index: index.oid,
            keys,
        }));
    }
    Ok(())
}

/// Asks what was left. Errors: 23505.
pub(super) async fn ask(ctx: &StatementContext, check: &UniqueCheck) -> Result<()> {
    let table = ctx.table_by_oid(check.table.oid).cloned();
    let Some(table) = table else {
        return Ok(());
    };
    let Some((index, _)) = table
        .deferrable_keys()
        .find(|(index, _)| index.oid == check.index)
    else {
        return Ok(());
    };
    match first_repeated(ctx, &table, index, &check.keys).await? {
        Some(found) => Err(repeated(&table, index, &found)),
        None => Ok(()),
    }
}

/// One of these keys that several rows have; those with a NULL are nobody's.
async fn first_repeated(
    ctx: &StatementContext,
    table: &TableDef,
    index: &IndexDef,
    keys: &[ArrayRef],
) -> Result<Option<Vec<ArrayRef>>> {
    let rows = keys.first().map_or(0, |column| column.len());
    let whole = (0..rows as u32).filter(|row| keys.iter().all(|column| column.is_valid(*row as usize)));
    let whole = UInt32Array::from_iter_values(whole);
    if whole.is_empty() {
        return Ok(None);
    }
    let keys = keys
        .iter()
        .map(|column| take(column, &whole, None).map_err(Error::arrow));
    let keys: Vec<ArrayRef> = keys.collect::<Result<_>>()?;
    let run = KeyedStatement::of_index(ctx, table.oid, index).await?;
    let columns = run.names.join(", ");
    let text = format!(
        "SELECT {columns} FROM {} WHERE {} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
        run.relation(),
        run.condition(whole.len())
    );
    if run.may_be_over()? {
        if run.first_stored_row(&text, &[&keys]).await?.is_none() {
            return Ok(None);
        }
        run.remove_over(&keys).await?;
    }
    run.first_row(&text, &[&keys]).await
}

/// Whether the constraints of these names of a table hold of all its rows. Errors: 23505.
pub(crate) async fn verify_unrepeated(ctx: &StatementContext, table: u32, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let newest = ctx.at_newest().await?;
    let Some(table) = newest.table_by_oid(table).cloned() else {
        return Ok(());
    };
    let wanted = table
        .deferrable_keys()
        .filter(|(index, _)| names.contains(&index.name));
    for (index, _) in wanted {
        let run = KeyedStatement::of_index(ctx, table.oid, index).await?;
        let columns = run.names.join(", ");
        let present: Vec<String> = run
            .names
            .iter()
            .map(|name| format!("{name} IS NOT NULL"))
            .collect();
        let text = format!(
            "SELECT {columns} FROM {} WHERE {} GROUP BY {columns} HAVING count(*) > 1 LIMIT 1",
            run.relation(),
            present.join(" AND ")
        );
        if let Some(found) = run.first_row(&text, &[]).await? {
            return Err(Error::DuplicateInIndex {
                schema: table.schema.clone(),
                table: table.name.clone(),
                index: index.name.clone(),
                key: key_text(&named_columns(&table, &key_columns(index)), &found, 0),
            });
        }
    }
    Ok(())
}

fn repeated(table: &TableDef, index: &IndexDef, found: &[ArrayRef]) -> Error {
    Error::UniqueViolation {
        schema: table.schema.clone(),
        table: table.name.clone(),
        constraint: index.name.clone(),
        key: key_text(&named_columns(table, &key_columns(index)), found, 0),
    }
}
