//! Partitioned tables: the columns whose values say in which of its partitions a row of it is. A partitioned table has no rows of its own;
//! a partition is a table as any other, with keys and indexes of its own, that knows of which table it is one.
//!
//! ```text
//! events PARTITION BY RANGE (at)
//!   events_2024  FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')
//!   events_rest  DEFAULT
//! ```
//!
//! Invariant: the bounds of the partitions of one table do not overlap (`sql::ddl::partition_bound` sees to it), so that a row has one
//! partition at most.

use crate::codec::key::{KeyField, encode_value};
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

/// How a partitioned table tells its rows apart.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Partitioning {
    /// PARTITION BY.
    pub strategy: PartitionStrategy,
    /// Its columns, in the order in which they are compared.
    pub columns: Vec<ColumnId>,
}

/// What a bound says of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionStrategy {
    /// Which values it has.
    List,
    /// From which values on, and up to which.
    Range,
    /// What is left of a hash of its values, divided.
    Hash,
}

impl PartitionStrategy {
    /// As PARTITION BY has it.
    pub fn word(self) -> &'static str {
        match self {
            PartitionStrategy::List => "LIST",
            PartitionStrategy::Range => "RANGE",
            PartitionStrategy::Hash => "HASH",
        }
    }

    /// As pg_partitioned_table has it.
    pub fn letter(self) -> &'static str {
        match self {
            PartitionStrategy::List => "l",
            PartitionStrategy::Range => "r",
            PartitionStrategy::Hash => "h",
        }
    }
}

/// Of which table a table is a partition.
#[derive(Debug, Clone, PartialEq)]
pub struct Partition {
    /// The oid of the partitioned table.
    pub parent: u32,
    /// The columns of the partition that are those by which its parent is partitioned.
    pub columns: Vec<ColumnId>,
    /// Which rows it has.
    pub bound: PartitionBound,
}

/// Which rows a partition has; values are of the types of its columns.
#[derive(Debug, Clone, PartialEq)]
pub enum PartitionBound {
    /// Those that no other has.
    Default,
    /// Those whose one column is one of these values.
    List(Vec<Value>),
    /// Those from here on, up to there; without NULLs.
    Range {
        /// The first that it has.
        from: Vec<RangeEdge>,
        /// The first that it has not.
        to: Vec<RangeEdge>,
    },
    /// Those whose hash, divided, leaves this.
    Hash {
        /// By what it is divided.
        modulus: u32,
        /// What is left.
        remainder: u32,
    },
}

/// A bound that holds of all rows of a table, over columns of it: its own as a partition, or one of a table above it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldBound {
    /// The oid of the partition whose bound it is.
    pub of: u32,
    /// The oid of the table that it is a partition of.
    pub parent: u32,
    /// The columns.
    pub columns: Vec<ColumnId>,
    /// Which rows there are.
    pub bound: PartitionBound,
    /// Of the bound that has all rows that no other has, the others.
    pub others: Vec<PartitionBound>,
}

/// A value of a bound of a range.
#[derive(Debug, Clone, PartialEq)]
pub enum RangeEdge {
    /// Below all values.
    MinValue,
    /// A value.
    Value(Value),
    /// Above all values.
    MaxValue,
}

/// Above all fields of keys.
pub(super) const ABOVE_ALL: u8 = 0xFF;

/// Values of columns of these types, as bytes that compare as they do.
pub fn partition_key(values: &[Value], types: &[SqlType]) -> Vec<u8> {
    let mut key = Vec::new();
    for (value, ty) in values.iter().zip(types) {
        encode_value(&mut key, value, &KeyField::ascending(ty.clone()));
    }
    key
}

/// The edge of a range as bytes: keys from there on are not below it.
pub fn edge_key(edges: &[RangeEdge], types: &[SqlType]) -> Vec<u8> {
    let mut key = Vec::new();
    for (edge, ty) in edges.iter().zip(types) {
        match edge {
            // A prefix is below all that it is a prefix of.
            RangeEdge::MinValue => break,
            RangeEdge::Value(value) => encode_value(&mut key, value, &KeyField::ascending(ty.clone())),
            RangeEdge::MaxValue => {
                key.push(ABOVE_ALL);
                break;
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_stand_where_they_say() {
        let types = [SqlType::Int4, SqlType::Text];
        let key = |a: i64, b: &str| partition_key(&[Value::Int(a), Value::Text(b.to_string())], &types);
        let edge = |a: RangeEdge, b: RangeEdge| edge_key(&[a, b], &types);
        let value = |a: i64| RangeEdge::Value(Value::Int(a));
        let below = edge(value(5), RangeEdge::MinValue);
        let above = edge(value(5), RangeEdge::MaxValue);
        assert!(key(4, "zz") < below && below <= key(5, ""));
        assert!(key(5, "\u{10FFFF}") < above && above < key(6, ""));
        assert!(edge(RangeEdge::MinValue, RangeEdge::MinValue) < key(i64::from(i32::MIN), ""));
        assert!(key(i64::from(i32::MAX), "zz") < edge(RangeEdge::MaxValue, RangeEdge::MaxValue));
    }
}
