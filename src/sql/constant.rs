//! Constants of SQL text: literals, signs before numbers, parameters. Used by DDL for defaults and by the fast path of
//! writes; anything else is an expression for `query`.

use sqlparser::ast::{DataType, Expr, UnaryOperator, Value as Literal};

use crate::types::{Numeric, Value};
use crate::{Error, Result};

/// The value of a constant expression; `None` when it is no constant. Parameters come from `parameters` (`$1` first).
/// Errors: 22003 for a number beyond all types, 42P02 for a parameter that was not given.
pub(crate) fn constant(expr: &Expr, parameters: &[Value]) -> Result<Option<Value>> {
    match expr {
        Expr::Value(literal) => literal_value(&literal.value, parameters),
        Expr::Nested(inner) => constant(inner, parameters),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => Ok(number(expr, parameters)?),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match &**expr {
            Expr::Value(literal) => match &literal.value {
                Literal::Number(text, _) => number_value(&format!("-{text}")).map(Some),
                _ => Ok(None),
            },
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The text of a literal string with the type named before it (`DATE '2024-01-01'`) or cast to (`'1'::int`).
pub(crate) fn typed_literal(expr: &Expr) -> Option<(&DataType, &str)> {
    let (data_type, literal) = match expr {
        Expr::TypedString(typed) => (&typed.data_type, &typed.value.value),
        Expr::Cast { data_type, expr, .. } => match &**expr {
            Expr::Value(literal) => (data_type, &literal.value),
            _ => return None,
        },
        _ => return None,
    };
    match literal {
        Literal::SingleQuotedString(text) => Some((data_type, text)),
        _ => None,
    }
}

/// The position of `$n` among the parameters.
pub(crate) fn parameter_index(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Value(literal) => match &literal.value {
            Literal::Placeholder(name) => placeholder_index(name),
            _ => None,
        },
        Expr::Nested(inner) => parameter_index(inner),
        _ => None,
    }
}

fn placeholder_index(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

fn number(expr: &Expr, parameters: &[Value]) -> Result<Option<Value>> {
    Ok(constant(expr, parameters)?.filter(|value| matches!(value, Value::Int(_) | Value::Numeric(_))))
}

fn literal_value(literal: &Literal, parameters: &[Value]) -> Result<Option<Value>> {
    Ok(Some(match literal {
        Literal::Null => Value::Null,
        Literal::Boolean(value) => Value::Bool(*value),
        Literal::Number(text, _) => number_value(text)?,
        Literal::SingleQuotedString(text)
        | Literal::EscapedStringLiteral(text)
        | Literal::UnicodeStringLiteral(text) => Value::Unknown(text.clone()),
        Literal::DollarQuotedString(quoted) => Value::Unknown(quoted.value.clone()),
        Literal::Placeholder(name) => {
            let value = placeholder_index(name).and_then(|at| parameters.get(at));
            value.cloned().ok_or_else(|| undefined_parameter(name))?
        }
        _ => return Ok(None),
    }))
}

/// An integer when it is one that bigint holds, else a numeric.
fn number_value(text: &str) -> Result<Value> {
    match text.parse::<i64>() {
        Ok(integer) => Ok(Value::Int(integer)),
        Err(_) => Numeric::parse(text).map(Value::Numeric),
    }
}

fn undefined_parameter(name: &str) -> Error {
    Error::InvalidStatement {
        state: crate::error::StatementFault::UndefinedParameter,
        message: format!("there is no parameter {name}"),
        hint: None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn read(text: &str) -> Option<Value> {
        let expr = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap().parse_expr().unwrap();
        constant(&expr, &[Value::Int(7)]).unwrap()
    }

    #[test]
    fn literals_and_parameters_are_constants() {
        assert_eq!(read("12"), Some(Value::Int(12)));
        assert_eq!(read("-9223372036854775808"), Some(Value::Int(i64::MIN)));
        assert_eq!(read("(-(3))"), None);
        assert_eq!(read("+1.5"), Some(Value::Numeric(Numeric::parse("1.5").unwrap())));
        assert_eq!(read("'a''b'"), Some(Value::Unknown("a'b".to_string())));
        assert_eq!(read("$1"), Some(Value::Int(7)));
        assert_eq!(read("NULL"), Some(Value::Null));
        assert_eq!(read("TRUE"), Some(Value::Bool(true)));
        assert_eq!(read("1 + 1"), None);
        assert_eq!(read("now()"), None);
    }

    #[test]
    fn a_missing_parameter_is_an_error() {
        let expr = Parser::new(&PostgreSqlDialect {}).try_with_sql("$2").unwrap().parse_expr().unwrap();
        assert_eq!(constant(&expr, &[Value::Null]).unwrap_err().sqlstate(), "42P02");
    }
}
