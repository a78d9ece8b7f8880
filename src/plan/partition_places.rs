//! `PartitionPlaces`: the partitions of a table, which are asked together which of them conditions leave. What `partition_pruning` says of one
//! of them is said of each of those again; but most of many need not be asked.

use std::ops::Range;
use std::sync::Arc;

use super::Predicate;
use super::boxes::cover_all;
use super::key_ranges::ranges;
use super::key_shape::KeyShape;
use super::partition_pruning::rows_left;
use crate::catalog::{KeyColumn, PartitionMap, PartitionedRow, TableDef, ToldBound, partition_key};
use crate::codec::postgresql_hash::partition_hash;
use crate::types::{SqlType, Value};

/// Conditions are taken to so many ranges of keys at most.
const RANGES_MAX: usize = 64;

/// Tables that are all partitions of one, or of its partitions, in the order of their bounds.
#[derive(Debug)]
pub struct PartitionPlaces {
    /// The first of them.
    table: Arc<TableDef>,
    /// Positions in its columns, and types, of those by which it is partitioned.
    columns: Vec<usize>,
    types: Vec<SqlType>,
    /// These columns as a key.
    shape: KeyShape,
    map: PartitionMap,
    /// The tables that stand for each partition of the map: those below it, if it is partitioned itself.
    groups: Vec<Range<usize>>,
    /// For each table its place among ranges that follow one another; `None`: it has rows between those of others.
    ranks: Vec<Option<usize>>,
}

impl PartitionPlaces {
    /// Of tables as they are read below the one that was named. `None`: they are not all partitions of one table, each once.
    pub fn of(tables: &[Arc<TableDef>]) -> Option<PartitionPlaces> {
        let table = tables.first()?;
        let first = table.told.last()?;
        let columns = first.columns.iter();
        let columns = columns.map(|id| table.column_index_by_id(*id));
        let columns = columns.collect::<Option<Vec<usize>>>()?;
        let types: Vec<SqlType> = columns.iter().map(|at| table.columns[*at].ty.clone()).collect();
        let (mut bounds, mut groups): (Vec<&ToldBound>, Vec<Range<usize>>) = (Vec::new(), Vec::new());
        for (at, table) in tables.iter().enumerate() {
            let told = table.told.last().filter(|told| told.parent == first.parent)?;
            match (bounds.last(), groups.last_mut()) {
                (Some(last), Some(group)) if last.of == told.of => group.end = at + 1,
                _ if bounds.iter().any(|bound| bound.of == told.of) => return None,
                _ => {
                    bounds.push(told);
                    groups.push(at..at + 1);
                }
            }
        }
        let key = first.columns.iter();
        let key: Vec<KeyColumn> = key.map(|id| KeyColumn::ascending(*id)).collect();
        let map = PartitionMap::new(bounds.iter().map(|told| &told.bound), &types);
        let mut ranks = vec![None; tables.len()];
        for (rank, group) in map.places_in_order().enumerate() {
            let group = &groups[group];
            ranks[group.start] = (group.len() == 1).then_some(rank);
        }
        Some(PartitionPlaces {
            shape: KeyShape::of_columns(table, &key)?,
            map,
            ranks,
            table: Arc::clone(table),
            columns,
            types,
            groups,
        })
    }

    /// The places of the tables that may have rows for which all conditions hold, which are over the columns of the first; `None`: any of them.
    pub fn left_by(&self, conditions: &[&Predicate]) -> Option<Vec<usize>> {
        let mut groups = match rows_left(&self.table, &self.columns, conditions) {
            Some(rows) => {
                let places = rows.iter().map(|row| self.place(row));
                let places = places.collect::<Option<Vec<Option<usize>>>>()?;
                places.into_iter().flatten().collect()
            }
            None => self.places_between(conditions)?,
        };
        groups.sort_unstable();
        groups.dedup();
        Some(
            groups
                .into_iter()
                .flat_map(|at| self.groups[at].clone())
                .collect(),
        )
    }

    /// The columns by which the table is partitioned: positions in those of the first of its partitions.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether, by these columns, all rows of each of the tables at these places stand behind those of the one before it.
    pub fn follow_one_another(&self, places: &[usize]) -> bool {
        let ranks = || places.iter().map(|place| self.ranks[*place]);
        ranks().all(|rank| rank.is_some()) && ranks().is_sorted_by(|one, next| one < next)
    }

    /// The place of the partition that has a row, if one has; `None`: nobody can say.
    fn place(&self, row: &[Value]) -> Option<Option<usize>> {
        let hash = match self.map.needs_hash() {
            true => partition_hash(row).ok()?,
            false => 0,
        };
        Some(self.map.place(PartitionedRow {
            key: &partition_key(row, &self.types),
            has_null: row.contains(&Value::Null),
            hash,
        }))
    }

    fn places_between(&self, conditions: &[&Predicate]) -> Option<Vec<usize>> {
        let boxes = cover_all(&self.shape, conditions).boxes;
        let mut places = Vec::new();
        for range in ranges(&self.shape, &boxes, RANGES_MAX).ranges {
            let end = range.end.as_deref().unwrap_or(&[0xFF, 0xFF]);
            places.extend(self.map.places_between(&range.start, end)?);
        }
        Some(places)
    }
}
