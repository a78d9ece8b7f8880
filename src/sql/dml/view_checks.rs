//! `ViewChecks`: WITH CHECK OPTION of the views that a write goes through, bound with the write's plan: rows are asked once they are
//! written, as in PostgreSQL, so that a key that is there already is told first.
//!
//! ```text
//! CREATE VIEW a AS SELECT * FROM t WHERE n > 0
//! CREATE VIEW b AS SELECT id, n AS m FROM a WHERE n < 9 WITH CHECK OPTION
//!
//! INSERT INTO b VALUES (1, 10)    =>  rows of t of which ("n" > 0), of a, and then ("n" < 9), of b, are true
//! ```

use std::ops::ControlFlow;

use arrow::array::RecordBatch;
use sqlparser::ast::{Expr, VisitorMut};

use super::row_checks::RowChecks;
use crate::Result;
use crate::catalog::TableDef;
use crate::parse::walk::WalkMut;
use crate::system::StatementContext;

/// A condition of a view that rows written through it must satisfy.
#[derive(Debug, Clone)]
pub(super) struct ViewCheck {
    /// The view.
    pub(super) view: String,
    /// Over the columns of what is written to, which alone stand between quotes in it.
    pub(super) condition: Expr,
}

impl ViewCheck {
    /// The check over columns of what the relation shows that it is over now. `columns`: what its columns are.
    pub(super) fn of_shown(&mut self, columns: &[(String, Expr)]) {
        let _ = self.condition.walk_mut(&mut ShownColumns { columns });
    }
}

/// Puts what columns are of another relation in the place of their names.
struct ShownColumns<'a> {
    columns: &'a [(String, Expr)],
}

impl VisitorMut for ShownColumns<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && name.quote_style.is_some()
            && let Some((_, own)) = self.columns.iter().find(|(column, _)| *column == name.value)
        {
            *expr = match own {
                Expr::Identifier(_) => own.clone(),
                computed => Expr::Nested(Box::new(computed.clone())),
            };
        }
        ControlFlow::Continue(())
    }
}

/// Conditions of views, bound.
#[derive(Debug, Default)]
pub(super) struct ViewChecks {
    checks: RowChecks,
}

impl ViewChecks {
    /// Those of a write to a table. Errors: those of binding.
    pub(super) fn bind(
        ctx: &StatementContext,
        table: &TableDef,
        checks: Vec<ViewCheck>,
    ) -> Result<ViewChecks> {
        let checks = checks.into_iter().map(|check| (check.view, check.condition));
        Ok(ViewChecks {
            checks: RowChecks::bind_named(ctx, table, checks)?,
        })
    }

    /// Whether rows are asked anything.
    pub(super) fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Asks them of whole rows. Errors: 44000 for the first row of which one is not true; those of the expressions.
    pub(super) async fn require(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &RecordBatch,
    ) -> Result<()> {
        self.checks.require_shown(ctx, table, rows).await
    }
}
