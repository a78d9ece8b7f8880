//! Hypothetical-set aggregates: `rank(value) WITHIN GROUP (ORDER BY column)` and its like say which place a row of these values would
//! have among those of the group. The rows that come before it are counted.

use sqlparser::ast;

use super::accumulation::{Accumulation, Finish, Hypothetical};
use super::aggregate::bigint;
use super::binder::{Binder, Bound, Place};
use super::coercion::{CastContext, common_type};
use super::operator::binary;
use super::undefined_function::no_function;
use crate::functions::{self, Volatility};
use crate::tree::{self, Accumulator, Case, Expr, Operator, OrderKey, ScalarValue, lit};
use crate::types::SqlType;
use crate::{Error, Result};

/// A column of ORDER BY, and the value in it of the row that there is not.
struct Key {
    column: Bound,
    value: Bound,
    ascending: bool,
    nulls_first: bool,
}

impl Binder<'_> {
    /// What counts the rows before the row of these arguments, and the order of the group. Errors: 42883 for another number of
    /// arguments than ORDER BY has, or for types that do not compare.
    pub(super) fn hypothetical(
        &mut self,
        (name, hypothetical): (&str, Hypothetical),
        arguments: Vec<Bound>,
        within: &[ast::OrderByExpr],
        place: Place<'_>,
    ) -> Result<(Accumulation, Vec<OrderKey>)> {
        let keys = self.hypothetical_keys(name, arguments, within, place)?;
        let mut order = Vec::with_capacity(keys.len());
        for key in &keys {
            let expr = self.order_key(key.column.clone())?;
            order.push(OrderKey::new(expr, key.ascending, key.nulls_first));
        }
        let comes_before = self.comes_before(&keys, hypothetical == Hypothetical::CumeDist)?;
        let before = Case::new(
            None,
            vec![(Box::new(comes_before), Box::new(lit(1_i64)))],
            Some(Box::new(Expr::Literal(ScalarValue::Int64(None), None))),
        );
        let mut calls = vec![(Accumulator::Count, vec![Expr::Case(before)], SqlType::Int8)];
        match hypothetical {
            Hypothetical::Rank => {}
            Hypothetical::PercentRank | Hypothetical::CumeDist => {
                calls.push((Accumulator::Count, vec![lit(1_i64)], SqlType::Int8));
            }
            // The rows before come first in the order of the group.
            Hypothetical::DenseRank => {
                for key in &keys {
                    let array = SqlType::list(key.column.ty.clone());
                    calls.push((Accumulator::Array, vec![key.column.expr.clone()], array));
                }
            }
        }
        let accumulation = Accumulation {
            calls,
            finish: Finish::Hypothetical(hypothetical),
            is_exact: false,
        };
        Ok((accumulation, order))
    }

    fn hypothetical_keys(
        &mut self,
        name: &str,
        arguments: Vec<Bound>,
        within: &[ast::OrderByExpr],
        place: Place<'_>,
    ) -> Result<Vec<Key>> {
        let mut types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let mut columns = Vec::with_capacity(within.len());
        for item in within {
            let column = self.expression(&item.expr, place)?;
            let column = self.with_decided_type(column)?;
            types.push(column.ty.clone());
            columns.push((column, item));
        }
        if arguments.len() != columns.len() {
            let hint = format!(
                "To use the hypothetical-set aggregate {name}, the number of hypothetical direct arguments (here {}) must match the number of ordering columns (here {}).",
                arguments.len(),
                columns.len()
            );
            return Err(Error::Advised {
                error: Box::new(no_function(name, &types, false)),
                hint,
            });
        }
        let mut keys = Vec::with_capacity(columns.len());
        for (value, (column, item)) in arguments.into_iter().zip(columns) {
            let ty = common_type(&[value.ty.clone(), column.ty.clone()])
                .ok_or_else(|| no_function(name, &types, false))?;
            let ascending = item.options.asc.unwrap_or(true);
            keys.push(Key {
                column: self.convert(column, &ty, CastContext::Implicit)?,
                value: self.convert(value, &ty, CastContext::Implicit)?,
                ascending,
                nulls_first: item.options.nulls_first.unwrap_or(!ascending),
            });
        }
        Ok(keys)
    }

    /// Whether a row of the group comes before the row of the values, or, where that counts, is equal.
    fn comes_before(&mut self, keys: &[Key], or_equal: bool) -> Result<Expr> {
        let mut decided = lit(or_equal);
        for key in keys.iter().rev() {
            let operator = if key.ascending { Operator::Lt } else { Operator::Gt };
            let before = self
                .compare(operator, key.column.clone(), key.value.clone())?
                .expr;
            let equal = self
                .compare(Operator::IsNotDistinctFrom, key.column.clone(), key.value.clone())?
                .expr;
            let is_null = |bound: &Bound| Box::new(Expr::IsNull(Box::new(bound.expr.clone())));
            let branches = vec![
                (Box::new(equal), Box::new(decided)),
                (is_null(&key.column), Box::new(lit(key.nulls_first))),
                (is_null(&key.value), Box::new(lit(!key.nulls_first))),
            ];
            decided = Expr::Case(Case::new(None, branches, Some(Box::new(before))));
        }
        Ok(decided)
    }

    /// The place, or the share of the group, that the counts say.
    pub(super) fn hypothetical_place(
        &mut self,
        hypothetical: Hypothetical,
        results: Vec<Bound>,
    ) -> Result<Bound> {
        if hypothetical == Hypothetical::DenseRank {
            let arguments = results
                .into_iter()
                .map(|result| (result.expr, result.ty))
                .collect();
            let definition = ("dense_rank", functions::DENSE_RANK, false, Volatility::Immutable);
            let rank = tree::call(definition, arguments, SqlType::Int8, &self.settings);
            return Ok(Bound::new(rank, SqlType::Int8));
        }
        let mut results = results.into_iter();
        let before = results
            .next()
            .ok_or_else(|| Error::internal("a place without a count"))?;
        let one = bigint(1)?;
        let Some(all) = results.next() else {
            return self.arithmetic(crate::functions::ArithmeticOp::Add, before, one);
        };
        let (share, of) = match hypothetical {
            Hypothetical::CumeDist => (
                self.arithmetic(crate::functions::ArithmeticOp::Add, before, one.clone())?,
                self.arithmetic(crate::functions::ArithmeticOp::Add, all, one)?,
            ),
            _ => (before, all),
        };
        let share = self.convert(share, &SqlType::Float8, CastContext::Implicit)?;
        let divisor = self.convert(of.clone(), &SqlType::Float8, CastContext::Implicit)?;
        let quotient = self.arithmetic(crate::functions::ArithmeticOp::Divide, share, divisor)?;
        // Of no rows it is the first.
        let is_empty = binary(of.expr, Operator::Eq, lit(0_i64));
        let case = Case::new(
            None,
            vec![(Box::new(is_empty), Box::new(lit(0.0_f64)))],
            Some(Box::new(quotient.expr)),
        );
        Ok(Bound::new(Expr::Case(case), SqlType::Float8))
    }
}
