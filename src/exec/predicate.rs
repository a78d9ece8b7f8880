//! DataFusion's filter expressions as `Predicate`s of one table.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, Operator};

use super::cell::value_of_scalar;
use crate::catalog::TableDef;
use crate::plan::{CompareOp, Predicate};
use crate::types::{SqlType, Value};

/// The condition over the table's columns; what has no form there is `Opaque`.
pub fn from_expr(expr: &Expr, table: &TableDef) -> Predicate {
    read(expr, table).unwrap_or_else(|| opaque(expr, table))
}

fn read(expr: &Expr, table: &TableDef) -> Option<Predicate> {
    Some(match expr {
        Expr::Literal(scalar, _) => match value_of_scalar(scalar, &SqlType::Bool).ok()? {
            Value::Bool(flag) => Predicate::Constant(Some(flag)),
            Value::Null => Predicate::Constant(None),
            _ => return None,
        },
        Expr::Column(column) => Predicate::IsTrue { column: table.column_index(&column.name)? },
        Expr::Not(inner) => Predicate::Not(Box::new(from_expr(inner, table))),
        Expr::IsNull(inner) => Predicate::IsNull { column: column_of(inner, table)? },
        Expr::IsNotNull(inner) => Predicate::Not(Box::new(Predicate::IsNull { column: column_of(inner, table)? })),
        Expr::IsTrue(inner) => is(inner, Some(true), false, table),
        Expr::IsFalse(inner) => is(inner, Some(false), false, table),
        Expr::IsUnknown(inner) => is(inner, None, false, table),
        Expr::IsNotTrue(inner) => is(inner, Some(true), true, table),
        Expr::IsNotFalse(inner) => is(inner, Some(false), true, table),
        Expr::IsNotUnknown(inner) => is(inner, None, true, table),
        Expr::InList(list) => {
            let column = column_of(&list.expr, table)?;
            let values = list.list.iter().map(|item| constant(item, &table.columns[column].ty)).collect::<Option<Vec<_>>>()?;
            let test = Predicate::InList { column, values };
            if list.negated { Predicate::Not(Box::new(test)) } else { test }
        }
        Expr::Like(like) => {
            let column = column_of(&like.expr, table)?;
            let pattern = constant(&like.pattern, &SqlType::Text)?;
            let escape = like.escape_char.or(Some('\\'));
            let test = Predicate::Like { column, pattern, escape, case_insensitive: like.case_insensitive };
            if like.negated { Predicate::Not(Box::new(test)) } else { test }
        }
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::And => Predicate::And(vec![from_expr(&binary.left, table), from_expr(&binary.right, table)]),
            Operator::Or => Predicate::Or(vec![from_expr(&binary.left, table), from_expr(&binary.right, table)]),
            op => comparison(&binary.left, op, &binary.right, table)?,
        },
        _ => return None,
    })
}

fn is(inner: &Expr, truth: Option<bool>, negated: bool, table: &TableDef) -> Predicate {
    Predicate::Is { child: Box::new(from_expr(inner, table)), truth, negated }
}

fn comparison(left: &Expr, op: Operator, right: &Expr, table: &TableDef) -> Option<Predicate> {
    let (column, op, constant_side) = match column_of(left, table) {
        Some(column) => (column, op, right),
        None => (column_of(right, table)?, op.swap()?, left),
    };
    let op = match op {
        Operator::Eq => CompareOp::Eq,
        Operator::NotEq => CompareOp::NotEq,
        Operator::Lt => CompareOp::Less,
        Operator::LtEq => CompareOp::LessEq,
        Operator::Gt => CompareOp::Greater,
        Operator::GtEq => CompareOp::GreaterEq,
        _ => return None,
    };
    Some(Predicate::Compare { column, op, value: constant(constant_side, &table.columns[column].ty)? })
}

fn column_of(expr: &Expr, table: &TableDef) -> Option<usize> {
    match expr {
        Expr::Column(column) => table.column_index(&column.name),
        Expr::ScalarFunction(function)
            if matches!(
                function.func.name(),
                super::functions::compare::FLOAT_ORDER_NAME | super::functions::compare::TRIM_CHAR_NAME
            ) =>
        {
            column_of(function.args.first()?, table)
        }
        _ => None,
    }
}

fn constant(expr: &Expr, ty: &SqlType) -> Option<Value> {
    match expr {
        Expr::Literal(scalar, _) => value_of_scalar(scalar, ty).ok(),
        _ => None,
    }
}

fn opaque(expr: &Expr, table: &TableDef) -> Predicate {
    let mut columns = Vec::new();
    let walked = expr.apply(|expr| {
        if let Expr::Column(column) = expr
            && let Some(index) = table.column_index(&column.name)
            && !columns.contains(&index)
        {
            columns.push(index);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    match walked {
        Ok(_) => Predicate::Opaque { columns },
        Err(_) => Predicate::Opaque { columns: Vec::new() },
    }
}
