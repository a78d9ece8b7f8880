//! What a plan leaves open until it runs: bound parameters `$n` and the times of the transaction and the statement, placeholders that
//! `Constants` replaces, and the catalogs that functions ask. So one plan serves every execution of a prepared statement.

use std::sync::Arc;

use arrow::array::Array;
use arrow::datatypes::Field;

use super::dependent_join;
use crate::error::StatementFault;
use crate::functions::ANY_EQUAL_NAME;
use crate::functions::value_array::{items_of_scalar, scalar_at, scalar_of};
use crate::system::pg_catalog::{self, CatalogContext, FunctionOptions};
use crate::tree::{
    BinaryExpr, Cast, Expr, FunctionCall, InList, Operator, Placeholder, Plan, ScalarValue, Transformed,
    TransformedResult, TreeNode, fold_one, with_stack,
};
use crate::types::letter_case::lowercase;
use crate::types::{SqlType, Value, numeric_key};
use crate::{Error, Result};

/// The placeholder that stands for `now()`.
const TRANSACTION_TIME: &str = "$transaction_time";

/// The placeholder that stands for `statement_timestamp()`.
const STATEMENT_TIME: &str = "$statement_time";

/// `now()`, as of the run.
pub fn transaction_time() -> Expr {
    time_placeholder(TRANSACTION_TIME)
}

/// `statement_timestamp()`, as of the run.
pub fn statement_time() -> Expr {
    time_placeholder(STATEMENT_TIME)
}

fn time_placeholder(id: &str) -> Expr {
    let field = Field::new(id, SqlType::TimestampTz(None).arrow_type(), false);
    Expr::Placeholder(Placeholder {
        id: id.to_string(),
        field: Some(Arc::new(field)),
    })
}

/// The expression with this moment for `now()` and `statement_timestamp()`, in microseconds since 1970.
pub(crate) fn with_time(expr: Expr, micros: i64) -> Result<Expr> {
    let now = scalar_of(&Value::TimestampTz(micros), &SqlType::TimestampTz(None))?;
    let is_time = |id: &str| [TRANSACTION_TIME, STATEMENT_TIME].contains(&id);
    let is_it = |expr: &Expr| matches!(expr, Expr::Placeholder(it) if is_time(&it.id));
    let replaced = expr.transform_up(|expr| {
        Ok(match is_it(&expr) {
            true => Transformed::yes(Expr::Literal(now.clone(), None)),
            false => Transformed::no(expr),
        })
    });
    replaced.data()
}

/// When what is run began.
#[derive(Debug, Clone)]
pub(crate) struct RunTimes {
    /// The transaction.
    pub(crate) transaction: ScalarValue,
    /// The message of the client's that the statement is of.
    pub(crate) statement: ScalarValue,
}

/// What the placeholders of a plan stand for in one run of it; `parameter_values` makes it.
#[derive(Debug, Clone)]
pub struct Constants {
    /// `$1` first; `None` where the client bound nothing.
    parameters: Arc<[Option<Expr>]>,
    times: RunTimes,
    /// Of the rows around a subquery: what its outer columns stand for, by the placeholders that they are.
    outer: Vec<(Arc<str>, ScalarValue)>,
    /// The catalogs as the statement sees them, and where functions find them.
    catalogs: Option<(Arc<CatalogContext>, Arc<FunctionOptions>)>,
}

impl Constants {
    /// `parameters`: `$1` first, `None` where the client bound nothing.
    pub(crate) fn of(parameters: Vec<Option<Expr>>, times: RunTimes) -> Constants {
        Constants {
            parameters: parameters.into(),
            times,
            outer: Vec::new(),
            catalogs: None,
        }
    }

    /// The same for what asks the catalogs.
    pub(crate) fn with_catalogs(&self, catalogs: Arc<CatalogContext>) -> Constants {
        let options = pg_catalog::options(Arc::clone(&catalogs));
        Constants {
            catalogs: Some((catalogs, options)),
            ..self.clone()
        }
    }

    /// The catalogs. Errors: nobody said that they would be asked.
    pub(crate) fn catalogs(&self) -> Result<&Arc<CatalogContext>> {
        self.known_catalogs().map(|(catalogs, _)| catalogs)
    }

    /// What functions that ask the catalogs are called with. Errors: as `catalogs`.
    pub(crate) fn catalog_options(&self) -> Result<&Arc<FunctionOptions>> {
        self.known_catalogs().map(|(_, options)| options)
    }

    fn known_catalogs(&self) -> Result<&(Arc<CatalogContext>, Arc<FunctionOptions>)> {
        let none = || Error::internal("a plan that asks the catalogs unannounced");
        self.catalogs.as_ref().ok_or_else(none)
    }

    /// The same for a subquery, whose outer columns are these placeholders.
    pub(crate) fn with_outer(&self, outer: impl Iterator<Item = (Arc<str>, ScalarValue)>) -> Constants {
        let mut constants = self.clone();
        constants.outer.extend(outer);
        constants
    }

    /// What stands for a placeholder. Errors: 42P02.
    pub fn get(&self, placeholder: &str) -> Result<Expr> {
        let time = match placeholder {
            TRANSACTION_TIME => Some(&self.times.transaction),
            STATEMENT_TIME => Some(&self.times.statement),
            _ => None,
        };
        if let Some(time) = time {
            return Ok(Expr::Literal(time.clone(), None));
        }
        if let Some((_, value)) = self.outer.iter().find(|(outer, _)| **outer == *placeholder) {
            return Ok(Expr::Literal(value.clone(), None));
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
        expr.transform_up(|expr| self.replace_one(expr)).data()
    }

    /// The same with what is constant then computed, in one walk. Errors: 42P02; those of computing it.
    pub(crate) fn folded(&self, expr: &Expr) -> Result<Expr> {
        with_stack(|| self.folded_here(expr))
    }

    /// What conditions on keys are made of is built anew of its folded parts; only the rest is copied to be walked.
    fn folded_here(&self, expr: &Expr) -> Result<Expr> {
        let boxed = |part: &Expr| self.folded(part).map(Box::new);
        let all = |parts: &[Expr]| parts.iter().map(|part| self.folded(part)).collect::<Result<_>>();
        let with_parts = match expr {
            Expr::Column(_) | Expr::Literal(..) => return Ok(expr.clone()),
            Expr::Placeholder(placeholder) => return self.get(&placeholder.id),
            Expr::BinaryExpr(binary) => {
                let (left, right) = (boxed(&binary.left)?, boxed(&binary.right)?);
                return Ok(Expr::BinaryExpr(BinaryExpr::new(left, binary.op, right)));
            }
            Expr::InList(list) => {
                Expr::InList(InList::new(boxed(&list.expr)?, all(&list.list)?, list.negated))
            }
            Expr::Cast(cast) => Expr::Cast(Cast {
                expr: boxed(&cast.expr)?,
                ty: cast.ty.clone(),
            }),
            Expr::ScalarFunction(call) => Expr::ScalarFunction(FunctionCall {
                func: Arc::clone(&call.func),
                args: all(&call.args)?,
            }),
            _ => return expr.clone().transform_up(|expr| self.fold_one(expr)).data(),
        };
        self.fold_one(with_parts).data()
    }

    /// The same of an expression whose parts are folded.
    fn fold_one(&self, expr: Expr) -> Result<Transformed<Expr>> {
        let replaced = self.replace_one(expr)?;
        replaced.transform_data(|expr| fold_one(expr, None))
    }

    /// The plan with its placeholders replaced. Errors: 42P02.
    pub fn replace_in_plan(&self, plan: Plan) -> Result<Plan> {
        dependent_join::transform_expressions(plan, &|expr| expr.transform_up(|expr| self.replace_one(expr)))
    }

    fn replace_one(&self, expr: Expr) -> crate::Result<Transformed<Expr>> {
        match &expr {
            Expr::Placeholder(placeholder) => {
                let constant = self.get(&placeholder.id)?;
                Ok(Transformed::yes(constant))
            }
            _ => list_membership(expr).transform_data(|expr| Ok(without_null(expr))),
        }
    }
}

/// A list without its NULLs: `x IN (1, NULL)` is `x IN (1) OR NULL`. What joins lists would take NULL for
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
    // Numerics of variable length, and citext, bring the key by which they compare.
    let [operand, Expr::Literal(array, _), key @ ..] = function.args.as_slice() else {
        return Transformed::no(expr);
    };
    let Some(items) = items_of_scalar(array).filter(|items| !items.is_empty()) else {
        return Transformed::no(expr);
    };
    let literals = (0..items.len())
        .map(|row| {
            let item = scalar_at(&items, row)?;
            let item = match (key, item) {
                ([_], ScalarValue::Utf8(Some(text))) => {
                    ScalarValue::Utf8(Some(lowercase(&text).into_owned()))
                }
                ([_], ScalarValue::Binary(Some(number))) => {
                    ScalarValue::Binary(Some(numeric_key(&number).to_vec()))
                }
                (_, item) => item,
            };
            Ok(Expr::Literal(item, None))
        })
        .collect::<crate::Result<Vec<_>>>();
    match literals {
        Ok(literals) => Transformed::yes(Expr::InList(InList::new(
            Box::new(key.first().unwrap_or(operand).clone()),
            literals,
            false,
        ))),
        Err(_) => Transformed::no(expr),
    }
}
