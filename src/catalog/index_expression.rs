//! `IndexExpression`: what an index sorts by that is no column, or the condition that its rows fulfil. Part of an index's record.

use crate::codec::row::ColumnId;

/// An expression that an index sorts by, or its condition.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IndexExpression {
    /// The hidden column that holds it, whose generation says how it is computed.
    pub column: ColumnId,
    /// As `pg_get_expr` prints it, each operator in parentheses.
    pub text: String,
    /// As psql shows it.
    pub pretty_text: String,
    /// Whether it is a call of a function, which stands in an index without parentheses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_call: bool,
}
