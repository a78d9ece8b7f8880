//! Functions whose rows have the columns that the query defines, `json_to_recordset(document) AS t(a int, b text)`, or those of a row
//! that they are given: `json_populate_record(NULL::table, document)`.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault, fold};
use super::coercion::CastContext;
use super::type_name::{declared_type_in, named_type_in};
use super::undefined_function::no_function;
use crate::error::StatementFault;
use crate::functions::{self, Body, Volatility};
use crate::tree::{self, Expr, UnnestExpr};
use crate::types::{RecordType, SqlType, Value};
use crate::{Error, Result};

/// Those whose columns the query defines.
const NAMES: &[&str] = &[
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
];

/// Those whose columns are of the row that the first argument is.
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

/// Whether the name is a function's whose columns are those of a row.
pub(super) fn is_populating_function(name: &str) -> bool {
    POPULATING.contains(&name)
}

impl Binder<'_> {
    /// `json_populate_record(row, document)` as a value, or the rows of `json_populate_recordset`. Errors: as `populated`.
    pub(super) fn populated_value(
        &mut self,
        name: &str,
        arguments: &[ast::FunctionArg],
        place: Place<'_>,
    ) -> Result<Bound> {
        if name.ends_with("set") {
            let rows = self.populated(name, arguments, place)?;
            let item = rows.ty.item_type().cloned().unwrap_or(SqlType::Unknown);
            return Ok(Bound::new(Expr::Unnest(UnnestExpr::new(rows.expr)), item));
        }
        let (base, document) = self.row_and_document(name, arguments, place)?;
        let ty = base.ty.clone();
        let definition = (name, functions::ROW_OF_DOCUMENT);
        self.of_document(definition, base, document, ty)
    }

    /// The rows of `function`, which takes a row and a document, as an array. Errors: 42883 and 42804 for other arguments, 0A000 for a
    /// row of a domain.
    pub(super) fn populated(
        &mut self,
        function: &str,
        arguments: &[ast::FunctionArg],
        place: Place<'_>,
    ) -> Result<Bound> {
        let (base, document) = self.row_and_document(function, arguments, place)?;
        let ty = SqlType::list(base.ty.clone());
        let definition = (function, functions::ROWS_OF_DOCUMENT);
        self.of_document(definition, base, document, ty)
    }

    fn row_and_document(
        &mut self,
        function: &str,
        arguments: &[ast::FunctionArg],
        place: Place<'_>,
    ) -> Result<(Bound, Bound)> {
        if let Some(ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Cast {
            data_type, ..
        }))) = arguments.first()
            && named_type_in(self.ctx, data_type, &self.search_path)?
                .domain
                .is_some()
        {
            return Err(Error::unsupported(
                "a row of a domain to begin with",
                Some("Give a row of the type that the domain is over, and cast what comes of it."),
            ));
        }
        let list = ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.to_vec(),
            clauses: Vec::new(),
        });
        let mut bound = self.arguments(function, &list, place)?.into_iter();
        let (Some(base), Some(document)) = (bound.next(), bound.next()) else {
            let types: Vec<SqlType> = bound.map(|argument| argument.ty).collect();
            return Err(no_function(function, &types, false));
        };
        let message = match base.ty {
            SqlType::Record(_) => return Ok((base, document)),
            SqlType::Unknown | SqlType::Void => {
                "could not determine polymorphic type because input has type unknown".to_string()
            }
            _ => format!("first argument of {function} must be a row type"),
        };
        Err(Error::DatatypeMismatch { message, hint: None })
    }

    /// The rows of the function, whose columns are listed behind it, as an array. Errors: 42601 without a list of columns and types.
    pub(super) fn listed_rows(
        &mut self,
        function: &str,
        arguments: Vec<Bound>,
        definitions: &[ast::TableAliasColumnDef],
    ) -> Result<Bound> {
        let columns: Option<Vec<_>> = definitions
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
            typed.push((name, declared_type_in(self.ctx, ty, &self.search_path)?.ty));
        }
        let types: Vec<SqlType> = arguments.iter().map(|argument| argument.ty.clone()).collect();
        let Ok([document]) = <[Bound; 1]>::try_from(arguments) else {
            return Err(no_function(function, &types, false));
        };
        let row = SqlType::Record(Arc::new(RecordType::anonymous(typed)));
        let base = Bound::constant(&Value::Null, row.clone())?;
        let ty = SqlType::list(row);
        self.of_document((function, functions::ROWS_OF_DOCUMENT), base, document, ty)
    }

    /// What a body makes of a row to begin with and a document. Errors: 42883 for a document of another type.
    fn of_document(
        &mut self,
        (function, body): (&str, Body),
        base: Bound,
        document: Bound,
        ty: SqlType,
    ) -> Result<Bound> {
        let taken = match function.starts_with("jsonb") {
            true => SqlType::Jsonb,
            false => SqlType::Json,
        };
        if document.ty != SqlType::Unknown && document.ty != taken {
            return Err(no_function(function, &[document.ty], false));
        }
        let document = self.convert(document, &taken, CastContext::Implicit)?;
        let document = self.convert(document, &SqlType::Json, CastContext::Explicit)?;
        let name = Bound::constant(&Value::Text(function.to_string()), SqlType::Text)?;
        let arguments = [base, document, name];
        let arguments = arguments.map(|argument| (argument.expr, argument.ty)).to_vec();
        let definition = ("rows_of_document", body, false, Volatility::Stable);
        let call = tree::call(definition, arguments, ty.clone(), &self.settings);
        Ok(Bound::new(call, ty))
    }
}
