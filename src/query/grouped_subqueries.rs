//! Subqueries that GROUP BY writes. One that is bound twice is not the same (its relations have names of their own), so each is bound once for
//! all places where the SELECT writes it, and is then known there as what is grouped by.

use std::ops::ControlFlow;

use sqlparser::ast::{self, Visitor};

use super::bound::Bound;
use crate::Result;
use crate::parse::walk::Walk;

/// Subqueries as they are written, with what they were bound to, once they were.
#[derive(Default)]
pub(super) struct GroupedSubqueries(Vec<(ast::Expr, Option<Bound>)>);

impl GroupedSubqueries {
    /// Those of a SELECT's GROUP BY.
    pub(super) fn of(group_by: &ast::GroupByExpr) -> GroupedSubqueries {
        let mut found = GroupedSubqueries::default();
        if let ast::GroupByExpr::Expressions(exprs, _) = group_by {
            let _ = exprs.walk(&mut found);
        }
        found
    }

    /// What the subquery was bound to for another place of the SELECT.
    pub(super) fn get(&self, expr: &ast::Expr) -> Option<Bound> {
        let mut known = self.0.iter();
        known.find(|(known, _)| known == expr)?.1.clone()
    }

    /// Notes what an expression was bound to, if it is such a subquery.
    pub(super) fn note(&mut self, expr: &ast::Expr, bound: &Result<Bound>) {
        let place = self.0.iter_mut().find(|(known, _)| known == expr);
        if let (Some((_, place)), Ok(bound)) = (place, bound) {
            *place = Some(bound.clone());
        }
    }
}

impl Visitor for GroupedSubqueries {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        if is_subquery(expr) {
            self.0.push((expr.clone(), None));
        }
        ControlFlow::Continue(())
    }
}

fn is_subquery(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    match expr {
        E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => true,
        E::AnyOp { right, .. } | E::AllOp { right, .. } => matches!(right.as_ref(), E::Subquery(_)),
        E::Function(function) => matches!(function.args, ast::FunctionArguments::Subquery(_)),
        _ => false,
    }
}
