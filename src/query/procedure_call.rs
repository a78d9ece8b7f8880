//! CALL: which procedure is meant, and the one row of its arguments.

use std::sync::Arc;

use sqlparser::ast;

use super::PlannedQuery;
use super::binder::{Binder, Clause, Place, name_parts};
use super::cell::one_row;
use super::routine_call::described;
use super::scope::Scope;
use super::select_item::BoundItem;
use crate::catalog::{ArgumentMode, RoutineDef, RoutineKind};
use crate::error::{Raised, StatementFault};
use crate::system::StatementContext;
use crate::tree::Expr;
use crate::types::SqlType;
use crate::{Error, Result};

/// The procedure that CALL names, and the query that gives its arguments, those of OUT among them. Errors: 42883, 42809.
pub(crate) fn plan_procedure_call(
    ctx: &StatementContext,
    function: &ast::Function,
    parameters: &[Option<SqlType>],
) -> Result<(Arc<RoutineDef>, PlannedQuery)> {
    let mut binder = Binder::new(ctx, parameters);
    let bound = binder.procedure(function);
    let (routine, items) = bound.map_err(|error| binder.at_its_place(error))?;
    Ok((routine, one_row(binder, items)?))
}

/// Of each argument of a CALL that its procedure gives back which parameter it is, `$1` being 1. Errors: 42601 for one that is none; those of
/// [`plan_procedure_call`].
pub(crate) fn procedure_outputs(
    ctx: &StatementContext,
    function: &ast::Function,
    parameters: &[Option<SqlType>],
) -> Result<Vec<usize>> {
    let mut binder = Binder::new(ctx, parameters);
    let bound = binder.procedure(function);
    let (routine, items) = bound.map_err(|error| binder.at_its_place(error))?;
    let written = routine.arguments.iter();
    let written = written.filter(|argument| argument.mode != ArgumentMode::Table);
    let given = written.zip(&items).enumerate();
    let outputs = given.filter(|(_, (argument, _))| argument.mode.is_output());
    let parameters = outputs.map(|(at, (argument, item))| {
        let given = match argument.mode {
            // It is not what the procedure takes.
            ArgumentMode::Out => without_conversion(&item.bound.expr),
            _ => &item.bound.expr,
        };
        parameter_number(given).ok_or_else(|| not_writable(at, argument.name.as_deref()))
    });
    parameters.collect()
}

/// The number of the parameter that an expression is.
fn parameter_number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Placeholder(placeholder) => placeholder.id.strip_prefix('$')?.parse().ok(),
        _ => None,
    }
}

fn without_conversion(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) => without_conversion(&cast.expr),
        other => other,
    }
}

fn not_writable(at: usize, name: Option<&str>) -> Error {
    let argument = match name {
        Some(name) => format!("\"{name}\""),
        None => (at + 1).to_string(),
    };
    let message = format!(
        "procedure parameter {argument} is an output parameter but corresponding argument is not writable"
    );
    Raised {
        hint: Some("Give a variable for it.".to_string()),
        ..Raised::new("42601", message)
    }
    .into()
}

impl Binder<'_> {
    fn procedure(&mut self, function: &ast::Function) -> Result<(Arc<RoutineDef>, Vec<BoundItem>)> {
        let mut parts = name_parts(&function.name)?;
        let name = parts.pop().unwrap_or_default();
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer: None,
            clause: Clause::Select,
            windows: &[],
        };
        let call = self.call_arguments(&function.args, place)?;
        let found = self.routines_named(parts.last().map(String::as_str), &name);
        // Of a procedure the arguments of OUT are written, too.
        let procedures = found.iter().map(|routine| match routine.kind {
            RoutineKind::Function | RoutineKind::Aggregate => Arc::clone(routine),
            RoutineKind::Procedure => {
                let mut written = RoutineDef::clone(routine);
                for argument in &mut written.arguments {
                    if argument.mode == ArgumentMode::Out {
                        argument.mode = ArgumentMode::InOut;
                    }
                }
                Arc::new(written)
            }
        });
        let chosen = match self.chosen_routine(&name, procedures.collect(), &call, false) {
            Err(Error::UndefinedFunction { signature, hint }) => {
                return Err(Error::InvalidStatement {
                    state: StatementFault::UndefinedRoutine,
                    message: format!("procedure {signature} does not exist"),
                    hint: hint.map(|hint| hint.replace("function", "procedure")),
                });
            }
            chosen => chosen?,
        };
        let Some(chosen) = chosen else {
            return Err(Error::undefined_function(format!("{name}()")));
        };
        if chosen.routine.kind != RoutineKind::Procedure {
            return Err(Error::InvalidStatement {
                state: StatementFault::WrongObjectType,
                message: format!("{} is not a procedure", described(&chosen.routine)),
                hint: Some("To call a function, use SELECT.".to_string()),
            });
        }
        let routine = found
            .into_iter()
            .find(|routine| routine.oid == chosen.routine.oid);
        let routine = routine.ok_or_else(|| Error::internal("a procedure that was not found"))?;
        let items = chosen.arguments.into_iter().map(|bound| BoundItem {
            name: "argument".to_string(),
            bound,
        });
        Ok((routine, items.collect()))
    }
}
