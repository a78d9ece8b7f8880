//! Columns of DYNAMIC_COLUMNS tables that nobody has written yet. The rule of names: an unquoted name that is unknown in the
//! query and in those around it, or that its relation does not have, reads as NULL, with a NOTICE, where a table of the
//! innermost of these queries that has one gets the columns that writes name. A quoted name does not: it is far more often a
//! string in the wrong quotes, and gets PostgreSQL's error with a HINT. In a write the name is unknown (42703): what it reads
//! by a misspelt name would be lost, or decide what is. So it is through a view or a subquery in FROM, whose columns are known.

use super::binder::{Binder, Bound, Place};
use crate::system::Notice;
use crate::types::SqlType;

impl Binder<'_> {
    /// The NULL that an unknown name stands for; `None` when it is an error.
    pub(super) fn unwritten_column(
        &mut self,
        relation: Option<&str>,
        name: &str,
        place: Place<'_>,
    ) -> Option<Bound> {
        if !self.reads_unwritten {
            return None;
        }
        let mut table = place.scope.dynamic_table(relation);
        let mut outer = place.outer;
        while let (None, Some(around)) = (table, outer) {
            table = around.scope.dynamic_table(relation);
            outer = around.parent;
        }
        let column = (table?.to_string(), name.to_string());
        if !self.unwritten.contains(&column) {
            let (table, name) = &column;
            self.ctx.notice(Notice {
                severity: "NOTICE",
                sqlstate: "00000".into(),
                detail: None,
                message: format!(
                    "column \"{name}\" of relation \"{table}\" has not been written yet, it reads as NULL"
                ),
                hint: None,
            });
            self.unwritten.insert(column);
        }
        let null = crate::tree::ScalarValue::Utf8(None);
        let null = crate::tree::Expr::Literal(null, None);
        Some(Bound::new(null, SqlType::Text))
    }
}
