//! Ordered-set aggregates: `percentile_cont(fraction) WITHIN GROUP (ORDER BY value)` and its like. The values are gathered
//! in their order, and a function takes what is asked for out of the array.

use sqlparser::ast;

use super::accumulation::{Accumulation, Finish, Hypothetical, Percentile};
use super::binder::{Binder, Bound, Place, fault};
use super::coercion::type_name;
use super::same_rows::refuse_unsortable;
use super::undefined_function::no_function;
use crate::error::StatementFault;
use crate::functions::Volatility;
use crate::tree::{self, Accumulator, OrderKey};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// Errors: 42601 for WITHIN GROUP beside DISTINCT, 42883 for an aggregate that has none, or orders by one value alone.
    pub(super) fn check_within_group(
        &mut self,
        name: &str,
        function: &ast::Function,
        arguments: &[Bound],
        place: Place<'_>,
    ) -> Result<()> {
        let within = &function.within_group;
        if within.is_empty() {
            let taken = match Percentile::named(name) {
                Some(_) => 2,
                None => usize::from(name == "mode"),
            };
            return match taken > 0 && arguments.len() == taken {
                true => Err(fault(
                    StatementFault::WrongObjectType,
                    format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
                )),
                false => Ok(()),
            };
        }
        if let ast::FunctionArguments::List(list) = &function.args
            && matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct))
        {
            let message = "cannot use DISTINCT with WITHIN GROUP";
            return Err(fault(StatementFault::Syntax, message));
        }
        let takes_one = name == "mode" || Percentile::named(name).is_some();
        if Hypothetical::named(name).is_some() || takes_one && within.len() == 1 {
            return Ok(());
        }
        let mut types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        for item in within {
            types.push(self.expression(&item.expr, place)?.ty);
        }
        Err(no_function(name, &types, false))
    }

    /// What gathers the values, and their order. `arguments`: the fraction, or an array of such.
    pub(super) fn percentile(
        &mut self,
        (name, percentile): (&str, Percentile),
        arguments: Vec<Bound>,
        within: &[ast::OrderByExpr],
        place: Place<'_>,
    ) -> Result<(Accumulation, Vec<OrderKey>)> {
        let [item] = within else {
            let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
            return Err(no_function(name, &types, false));
        };
        let value = self.expression(&item.expr, place)?;
        let value = match value.is_of_unwritten() && matches!(percentile, Percentile::Continuous) {
            true => self.coerce(value, &SqlType::Float8)?,
            false => self.with_decided_type(value)?,
        };
        let mut types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        types.push(value.ty.clone());
        let wrong = || no_function(name, &types, false);
        let Ok([fraction]) = <[Bound; 1]>::try_from(arguments) else {
            return Err(wrong());
        };
        let fractions = match &fraction.ty {
            SqlType::Array(_) => SqlType::array(SqlType::Float8),
            _ => SqlType::Float8,
        };
        let fraction = self.coerce(fraction, &fractions).map_err(|_| wrong())?;
        let value = match percentile {
            Percentile::Continuous if matches!(value.ty, SqlType::Interval(_) | SqlType::Time(_)) => {
                self.coerce(value, &SqlType::Interval(None))?
            }
            Percentile::Continuous => self
                .coerce(value.clone(), &SqlType::Float8)
                .map_err(|_| wrong())?,
            Percentile::Discrete => value,
        };
        if matches!((&fraction.ty, &value.ty), (SqlType::Array(_), SqlType::Array(_))) {
            let item = type_name(&value.ty);
            return Err(Error::DataException {
                state: "42704",
                message: format!("could not find array type for data type {item}"),
            });
        }
        refuse_unsortable(&value.ty)?;
        let key = self.order_key(value.clone())?;
        let ascending = item.options.asc.unwrap_or(true);
        let order = vec![OrderKey::new(key, ascending, !ascending)];
        let array = SqlType::list(value.ty);
        let accumulation = Accumulation {
            calls: vec![(Accumulator::Array, vec![value.expr], array)],
            finish: Finish::Percentile(percentile, fraction),
            is_exact: false,
        };
        Ok((accumulation, order))
    }

    /// What gathers the values of `mode() WITHIN GROUP (ORDER BY value)`, and their order.
    pub(super) fn mode(
        &mut self,
        arguments: Vec<Bound>,
        within: &[ast::OrderByExpr],
        place: Place<'_>,
    ) -> Result<(Accumulation, Vec<OrderKey>)> {
        let ([item], []) = (within, arguments.as_slice()) else {
            let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
            return Err(no_function("mode", &types, false));
        };
        let value = self.expression(&item.expr, place)?;
        let value = self.with_decided_type(value)?;
        refuse_unsortable(&value.ty)?;
        let key = self.order_key(value.clone())?;
        let ascending = item.options.asc.unwrap_or(true);
        let array = SqlType::list(value.ty);
        let accumulation = Accumulation {
            calls: vec![(Accumulator::Array, vec![value.expr], array)],
            finish: Finish::Mode,
            is_exact: false,
        };
        Ok((accumulation, vec![OrderKey::new(key, ascending, !ascending)]))
    }

    /// The percentiles at `fraction` of the gathered values.
    pub(super) fn percentile_of(
        &mut self,
        percentile: Percentile,
        values: Bound,
        fraction: Bound,
    ) -> Result<Bound> {
        let item = values
            .ty
            .item_type()
            .cloned()
            .ok_or_else(|| Error::internal("percentiles of no array"))?;
        let returns = match &fraction.ty {
            SqlType::Array(_) => SqlType::array(item),
            _ => item,
        };
        let (name, body) = percentile.definition();
        let arguments = vec![(values.expr, values.ty), (fraction.expr, fraction.ty)];
        let definition = (name, body, true, Volatility::Immutable);
        let call = tree::call(definition, arguments, returns.clone(), &self.settings);
        Ok(Bound::new(call, returns))
    }
}
