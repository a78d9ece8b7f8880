//! Functions in FROM whose columns the query defines: `json_to_recordset(document) AS t(a int, b text)`.

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault, fold};
use super::coercion::CastContext;
use super::undefined_function::no_function;
use crate::error::StatementFault;
use crate::parse::parse_expression;

use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// These functions.
const NAMES: &[&str] = &[
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
];

/// Functions whose columns are those of the table that the first argument is a NULL row of.
const POPULATING: &[&str] = &[
    "json_populate_record",
    "json_populate_recordset",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
];

/// Whether the name is a function's whose columns the query defines.
pub(super) fn is_record_function(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Whether the name is a function's whose columns are a table's.
pub(super) fn is_populating_function(name: &str) -> bool {
    POPULATING.contains(&name)
}

/// The table that `NULL::table` is a row of.
fn row_type(argument: Option<&ast::FunctionArg>) -> Option<&ast::ObjectName> {
    let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Cast {
        expr, data_type, ..
    }))) = argument
    else {
        return None;
    };
    match (expr.as_ref(), data_type) {
        (ast::Expr::Value(value), ast::DataType::Custom(name, modifiers))
            if value.value == ast::Value::Null && modifiers.is_empty() =>
        {
            Some(name)
        }
        _ => None,
    }
}

impl Binder<'_> {
    /// The names and types of the columns that `json_populate_record(NULL::table, …)` gives. Errors: 0A000 for another first argument.
    pub(super) fn populated_columns(
        &mut self,
        arguments: &[ast::FunctionArg],
    ) -> Result<Vec<(String, SqlType)>> {
        let Some(table) = row_type(arguments.first()) else {
            return Err(Error::unsupported(
                "a row other than NULL to begin with",
                Some("Give NULL::table as the first argument."),
            ));
        };
        let item = self.table(table, None)?;
        let columns = item.scope.visible.into_iter();
        Ok(columns.map(|column| (column.name, column.bound.ty)).collect())
    }

    /// `json_populate_record(NULL::table, …)` as a value: the row that it gives in FROM. Errors: as `populated`.
    pub(super) fn populated_value(&mut self, function: &ast::Function, place: Place<'_>) -> Result<Bound> {
        let text = format!("(SELECT \"row\" FROM {function} AS \"row\")");
        let query = parse_expression(&text)
            .map_err(|error| Error::internal(format!("no query of a row: {error}")))?;
        self.expression(&query, place)
    }

    /// The columns of the rows of `function`, which takes a row of a table and a document. Errors: 42883 for other arguments.
    pub(super) fn populated(
        &mut self,
        function: &str,
        arguments: &[ast::FunctionArg],
        place: Place<'_>,
    ) -> Result<Vec<Bound>> {
        let columns = self.populated_columns(arguments)?;
        let rest = ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments[1..].to_vec(),
            clauses: Vec::new(),
        });
        let document = self.arguments(function, &rest, place)?;
        self.columns_of_document(function, document, columns)
    }

    /// The columns of the function's rows, each an array. Errors: 42601 without a list of columns and types.
    pub(super) fn record_columns(
        &mut self,
        function: &str,
        arguments: Vec<Bound>,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Vec<Bound>> {
        let columns = alias.map_or(&[][..], |alias| &alias.columns);
        let columns: Option<Vec<_>> = columns
            .iter()
            .map(|column| Some((fold(&column.name), column.data_type.as_ref()?)))
            .collect();
        let columns = match columns.filter(|columns| !columns.is_empty()) {
            Some(columns) => columns,
            None => {
                let message = "a column definition list is required for functions returning \"record\"";
                return Err(fault(StatementFault::Syntax, message));
            }
        };
        let mut typed = Vec::with_capacity(columns.len());
        for (name, ty) in columns {
            typed.push((name, self.written_type(ty)?.ty));
        }
        self.columns_of_document(function, arguments, typed)
    }

    /// The members of a document, or of each of an array of such, by the names of columns.
    fn columns_of_document(
        &mut self,
        function: &str,
        arguments: Vec<Bound>,
        columns: Vec<(String, SqlType)>,
    ) -> Result<Vec<Bound>> {
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let taken = match function.starts_with("jsonb") {
            true => SqlType::Jsonb,
            false => SqlType::Json,
        };
        let Ok([document]) = <[Bound; 1]>::try_from(arguments) else {
            return Err(no_function(function, &types, false));
        };
        if document.ty != SqlType::Unknown && document.ty != taken {
            return Err(no_function(function, &types, false));
        }
        let document = self.convert(document, &taken, CastContext::Implicit)?;
        let document = self.convert(document, &SqlType::Json, CastContext::Explicit)?;
        let mut sets = Vec::with_capacity(columns.len());
        for (name, ty) in columns {
            let members = match &ty {
                SqlType::Json | SqlType::Jsonb => "record_values",
                SqlType::Array(item) => match item.innermost() {
                    SqlType::Json | SqlType::Jsonb => "record_json_arrays",
                    _ => "record_arrays",
                },
                _ => "record_texts",
            };
            let [name, function] = [name.as_str(), function].map(|text| Value::Text(text.to_string()));
            let arguments = vec![
                document.clone(),
                Bound::constant(&name, SqlType::Text)?,
                Bound::constant(&function, SqlType::Text)?,
            ];
            let set = self.resolve_function(members, arguments)?;
            sets.push(self.convert(set, &SqlType::Array(Box::new(ty)), CastContext::Explicit)?);
        }
        Ok(sets)
    }
}
