//! `OutputColumn`: what a client is told of a column of a result.

use crate::types::SqlType;

/// One column of a result, for RowDescription.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputColumn {
    /// The name PostgreSQL gives it.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The table it comes from (oid) and its attribute number; 0 when computed.
    pub table_oid: u32,
    /// See `table_oid`.
    pub attribute: i16,
}
