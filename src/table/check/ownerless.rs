//! Finds keys that belong to nothing: everything outside of the key ranges that the catalog's records explain. The last
//! part of a check.

use super::Check;
use crate::Result;
use crate::catalog::check::{CheckedCatalog, FaultKind, Walk, hex};
use crate::codec::KeyRange;
use crate::codec::keyspace::{IndexId, Keyspace, index_range, table_range};
use crate::store::Page;

/// Reads all keys between the ranges that have an owner; each is a fault. Answers how many keys of dropped ranges are
/// still there, which is none.
pub(super) async fn check(check: &mut Check<'_>, catalog: &CheckedCatalog) -> Result<u64> {
    let mut owned = vec![table_range(0)];
    owned.extend(catalog.unreadable.iter().map(|id| table_range(*id)));
    for table in &catalog.tables {
        // What ALTER PRIMARY KEY writes beside it.
        owned.extend(
            table
                .rekeying
                .iter()
                .flat_map(|rekeying| [table_range(rekeying.id), index_range(table.id, rekeying.log)]),
        );
        owned.push(index_range(table.id, table.primary_key.id));
        owned.extend(table.kept_indexes().map(|index| index_range(table.id, index.id)));
        owned.extend(table.versions_range());
    }
    let dropped = merged(
        catalog
            .dropped
            .iter()
            .map(|range| dropped_range(*range))
            .collect(),
    );
    owned.extend(dropped.iter().cloned());
    find_ownerless(check, catalog, between(&merged(owned))).await?;
    count_keys(check, dropped).await
}

async fn find_ownerless(
    check: &mut Check<'_>,
    catalog: &CheckedCatalog,
    ranges: Vec<KeyRange>,
) -> Result<()> {
    let mut walk = Walk::new(&*check.snapshot, ranges, true);
    let mut page = Page::new();
    loop {
        walk.next_page(&mut page, None, &mut check.faults).await?;
        if page.is_empty() {
            return Ok(());
        }
        for (key, _) in page.iter() {
            let (kind, relation, reason) = match Keyspace::decode(key) {
                Err(error) => (FaultKind::Key, None, error.to_string()),
                Ok(Keyspace::Entry { table, index, .. }) => {
                    match catalog.tables.iter().find(|known| known.id == table) {
                        None => (FaultKind::Ownerless, None, format!("there is no table {table}")),
                        Some(known) => {
                            let name = catalog.name_of(known);
                            let reason = format!("the table has no index {index} with entries");
                            (FaultKind::Ownerless, Some(name), reason)
                        }
                    }
                }
                // The system's keys have been read: they stand in a range of their own.
                Ok(_) => continue,
            };
            check.faults.add(kind, relation.as_deref(), hex(key), reason);
        }
    }
}

async fn count_keys(check: &mut Check<'_>, ranges: Vec<KeyRange>) -> Result<u64> {
    let mut walk = Walk::new(&*check.snapshot, ranges, true);
    let (mut page, mut keys) = (Page::new(), 0);
    loop {
        walk.next_page(&mut page, None, &mut check.faults).await?;
        if page.is_empty() {
            return Ok(keys);
        }
        keys += page.len() as u64;
    }
}

fn dropped_range((table, index): (u32, IndexId)) -> KeyRange {
    match index {
        IndexId::MAX => table_range(table),
        index => index_range(table, index),
    }
}

/// The same keys in sorted, disjoint ranges.
fn merged(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort();
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.end.as_ref().is_none_or(|end| *end >= range.start) => {
                if range.end.is_none() || last.end.is_some() && range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => merged.push(range),
        }
    }
    merged
}

/// What lies outside of sorted, disjoint ranges. No key is empty, so `00` is the first that can be.
fn between(ranges: &[KeyRange]) -> Vec<KeyRange> {
    let mut between = Vec::with_capacity(ranges.len() + 1);
    let mut start = Some(vec![0]);
    for range in ranges {
        if let Some(start) = start.take().filter(|start| *start < range.start) {
            between.push(KeyRange {
                start,
                end: Some(range.start.clone()),
            });
        }
        start = range.end.clone();
    }
    if let Some(start) = start {
        between.push(KeyRange { start, end: None });
    }
    between
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: &[u8], end: Option<&[u8]>) -> KeyRange {
        KeyRange {
            start: start.to_vec(),
            end: end.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn ranges_merge_and_what_is_left_lies_between() {
        let ranges = vec![
            range(&[5], Some(&[6])),
            range(&[1], Some(&[3])),
            range(&[2], Some(&[3])),
            range(&[3], Some(&[4])),
        ];
        let merged = merged(ranges);
        assert_eq!(merged, [range(&[1], Some(&[4])), range(&[5], Some(&[6]))]);
        assert_eq!(
            between(&merged),
            [
                range(&[0], Some(&[1])),
                range(&[4], Some(&[5])),
                range(&[6], None)
            ]
        );
    }

    #[test]
    fn a_range_to_the_end_leaves_nothing_behind_it() {
        let merged = merged(vec![
            range(&[9], None),
            range(&[0], Some(&[9])),
            range(&[10], Some(&[11])),
        ]);
        assert_eq!(merged, [range(&[0], None)]);
        assert_eq!(between(&merged), []);
    }
}
