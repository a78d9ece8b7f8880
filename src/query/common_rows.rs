//! What parts of a statement's WITH clause gave that write, or that several parts read: rows in memory, under the name of the part.

use std::sync::Arc;

use super::binder::{Binder, BoundQuery, QueryColumn, fault};
use crate::Result;
use crate::error::StatementFault;
use crate::logical::rows_source::RowsSource;
use crate::system::CommonRows;
use crate::tree::{Column, Plan, RelationAlias};

impl Binder<'_> {
    /// The rows of the part of this name, if the statement has one. Errors: 0A000 for a part that gives none.
    pub(super) fn common_rows(&mut self, name: &str) -> Result<Option<BoundQuery>> {
        // The text of a view is no part of the statement.
        let parts = match self.views {
            0 => &*self.ctx.common_rows,
            _ => &[],
        };
        let Some(place) = parts.iter().rposition(|rows| rows.name == name) else {
            return Ok(None);
        };
        let rows = &parts[place];
        let Some(columns) = &rows.columns else {
            let message = format!("WITH query \"{name}\" does not have a RETURNING clause");
            return Err(fault(StatementFault::NotImplemented, message));
        };
        let reference = RelationAlias::bare(self.unique_name(name));
        let source = RowsSource::of_part(rows.schema(), place);
        let plan = Plan::scan(reference.clone(), Arc::new(source));
        let columns = columns.iter().enumerate().map(|(at, column)| QueryColumn {
            name: column.name.clone(),
            column: Column::new(Some(reference.clone()), CommonRows::field_name(at)),
            ty: column.ty.clone(),
            origin: column.origin,
            is_declared: column.origin.is_some(),
            constant: false,
        });
        let columns = columns.collect();
        Ok(Some(BoundQuery { plan, columns }))
    }
}
