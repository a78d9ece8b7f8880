//! `WindowClauses`: the clauses of one window, with those of the window that it extends. Called by `window`.

use sqlparser::ast;

use super::binder::{fault, fold};
use crate::error::StatementFault;
use crate::parse::window_frame;
use crate::{Error, Result};

/// What OVER, or a definition of WINDOW, says in the end.
#[derive(Debug, Clone)]
pub(super) struct WindowClauses<'a> {
    pub(super) partition_by: &'a [ast::Expr],
    pub(super) order_by: &'a [ast::OrderByExpr],
    pub(super) frame: Option<&'a ast::WindowFrame>,
    /// The word of EXCLUDE.
    pub(super) exclusion: Option<String>,
}

impl<'a> WindowClauses<'a> {
    /// Those of OVER. `windows`: the definitions of WINDOW. Errors: 42704, 42P20.
    pub(super) fn of(
        over: &'a ast::WindowType,
        windows: &'a [ast::NamedWindowDefinition],
    ) -> Result<WindowClauses<'a>> {
        match over {
            ast::WindowType::NamedWindow(name) => WindowClauses::named(&fold(name), windows),
            ast::WindowType::WindowSpec(spec) => WindowClauses::extended(spec, windows, true),
        }
    }

    /// What a name of the WINDOW clause stands for. A definition sees those before it, so that none is its own.
    pub(super) fn named(name: &str, windows: &'a [ast::NamedWindowDefinition]) -> Result<WindowClauses<'a>> {
        let found = windows.iter().position(|definition| fold(&definition.0) == name);
        let Some(at) = found else {
            return Err(Error::UndefinedObject {
                kind: "window",
                name: name.to_string(),
            });
        };
        match &windows[at].1 {
            ast::NamedWindowExpr::WindowSpec(spec) => WindowClauses::extended(spec, &windows[..at], false),
            ast::NamedWindowExpr::NamedWindow(other) => WindowClauses::named(&fold(other), &windows[..at]),
        }
    }

    /// A definition with what it has from the window that it names. `is_over`: it stands behind OVER.
    fn extended(
        spec: &'a ast::WindowSpec,
        windows: &'a [ast::NamedWindowDefinition],
        is_over: bool,
    ) -> Result<WindowClauses<'a>> {
        let (name, exclusion) = window_frame::split(spec);
        let own = WindowClauses {
            partition_by: &spec.partition_by,
            order_by: &spec.order_by,
            frame: spec.window_frame.as_ref(),
            exclusion,
        };
        let Some(name) = name else {
            return Ok(own);
        };
        let base = WindowClauses::named(&name, windows)?;
        let wrong = |message: String, hint: Option<&str>| Error::InvalidStatement {
            state: StatementFault::Windowing,
            message,
            hint: hint.map(str::to_string),
        };
        if !own.partition_by.is_empty() {
            let message = format!("cannot override PARTITION BY clause of window \"{name}\"");
            return Err(fault(StatementFault::Windowing, message));
        }
        if !base.order_by.is_empty() && !own.order_by.is_empty() {
            let message = format!("cannot override ORDER BY clause of window \"{name}\"");
            return Err(fault(StatementFault::Windowing, message));
        }
        if base.frame.is_some() {
            let is_bare = is_over && own.order_by.is_empty() && own.frame.is_none();
            let hint = is_bare.then_some("Omit the parentheses in this OVER clause.");
            let message = format!("cannot copy window \"{name}\" because it has a frame clause");
            return Err(wrong(message, hint));
        }
        Ok(WindowClauses {
            partition_by: base.partition_by,
            order_by: match own.order_by.is_empty() {
                true => base.order_by,
                false => own.order_by,
            },
            ..own
        })
    }
}
