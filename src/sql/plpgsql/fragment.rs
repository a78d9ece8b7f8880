//! Expressions and statements of a body: each becomes a statement of the engine, in which the names of variables stand for parameters. The
//! same as long as the variables that it may name are of the same types.

use std::sync::Arc;

use super::frame::Frame;
use super::prepared::{Known, Prepared, only_statement};
use super::sight::Scope;
use super::variable::Holder;
use super::words::Words;
use crate::error::Raised;
use crate::parse::plpgsql::tree::{Fragment, Target};
use crate::sql::Statement;
use crate::sql::open_cursor::Cursor;
use crate::sql::routine_run::statement_run::{Ran, open_statement};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Frame {
    /// Runs a fragment with `before` in front of it. `&str`s stand where the body keeps them.
    pub(super) async fn run_fragment(&mut self, before: &str, text: &str) -> Result<Ran> {
        let prepared = self.fragment(before, text);
        self.run_prepared(&prepared).await
    }

    /// Runs what a fragment has become.
    pub(super) async fn run_prepared(&mut self, prepared: &Prepared) -> Result<Ran> {
        let (known, values) = self.known(prepared)?;
        let statement = self.enter_known(&known, values);
        self.ctx.cursor_position = match &statement.parsed.current_of {
            Some(cursor) => Some(self.position_of(cursor).await?),
            None => None,
        };
        let ran = self.run_entered(&statement, prepared.reads_anew, true).await;
        self.ctx.variables = None;
        self.ctx.cursor_position = None;
        ran
    }

    /// Computes the whole of a variable with a part of it replaced.
    pub(super) async fn run_assignment(&mut self, target: &Target, value: &str) -> Result<(Value, SqlType)> {
        let prepared = self
            .program
            .prepared(value, || Prepared::of_assignment(target, value));
        self.evaluate_prepared(&prepared, "assignment source").await
    }

    /// Opens a cursor over a fragment.
    pub(super) async fn open_fragment(&mut self, text: &str, scroll: Option<bool>) -> Result<Cursor> {
        let statement = self.bind_fragment(text)?;
        let opened = self.open_entered(&statement, scroll).await;
        self.ctx.variables = None;
        opened
    }

    /// The statement of a fragment, with the variables that it may name as what it runs with.
    pub(super) fn bind_fragment(&mut self, text: &str) -> Result<Arc<Statement>> {
        let prepared = self.fragment("", text);
        let (known, values) = self.known(&prepared)?;
        Ok(self.enter_known(&known, values))
    }

    fn fragment(&self, before: &str, text: &str) -> Arc<Prepared> {
        self.program.prepared(text, || Prepared::new(before, text))
    }

    /// What it is for the variables in sight, and their values.
    fn known(&self, prepared: &Prepared) -> Result<(Arc<Known>, Vec<Value>)> {
        let scope = Scope {
            variables: &self.variables,
            names: &self.names,
            inputs: &self.inputs,
            conflict: self.conflict(),
        };
        prepared.known(&scope, &self.ctx.common_rows)
    }

    /// The statement, with what it runs with.
    fn enter_known(&mut self, known: &Known, values: Vec<Value>) -> Arc<Statement> {
        self.ctx.variables = Some(Arc::clone(&known.variables));
        self.ctx.parameter_types = Arc::clone(&known.types);
        self.ctx.parameters = values.into();
        Arc::clone(&known.statement)
    }

    pub(super) fn bind(&mut self, values: Vec<(Value, SqlType)>) {
        self.ctx.parameter_types = values.iter().map(|(_, ty)| ty.clone()).collect();
        self.ctx.parameters = values.into_iter().map(|(value, _)| value).collect();
    }

    /// Runs the text of EXECUTE with these parameters: of several statements the last is what it gives.
    pub(super) async fn run_dynamic(&mut self, text: &str, using: Vec<(Value, SqlType)>) -> Result<Ran> {
        let mut last = Ran::nothing();
        for statement in crate::sql::parse(text)? {
            while last.rows.next().await?.is_some() {}
            self.bind(using.clone());
            last = self.run_entered(&Arc::new(statement), true, false).await?;
        }
        Ok(last)
    }

    /// The same, opening a cursor.
    pub(super) async fn open_dynamic(
        &mut self,
        text: &str,
        using: Vec<(Value, SqlType)>,
        scroll: Option<bool>,
    ) -> Result<Cursor> {
        let statement = Arc::new(only_statement(text)?);
        self.bind(using);
        self.open_entered(&statement, scroll).await
    }

    async fn open_entered(&mut self, statement: &Arc<Statement>, scroll: Option<bool>) -> Result<Cursor> {
        self.enter(true).await?;
        let opened = open_statement(&mut self.ctx, statement).await?;
        let (settings, memory) = (Arc::clone(&self.ctx.settings), Arc::clone(&self.ctx.memory));
        Ok(Cursor::new(opened, scroll, settings, memory))
    }

    /// The value of an expression. Errors: 42601 for several columns, 21000 for several rows.
    pub(super) async fn evaluate(&mut self, expression: &Fragment) -> Result<(Value, SqlType)> {
        let evaluated = self.evaluate_plain(expression, "query").await;
        evaluated.map_err(|error| match self.tells_of(&error, &expression.text) {
            true => error.within(format!("SQL expression \"{}\"", expression.text)),
            false => error,
        })
    }

    /// Whether CONTEXT names the expression that failed: what is computed of variables alone fails without.
    pub(super) fn tells_of(&self, error: &Error, text: &str) -> bool {
        if is_of_analysis(error) {
            return false;
        }
        let words = Words::of(text);
        let is_query = words.contains("select") || words.contains("from");
        // A function that it calls fails at a place of its own: only a query is another around that.
        is_query || error.context().is_none() && !self.names.iter().any(|known| words.contains(&known.name))
    }

    /// The same; who calls it says what failed. `what`: as a message names it.
    pub(super) async fn evaluate_plain(
        &mut self,
        expression: &Fragment,
        what: &str,
    ) -> Result<(Value, SqlType)> {
        if let Some(value) = self.plain_value(&expression.text) {
            return Ok(value);
        }
        let prepared = self.fragment("SELECT ", &expression.text);
        self.evaluate_prepared(&prepared, what).await
    }

    /// The value of a query of one: of an expression over variables alone as a formula, otherwise as what the statement gives.
    async fn evaluate_prepared(&mut self, prepared: &Prepared, what: &str) -> Result<(Value, SqlType)> {
        let (known, values) = self.known(prepared)?;
        if let Some(changed) = self.ctx.settings.with_requested() {
            self.ctx.settings = Arc::new(changed);
        }
        if let Some(computed) = known.compute(&self.ctx, &values) {
            return computed;
        }
        let statement = self.enter_known(&known, values);
        let ran = self.run_entered(&statement, prepared.reads_anew, true).await;
        self.ctx.variables = None;
        let mut ran = ran?;
        let [column] = ran.columns.as_slice() else {
            let message = format!("{what} returned {} columns", ran.columns.len());
            return Err(Raised::new("42601", message).into());
        };
        let ty = column.decided_type();
        let value = ran.rows.next().await?;
        if value.is_some() && ran.rows.next().await?.is_some() {
            return Err(Raised::new("21000", "query returned more than one row").into());
        }
        let value = value.and_then(|row| row.into_iter().next());
        Ok((value.unwrap_or(Value::Null), ty))
    }

    /// The value of an expression that is the name of a variable.
    fn plain_value(&self, text: &str) -> Option<(Value, SqlType)> {
        let name = text.trim();
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_name || self.conflict() == crate::system::NameConflict::Column {
            return None;
        }
        let name = name.to_lowercase();
        let known = self.names.iter().rev().find(|known| known.name == name)?;
        match &self.variables[known.at].holder {
            Holder::Scalar { ty, value } => Some((value.clone(), ty.clone())),
            Holder::Row(_) | Holder::Record(_) => None,
        }
    }

    /// The truth of a condition; NULL is none.
    pub(super) async fn is_true(&mut self, condition: &Fragment) -> Result<bool> {
        let (value, ty) = self.evaluate(condition).await?;
        let value = crate::sql::routine_run::assigned(&self.ctx, value, &ty, &SqlType::Bool)?;
        Ok(value == Value::Bool(true))
    }

    /// The text of an expression; `None` for NULL.
    pub(super) async fn text_of(&mut self, expression: &Fragment) -> Result<Option<String>> {
        let (value, ty) = self.evaluate(expression).await?;
        Ok(match value {
            Value::Null => None,
            value => Some(crate::sql::routine_run::text_of(&self.ctx, &value, &ty)),
        })
    }
}

/// Whether an error was met before the statement ran: its CONTEXT has no line of the statement's.
pub(super) fn is_of_analysis(error: &Error) -> bool {
    matches!(
        error,
        Error::At { .. } | Error::Advised { .. } | Error::Syntax { .. }
    )
}
