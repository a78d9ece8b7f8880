//! Constants of a write (VALUES, SET, DEFAULT): literals and parameters are read as they stand, expressions over them are
//! bound and folded as those of every query.

use std::ops::ControlFlow;

use datafusion::logical_expr::Expr;
use sqlparser::ast;

use super::binder::{Binder, Clause, Place};
use super::known_types::known_types;
use super::literal::{number_value, string_literal};
use super::scope::Scope;
use crate::Result;
use crate::exec::StatementContext;
use crate::exec::functions::fold_constants;
use crate::exec::placeholder::Constants;
use crate::exec::value_array::value_of_scalar;
use crate::types::{SqlType, Value};

/// The value of an expression that no row decides.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    /// `Unknown` for a string literal that nothing has given a type.
    pub(crate) value: Value,
    /// Its type.
    pub(crate) ty: SqlType,
}

impl Constant {
    fn natural(value: Value) -> Constant {
        let ty = value.natural_type();
        Constant { value, ty }
    }
}

/// The constant that an expression is, parameters put in. `None`: it is none, it needs a plan, or it fails, which
/// evaluating it tells. Errors: 22003 for a number that nothing holds.
pub(crate) fn constant(ctx: &StatementContext, expr: &ast::Expr) -> Result<Option<Constant>> {
    match expr {
        ast::Expr::Value(literal) => literal_constant(ctx, &literal.value),
        ast::Expr::Nested(inner) => constant(ctx, inner),
        ast::Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr: number,
        } if let ast::Expr::Value(literal) = number.as_ref()
            && let ast::Value::Number(digits, _) = &literal.value =>
        {
            number_value(&format!("-{digits}")).map(|value| Some(Constant::natural(value)))
        }
        expr if names_something(expr) => Ok(None),
        expr => Ok(folded(ctx, expr).unwrap_or(None)),
    }
}

fn literal_constant(ctx: &StatementContext, literal: &ast::Value) -> Result<Option<Constant>> {
    use ast::Value as V;
    if let Some(text) = string_literal(literal) {
        return Ok(Some(Constant::natural(Value::Unknown(text.clone()))));
    }
    let value = match literal {
        V::Number(digits, _) => number_value(digits)?,
        V::Boolean(truth) => Value::Bool(*truth),
        V::Null => Value::Null,
        V::Placeholder(name) => return Ok(parameter(ctx, name)),
        _ => return Ok(None),
    };
    Ok(Some(Constant::natural(value)))
}

/// What the client bound to `$n`.
fn parameter(ctx: &StatementContext, name: &str) -> Option<Constant> {
    let number = name.strip_prefix('$')?.parse::<usize>().ok()?;
    let at = number.checked_sub(1)?;
    let value = ctx.parameters.get(at)?.clone();
    let declared = ctx.parameter_types.get(at).filter(|ty| **ty != SqlType::Unknown);
    Some(match declared {
        Some(ty) if !matches!(value, Value::Unknown(_)) => Constant {
            value,
            ty: ty.clone(),
        },
        _ => Constant::natural(value),
    })
}

/// Whether a part is a name or a query: it stands for something outside the expression.
fn names_something(expr: &ast::Expr) -> bool {
    use ast::Expr as E;
    let found = ast::visit_expressions(expr, |part| match part {
        E::Identifier(_)
        | E::CompoundIdentifier(_)
        | E::CompoundFieldAccess { .. }
        | E::Subquery(_)
        | E::Exists { .. }
        | E::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The value that binding and folding gives. `None`: a function or an operator is left.
fn folded(ctx: &StatementContext, expr: &ast::Expr) -> Result<Option<Constant>> {
    let nothing = Scope::default();
    let place = Place {
        scope: &nothing,
        outer: None,
        clause: Clause::Values,
        windows: &[],
    };
    let mut binder = Binder::new(ctx, &known_types(ctx));
    let bound = binder.expression(expr, place)?;
    let parameters: Vec<SqlType> = binder
        .parameters
        .into_iter()
        .map(|ty| ty.unwrap_or(SqlType::Text))
        .collect();
    let filled = Constants::new(ctx, &parameters)?.replace(bound.expr)?;
    let Expr::Literal(scalar, _) = fold_constants(filled)? else {
        return Ok(None);
    };
    let value = match value_of_scalar(&scalar, &bound.ty)? {
        Value::Text(text) if bound.ty == SqlType::Unknown => Value::Unknown(text),
        value => value,
    };
    Ok(Some(Constant { value, ty: bound.ty }))
}
