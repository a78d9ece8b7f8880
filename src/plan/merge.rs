//! `Merge`: parts of a key, each with one value in some leading columns, whose entries come in the order of the columns behind
//! these when the parts are merged: `channel IN ('a', 'b') ORDER BY id` under the key (channel, id) takes no sort.

use super::key_shape::KeyShape;
use crate::codec::key;
use crate::store::KeyRange;

/// Parts at most: each is read by a scan of its own.
const PARTS_MAX: usize = 64;

/// The parts of a merge.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// The leading columns (positions in `TableDef::columns`) in which each part has one value.
    pub(super) aside: Vec<usize>,
    /// The parts, two or more.
    pub parts: Vec<MergedRange>,
}

/// A range whose keys begin alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedRange {
    /// The range.
    pub range: KeyRange,
    /// So many bytes are the same in all its keys; what follows them is merged.
    pub prefix_bytes: usize,
}

/// Whether a part for each value from the least to the greatest can be merged.
pub(super) fn can_be_merged((least, greatest): (i64, i64)) -> bool {
    usize::try_from(greatest - least).is_ok_and(|values| values < PARTS_MAX)
}

/// Ranges of a key as parts that begin alike in so many columns. `None`: they cannot be, or not in few enough.
pub(super) fn parts(shape: &KeyShape, ranges: &[KeyRange], columns: usize) -> Option<Vec<MergedRange>> {
    let last = shape.columns.get(columns.checked_sub(1)?)?;
    let (aside, behind) = shape.columns.split_at(columns);
    // An index may have a column twice, and is sorted by it once more behind the parts' values.
    if behind
        .iter()
        .any(|part| aside.iter().any(|one| one.column == part.column))
    {
        return None;
    }
    let mut parts = Vec::new();
    for range in ranges {
        let prefix_bytes = prefix_bytes(shape, &range.start, columns)?;
        let (mut start, end) = (range.start.clone(), range.end.as_ref()?);
        // Ranges that touch were joined: they are parted again where the next value of the columns begins.
        loop {
            let block_end = last.block_end(start.get(..prefix_bytes)?)?;
            let part_end = block_end.clone().min(end.clone());
            parts.push(MergedRange {
                range: KeyRange {
                    start,
                    end: Some(part_end),
                },
                prefix_bytes,
            });
            if parts.len() > PARTS_MAX {
                return None;
            }
            if block_end >= *end {
                break;
            }
            if block_end.len() != prefix_bytes {
                return None;
            }
            start = block_end;
        }
    }
    (parts.len() > 1).then_some(parts)
}

/// The bytes of the first so many fields of a stored key. `None`: it has not so many.
fn prefix_bytes(shape: &KeyShape, stored: &[u8], columns: usize) -> Option<usize> {
    let mut at = shape.prefix.len();
    for column in &shape.columns[..columns] {
        at += key::field_length(stored.get(at..)?, &column.field).ok()?;
    }
    Some(at)
}
