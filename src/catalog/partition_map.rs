//! `PartitionMap`: which of a table's partitions has a row, by the bytes of the values that they are told by. The one place that decides
//! it: rows are routed by it, checked by it, and bounds are found to overlap by it.

use std::collections::HashMap;

use super::partition::{PartitionBound, edge_key, partition_key};
use crate::types::{SqlType, Value};

/// The bounds of partitions, by their places in the list that the map was made of.
#[derive(Debug, Default)]
pub struct PartitionMap {
    /// Of ranges where each begins and ends, by where they begin.
    ranges: Vec<(Vec<u8>, Vec<u8>, usize)>,
    /// Of lists the values.
    values: HashMap<Vec<u8>, usize>,
    /// Of hashes by what they are divided, and what is left.
    hashes: Vec<(u64, u64, usize)>,
    /// The one that has all other rows.
    default: Option<usize>,
}

/// The values of a row, as a map asks for them.
#[derive(Debug, Clone, Copy)]
pub struct PartitionedRow<'a> {
    /// Their bytes as a key has them.
    pub key: &'a [u8],
    /// Whether one of them is NULL.
    pub has_null: bool,
    /// PostgreSQL's hash of them; nobody asks for it where there are no partitions by hash.
    pub hash: u64,
}

impl PartitionMap {
    /// The map of these bounds over columns of these types, which do not overlap.
    pub fn new<'a>(bounds: impl Iterator<Item = &'a PartitionBound>, types: &[SqlType]) -> PartitionMap {
        let mut map = PartitionMap::default();
        for (at, bound) in bounds.enumerate() {
            match bound {
                PartitionBound::Default => map.default = Some(at),
                PartitionBound::List(values) => {
                    let key = |value: &Value| partition_key(std::slice::from_ref(value), types);
                    map.values.extend(values.iter().map(|value| (key(value), at)));
                }
                PartitionBound::Range { from, to } => {
                    map.ranges.push((edge_key(from, types), edge_key(to, types), at));
                }
                PartitionBound::Hash { modulus, remainder } => {
                    map.hashes.push((u64::from(*modulus), u64::from(*remainder), at));
                }
            }
        }
        map.ranges.sort();
        map
    }

    /// The place of the partition that has the row.
    pub fn place(&self, row: PartitionedRow<'_>) -> Option<usize> {
        self.place_in_ranges(row)
            .or_else(|| self.values.get(row.key).copied())
            .or_else(|| self.place_by_hash(row.hash))
            .or(self.default)
    }

    /// The places of those that may have rows whose keys are from `start` on and below `end`, or one of which is NULL; `None`: no ranges say so.
    pub fn places_between(&self, start: &[u8], end: &[u8]) -> Option<impl Iterator<Item = usize>> {
        if !self.values.is_empty() || self.needs_hash() {
            return None;
        }
        let first = self.ranges.partition_point(|(_, to, _)| to.as_slice() <= start);
        let last = self.ranges.partition_point(|(from, ..)| from.as_slice() < end);
        let within = self.ranges.get(first..last).unwrap_or_default();
        Some(within.iter().map(|(.., at)| *at).chain(self.default))
    }

    /// The places of the ranges, in the order of their keys.
    pub fn places_in_order(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().map(|(.., at)| *at)
    }

    /// Whether rows are told by a hash.
    pub fn needs_hash(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// The place of a partition that has rows which this bound, over columns of these types, has, too.
    pub fn overlapping(&self, bound: &PartitionBound, types: &[SqlType]) -> Option<usize> {
        match bound {
            PartitionBound::Default => self.default,
            PartitionBound::List(values) => {
                let key = |value: &Value| partition_key(std::slice::from_ref(value), types);
                values
                    .iter()
                    .find_map(|value| self.values.get(&key(value)).copied())
            }
            PartitionBound::Range { from, to } => {
                let (from, to) = (edge_key(from, types), edge_key(to, types));
                let mut ranges = self.ranges.iter();
                let found = ranges.find(|(begin, end, _)| from < *end && *begin < to);
                found.map(|(.., at)| *at)
            }
            PartitionBound::Hash { modulus, remainder } => {
                let (modulus, remainder) = (u64::from(*modulus), u64::from(*remainder));
                // Of two of which one divides the other the smaller says which.
                let mut hashes = self.hashes.iter();
                let found = hashes.find(|(other, left, _)| {
                    let smaller = modulus.min(*other);
                    remainder % smaller == left % smaller
                });
                found.map(|(.., at)| *at)
            }
        }
    }

    fn place_in_ranges(&self, row: PartitionedRow<'_>) -> Option<usize> {
        if row.has_null {
            return None;
        }
        let behind = self
            .ranges
            .partition_point(|(from, ..)| from.as_slice() <= row.key);
        let (_, to, at) = self.ranges.get(behind.checked_sub(1)?)?;
        (row.key < to.as_slice()).then_some(*at)
    }

    fn place_by_hash(&self, hash: u64) -> Option<usize> {
        let mut hashes = self.hashes.iter();
        let found = hashes.find(|(modulus, remainder, _)| hash % modulus == *remainder);
        found.map(|(.., at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::partition::RangeEdge;
    use super::*;

    fn int_range(from: Option<i64>, to: Option<i64>) -> PartitionBound {
        let edge =
            |value: Option<i64>, open| vec![value.map_or(open, |value| RangeEdge::Value(Value::Int(value)))];
        PartitionBound::Range {
            from: edge(from, RangeEdge::MinValue),
            to: edge(to, RangeEdge::MaxValue),
        }
    }

    #[test]
    fn a_row_is_in_the_partition_whose_bound_has_it() {
        let types = [SqlType::Int4];
        let bounds = [
            int_range(Some(10), Some(20)),
            int_range(None, Some(0)),
            PartitionBound::Default,
        ];
        let map = PartitionMap::new(bounds.iter(), &types);
        let place = |value: Value| {
            let key = partition_key(std::slice::from_ref(&value), &types);
            let has_null = value == Value::Null;
            map.place(PartitionedRow {
                key: &key,
                has_null,
                hash: 0,
            })
        };
        for (value, at) in [
            (10, 0),
            (19, 0),
            (-1, 1),
            (i64::from(i32::MIN), 1),
            (0, 2),
            (20, 2),
        ] {
            assert_eq!(place(Value::Int(value)), Some(at), "{value}");
        }
        assert_eq!(place(Value::Null), Some(2));
    }

    #[test]
    fn ranges_of_keys_are_in_partitions_that_follow_one_another() {
        let types = [SqlType::Int4];
        let bounds = [
            int_range(Some(10), Some(20)),
            int_range(None, Some(0)),
            PartitionBound::Default,
            int_range(Some(20), Some(30)),
        ];
        let map = PartitionMap::new(bounds.iter(), &types);
        let key = |value: i64| partition_key(&[Value::Int(value)], &types);
        let between = |from: i64, to: i64| -> Vec<usize> {
            map.places_between(&key(from), &key(to)).unwrap().collect()
        };
        assert_eq!(between(-5, 11), [1, 0, 2]);
        assert_eq!(between(0, 10), [2]);
        assert_eq!(between(19, 20), [0, 2]);
        assert_eq!(between(20, 100), [3, 2]);
        assert_eq!(map.places_in_order().collect::<Vec<_>>(), [1, 0, 3]);
        let listed = PartitionMap::new([PartitionBound::List(vec![Value::Int(1)])].iter(), &types);
        assert!(listed.places_between(&key(0), &key(9)).is_none());
    }

    #[test]
    fn overlapping_bounds_are_found() {
        let types = [SqlType::Int4];
        let map = PartitionMap::new([int_range(Some(10), Some(20))].iter(), &types);
        assert_eq!(map.overlapping(&int_range(Some(19), Some(30)), &types), Some(0));
        assert_eq!(map.overlapping(&int_range(Some(20), None), &types), None);
        let hash = |modulus, remainder| PartitionBound::Hash { modulus, remainder };
        let map = PartitionMap::new([hash(4, 1)].iter(), &types);
        assert_eq!(map.overlapping(&hash(2, 1), &types), Some(0));
        assert_eq!(map.overlapping(&hash(8, 5), &types), Some(0));
        assert_eq!(map.overlapping(&hash(8, 6), &types), None);
    }
}
