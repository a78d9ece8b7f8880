//! Verifies that an index holds no entry too many. Called after `rows` has found the entries that belong there.

use super::rows::RowCheck;
use super::{Check, RelationFigures};
use crate::Result;
use crate::catalog::check::{FaultKind, Walk, hex};
use crate::catalog::{IndexDef, TableDef};
use crate::codec::keyspace::{entry_prefix, index_range};
use crate::store::Page;
use crate::table::{EntryReader, stored_key_text};

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
    let mut reader = EntryReader::new(table, index);
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
            .map(|(key, value)| reader.row_key(key, value))
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
                (Ok(row_key), Some(value)) => match rows.entries(index, row_key, value) {
                    Ok(entries) if entries.iter().any(|entry| entry.key == key) => continue,
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
