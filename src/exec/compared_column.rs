//! The column that a condition, by its form, bounds: `column op constant`, `column IN (…)`, `column BETWEEN …`.

use datafusion::common::Column;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// Comparisons that say where to look.
const BOUNDING: [Operator; 5] = [
    Operator::Eq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
];

/// The column that the condition compares with what is known before any row is.
pub fn compared_column(condition: &Expr) -> Option<&Column> {
    let is_known = |expr: &Expr| expr.column_refs().is_empty();
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if BOUNDING.contains(op) => {
            let sides = [(left, right), (right, left)];
            let mut sides = sides.into_iter().filter(|(_, other)| is_known(other));
            sides.find_map(|(column, _)| as_column(column))
        }
        Expr::InList(list) if !list.negated && list.list.iter().all(is_known) => as_column(&list.expr),
        Expr::Between(between) if !between.negated && is_known(&between.low) && is_known(&between.high) => {
            as_column(&between.expr)
        }
        _ => None,
    }
}

/// A column, perhaps widened.
fn as_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Column(column) => Some(column),
            _ => None,
        },
        _ => None,
    }
}
