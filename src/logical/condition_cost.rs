//! In which order the conditions on a row are asked: the cheapest first, as PostgreSQL has it, so that `t::int > 7 AND t ~ '^[0-9]+$'`
//! fails for no text. Of OR, and of AND below it, the sides are asked as they are written.

use std::borrow::Borrow;
use std::cell::Cell;

use crate::functions::BoundFunction;
use crate::functions::cast::CAST_NAME;
use crate::tree::{Expr, Operator};
use crate::types::SqlType;

/// The cost of a function of a user's (PostgreSQL's COST 100).
const ROUTINE_COST: usize = 100;

/// The conditions in the order in which they are asked: as written where one of them is volatile, or they cost the same.
pub(crate) fn cheapest_first<E: Borrow<Expr>>(mut conditions: Vec<E>) -> Vec<E> {
    if conditions.len() > 1
        && !conditions
            .iter()
            .any(|condition| condition.borrow().is_volatile())
    {
        conditions.sort_by_cached_key(|condition| match is_cheap(condition.borrow()) {
            true => 0,
            false => cost(condition.borrow()),
        });
    }
    conditions
}

/// What computing a condition costs, in calls of a function, as PostgreSQL counts them.
fn cost(condition: &Expr) -> usize {
    let cost = Cell::new(0);
    condition.has(|expr| {
        let own = match expr {
            Expr::ScalarFunction(call) if call.func.routine().is_some() => ROUTINE_COST,
            Expr::ScalarFunction(call) if is_read_or_printed(&call.func) => 2,
            Expr::ScalarFunction(_) | Expr::Cast(_) | Expr::Like(_) => 1,
            Expr::BinaryExpr(binary) => usize::from(!matches!(binary.op, Operator::And | Operator::Or)),
            _ => 0,
        };
        cost.set(cost.get() + own);
        false
    });
    cost.get()
}

/// Whether it casts between a string and another type, by way of the text of a value.
fn is_read_or_printed(function: &BoundFunction) -> bool {
    let from_string = function.arguments().first().map(SqlType::is_string);
    function.name() == CAST_NAME && from_string.is_some_and(|string| string != function.returns().is_string())
}

/// Whether it only compares, casts and chooses.
fn is_cheap(condition: &Expr) -> bool {
    !condition.has(|expr| {
        !matches!(
            expr,
            Expr::Column(_)
                | Expr::Literal(..)
                | Expr::Placeholder(_)
                | Expr::Alias(_)
                | Expr::BinaryExpr(_)
                | Expr::Not(_)
                | Expr::IsNull(_)
                | Expr::IsNotNull(_)
                | Expr::TruthTest(_)
                | Expr::Case(_)
                | Expr::Cast(_)
                | Expr::InList(_)
        )
    })
}
