//! CALL, and DO.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use futures::StreamExt;
use sqlparser::ast;

use super::call_routine;
use crate::catalog::{ArgumentMode, RoutineDef};
use crate::functions::value_array::array_of;
use crate::query::{concrete_type, known_types, plan_procedure_call, run_once};
use crate::scan::{OutputColumn, Rows};
use crate::sql::Outcome;
use crate::sql::routine_run::{element_of, inner_context, text_of};
use crate::system::{RoutineCall, StatementContext};
use crate::txn::Savepoint;
use crate::types::{SqlType, Value, name_with_oid, value_at};
use crate::{Error, Result};

/// Runs CALL: the row of what the procedure gives back, if it gives anything.
pub(in crate::sql) async fn execute_call(
    ctx: &StatementContext,
    function: &ast::Function,
) -> Result<Outcome> {
    let (routine, query) = plan_procedure_call(ctx, function, &known_types(ctx))?;
    let mut row = Vec::new();
    let mut batches = run_once(&ctx.reading(), &query).await?;
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        for (array, column) in batch.columns().iter().zip(&query.columns) {
            row.push(value_at(array, 0, &column.ty)?);
        }
    }
    drop(batches);
    let written = written_arguments(&routine);
    let types: Vec<SqlType> = query.columns.iter().map(|column| column.ty.clone()).collect();
    let is_input = |at: &usize| written.get(*at).is_some_and(|is_input| *is_input);
    let inputs = |at: &usize| is_input(at);
    let call = RoutineCall {
        trigger: None,
        arguments: (0..row.len()).filter(inputs).map(|at| row[at].clone()).collect(),
        types: (0..types.len())
            .filter(inputs)
            .map(|at| types[at].clone())
            .collect(),
        returns: Vec::new(),
        routine: Arc::clone(&routine),
    };
    let columns = output_columns(ctx, &routine, &call.types);
    let savepoint = ctx.txn.savepoint();
    let given = call_routine(ctx, call).await;
    let given = given.inspect_err(|_| undo_to(ctx, savepoint))?;
    if columns.is_empty() {
        return Ok(Outcome::Done {
            tag: "CALL".to_string(),
        });
    }
    let row = given.into_iter().next().unwrap_or_default();
    rows_of(ctx, columns, row)
}

/// What a body did that failed is undone, unless it has ended the transaction.
fn undo_to(ctx: &StatementContext, savepoint: Savepoint) {
    if !ctx.txn.is_over() {
        ctx.txn.rollback_to(savepoint);
    }
}

/// Of each argument that is written in a CALL whether the procedure takes it.
fn written_arguments(routine: &RoutineDef) -> Vec<bool> {
    let written = routine.arguments.iter();
    let written = written.filter(|argument| argument.mode != ArgumentMode::Table);
    written.map(|argument| argument.mode.is_input()).collect()
}

fn output_columns(ctx: &StatementContext, routine: &RoutineDef, types: &[SqlType]) -> Vec<OutputColumn> {
    let element = element_of(routine, types);
    let outputs = routine.outputs().enumerate();
    let columns = outputs.map(|(at, output)| {
        let name = output.name.clone().unwrap_or_else(|| format!("column{}", at + 1));
        let ty = concrete_type(ctx, &output.ty, element.as_ref()).unwrap_or(SqlType::Text);
        // Objects leave the statement as their names.
        let is_object = ty.names_objects() && ty.item_type().is_none();
        let shown = if is_object { ty.output_type() } else { ty };
        OutputColumn::declared(name, shown)
    });
    columns.collect()
}

/// The row as it leaves the statement.
fn rows_of(ctx: &StatementContext, columns: Vec<OutputColumn>, row: Vec<Value>) -> Result<Outcome> {
    let mut arrays = Vec::with_capacity(columns.len());
    for (at, column) in columns.iter().enumerate() {
        let object = column.ty.object_type();
        let value = match row.get(at).cloned().unwrap_or(Value::Null) {
            Value::Int(oid) if object != column.ty => {
                Value::Text(name_with_oid(&text_of(ctx, &Value::Int(oid), &object), oid))
            }
            value => value,
        };
        arrays.push(array_of(&[value], &column.ty)?);
    }
    let fields: Vec<_> = columns
        .iter()
        .map(|column| column.ty.field(&column.name, true))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(Error::arrow)?;
    Ok(Outcome::Rows {
        columns: columns.into(),
        stream: futures::stream::iter([Ok(Rows::Columns(batch))]).boxed(),
    })
}

/// What Describe tells of CALL: its parameters and the columns of the row that it gives.
pub(in crate::sql) fn describe_call(
    ctx: &StatementContext,
    function: &ast::Function,
    parameters: &[Option<SqlType>],
) -> Result<(Vec<SqlType>, Vec<OutputColumn>)> {
    let (routine, query) = plan_procedure_call(ctx, function, parameters)?;
    let written = written_arguments(&routine);
    let types = query.columns.iter().zip(written);
    let types: Vec<SqlType> = types
        .filter(|(_, is_input)| *is_input)
        .map(|(column, _)| column.ty.clone())
        .collect();
    let columns = output_columns(ctx, &routine, &types);
    Ok((query.parameters, columns))
}

/// Runs DO: the code of a block. Errors: 42704 for another language than plpgsql.
pub(in crate::sql) async fn execute_block(
    ctx: &StatementContext,
    language: &str,
    code: &str,
) -> Result<Outcome> {
    match language {
        "plpgsql" => {}
        "sql" => {
            return Err(Error::InvalidStatement {
                state: crate::error::StatementFault::NotImplemented,
                message: "language \"sql\" does not support inline code execution".to_string(),
                hint: Some("Run the statements themselves, or use LANGUAGE plpgsql.".to_string()),
            });
        }
        other => {
            return Err(Error::UndefinedObject {
                kind: "language",
                name: other.to_string(),
            });
        }
    }
    let savepoint = ctx.txn.savepoint();
    let mut inner = StatementContext {
        transaction_control: ctx.transaction_control.clone(),
        ..inner_context(ctx)
    };
    inner.see_definitions().await?;
    let ran = crate::sql::plpgsql::run_block(inner, code).await;
    ran.inspect_err(|_| undo_to(ctx, savepoint))?;
    Ok(Outcome::Done {
        tag: "DO".to_string(),
    })
}
