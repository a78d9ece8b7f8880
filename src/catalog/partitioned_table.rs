//! What a table's record says of it as a partitioned table, or as a partition.

use std::sync::Arc;

use super::partition::{ABOVE_ALL, PartitionBound, ToldBound, edge_key, partition_key};
use super::{ForeignKey, TableDef};
use crate::codec::row::ColumnId;
use crate::types::SqlType;

impl TableDef {
    /// The positions of the columns by which it is partitioned; none where it is not.
    pub fn partition_positions(&self) -> Vec<usize> {
        let columns = self.partitioning.iter().flat_map(|by| &by.columns);
        columns.filter_map(|id| self.column_index_by_id(*id)).collect()
    }

    /// Their types.
    pub fn partition_types(&self) -> Vec<SqlType> {
        let positions = self.partition_positions();
        positions.iter().map(|at| self.columns[*at].ty.clone()).collect()
    }

    /// Of a partition the oid of its table, and what the bounds of that one's partitions are ordered by: where it begins; NULL and then what
    /// has all others are last. `None` of another table.
    pub(super) fn place_of_partition(&self) -> Option<(u32, Vec<u8>)> {
        let of = self.partition.as_ref()?;
        let types = || -> Vec<SqlType> {
            let columns = of.columns.iter().filter_map(|id| self.column_index_by_id(*id));
            columns.map(|at| self.columns[at].ty.clone()).collect()
        };
        let place = match &of.bound {
            PartitionBound::Default => vec![ABOVE_ALL; 2],
            PartitionBound::List(values) => {
                let types = types();
                let keys = values
                    .iter()
                    .map(|value| partition_key(std::slice::from_ref(value), &types));
                keys.min().unwrap_or_default()
            }
            PartitionBound::Range { from, .. } => edge_key(from, &types()),
            PartitionBound::Hash { modulus, remainder } => {
                [modulus.to_be_bytes(), remainder.to_be_bytes()].concat()
            }
        };
        Some((of.parent, place))
    }

    /// The column of a table below it that is this one of it: they have the same name.
    pub fn column_below(&self, id: ColumnId, below: &TableDef) -> Option<ColumnId> {
        let own = &self.columns[self.column_index_by_id(id)?];
        let at = below.column_index(&own.name)?;
        Some(below.columns[at].id)
    }

    /// The foreign key that a table below it has for this one of it: that of its name, or else one that says the same, with which it was
    /// merged as the table was attached.
    pub fn foreign_key_below<'b>(&self, key: &ForeignKey, below: &'b TableDef) -> Option<&'b ForeignKey> {
        let named = below.foreign_key(&key.name).filter(|own| own.table == key.table);
        named.or_else(|| {
            let ids_below = |ids: &[ColumnId]| -> Option<Vec<ColumnId>> {
                ids.iter().map(|id| self.column_below(*id, below)).collect()
            };
            let (columns, set_columns) = (ids_below(&key.columns)?, ids_below(&key.set_columns)?);
            let says_same = |own: &&ForeignKey| {
                let same = ForeignKey {
                    oid: own.oid,
                    name: own.name.clone(),
                    columns: columns.clone(),
                    set_columns: set_columns.clone(),
                    not_valid: own.not_valid,
                    deferrable: own.deferrable,
                    initially_deferred: own.initially_deferred,
                    comment: own.comment.clone(),
                    ..key.clone()
                };
                self.foreign_key(&own.name).is_none() && same == **own
            };
            below.foreign_keys.iter().find(says_same)
        })
    }

    /// The foreign key of it that this one of a table below it stands for.
    pub fn foreign_key_above(&self, own: &ForeignKey, below: &TableDef) -> Option<&ForeignKey> {
        let is_above = |key: &&ForeignKey| {
            let found = self.foreign_key_below(key, below);
            found.is_some_and(|found| found.oid == own.oid)
        };
        self.foreign_keys.iter().find(is_above)
    }

    /// The table as it is read as a partition of `parent`, which has these partitions: what is told of its rows is told of those of tables below
    /// it, too, `leaf` among them.
    pub fn told_of(
        &self,
        parent: &TableDef,
        partitions: &[Arc<TableDef>],
        leaf: &TableDef,
    ) -> Option<ToldBound> {
        let of = self.partition.as_ref()?;
        let columns = parent.partitioning.iter().flat_map(|by| &by.columns);
        let columns = columns.map(|id| parent.column_below(*id, leaf));
        let others = partitions.iter().filter(|other| other.oid != self.oid);
        let others = others.filter_map(|other| Some(other.partition.as_ref()?.bound.clone()));
        Some(ToldBound {
            of: self.oid,
            parent: of.parent,
            columns: columns.collect::<Option<_>>()?,
            bound: of.bound.clone(),
            others: match of.bound {
                PartitionBound::Default => others.collect(),
                _ => Vec::new(),
            },
        })
    }
}
