//! The types of a statement's parameters, as far as they are known before it is bound.

use crate::system::StatementContext;
use crate::types::{SqlType, Value};

/// The types of the bound parameters that have one: those the statement was described with, so that it means the same
/// when it runs (with the labels that enums have by now), else those of the values.
pub(crate) fn known_types(ctx: &StatementContext) -> Vec<Option<SqlType>> {
    if ctx.parameter_types.is_empty() {
        return ctx.parameters.iter().map(known_type).collect();
    }
    let decided = |ty: &SqlType| (*ty != SqlType::Unknown).then(|| ctx.type_as_it_is(ty));
    ctx.parameter_types.iter().map(decided).collect()
}

/// The type of a bound value, when it has one.
fn known_type(value: &Value) -> Option<SqlType> {
    match value {
        Value::Null | Value::Unknown(_) => None,
        value => Some(value.natural_type()),
    }
}
