//! Calls of aggregates that users made: the arguments are gathered in arrays, as `array_agg` gathers them, and the aggregate's function is
//! called for one item after the other ([`Fold`]). So they have DISTINCT, ORDER BY, FILTER and frames as any other.

use std::sync::Arc;

use sqlparser::ast;

use super::accumulation::{Accumulation, Finish};
use super::binder::{Binder, Bound, Clause, Place};
use super::coercion::{self, CastContext};
use super::decorrelation::has_subquery;
use super::folding::Folding;
use super::operator::binary;
use super::routine_call::{CallArguments, concrete};
use super::scope::Scope;
use crate::catalog::{AggregateDef, AggregateFunctionDef, RoutineDef, RoutineKind, RoutineType};
use crate::functions::RoutineForm;
use crate::parse::names;
use crate::system::StatementContext;
use crate::tree::{Accumulator, Case, Expr, Fold, LetValue, Operator};
use crate::types::SqlType;
use crate::{Error, Result};

/// What an aggregate gives, of arguments of these types. Errors: 42883 for functions that are not there, 42804 and 42846 for those that do
/// not fit.
pub(crate) fn aggregate_type(
    ctx: &StatementContext,
    aggregate: &AggregateDef,
    (inputs, state): (&[SqlType], &SqlType),
) -> Result<SqlType> {
    let folding = Folding {
        aggregate: aggregate.clone(),
        inputs: inputs.to_vec(),
        state: state.clone(),
    };
    let lists = inputs.iter().map(|ty| {
        let array = SqlType::list(ty.clone());
        Ok(Bound::new(coercion::null_of(&array)?, array))
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    Ok(Binder::new(ctx, &[]).folded(&folding, lists)?.ty)
}

impl Binder<'_> {
    /// The aggregates of users that a call may mean.
    fn user_aggregates(&self, function: &ast::Function) -> Vec<Arc<RoutineDef>> {
        // A name that cannot be read is refused by who binds the call.
        let Ok((schema, name)) = names::relation_name(&function.name) else {
            return Vec::new();
        };
        let schema = schema
            .as_deref()
            .map(|schema| self.ctx.settings.schema_meant(schema));
        let mut found = self.routines_named(schema, &name);
        found.retain(|routine| routine.kind == RoutineKind::Aggregate);
        found
    }

    /// Whether a call may mean one.
    pub(super) fn is_user_aggregate(&self, function: &ast::Function) -> bool {
        !self.user_aggregates(function).is_empty()
    }

    /// What gathers the arguments of one of these aggregates. Errors: 42883, 42725.
    pub(super) fn user_accumulation(
        &mut self,
        (name, function): (&str, &ast::Function),
        arguments: Vec<Bound>,
    ) -> Result<Accumulation> {
        let call = CallArguments::of(arguments);
        let aggregates = self.user_aggregates(function);
        let chosen = self.chosen_routine(name, aggregates, &call, false)?;
        let chosen = chosen.ok_or_else(|| Error::internal("an aggregate that was found"))?;
        let aggregate = chosen.routine.aggregate.clone();
        let aggregate = aggregate.ok_or_else(|| Error::internal("an aggregate without its functions"))?;
        let state = self.ctx.routine_type(&aggregate.state)?;
        let state = concrete(self.ctx, &state, chosen.element.as_ref())?;
        let mut inputs = Vec::new();
        let mut calls = Vec::new();
        for argument in chosen.arguments {
            let argument = self.with_decided_type(argument)?;
            let array = SqlType::list(argument.ty.clone());
            calls.push((Accumulator::Array, vec![argument.expr], array));
            inputs.push(argument.ty);
        }
        if calls.is_empty() {
            // Of rows that are only counted there is nothing to gather but that they are there.
            let array = SqlType::list(SqlType::Bool);
            calls.push((Accumulator::Array, vec![crate::tree::lit(true)], array));
        }
        Ok(Accumulation {
            calls,
            finish: Finish::Folded(Arc::new(Folding {
                aggregate,
                inputs,
                state,
            })),
            is_exact: false,
        })
    }

    /// The value of an aggregate, of the arrays of its arguments.
    pub(super) fn folded(&mut self, folding: &Folding, lists: Vec<Bound>) -> Result<Bound> {
        let Folding {
            aggregate,
            inputs,
            state,
        } = folding;
        let initial = match &aggregate.initial {
            Some(text) => {
                let text = Bound::unknown(Some(text.clone()));
                self.convert(text, state, CastContext::Explicit)?.expr
            }
            None => coercion::null_of(state)?,
        };
        let number = self.lets;
        let value = |number: usize, ty: &SqlType| {
            let field = Arc::new(ty.field("", true));
            Bound::new(Expr::LetValue(LetValue { number, field }), ty.clone())
        };
        let items = inputs.iter().enumerate();
        let items: Vec<Bound> = items.map(|(at, ty)| value(number + 1 + at, ty)).collect();
        self.lets += 1 + lists.len();
        let step = self.step_of(aggregate, value(number, state), items);
        self.lets -= 1 + lists.len();
        let fold = Expr::Fold(Fold {
            number,
            lists: lists.into_iter().map(|list| list.expr).collect(),
            initial: Box::new(initial),
            step: Box::new(step?),
        });
        let fold = Bound::new(fold, state.clone());
        let Some(finish) = &aggregate.finish else {
            return Ok(fold);
        };
        let mut arguments = vec![fold];
        if aggregate.finish_extra {
            for ty in inputs {
                arguments.push(Bound::new(coercion::null_of(ty)?, ty.clone()));
            }
        }
        Ok(self.call_of_aggregate(finish, arguments)?.0)
    }

    /// The next state.
    fn step_of(&mut self, aggregate: &AggregateDef, state: Bound, items: Vec<Bound>) -> Result<Expr> {
        let arguments = std::iter::once(state.clone())
            .chain(items.iter().cloned())
            .collect();
        let (next, is_strict) = self.call_of_aggregate(&aggregate.step, arguments)?;
        let next = self.convert(next, &state.ty, CastContext::Explicit)?.expr;
        if !is_strict || items.is_empty() {
            return Ok(next);
        }
        // NULLs are passed over, and the first value is the state where there was none.
        let is_null = |bound: &Bound| Expr::IsNull(Box::new(bound.expr.clone()));
        let tests = items.iter().map(is_null);
        let passed_over = tests.reduce(|one, other| binary(one, Operator::Or, other));
        let mut branches: Vec<(Box<Expr>, Box<Expr>)> = Vec::new();
        branches.extend(passed_over.map(|test| (Box::new(test), Box::new(state.expr.clone()))));
        if aggregate.initial.is_none() {
            let first = self.convert(items[0].clone(), &state.ty, CastContext::Implicit)?;
            branches.push((Box::new(is_null(&state)), Box::new(first.expr)));
        }
        Ok(Expr::Case(Case::new(None, branches, Some(Box::new(next)))))
    }

    /// A call of a function of an aggregate, and whether that is strict.
    fn call_of_aggregate(
        &mut self,
        function: &AggregateFunctionDef,
        arguments: Vec<Bound>,
    ) -> Result<(Bound, bool)> {
        let scope = Scope::default();
        let place = Place {
            scope: &scope,
            outer: None,
            clause: Clause::Check,
            windows: &[],
        };
        let routine = match function {
            // It is asked for by its name, too: the plan is one as long as that means the same.
            AggregateFunctionDef::Function(oid) => self.ctx.routine_by_oid(*oid).and_then(|known| {
                let named = self.routines_named(Some(&known.schema), &known.name);
                named.into_iter().find(|routine| routine.oid == *oid)
            }),
            AggregateFunctionDef::BuiltIn(name) => {
                let bound = self.named_call(name, arguments, place)?;
                let is_strict = match &bound.expr {
                    Expr::ScalarFunction(call) => call.func.is_strict(),
                    // Those behind operators are.
                    _ => true,
                };
                return Ok((bound, is_strict));
            }
        };
        let routine = routine.ok_or_else(|| Error::internal("a function that an aggregate calls"))?;
        let call = CallArguments::of(arguments);
        let chosen = self.chosen_routine(&routine.name.clone(), vec![routine], &call, false)?;
        let chosen = chosen.ok_or_else(|| Error::internal("a function that was found"))?;
        let is_strict = chosen.routine.strict;
        let ty = self.value_type(&chosen)?;
        let ty = ty.ok_or_else(|| Error::unsupported("an aggregate of rows of any columns", None))?;
        let inlined = self.inlined_value(&chosen, &ty, place)?;
        let bound = match inlined.filter(|bound| !has_subquery(&bound.expr)) {
            Some(bound) => bound,
            None => self.routine_run(chosen, ty, RoutineForm::Value)?,
        };
        Ok((bound, is_strict))
    }
}

/// What stands for a type that each call decides, while an aggregate is made.
pub(crate) fn example_of(ctx: &StatementContext, ty: &RoutineType) -> Result<SqlType> {
    concrete(ctx, ty, Some(&SqlType::Text))
}
