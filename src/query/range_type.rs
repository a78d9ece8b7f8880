//! Ranges among the types of a call: what `anyrange` and `anymultirange` stand for. `function_call` asks; `aggregate` gathers ranges.

use super::accumulation::{Accumulation, Finish};
use super::binder::{Binder, Bound};
use super::coercion;
use super::undefined_function::no_function;
use crate::functions::T;
use crate::types::{RangeKind, SqlType};
use crate::{Error, Result};

/// The type of the bounds of the ranges that a function takes, of which these types are known. `None`: it takes no ranges; within it
/// `None` where they are not of one type, for nothing is widened.
pub(super) fn bound_type(wanted: &[T], known: &[SqlType]) -> Option<Option<SqlType>> {
    let is_range = |wanted: &T| matches!(wanted, T::AnyRange | T::AnyMultirange);
    if !wanted.iter().any(is_range) {
        return None;
    }
    let is_decided = |ty: &&SqlType| !matches!(ty, SqlType::Unknown | SqlType::Void);
    let mut decided = known.iter().filter(is_decided).map(coercion::base);
    let first = decided.next();
    let are_alike = decided.all(|ty| Some(&ty) == first.as_ref());
    Some(first.filter(|first| are_alike && RangeKind::of_bounds(first).is_some()))
}

/// The range whose bounds are of the type. Errors: 42883, for one that has none.
pub(super) fn range_of(bound: &SqlType) -> Result<SqlType> {
    let kind = RangeKind::of_bounds(bound);
    kind.map(SqlType::Range)
        .ok_or_else(|| no_function("range", std::slice::from_ref(bound), false))
}

/// The multirange of such.
pub(super) fn multirange_of(bound: &SqlType) -> Result<SqlType> {
    match range_of(bound)? {
        SqlType::Range(kind) => Ok(SqlType::Multirange(kind)),
        other => Ok(other),
    }
}

impl Binder<'_> {
    /// `range_agg` and `range_intersect_agg`. `wrong`: the error for other arguments.
    pub(super) fn gathered_ranges(
        &mut self,
        name: &str,
        first: Bound,
        wrong: impl Fn() -> Error,
    ) -> Result<Accumulation> {
        if !matches!(first.ty, SqlType::Range(_) | SqlType::Multirange(_)) {
            return Err(wrong());
        }
        let function = match name {
            "range_agg" => "range_list_union",
            _ => "range_list_intersection",
        };
        Ok(Accumulation {
            finish: Finish::Items(function),
            ..self.array_of_values(first)?
        })
    }
}
