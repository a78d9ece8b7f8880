//! Functions that users made, as expressions call them: each row's arguments go to the statement's `RoutineCaller`. Knows nothing of what
//! a body says.

use arrow::array::ArrayRef;

use super::batch::Batch;
use super::value_array::array_of;
use crate::system::blocking_wait::wait_in_place;
use crate::system::pg_catalog::CatalogContext;
use crate::system::query_threads::check_left;
use crate::system::{RoutineCall, with_grown_stack};
use crate::types::{ArrayValue, SqlType, Value, element_type, value_at};
use crate::{Error, Result};

/// What a call is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutineForm {
    /// A value.
    Value,
    /// An array of the values that it gives.
    Values,
}

/// Calls the function with this oid for each row.
pub(super) fn call(batch: &Batch, oid: u32, form: RoutineForm, catalog: &CatalogContext) -> Result<ArrayRef> {
    let statement = catalog.statement();
    let routine = statement.catalog.routines.by_oid(oid);
    let routine = routine.ok_or_else(|| Error::UndefinedFunction {
        signature: format!("with OID {oid}"),
        hint: None,
    })?;
    let is_row = routine.returns.is_row();
    let given = match form {
        RoutineForm::Value => batch.returns,
        RoutineForm::Values => element_type(batch.returns),
    };
    let returned: Vec<SqlType> = match given.record_type().filter(|_| is_row) {
        Some(row) => row.fields.iter().map(|field| field.ty.clone()).collect(),
        None => vec![given.clone()],
    };
    let mut results = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        check_left()?;
        let arguments = batch.arrays.iter().zip(batch.arguments);
        let arguments = arguments.map(|(array, ty)| value_at(array, row, ty));
        let arguments = arguments.collect::<Result<Vec<Value>>>()?;
        if batch.strict && arguments.contains(&Value::Null) {
            results.push(match form {
                RoutineForm::Value => Value::Null,
                RoutineForm::Values => Value::Array(ArrayValue::default()),
            });
            continue;
        }
        let call = RoutineCall {
            trigger: None,
            routine: routine.clone(),
            arguments,
            types: batch.arguments.to_vec(),
            returns: returned.clone(),
        };
        let rows = with_grown_stack(|| wait_in_place(statement, (statement.call_routine)(statement, call)))?;
        results.push(result_of(rows, form, is_row));
    }
    array_of(&results, batch.returns)
}

/// What a run gave, as a value; a row of no values is NULL.
fn result_of(rows: Vec<Vec<Value>>, form: RoutineForm, is_row: bool) -> Value {
    let value = |row: Vec<Value>| match is_row && !row.is_empty() {
        true => Value::Record(row),
        false => row.into_iter().next().unwrap_or(Value::Null),
    };
    let mut rows = rows.into_iter();
    match form {
        RoutineForm::Value => rows.next().map_or(Value::Null, value),
        RoutineForm::Values => Value::Array(rows.map(value).collect()),
    }
}
