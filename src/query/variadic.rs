//! Calls with VARIADIC: `concat(VARIADIC ARRAY['a', 'b'])`. The last argument is an array of those that may come more often.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place};
use super::coercion::CastContext;
use super::overload::{accepts, expanded};
use super::undefined_function::no_function;
use crate::functions::{self, Body, FunctionDef, Returns, T};
use crate::tree;
use crate::types::SqlType;
use crate::{Error, Result};

/// The arguments, when the last is one of VARIADIC.
pub(super) fn before_array(arguments: &ast::FunctionArguments) -> Option<Vec<&ast::Expr>> {
    let ast::FunctionArguments::List(list) = arguments else {
        return None;
    };
    let unnamed = list.args.iter().map(|argument| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    let mut all: Vec<&ast::Expr> = unnamed.collect::<Option<_>>()?;
    let last = all.pop()?;
    match last {
        ast::Expr::Prefixed { prefix, value } if prefix.value.eq_ignore_ascii_case("variadic") => {
            all.push(value);
            Some(all)
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// A call of these arguments, of which the last is the array. Errors: 42804 where it is none, 42883 for a function that takes none.
    pub(super) fn variadic_call(
        &mut self,
        name: &str,
        arguments: Vec<&ast::Expr>,
        place: Place<'_>,
    ) -> Result<Bound> {
        let mut bound = Vec::with_capacity(arguments.len());
        for argument in arguments {
            bound.push(self.expression(argument, place)?);
        }
        let types: Vec<SqlType> = bound.iter().map(|argument| argument.ty.clone()).collect();
        let wrong = || no_function(name, &types, functions::functions_named(name).next().is_none());
        let Some((array, before)) = types.split_last() else {
            return Err(wrong());
        };
        let casts = self.ctx.casts();
        let takes = |row: &&'static FunctionDef| {
            let (true, Some(wanted)) = (row.variadic, expanded(row, types.len())) else {
                return false;
            };
            let Some((last, wanted)) = wanted.split_last() else {
                return false;
            };
            let item = array.item_type().unwrap_or(&SqlType::Unknown);
            wanted.len() == before.len()
                && wanted
                    .iter()
                    .zip(before)
                    .all(|(wanted, ty)| accepts(wanted, ty, casts))
                && accepts(last, item, casts)
        };
        let Some(row) = functions::functions_named(name).find(takes) else {
            return Err(wrong());
        };
        let is_text_list = matches!(array, SqlType::Unknown) && row.arguments.last() != Some(&T::Any);
        if array.item_type().is_none() && !is_text_list {
            return Err(Error::DatatypeMismatch {
                message: "VARIADIC argument must be an array".to_string(),
                hint: None,
            });
        }
        self.call_variadic(row, bound)
    }

    fn call_variadic(&mut self, row: &'static FunctionDef, arguments: Vec<Bound>) -> Result<Bound> {
        let wanted = expanded(row, arguments.len()).unwrap_or_default();
        let last = arguments.len() - 1;
        let mut converted = Vec::with_capacity(arguments.len());
        for (place, (argument, wanted)) in arguments.into_iter().zip(wanted).enumerate() {
            let ty = match (wanted.sql_type(), place == last) {
                (Some(ty), true) => Some(SqlType::array(ty)),
                (ty, false) => ty,
                (None, true) => None,
            };
            converted.push(match ty {
                Some(ty) => self.convert(argument, &ty, CastContext::Implicit)?,
                None => self.with_decided_type(argument)?,
            });
        }
        let body = match row.body {
            Body::Batch(body) => Body::Spread(body),
            other => other,
        };
        let returns = match row.returns {
            Returns::Type(ty) | Returns::ArrayOf(ty) => ty.sql_type().unwrap_or(SqlType::Text),
            Returns::Computed(compute) => {
                let types: Vec<SqlType> = converted.iter().map(|argument| argument.ty.clone()).collect();
                compute(&types, &vec![None; types.len()])
            }
        };
        let arguments = converted
            .into_iter()
            .map(|argument| (argument.expr, argument.ty))
            .collect();
        // Another function than that of as many arguments: calls are told apart by their names.
        let name = format!("variadic {}", row.name);
        let definition = (name.as_str(), body, row.strict, row.volatility);
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        Ok(Bound::new(call, returns))
    }
}
