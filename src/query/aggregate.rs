//! Aggregate functions: PostgreSQL's names and result types over accumulators.

use sqlparser::ast;

use super::accumulation::{Accumulation, Finish, Hypothetical, Percentile, single_call, sums_stay_fixed};
use super::binder::{Binder, Bound, Clause, Place, fault};
use super::coercion::CastContext;
use super::distinct_arguments::places_in_arguments;
use super::outer_aggregate::CapturedBefore;
use super::same_rows::refuse_unsortable;
use super::string_agg::sort_as_text;
use super::undefined_function::no_function;
use crate::error::StatementFault;
use crate::tree::{Accumulator, AggregateFunction, Expr, FloatMoment, Moment, OrderKey};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Aggregates that keep about as much as one value, however many they are given.
const FOLDING: &[&str] = &[
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "bool_and",
    "bool_or",
    "every",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "variance",
    "var_samp",
    "var_pop",
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "bit_and",
    "bit_or",
    "bit_xor",
    "any_value",
    "grouping",
];

/// Aggregates that keep what they are given.
const GATHERING: &[&str] = &[
    "string_agg",
    "array_agg",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
    "range_agg",
    "range_intersect_agg",
    "percentile_cont",
    "percentile_disc",
    "mode",
];

/// The name of every aggregate function.
pub(crate) fn aggregate_names() -> impl Iterator<Item = &'static str> {
    FOLDING.iter().chain(GATHERING).copied()
}

/// Whether the name is an aggregate function's.
pub(crate) fn is_aggregate(name: &str) -> bool {
    aggregate_names().any(|known| known == name)
}

/// Whether a call is one of an aggregate function: by its name, or by WITHIN GROUP of what is else a window function.
pub(crate) fn is_aggregate_call(name: &str, function: &ast::Function) -> bool {
    is_aggregate(name) || !function.within_group.is_empty() && Hypothetical::named(name).is_some()
}

/// Whether it is the name of an aggregate whose result is about as large as one value.
pub(super) fn is_folding(name: &str) -> bool {
    FOLDING.contains(&name)
}

/// The order without keys that stand in it before: they decide nothing.
fn without_repeats(order: Vec<OrderKey>) -> Vec<OrderKey> {
    let mut kept: Vec<OrderKey> = Vec::with_capacity(order.len());
    for key in order {
        if kept.iter().all(|before| before.expr != key.expr) {
            kept.push(key);
        }
    }
    kept
}

impl Binder<'_> {
    /// An aggregate call without OVER.
    pub(super) fn aggregate_function(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<Bound> {
        let may_stand = matches!(place.clause, Clause::Select | Clause::Having | Clause::Window);
        let inside = |clause| Place {
            clause: if may_stand { clause } else { place.clause },
            ..place
        };
        let before = CapturedBefore::put_aside(place);
        let (accumulation, distinct, order_by) =
            self.accumulation(name, function, inside(Clause::Aggregate))?;
        let filter = self.filter_clause(function, inside(Clause::Filter))?;
        let arguments = accumulation.calls.iter().flat_map(|(_, arguments, _)| arguments);
        let parts = arguments
            .chain(filter.as_deref())
            .chain(order_by.iter().map(|key| &key.expr));
        let parts: Vec<&Expr> = parts.collect();
        if let Some(outer) = self.outer_aggregate((name, function), &parts, before, place)? {
            return Ok(outer);
        }
        if !may_stand {
            return Err(place.clause.refuse_aggregate(name));
        }
        let results = accumulation
            .calls
            .iter()
            .map(|(function, arguments, ty)| {
                let order_by = match function.depends_on_order() {
                    true => order_by.clone(),
                    false => Vec::new(),
                };
                let call = AggregateFunction::new(
                    function.clone(),
                    arguments.clone(),
                    distinct,
                    filter.clone(),
                    order_by,
                );
                Bound::new(Expr::AggregateFunction(call), ty.clone())
            })
            .collect();
        self.finish(&accumulation.finish, results)
    }

    /// Binds the arguments of an aggregate (with or without OVER) and finds its accumulators.
    pub(super) fn accumulation(
        &mut self,
        name: &str,
        function: &ast::Function,
        place: Place<'_>,
    ) -> Result<(Accumulation, bool, Vec<OrderKey>)> {
        let ast::FunctionArguments::List(list) = &function.args else {
            return Err(no_function(name, &[], false));
        };
        const OF_ANY_REPEATS: [&str; 6] = ["min", "max", "bool_and", "bool_or", "every", "any_value"];
        let distinct = matches!(list.duplicate_treatment, Some(ast::DuplicateTreatment::Distinct))
            && !OF_ANY_REPEATS.contains(&name);
        let star = matches!(
            list.args.as_slice(),
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard)]
        );
        if star && (list.duplicate_treatment.is_some() || !list.clauses.is_empty()) {
            return Err(fault(StatementFault::Syntax, "syntax error at or near \"*\""));
        }
        let arguments = if star {
            Vec::new()
        } else {
            self.arguments(name, &function.args, place)?
        };
        let (mut order_by, mut order_types) = self.aggregate_order(list, place)?;
        self.check_within_group(name, function, &arguments, place)?;
        if name == "mode" {
            let (accumulation, order_by) = self.mode(arguments, &function.within_group, place)?;
            return Ok((accumulation, false, order_by));
        }
        if let Some(percentile) = Percentile::named(name) {
            let (accumulation, order_by) =
                self.percentile((name, percentile), arguments, &function.within_group, place)?;
            return Ok((accumulation, false, order_by));
        }
        if let Some(hypothetical) = Hypothetical::named(name) {
            let (accumulation, order_by) =
                self.hypothetical((name, hypothetical), arguments, &function.within_group, place)?;
            return Ok((accumulation, false, order_by));
        }
        let places = match distinct {
            true => places_in_arguments(&arguments, &order_by, &order_types)?,
            false => Vec::new(),
        };
        let accumulation = if self.is_user_aggregate(function) {
            self.user_accumulation((name, function), arguments)?
        } else if star {
            if name != "count" {
                return Err(no_function(name, &[], false));
            }
            single_call(
                Accumulator::Count,
                vec![Expr::Literal(crate::tree::ScalarValue::Int64(Some(1)), None)],
                SqlType::Int8,
            )
        } else if name == "count" && arguments.is_empty() {
            let message = "count(*) must be used to call a parameterless aggregate function";
            return Err(fault(StatementFault::WrongObjectType, message));
        } else if name == "grouping" {
            let arguments = arguments.into_iter().map(|argument| argument.expr).collect();
            single_call(Accumulator::Grouping, arguments, SqlType::Int4)
        } else {
            sort_as_text(name, &arguments, &order_by, &mut order_types);
            self.accumulators(name, arguments, distinct)?
        };
        if !distinct {
            for (sort, ty) in order_by.iter_mut().zip(order_types) {
                sort.expr = self.order_key(Bound::new(sort.expr.clone(), ty))?;
            }
            order_by = without_repeats(order_by);
        }
        // It tells equal numbers by itself.
        if !distinct || accumulation.is_exact {
            return Ok((accumulation, false, order_by));
        }
        self.distinct_accumulation(accumulation, order_by, &places)
    }

    /// The ORDER BY inside an aggregate's parentheses, and the types of what it orders by.
    fn aggregate_order(
        &mut self,
        list: &ast::FunctionArgumentList,
        place: Place<'_>,
    ) -> Result<(Vec<OrderKey>, Vec<SqlType>)> {
        let mut order = Vec::new();
        for clause in &list.clauses {
            if let ast::FunctionArgumentClause::OrderBy(items) = clause {
                for item in items {
                    order.push(self.sort_item(item, place)?);
                }
            }
        }
        Ok(order.into_iter().unzip())
    }

    /// One item of an ORDER BY inside a call or a window.
    pub(super) fn sort_item(
        &mut self,
        item: &ast::OrderByExpr,
        place: Place<'_>,
    ) -> Result<(OrderKey, SqlType)> {
        let bound = self.choosing(|binder| binder.expression(&item.expr, place))?;
        let bound = self.with_decided_type(bound)?;
        refuse_unsortable(&bound.ty)?;
        let ascending = item.options.asc.unwrap_or(true);
        let nulls_first = item.options.nulls_first.unwrap_or(!ascending);
        Ok((OrderKey::new(bound.expr, ascending, nulls_first), bound.ty))
    }

    fn accumulators(&mut self, name: &str, arguments: Vec<Bound>, distinct: bool) -> Result<Accumulation> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let wrong = || no_function(name, &types, false);
        let mut arguments = arguments.into_iter();
        let first = arguments.next().ok_or_else(wrong)?;
        let second = arguments.next();
        match (name, second) {
            ("count", None) => {
                let argument = self.with_decided_type(first)?;
                let counted = match distinct {
                    true => self.order_key(argument)?,
                    false => argument.expr,
                };
                Ok(single_call(Accumulator::Count, vec![counted], SqlType::Int8))
            }
            ("sum", None) => {
                let argument = self.told_apart(first, distinct)?;
                let sum = self.sum(argument, distinct);
                sum.map_err(|error| relabel(error, wrong()))
            }
            ("avg", None) => {
                let argument = self.told_apart(first, distinct)?;
                let average = self.average(argument, distinct);
                average.map_err(|error| relabel(error, wrong()))
            }
            ("min" | "max", None) => self
                .extremum(name, first)
                .map_err(|error| relabel(error, wrong())),
            ("any_value", None) => {
                let argument = self.with_decided_type(first)?;
                Ok(single_call(Accumulator::First, vec![argument.expr], argument.ty))
            }
            ("bool_and" | "bool_or" | "every", None) => {
                let argument = self.coerce(first, &SqlType::Bool).map_err(|_| wrong())?;
                let function = match name {
                    "bool_or" => Accumulator::Or,
                    _ => Accumulator::And,
                };
                Ok(single_call(function, vec![argument.expr], SqlType::Bool))
            }
            ("string_agg", Some(separator)) => self.joined(first, separator).map_err(|_| wrong()),
            ("array_agg", None) => Ok(Accumulation {
                finish: Finish::Array,
                ..self.array_of_values(first)?
            }),
            ("json_agg", None) => Ok(Accumulation {
                finish: Finish::Json(SqlType::Json),
                ..self.array_of_shown(first)?
            }),
            ("jsonb_agg", None) => Ok(Accumulation {
                finish: Finish::Json(SqlType::Jsonb),
                ..self.array_of_shown(first)?
            }),
            ("range_agg" | "range_intersect_agg", None) => self.gathered_ranges(name, first, wrong),
            ("json_object_agg", Some(value)) => self.object("json_object_of", first, value),
            ("jsonb_object_agg", Some(value)) => self.object("jsonb_object_of", first, value),
            ("bit_and" | "bit_or" | "bit_xor", None) => self.bits_together(name, first, &wrong),
            (_, None) => {
                let argument = self.told_apart(first, distinct)?;
                self.deviation(name, argument, distinct, &wrong)
            }
            (_, Some(second)) => self.regression(name, (first, second), &wrong),
        }
    }

    /// The values, which the result prints: an oid that names an object as the name.
    fn array_of_shown(&mut self, values: Bound) -> Result<Accumulation> {
        let shown = self.as_shown(values)?;
        self.array_of_values(shown)
    }

    /// Keys and values, of which `function` makes a JSON object.
    fn object(&mut self, function: &'static str, key: Bound, value: Bound) -> Result<Accumulation> {
        let (keys, values) = (self.array_of_shown(key)?, self.array_of_shown(value)?);
        Ok(Accumulation {
            calls: keys.calls.into_iter().chain(values.calls).collect(),
            finish: Finish::Object(function),
            is_exact: false,
        })
    }

    /// Every value, in a list.
    pub(super) fn array_of_values(&mut self, argument: Bound) -> Result<Accumulation> {
        let argument = self.with_decided_type(argument)?;
        let ty = SqlType::list(argument.ty);
        Ok(single_call(Accumulator::Array, vec![argument.expr], ty))
    }

    /// What is added up, in a form that the operator tells apart as PostgreSQL does where each value counts once: floats are alike there if
    /// they are equal.
    fn told_apart(&mut self, argument: Bound, distinct: bool) -> Result<Bound> {
        match (distinct, &argument.ty) {
            (true, SqlType::Float4 | SqlType::Float8) => {
                let ty = argument.ty.clone();
                Ok(Bound::new(self.order_key(argument)?, ty))
            }
            _ => Ok(argument),
        }
    }

    /// sum(smallint or integer) is bigint, sum(bigint) numeric, of others their own type.
    fn sum(&mut self, argument: Bound, distinct: bool) -> Result<Accumulation> {
        let function = Accumulator::Sum;
        match &argument.ty {
            SqlType::Interval(_) | SqlType::Time(_) => self.interval_sums(argument, distinct),
            SqlType::Money => {
                let exact = SqlType::numeric_of_scale(2);
                let argument = self.convert(argument, &exact, CastContext::Explicit)?;
                Ok(Accumulation {
                    finish: Finish::Cast(SqlType::Money),
                    ..single_call(function, vec![argument.expr], exact)
                })
            }
            SqlType::Int2 | SqlType::Int4 => {
                let argument = self.convert(argument, &SqlType::Int8, CastContext::Implicit)?;
                Ok(single_call(function, vec![argument.expr], SqlType::Int8))
            }
            SqlType::Int8 => {
                let argument =
                    self.convert(argument, &SqlType::numeric_of_scale(0), CastContext::Implicit)?;
                Ok(single_call(
                    function,
                    vec![argument.expr],
                    SqlType::numeric_of_scale(0),
                ))
            }
            SqlType::Numeric(_) => match sums_stay_fixed(&argument.ty) {
                Some(wide) => {
                    let argument = self.convert(argument, &wide, CastContext::Explicit)?;
                    Ok(single_call(function, vec![argument.expr], wide))
                }
                None => Ok(Accumulation::exact("sum", Moment::Sum, argument, distinct)),
            },
            SqlType::Float4 => {
                let argument = self.convert(argument, &SqlType::Float8, CastContext::Implicit)?;
                let function = float("sum", FloatMoment::Sum { is_single: true });
                Ok(Accumulation {
                    finish: Finish::Cast(SqlType::Float4),
                    ..single_call(function, vec![argument.expr], SqlType::Float8)
                })
            }
            SqlType::Unknown | SqlType::Void if !argument.is_of_unwritten() => Err(not_unique("sum")),
            SqlType::Float8 | SqlType::Unknown | SqlType::Void => {
                let argument = self.convert(argument, &SqlType::Float8, CastContext::Implicit)?;
                let function = float("sum", FloatMoment::Sum { is_single: false });
                Ok(single_call(function, vec![argument.expr], SqlType::Float8))
            }
            _ => Err(Error::unsupported("sum", None)),
        }
    }

    /// The sums of an interval's parts; of a time it is the interval since midnight.
    fn interval_sums(&mut self, argument: Bound, distinct: bool) -> Result<Accumulation> {
        let argument = self.convert(argument, &SqlType::Interval(None), CastContext::Implicit)?;
        if distinct {
            return Ok(Accumulation {
                finish: Finish::Intervals { is_average: false },
                ..self.array_of_values(argument)?
            });
        }
        let mut calls = Vec::new();
        for part in ["interval_months", "interval_days", "interval_microseconds"] {
            let part = self.resolve_function(part, vec![argument.clone()])?;
            calls.extend(self.sum(part, false)?.calls);
        }
        Ok(Accumulation {
            calls,
            finish: Finish::Interval { is_average: false },
            is_exact: false,
        })
    }

    /// avg of floats is double precision, of other numbers numeric: the sum divided by the count.
    fn average(&mut self, argument: Bound, distinct: bool) -> Result<Accumulation> {
        match &argument.ty {
            SqlType::Unknown | SqlType::Void if !argument.is_of_unwritten() => Err(not_unique("avg")),
            SqlType::Float4 | SqlType::Float8 | SqlType::Unknown | SqlType::Void => {
                let argument = self.convert(argument, &SqlType::Float8, CastContext::Implicit)?;
                let function = float("avg", FloatMoment::Average);
                Ok(single_call(function, vec![argument.expr], SqlType::Float8))
            }
            // A sum of money is money, which PostgreSQL does not divide by a count.
            SqlType::Money => Err(Error::unsupported("avg", None)),
            SqlType::Numeric(_) if sums_stay_fixed(&argument.ty).is_none() => {
                Ok(Accumulation::exact("avg", Moment::Average, argument, distinct))
            }
            _ => {
                let counted = argument.expr.clone();
                let mut accumulation = self.sum(argument, distinct)?;
                if let Finish::Intervals { .. } = accumulation.finish {
                    accumulation.finish = Finish::Intervals { is_average: true };
                    return Ok(accumulation);
                }
                accumulation
                    .calls
                    .push((Accumulator::Count, vec![counted], SqlType::Int8));
                let finish = match accumulation.finish {
                    Finish::Interval { .. } => Finish::Interval { is_average: true },
                    _ => Finish::Quotient,
                };
                Ok(Accumulation {
                    finish,
                    ..accumulation
                })
            }
        }
    }

    fn deviation(
        &mut self,
        name: &str,
        argument: Bound,
        distinct: bool,
        wrong: &dyn Fn() -> Error,
    ) -> Result<Accumulation> {
        let moment = FloatMoment::named(name).filter(|moment| moment.arguments() == 1);
        let moment = moment.ok_or_else(wrong)?;
        if argument.ty.is_integer() || matches!(argument.ty, SqlType::Numeric(_)) {
            let exact = Moment::Deviation {
                is_root: name.starts_with("stddev"),
                of_sample: !name.ends_with("_pop"),
            };
            return Ok(Accumulation::exact(name, exact, argument, distinct));
        }
        let argument = self.coerce(argument, &SqlType::Float8).map_err(|_| wrong())?;
        let function = float(name, moment);
        Ok(single_call(function, vec![argument.expr], SqlType::Float8))
    }

    /// An aggregate of two columns of doubles: Y and X.
    fn regression(
        &mut self,
        name: &str,
        (first, second): (Bound, Bound),
        wrong: &dyn Fn() -> Error,
    ) -> Result<Accumulation> {
        let moment = FloatMoment::named(name).filter(|moment| moment.arguments() == 2);
        let moment = moment.ok_or_else(wrong)?;
        let first = self.coerce(first, &SqlType::Float8).map_err(|_| wrong())?;
        let second = self.coerce(second, &SqlType::Float8).map_err(|_| wrong())?;
        let arguments = vec![first.expr, second.expr];
        let call = single_call(float(name, moment), arguments, SqlType::Float8);
        Ok(match moment {
            FloatMoment::Count => Accumulation {
                finish: Finish::Cast(SqlType::Int8),
                ..call
            },
            _ => call,
        })
    }
}

/// A moment of floats.
fn float(name: &str, moment: FloatMoment) -> Accumulator {
    let name = name.to_string();
    Accumulator::Float { name, moment }
}

/// The refusal of an argument's type in PostgreSQL's words; other errors stay.
fn relabel(error: Error, wrong: Error) -> Error {
    match error {
        Error::FeatureNotSupported { .. } => wrong,
        other => other,
    }
}

/// 42725: what says nothing of its type may be summed as several.
fn not_unique(name: &str) -> Error {
    let hint = "Could not choose a best candidate function. You might need to add explicit type casts.";
    Error::InvalidStatement {
        state: StatementFault::AmbiguousRoutine,
        message: format!("function {name}(unknown) is not unique"),
        hint: Some(hint.to_string()),
    }
}

/// A constant bigint.
pub(super) fn bigint(number: i64) -> Result<Bound> {
    Bound::constant(&Value::Int(number), SqlType::Int8)
}
