//! AND and OR of several conditions.

use super::expr::Expr;
use super::operator::Operator;

/// All of them as one; `None` without any.
pub fn conjunction(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(Expr::and)
}

/// One of them at least as one; `None` without any.
pub fn disjunction(conditions: impl IntoIterator<Item = Expr>) -> Option<Expr> {
    conditions.into_iter().reduce(Expr::or)
}

/// What AND joins at the top.
pub fn split_conjunction(condition: &Expr) -> Vec<&Expr> {
    let (mut found, mut left) = (Vec::new(), vec![condition]);
    while let Some(expr) = left.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == Operator::And => {
                left.push(&binary.right);
                left.push(&binary.left);
            }
            Expr::Alias(alias) => left.push(&alias.expr),
            part => found.push(part),
        }
    }
    found
}

/// The same of a condition that is taken apart.
pub fn split_conjunction_owned(condition: Expr) -> Vec<Expr> {
    let (mut found, mut left) = (Vec::new(), vec![condition]);
    while let Some(expr) = left.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == Operator::And => {
                left.push(*binary.right);
                left.push(*binary.left);
            }
            Expr::Alias(alias) => left.push(*alias.expr),
            part => found.push(part),
        }
    }
    found
}
