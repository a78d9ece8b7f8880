//! Verifies that an index holds no entry too many. Called after `rows` has found the entries that belong there.

use super::rows::RowCheck;
use super::{Check, RelationFigures};
use crate::catalog::check::{FaultKind, Walk, hex};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, entry_prefix, index_range};
use crate::codec::row::{ColumnBuilder, ColumnId, RowReader};
use crate::store::Page;
use crate::table::stored_key_text;
use crate::types::Value;
use crate::{Error, Result};

/// Checks one index, in which `matched` rows have their entry: counts, and looks for the others only if there are any.
pub(super) async fn check(
    check: &mut Check<'_>,
    table: &TableDef,
    index: &IndexDef,
    matched: u64,
    figures: &mut RelationFigures,
) -> Result<()> {
    let mut walk = Walk::new(&*check.snapshot, vec![index_range(table.id, index.id)], false);
    let mut page = Page::new();
    let before = figures.entries;
    loop {
        walk.next_page(&mut page, Some(&figures.name), &mut check.faults)
            .await?;
        if page.is_empty() {
            break;
        }
        figures.entries += page.len() as u64;
        figures.bytes += page.size_bytes() as u64;
        check.tell(figures);
    }
    if figures.entries - before != matched {
        find_strays(check, table, index, figures).await?;
    }
    Ok(())
}

/// Looks up the row of every entry.
async fn find_strays(
    check: &mut Check<'_>,
    table: &TableDef,
    index: &IndexDef,
    figures: &RelationFigures,
) -> Result<()> {
    let mut rows = RowCheck::new(table);
    let no_row = entry_prefix(table.id, table.primary_key.id);
    let mut walk = Walk::new(&*check.snapshot, vec![index_range(table.id, index.id)], false);
    let mut page = Page::new();
    loop {
        // What cannot be read is a fault already.
        walk.next_page(&mut page, None, &mut Default::default()).await?;
        if page.is_empty() {
            return Ok(());
        }
        let row_keys: Vec<Result<Vec<u8>>> = page
            .iter()
            .map(|(key, value)| row_key(table, index, key, value))
            .collect();
        // An entry without a readable row key asks for a key that no row has: one without fields.
        let asked: Vec<Vec<u8>> = row_keys
            .iter()
            .map(|row_key| row_key.clone().unwrap_or_else(|_| no_row.to_vec()))
            .collect();
        let found = check.get_many(&figures.name, &asked).await?;
        for (at, (key, _)) in page.iter().enumerate() {
            let reason = match (&row_keys[at], found.values.get(at)) {
                (Err(error), _) => error.to_string(),
                (Ok(_), None) if found.unreadable.contains(&at) => continue,
                (Ok(_), None) => "there is no such row".to_string(),
                (Ok(row_key), Some(value)) => match rows.entry(index, row_key, value) {
                    Ok(entry) if entry.key == key => continue,
                    Ok(_) => "its row holds other values".to_string(),
                    // The row is a fault of its own.
                    Err(_) => continue,
                },
            };
            let text = stored_key_text(table, index, key).unwrap_or_else(|_| hex(key));
            let reason = format!("entry of index \"{}\": {reason}", index.name);
            check
                .faults
                .add(FaultKind::StrayEntry, Some(&figures.name), text, reason);
        }
        check.tell(figures);
    }
}

/// The key of the row that an entry is of. Errors: `Corrupt`.
fn row_key(table: &TableDef, index: &IndexDef, key: &[u8], value: &[u8]) -> Result<Vec<u8>> {
    let mut rest = key.get(ENTRY_PREFIX_BYTES..).unwrap_or_default();
    let indexed = fields(table, index);
    let primary = fields(table, &table.primary_key);
    let mut values = read_fields(&mut rest, indexed.iter())?;
    let is_exclusive = index.unique && values.iter().all(|(_, value)| *value != Value::Null);
    if !is_exclusive {
        let is_indexed = |id: ColumnId| indexed.iter().any(|(known, _)| *known == id);
        let others = primary.iter().filter(|(id, _)| !is_indexed(*id));
        values.extend(read_fields(&mut rest, others)?);
    }
    if !rest.is_empty() {
        return Err(damaged("its key goes on behind its last column"));
    }
    let held = RowReader::new(value)?;
    let mut row_key = entry_prefix(table.id, table.primary_key.id).to_vec();
    for (id, field) in &primary {
        if let Some((_, value)) = values.iter().find(|(known, _)| known == id) {
            key::encode_value(&mut row_key, value, field);
            continue;
        }
        let stored = held
            .get(*id)
            .ok_or_else(|| damaged("its value lacks a key column"))?;
        let mut builder = ColumnBuilder::new(&field.ty, 1);
        builder.append_stored(stored)?;
        key::encode_array(&mut row_key, &builder.finish(), 0, field);
    }
    Ok(row_key)
}

/// The columns of an index with how they stand in its keys.
fn fields(table: &TableDef, index: &IndexDef) -> Vec<(ColumnId, KeyField)> {
    let ids = index.columns.iter().map(|column| column.column);
    ids.zip(table.key_fields(index)).collect()
}

/// The values of the columns that `rest` begins with, which it then is behind of.
fn read_fields<'f>(
    rest: &mut &[u8],
    fields: impl Iterator<Item = &'f (ColumnId, KeyField)>,
) -> Result<Vec<(ColumnId, Value)>> {
    let mut values = Vec::new();
    for (id, field) in fields {
        let (value, length) = key::decode_value(rest, field)?;
        *rest = rest.get(length..).unwrap_or_default();
        values.push((*id, value));
    }
    Ok(values)
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt {
        what: "index entry".to_string(),
        reason: reason.to_string(),
    }
}
