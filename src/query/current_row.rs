//! The row that WHERE CURRENT OF names, as a condition: the primary key that the cursor's row has. Asked by `target_rows`.

use super::binder::{Binder, Bound};
use crate::Result;
use crate::catalog::TableDef;
use crate::tree::{Expr, Operator, ScalarValue};
use crate::types::{SqlType, Value};

impl Binder<'_> {
    /// The condition on the table's row, whose columns these are. A statement that does not run names no row. Errors: 24000.
    pub(super) fn is_current_row(&mut self, table: &TableDef, columns: &[Bound]) -> Result<Expr> {
        let Some(position) = self.ctx.cursor_position.clone() else {
            return Ok(Bound::constant(&Value::Bool(false), SqlType::Bool)?.expr);
        };
        let key = position.key_of(table)?;
        let mut condition: Option<Expr> = None;
        for (value, part) in key.iter().zip(&table.primary_key.columns) {
            let Some(at) = table.column_index_by_id(part.column) else {
                continue;
            };
            let value = Expr::Literal(ScalarValue::try_from_array(value, 0)?, None);
            let value = Bound::new(value, table.columns[at].ty.clone());
            let equal = self.compare(Operator::Eq, columns[at].clone(), value)?.expr;
            condition = Some(match condition {
                Some(before) => super::operator::binary(before, Operator::And, equal),
                None => equal,
            });
        }
        condition.ok_or_else(|| crate::Error::internal("a key without columns"))
    }
}
