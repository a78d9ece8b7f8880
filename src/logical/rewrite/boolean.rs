//! AND, OR and NOT, in three-valued logic: what is constant decides or goes, what is said twice is said once, what all sides of an OR
//! say is said before it, and NOT goes to where it changes a comparison.

use super::equalities::merged_equalities;
use super::operands::{is_chain, is_truth, operands, operands_of, said_once};
use crate::tree::{BinaryExpr, Expr, InList, Like, Operator, ScalarValue, TruthTest, lit, with_stack};

/// All of the operands, or one of them at least: AND, or OR.
pub(super) fn joined(operands: Vec<Expr>, op: Operator) -> Expr {
    let neutral = op == Operator::And;
    if operands.iter().any(|operand| is_truth(operand, !neutral)) {
        return lit(!neutral);
    }
    let mut operands = said_once(operands);
    operands.retain(|operand| !is_truth(operand, neutral));
    match op {
        Operator::Or => factored(operands),
        _ => {
            absorb(&mut operands);
            chain(operands, op)
        }
    }
}

/// The chain as it is.
fn chain(operands: Vec<Expr>, op: Operator) -> Expr {
    let both = |left, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    let chained = operands.into_iter().reduce(both);
    chained.unwrap_or_else(|| lit(op == Operator::And))
}

/// `a AND (a OR b)` is `a`.
fn absorb(operands: &mut Vec<Expr>) {
    if operands.len() < 2 || !operands.iter().any(|operand| is_chain(operand, Operator::Or)) {
        return;
    }
    let is_absorbed: Vec<bool> = operands
        .iter()
        .map(|operand| {
            is_chain(operand, Operator::Or)
                && !operand.is_volatile()
                && operands_of(operand, Operator::Or)
                    .iter()
                    .any(|side| operands.contains(side))
        })
        .collect();
    let mut is_absorbed = is_absorbed.into_iter();
    operands.retain(|_| !is_absorbed.next().unwrap_or(false));
}

/// `(a AND b) OR (a AND c)` is `a AND (b OR c)`, and `a OR (a AND b)` is `a`.
fn factored(sides: Vec<Expr>) -> Expr {
    let mut common: Vec<Expr> = match sides.as_slice() {
        [first, _, ..] => operands_of(first, Operator::And).into_iter().cloned().collect(),
        _ => Vec::new(),
    };
    common.retain(|part| !part.is_volatile());
    for side in sides.iter().skip(1) {
        if common.is_empty() {
            break;
        }
        let parts = operands_of(side, Operator::And);
        common.retain(|part| parts.contains(&part));
    }
    if common.is_empty() {
        return chain(merged_equalities(sides), Operator::Or);
    }
    let rests = sides.into_iter().map(|side| {
        let mut parts = operands(side, Operator::And);
        parts.retain(|part| !common.contains(part));
        chain(parts, Operator::And)
    });
    let rest = joined(rests.collect(), Operator::Or);
    common.push(rest);
    joined(common, Operator::And)
}

/// `NOT expr`, the NOT inside if it can be.
pub(super) fn negated(expr: Expr) -> Expr {
    match expr {
        Expr::Not(inner) => *inner,
        Expr::Literal(ScalarValue::Boolean(value), metadata) => {
            Expr::Literal(ScalarValue::Boolean(value.map(|value| !value)), metadata)
        }
        Expr::BinaryExpr(binary) => match (binary.op, binary.op.negate()) {
            (op @ (Operator::And | Operator::Or), _) => {
                let sides = operands(Expr::BinaryExpr(binary), op);
                let other = match op {
                    Operator::And => Operator::Or,
                    _ => Operator::And,
                };
                with_stack(|| joined(sides.into_iter().map(negated).collect(), other))
            }
            (_, Some(op)) => Expr::BinaryExpr(BinaryExpr { op, ..binary }),
            (_, None) => Expr::Not(Box::new(Expr::BinaryExpr(binary))),
        },
        Expr::IsNull(inner) => Expr::IsNotNull(inner),
        Expr::IsNotNull(inner) => Expr::IsNull(inner),
        Expr::TruthTest(test) => Expr::TruthTest(TruthTest {
            negated: !test.negated,
            ..test
        }),
        Expr::InList(list) => Expr::InList(InList {
            negated: !list.negated,
            ..list
        }),
        Expr::Like(like) => Expr::Like(Like {
            negated: !like.negated,
            ..like
        }),
        other => Expr::Not(Box::new(other)),
    }
}
