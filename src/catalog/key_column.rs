//! What keys tell of the columns that stand in them: what a row need not repeat, and what an index covers.

use super::{IndexDef, TableDef};
use crate::codec::key;
use crate::codec::row::ColumnId;
use crate::types::SqlType;

impl TableDef {
    /// Whether rows hold the column in their key alone: it is one of the primary key's, and that tells its value.
    pub fn is_in_key_alone(&self, id: ColumnId) -> bool {
        self.is_key_column(id) && self.key_tells(id)
    }
    /// Whether a key that has the column tells its value.
    pub fn key_tells(&self, id: ColumnId) -> bool {
        let at = self.column_index_by_id(id);
        at.is_none_or(|at| key::tells_value(&self.columns[at].ty))
    }
    /// Whether the entries of an index hold all that is asked of the column at this position: its value as the row has it (keys know
    /// neither -0 nor one NaN from another), and that the row is there.
    pub fn is_covered(&self, index: &IndexDef, position: usize) -> bool {
        let column = &self.columns[position];
        let is_exact = !matches!(column.ty, SqlType::Float4 | SqlType::Float8);
        // An entry does not tell whether its row is over.
        let is_held = || {
            self.is_key_column(column.id)
                || index.include.contains(&column.id)
                || index.has_column(column.id) && is_exact
        };
        index.id == 0 || !self.options.expiry.may_be_over() && is_held()
    }
}
