//! `IN` lists: what is never true or asks for few values is said without a list.

use super::boolean::joined;
use super::comparison::comparison;
use super::equalities::SHORT_MAX;
use crate::tree::{BinaryExpr, Expr, InList, Operator, ScalarValue};

/// What a list says, said as short as can be.
pub(super) fn plain_list(list: InList) -> Expr {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    if is_null(&list.expr) {
        return Expr::Literal(ScalarValue::Boolean(None), None);
    }
    let is_short = match list.list.len() {
        0 => return Expr::Literal(ScalarValue::Boolean(Some(list.negated)), None),
        1 => true,
        values => values <= SHORT_MAX && matches!(*list.expr, Expr::Column(_)),
    };
    if !is_short {
        return Expr::InList(list);
    }
    let (op, junction) = match list.negated {
        false => (Operator::Eq, Operator::Or),
        true => (Operator::NotEq, Operator::And),
    };
    let values = list.list.into_iter();
    let tests = values.map(|value| {
        let test = BinaryExpr::new(list.expr.clone(), op, Box::new(value));
        comparison(test)
    });
    joined(tests.collect(), junction)
}
