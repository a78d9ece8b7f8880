//! `Let`: a value that an expression asks for in several places and that is computed once, as PostgreSQL's `CaseTestExpr` is. It is what
//! COALESCE, NULLIF, GREATEST, LEAST, `CASE value WHEN …` and the like are made of where the value is volatile or long.
//!
//! 1. A [`LetValue`] belongs to the innermost `Let` around it of its number whose `body` it is in.
//! 2. What stands in an expression may be replaced by what has no `LetValue` of an outer `Let`: then nothing is taken for another.

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
        // No step of it fails.
        let _ = self.body.apply(|expr| {
            uses += usize::from(matches!(expr, Expr::LetValue(of) if of.number == self.number));
            Ok(match expr {
                Expr::Let(inner) if inner.number == self.number => TreeNodeRecursion::Jump,
                _ => TreeNodeRecursion::Continue,
            })
        });
        uses
    }
}

fn substituted(expr: Expr, number: usize, value: &Expr) -> Result<Expr> {
    let replaced = expr.transform_down(|expr| match expr {
        Expr::LetValue(of) if of.number == number => {
            Ok(Transformed::new(value.clone(), true, TreeNodeRecursion::Jump))
        }
        // Another of this number: its value alone is asked of this one.
        Expr::Let(mut inner) if inner.number == number => {
            *inner.value = substituted(*inner.value, number, value)?;
            Ok(Transformed::new(Expr::Let(inner), true, TreeNodeRecursion::Jump))
        }
        expr => Ok(Transformed::no(expr)),
    });
    replaced.data()
}

impl Expr {
    /// Whether it asks for no value of a `Let` around it: it means the same wherever it stands.
    pub fn is_closed(&self) -> bool {
        self.is_closed_in(&mut Vec::new())
    }

    fn is_closed_in(&self, known: &mut Vec<usize>) -> bool {
        match self {
            Expr::LetValue(value) => known.contains(&value.number),
            Expr::Fold(fold) => {
                let mut is_closed = fold.initial.is_closed_in(known);
                is_closed &= fold.lists.iter().all(|list| list.is_closed_in(known));
                let before = known.len();
                known.extend(fold.number..=fold.number + fold.lists.len());
                is_closed &= fold.step.is_closed_in(known);
                known.truncate(before);
                is_closed
            }
            Expr::Let(inner) => {
                let has_closed_value = inner.value.is_closed_in(known);
                known.push(inner.number);
                let has_closed_body = inner.body.is_closed_in(known);
                known.pop();
                has_closed_value && has_closed_body
            }
            expr => {
                let mut is_closed = true;
                // No step of it fails.
                let _ = expr.apply_children(|child| {
                    is_closed &= super::with_stack(|| child.is_closed_in(known));
                    Ok(TreeNodeRecursion::Continue)
                });
                is_closed
            }
        }
    }
}
