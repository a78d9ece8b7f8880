//! Subqueries that stand in several places for one value: in the list of a SELECT and in GROUP BY, ORDER BY or DISTINCT ON, or as the row that
//! several columns of SET are assigned. One that is bound twice is not the same (its relations have names of their own), so each is bound once
//! for all these places, and is then known there as what is grouped or ordered by, and computed once. Functions that are queries are such,
//! too, once a query stands in the place of the call.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Visitor};

use super::bound::Bound;
use crate::Result;
use crate::parse::row_assignment::is_row;
use crate::parse::walk::{Walk, visit_expressions};
use crate::tree::Expr;

/// Expressions as they are written, with what those with subqueries were bound to, once they were.
#[derive(Default)]
pub(super) struct RepeatedSubqueries(Vec<(ast::Expr, Option<Bound>)>);

impl RepeatedSubqueries {
    /// Those of a SELECT's GROUP BY and DISTINCT ON, and of the ORDER BY beside it.
    pub(super) fn of(select: &ast::Select, order_by: &[ast::OrderByExpr]) -> RepeatedSubqueries {
        let mut found = RepeatedSubqueries::default();
        if let ast::GroupByExpr::Expressions(exprs, _) = &select.group_by {
            let _ = exprs.walk(&mut found);
            if exprs.iter().any(may_name_output) {
                let _ = select.projection.walk(&mut found);
            }
        }
        if let Some(ast::Distinct::On(exprs)) = &select.distinct {
            let _ = exprs.walk(&mut found);
        }
        for item in order_by {
            let _ = item.expr.walk(&mut found);
        }
        found
    }

    /// Those whose row several columns of SET are assigned.
    pub(super) fn of_set<'e, T: Walk + 'e>(items: impl IntoIterator<Item = &'e T>) -> RepeatedSubqueries {
        let mut rows = Vec::new();
        for item in items {
            let _: ControlFlow<()> = visit_expressions(item, |part: &ast::Expr| {
                if matches!(part, ast::Expr::Subquery(query) if is_row(query)) {
                    rows.push((part.clone(), None));
                }
                ControlFlow::Continue(())
            });
        }
        RepeatedSubqueries(rows)
    }

    /// What the expression was bound to for another place.
    pub(super) fn get(&self, expr: &ast::Expr) -> Option<Bound> {
        let mut known = self.0.iter();
        known.find(|(known, _)| known == expr)?.1.clone()
    }

    /// Notes what an expression was bound to, if it is such a one.
    pub(super) fn note(&mut self, expr: &ast::Expr, bound: &Result<Bound>) {
        let place = self.0.iter_mut().find(|(known, _)| known == expr);
        if let (Some((_, place)), Ok(bound)) = (place, bound)
            && bound.expr.has(Expr::is_subquery)
        {
            *place = Some(bound.clone());
        }
    }
}

impl Visitor for RepeatedSubqueries {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if !is_leaf(expr) {
            self.0.push((expr.clone(), None));
        }
        ControlFlow::Continue(())
    }
}

/// Whether an item of GROUP BY may stand for one of the select list.
fn may_name_output(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Value(_) | ast::Expr::Identifier(_))
}

/// Whether no subquery can stand in it, nor in what it calls.
fn is_leaf(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    matches!(expr, E::Value(_) | E::Identifier(_) | E::CompoundIdentifier(_))
}
