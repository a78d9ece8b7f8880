//! Aggregates of nothing but columns of a query around: in PostgreSQL they are that query's. Where they may not stand there they are refused;
//! where they may, they are taken for the subquery's own, which is another answer. Called by `aggregate`.

use super::accumulation::Accumulation;
use super::binder::{Binder, Clause, Place, fault};
use crate::Result;
use crate::error::StatementFault;
use crate::tree::{Expr, TreeNode, TreeNodeRecursion};

impl Binder<'_> {
    /// An aggregate of columns of a query around alone is that query's. Errors: 42803 where it may not stand there, 42P19 in the second term
    /// of a recursion.
    pub(super) fn refuse_outer(&self, accumulation: &Accumulation, place: Place<'_>) -> Result<()> {
        let arguments = || accumulation.calls.iter().flat_map(|(_, arguments, _)| arguments);
        let mut outer_columns = Vec::new();
        for argument in arguments() {
            argument.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr {
                    outer_columns.push(column);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        if outer_columns.is_empty() || arguments().any(Expr::any_column_refs) {
            return Ok(());
        }
        let arounds = std::iter::successors(place.outer, |outer| outer.parent);
        let mut arounds = arounds.filter(|outer| outer_columns.iter().any(|column| outer.scope.has(column)));
        match arounds.next().map(|outer| outer.clause) {
            None => Ok(()),
            Some(Some(Clause::Select | Clause::Having)) if self.is_in_step => Err(fault(
                StatementFault::InvalidRecursion,
                "aggregate functions are not allowed in a recursive query's recursive term",
            )),
            Some(Some(Clause::Select | Clause::Having | Clause::Window)) => Ok(()),
            Some(Some(Clause::Aggregate)) => Err(fault(
                StatementFault::Grouping,
                "aggregate function calls cannot be nested",
            )),
            Some(clause) => {
                let place = clause.map_or("FROM clause of their own query level", Clause::name);
                let message = format!("aggregate functions are not allowed in {place}");
                Err(fault(StatementFault::Grouping, message))
            }
        }
    }
}
