//! The times of rows that are written anew without being changed: when they were written, and when they are over.

use super::rows_request::{PAGE_ROWS_MAX, rows_request};
use crate::catalog::TableDef;
use crate::codec::keyspace::entry_prefix;
use crate::codec::row::{RowReader, RowWriter};
use crate::store::{Page, Values, Write};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Gives rows that the transaction has just written under these keys the times of the rows that they were, which these values hold.
pub(super) async fn carry_row_times(txn: &Transaction, keys: &[Vec<u8>], values: &[Vec<u8>]) -> Result<()> {
    let written = txn.with_own_writes().get_many(keys).await?;
    let mut writer = RowWriter::default();
    for (at, (key, value)) in keys.iter().zip(values).enumerate() {
        let copied = written
            .get(at)
            .ok_or_else(|| Error::internal("a row that was just written"))?;
        let value = with_times(&mut writer, RowReader::new(value)?, copied)?;
        let key = key.clone();
        txn.write(Write::Put { key, value }, None)?;
    }
    Ok(())
}

/// A row's value with the times of another: one that was written while its table had no TTL tells none, and counts from whatever ALTER gives
/// the table one.
pub(super) fn with_times(writer: &mut RowWriter, row: RowReader<'_>, copied: &[u8]) -> Result<Vec<u8>> {
    writer.clear();
    writer.set_times(row.write_time(), row.expiry());
    writer.set_unsettled(row.is_unsettled());
    let copied = RowReader::new(copied)?;
    copied
        .columns()
        .for_each(|(id, stored)| writer.push_stored(id, stored));
    Ok(writer.finish())
}

/// Gives the rows of a table that were written anew under another id, in the same transaction, the times that they had: to change how they
/// are stored is no write. Errors: 0A000 where a row has a time of its own and nobody knows which it is now.
pub async fn carry_times(txn: &Transaction, old: &TableDef, new: &TableDef) -> Result<()> {
    if !old.options.expiry.may_be_over() && !old.keeps_versions() {
        return Ok(());
    }
    let (old_key, new_key) = (&old.primary_key.columns, &new.primary_key.columns);
    let is_same_key =
        old_key == new_key && old.fields_of(old_key) == new.fields_of(new_key) && !old.has_hidden_key();
    let prefix = entry_prefix(new.id, new.primary_key.id);
    let mut scan = txn.scan(rows_request(old, None, false, PAGE_ROWS_MAX));
    let (mut page, mut writer) = (Page::new(), RowWriter::default());
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(());
        }
        let keys = page
            .iter()
            .map(|(key, _)| [&prefix, key.get(prefix.len()..).unwrap_or_default()].concat());
        let keys: Vec<Vec<u8>> = keys.collect();
        let values = match is_same_key {
            true => txn.get_many(&keys).await?,
            false => Values::default(),
        };
        for (at, key) in keys.into_iter().enumerate() {
            let row = RowReader::new(page.row(at).1)?;
            let Some(value) = values.get(at) else {
                if row.expiry().is_some() {
                    return Err(Error::unsupported(
                        "another key for rows with a time of their own (_l_ttl_)",
                        Some("Insert the rows into a new table, or wait until those rows are over."),
                    ));
                }
                continue;
            };
            let value = with_times(&mut writer, row, value)?;
            txn.write(Write::Put { key, value }, None)?;
        }
        tokio::task::yield_now().await;
    }
}
