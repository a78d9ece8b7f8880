//! Comparisons: with NULL they are NULL, with a truth value what they ask is the other side, and constants stand to the right.

use super::boolean::negated;
use crate::tree::{BinaryExpr, Expr, Operator, ScalarValue};

/// What a binary expression says, if it is a comparison.
pub(super) fn comparison(binary: BinaryExpr) -> Expr {
    if !binary.op.is_comparison() {
        return Expr::BinaryExpr(binary);
    }
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    if is_null(&binary.left) || is_null(&binary.right) {
        return Expr::Literal(ScalarValue::Boolean(None), None);
    }
    let binary = with_constant_right(binary);
    match (binary.op, binary.right.as_ref()) {
        (op @ (Operator::Eq | Operator::NotEq), Expr::Literal(ScalarValue::Boolean(Some(truth)), _)) => {
            match (op == Operator::Eq) == *truth {
                true => *binary.left,
                false => negated(*binary.left),
            }
        }
        _ => Expr::BinaryExpr(binary),
    }
}

/// `constant op column` as `column op constant`.
fn with_constant_right(binary: BinaryExpr) -> BinaryExpr {
    match (binary.left.as_ref(), binary.right.as_ref(), binary.op.swap()) {
        (Expr::Literal(..), Expr::Literal(..), _) => binary,
        (Expr::Literal(..), _, Some(op)) => BinaryExpr {
            left: binary.right,
            op,
            right: binary.left,
        },
        _ => binary,
    }
}
