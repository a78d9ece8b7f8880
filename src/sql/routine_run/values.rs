//! What functions in both languages ask: what their statements run in, the types of their results, values as others have them.

use std::sync::Arc;

use crate::catalog::{Polymorphic, RoutineDef, RoutineResult, RoutineType};
use crate::functions::object_name::{name_meant, objects_meant};
use crate::query::concrete_type;
use crate::system::{RoutineCall, StatementContext};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// What the statements of a block of code run in.
pub(in crate::sql) fn inner_context(ctx: &StatementContext) -> StatementContext {
    StatementContext {
        txn: Arc::new(ctx.txn.with_own_writes()),
        began: None,
        part_began: None,
        common_rows: Arc::default(),
        lookups: Arc::default(),
        parameters: Arc::default(),
        parameter_types: Arc::default(),
        parameters_are_constants: false,
        hints: Default::default(),
        cursor_position: None,
        variables: None,
        transaction_control: None,
        calls: ctx.calls + 1,
        in_stable_function: false,
        rows_wanted: None,
        in_block: true,
        ..ctx.clone()
    }
}

/// What polymorphic arguments stand for in a call.
pub(in crate::sql) fn element_of(routine: &RoutineDef, types: &[SqlType]) -> Option<SqlType> {
    routine
        .inputs()
        .zip(types)
        .find_map(|(input, ty)| match &input.ty {
            RoutineType::Polymorphic(Polymorphic::Element(_)) => Some(ty.clone()),
            RoutineType::Polymorphic(Polymorphic::Array(_)) => ty.item_type().cloned(),
            _ => None,
        })
}

/// The types of the columns of a function's rows; `None`: whatever they are.
pub(in crate::sql) fn returned_types(ctx: &StatementContext, call: &RoutineCall) -> Option<Vec<SqlType>> {
    let routine = &call.routine;
    let element = element_of(routine, &call.types);
    let concrete = |ty| concrete_type(ctx, ty, element.as_ref()).ok();
    match &routine.returns {
        RoutineResult::Type(ty) => match concrete(ty)? {
            SqlType::Record(row) if routine.returns.is_row() => {
                Some(row.fields.iter().map(|field| field.ty.clone()).collect())
            }
            ty => Some(vec![ty]),
        },
        RoutineResult::Outputs => routine.outputs().map(|output| concrete(&output.ty)).collect(),
        RoutineResult::Record => Some(call.returns.clone()).filter(|types| !types.is_empty()),
        RoutineResult::Void | RoutineResult::Trigger => None,
    }
}

/// A value of a type as texts show it: of an oid that names an object the name.
pub(in crate::sql) fn text_of(ctx: &StatementContext, value: &Value, ty: &SqlType) -> String {
    match (value, ty) {
        (Value::Int(oid), ty) if ty.names_objects() => name_meant(ctx, *oid, ty),
        (value, _) => value.to_text(&ctx.format_settings()),
    }
}

/// A value as one of another type: as an assignment has it, or by its text. Errors: those of reading that.
pub(in crate::sql) fn assigned(
    ctx: &StatementContext,
    value: Value,
    from: &SqlType,
    to: &SqlType,
) -> Result<Value> {
    let format = ctx.format_settings();
    let objects = from.object_type();
    let value = match value {
        Value::Null => return Ok(Value::Null),
        // An object leaves a query as its name, which only texts take for it.
        Value::Text(_) if objects != *from && *to == SqlType::Oid => {
            return objects_meant(ctx, value, &objects);
        }
        Value::Int(oid) if from.names_objects() && to.is_string() => {
            return Value::Text(text_of(ctx, &Value::Int(oid), from)).assign(to, "", &format);
        }
        value @ (Value::Unknown(_) | Value::Text(_)) if to.names_objects() => {
            return objects_meant(ctx, value, to);
        }
        value @ Value::Array(_) if objects != *from && objects == *to => {
            return objects_meant(ctx, value, to);
        }
        Value::Unknown(text) => return Value::parse(&text, to, &format)?.assign(to, "", &format),
        value => value,
    };
    if from == to {
        return Ok(value);
    }
    let text = value.to_text(&format);
    match value.clone().assign(to, "", &format) {
        // What no assignment converts goes by its text, as PL/pgSQL has it.
        Err(Error::DatatypeMismatch { .. } | Error::CannotCoerce { .. } | Error::Internal { .. }) => {
            Value::parse(&text, to, &format)?.assign(to, "", &format)
        }
        assigned => assigned,
    }
}
