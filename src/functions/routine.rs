//! Functions that users made, as expressions call them: each row's arguments go to the statement's `RoutineCaller`. Knows nothing of what
//! a body says.

use arrow::array::ArrayRef;

use super::batch::Batch;
use super::value_array::array_of;
use crate::system::RoutineCall;
use crate::system::blocking_wait::wait_in_place;
use crate::system::pg_catalog::CatalogContext;
use crate::system::query_threads::check_left;
use crate::types::{SqlType, Value, element_type, value_at};
use crate::{Error, Result};

/// With less stack than this left, a call takes a new segment: a function may call itself.
const STACK_RED_ZONE_BYTES: usize = 4 << 20;
/// The size of a new segment.
const STACK_SEGMENT_BYTES: usize = 32 << 20;

/// What a call is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutineForm {
    /// A value.
    Value,
    /// An array of the values that it gives.
    Values,
    /// An array of the rows that it gives, each of these so many columns as a text (`row_text`).
    Rows,
}

/// Calls the function with this oid for each row.
pub(super) fn call(batch: &Batch, oid: u32, form: RoutineForm, catalog: &CatalogContext) -> Result<ArrayRef> {
    let statement = catalog.statement();
    let routine = statement.catalog.routines.by_oid(oid);
    let routine = routine.ok_or_else(|| Error::UndefinedFunction {
        signature: format!("with OID {oid}"),
        hint: None,
    })?;
    let mut results = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        check_left()?;
        let arguments = batch.arrays.iter().zip(batch.arguments);
        let arguments = arguments.map(|(array, ty)| value_at(array, row, ty));
        let arguments = arguments.collect::<Result<Vec<Value>>>()?;
        if batch.strict && arguments.contains(&Value::Null) {
            results.push(match form {
                RoutineForm::Value => Value::Null,
                RoutineForm::Values | RoutineForm::Rows => Value::Array(Vec::new()),
            });
            continue;
        }
        let call = RoutineCall {
            routine: routine.clone(),
            arguments,
            types: batch.arguments.to_vec(),
            returns: match form {
                RoutineForm::Value => vec![batch.returns.clone()],
                RoutineForm::Values => vec![element_type(batch.returns).clone()],
                RoutineForm::Rows => Vec::new(),
            },
        };
        let rows = stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
            wait_in_place(statement, (statement.call_routine)(statement, call))
        })?;
        results.push(result_of(rows, form, batch.settings)?);
    }
    array_of(&results, batch.returns)
}

fn result_of(
    rows: Vec<Vec<Value>>,
    form: RoutineForm,
    settings: &crate::types::FormatSettings,
) -> Result<Value> {
    let mut rows = rows.into_iter();
    let first = |row: Vec<Value>| row.into_iter().next().unwrap_or(Value::Null);
    Ok(match form {
        RoutineForm::Value => rows.next().map_or(Value::Null, first),
        RoutineForm::Values => Value::Array(rows.map(first).collect()),
        RoutineForm::Rows => {
            let texts = rows.map(|row| row_text(&row, settings).map(Value::Text));
            Value::Array(texts.collect::<Result<_>>()?)
        }
    })
}

/// A row as a text from which [`field`] takes its columns.
fn row_text(row: &[Value], settings: &crate::types::FormatSettings) -> Result<String> {
    let texts: Vec<Option<String>> = row
        .iter()
        .map(|value| match value {
            Value::Null => None,
            value => Some(value.to_text(settings)),
        })
        .collect();
    serde_json::to_string(&texts).map_err(|error| Error::internal(error.to_string()))
}

/// A column of a row's text: the second argument counts from 0.
pub(super) fn field(batch: &Batch) -> Result<ArrayRef> {
    let mut texts = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        let text = value_at(&batch.arrays[0], row, &SqlType::Text)?;
        let at = value_at(&batch.arrays[1], row, &SqlType::Int4)?;
        texts.push(match (text, at) {
            (Value::Text(text), Value::Int(at)) => {
                let mut fields: Vec<Option<String>> =
                    serde_json::from_str(&text).map_err(|error| Error::internal(error.to_string()))?;
                let at = usize::try_from(at).unwrap_or(usize::MAX);
                match fields.get_mut(at).and_then(Option::take) {
                    Some(text) => Value::Text(text),
                    None => Value::Null,
                }
            }
            _ => Value::Null,
        });
    }
    array_of(&texts, batch.returns)
}
