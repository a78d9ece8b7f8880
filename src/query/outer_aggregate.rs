//! Aggregates of nothing but columns of a query around: they are that query's, wherever in the subquery they stand. There they are bound
//! anew, as if they had been written in it, and the subquery refers to what comes out. Called by `aggregate`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault};
use super::decorrelation::marker;
use super::scope::{Outer, capture_aggregate};
use crate::Result;
use crate::error::StatementFault;
use crate::tree::{Column, Expr};

impl Binder<'_> {
    /// The aggregate call `function`, of whose parts (arguments, FILTER, ORDER BY) `parts` are, when it is one of a query around. `before`:
    /// what these had been asked for before the parts were bound. Errors: 42803 where it may not stand there, 42P19 in the second
    /// term of a recursion.
    pub(super) fn outer_aggregate(
        &mut self,
        (name, function): (&str, &ast::Function),
        parts: &[&Expr],
        before: CapturedBefore,
        place: Place<'_>,
    ) -> Result<Option<Bound>> {
        let asked = before.asked_since(place);
        let is_outer = !parts.iter().any(|part| is_own(part));
        let (Some(nearest), Some((levels, outer))) = (place.outer, asked.filter(|_| is_outer)) else {
            before.keep(place);
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

/// Whether the expression names columns of the query that it stands in, or a subquery in it does.
fn is_own(part: &Expr) -> bool {
    part.has(|expr| match marker(expr) {
        Some(subquery) => !subquery.outer_ref_columns.is_empty(),
        None => matches!(expr, Expr::Column(_)),
    })
}

/// What a query uses of one around it, each with its name.
type Captured = Vec<(Column, Expr)>;

/// What subqueries had asked of the queries around them at some moment, from the nearest on: put aside, so that what is asked from then on
/// is known by itself.
pub(super) struct CapturedBefore(Vec<Captured>);

impl CapturedBefore {
    /// As it is now.
    pub(super) fn put_aside(place: Place<'_>) -> CapturedBefore {
        CapturedBefore(arounds(place).map(|outer| outer.captured.take()).collect())
    }

    /// The nearest query around that was asked since, and how many lie between.
    fn asked_since<'p>(&self, place: Place<'p>) -> Option<(usize, &'p Outer<'p>)> {
        arounds(place)
            .enumerate()
            .find(|(_, outer)| !outer.captured.borrow().is_empty())
    }

    /// What was asked since is asked beside it.
    fn keep(self, place: Place<'_>) {
        for (outer, mut before) in arounds(place).zip(self.0) {
            for (name, expr) in outer.captured.take() {
                if !before.iter().any(|(known, _)| *known == name) {
                    before.push((name, expr));
                }
            }
            outer.captured.replace(before);
        }
    }

    /// Forgets what was asked since.
    fn restore(self, place: Place<'_>) {
        for (outer, before) in arounds(place).zip(self.0) {
            outer.captured.replace(before);
        }
    }
}

fn arounds<'p>(place: Place<'p>) -> impl Iterator<Item = &'p Outer<'p>> {
    std::iter::successors(place.outer, |outer| outer.parent)
}

/// Whether an aggregate call stands in the expression, or in a subquery there as one of this query (not under OVER).
pub(super) fn has_aggregate(expr: &Expr) -> bool {
    expr.has(|expr| match marker(expr) {
        Some(subquery) => subquery.outer_ref_columns.iter().any(has_aggregate),
        None => matches!(expr, Expr::AggregateFunction(_)),
    })
}
