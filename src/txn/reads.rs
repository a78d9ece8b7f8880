//! `ReadSet`: what a serializable transaction has read, as ranges of keys: rows, entries of indexes, the numbers of tables' rows. Records of
//! the catalog are none of it: what rests on those is locked.
//!
//! Invariant: every key that was read, or would have been had it been there, is in a range.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use super::Transaction;
use crate::codec::keyspace::{CountRole, count_role, is_of_system};
use crate::codec::successor;
use crate::store::KeyRange;

/// More ranges than these become ranges of whole tables.
const RANGES_MAX: usize = 4096;

/// Disjoint ranges.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    /// Where each begins and, if it does, ends.
    ranges: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

impl ReadSet {
    /// Keys that were read.
    pub(super) fn add_keys(&mut self, keys: &[Vec<u8>]) {
        for key in keys.iter().filter(|key| is_data(key)) {
            self.add(key.clone(), Some(successor(key)));
        }
    }

    /// Ranges that were, or will be.
    pub(super) fn add_ranges(&mut self, ranges: &[KeyRange]) {
        for range in ranges.iter().filter(|range| is_data(&range.start)) {
            self.add(range.start.clone(), range.end.clone());
        }
    }

    /// All of them.
    pub(super) fn ranges(&self) -> Vec<KeyRange> {
        let ranges = self.ranges.iter();
        ranges
            .map(|(start, end)| KeyRange {
                start: start.clone(),
                end: end.clone(),
            })
            .collect()
    }

    fn add(&mut self, mut start: Vec<u8>, mut end: Option<Vec<u8>>) {
        let before = self.ranges.range(..=start.clone()).next_back();
        if let Some((first, last)) = before
            && last.as_ref().is_none_or(|last| *last >= start)
        {
            start.clone_from(first);
        }
        while let Some((first, last)) = self.ranges.range(start.clone()..).next()
            && end.as_ref().is_none_or(|end| first <= end)
        {
            let first = first.clone();
            end = match (end, last) {
                (Some(end), Some(last)) => Some(end.max(last.clone())),
                _ => None,
            };
            self.ranges.remove(&first);
        }
        self.ranges.insert(start, end);
        if self.ranges.len() > RANGES_MAX {
            self.widen();
        }
    }

    /// Makes of the ranges those of the tables that they are in.
    fn widen(&mut self) {
        for (start, end) in std::mem::take(&mut self.ranges) {
            let table = start.get(..4).map(KeyRange::of_prefix);
            let Some(table) = table.filter(|_| !is_count(&start)) else {
                self.ranges.insert(start, end);
                continue;
            };
            let end = match (end, table.end) {
                (Some(end), Some(last)) => Some(end.max(last)),
                _ => None,
            };
            self.ranges.insert(table.start, end);
        }
    }
}

/// Whether it, the beginning of a range or a whole key, is data rather than of a record of the catalog.
pub fn is_data(key: &[u8]) -> bool {
    !is_of_system(key) || is_count(key)
}

fn is_count(key: &[u8]) -> bool {
    matches!(count_role(key), CountRole::Count(_))
}

impl Transaction {
    pub(super) fn note_reads(&self, note: impl FnOnce(&mut ReadSet)) {
        if let Some(reads) = &self.whole.reads
            && self.is_noted
        {
            note(&mut reads.set.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// The ranges that a serializable transaction has read; none of another.
    pub(super) fn read_ranges(&self) -> Vec<KeyRange> {
        let reads = self.whole.reads.as_ref();
        reads.map_or_else(Vec::new, |reads| {
            reads.set.lock().unwrap_or_else(PoisonError::into_inner).ranges()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::keyspace::{Keyspace, relations_range};

    fn key(table: u32, rest: &[u8]) -> Vec<u8> {
        let index = 0;
        Keyspace::Entry {
            table,
            index,
            fields: rest,
        }
        .encode()
    }

    fn range(start: &[u8], end: &[u8]) -> KeyRange {
        KeyRange {
            start: key(1, start),
            end: Some(key(1, end)),
        }
    }

    #[test]
    fn ranges_that_meet_become_one() {
        let mut reads = ReadSet::default();
        reads.add_ranges(&[range(b"b", b"d"), range(b"f", b"h"), range(b"k", b"m")]);
        reads.add_ranges(&[range(b"c", b"f")]);
        reads.add_keys(&[key(1, b"a"), key(1, b"l")]);
        let expected = [
            KeyRange {
                start: key(1, b"a"),
                end: Some(key(1, b"a\0")),
            },
            range(b"b", b"h"),
            range(b"k", b"m"),
        ];
        assert_eq!(reads.ranges(), expected);
        reads.add_ranges(&[KeyRange {
            start: key(1, b""),
            end: None,
        }]);
        assert_eq!(reads.ranges().len(), 1);
    }

    #[test]
    fn records_of_the_catalog_are_not_read_but_counts_are() {
        let mut reads = ReadSet::default();
        reads.add_keys(&[
            Keyspace::CatalogVersion.encode(),
            Keyspace::Relation { id: 7 }.encode(),
        ]);
        reads.add_ranges(&[relations_range()]);
        assert_eq!(reads.ranges(), []);
        reads.add_keys(&[Keyspace::Written { table: 7 }.encode()]);
        assert_eq!(reads.ranges().len(), 1);
    }

    #[test]
    fn very_many_ranges_become_tables() {
        let mut reads = ReadSet::default();
        for number in 0..=RANGES_MAX as u32 {
            reads.add_keys(&[key(3, &(2 * number).to_be_bytes())]);
        }
        reads.add_keys(&[key(9, b"x")]);
        let table = KeyRange::of_prefix(&3u32.to_be_bytes());
        assert_eq!(reads.ranges()[0], table);
        assert_eq!(reads.ranges().len(), 2);
    }
}
