//! Foreign keys: columns whose values stand in a key of another table.

use serde::{Deserialize, Serialize};

use crate::codec::row::ColumnId;

/// A FOREIGN KEY constraint, in the record of the table that refers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// Its oid in pg_constraint.
    pub oid: u32,
    /// Its name, which no other constraint of the table has.
    pub name: String,
    /// The columns that refer.
    pub columns: Vec<ColumnId>,
    /// The oid of the table that they refer to.
    pub table: u32,
    /// Its columns that they refer to, one each.
    pub referenced: Vec<ColumnId>,
    /// The oid of the primary key or unique index over just these.
    pub key: u32,
    /// MATCH FULL: all columns are NULL, or none is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub match_full: bool,
    /// What becomes of rows that refer to one that is deleted.
    pub on_delete: ReferentialAction,
    /// The columns that SET NULL and SET DEFAULT of ON DELETE set; none: all that refer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_columns: Vec<ColumnId>,
    /// What becomes of rows that refer to one whose key changes.
    pub on_update: ReferentialAction,
    /// NOT VALID: rows that were there before it may be against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
    /// DEFERRABLE: it may be asked when the transaction commits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferrable: bool,
    /// INITIALLY DEFERRED: it is, unless the transaction says otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub initially_deferred: bool,
    /// COMMENT ON CONSTRAINT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

impl ForeignKey {
    /// The columns that are set when what they refer to is deleted.
    pub fn columns_set(&self) -> &[ColumnId] {
        match self.set_columns.is_empty() {
            true => &self.columns,
            false => &self.set_columns,
        }
    }
}

/// What happens to rows when what they refer to goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferentialAction {
    /// It must not, unless it is there again when the statement ends.
    NoAction,
    /// It must not.
    Restrict,
    /// They go, or change, with it.
    Cascade,
    /// Their columns become NULL.
    SetNull,
    /// Their columns take their defaults.
    SetDefault,
}
