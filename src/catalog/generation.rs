//! Generated columns: what a column is computed from, and what computes it.

use std::fmt;

use arrow::array::ArrayRef;

use crate::Result;
use crate::codec::row::ColumnId;

/// `GENERATED ALWAYS AS (…) STORED`.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Generation {
    /// An immutable expression over columns of the same table, which it names without the table.
    pub sql: String,
    /// The columns that it names. (Generated ones are among those of what an index holds, which does not need their values.)
    pub inputs: Vec<ColumnId>,
    /// The least and the greatest of its values, where these are few whole numbers, as those of `ts % 16`: a key that begins with it is
    /// read in as many places, whatever conditions say of it. (An older release left it out.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<(i64, i64)>,
    /// As PostgreSQL prints it. (An older release left it out.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<ExpressionText>,
    /// The same before the expressions of generated columns took their places, of what an index holds: what conditions are compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

impl Generation {
    /// The expression as it names columns, generated ones too.
    pub fn written(&self) -> &str {
        self.written.as_ref().unwrap_or(&self.sql)
    }
}

/// An expression as `pg_get_expr` prints it.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ExpressionText {
    /// Each operator in parentheses.
    pub plain: String,
    /// Without those that it reads without.
    pub pretty: String,
}

/// Computes the generated columns of one table. It is made where expressions are bound, which is above this layer.
pub trait GeneratedColumns: fmt::Debug + Send + Sync {
    /// The generated column at `position` in `TableDef::columns`, of rows whose inputs these are (in the order of
    /// [`Generation::inputs`]). Errors: the expression's, and those of the column's type.
    fn compute(&self, position: usize, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef>;
}
