//! `SequenceDef`: one sequence's record: its bounds, its step, the column that it goes with. The values that it has given are
//! counted beside it (`table::Sequences`), for they outlive a transaction that is rolled back.

use crate::codec::keyspace::{Keyspace, TableId};
use crate::codec::row::ColumnId;
use crate::types::SqlType;

use super::{ColumnDef, ColumnDefault, FIRST_OID};

/// A sequence's record. Cloned and changed by DDL, then written back.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SequenceDef {
    /// Its id (shares the numbers of tables).
    pub id: TableId,
    /// The catalog version that last changed this record.
    #[serde(skip)]
    pub version: u64,
    /// Schema and name.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// AS.
    pub ty: SequenceType,
    /// INCREMENT: never 0.
    pub increment: i64,
    /// MINVALUE.
    pub min: i64,
    /// MAXVALUE.
    pub max: i64,
    /// START.
    pub start: i64,
    /// CACHE: values that a session takes at a time.
    pub cache: i64,
    /// CYCLE.
    pub cycles: bool,
    /// OWNED BY.
    pub owner: Option<SequenceOwner>,
    /// Another one with each ALTER SEQUENCE: what is counted is counted anew under it, so that it goes back when that is
    /// rolled back.
    pub generation: u16,
    /// UNLOGGED: it is only told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// COMMENT ON SEQUENCE.
    pub comment: Option<String>,
}

/// The column that a sequence goes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SequenceOwner {
    /// The oid of the table.
    pub table: u32,
    /// The id of the column.
    pub column: ColumnId,
    /// The column is an identity column: it is nothing without the sequence.
    pub is_identity: bool,
}

/// What a sequence's values are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SequenceType {
    /// smallint.
    SmallInt,
    /// integer.
    Integer,
    /// bigint.
    BigInt,
}

impl SequenceOwner {
    /// A column of the table with this oid.
    pub fn of(table: u32, column: &ColumnDef) -> SequenceOwner {
        SequenceOwner {
            table,
            column: column.id,
            is_identity: matches!(column.default, Some(ColumnDefault::Identity { .. })),
        }
    }
}

impl SequenceType {
    /// That of values of an integer type.
    pub fn of(ty: &SqlType) -> Option<SequenceType> {
        match ty {
            SqlType::Int2 => Some(SequenceType::SmallInt),
            SqlType::Int4 => Some(SequenceType::Integer),
            SqlType::Int8 => Some(SequenceType::BigInt),
            _ => None,
        }
    }

    /// The SQL type.
    pub fn sql_type(self) -> SqlType {
        match self {
            SequenceType::SmallInt => SqlType::Int2,
            SequenceType::Integer => SqlType::Int4,
            SequenceType::BigInt => SqlType::Int8,
        }
    }

    /// Its least value.
    pub fn min(self) -> i64 {
        match self {
            SequenceType::SmallInt => i64::from(i16::MIN),
            SequenceType::Integer => i64::from(i32::MIN),
            SequenceType::BigInt => i64::MIN,
        }
    }

    /// Its greatest value.
    pub fn max(self) -> i64 {
        match self {
            SequenceType::SmallInt => i64::from(i16::MAX),
            SequenceType::Integer => i64::from(i32::MAX),
            SequenceType::BigInt => i64::MAX,
        }
    }

    /// MINVALUE and MAXVALUE where nobody says them: on the side of 0 that the values go to.
    pub fn default_bounds(self, increment: i64) -> (i64, i64) {
        match increment > 0 {
            true => (1, self.max()),
            false => (self.min(), -1),
        }
    }
}

impl SequenceDef {
    /// One that rises from 1 by 1, as serial has it.
    pub fn rising(id: TableId, schema: String, name: String, ty: SequenceType) -> SequenceDef {
        SequenceDef {
            id,
            version: 0,
            schema,
            name,
            ty,
            increment: 1,
            min: 1,
            max: ty.max(),
            start: 1,
            cache: 1,
            cycles: false,
            owner: None,
            generation: 0,
            unlogged: false,
            comment: None,
        }
    }

    /// Its oid in pg_class.
    pub fn oid(&self) -> u32 {
        FIRST_OID + self.id
    }

    /// The key under which its values are counted.
    pub fn counter_key(&self) -> Vec<u8> {
        let (relation, part) = (self.id, self.generation);
        Keyspace::Sequence { relation, part }.encode()
    }

    /// Whether it goes with a column of the table with this oid.
    pub fn is_owned_by(&self, table: u32) -> bool {
        self.owner.is_some_and(|owner| owner.table == table)
    }
}
