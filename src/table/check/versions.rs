//! Verifies the older versions of one table's rows: that each decodes, stands under a key that a row may have, has its time there, and
//! that no version is newer than its row, nor left of a row that is gone without a word.

use super::rows::RowCheck;
use super::{Check, RelationFigures};
use crate::Result;
use crate::catalog::TableDef;
use crate::catalog::check::{FaultKind, Walk, hex};
use crate::codec::row::RowReader;
use crate::codec::version::{row_key_of, split_version_key};
use crate::store::Page;
use crate::table::stored_key_text;
use crate::table::versions::time_of;

/// Checks all older versions of a table that keeps them.
pub(super) async fn check(
    check: &mut Check<'_>,
    table: &TableDef,
    figures: &mut RelationFigures,
) -> Result<()> {
    let Some(range) = table.versions_range() else {
        return Ok(());
    };
    let mut rows = RowCheck::of_versions(table);
    let mut walk = Walk::new(&*check.snapshot, vec![range], false);
    let mut page = Page::new();
    // The row whose version came by last, and whether that says that it was removed.
    let mut before: Option<Vec<u8>> = None;
    loop {
        walk.next_page(&mut page, Some(&figures.name), &mut check.faults)
            .await?;
        if page.is_empty() {
            return Ok(());
        }
        figures.versions += page.len() as u64;
        figures.bytes += page.size_bytes() as u64;
        let keys: Vec<Vec<u8>> = page
            .iter()
            .map(|(key, _)| row_key_of(key).unwrap_or_default())
            .collect();
        let found = check.get_many(&figures.name, &keys).await?;
        for (at, (key, value)) in page.iter().enumerate() {
            let is_first = before.as_ref() != Some(&keys[at]);
            let newest = found.values.get(at).map(RowReader::new);
            let is_known = !found.unreadable.contains(&at);
            let reason = match fault_of(&mut rows, table, (key, value), &keys[at]) {
                Err(error) => Some(error.to_string()),
                Ok((time, is_removal)) => match newest {
                    // The row is a fault of its own.
                    Some(Err(_)) => None,
                    Some(Ok(row)) if time >= time_of(&row, &table.options.versions) => {
                        Some("it is no older than its row".to_string())
                    }
                    None if is_known && is_first && !is_removal => Some("there is no such row".to_string()),
                    _ => None,
                },
            };
            if let Some(reason) = reason {
                let text = stored_key_text(table, &table.primary_key, &keys[at]);
                let text = text.unwrap_or_else(|_| hex(key));
                let reason = format!("older version: {reason}");
                check
                    .faults
                    .add(FaultKind::Row, Some(&figures.name), text, reason);
            }
            before = Some(keys[at].clone());
        }
        check.tell(figures);
    }
}

/// The time of a version, and whether it says that its row was removed. Errors: `Corrupt`.
fn fault_of(
    rows: &mut RowCheck<'_>,
    table: &TableDef,
    (key, value): (&[u8], &[u8]),
    row_key: &[u8],
) -> Result<(i64, bool)> {
    let (_, time) = split_version_key(key)?;
    let reader = RowReader::new(value)?;
    rows.require_row(row_key, value)?;
    let own = time_of(&reader, &table.options.versions);
    // The time of a row that tells none is that of its table.
    if own != time || reader.is_unsettled() {
        return Err(super::rows::damaged("its time is not that of its key"));
    }
    Ok((time, reader.is_removal()))
}
