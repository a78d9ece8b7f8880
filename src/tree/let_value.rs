//! `Let`: a value that an expression asks for in several places and that is computed once, as PostgreSQL's `CaseTestExpr` is. It is what
//! COALESCE, NULLIF, GREATEST, LEAST, `CASE value WHEN …` and the like are made of where the value is volatile or long.
//!
//! 1. A [`LetValue`] belongs to the innermost `Let` around it of its number whose `body` it is in.
//! 2. What stands in an expression may be replaced by what has no `LetValue` of an outer `Let`: then nothing is taken for another.

use std::ops::RangeInclusive;

use arrow::datatypes::FieldRef;

use super::expr::Expr;
use super::walk::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use crate::Result;

/// `body`, in which a [`LetValue`] of this number stands for `value`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Let {
    /// Which one, of those within each other.
    pub number: usize,
    /// What is computed once.
    pub value: Box<Expr>,
    /// What asks for it.
    pub body: Box<Expr>,
}

/// The value of the `Let` around it that has this number.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LetValue {
    /// Which one.
    pub number: usize,
    /// Its field.
    pub field: FieldRef,
}

/// The last of the states that `step` makes, one after the other, of the state before and of an item of each list: a state is the
/// [`LetValue`] of `number`, and the items are those of the numbers behind it. What a user's aggregate makes of the rows of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fold {
    /// That of the state.
    pub number: usize,
    /// Arrays of the same length.
    pub lists: Vec<Expr>,
    /// The first state.
    pub initial: Box<Expr>,
    /// The next state; it asks for nothing but that and the items.
    pub step: Box<Expr>,
}

impl Let {
    /// The body with the value itself wherever it is asked for.
    pub fn unfolded(self) -> Result<Expr> {
        let Let {
            number, value, body, ..
        } = self;
        substituted(*body, number, &value)
    }

    /// In how many places the body asks for it, as far as they are no part of another of its number.
    pub fn uses(&self) -> usize {
        let mut uses = 0;
        self.body.each_asked(&mut Vec::new(), &mut |number| {
            uses += usize::from(number == self.number);
        });
        uses
    }
}

fn substituted(expr: Expr, number: usize, value: &Expr) -> Result<Expr> {
    if matches!(&expr, Expr::LetValue(of) if of.number == number) {
        return Ok(value.clone());
    }
    // What has its own of this number asks there for none of this one.
    let own = expr.inner_part().filter(|(_, numbers)| numbers.contains(&number));
    let mut part = 0;
    let replaced = expr.map_children(|child| {
        let is_own = own.as_ref().is_some_and(|(own, _)| *own == part);
        part += 1;
        match is_own {
            true => Ok(Transformed::no(child)),
            false => super::with_stack(|| substituted(child, number, value)).map(Transformed::yes),
        }
    });
    replaced.data()
}

impl Expr {
    /// Whether it asks for no value of a `Let` around it: it means the same wherever it stands.
    pub fn is_closed(&self) -> bool {
        let mut is_closed = true;
        self.each_asked(&mut Vec::new(), &mut |_| is_closed = false);
        is_closed
    }

    /// The part in which numbers mean values of this expression itself: which one of those right below, and the numbers.
    fn inner_part(&self) -> Option<(usize, RangeInclusive<usize>)> {
        match self {
            Expr::Let(kept) => Some((1, kept.number..=kept.number)),
            Expr::Fold(fold) => {
                let items = fold.lists.len();
                Some((items + 1, fold.number..=fold.number + items))
            }
            _ => None,
        }
    }

    /// Calls `visit` with the number of each value that it asks of what is around it; `known` are those of itself.
    fn each_asked(&self, known: &mut Vec<RangeInclusive<usize>>, visit: &mut dyn FnMut(usize)) {
        if let Expr::LetValue(value) = self
            && !known.iter().any(|numbers| numbers.contains(&value.number))
        {
            visit(value.number);
        }
        let inner = self.inner_part();
        let mut part = 0;
        // No step of it fails.
        let _ = self.apply_children(|child| {
            let numbers = inner.clone().filter(|(inner, _)| *inner == part);
            part += 1;
            let before = known.len();
            known.extend(numbers.map(|(_, numbers)| numbers));
            super::with_stack(|| child.each_asked(known, visit));
            known.truncate(before);
            Ok(TreeNodeRecursion::Continue)
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::datatypes::{DataType, Field};

    use super::*;
    use crate::tree::expr::lit;

    fn value(number: usize) -> Expr {
        let field = Arc::new(Field::new("v", DataType::Int64, true));
        Expr::LetValue(LetValue { number, field })
    }

    /// A fold of number 0 whose first state and list are those given.
    fn fold(list: Expr, initial: Expr) -> Expr {
        Expr::Fold(Fold {
            number: 0,
            lists: vec![list],
            initial: Box::new(initial),
            step: Box::new(Expr::IsNotNull(Box::new(Expr::Let(Let {
                number: 2,
                value: Box::new(value(0)),
                body: Box::new(Expr::IsNotNull(Box::new(value(1)))),
            })))),
        })
    }

    fn kept(number: usize, value: Expr, body: Expr) -> Let {
        Let {
            number,
            value: Box::new(value),
            body: Box::new(body),
        }
    }

    /// The state and the items of a fold are not the value of a `Let` around it that has one of their numbers.
    #[test]
    fn the_values_of_a_fold_are_its_own() -> Result<()> {
        for number in [0, 1] {
            let around = kept(number, value(7), fold(value(number), value(number)));
            assert_eq!(around.uses(), 2);
            assert_eq!(around.unfolded()?, fold(value(7), value(7)));
        }
        Ok(())
    }

    /// Nor is what a `Let` within it keeps, while its value is asked of the one around.
    #[test]
    fn the_value_of_a_let_is_its_own() -> Result<()> {
        let inner = |asked| Expr::Let(kept(3, asked, value(3)));
        let around = kept(3, value(7), inner(value(3)));
        assert_eq!(around.uses(), 1);
        assert_eq!(around.unfolded()?, inner(value(7)));
        Ok(())
    }

    #[test]
    fn what_asks_for_nothing_around_it_is_closed() {
        let inner = Expr::Let(kept(3, value(3), value(3)));
        assert!(!inner.is_closed());
        assert!(!fold(value(1), value(0)).is_closed());
        let constant = lit(1_i64);
        assert!(fold(constant.clone(), constant).is_closed());
    }
}
