//! Aggregates of nothing but columns of a query around: they are that query's, wherever in the subquery they stand. There they are bound
//! anew, as if they had been written in it, and the subquery refers to what comes out. Called by `aggregate`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault};
use super::decorrelation::{has_subquery, marker};
use super::scope::{Outer, capture_aggregate};
use crate::Result;
use crate::error::StatementFault;
use crate::tree::{Column, Expr, TreeNode, TreeNodeRecursion};

impl Binder<'_> {
    /// The aggregate call `function`, of whose parts (arguments, FILTER, ORDER BY) `parts` are, when it is one of a query around. `before`:
    /// how much each of these was asked for before the parts were bound. Errors: 42803 where it may not stand there, 42P19 in the second
    /// term of a recursion.
    pub(super) fn outer_aggregate(
        &mut self,
        (name, function): (&str, &ast::Function),
        parts: &[&Expr],
        before: &CapturedBefore,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let (Some(nearest), Some((levels, outer))) = (place.outer, level_of(parts, place)?) else {
            return Ok(None);
        };
        match outer.clause {
            Some(Clause::Select | Clause::Having) if self.is_in_step => {
                return Err(fault(
                    StatementFault::InvalidRecursion,
                    "aggregate functions are not allowed in a recursive query's recursive term",
                ));
            }
            None => {
                let message = "aggregate functions are not allowed in FROM clause of their own query level";
                return Err(fault(StatementFault::Grouping, message));
            }
            Some(_) => {}
        }
        before.restore(place);
        let around = Place {
            scope: outer.scope,
            outer: outer.parent,
            clause: outer.clause.unwrap_or(Clause::From),
            windows: &[],
        };
        let aggregate = self.aggregate_function(name, function, around)?;
        let name = Column::new_unqualified(self.unique_name("?aggregate"));
        Ok(Some(capture_aggregate(nearest, levels, name, aggregate)))
    }
}

/// The nearest query around of which there are columns in the parts, and how many queries lie between. `None`: the call is the query's own.
fn level_of<'p>(parts: &[&Expr], place: Place<'p>) -> Result<Option<(usize, &'p Outer<'p>)>> {
    let mut outer_columns = Vec::new();
    for part in parts {
        part.apply(|expr| {
            if let Expr::OuterReferenceColumn(_, column) = expr {
                outer_columns.push(column);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    // What a subquery in its arguments refers to, the query itself may have.
    let is_own = |part: &&Expr| part.any_column_refs() || has_subquery(part);
    if outer_columns.is_empty() || parts.iter().any(is_own) {
        return Ok(None);
    }
    let arounds = std::iter::successors(place.outer, |outer| outer.parent);
    Ok(arounds
        .enumerate()
        .find(|(_, outer)| outer_columns.iter().any(|column| outer.knows(column))))
}

/// What subqueries had asked of the queries around them at some moment.
pub(super) struct CapturedBefore {
    lengths: Vec<usize>,
}

impl CapturedBefore {
    /// As it is now.
    pub(super) fn note(place: Place<'_>) -> CapturedBefore {
        let arounds = std::iter::successors(place.outer, |outer| outer.parent);
        CapturedBefore {
            lengths: arounds.map(|outer| outer.captured.borrow().len()).collect(),
        }
    }

    /// Forgets what was asked since.
    fn restore(&self, place: Place<'_>) {
        let arounds = std::iter::successors(place.outer, |outer| outer.parent);
        for (outer, length) in arounds.zip(&self.lengths) {
            outer.captured.borrow_mut().truncate(*length);
        }
    }
}

/// Whether an aggregate call stands in the expression, or in a subquery there as one of this query (not under OVER).
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    expr.has(|expr| match marker(expr) {
        Some(subquery) => subquery.outer_ref_columns.iter().any(has_aggregate),
        None => matches!(expr, Expr::AggregateFunction(_)),
    })
}

/// Every aggregate call, each once, those in subqueries that are of this query among them.
pub(super) fn aggregates_of(exprs: &[Expr]) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    exprs.iter().for_each(|expr| gather(expr, &mut found));
    found
}

fn gather(expr: &Expr, found: &mut Vec<Expr>) {
    // Walking an expression that was built by us does not fail.
    let _ = expr.apply(|expr| {
        if let Some(subquery) = marker(expr) {
            subquery
                .outer_ref_columns
                .iter()
                .for_each(|asked| gather(asked, found));
        }
        if matches!(expr, Expr::AggregateFunction(_)) {
            if !found.contains(expr) {
                found.push(expr.clone());
            }
            return Ok(TreeNodeRecursion::Jump);
        }
        Ok(TreeNodeRecursion::Continue)
    });
}
