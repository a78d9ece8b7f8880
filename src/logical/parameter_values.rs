//! `Constants` of a run: the values that a client bound, read as the types that the plan gave its parameters.

use std::sync::Arc;

use super::placeholder::{Constants, RunTimes};
use crate::functions::cast::cast_value;
use crate::functions::object_name::objects_meant;
use crate::functions::value_array::scalar_of;
use crate::functions::{self, T};
use crate::system::StatementContext;
use crate::tree::{Expr, ScalarValue, call};
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

impl Constants {
    /// The context's parameters, as the types that the plan gave them, and its times. Errors: those of reading a
    /// parameter's text as its type.
    pub fn new(ctx: &StatementContext, types: &[SqlType]) -> Result<Constants> {
        let settings = ctx.format_settings();
        let parameter = |(index, ty): (usize, &SqlType)| match ctx.parameters.get(index) {
            Some(Value::Unknown(name)) if let Some(kind) = ty.object_kind() => {
                object(name, kind, ty, &settings).map(Some)
            }
            Some(names @ Value::Unknown(_)) if ty.names_objects() => {
                let oids = objects_meant(ctx, names.clone(), ty)?;
                Ok(Some(Expr::Literal(scalar_of(&oids, ty)?, None)))
            }
            Some(value) => {
                let scalar = constant(value.clone(), ty, &settings)?;
                Ok(Some(Expr::Literal(scalar, None)))
            }
            None => Ok(None),
        };
        let parameters = types.iter().enumerate().map(parameter).collect::<Result<_>>()?;
        let time = |micros| scalar_of(&Value::TimestampTz(micros), &SqlType::TimestampTz(None));
        let times = RunTimes {
            transaction: time(ctx.transaction_time_us)?,
            statement: time(ctx.statement_time_us)?,
        };
        Ok(Constants::of(parameters, times))
    }
}

/// The oid of an object of this kind that has this name, found when the statement runs.
fn object(name: &str, kind: &str, ty: &SqlType, settings: &FormatSettings) -> Result<Expr> {
    let look_up = functions::functions_named(kind)
        .find(|row| row.arguments == [T::Text])
        .ok_or_else(|| Error::internal(format!("nothing looks up a {kind}")))?;
    let name = scalar_of(&Value::Text(name.to_string()), &SqlType::Text)?;
    let definition = (look_up.name, look_up.body, look_up.strict, look_up.volatility);
    let arguments = vec![(Expr::Literal(name, None), SqlType::Text)];
    Ok(call(
        definition,
        arguments,
        ty.clone(),
        &Arc::new(settings.clone()),
    ))
}

fn constant(value: Value, ty: &SqlType, settings: &FormatSettings) -> Result<ScalarValue> {
    // What nothing gives a type nothing asks for.
    let ty = match ty {
        SqlType::Unknown => &SqlType::Text,
        ty => ty,
    };
    let from = match &value {
        Value::Unknown(_) => SqlType::Unknown,
        Value::Int(_)
            if matches!(
                ty,
                SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Oid | SqlType::Regclass
            ) =>
        {
            SqlType::Int8
        }
        Value::Null => return scalar_of(&Value::Null, ty),
        other => other.natural_type(),
    };
    let value = if same_kind(&from, ty) {
        value
    } else {
        cast_value(value, &from, ty, settings)?
    };
    scalar_of(&value, ty)
}

fn same_kind(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::Array(a), SqlType::Array(b)) => same_kind(a, b),
        (SqlType::Int8 | SqlType::Int4 | SqlType::Int2, SqlType::Int2 | SqlType::Int4 | SqlType::Int8) => {
            true
        }
        (
            SqlType::Text,
            SqlType::Text | SqlType::Varchar(None) | SqlType::Json | SqlType::Jsonb | SqlType::Name,
        ) => true,
        (a, b) => a == b,
    }
}
