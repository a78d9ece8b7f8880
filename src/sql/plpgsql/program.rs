//! `Program`: a body that is read, with the statements that its fragments have become, for all its runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::name_in_context;
use super::prepared::Prepared;
use crate::Error;
use crate::Result;
use crate::catalog::{RoutineDef, RoutineResult};
use crate::error::{Raised, StatementFault};
use crate::parse::plpgsql;
use crate::parse::plpgsql::tree::{
    Block, Body, DeclarationKind, Direction, Fragment, Kind, OpenSource, Source, Statement,
};
use crate::system::StatementContext;

/// A body, ready to run.
#[derive(Debug)]
pub(in crate::sql) struct Program {
    pub(super) body: Body,
    /// As CONTEXT names it.
    pub(super) title: Arc<str>,
    /// What fragments have become, by where they stand in memory.
    prepared: Mutex<HashMap<usize, Arc<Prepared>>>,
}

/// What is around a statement while a body is checked.
#[derive(Clone, Default)]
struct Around {
    loops: Vec<Option<String>>,
    blocks: Vec<String>,
}

impl Program {
    /// That of a function, read once.
    pub(super) fn of(routine: &RoutineDef) -> Result<Arc<Program>> {
        routine
            .compiled
            .get_or(|| Program::read(&routine.body, Some(routine)))
    }

    /// Reads a body. Errors: 42601, 42804, 0A000.
    pub(super) fn read(text: &str, routine: Option<&RoutineDef>) -> Result<Program> {
        let body = plpgsql::read(text)?;
        let checks = Checks { routine };
        checks.block(&body.block, &Around::default())?;
        check_syntax_of_block(&body.block)?;
        let name = match routine {
            Some(routine) => name_in_context(routine),
            None => "inline_code_block".to_string(),
        };
        Ok(Program {
            body,
            title: format!("PL/pgSQL function {name}").into(),
            prepared: Mutex::default(),
        })
    }

    /// What a fragment has become, made where it has not yet. `text` stands where the body keeps it.
    pub(super) fn prepared(&self, text: &str, make: impl FnOnce() -> Prepared) -> Arc<Prepared> {
        let place = text.as_ptr() as usize;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = prepared.entry(place).or_insert_with(|| Arc::new(make()));
        Arc::clone(known)
    }

    /// Errors: those of the types of its variables, and of the syntax of its fragments.
    pub(super) fn check(&self, ctx: &StatementContext) -> Result<()> {
        check_types(ctx, &self.body.block)
    }
}

fn check_types(ctx: &StatementContext, block: &Block) -> Result<()> {
    for declaration in &block.declarations {
        if let DeclarationKind::Variable { ty, .. } = &declaration.kind {
            super::variable::check_type(ctx, ty)?;
        }
    }
    each_block(&block.statements, &mut |inner| check_types(ctx, inner))?;
    block
        .handlers
        .iter()
        .try_for_each(|handler| each_block(&handler.statements, &mut |inner| check_types(ctx, inner)))
}

/// Whether one of them may end the transaction.
pub(super) fn end_transactions(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.kind {
        Kind::EndTransaction { .. } | Kind::Call(_) => true,
        Kind::Block(inner) => {
            let mut handlers = inner.handlers.iter();
            end_transactions(&inner.statements)
                || handlers.any(|handler| end_transactions(&handler.statements))
        }
        kind => bodies(kind).into_iter().any(end_transactions),
    })
}

/// Calls `visit` with every block in these statements.
fn each_block(statements: &[Statement], visit: &mut dyn FnMut(&Block) -> Result<()>) -> Result<()> {
    for statement in statements {
        match &statement.kind {
            Kind::Block(block) => visit(block)?,
            kind => {
                for body in bodies(kind) {
                    each_block(body, visit)?;
                }
            }
        }
    }
    Ok(())
}

/// The statements that a statement holds, but for those of a block.
fn bodies(kind: &Kind) -> Vec<&[Statement]> {
    match kind {
        Kind::If { branches, otherwise } => {
            let branches = branches.iter().map(|(_, body)| body.as_slice());
            branches.chain([otherwise.as_slice()]).collect()
        }
        Kind::Case {
            branches, otherwise, ..
        } => {
            let branches = branches.iter().map(|(_, body)| body.as_slice());
            branches.chain(otherwise.as_deref()).collect()
        }
        Kind::Loop { body, .. }
        | Kind::While { body, .. }
        | Kind::ForInteger { body, .. }
        | Kind::ForRows { body, .. }
        | Kind::ForEach { body, .. } => vec![body],
        _ => Vec::new(),
    }
}

/// Errors: 42601 for the first expression or statement in a block that does not read.
fn check_syntax_of_block(block: &Block) -> Result<()> {
    for declaration in &block.declarations {
        match &declaration.kind {
            DeclarationKind::Variable {
                default: Some(default),
                ..
            } => check_expression(default)?,
            DeclarationKind::Cursor { query, .. } => check_statement(&query.text)?,
            _ => {}
        }
    }
    check_syntax(&block.statements)?;
    block
        .handlers
        .iter()
        .try_for_each(|handler| check_syntax(&handler.statements))
}

fn check_syntax(statements: &[Statement]) -> Result<()> {
    for statement in statements {
        let kind = &statement.kind;
        if let Kind::Block(block) = kind {
            check_syntax_of_block(block)?;
            continue;
        }
        for (is_statement, fragment) in fragments(kind) {
            match is_statement {
                true => check_statement(&fragment.text)?,
                false => check_expression(fragment)?,
            }
        }
        if let Kind::Sql { text, .. } = kind {
            check_statement(text)?;
        }
        bodies(kind).into_iter().try_for_each(check_syntax)?;
    }
    Ok(())
}

fn check_expression(fragment: &Fragment) -> Result<()> {
    check_statement(&format!("SELECT {}", fragment.text))
}

fn check_statement(text: &str) -> Result<()> {
    // The place in the fragment says nothing of the place in the body.
    let read = super::prepared::only_statement(text);
    match read.map_err(Error::without_place) {
        // It may never be run, and a handler may be there for it.
        Err(Error::FeatureNotSupported { .. }) => Ok(()),
        read => read.map(drop),
    }
}

fn fragments_of_source(source: &Source) -> Vec<(bool, &Fragment)> {
    match source {
        Source::Query(query) => vec![(true, query)],
        Source::Dynamic { text, using } => std::iter::once(text)
            .chain(using)
            .map(|part| (false, part))
            .collect(),
        Source::Cursor { arguments, .. } => arguments.iter().map(|part| (false, part)).collect(),
    }
}

/// The fragments of a statement, those of others in it left out, and whether each is a whole statement.
fn fragments(kind: &Kind) -> Vec<(bool, &Fragment)> {
    match kind {
        Kind::Assign { value, .. } => vec![(false, value)],
        Kind::If { branches, .. } => branches.iter().map(|(condition, _)| (false, condition)).collect(),
        Kind::Case {
            operand, branches, ..
        } => {
            let operand = operand.iter().map(|(_, operand)| operand);
            let conditions = branches.iter().map(|(condition, _)| condition);
            operand.chain(conditions).map(|part| (false, part)).collect()
        }
        Kind::While { condition, .. } => vec![(false, condition)],
        Kind::ForInteger { from, to, step, .. } => [from, to]
            .into_iter()
            .chain(step)
            .map(|part| (false, part))
            .collect(),
        Kind::ForRows { source, .. } | Kind::ReturnQuery(source) => fragments_of_source(source),
        Kind::ForEach { array, .. } => vec![(false, array)],
        Kind::Leave { when, .. } => when.iter().map(|part| (false, part)).collect(),
        Kind::Raise(raise) => {
            let options = raise.options.iter().map(|(_, value)| value);
            raise
                .arguments
                .iter()
                .chain(options)
                .map(|part| (false, part))
                .collect()
        }
        Kind::Assert { condition, message } => std::iter::once(condition)
            .chain(message)
            .map(|part| (false, part))
            .collect(),
        Kind::Perform(query) => vec![(false, query)],
        Kind::Call(call) => vec![(true, call)],
        Kind::Execute { text, using, .. } => std::iter::once(text)
            .chain(using)
            .map(|part| (false, part))
            .collect(),
        // A row in parentheses is no select list.
        Kind::Return(_) | Kind::ReturnNext(_) => Vec::new(),
        Kind::Open { source, .. } => match source {
            OpenSource::Query(query) => vec![(true, query)],
            OpenSource::Dynamic { text, using } => std::iter::once(text)
                .chain(using)
                .map(|part| (false, part))
                .collect(),
            OpenSource::Bound(arguments) => {
                let values = arguments.iter().map(|argument| &argument.value);
                values.map(|part| (false, part)).collect()
            }
        },
        Kind::Fetch { direction, .. } | Kind::Move { direction, .. } => match direction {
            Direction::Absolute(count)
            | Direction::Relative(count)
            | Direction::Forward(Some(count))
            | Direction::Backward(Some(count)) => vec![(false, count)],
            _ => Vec::new(),
        },
        Kind::Block(_)
        | Kind::Loop { .. }
        | Kind::Sql { .. }
        | Kind::EndTransaction { .. }
        | Kind::Diagnostics { .. }
        | Kind::Close { .. }
        | Kind::Null => Vec::new(),
    }
}

/// What of a body can be told to be wrong before it runs.
struct Checks<'a> {
    routine: Option<&'a RoutineDef>,
}

impl Checks<'_> {
    fn block(&self, block: &Block, around: &Around) -> Result<()> {
        let mut around = around.clone();
        around.blocks.extend(block.label.clone());
        check_declarations(block)?;
        self.statements(&block.statements, &around)?;
        let mut handlers = block.handlers.iter();
        handlers.try_for_each(|handler| self.statements(&handler.statements, &around))
    }

    fn statements(&self, statements: &[Statement], around: &Around) -> Result<()> {
        statements
            .iter()
            .try_for_each(|statement| self.statement(&statement.kind, around))
    }

    fn statement(&self, kind: &Kind, around: &Around) -> Result<()> {
        match kind {
            Kind::Block(block) => return self.block(block, around),
            Kind::Leave {
                label, is_continue, ..
            } => check_label(label.as_ref(), *is_continue, around)?,
            Kind::Return(value) => self.check_return(value.is_some())?,
            Kind::ReturnNext(value) => self.check_next(value.is_some())?,
            Kind::ReturnQuery(_) if !self.gives_set() => {
                return Err(mismatch("cannot use RETURN QUERY in a non-SETOF function"));
            }
            _ => {}
        }
        let mut inner = around.clone();
        if let Kind::Loop { label, .. }
        | Kind::While { label, .. }
        | Kind::ForInteger { label, .. }
        | Kind::ForRows { label, .. }
        | Kind::ForEach { label, .. } = kind
        {
            inner.loops.push(label.clone());
        }
        let mut bodies = bodies(kind).into_iter();
        bodies.try_for_each(|body| self.statements(body, &inner))
    }

    fn gives_set(&self) -> bool {
        self.routine.is_some_and(|routine| routine.returns_set)
    }

    fn has_outputs(&self) -> bool {
        self.routine
            .is_some_and(|routine| routine.outputs().next().is_some())
    }

    fn check_return(&self, has_value: bool) -> Result<()> {
        let is_void = self
            .routine
            .is_none_or(|routine| routine.returns == RoutineResult::Void);
        if has_value && self.gives_set() {
            return Err(Raised {
                hint: Some("Use RETURN NEXT or RETURN QUERY.".to_string()),
                ..Raised::new(
                    "42804",
                    "RETURN cannot have a parameter in function returning set",
                )
            }
            .into());
        }
        if has_value && self.has_outputs() {
            return Err(mismatch(
                "RETURN cannot have a parameter in function with OUT parameters",
            ));
        }
        if has_value && is_void {
            return Err(mismatch(match self.routine.map(|routine| routine.kind) {
                Some(crate::catalog::RoutineKind::Procedure) => {
                    "RETURN cannot have a parameter in a procedure"
                }
                _ => "RETURN cannot have a parameter in function returning void",
            }));
        }
        if !has_value && !is_void && !self.gives_set() && !self.has_outputs() {
            return Err(Error::Syntax {
                message: "missing expression at or near \";\"".to_string(),
                position: 0,
            });
        }
        Ok(())
    }

    fn check_next(&self, has_value: bool) -> Result<()> {
        if !self.gives_set() {
            return Err(mismatch("cannot use RETURN NEXT in a non-SETOF function"));
        }
        match (has_value, self.has_outputs()) {
            (true, true) => Err(mismatch(
                "RETURN NEXT cannot have a parameter in function with OUT parameters",
            )),
            (false, false) => Err(Error::Syntax {
                message: "missing expression at or near \";\"".to_string(),
                position: 0,
            }),
            _ => Ok(()),
        }
    }
}

/// Errors: 42601 for a name twice; 22004 for a variable that must not be NULL and is.
fn check_declarations(block: &Block) -> Result<()> {
    for (at, declaration) in block.declarations.iter().enumerate() {
        let name = &declaration.name;
        if block.declarations[..at].iter().any(|other| other.name == *name) {
            return Err(fault(&format!("duplicate declaration at or near \"{name}\"")));
        }
        if let DeclarationKind::Variable {
            not_null: true,
            default: None,
            ..
        } = &declaration.kind
        {
            let message =
                format!("variable \"{name}\" must have a default value, since it's declared NOT NULL");
            return Err(Raised::new("22004", message).into());
        }
    }
    Ok(())
}

fn check_label(label: Option<&String>, is_continue: bool, around: &Around) -> Result<()> {
    let Some(label) = label else {
        return match around.loops.is_empty() {
            true if is_continue => Err(fault("CONTINUE cannot be used outside a loop")),
            true => Err(fault("EXIT cannot be used outside a loop, unless it has a label")),
            false => Ok(()),
        };
    };
    if around.loops.contains(&Some(label.clone())) {
        return Ok(());
    }
    match around.blocks.contains(label) {
        true if is_continue => Err(fault(&format!(
            "block label \"{label}\" cannot be used in CONTINUE"
        ))),
        true => Ok(()),
        false => Err(fault(&format!(
            "there is no label \"{label}\" attached to any block or loop enclosing this statement"
        ))),
    }
}

fn fault(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

fn mismatch(message: &str) -> Error {
    Error::DatatypeMismatch {
        message: message.to_string(),
        hint: None,
    }
}
