//! Bodies in SQL: one statement behind the other; the last gives the rows.

use std::sync::Arc;

use crate::catalog::{BodyKind, RoutineDef, RoutineResult, RoutineType};
use crate::error::Raised;
use crate::parse::command::Command;
use crate::parse::parameters;
use crate::query::{RoutineBody, concrete_type, wrong_result};
use crate::scan::OutputColumn;
use crate::sql::routine_run::statement_run::{Ran, require_reading, run_statement};
use crate::sql::routine_run::{assigned, inner_context, returned_types};
use crate::sql::{Statement, describe_here};
use crate::system::{CallPlace, NameConflict, RoutineCall, StatementContext, Step, Variable, Variables};
use crate::types::{RecordType, SqlType, Value};
use crate::{Error, Result};

/// What a value in memory takes besides its bytes.
const VALUE_BYTES: usize = 48;

/// Runs it.
pub(super) async fn run(mut ctx: StatementContext, call: RoutineCall) -> Result<Vec<Vec<Value>>> {
    let routine = Arc::clone(&call.routine);
    let statements = statements(&routine)?;
    let wanted = returned_types(&ctx, &call);
    ctx.variables = Some(Arc::new(variables(&routine, &call.types)));
    ctx.parameter_types = call.types.clone().into();
    ctx.parameters = call.arguments.into();
    check_commands(&ctx, &routine, &statements)?;
    let place = CallPlace::new(
        format!("SQL function \"{}\"", routine.name).into(),
        ctx.place.take(),
    );
    ctx.place = Some(Arc::clone(&place));
    let mut rows = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        let in_function = |error: Error| {
            error
                .without_place()
                .within(format!("SQL function \"{}\" statement {}", routine.name, at + 1))
        };
        let gives_rows = at + 1 == statements.len() && routine.returns != RoutineResult::Void;
        ctx.rows_wanted = (gives_rows && !routine.returns_set).then_some(1);
        place.go_to(Step::Nth(at + 1));
        let ran = run_statement(&mut ctx, statement).await.map_err(in_function)?;
        let taken = match gives_rows {
            true => take_rows(&ctx, &routine, ran, wanted.as_deref()).await,
            false => pass_rows(ran).await.map(|()| Vec::new()),
        };
        rows = taken.map_err(in_function)?;
    }
    if routine.returns == RoutineResult::Void && !routine.returns_set {
        rows = vec![vec![Value::Null]];
    }
    Ok(rows)
}

/// What PostgreSQL calls the first of them that begins or ends a transaction.
fn transaction_tag(statements: &[Arc<Statement>]) -> Option<&'static str> {
    let mut commands = statements
        .iter()
        .filter_map(|statement| statement.parsed.command.as_ref());
    commands.find_map(Command::transaction_tag)
}

/// Errors: 0A000 for what begins or ends transactions, and for what does more than read where the function is not VOLATILE.
fn check_commands(ctx: &StatementContext, routine: &RoutineDef, statements: &[Arc<Statement>]) -> Result<()> {
    let checked = match transaction_tag(statements) {
        None => statements
            .iter()
            .try_for_each(|statement| require_reading(ctx, &statement.parsed)),
        Some(tag) => Err(Raised::new("0A000", format!("{tag} is not allowed in an SQL function")).into()),
    };
    checked.map_err(|error: Error| error.within(format!("SQL function \"{}\" during startup", routine.name)))
}

/// Has all rows computed, which nobody wants.
async fn pass_rows(mut ran: Ran) -> Result<()> {
    while ran.rows.next().await?.is_some() {}
    Ok(())
}

/// The rows of the last statement, of the types that the function declares.
async fn take_rows(
    ctx: &StatementContext,
    routine: &RoutineDef,
    mut ran: Ran,
    wanted: Option<&[SqlType]>,
) -> Result<Vec<Vec<Value>>> {
    let row_type = row_of_one_column(routine, &ran.columns);
    let found: Vec<SqlType> = match &row_type {
        Some(row) => row.fields.iter().map(|field| field.ty.clone()).collect(),
        None => ran.columns.iter().map(|column| column.ty.clone()).collect(),
    };
    if let Some(wanted) = wanted.filter(|wanted| wanted.len() != found.len()) {
        let detail = match found.len() {
            0 => "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
            found if found > wanted.len() => "Final statement returns too many columns.",
            _ => "Final statement returns too few columns.",
        };
        return Err(wrong_result(routine, detail));
    }
    let mut rows = Vec::new();
    while let Some(row) = ran.rows.next().await? {
        let row = match (row.as_slice(), &row_type) {
            ([Value::Record(values)], Some(_)) => values.clone(),
            // NULL is a row of no values.
            (_, Some(_)) => Vec::new(),
            _ => row,
        };
        let mut values = Vec::with_capacity(row.len());
        for (at, (value, from)) in row.into_iter().zip(&found).enumerate() {
            values.push(match wanted.and_then(|wanted| wanted.get(at)) {
                Some(ty) => assigned(ctx, value, from, ty)?,
                None => value,
            });
        }
        ctx.memory.hold(VALUE_BYTES * values.len())?;
        rows.push(values);
        if !routine.returns_set {
            break;
        }
    }
    Ok(rows)
}

/// The type of the rows that the only column of a statement holds, where the function gives rows.
fn row_of_one_column(routine: &RoutineDef, columns: &[OutputColumn]) -> Option<Arc<RecordType>> {
    match columns {
        [only] if routine.returns.is_row() => only.ty.record_type().cloned(),
        _ => None,
    }
}

/// The statements of a body, each with the plan that it keeps.
fn statements(routine: &RoutineDef) -> Result<Arc<Vec<Arc<Statement>>>> {
    routine.compiled.get_or(|| {
        let body = RoutineBody::of(routine)?;
        let statements = body.statements.iter().cloned();
        Ok(statements
            .map(|parsed| Arc::new(Statement::new(parsed)))
            .collect())
    })
}

/// The names of the arguments.
fn variables(routine: &RoutineDef, types: &[SqlType]) -> Variables {
    let inputs = routine.inputs().enumerate().zip(types);
    let named = inputs.filter_map(|((at, input), ty)| {
        Some(Variable {
            qualifiers: vec![routine.name.clone()],
            record: None,
            name: input.name.clone()?,
            parameter: at + 1,
            ty: ty.clone(),
        })
    });
    Variables {
        all: named.collect(),
        conflict: NameConflict::Column,
    }
}

/// Errors: those of binding the statements of a function that is made, and 42P13 for a result of another type.
pub(in crate::sql) async fn check_sql_body(ctx: &StatementContext, routine: &RoutineDef) -> Result<()> {
    let types: Option<Vec<SqlType>> = routine
        .inputs()
        .map(|input| match &input.ty {
            RoutineType::Polymorphic(_) => None,
            ty => concrete_type(ctx, ty, None).ok(),
        })
        .collect();
    let Some(types) = types else {
        // Each call decides the types, and binds the body.
        return RoutineBody::of(routine).map(drop);
    };
    let inner = StatementContext {
        variables: Some(Arc::new(variables(routine, &types))),
        ..inner_context(ctx)
    };
    let statements = statements(routine)?;
    if routine.body_kind == BodyKind::Atomic
        && let Some(tag) = transaction_tag(&statements)
    {
        let message = format!("{tag} is not yet supported in unquoted SQL function body");
        return Err(Raised::new("0A000", message).into());
    }
    let mut last: Option<Arc<[OutputColumn]>> = None;
    for statement in statements.iter() {
        let given = types.iter().cloned().map(Some).collect::<Vec<_>>();
        if parameters::count(&statement.parsed.ast)? > given.len() {
            let undefined = format!("there is no parameter ${}", given.len() + 1);
            return Err(Error::InvalidStatement {
                state: crate::error::StatementFault::UndefinedParameter,
                message: undefined,
                hint: None,
            });
        }
        last = match &statement.parsed.command {
            Some(_) => None,
            None => {
                // The hints of a statement are its own, not those of CREATE FUNCTION.
                let inner = StatementContext {
                    hints: statement.parsed.hints.clone(),
                    ..inner.clone()
                };
                let described = Box::pin(describe_here(&inner, statement, &given)).await;
                described.map_err(Error::without_place)?.columns
            }
        };
    }
    check_result(ctx, routine, &types, last.as_deref())
        .map_err(|error| error.within(format!("SQL function \"{}\"", routine.name)))
}

/// Errors: 42P13 where the last statement gives something else than the function declares.
fn check_result(
    ctx: &StatementContext,
    routine: &RoutineDef,
    types: &[SqlType],
    columns: Option<&[OutputColumn]>,
) -> Result<()> {
    let call = RoutineCall {
        trigger: None,
        routine: Arc::new(routine.clone()),
        arguments: Vec::new(),
        types: types.to_vec(),
        returns: Vec::new(),
    };
    let Some(wanted) = returned_types(ctx, &call) else {
        return Ok(());
    };
    let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
        return Err(wrong_result(
            routine,
            "Function's final statement must be SELECT or INSERT/UPDATE/DELETE RETURNING.",
        ));
    };
    let found: Vec<SqlType> = match row_of_one_column(routine, columns) {
        Some(row) => row.fields.iter().map(|field| field.ty.clone()).collect(),
        // Objects leave a query as their names.
        None => columns
            .iter()
            .map(|column| column.decided_type().object_type())
            .collect(),
    };
    if found.len() != wanted.len() {
        let detail = match (wanted.len(), found.len() > wanted.len()) {
            (1, _) => "Final statement must return exactly one column.",
            (_, true) => "Final statement returns too many columns.",
            (_, false) => "Final statement returns too few columns.",
        };
        return Err(wrong_result(routine, detail));
    }
    for (at, (found, ty)) in found.iter().zip(&wanted).enumerate() {
        if *found != SqlType::Unknown && found != ty && !crate::query::is_assignable(found, ty) {
            let detail = match wanted.len() {
                1 => format!("Actual return type is {found}."),
                _ => format!(
                    "Final statement returns {found} instead of {ty} at column {}.",
                    at + 1
                ),
            };
            return Err(wrong_result(routine, &detail));
        }
    }
    Ok(())
}
