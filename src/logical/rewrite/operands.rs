//! The operands of AND and OR.

use std::collections::HashSet;

use crate::tree::{Expr, Operator, ScalarValue};

/// The operands of a chain of ANDs or ORs, in the order in which they are written.
pub(super) fn operands(expr: Expr, op: Operator) -> Vec<Expr> {
    let (mut found, mut left) = (Vec::new(), vec![expr]);
    while let Some(expr) = left.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => {
                left.push(*binary.right);
                left.push(*binary.left);
            }
            Expr::Alias(alias) if is_chain(&alias.expr, op) => left.push(*alias.expr),
            operand => found.push(operand),
        }
    }
    found
}

/// The same of a chain that stays.
pub(super) fn operands_of(expr: &Expr, op: Operator) -> Vec<&Expr> {
    let (mut found, mut left) = (Vec::new(), vec![expr]);
    while let Some(expr) = left.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => {
                left.push(&binary.right);
                left.push(&binary.left);
            }
            Expr::Alias(alias) if is_chain(&alias.expr, op) => left.push(&alias.expr),
            operand => found.push(operand),
        }
    }
    found
}

/// Whether it is a chain of this operator.
pub(super) fn is_chain(expr: &Expr, op: Operator) -> bool {
    matches!(expr, Expr::BinaryExpr(binary) if binary.op == op)
}

/// Whether it is this truth value.
pub(super) fn is_truth(expr: &Expr, truth: bool) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(value)), _) if *value == truth)
}

/// Each operand once; what is volatile is another one each time.
pub(super) fn said_once(operands: Vec<Expr>) -> Vec<Expr> {
    if operands.len() < 2 {
        return operands;
    }
    let mut seen: HashSet<&Expr> = HashSet::with_capacity(operands.len());
    let is_new: Vec<bool> = operands
        .iter()
        .map(|operand| seen.insert(operand) || operand.is_volatile())
        .collect();
    let operands = operands.into_iter().zip(is_new);
    operands
        .filter_map(|(operand, is_new)| is_new.then_some(operand))
        .collect()
}
