//! `Frame`: one run of a body: its variables and their names, what it has given so far, the errors that it handles.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::program::Program;
use super::variable::{Holder, Name, Variable};
use crate::catalog::{ArgumentMode, RoutineDef, RoutineResult, RoutineType};
use crate::error::Raised;
use crate::parse::plpgsql::tree::{Block, VariableConflict};
use crate::query;
use crate::sql::Statement;
use crate::sql::routine_run::{element_of, returned_types};
use crate::system::{CallPlace, RoutineCall, StatementContext, Step};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Where a statement leads.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Flow {
    /// To the next.
    Next,
    /// Out of a loop or block, or to its next round.
    Leave {
        is_continue: bool,
        label: Option<String>,
    },
    /// Out of the function.
    Return,
}

/// One run.
pub(super) struct Frame {
    pub(super) ctx: StatementContext,
    pub(super) program: Arc<Program>,
    pub(super) routine: Option<Arc<RoutineDef>>,
    /// The types of the call's arguments.
    pub(super) types: Vec<SqlType>,
    /// The types of the columns of the result, where these are known.
    pub(super) wanted: Option<Vec<SqlType>>,
    pub(super) variables: Vec<Variable>,
    /// Names in sight, the innermost last.
    pub(super) names: Vec<Name>,
    /// The variables that arguments are, in their order.
    pub(super) inputs: Vec<usize>,
    /// Those of OUT.
    pub(super) outputs: Vec<usize>,
    pub(super) found: usize,
    pub(super) row_count: i64,
    /// What it gives.
    pub(super) rows: VecDeque<Vec<Value>>,
    /// RETURN's value.
    pub(super) returned: Option<Vec<Value>>,
    /// Errors that handlers are at, the innermost last.
    pub(super) handled: Vec<Error>,
    /// How many transactions had been ended when it entered the one at hand.
    pub(super) transactions_seen: u64,
    /// Casts to the domains of its variables.
    pub(super) domain_casts: HashMap<u32, Arc<Statement>>,
    /// Whether it is a trigger's function and what it gives is of no meaning.
    pub(super) fired_after: bool,
    /// Whether the error on its way says where it was met.
    pub(super) is_located: bool,
}

impl Frame {
    /// Of the code of a DO, or of a function without its arguments.
    pub(super) fn of_block(mut ctx: StatementContext, program: Arc<Program>) -> Frame {
        ctx.place = Some(CallPlace::new(Arc::clone(&program.title), ctx.place.take()));
        let control = ctx.transaction_control.as_ref();
        let mut frame = Frame {
            transactions_seen: control.map_or(0, |control| control.ended()),
            ctx,
            program,
            routine: None,
            types: Vec::new(),
            wanted: None,
            variables: Vec::new(),
            names: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            found: 0,
            row_count: 0,
            rows: VecDeque::new(),
            returned: None,
            handled: Vec::new(),
            domain_casts: HashMap::new(),
            fired_after: false,
            is_located: false,
        };
        frame.found = frame.declare(
            "found",
            None,
            Variable::of(Holder::Scalar {
                ty: SqlType::Bool,
                value: Value::Bool(false),
            }),
        );
        frame
    }

    /// Of a call.
    pub(super) fn of_call(ctx: StatementContext, call: &RoutineCall, program: Arc<Program>) -> Result<Frame> {
        let wanted = returned_types(&ctx, call);
        let routine = Arc::clone(&call.routine);
        let mut frame = Frame {
            wanted,
            types: call.types.clone(),
            ..Frame::of_block(ctx, program)
        };
        let mut given = call.arguments.iter().zip(&call.types);
        for argument in &routine.arguments {
            let (ty, value) = match argument.mode.is_input() {
                true => match given.next() {
                    Some((value, ty)) => (ty.clone(), value.clone()),
                    None => return Err(Error::internal("an argument that was not given")),
                },
                false => (frame.output_type(&routine, &argument.ty), Value::Null),
            };
            let at = frame.variables.len();
            frame.variables.push(Variable {
                domain: argument.ty.domain().cloned(),
                ..Variable::of(Holder::new(ty, value))
            });
            if argument.mode.is_input() {
                frame.inputs.push(at);
            }
            if argument.mode.is_output() {
                frame.outputs.push(at);
            }
            if let Some(name) = &argument.name {
                frame.names.push(Name {
                    name: name.clone(),
                    qualifier: Some(routine.name.clone()),
                    at,
                });
            }
            // $1 counts all but the columns of RETURNS TABLE.
            if argument.mode != ArgumentMode::Table {
                let number = frame
                    .names
                    .iter()
                    .filter(|name| name.name.starts_with('$'))
                    .count()
                    + 1;
                frame.names.push(Name {
                    name: format!("${number}"),
                    qualifier: None,
                    at,
                });
            }
        }
        if let Some(trigger) = &call.trigger {
            frame.declare_trigger(trigger);
        }
        frame.routine = Some(routine);
        Ok(frame)
    }

    fn output_type(&self, routine: &RoutineDef, ty: &RoutineType) -> SqlType {
        let element = element_of(routine, &self.types);
        query::concrete_type(&self.ctx, ty, element.as_ref()).unwrap_or(SqlType::Text)
    }

    /// Adds a variable with its name; answers its place.
    pub(super) fn declare(&mut self, name: &str, qualifier: Option<&String>, variable: Variable) -> usize {
        let at = self.variables.len();
        self.variables.push(variable);
        self.names.push(Name {
            name: name.to_string(),
            qualifier: qualifier.cloned(),
            at,
        });
        at
    }

    /// What a name means that conflicts with a column.
    pub(super) fn conflict(&self) -> crate::system::NameConflict {
        match self.program.body.conflict {
            VariableConflict::Error => crate::system::NameConflict::Error,
            VariableConflict::UseVariable => crate::system::NameConflict::Variable,
            VariableConflict::UseColumn => crate::system::NameConflict::Column,
        }
    }

    /// The variable that these names mean, and the field of it. Errors: 42601 for no variable.
    pub(super) fn resolve(&self, parts: &[String]) -> Result<(usize, Option<String>)> {
        let find = |qualifier: Option<&String>, name: &String| {
            let mut names = self.names.iter().rev();
            names
                .find(|known| {
                    known.name == *name && (qualifier.is_none() || known.qualifier.as_ref() == qualifier)
                })
                .map(|known| known.at)
        };
        let found = match parts {
            [name] => find(None, name).map(|at| (at, None)),
            [first, second] => match find(None, first) {
                Some(at) if !matches!(self.variables[at].holder, Holder::Scalar { .. }) => {
                    Some((at, Some(second.clone())))
                }
                _ => find(Some(first), second).map(|at| (at, None)),
            },
            [qualifier, name, field] => find(Some(qualifier), name).map(|at| (at, Some(field.clone()))),
            _ => None,
        };
        found.ok_or_else(|| Error::Syntax {
            message: format!("\"{}\" is not a known variable", parts.join(".")),
            position: 0,
        })
    }

    /// Runs the body; answers its rows.
    pub(super) async fn run(&mut self) -> Result<Vec<Vec<Value>>> {
        let program = Arc::clone(&self.program);
        let block: &Block = &program.body.block;
        let flow = self.block(block, block.line).await?;
        let routine = self.routine.clone();
        let Some(routine) = routine else {
            return Ok(Vec::new());
        };
        if routine.returns_set {
            return Ok(std::mem::take(&mut self.rows).into());
        }
        if !self.outputs.is_empty() {
            return Ok(vec![self.output_row()]);
        }
        match (&routine.returns, flow) {
            // A row, or none.
            (RoutineResult::Trigger, Flow::Return) => Ok(self
                .returned
                .take()
                .filter(|row| !row.is_empty())
                .into_iter()
                .collect()),
            (RoutineResult::Trigger, _) => {
                Err(self.no_return("control reached end of trigger procedure without RETURN"))
            }
            (RoutineResult::Void, _) => Ok(vec![vec![Value::Text(String::new())]]),
            (_, Flow::Return) => Ok(vec![self.returned.take().unwrap_or_default()]),
            _ => Err(self.no_return("control reached end of function without RETURN")),
        }
    }

    fn no_return(&self, message: &str) -> Error {
        Error::from(Raised::new("2F005", message)).within(self.program.title.to_string())
    }

    /// The values of OUT.
    pub(super) fn output_row(&self) -> Vec<Value> {
        let value = |at: &usize| {
            self.variables[*at]
                .holder
                .whole()
                .map_or(Value::Null, |(value, _)| value)
        };
        self.outputs.iter().map(value).collect()
    }

    /// Goes to a statement of the body; answers where it was.
    pub(super) fn go_to(&self, step: Step) -> Step {
        let place = self.ctx.place.as_ref();
        place.map_or(Step::Before, |place| {
            place.runs(None);
            place.go_to(step)
        })
    }

    /// Says what statement of SQL is run where it is.
    pub(super) fn runs(&self, text: &str) {
        if let Some(place) = &self.ctx.place {
            place.runs(Some(text.into()));
        }
    }

    pub(super) fn set_found(&mut self, found: bool) {
        if let Holder::Scalar { value, .. } = &mut self.variables[self.found].holder {
            *value = Value::Bool(found);
        }
    }

    /// A round of a loop: whoever wants to stop the statement can. Errors: 57014.
    pub(super) async fn pause(&self) -> Result<()> {
        crate::system::query_threads::check_left()?;
        self.ctx.session.interrupt.check()?;
        tokio::task::consume_budget().await;
        Ok(())
    }
}
