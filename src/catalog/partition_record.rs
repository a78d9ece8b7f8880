//! Bytes of what a table's record says of the table that it is a partition of: values of bounds as texts, as those of defaults are.

use serde::{Deserialize, Serialize};

use super::constant_record::{constant_text, constant_value, corrupt};
use super::{ColumnDef, Partition, PartitionBound, RangeEdge};
use crate::Result;
use crate::codec::row::ColumnId;
use crate::types::SqlType;

/// Of which table it is a partition, as JSON: values as texts.
#[derive(Serialize, Deserialize)]
pub(super) struct PartitionRecord {
    parent: u32,
    columns: Vec<ColumnId>,
    bound: BoundRecord,
}

/// Which rows a partition has, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BoundRecord {
    Default,
    List(Vec<Option<String>>),
    Range {
        from: Vec<EdgeRecord>,
        to: Vec<EdgeRecord>,
    },
    Hash {
        modulus: u32,
        remainder: u32,
    },
}

/// A value of a bound of a range, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EdgeRecord {
    MinValue,
    Value(String),
    MaxValue,
}

impl PartitionRecord {
    pub(super) fn from_def(of: &Partition) -> PartitionRecord {
        let edges = |edges: &[RangeEdge]| edges.iter().map(EdgeRecord::from_def).collect();
        PartitionRecord {
            parent: of.parent,
            columns: of.columns.clone(),
            bound: match &of.bound {
                PartitionBound::Default => BoundRecord::Default,
                PartitionBound::List(values) => BoundRecord::List(values.iter().map(constant_text).collect()),
                PartitionBound::Range { from, to } => BoundRecord::Range {
                    from: edges(from),
                    to: edges(to),
                },
                PartitionBound::Hash { modulus, remainder } => BoundRecord::Hash {
                    modulus: *modulus,
                    remainder: *remainder,
                },
            },
        }
    }

    /// `columns`: those of the table.
    pub(super) fn into_def(self, columns: &[ColumnDef]) -> Result<Partition> {
        let type_of = |id: &ColumnId| {
            let column = columns.iter().find(|column| column.id == *id);
            column
                .map(|column| &column.ty)
                .ok_or_else(|| corrupt(format!("a partition is told by column {id}, which is not there")))
        };
        let types: Vec<&SqlType> = self.columns.iter().map(type_of).collect::<Result<_>>()?;
        let edges = |edges: Vec<EdgeRecord>| -> Result<Vec<RangeEdge>> {
            let edges = edges.into_iter().zip(&types);
            edges.map(|(edge, ty)| edge.into_def(ty)).collect()
        };
        let bound = match self.bound {
            BoundRecord::Default => PartitionBound::Default,
            BoundRecord::List(values) => {
                let ty = types
                    .first()
                    .ok_or_else(|| corrupt("a partition without columns".to_string()))?;
                let values = values.into_iter().map(|value| constant_value(value, ty));
                PartitionBound::List(values.collect::<Result<_>>()?)
            }
            BoundRecord::Range { from, to } => PartitionBound::Range {
                from: edges(from)?,
                to: edges(to)?,
            },
            BoundRecord::Hash { modulus, remainder } => PartitionBound::Hash { modulus, remainder },
        };
        Ok(Partition {
            parent: self.parent,
            columns: self.columns,
            bound,
        })
    }
}

impl EdgeRecord {
    fn from_def(edge: &RangeEdge) -> EdgeRecord {
        match edge {
            RangeEdge::MinValue => EdgeRecord::MinValue,
            RangeEdge::Value(value) => EdgeRecord::Value(constant_text(value).unwrap_or_default()),
            RangeEdge::MaxValue => EdgeRecord::MaxValue,
        }
    }

    fn into_def(self, ty: &SqlType) -> Result<RangeEdge> {
        Ok(match self {
            EdgeRecord::MinValue => RangeEdge::MinValue,
            EdgeRecord::Value(text) => RangeEdge::Value(constant_value(Some(text), ty)?),
            EdgeRecord::MaxValue => RangeEdge::MaxValue,
        })
    }
}
