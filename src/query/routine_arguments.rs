//! The arguments of a call of a function of a user's: those given, defaults, the array of VARIADIC, each as one of the type declared.

use std::sync::Arc;

use super::binder::{Binder, Bound, Place};
use super::coercion::{CastContext, type_name};
use super::overload::Takes;
use super::routine_call::{CallArguments, ChosenRoutine, Given, concrete, item_of};
use super::scope::Scope;
use crate::catalog::{RoutineArgument, RoutineDef, RoutineType};
use crate::functions::{self, T, Volatility};
use crate::parse;
use crate::tree;
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// The function with its arguments, of the types that it declares.
    pub(super) fn with_arguments(
        &mut self,
        routine: Arc<RoutineDef>,
        given: &[Given],
        call: &CallArguments,
        types: &[SqlType],
    ) -> Result<ChosenRoutine> {
        if self.ctx.hints.as_of.is_some() {
            return Err(Error::unsupported(
                format!("the function {} in a query AS OF SYSTEM TIME", routine.name),
                Some(
                    "What it reads would be of now: write FOR SYSTEM_TIME AS OF behind the tables that are meant.",
                ),
            ));
        }
        let inputs: Vec<&RoutineArgument> = routine.inputs().collect();
        let mut wanted: Vec<T> = Vec::new();
        let mut decided: Vec<SqlType> = Vec::new();
        for (input, given) in inputs.iter().zip(given) {
            match given {
                Given::Argument(at) => {
                    wanted.push(input.ty.polymorphic());
                    decided.push(types[*at].clone());
                }
                Given::Rest(from) => {
                    let rest = &types[*from..];
                    wanted.extend(rest.iter().map(|_| item_of(&input.ty).polymorphic()));
                    decided.extend_from_slice(rest);
                }
                Given::Default => {}
            }
        }
        let is_polymorphic = inputs
            .iter()
            .any(|input| matches!(input.ty, RoutineType::Polymorphic(_)));
        let element = match is_polymorphic {
            true => Some(self.element_type(&routine.name, &wanted, &decided)?),
            false => None,
        };
        let mut arguments = Vec::with_capacity(inputs.len());
        for (input, given) in inputs.iter().zip(given) {
            let ty = concrete(self.ctx, &input.ty, element.as_ref())?;
            let argument = match given {
                Given::Argument(at) => self.convert(call.bound[*at].clone(), &ty, CastContext::Implicit)?,
                Given::Default => self.default_argument(input, &ty)?,
                Given::Rest(from) => self.rest_as_array(&call.bound[*from..], &ty)?,
            };
            arguments.push(self.of_declared(argument, &input.ty)?);
        }
        Ok(ChosenRoutine {
            routine,
            arguments,
            element,
        })
    }

    /// A value that becomes one of the declared type: of a domain, under its conditions.
    pub(super) fn of_declared(&mut self, bound: Bound, ty: &RoutineType) -> Result<Bound> {
        let Some(domain) = ty.domain() else {
            return Ok(bound);
        };
        // Asked by its name, for the plan to know of its changes.
        let known = self.ctx.get_type(Some(&domain.schema), &domain.name)?;
        self.of_domain(bound, known.as_ref().unwrap_or(domain))
    }

    fn default_argument(&mut self, input: &RoutineArgument, ty: &SqlType) -> Result<Bound> {
        let text = input.default.as_deref().unwrap_or("NULL");
        let expr = parse::parse_expression(text).map_err(|error| Error::Corrupt {
            what: format!("default {text}"),
            reason: error.to_string(),
        })?;
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer: None,
            clause: super::Clause::Default,
            windows: &[],
        };
        self.views += 1;
        let bound = self.expression(&expr, place);
        self.views -= 1;
        self.as_assigned(bound?, ty)
    }

    /// A value as an assignment to one of the type has it. Errors: 42804.
    pub(super) fn as_assigned(&mut self, bound: Bound, ty: &SqlType) -> Result<Bound> {
        match self.assigns(&bound.ty, ty) {
            true => self.convert(bound, ty, CastContext::Explicit),
            false => Err(Error::DatatypeMismatch {
                message: format!(
                    "the function gives type {}, not type {}",
                    type_name(&bound.ty),
                    type_name(ty)
                ),
                hint: None,
            }),
        }
    }

    fn rest_as_array(&mut self, rest: &[Bound], ty: &SqlType) -> Result<Bound> {
        let item = ty.item_type().cloned().unwrap_or(SqlType::Text);
        let mut items = Vec::with_capacity(rest.len());
        for bound in rest {
            let bound = self.convert(bound.clone(), &item, CastContext::Implicit)?;
            items.push((bound.expr, bound.ty));
        }
        let definition = ("array", functions::MAKE_ARRAY, false, Volatility::Immutable);
        Ok(Bound::new(
            tree::call(definition, items, ty.clone(), &self.settings),
            ty.clone(),
        ))
    }
}
