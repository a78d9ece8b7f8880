//! `equality`: a condition that says that two things are equal.

use crate::tree::{BinaryExpr, Expr, Operator};

/// What a condition `a = b` says of each of its sides: that it is the other.
pub fn equality(condition: &Expr) -> Option<[(&Expr, &Expr); 2]> {
    match condition {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) => Some([(left, right), (right, left)]),
        _ => None,
    }
}
