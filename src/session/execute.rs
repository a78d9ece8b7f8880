//! EXECUTE: prepared statements of SQL run, explained, or made a table of, with arguments that are constants or computed.

use std::sync::Arc;

use super::{PreparedStatement, Reply, Session, text_parameter};
use crate::error::{Raised, StatementFault};
use crate::parse::command::ExecuteArguments;
use crate::query::is_assignable;
use crate::sql::{assigned_value, check_arguments};
use crate::system::Parameters;
use crate::types::{FormatSettings, SqlType, Value, value_at};
use crate::{Error, Result};

impl Session {
    pub(super) async fn execute_prepared(
        &mut self,
        name: &str,
        arguments: &ExecuteArguments,
    ) -> Result<Reply> {
        let prepared = self.statement(name)?;
        let parameters = self.arguments(name, &prepared, arguments).await?;
        match &prepared.parsed {
            Some(parsed) => {
                let described = prepared.description.columns.as_deref();
                self.run(parsed, parameters, described).await
            }
            None => Ok(Reply::Done {
                tag: "EXECUTE".to_string(),
            }),
        }
    }

    /// EXPLAIN EXECUTE: the EXPLAIN of what was prepared.
    pub(super) async fn explain_prepared(
        &mut self,
        explain: &str,
        name: &str,
        arguments: &ExecuteArguments,
    ) -> Result<Reply> {
        let prepared = self.statement(name)?;
        let parameters = self.arguments(name, &prepared, arguments).await?;
        let text = prepared.parsed.as_ref().map_or("", |parsed| &parsed.parsed.text);
        let Some(statement) = self.parse(&format!("{explain} {text}")).await?.pop() else {
            return Err(Error::unsupported("EXPLAIN of an empty statement", None));
        };
        self.run(&statement, parameters, None).await
    }

    /// CREATE TABLE AS EXECUTE: that of what was prepared. Errors: 42809 for what is no query.
    pub(super) async fn make_of_prepared(
        &mut self,
        (before, after): (&str, &str),
        name: &str,
        arguments: &ExecuteArguments,
    ) -> Result<Reply> {
        let prepared = self.statement(name)?;
        let query = prepared.parsed.as_ref().filter(|parsed| parsed.is_query());
        let Some(query) = query else {
            return Err(Error::InvalidStatement {
                state: StatementFault::WrongObjectType,
                message: "prepared statement is not a SELECT".to_string(),
                hint: None,
            });
        };
        let parameters = self.arguments(name, &prepared, arguments).await?;
        let text = format!("{before} {}\n{after}", query.parsed.text);
        let Some(statement) = self.parse(&text).await?.pop() else {
            return Err(Error::internal("CREATE TABLE AS of nothing"));
        };
        match self.run(&statement, parameters, None).await? {
            // EXECUTE says how many rows there are, though there are to be none.
            Reply::Done { tag } if tag == "CREATE TABLE AS" && statement.parsed.hints.without_rows => {
                Ok(Reply::Done {
                    tag: "SELECT 0".to_string(),
                })
            }
            reply => Ok(reply),
        }
    }

    /// What EXECUTE gives a prepared statement. Errors: 42601 for another number of arguments; those of computing and of reading them.
    async fn arguments(
        &mut self,
        name: &str,
        prepared: &PreparedStatement,
        arguments: &ExecuteArguments,
    ) -> Result<Parameters> {
        let types = &prepared.description.parameters;
        let given = arguments.constants.len();
        if types.len() != given {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!("Expected {} parameters but got {given}.", types.len());
            return Err(Raised {
                detail: Some(detail),
                ..Raised::new("42601", message)
            }
            .into());
        }
        let computed = match &arguments.query {
            Some(query) => self.computed_arguments(query, given).await?,
            None => vec![(Value::Null, SqlType::Unknown); given],
        };
        let format = self.format();
        let values = arguments.constants.iter().zip(computed).zip(types).enumerate();
        let parameters = values.map(|(at, ((constant, (value, from)), ty))| match constant {
            None => assigned(value, &from, ty, at, &format),
            Some(Value::Null) => Ok(Value::Null),
            Some(Value::Unknown(text)) => literal(text, ty, &format),
            Some(constant) => assigned(constant.clone(), &constant.natural_type(), ty, at, &format),
        });
        Ok(Parameters::bound(
            parameters.collect::<Result<_>>()?,
            &prepared.types,
        ))
    }

    /// The values of expressions and their types. `query`: a SELECT of nothing but these. Errors: 42601 and 0A000 for anything else; those of
    /// computing them.
    async fn computed_arguments(&mut self, query: &str, count: usize) -> Result<Vec<(Value, SqlType)>> {
        let statements = self.parse(query).await?;
        let [statement] = statements.as_slice() else {
            return Err(Error::internal("arguments that are no statement"));
        };
        check_arguments(&statement.parsed, count)?;
        let Reply::Rows(mut rows) = self.run(statement, Parameters::default(), None).await? else {
            return Err(Error::internal("arguments without rows"));
        };
        let (begun, columns) = (self.statement_begun, Arc::clone(&rows.columns));
        let interrupt = self.interrupt.clone();
        let mut found = Vec::with_capacity(count);
        while let Some(batch) = rows.next(&interrupt, 2).await? {
            let batch = batch.into_batch()?;
            match batch.num_rows() {
                0 => continue,
                1 if found.is_empty() => {}
                _ => return Err(returns_a_set()),
            }
            for (array, column) in batch.columns().iter().zip(columns.iter()) {
                found.push((value_at(array, 0, &column.ty)?, column.ty.clone()));
            }
        }
        self.complete(rows).await?;
        // What is executed has what is left of the time.
        self.statement_begun = begun;
        match found.len() == count {
            true => Ok(found),
            false => Err(returns_a_set()),
        }
    }
}

/// A string in quotes as a parameter. Errors: those of reading it.
fn literal(text: &str, ty: &SqlType, format: &FormatSettings) -> Result<Value> {
    match ty {
        SqlType::Unknown => Ok(Value::Unknown(text.to_string())),
        ty => text_parameter(text, ty, format),
    }
}

/// A value of one type as a parameter of another, as it would be assigned. Errors: 42804; those of converting it.
fn assigned(value: Value, from: &SqlType, ty: &SqlType, at: usize, format: &FormatSettings) -> Result<Value> {
    match (value, ty) {
        (value, SqlType::Unknown) => Ok(value),
        (Value::Text(text), ty) if *from == SqlType::Unknown => literal(&text, ty, format),
        // An object left the query as its name, by which it is found again.
        (Value::Text(name), ty) if from.object_type() != *from && (ty.names_objects() || ty.is_string()) => {
            literal(&name, ty, format)
        }
        (value, ty) if is_assignable(from, ty) => {
            assigned_value(value, from, (ty, &format!("${}", at + 1)), format)
        }
        _ => Err(Error::DatatypeMismatch {
            message: format!(
                "parameter ${} of type {} cannot be coerced to the expected type {}",
                at + 1,
                from.full_base_name(),
                ty.full_base_name()
            ),
            hint: Some("You will need to rewrite or cast the expression.".to_string()),
        }),
    }
}

fn returns_a_set() -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: "set-returning functions are not allowed in EXECUTE parameters".to_string(),
        hint: None,
    }
}
