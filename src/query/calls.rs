//! Calls of aggregates, or of functions over windows, that the expressions of a SELECT make: gathered before they get their place in the
//! plan, and looked up when columns take their places. Called by `grouping` and `window_calls`.

use std::cell::RefCell;

use super::binder::Binder;
use super::decorrelation::marker;
use super::set_returning::all_columns;
use crate::Result;
use crate::tree::{Column, Expr, Plan, Transformed, TreeNode, TreeNodeRecursion};

/// Calls in the order in which they are written. Equal ones are one, unless they may be another value each time, as in PostgreSQL.
pub(super) struct Calls {
    pub(super) exprs: Vec<Expr>,
    /// Those volatile ones whose place was asked for.
    taken: RefCell<Vec<usize>>,
}

impl Calls {
    /// Those in the expressions, and in what subqueries there are asked with.
    pub(super) fn among(exprs: &[Expr], is_call: fn(&Expr) -> bool) -> Calls {
        let mut found = Vec::new();
        exprs.iter().for_each(|expr| gather(expr, is_call, &mut found));
        Calls {
            exprs: found,
            taken: RefCell::default(),
        }
    }

    /// Which of them an expression is: of equal ones each time another.
    pub(super) fn place(&self, expr: &Expr) -> Option<usize> {
        let mut taken = self.taken.borrow_mut();
        let mut places = (0..self.exprs.len()).filter(|at| self.exprs[*at] == *expr);
        let first = places.next()?;
        if !expr.is_volatile() {
            return Some(first);
        }
        let mut open = std::iter::once(first).chain(places);
        let place = open.find(|at| !taken.contains(at)).unwrap_or(first);
        taken.push(place);
        Some(place)
    }
}

impl Binder<'_> {
    /// Makes columns of the plan of what is volatile in keys and calls, where several of these are: a row computes all of them before the next
    /// one does. What rows are parted or ordered by is always such a column, the same for all that is equal, for it is asked more than once.
    pub(super) fn place_volatile_inputs(
        &mut self,
        plan: Plan,
        exprs: Vec<Expr>,
    ) -> Result<(Plan, Vec<Expr>)> {
        let mut count = 0;
        for expr in &exprs {
            for_each_input(expr, &mut |input| count += usize::from(input.is_volatile()));
        }
        let mut outputs = all_columns(&plan);
        let mut keys: Vec<(Expr, String)> = Vec::new();
        for key in exprs.iter().flat_map(window_keys).filter(|key| key.is_volatile()) {
            if keys.iter().all(|(known, _)| known != key) {
                let name = self.unique_name("?key");
                outputs.push(key.clone().alias(&name));
                keys.push((key.clone(), name));
            }
        }
        if count < 2 && keys.is_empty() {
            return Ok((plan, exprs));
        }
        let mut place = |input: Expr| {
            if !input.is_volatile() {
                return Ok(Transformed::no(input));
            }
            let known = keys.iter().find(|(key, _)| *key == input);
            let name = match known {
                Some((_, name)) => name.clone(),
                None => {
                    let name = self.unique_name("?input");
                    outputs.push(input.alias(&name));
                    name
                }
            };
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name))))
        };
        let exprs = exprs.into_iter().map(|expr| match has_inputs(&expr) {
            Some(true) => expr.map_children(&mut place).map(|expr| expr.data),
            Some(false) => Ok(expr),
            None => place(expr).map(|expr| expr.data),
        });
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        Ok((plan.project(outputs)?, exprs))
    }
}

/// Whether it is a call whose inputs are computed of every row, each by itself: not where FILTER chooses these, nor where an aggregate's ORDER
/// BY may name an argument. `None`: it is no call.
fn has_inputs(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::AggregateFunction(call) => {
            let is_plain = call.params.filter.is_none() && call.params.order_by.is_empty();
            Some(is_plain && call.func.name() != "grouping")
        }
        Expr::WindowFunction(call) => Some(call.params.filter.is_none()),
        _ => None,
    }
}

fn for_each_input(expr: &Expr, visit: &mut dyn FnMut(&Expr)) {
    match has_inputs(expr) {
        None => visit(expr),
        Some(false) => {}
        Some(true) => {
            // The closure does not fail.
            let _ = expr.apply_children(|input| {
                visit(input);
                Ok(TreeNodeRecursion::Continue)
            });
        }
    }
}

/// What parts and orders the rows of a call over a window.
fn window_keys(expr: &Expr) -> Vec<&Expr> {
    let Expr::WindowFunction(call) = expr else {
        return Vec::new();
    };
    let order = call.params.order_by.iter().map(|key| &key.expr);
    call.params.partition_by.iter().chain(order).collect()
}

fn gather(expr: &Expr, is_call: fn(&Expr) -> bool, found: &mut Vec<Expr>) {
    // Walking an expression that was built by us does not fail.
    let _ = expr.apply(|expr| {
        if let Some(subquery) = marker(expr) {
            let captured = subquery.outer_ref_columns.iter();
            captured.for_each(|captured| gather(captured, is_call, found));
        }
        if !is_call(expr) {
            return Ok(TreeNodeRecursion::Continue);
        }
        if expr.is_volatile() || !found.contains(expr) {
            found.push(expr.clone());
        }
        Ok(TreeNodeRecursion::Jump)
    });
}
