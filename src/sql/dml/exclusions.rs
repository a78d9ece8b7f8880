//! Exclusion constraints: who writes a row locks what could be in its way until its transaction ends, and its neighbours are asked when the
//! statement ends, or the transaction, as of unique keys that are DEFERRABLE (`deferrable_keys`).

use std::sync::Arc;

use arrow::array::RecordBatch;

use crate::catalog::{Deferral, Exclusion, IndexDef, TableDef};
use crate::error::Raised;
use crate::store::LockMode;
use crate::system::{DeferredCheck, ExclusionCheck, StatementContext};
use crate::table::{Conflicts, EntryEncoder, ExclusionReader, indexed_key_text};
use crate::{Error, Result};

/// Keys that rows of a table have got.
#[derive(Debug)]
pub(super) struct WrittenExclusion {
    table: Arc<TableDef>,
    index: IndexDef,
    exclusion: Exclusion,
    keys: Vec<Vec<u8>>,
}

/// Rows are written: locks what could be in their way, and answers the keys that they have got and `old` ones had not. Errors: 40P01, 55P03.
pub(super) async fn note(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    new: Option<&RecordBatch>,
    old: Option<&RecordBatch>,
) -> Result<Vec<WrittenExclusion>> {
    let mut written = Vec::new();
    for (index, exclusion) in table.exclusions() {
        let reader = ExclusionReader::new(&ctx.txn, table, (index, exclusion));
        let encoder = EntryEncoder::new(table, index, ctx.settings.limits);
        let (mut left, mut keys) = (keys_of(&encoder, old)?, keys_of(&encoder, new)?);
        lock(ctx, &reader, left.iter().chain(&keys)).await?;
        left.sort_unstable();
        keys.retain(|key| left.binary_search(key).is_err());
        if !keys.is_empty() {
            written.push(WrittenExclusion {
                table: Arc::clone(table),
                index: index.clone(),
                exclusion: exclusion.clone(),
                keys,
            });
        }
    }
    Ok(written)
}

/// Whether nothing is in the way of a row that ON CONFLICT DO NOTHING would insert, of the constraints that it says. Errors: 40P01, 55P03.
pub(super) async fn is_free(
    ctx: &StatementContext,
    table: &TableDef,
    row: &RecordBatch,
    conflicts: Conflicts,
) -> Result<bool> {
    let is_asked = |index: &IndexDef| conflicts == Conflicts::Any || conflicts == Conflicts::On(index.id);
    for (index, exclusion) in table.exclusions().filter(|(index, _)| is_asked(index)) {
        let encoder = EntryEncoder::new(table, index, ctx.settings.limits);
        let Some(key) = encoder.indexed_key(row, 0)? else {
            continue;
        };
        let reader = ExclusionReader::new(&ctx.txn, table, (index, exclusion));
        lock(ctx, &reader, std::iter::once(&key)).await?;
        let newest = ctx.at_newest().await?;
        let reader = ExclusionReader::new(&newest.txn, table, (index, exclusion));
        if reader.conflict_of_new(&key).await?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Locks all that could be in the way of rows with these keys.
async fn lock(
    ctx: &StatementContext,
    reader: &ExclusionReader<'_>,
    keys: impl Iterator<Item = &Vec<u8>>,
) -> Result<()> {
    let mut neighbourhoods = Vec::new();
    for key in keys {
        neighbourhoods.push(reader.neighbourhood(key)?.to_vec());
    }
    neighbourhoods.sort_unstable();
    neighbourhoods.dedup();
    ctx.txn.lock_unread(&neighbourhoods, LockMode::Change).await
}

/// The keys of rows, in their order.
fn keys_of(encoder: &EntryEncoder<'_>, rows: Option<&RecordBatch>) -> Result<Vec<Vec<u8>>> {
    let mut keys = Vec::new();
    if let Some(rows) = rows {
        for row in 0..rows.num_rows() {
            keys.extend(encoder.indexed_key(rows, row)?);
        }
    }
    Ok(keys)
}

/// The statement is over: rows that are in the way of one another are an error, or left to the end of the transaction. Errors: 23P01.
pub(super) async fn settle(ctx: &StatementContext, written: WrittenExclusion) -> Result<()> {
    let WrittenExclusion {
        table,
        index,
        exclusion,
        keys,
    } = written;
    let initially = exclusion.deferral == Some(Deferral::Deferred);
    let is_deferred = exclusion.deferral.is_some()
        && ctx.asks_deferred
        && ctx.session.deferred.is_deferred(index.oid, initially);
    let newest = ctx.at_newest().await?;
    let reader = ExclusionReader::new(&newest.txn, &table, (&index, &exclusion));
    for (at, key) in keys.iter().enumerate() {
        let Some(other) = reader.conflict(key).await? else {
            continue;
        };
        if !is_deferred {
            // Of two rows that the statement has written the later one is at fault.
            let is_later = keys[at + 1..].contains(&other);
            let pair = if is_later { [&other, key] } else { [key, &other] };
            return Err(violation(&table, &index, pair.map(Vec::as_slice))?);
        }
        ctx.session.touch();
        ctx.session
            .deferred
            .leave(DeferredCheck::Exclusion(ExclusionCheck {
                table: Arc::clone(&table),
                index: index.oid,
                keys: keys[at..].to_vec(),
            }));
        return Ok(());
    }
    Ok(())
}

/// Asks what was left. Errors: 23P01.
pub(super) async fn ask(ctx: &StatementContext, check: &ExclusionCheck) -> Result<()> {
    let newest = ctx.at_newest().await?;
    let Some(table) = newest.table_by_oid(check.table.oid) else {
        return Ok(());
    };
    let Some((index, exclusion)) = table.exclusions().find(|(index, _)| index.oid == check.index) else {
        return Ok(());
    };
    let reader = ExclusionReader::new(&newest.txn, table, (index, exclusion));
    for key in &check.keys {
        if let Some(other) = reader.conflict(key).await? {
            return Err(violation(table, index, [key, &other])?);
        }
    }
    Ok(())
}

/// Whether the constraints of these names of a table hold of all its rows. Errors: 23P01.
pub(crate) async fn verify_exclusions(ctx: &StatementContext, table: u32, names: &[String]) -> Result<()> {
    if names.is_empty() {
        return Ok(());
    }
    let newest = ctx.at_newest().await?;
    let Some(table) = newest.table_by_oid(table) else {
        return Ok(());
    };
    for (index, exclusion) in table
        .exclusions()
        .filter(|(index, _)| names.contains(&index.name))
    {
        let reader = ExclusionReader::new(&newest.txn, table, (index, exclusion));
        if let Some((one, other)) = reader.any_conflict().await? {
            let [one, other] = [one, other].map(|key| indexed_key_text(table, index, &key));
            let message = format!("could not create exclusion constraint \"{}\"", index.name);
            let detail = format!("Key {} conflicts with key {}.", one?, other?);
            return Err(raised(table, index, message, detail));
        }
    }
    Ok(())
}

fn violation(table: &TableDef, index: &IndexDef, [key, other]: [&[u8]; 2]) -> Result<Error> {
    let message = format!(
        "conflicting key value violates exclusion constraint \"{}\"",
        index.name
    );
    let (new, old) = (
        indexed_key_text(table, index, key)?,
        indexed_key_text(table, index, other)?,
    );
    let detail = format!("Key {new} conflicts with existing key {old}.");
    Ok(raised(table, index, message, detail))
}

fn raised(table: &TableDef, index: &IndexDef, message: String, detail: String) -> Error {
    Raised {
        detail: Some(detail),
        schema: Some(table.schema.clone()),
        table: Some(table.name.clone()),
        constraint: Some(index.name.clone()),
        ..Raised::new("23P01", message)
    }
    .into()
}
