//! Which computed columns have few values, by their expressions: `ts % 16` has those from -15 to 15. A key that begins with such a column
//! is read in as many places (`TableDef::few_first_values`), so that conditions on what follows bound it.

use sqlparser::ast::{self, BinaryOperator, DataType, Expr, FunctionArg, FunctionArgExpr, UnaryOperator};

use crate::catalog::{BUCKETS_MAX, ColumnDef};
use crate::parse::names;

/// The least and the greatest of an expression's values, if they are whole numbers and few.
pub(super) fn few_values(expr: &Expr, columns: &[ColumnDef]) -> Option<(i64, i64)> {
    let (divided, divisor) = match expr {
        Expr::Nested(inner) => return few_values(inner, columns),
        Expr::Cast { expr, data_type, .. } if is_integer_type(data_type) => return few_values(expr, columns),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Modulo,
            right,
        } => (&**left, &**right),
        Expr::Function(call) if name_of(call) == "mod" => match arguments(call).as_slice() {
            [divided, divisor] => (*divided, *divisor),
            _ => return None,
        },
        _ => return None,
    };
    let count = number(divisor)?;
    if !(2..=i64::from(BUCKETS_MAX)).contains(&count) || !is_integer(divided, columns) {
        return None;
    }
    // What is left has the sign of what is divided.
    match is_never_negative(divided) {
        true => Some((0, count - 1)),
        false => Some((1 - count, count - 1)),
    }
}

/// A whole number.
fn number(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::Value(value) => match &value.value {
            ast::Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn is_integer(expr: &Expr, columns: &[ColumnDef]) -> bool {
    let is = |expr: &Expr| is_integer(expr, columns);
    match expr {
        Expr::Nested(inner) => is(inner),
        Expr::Identifier(name) => {
            let name = names::fold(name);
            let column = columns.iter().find(|column| column.name == name);
            column.is_some_and(|column| column.ty.is_integer())
        }
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => is(expr),
        Expr::BinaryOp { left, op, right } => {
            let is_known = matches!(
                op,
                BinaryOperator::Plus
                    | BinaryOperator::Minus
                    | BinaryOperator::Multiply
                    | BinaryOperator::Divide
                    | BinaryOperator::Modulo
            );
            is_known && is(left) && is(right)
        }
        Expr::Cast { data_type, .. } => is_integer_type(data_type),
        Expr::Function(call) => match name_of(call).as_str() {
            "hash8" | "hash32" | "hash64" | "length" | "ascii" => true,
            "abs" => arguments(call).into_iter().all(is),
            _ => false,
        },
        other => number(other).is_some(),
    }
}

fn is_never_negative(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_never_negative(inner),
        Expr::Cast { expr, data_type, .. } => is_integer_type(data_type) && is_never_negative(expr),
        Expr::Function(call) => {
            ["hash8", "hash32", "length", "ascii", "abs"].contains(&name_of(call).as_str())
        }
        _ => false,
    }
}

fn is_integer_type(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::SmallInt(_)
            | DataType::Int2(_)
            | DataType::Int(_)
            | DataType::Integer(_)
            | DataType::Int4(_)
            | DataType::BigInt(_)
            | DataType::Int8(_)
    )
}

fn name_of(call: &ast::Function) -> String {
    names::last_name(&call.name).unwrap_or_default()
}

fn arguments(call: &ast::Function) -> Vec<&Expr> {
    let ast::FunctionArguments::List(list) = &call.args else {
        return Vec::new();
    };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    arguments.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dml::parse_expression;
    use crate::types::SqlType;

    fn values(sql: &str) -> Option<(i64, i64)> {
        let column = |name: &str, ty: SqlType| ColumnDef::new(1, name, ty);
        let columns = [column("ts", SqlType::Int8), column("v", SqlType::Text)];
        few_values(&parse_expression(sql).unwrap(), &columns)
    }

    #[test]
    fn what_is_left_of_a_division_is_few() {
        assert_eq!(values("ts % 16"), Some((-15, 15)));
        assert_eq!(values("(ts / 1000) % 4"), Some((-3, 3)));
        assert_eq!(values("mod(ts, 8)"), Some((-7, 7)));
        assert_eq!(values("abs(ts) % 16"), Some((0, 15)));
        assert_eq!(values("hash32(v) % 16"), Some((0, 15)));
        assert_eq!(values("(hash64(v) % 16)::int"), Some((-15, 15)));
        for sql in [
            "ts % 1", "ts % 65", "ts % 0", "ts", "v", "ts % ts", "v % 16", "ts % 2.5", "ts * 2",
        ] {
            assert_eq!(values(sql), None, "{sql}");
        }
    }
}
