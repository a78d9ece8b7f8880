//! What parts of a statement's WITH clause gave that write, or that several parts read: rows in memory, under the name of the part.

use std::sync::Arc;

use super::binder::{Binder, Bound, BoundQuery, QueryColumn, fault};
use crate::Result;
use crate::error::StatementFault;
use crate::functions;
use crate::logical::rows_source::RowsSource;
use crate::system::CommonRows;
use crate::tree::{Column, Expr, Plan, RelationAlias};
use crate::types::SqlType;

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
        let columns: Vec<QueryColumn> = columns.collect();
        self.with_objects(BoundQuery { plan, columns }).map(Some)
    }

    /// The rows of a part as others read them: names of objects, as which their oids left it, are oids again.
    fn with_objects(&mut self, bound: BoundQuery) -> Result<BoundQuery> {
        let is_name = |ty: &SqlType| matches!(ty, SqlType::Catalog(kind) if kind.is_name_of_object());
        if !bound.columns.iter().any(|column| is_name(&column.ty)) {
            return Ok(bound);
        }
        let (mut outputs, mut columns) = (Vec::new(), Vec::new());
        for column in bound.columns {
            let given = Bound::new(Expr::Column(column.column.clone()), column.ty.clone());
            let given = match is_name(&column.ty) {
                true => {
                    let ty = column.ty.object_type();
                    self.gathered("oid_of_sent_name", functions::OID_OF_SENT_NAME, given, ty)
                }
                false => given,
            };
            let name = self.unique_name(&column.name);
            outputs.push(given.expr.alias(&name));
            columns.push(QueryColumn {
                column: Column::new_unqualified(&name),
                ty: given.ty,
                ..column
            });
        }
        let plan = bound.plan.project(outputs)?;
        Ok(BoundQuery { plan, columns })
    }
}
