//! `Constant`: a value that a write states (VALUES, SET, DEFAULT) and no run changes: a literal as it stands, or what an
//! expression was folded to.

use sqlparser::ast;

use super::bound::Bound;
use super::literal::string_literal;
use crate::Result;
use crate::functions::value_array::value_of_scalar;
use crate::tree::Expr;
use crate::types::{SqlType, Value, number_value};

/// The value of an expression that no row decides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    /// `Unknown` for a string literal that nothing has given a type.
    pub(crate) value: Value,
    /// Its type.
    pub(crate) ty: SqlType,
}

impl Constant {
    /// A value of the type that it is of by itself.
    pub(crate) fn natural(value: Value) -> Constant {
        let ty = value.natural_type();
        Constant { value, ty }
    }
}

/// The constant that is written out. Errors: 22003 for a number that nothing holds.
pub(crate) fn literal(expr: &ast::Expr) -> Result<Option<Constant>> {
    match expr {
        ast::Expr::Value(literal) => literal_constant(&literal.value),
        ast::Expr::Nested(inner) => literal(inner),
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr: number,
        } if let ast::Expr::Value(literal) = number.as_ref()
            && let ast::Value::Number(digits, _) = &literal.value =>
        {
            number_value(&format!("-{digits}")).map(|value| Some(Constant::natural(value)))
        }
        _ => Ok(None),
    }
}

fn literal_constant(literal: &ast::Value) -> Result<Option<Constant>> {
    use ast::Value as V;
    if let Some(text) = string_literal(literal) {
        return Ok(Some(Constant::natural(Value::Unknown(text.clone()))));
    }
    let value = match literal {
        V::Number(digits, _) => number_value(digits)?,
        V::Boolean(truth) => Value::Bool(*truth),
        V::Null => Value::Null,
        _ => return Ok(None),
    };
    Ok(Some(Constant::natural(value)))
}

/// The constant that an expression was folded to.
pub(super) fn constant_of(bound: &Bound) -> Result<Option<Constant>> {
    let Expr::Literal(scalar, _) = &bound.expr else {
        return Ok(None);
    };
    let value = match value_of_scalar(scalar, &bound.ty)? {
        Value::Text(text) if bound.ty == SqlType::Unknown => Value::Unknown(text),
        value => value,
    };
    let ty = bound.ty.clone();
    Ok(Some(Constant { value, ty }))
}
