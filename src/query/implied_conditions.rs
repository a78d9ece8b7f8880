//! Whether one condition follows from another: what a query asks of rows, or a clause names, from what a partial index holds. By form alone;
//! what is not found out is not said.
//!
//! ```text
//! b = 5                  says  b > 0, b IN (5, 6), b IS NOT NULL
//! k IN ('a', 'b')        says  k = 'a' OR k = 'b'
//! d = false, d IS FALSE  say   NOT d
//! ```

use std::cmp::Ordering;

use super::operator::binary;
use crate::tree::{BinaryExpr, Expr, Operator, ScalarValue, split_conjunction};

/// Whether where all parts of one condition hold the other does.
pub(super) fn follows(said: &[&Expr], wanted: &Expr) -> bool {
    let mut wanted = split_conjunction(wanted).into_iter();
    wanted.all(|wanted| said.iter().any(|said| implies(said, wanted)))
}

/// Whether where one condition holds the other does.
fn implies(said: &Expr, wanted: &Expr) -> bool {
    let (said, wanted) = (plain(said), plain(wanted));
    if said == wanted || is_false(said).is_some_and(|operand| is_false(wanted) == Some(operand)) {
        return true;
    }
    if let Some(branches) = branches(said) {
        return branches.iter().all(|branch| implies(branch, wanted));
    }
    if let Expr::BinaryExpr(both) = said
        && both.op == Operator::And
    {
        return implies(&both.left, wanted) || implies(&both.right, wanted);
    }
    if let Some(branches) = self::branches(wanted) {
        return branches.iter().any(|branch| implies(said, branch));
    }
    match wanted {
        // What is compared is not NULL.
        Expr::IsNotNull(operand) => is_strict_in(said, operand),
        Expr::BinaryExpr(test) if test.op == Operator::And => {
            implies(said, &test.left) && implies(said, &test.right)
        }
        Expr::BinaryExpr(test) => match (compared(said), Compared::of(test)) {
            (Some(said), Some(wanted)) => said.implies(&wanted),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a condition is true of no NULL of the operand.
fn is_strict_in(said: &Expr, operand: &Expr) -> bool {
    match said {
        Expr::BinaryExpr(test) if test.op.is_comparison() => {
            *test.left == *operand || *test.right == *operand
        }
        Expr::Like(like) => *like.expr == *operand,
        Expr::InList(list) => !list.negated && *list.expr == *operand,
        said => said == operand,
    }
}

/// A condition without what it says twice: `c = true` is `c`.
pub(super) fn plain(condition: &Expr) -> &Expr {
    match condition {
        Expr::BinaryExpr(test) if test.op == Operator::Eq && is_boolean(&test.right, true) => {
            plain(&test.left)
        }
        Expr::TruthTest(test) if test.truth == Some(true) && !test.negated => plain(&test.expr),
        other => other,
    }
}

/// Of what a condition says that it is false.
fn is_false(condition: &Expr) -> Option<&Expr> {
    match condition {
        Expr::Not(operand) => Some(plain(operand)),
        Expr::BinaryExpr(test) if test.op == Operator::Eq && is_boolean(&test.right, false) => {
            Some(plain(&test.left))
        }
        Expr::TruthTest(test) if test.truth == Some(false) && !test.negated => Some(plain(&test.expr)),
        _ => None,
    }
}

fn is_boolean(expr: &Expr, value: bool) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Boolean(Some(literal)), _) if *literal == value)
}

/// The conditions of which one holds, where a condition is of several such.
fn branches(condition: &Expr) -> Option<Vec<Expr>> {
    match condition {
        Expr::BinaryExpr(either) if either.op == Operator::Or => {
            Some(vec![Expr::clone(&either.left), Expr::clone(&either.right)])
        }
        Expr::InList(list) if !list.negated => {
            let equal = |item: &Expr| binary(Expr::clone(&list.expr), Operator::Eq, item.clone());
            Some(list.list.iter().map(equal).collect())
        }
        _ => None,
    }
}

/// An operand compared with a constant.
struct Compared<'e> {
    operand: &'e Expr,
    operator: Operator,
    constant: &'e ScalarValue,
}

fn compared(condition: &Expr) -> Option<Compared<'_>> {
    match condition {
        Expr::BinaryExpr(test) => Compared::of(test),
        _ => None,
    }
}

impl<'e> Compared<'e> {
    fn of(test: &'e BinaryExpr) -> Option<Compared<'e>> {
        let swapped = test.op.swap()?;
        match (test.left.as_ref(), test.right.as_ref()) {
            (operand, Expr::Literal(constant, _)) if !constant.is_null() => Some(Compared {
                operand,
                operator: test.op,
                constant,
            }),
            (Expr::Literal(constant, _), operand) if !constant.is_null() => Some(Compared {
                operand,
                operator: swapped,
                constant,
            }),
            _ => None,
        }
    }

    fn implies(&self, wanted: &Compared<'_>) -> bool {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        if self.operand != wanted.operand {
            return false;
        }
        if self.operator == wanted.operator && self.constant == wanted.constant {
            return true;
        }
        // How the constant of the one stands to that of the other.
        let Some(order) = order_of(self.constant, wanted.constant) else {
            return false;
        };
        match (self.operator, wanted.operator) {
            (Eq, Eq) => order.is_eq(),
            (Eq, NotEq) => order.is_ne(),
            (Eq | Gt | GtEq, GtEq) | (Gt, Gt) => order.is_ge(),
            (Eq | GtEq, Gt) | (GtEq, NotEq) => order.is_gt(),
            (Eq | Lt | LtEq, LtEq) | (Lt, Lt) => order.is_le(),
            (Eq | LtEq, Lt) | (LtEq, NotEq) => order.is_lt(),
            (Gt, NotEq) => order.is_ge(),
            (Lt, NotEq) => order.is_le(),
            _ => false,
        }
    }
}

/// The order of two constants of one type, where it is that of their values.
fn order_of(one: &ScalarValue, other: &ScalarValue) -> Option<Ordering> {
    let is_ordered = |value: &ScalarValue| {
        let ty = value.data_type();
        ty.is_integer() || ty.is_decimal() || ty.is_temporal()
    };
    match one.data_type() == other.data_type() && is_ordered(one) {
        true => one.partial_cmp(other),
        false => None,
    }
}
