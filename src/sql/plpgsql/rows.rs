//! Statements of SQL in a body: PERFORM, INTO, EXECUTE, loops over rows.

use sqlparser::ast;

use super::fragment::is_of_analysis;
use super::frame::{Flow, Frame};
use super::transactions::is_transaction_command;
use super::variable::{Holder, assign_row};
use crate::error::Raised;
use crate::parse::plpgsql::tree::{Block, DeclarationKind, Fragment, Into, Kind, Source, Statement, Target};
use crate::query::{known_types, procedure_outputs};
use crate::sql::routine_run::statement_run::Ran;
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// What a run of a statement is called in CONTEXT.
fn in_statement(error: Error, text: &str) -> Error {
    match is_of_analysis(&error) {
        true => error,
        false => error.within(format!("SQL statement \"{text}\"")),
    }
}

impl Frame {
    pub(super) async fn perform(&mut self, query: &Fragment) -> Result<()> {
        self.runs(&format!("SELECT {}", query.text));
        let ran = async {
            let mut ran = self.run_fragment("SELECT ", &query.text).await?;
            let mut count = 0i64;
            while ran.rows.next().await?.is_some() {
                count += 1;
            }
            Ok(count)
        };
        let count = ran
            .await
            .map_err(|error| in_statement(error, &format!("SELECT {}", query.text)))?;
        self.row_count = count;
        self.set_found(count > 0);
        Ok(())
    }

    /// CALL; what it gives back goes to the variables that were its arguments.
    pub(super) async fn call(&mut self, call: &Fragment) -> Result<()> {
        self.runs(&call.text);
        let targets = match self.call_targets(&call.text) {
            Err(error) if matches!(error, Error::Raised(_)) => return Err(error),
            // What else is wrong with it, its run tells.
            targets => targets.unwrap_or_default(),
        };
        let ran = async {
            let mut ran = self.run_fragment("", &call.text).await?;
            let row = ran.rows.next().await?;
            Ok((ran.columns, row))
        };
        let (columns, row) = ran
            .await
            .map_err(|error: Error| in_statement(error, &call.text))?;
        let Some(row) = row else {
            return Ok(());
        };
        for ((target, value), column) in targets.into_iter().zip(row).zip(columns) {
            self.assign_to(&target, value, &column.ty).await?;
        }
        Ok(())
    }

    /// The variables that are the arguments of a CALL which it gives back. Errors: those of binding it; 42601 for what is no variable.
    fn call_targets(&mut self, text: &str) -> Result<Vec<Target>> {
        let statement = self.bind_fragment(text)?;
        let variables = self.ctx.variables.take();
        let ast::Statement::Call(function) = &statement.parsed.ast else {
            return Ok(Vec::new());
        };
        let ctx = StatementContext {
            variables: variables.clone(),
            ..self.ctx.clone()
        };
        let outputs = procedure_outputs(&ctx, function, &known_types(&ctx))?;
        let all = variables.as_deref().map_or(&[][..], |variables| &variables.all);
        let target = |parameter: usize| {
            let variable = all.iter().find(|variable| variable.parameter == parameter);
            let parts = variable.map(|variable| {
                let parts = variable.qualifiers.iter().take(1);
                let parts = parts.chain(&variable.record).chain([&variable.name]);
                parts.cloned().collect()
            });
            Target {
                // An argument may be named by its number.
                parts: parts.unwrap_or_else(|| vec![format!("${parameter}")]),
                subscripts: Vec::new(),
            }
        };
        Ok(outputs.into_iter().map(target).collect())
    }

    pub(super) async fn sql(&mut self, text: &str, into: Option<&Into>) -> Result<()> {
        if is_transaction_command(text) {
            return Err(Raised::new("0A000", "unsupported transaction command in PL/pgSQL").into());
        }
        self.runs(text.trim_end());
        let ran = async {
            // A second row is an error where one alone is wanted.
            self.ctx.rows_wanted = into.map(|into| if into.strict { 2 } else { 1 });
            let ran = self.run_fragment("", text).await;
            self.ctx.rows_wanted = None;
            let ran = ran?;
            let one_row = into.is_some_and(|into| into.strict) || ran.written.is_some();
            self.take(ran, into, one_row).await
        };
        ran.await.map_err(|error| match is_no_destination(&error) {
            true => error,
            false => in_statement(error, text.trim_end()),
        })
    }

    /// What a statement gives: into variables, or nowhere. Errors: 42601 for rows that go nowhere; P0003 for a second row where it is to
    /// be one.
    async fn take(&mut self, mut ran: Ran, into: Option<&Into>, one_row: bool) -> Result<()> {
        let Some(into) = into else {
            if !ran.columns.is_empty() && ran.written.is_none() {
                return Err(Raised {
                    hint: Some(
                        "If you want to discard the results of a SELECT, use PERFORM instead.".to_string(),
                    ),
                    ..Raised::new("42601", "query has no destination for result data")
                }
                .into());
            }
            if !ran.columns.is_empty() {
                return Err(Raised::new("42601", "query has no destination for result data").into());
            }
            if let Some(written) = ran.written {
                self.row_count = i64::try_from(written).unwrap_or(i64::MAX);
                self.set_found(written > 0);
            }
            return Ok(());
        };
        if ran.columns.is_empty() {
            return Err(Raised::new("42601", "INTO used with a command that cannot return data").into());
        }
        let first = ran.rows.next().await?;
        if one_row && first.is_some() && ran.rows.next().await?.is_some() {
            return Err(Raised {
                hint: Some("Make sure the query returns a single row, or use LIMIT 1.".to_string()),
                ..Raised::new("P0003", "query returned more than one row")
            }
            .into());
        }
        if into.strict && first.is_none() {
            return Err(Raised::new("P0002", "query returned no rows").into());
        }
        let found = first.is_some();
        self.row_count = ran.written.map_or(i64::from(found), |written| {
            i64::try_from(written).unwrap_or(i64::MAX)
        });
        let columns: Vec<(String, SqlType)> = columns_of(&ran);
        self.assign_columns(&into.targets, &columns, first).await?;
        self.set_found(found);
        Ok(())
    }

    /// Gives variables the columns of a row.
    pub(super) async fn assign_columns(
        &mut self,
        targets: &[Target],
        columns: &[(String, SqlType)],
        row: Option<Vec<Value>>,
    ) -> Result<()> {
        if let [target] = targets {
            let (at, field) = self.resolve(&target.parts)?;
            super::variable::check_assignable(&self.variables[at], &target.name())?;
            if field.is_none() && !matches!(self.variables[at].holder, Holder::Scalar { .. }) {
                let mut holder = self.variables[at].holder.clone();
                assign_row(&self.ctx, &mut holder, columns, row)?;
                self.variables[at].holder = holder;
                return Ok(());
            }
        }
        let values = row.unwrap_or_default();
        let mut given = values.into_iter().zip(columns);
        for target in targets {
            let (value, ty) = match given.next() {
                Some((value, (_, ty))) => (value, ty.clone()),
                None => (Value::Null, SqlType::Text),
            };
            self.assign_to(target, value, &ty).await?;
        }
        Ok(())
    }

    pub(super) async fn execute(
        &mut self,
        text: &Fragment,
        into: Option<&Into>,
        using: &[Fragment],
    ) -> Result<()> {
        let (text, using) = self.dynamic(text, using).await?;
        if is_transaction_command(&text) {
            return Err(Raised::new("0A000", "EXECUTE of transaction commands is not implemented").into());
        }
        self.runs(&text);
        let ran = async {
            let mut ran = self.run_dynamic(&text, using).await?;
            if into.is_none() {
                // Rows that nobody wants.
                let mut count = 0;
                while ran.rows.next().await?.is_some() {
                    count += 1;
                }
                self.row_count = ran
                    .written
                    .map_or(count, |written| i64::try_from(written).unwrap_or(i64::MAX));
                return Ok(());
            }
            let found = self.variables[self.found].clone();
            // It takes the first row of a write, too.
            let one_row = into.is_some_and(|into| into.strict);
            let taken = self.take(ran, into, one_row).await;
            // EXECUTE leaves FOUND as it is.
            self.variables[self.found] = found;
            taken
        };
        ran.await.map_err(|error| match is_no_destination(&error) {
            true => error,
            false => in_statement(error, &text),
        })
    }

    /// The text of EXECUTE and the values of USING. Errors: 22004 for NULL.
    pub(super) async fn dynamic(
        &mut self,
        text: &Fragment,
        using: &[Fragment],
    ) -> Result<(String, Vec<(Value, SqlType)>)> {
        let Some(text) = self.text_of(text).await? else {
            return Err(Raised::new("22004", "query string argument of EXECUTE is null").into());
        };
        let mut values = Vec::with_capacity(using.len());
        for value in using {
            values.push(self.evaluate(value).await?);
        }
        Ok((text, values))
    }

    /// The rows of a query that a loop goes over (it fails as they are fetched, which is no run of a statement), or that are returned.
    pub(super) async fn rows_of(&mut self, source: &Source, is_loop: bool) -> Result<Ran> {
        let in_source = |error: Error, text: &str| match is_loop {
            true => error,
            false => in_statement(error, text),
        };
        match source {
            Source::Query(query) => {
                if !is_loop {
                    self.runs(query.text.trim_end());
                }
                let ran = self.run_fragment("", &query.text).await;
                ran.map_err(|error| in_source(error, query.text.trim_end()))
            }
            Source::Dynamic { text, using } => {
                let (text, using) = self.dynamic(text, using).await?;
                if !is_loop {
                    self.runs(&text);
                }
                let ran = self.run_dynamic(&text, using).await;
                ran.map_err(|error| in_source(error, &text))
            }
            Source::Cursor { name, .. } => {
                Err(Error::internal(format!("a query that is the cursor \"{name}\"")))
            }
        }
    }

    pub(super) async fn for_rows(
        &mut self,
        label: Option<&String>,
        targets: &[Target],
        source: &Source,
        body: &[Statement],
    ) -> Result<Flow> {
        let (names, variables) = (self.names.len(), self.variables.len());
        let is_known = |target: &Target| self.resolve(&target.parts).is_ok();
        if !matches!(source, Source::Cursor { .. }) && !targets.iter().all(is_known) {
            self.is_located = true;
            let message =
                "loop variable of loop over rows must be a record variable or list of scalar variables";
            return Err(Raised::new("42601", message).into());
        }
        let looped = match source {
            Source::Cursor { name, arguments } => {
                self.for_cursor(label, targets, (name, arguments), body).await
            }
            source => {
                let ran = self.rows_of(source, true).await?;
                self.over_rows(ran, label, targets, body).await
            }
        };
        self.names.truncate(names);
        self.variables.truncate(variables);
        looped
    }

    async fn over_rows(
        &mut self,
        mut ran: Ran,
        label: Option<&String>,
        targets: &[Target],
        body: &[Statement],
    ) -> Result<Flow> {
        let columns = columns_of(&ran);
        let _writing = self.held_for(&mut ran, body).await?;
        let (mut any, mut result) = (false, Flow::Next);
        while let Some(row) = ran.rows.next().await? {
            any = true;
            self.assign_columns(targets, &columns, Some(row)).await?;
            if let Some(flow) = self.round(body, label).await? {
                result = flow;
                break;
            }
        }
        if !any {
            self.assign_columns(targets, &columns, None).await?;
        }
        self.set_found(any);
        Ok(result)
    }
}

/// The names and types of what a statement gives; `Unknown` for a column that nobody has written yet.
pub(super) fn columns_of(ran: &Ran) -> Vec<(String, SqlType)> {
    let columns = ran.columns.iter();
    columns
        .map(|column| (column.name.clone(), column.decided_type()))
        .collect()
}

fn is_no_destination(error: &Error) -> bool {
    matches!(error, Error::Raised(raised) if matches!(raised.sqlstate.as_str(), "42601" | "P0002" | "P0003"))
}

/// The declaration of a cursor in a block or one inside it.
pub(super) fn find_cursor<'a>(block: &'a Block, name: &str) -> Option<&'a DeclarationKind> {
    let own = block.declarations.iter().find(|declaration| {
        declaration.name == name && matches!(declaration.kind, DeclarationKind::Cursor { .. })
    });
    if let Some(own) = own {
        return Some(&own.kind);
    }
    block
        .statements
        .iter()
        .find_map(|statement| match &statement.kind {
            Kind::Block(inner) => find_cursor(inner, name),
            _ => None,
        })
}
