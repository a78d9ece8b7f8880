//! Values that an expression asks for in several places: CASE with an operand, COALESCE, NULLIF, GREATEST, LEAST, comparisons of rows,
//! conditions of domains. What is short and says the same each time stands in each of them, where every reader of conditions knows it;
//! the rest is computed once ([`Let`]).

use std::cell::Cell;

use super::binder::Binder;
use super::bound::Bound;
use crate::Result;
use crate::tree::{Expr, Let, LetValue};

/// Of so many parts an expression may be that stands in several places: nests of such do not grow beyond measure.
const REPEATED_PARTS_MAX: usize = 16;

/// Whether it may stand in several places.
pub(super) fn is_repeatable(expr: &Expr) -> bool {
    let is_once =
        |part: &Expr| part.is_volatile_node() || part.is_routine_call() || matches!(part, Expr::Let(_));
    !is_long(expr) && !expr.has(is_once)
}

fn is_long(expr: &Expr) -> bool {
    let parts = Cell::new(0);
    expr.has(|_| {
        parts.set(parts.get() + 1);
        parts.get() > REPEATED_PARTS_MAX
    })
}

impl Binder<'_> {
    /// What `body` makes of a value that it may ask for in several places. Errors: those of `body`.
    pub(super) fn once(
        &mut self,
        value: Bound,
        body: impl FnOnce(&mut Self, Bound) -> Result<Expr>,
    ) -> Result<Expr> {
        if is_repeatable(&value.expr) {
            return body(self, value);
        }
        let number = self.lets;
        let field = value.ty.field("", true).into();
        let kept = Expr::LetValue(LetValue { number, field });
        self.lets += 1;
        let body = body(self, Bound::new(kept, value.ty));
        self.lets -= 1;
        let kept = Let {
            number,
            value: Box::new(value.expr),
            body: Box::new(body?),
        };
        match kept.uses() {
            0 | 1 => kept.unfolded(),
            _ => Ok(Expr::Let(kept)),
        }
    }

    /// The same of a value that is computed anew in each place, whatever it is, unless it is long: as BETWEEN does it.
    pub(super) fn long_once(
        &mut self,
        value: Bound,
        body: impl FnOnce(&mut Self, Bound) -> Result<Expr>,
    ) -> Result<Expr> {
        match is_long(&value.expr) {
            true => self.once(value, body),
            false => body(self, value),
        }
    }

    /// The same of two.
    pub(super) fn both_once(
        &mut self,
        [first, second]: [Bound; 2],
        body: impl FnOnce(&mut Self, [Bound; 2]) -> Result<Expr>,
    ) -> Result<Expr> {
        self.once(first, |binder, first| {
            binder.once(second, |binder, second| body(binder, [first, second]))
        })
    }
}
