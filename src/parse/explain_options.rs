//! What EXPLAIN was asked for. Called by `explain`, and by `kind`, for ANALYZE writes what the statement writes.

use sqlparser::ast::{self, UtilityOption};

use crate::error::StatementFault;
use crate::{Error, Result};

/// The options of `EXPLAIN ANALYZE VERBOSE` and of `EXPLAIN (ANALYZE, FORMAT JSON, …)`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Run it, and show what was counted.
    pub(crate) analyze: bool,
    pub(crate) format: Format,
    /// Show the time of each node.
    pub(crate) timing: bool,
    /// Show what the statement is bound to, and how that is run.
    pub(crate) verbose: bool,
    /// What is shown in place of the plan.
    pub(crate) instead: Option<Instead>,
    /// Show the time of planning and running; `None`: with ANALYZE.
    summary: Option<bool>,
}

/// How the plan is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
    Yaml,
    Xml,
}

/// What EXPLAIN shows that is no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// TYPES: the columns of the result with their types.
    Types,
    /// LOGICAL: what the query is bound to, before a way to reach its rows is planned.
    BoundTree,
}

impl Format {
    /// Errors: 42601 without a value, 22023 for another.
    fn of(argument: Option<&ast::Expr>) -> Result<Format> {
        let argument = argument.ok_or_else(|| syntax("format requires a parameter".to_string()))?;
        let word = match argument {
            ast::Expr::Identifier(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            ast::Expr::Identifier(word) => word.value.clone(),
            ast::Expr::Value(value) => value.value.clone().into_string().unwrap_or_default(),
            other => other.to_string(),
        };
        match word.as_str() {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "yaml" => Ok(Format::Yaml),
            "xml" => Ok(Format::Xml),
            _ => Err(Error::InvalidParameter {
                message: format!("unrecognized value for EXPLAIN option \"format\": \"{word}\""),
                hint: Some("FORMAT is TEXT, JSON, YAML or XML.".to_string()),
            }),
        }
    }
}

impl Options {
    /// Errors: 42601 for an unknown option, 22023 for one that needs ANALYZE and for formats.
    pub(crate) fn of(statement: &ast::Statement) -> Result<Options> {
        let mut options = Options {
            analyze: false,
            format: Format::Text,
            timing: true,
            verbose: false,
            instead: None,
            summary: None,
        };
        let ast::Statement::Explain {
            analyze,
            verbose,
            options: listed,
            ..
        } = statement
        else {
            return Ok(options);
        };
        options.analyze = *analyze;
        options.verbose = *verbose;
        let mut asks_for = None;
        for option in listed.iter().flatten() {
            options.read(option, &mut asks_for)?;
        }
        match asks_for {
            Some(name) if !options.analyze => Err(Error::DataException {
                state: "22023",
                message: format!("EXPLAIN option {name} requires ANALYZE"),
            }),
            _ => Ok(options),
        }
    }

    /// Whether the times of planning and running are shown.
    pub(crate) fn shows_summary(&self) -> bool {
        self.summary.unwrap_or(self.analyze)
    }

    /// `needs_analyze`: set to the name of an option that is nothing without ANALYZE.
    fn read(&mut self, option: &UtilityOption, needs_analyze: &mut Option<&'static str>) -> Result<()> {
        let name = option.name.value.to_lowercase();
        if name == "format" {
            self.format = Format::of(option.arg.as_ref())?;
            return Ok(());
        }
        let argument = option
            .arg
            .as_ref()
            .map(|arg| arg.to_string().trim_matches('\'').to_lowercase());
        let on = match argument.as_deref() {
            None | Some("true" | "on" | "1") => true,
            Some("false" | "off" | "0") => false,
            Some(_) => return Err(syntax(format!("{name} requires a Boolean value"))),
        };
        match name.as_str() {
            "analyze" => self.analyze = on,
            "verbose" => self.verbose = on,
            "types" => self.instead = on.then_some(Instead::Types),
            "logical" => self.instead = on.then_some(Instead::BoundTree),
            "summary" => self.summary = Some(on),
            "timing" => {
                self.timing = on;
                *needs_analyze = on.then_some("TIMING").or(*needs_analyze);
            }
            "wal" => *needs_analyze = on.then_some("WAL").or(*needs_analyze),
            "costs" | "settings" | "buffers" | "generic_plan" => {}
            _ => return Err(syntax(format!("unrecognized EXPLAIN option \"{name}\""))),
        }
        Ok(())
    }
}

fn syntax(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message,
        hint: None,
    }
}
