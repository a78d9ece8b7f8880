//! Conditions and arrays put together of printed parts. Used by the files that print expressions.

use sqlparser::ast::BinaryOperator as Op;

use super::printed::{Around, Printed, Shape, Side};
use crate::types::SqlType;

/// An operator by PostgreSQL's name.
pub(super) fn symbol_of(op: &Op) -> String {
    if let Op::PGCustomBinaryOperator(parts) = op {
        return match parts.as_slice() {
            [schema, symbol] if schema == "pg_catalog" => symbol.clone(),
            _ => op.to_string(),
        };
    }
    match op.to_string().as_str() {
        "==" => "=".to_string(),
        "!=" => "<>".to_string(),
        symbol => symbol.to_string(),
    }
}

/// Two operands with an operator between them.
pub(super) fn infix_of(left: &Printed, words: &str, right: &Printed, shape: Shape) -> Printed {
    let inside = match shape {
        Shape::Test => Shape::Operator,
        shape => shape,
    };
    Printed::of(shape, SqlType::Bool, |text| {
        let left = text(left, Around::Operator(inside, Side::Left));
        let right = text(right, Around::Operator(inside, Side::Right));
        format!("{left} {words} {right}")
    })
}

/// An operand and what is asked of it.
pub(super) fn tested(operand: &Printed, words: &str) -> Printed {
    Printed::of(Shape::Test, SqlType::Bool, |text| {
        format!("{} {words}", text(operand, Around::Tight))
    })
}

/// NOT of a condition.
pub(super) fn negated(inner: Printed) -> Printed {
    Printed::of(Shape::Not, SqlType::Bool, |text| {
        format!("NOT {}", text(&inner, Around::Not))
    })
}

/// Conditions joined by AND or OR; one alone stays as it is.
pub(super) fn connected(parts: &[Printed], all: bool) -> Printed {
    if let [only] = parts {
        return only.clone();
    }
    let (shape, around, word) = match all {
        true => (Shape::And, Around::And, " AND "),
        false => (Shape::Or, Around::Or, " OR "),
    };
    Printed::of(shape, SqlType::Bool, |text| {
        let parts: Vec<String> = parts.iter().map(|part| text(part, around)).collect();
        parts.join(word)
    })
}

/// `ARRAY[…]` of items of a type.
pub(super) fn array_of(items: Vec<Printed>, item: SqlType) -> Printed {
    Printed::call(SqlType::array(item), |text| {
        let items: Vec<String> = items.iter().map(text).collect();
        format!("ARRAY[{}]", items.join(", "))
    })
}
