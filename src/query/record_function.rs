//! Functions in FROM whose columns the query defines: `json_to_recordset(document) AS t(a int, b text)`.

use sqlparser::ast;

use super::binder::{Binder, Bound, fault, fold};
use super::coercion::CastContext;
use super::undefined_function::no_function;
use crate::Result;
use crate::error::StatementFault;

use crate::types::{SqlType, Value};

/// These functions.
const NAMES: &[&str] = &[
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
];

/// Whether the name is such a function's.
pub(super) fn is_record_function(name: &str) -> bool {
    NAMES.contains(&name)
}

impl Binder<'_> {
    /// The columns of the function's rows, each an array. Errors: 42601 without a list of columns and types.
    pub(super) fn record_columns(
        &mut self,
        function: &str,
        arguments: Vec<Bound>,
        alias: Option<&ast::TableAlias>,
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
        let columns = alias.map_or(&[][..], |alias| &alias.columns);
        let columns: Option<Vec<_>> = columns
            .iter()
            .map(|column| Some((fold(&column.name), column.data_type.as_ref()?)))
            .collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            let message = "a column definition list is required for functions returning \"record\"";
            return Err(fault(StatementFault::Syntax, message));
        };
        let mut sets = Vec::with_capacity(columns.len());
        for (name, ty) in columns {
            let ty = self.written_type(ty)?.ty;
            let members = match ty {
                SqlType::Json | SqlType::Jsonb => "record_values",
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
