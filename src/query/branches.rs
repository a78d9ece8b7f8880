//! `Branches`: a CASE taken apart, each of its results with the condition under which it is looked at. Called by `subquery`: a
//! subquery in a branch that is not taken is not asked, for that costs time and may fail.

use super::decorrelation::has_subquery;
use crate::tree::{Expr, conjunction};

/// The branches of a CASE without an operand that has subqueries in its results.
pub(super) struct Branches {
    /// Condition, result, and where the result is looked at (`None`: perhaps everywhere).
    pub(super) when_then: Vec<(Expr, Expr, Option<Expr>)>,
    /// ELSE, likewise.
    pub(super) otherwise: Option<(Expr, Option<Expr>)>,
}

impl Branches {
    /// `when`: where the CASE itself is looked at.
    pub(super) fn of(expr: &Expr, when: Option<&Expr>) -> Option<Branches> {
        let Expr::Case(case) = expr else {
            return None;
        };
        let results = case.when_then_expr.iter().map(|(_, result)| result);
        let has_subqueries = results.chain(&case.else_expr).any(|result| has_subquery(result));
        if case.expr.is_some() || !has_subqueries {
            return None;
        }
        // What is known to hold where the next branch is asked; what cannot be asked twice tells nothing.
        let mut known: Vec<Expr> = when.into_iter().cloned().collect();
        let mut when_then = Vec::with_capacity(case.when_then_expr.len());
        for (condition, result) in &case.when_then_expr {
            let (condition, result) = (condition.as_ref().clone(), result.as_ref().clone());
            let is_known = !has_subquery(&condition) && !condition.is_volatile() && condition.is_closed();
            let taken = is_known.then(|| condition.clone().truth_test(Some(true), false));
            let taken = conjunction(known.iter().cloned().chain(taken));
            if is_known {
                known.push(condition.clone().truth_test(Some(true), true));
            }
            when_then.push((condition, result, taken));
        }
        let otherwise = case.else_expr.as_deref().cloned();
        Some(Branches {
            when_then,
            otherwise: otherwise.map(|result| (result, conjunction(known))),
        })
    }
}
