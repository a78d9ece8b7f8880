//! The column that a condition, by its form, bounds: `column op constant`, `column IN (…)`, `column BETWEEN …`,
//! `column LIKE 'prefix%'`, and OR between such of one column; and the sides of an equality.

use crate::functions::cast::CAST_NAME;
use crate::functions::compare::{CITEXT_KEY_NAME, TRIM_CHAR_NAME};
use crate::functions::sort_key::is_key_of_operand;
use crate::plan::like_bounds;
use crate::tree::{BinaryExpr, Column, Expr, Operator, ScalarValue};
use crate::types::{SqlType, Value};

/// Comparisons that say where to look; that which says it most closely first.
const BOUNDING: [Operator; 5] = [
    Operator::Eq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
];

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

/// The column that the condition compares with what is known before any row is.
pub fn compared_column(condition: &Expr) -> Option<&Column> {
    column_compared_by(&BOUNDING, condition)
}

/// The column that the condition says to be one of some values that are known before any row is.
pub fn pinned_column(condition: &Expr) -> Option<&Column> {
    column_compared_by(&BOUNDING[..1], condition)
}

fn column_compared_by<'a>(operators: &[Operator], condition: &'a Expr) -> Option<&'a Column> {
    let is_known = |expr: &Expr| expr.column_refs().is_empty();
    let bounds_both_ends = operators.contains(&Operator::GtEq);
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if operators.contains(op) => {
            let sides = [(left, right), (right, left)];
            let mut sides = sides.into_iter().filter(|(_, other)| is_known(other));
            sides.find_map(|(column, _)| as_column(column))
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Or,
            right,
        }) => {
            let right = column_compared_by(operators, right)?;
            column_compared_by(operators, left).filter(|left| *left == right)
        }
        Expr::InList(list) if !list.negated && list.list.iter().all(is_known) => as_column(&list.expr),
        Expr::Like(like) if bounds_both_ends && !like.negated => {
            let Expr::Literal(pattern, _) = like.pattern.as_ref() else {
                return None;
            };
            let pattern = match pattern {
                ScalarValue::Binary(Some(bytes)) => Value::Bytes(bytes.clone()),
                pattern => Value::Text(pattern.try_as_str()??.to_string()),
            };
            let bounds = like_bounds(
                &pattern,
                like.escape,
                like.case_insensitive && !is_citext(&like.expr),
                true,
            );
            as_column(&like.expr).filter(|_| bounds)
        }
        _ => None,
    }
}

/// A column, perhaps widened, without its blanks, or in lower case.
fn as_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::ScalarFunction(call) if matches!(call.name(), TRIM_CHAR_NAME | CITEXT_KEY_NAME) => {
            match call.args.as_slice() {
                [Expr::Column(column)] => Some(column),
                _ => None,
            }
        }
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Column(column) => Some(column),
            _ => None,
        },
        // What is equal as text is so as citext.
        Expr::ScalarFunction(call) if is_citext(expr) => as_column(call.args.first()?),
        // The key by which values compare, of a column or of one that was made a numeric without a size.
        Expr::ScalarFunction(call) if is_key_of_operand(call.name()) => match call.args.as_slice() {
            [Expr::ScalarFunction(cast)] if cast.name() == CAST_NAME => as_column(cast.args.first()?),
            [column] => as_column(column),
            _ => None,
        },
        _ => None,
    }
}

/// Whether it is citext made text.
fn is_citext(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => call.name() == CAST_NAME && call.func.arguments() == [SqlType::Citext],
        _ => false,
    }
}
