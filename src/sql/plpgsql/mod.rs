//! PL/pgSQL run: a body's statements one by one, its expressions and statements by the engine that everybody asks, with the variables as
//! parameters. Called by `routine`; what a body says was read by `parse::plpgsql`.

mod cursors;
mod diagnostics;
mod domains;
mod flow;
mod fragment;
mod frame;
mod handlers;
mod prepared;
mod program;
mod raise;
mod returned;
mod rows;
mod sight;
mod transactions;
mod trigger;
mod variable;
mod words;

use std::sync::Arc;

use crate::Result;
use crate::catalog::RoutineDef;
use crate::query::described_routine;
use crate::system::{RoutineCall, StatementContext};
use crate::types::Value;
use frame::Frame;
pub(super) use program::Program;
pub(super) use variable::type_of;

/// Runs a function or procedure. Errors: its statements', with a CONTEXT that says where.
pub(super) async fn call(ctx: StatementContext, call: RoutineCall) -> Result<Vec<Vec<Value>>> {
    let program = Program::of(&call.routine)?;
    let mut frame = Frame::of_call(ctx, &call, Arc::clone(&program))?;
    frame.run().await
}

/// Runs the code of a DO.
pub(super) async fn run_block(ctx: StatementContext, code: &str) -> Result<()> {
    let program = Arc::new(Program::read(code, None)?);
    let mut frame = Frame::of_block(ctx, program);
    frame.run().await.map(drop)
}

/// Errors: 42601, 0A000 for what a body says that is not there; those of its variables.
pub(super) fn check_body(ctx: &StatementContext, routine: &RoutineDef) -> Result<()> {
    let program = Program::read(&routine.body, Some(routine))?;
    program.check(ctx)
}

/// As CONTEXT names a function.
fn name_in_context(routine: &RoutineDef) -> String {
    let described = described_routine(routine);
    described.replace(", ", ",")
}
