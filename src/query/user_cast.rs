//! Casts that users made: where they apply, and what a value becomes by one. `coercion` knows those that are built in, and asks here for
//! others; so does whoever looks for a function or an operator by the types of its arguments.

use std::sync::Arc;

use super::binder::{Binder, Bound, Place};
use super::coercion::{self, CastContext};
use super::routine_call::CallArguments;
use crate::catalog::{CastApplies, CastDef, CastMethod};
use crate::parse::assignment_cast;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// The cast that a conversion takes, if users made one of these types that applies.
    pub(super) fn user_cast(
        &self,
        from: &SqlType,
        to: &SqlType,
        context: CastContext,
    ) -> Option<Arc<CastDef>> {
        let needs = match context {
            CastContext::Implicit => CastApplies::Implicit,
            CastContext::Explicit => CastApplies::Explicit,
        };
        self.ctx.casts().get_unwritten(from, to, needs).cloned()
    }

    /// Whether a value of one type stands where the other is wanted.
    pub(super) fn converts(&self, from: &SqlType, to: &SqlType) -> bool {
        coercion::implicit(from, to) || self.user_cast(from, to, CastContext::Implicit).is_some()
    }

    /// Whether a value of one type may be assigned to one of the other.
    pub(super) fn assigns(&self, from: &SqlType, to: &SqlType) -> bool {
        let by_user = || {
            self.ctx
                .casts()
                .get_unwritten(from, to, CastApplies::Assignment)
                .is_some()
        };
        coercion::is_assignable(from, to) || by_user()
    }

    /// A value as the cast makes it. Errors: those of calling its function, 42846.
    pub(super) fn by_user_cast(
        &mut self,
        bound: Bound,
        target: &SqlType,
        cast: &CastDef,
        context: CastContext,
    ) -> Result<Bound> {
        match cast.method {
            CastMethod::Text => {
                let text = self.convert_built_in(bound, &SqlType::Text, CastContext::Explicit)?;
                self.convert_built_in(text, target, CastContext::Explicit)
            }
            CastMethod::Same => self.convert_built_in(bound, target, CastContext::Explicit),
            CastMethod::Function(oid) => self.by_cast_function(bound, target, oid, context),
        }
    }

    fn by_cast_function(
        &mut self,
        bound: Bound,
        target: &SqlType,
        oid: u32,
        context: CastContext,
    ) -> Result<Bound> {
        let gone = || Error::internal("a cast without its function");
        let known = self.ctx.routine_by_oid(oid).ok_or_else(gone)?;
        let (schema, name) = (known.schema.clone(), known.name.clone());
        // Asked by its name, for the plan to know of its changes.
        let mut routines = self.routines_named(Some(&schema), &name);
        routines.retain(|routine| routine.oid == oid);
        let takes = routines.first().map_or(0, |routine| routine.inputs().count());
        let mut arguments = vec![bound];
        if takes > 1 {
            // The modifier of the type: none.
            arguments.push(Bound::constant(&Value::Int(-1), SqlType::Int4)?);
        }
        if takes > 2 {
            let is_written = context == CastContext::Explicit;
            arguments.push(Bound::constant(&Value::Bool(is_written), SqlType::Bool)?);
        }
        let call = CallArguments::of(arguments);
        let chosen = self
            .chosen_routine(&name, routines, &call, false)?
            .ok_or_else(gone)?;
        let scope = super::scope::Scope::default();
        let place = Place {
            scope: &scope,
            outer: None,
            clause: super::Clause::Select,
            windows: &[],
        };
        let value = self.routine_value(chosen, place)?;
        self.convert_built_in(value, target, CastContext::Explicit)
    }

    /// What stands for the two operands of a comparison of which one becomes the other's type by a cast of a user's. Types that share
    /// an operator with others of their kind (enums, arrays, rows, ranges) are no operator's own: no operand becomes one of them.
    pub(super) fn cast_operands(&mut self, left: Bound, right: Bound) -> Result<(Bound, Bound)> {
        let is_own = |ty: &SqlType| {
            !matches!(
                ty,
                SqlType::Enum(_)
                    | SqlType::Array(_)
                    | SqlType::Record(_)
                    | SqlType::Range(_)
                    | SqlType::Multirange(_)
            )
        };
        if self.ctx.casts().is_empty() || coercion::same_base(&left.ty, &right.ty) {
            return Ok((left, right));
        }
        let context = CastContext::Implicit;
        if is_own(&right.ty)
            && let Some(cast) = self.user_cast(&left.ty, &right.ty, context)
        {
            let target = coercion::base(&right.ty);
            return Ok((self.by_user_cast(left, &target, &cast, context)?, right));
        }
        if is_own(&left.ty)
            && let Some(cast) = self.user_cast(&right.ty, &left.ty, context)
        {
            let target = coercion::base(&left.ty);
            let right = self.by_user_cast(right, &target, &cast, context)?;
            return Ok((left, right));
        }
        Ok((left, right))
    }

    /// A value that is assigned to one of a type (see [`assignment_cast`]): by a cast of a user's if one applies; a name as the object that
    /// it means, and the other way round; else as it is, for whoever assigns it to convert.
    pub(super) fn assigned(
        &mut self,
        assigned: &assignment_cast::Assigned<'_>,
        place: Place<'_>,
    ) -> Result<Bound> {
        let target = self.written_type(assigned.data_type)?.ty;
        let bound = self.expression(assigned.value, place)?;
        let cast = self
            .ctx
            .casts()
            .get_unwritten(&bound.ty, &target, CastApplies::Assignment);
        match cast.cloned() {
            Some(cast) => self.by_user_cast(bound, &target, &cast, CastContext::Implicit),
            None if bound.ty != target && (bound.ty.names_objects() || target.names_objects()) => {
                // A string is given the whole name, which whoever assigns it fits to its length.
                let target = if target.is_string() { SqlType::Text } else { target };
                match coercion::is_assignable(&bound.ty, &target) {
                    true => self.convert_built_in(bound, &target, CastContext::Explicit),
                    false => Ok(bound),
                }
            }
            None => Ok(bound),
        }
    }
}
