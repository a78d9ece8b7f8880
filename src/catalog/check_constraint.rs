//! CHECK constraints: what must not be false of any row of a table.

use serde::{Deserialize, Serialize};

use crate::codec::row::ColumnId;

/// A CHECK constraint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckConstraint {
    /// Its oid in pg_constraint.
    pub oid: u32,
    /// Its name, which no other constraint of the table has.
    pub name: String,
    /// A boolean expression over columns of the table, which it names without the table: what is evaluated.
    pub sql: String,
    /// The same as `pg_get_constraintdef` prints it, each operator in parentheses.
    pub text: String,
    /// The same as psql shows it, without the parentheses that it reads the same without.
    pub pretty_text: String,
    /// The columns that it names, by rising id.
    pub columns: Vec<ColumnId>,
    /// NO INHERIT: said, and of no effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_inherit: bool,
    /// NOT VALID: rows that were there before it may be against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_valid: bool,
    /// COMMENT ON CONSTRAINT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}
