//! What a plan leaves open until it runs: bound parameters `$n` and the transaction's time, both placeholders that
//! `Constants` replaces. So one plan serves every execution of a prepared statement.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::Field;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::expr::{BinaryExpr, InList, Placeholder};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};

use super::StatementContext;
use super::cell::scalar_of;
use super::datafusion_error::{from_datafusion, to_datafusion};
use super::dependent_join;
use super::functions::ANY_EQUAL_NAME;
use super::functions::cast::cast_value;
use super::pg_catalog;
use crate::error::StatementFault;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// The placeholder that stands for `now()`.
const TRANSACTION_TIME: &str = "$transaction_time";

/// `now()`, as of the run.
pub fn transaction_time() -> Expr {
    let field = Field::new(TRANSACTION_TIME, SqlType::TimestampTz.arrow_type(), false);
    Expr::Placeholder(Placeholder {
        id: TRANSACTION_TIME.to_string(),
        field: Some(Arc::new(field)),
    })
}

/// What the placeholders of a plan stand for in one run of it.
#[derive(Debug)]
pub struct Constants {
    /// `$1` first; `None` where the client bound nothing.
    parameters: Vec<Option<Expr>>,
    now: ScalarValue,
}

impl Constants {
    /// The context's parameters, as the types that the plan gave them, and its time. Errors: those of reading a
    /// parameter's text as its type.
    pub fn new(ctx: &StatementContext, types: &[SqlType]) -> Result<Constants> {
        let settings = ctx.format_settings();
        let parameter = |(index, ty): (usize, &SqlType)| match ctx.parameters.get(index) {
            Some(Value::Unknown(name)) if let Some(kind) = ty.object_kind() => object(name, kind).map(Some),
            Some(value) => {
                let scalar = constant(value.clone(), ty, &settings)?;
                Ok(Some(Expr::Literal(scalar, None)))
            }
            None => Ok(None),
        };
        Ok(Constants {
            parameters: types.iter().enumerate().map(parameter).collect::<Result<_>>()?,
            now: scalar_of(
                &Value::TimestampTz(ctx.transaction_time_us),
                &SqlType::TimestampTz,
            )?,
        })
    }

    /// What stands for a placeholder. Errors: 42P02.
    pub fn get(&self, placeholder: &str) -> Result<Expr> {
        if placeholder == TRANSACTION_TIME {
            return Ok(Expr::Literal(self.now.clone(), None));
        }
        let number = placeholder.trim_start_matches('$').parse::<usize>().unwrap_or(0);
        match self.parameters.get(number.wrapping_sub(1)) {
            Some(Some(constant)) => Ok(constant.clone()),
            _ => Err(Error::InvalidStatement {
                state: StatementFault::UndefinedParameter,
                message: format!("there is no parameter {placeholder}"),
                hint: None,
            }),
        }
    }

    /// The expression with its placeholders replaced. Errors: 42P02.
    pub fn replace(&self, expr: Expr) -> Result<Expr> {
        let replaced = expr.transform_up(|expr| self.replace_one(expr));
        replaced.map(|replaced| replaced.data).map_err(from_datafusion)
    }

    /// The plan with its placeholders replaced. Errors: 42P02.
    pub fn replace_in_plan(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        dependent_join::transform_expressions(plan, &|expr| expr.transform_up(|expr| self.replace_one(expr)))
            .map_err(from_datafusion)
    }

    fn replace_one(&self, expr: Expr) -> datafusion::error::Result<Transformed<Expr>> {
        match &expr {
            Expr::Placeholder(placeholder) => {
                let constant = self.get(&placeholder.id).map_err(to_datafusion)?;
                Ok(Transformed::yes(constant))
            }
            _ => list_membership(expr).transform_data(|expr| Ok(without_null(expr))),
        }
    }
}

/// The oid of an object of this kind that has this name, found when the statement runs.
fn object(name: &str, kind: &str) -> Result<Expr> {
    let (look_up, _) = pg_catalog::function(kind, &[SqlType::Text])
        .ok_or_else(|| Error::internal(format!("nothing looks up a {kind}")))?;
    let name = scalar_of(&Value::Text(name.to_string()), &SqlType::Text)?;
    Ok(look_up.call(vec![Expr::Literal(name, None)]))
}

fn constant(value: Value, ty: &SqlType, settings: &FormatSettings) -> Result<ScalarValue> {
    let from = match &value {
        Value::Unknown(_) => SqlType::Unknown,
        Value::Int(_)
            if matches!(
                ty,
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid | SqlType::Regclass
            ) =>
        {
            SqlType::Int8
        }
        Value::Null => return scalar_of(&Value::Null, ty),
        other => other.natural_type(),
    };
    let value = if same_kind(&from, ty) {
        value
    } else {
        cast_value(value, &from, ty, settings)?
    };
    scalar_of(&value, ty)
}

fn same_kind(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Array(a), SqlType::Array(b)) => same_kind(a, b),
        (SqlType::Int8 | SqlType::Int4 | SqlType::Int2, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            true
        }
        (
            SqlType::Text,
            SqlType::Text | SqlType::Varchar(None) | SqlType::Json | SqlType::Jsonb | SqlType::Name,
        ) => true,
        (a, b) => a == b,
    }
}

/// A list without its NULLs: `x IN (1, NULL)` is `x IN (1) OR NULL`. DataFusion's optimizer merges lists as if NULL were
/// a value.
fn without_null(expr: Expr) -> Transformed<Expr> {
    let is_null = |item: &Expr| matches!(item, Expr::Literal(scalar, _) if scalar.is_null());
    match expr {
        Expr::InList(list) if list.list.iter().any(is_null) => {
            let null = Expr::Literal(ScalarValue::Boolean(None), None);
            let items: Vec<Expr> = list.list.into_iter().filter(|item| !is_null(item)).collect();
            if items.is_empty() {
                return Transformed::yes(null);
            }
            let joint = match list.negated {
                true => Operator::And,
                false => Operator::Or,
            };
            let rest = Expr::InList(InList::new(list.expr, items, list.negated));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(
                Box::new(rest),
                joint,
                Box::new(null),
            )))
        }
        other => Transformed::no(other),
    }
}

/// `x = ANY ('{…}')`, once the array is known, is an IN list: the form that bounds keys.
fn list_membership(expr: Expr) -> Transformed<Expr> {
    let Expr::ScalarFunction(function) = &expr else {
        return Transformed::no(expr);
    };
    if function.func.name() != ANY_EQUAL_NAME {
        return Transformed::no(expr);
    }
    let [operand, Expr::Literal(ScalarValue::List(list), _)] = function.args.as_slice() else {
        return Transformed::no(expr);
    };
    if list.len() != 1 || list.is_null(0) || list.value(0).is_empty() {
        return Transformed::no(expr);
    }
    let items = list.value(0);
    let literals = (0..items.len())
        .map(|row| ScalarValue::try_from_array(&items, row).map(|scalar| Expr::Literal(scalar, None)))
        .collect::<datafusion::error::Result<Vec<_>>>();
    match literals {
        Ok(literals) => Transformed::yes(Expr::InList(InList::new(
            Box::new(operand.clone()),
            literals,
            false,
        ))),
        Err(_) => Transformed::no(expr),
    }
}
