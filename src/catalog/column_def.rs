//! `ColumnDef`: one column of a table. Part of its table's record.

use std::sync::Arc;

use super::TypeDef;
use super::generation::{ExpressionText, Generation};
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

/// The oid of no sequence: that of a column whose sequence is not made yet. (An older release made none, and counted by column.)
pub const NO_SEQUENCE: u32 = 0;

/// A column's record.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Its id in stored rows.
    pub id: ColumnId,
    /// Its name.
    pub name: String,
    /// Its type; a domain's, what the domain is over.
    pub ty: SqlType,
    /// The domain that it is of.
    pub domain: Option<Arc<TypeDef>>,
    /// NOT NULL: no write leaves it NULL. Whether reads may rest on it: [`ColumnDef::is_never_null`].
    pub not_null: bool,
    /// Set while ALTER TABLE verifies the rows that were there before: what is undone when it fails.
    pub unverified: Option<Unverified>,
    /// DEFAULT for rows written without it.
    pub default: Option<ColumnDefault>,
    /// What rows written before the column was added read as (`Value::Null` for columns of CREATE TABLE).
    pub missing: Value,
    /// Not in `SELECT *`, not nameable: the row id of a table without primary key, a key column that the server computes.
    pub hidden: bool,
    /// Added by a write that named it.
    pub dynamic: bool,
    /// COLLATE, where it is said: all order text by its bytes. (An older release did not keep it.)
    pub collation: Option<String>,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
}

/// What ALTER TABLE has published and not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unverified {
    /// SET NOT NULL of a column that was there.
    NotNull,
    /// ADD COLUMN: the column itself.
    Column,
}

/// What a column takes when a write leaves it out.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnDefault {
    /// A constant of the column's type; `sql` as written, `text` as PostgreSQL prints it, which older records do not say.
    Constant {
        value: Value,
        sql: String,
        text: Option<ExpressionText>,
    },
    /// An expression evaluated at each write (`now()`, …), as SQL text; the oids of the sequences in it, which it names by them.
    Expression {
        sql: String,
        sequences: Vec<u32>,
        text: Option<ExpressionText>,
    },
    /// The next value of the sequence with this oid: `nextval('s')`, and so serial.
    Sequence { oid: u32 },
    /// The same for `GENERATED … AS IDENTITY`; `always`: writes may not give a value of their own.
    Identity { always: bool, oid: u32 },
    /// The hidden row id.
    RowId,
    /// Computed of other columns at every write, which gives it no value of its own.
    Generated(Generation),
}

impl ColumnDef {
    /// A column that is no more than its name and type.
    pub fn new(id: ColumnId, name: impl Into<String>, ty: SqlType) -> ColumnDef {
        ColumnDef {
            id,
            name: name.into(),
            ty,
            domain: None,
            not_null: false,
            unverified: None,
            default: None,
            missing: Value::Null,
            hidden: false,
            dynamic: false,
            collation: None,
            comment: None,
        }
    }
    /// The same, which no statement names.
    pub fn hidden(id: ColumnId, name: impl Into<String>, ty: SqlType) -> ColumnDef {
        ColumnDef {
            hidden: true,
            ..ColumnDef::new(id, name, ty)
        }
    }
    /// Whether no stored row is NULL in it.
    pub fn is_never_null(&self) -> bool {
        self.not_null && self.unverified.is_none()
    }
    /// The oid of the sequence that its values come from, and from nothing else ([`NO_SEQUENCE`]: it is not made yet).
    pub fn sequence(&self) -> Option<u32> {
        match self.default {
            Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) => Some(oid),
            _ => None,
        }
    }
    /// Whether its values come from a sequence.
    pub fn is_serial(&self) -> bool {
        self.sequence().is_some()
    }
    /// Whether its default takes values of the sequence with this oid.
    pub fn uses_sequence(&self, oid: u32) -> bool {
        match &self.default {
            Some(ColumnDefault::Expression { sequences, .. }) => sequences.contains(&oid),
            _ => self.sequence() == Some(oid),
        }
    }
    /// The sequences that its default takes values of.
    pub fn sequences_used(&self) -> Vec<u32> {
        match &self.default {
            Some(ColumnDefault::Expression { sequences, .. }) => sequences.clone(),
            _ => self.sequence().into_iter().collect(),
        }
    }
    /// Gives it the sequence that its values come from.
    pub fn set_sequence(&mut self, sequence: u32) {
        if let Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) = &mut self.default
        {
            *oid = sequence;
        }
    }
    /// How it is computed, if it is a generated column.
    pub fn generation(&self) -> Option<&Generation> {
        match &self.default {
            Some(ColumnDefault::Generated(generation)) => Some(generation),
            _ => None,
        }
    }
}
