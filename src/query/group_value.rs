//! What a group shows of a key whose equal values may differ: the first of them. Of floats, where these are −0 and 0, it is
//! 0, which is as good, and found as fast as groups are: the first value is several times as dear where groups are many.
//! Called by `same_rows` and `grouping`.

use arrow::datatypes::DataType;

use super::accumulation::{Finish, single_call};
use super::binder::{Binder, Bound};
use crate::functions::value_array::null_of;
use crate::tree::{Accumulator, AggregateFunction, Case, Expr};
use crate::types::SqlType;
use crate::{Error, Result};

/// The value that a group shows.
pub(super) struct GroupValue {
    /// The type of what the aggregate gives, and what it becomes.
    given: SqlType,
    finish: Finish,
}

impl Binder<'_> {
    /// An aggregate that gives the value which a group shows, and what becomes of its result.
    pub(super) fn group_value(&mut self, value: Bound) -> Result<(Expr, GroupValue)> {
        let mut accumulation = match value.ty {
            SqlType::Float4 | SqlType::Float8 => self.extremum("max", value)?,
            ty => single_call(Accumulator::First, vec![value.expr], ty),
        };
        let call = accumulation.calls.pop();
        let (function, arguments, given) =
            call.ok_or_else(|| Error::internal("a group's value without an aggregate"))?;
        let call = AggregateFunction::new(function, arguments, false, None, Vec::new());
        let finish = accumulation.finish;
        Ok((Expr::AggregateFunction(call), GroupValue { given, finish }))
    }

    /// That value, of the column that the aggregate became.
    pub(super) fn shown_value(&mut self, value: &GroupValue, column: Expr) -> Result<Expr> {
        let given = Bound::new(column, value.given.clone());
        Ok(self.finish(&value.finish, vec![given])?.expr)
    }
}

/// The value that a group shows, where the group has the key: a grouping set may leave it out.
pub(super) fn where_keyed(key: Expr, shown: Expr, ty: &DataType) -> Result<Expr> {
    let nothing = null_of(ty)?;
    let branches = vec![(
        Box::new(Expr::IsNull(Box::new(key))),
        Box::new(Expr::Literal(nothing, None)),
    )];
    Ok(Expr::Case(Case::new(None, branches, Some(Box::new(shown)))))
}
