//! `xmax` in RETURNING of an INSERT that updates rows: which of them were there before. Called by `insert`.

use std::ops::ControlFlow;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::kernels::zip::zip;
use sqlparser::ast::{self, SelectItem};

use super::assign::repeated;
use super::row_search::append_beside;
use crate::parse::walk::visit_expressions;
use crate::query::written_marks;
use crate::types::Value;
use crate::{Error, Result};

/// Whether RETURNING names xmax.
pub(super) fn names_xmax(items: Option<&[SelectItem]>) -> bool {
    let mut items = items.unwrap_or_default().iter();
    items.any(|item| {
        let named = visit_expressions(item, |expr| {
            let name = match expr {
                ast::Expr::Identifier(name) => Some(name),
                ast::Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match name.is_some_and(|name| name.value.eq_ignore_ascii_case("xmax")) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        named.is_break()
    })
}

/// The rows with what says which of them were there before: in PostgreSQL, the transaction that has locked them.
pub(super) fn with_marks(rows: RecordBatch, updated: &BooleanArray) -> Result<RecordBatch> {
    let relation = written_marks();
    let ty = &relation.columns[0].ty;
    let (ours, nobodys) = (
        repeated(&Value::Int(1), ty, rows.num_rows())?,
        repeated(&Value::Int(0), ty, rows.num_rows())?,
    );
    let marks = zip(updated, &ours, &nobodys).map_err(Error::arrow)?;
    append_beside(rows, &[relation], vec![marks])
}
